// Read in sglang/srt/configs/model_config.py. Tested by tests/fp4_experts_test.cpp.
#include "src/facts/fp4_experts.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "src/base/ascii_case.h"
#include "src/facts/architectures.h"

namespace preflight {
namespace {

// Upstream looks at the first name alone.
bool is_first(const ModelFacts& model, std::initializer_list<std::string_view> names) {
  return !model.architectures.empty() && std::ranges::find(names, model.architectures.front()) != names.end();
}

bool names(const Value& config, std::string_view key, std::string_view text) {
  const Value* v = config.find(key);
  return v != nullptr && v->is_string() && ascii_upper(v->as_string()) == text;
}

}  // namespace

bool is_deepseek_v4(const ModelFacts& model, Release release) {
  return facts::first_has_trait(model.architectures, facts::ArchTrait::kDeepseekV4, release);
}

bool has_fp4_experts(const ModelFacts& model, bool deepseek_v4, Release release) {
  const Value config = model.root("quantization_config");
  const Value* routed = config.find("routed_experts_quant_method");
  if (routed != nullptr && !routed->is_none()) return *routed == Value("mxfp4");
  if (is_deepseek_v4(model, release)) return deepseek_v4;
  return is_first(model, {"MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"}) && names(config, "store_dtype", "MXFP4");
}

}  // namespace preflight
