// See model_queries.h. Tested by tests/resolve_model_test.cpp.
#include "src/resolve/models/model_queries.h"

#include <algorithm>

#include "src/base/ascii_case.h"
#include "src/facts/fp4_experts.h"
#include "src/python/integer.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool uses_sparse_mla(const ModelFacts& model, Release release) {
  if (model.architectures.empty() || model.root("index_topk").is_none()) return false;
  const std::string& arch = model.architectures.front();
  if (contains({"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "DeepseekV3ForCausalLMNextN",
                "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "GlmMoeDsaForCausalLM"},
               arch)) {
    return true;
  }
  const auto since = [&](Release first, std::initializer_list<std::string_view> names) {
    return release >= first && contains(names, arch);
  };
  return since(v0_5(16), {"GlmMoeDsaForCausalLMNextN", "LongcatFlashForCausalLM", "LongcatFlashForCausalLMNextN"}) ||
         since(v0_5(19), {"Dots3NoteForCausalLM", "Dots3NoteForCausalLMNextN"}) ||
         since(v0_5(20), {"Glm5NextForConditionalGenerationNextN", "Glm5NextForConditionalGeneration",
                          "HYV4ForCausalLM", "HYV4ForCausalLMNextN"});
}

bool has_attribute(const ModelFacts& model, std::string_view key) { return model.hf_config.find(key) != nullptr; }

bool has_hybrid_nvfp4_experts(const ModelFacts& model) {
  const Value config = model.root("quantization_config");
  const auto names = [&](std::string_view key, std::string_view text) {
    const Value* v = config.find(key);
    return v != nullptr && v->is_string() && ascii_upper(v->as_string()) == text;
  };
  const Value* group_size = config.find("group_size");
  return names("quant_algo", "MIXED_PRECISION") && names("moe_quant_algo", "NVFP4") && group_size != nullptr &&
         !group_size->is_none();
}

bool has_fp4_experts(const Resolution& r, const ModelFacts& model) {
  return preflight::has_fp4_experts(model, r.env_bool("SGLANG_DSV4_FP4_EXPERTS", true), r.release());
}

RaggedVerify ragged_verify_mode(Resolution& r) {
  const std::string* mode = r.env_text("SGLANG_RAGGED_VERIFY_MODE");
  if (mode == nullptr || *mode == "static") return RaggedVerify::kStatic;
  if (*mode == "cap-accept") return RaggedVerify::kCapAccept;
  if (*mode == "compact") return RaggedVerify::kCompact;
  r.refuse(RF::kOther, "ValueError", "read_ragged_verify_mode",
           "SGLANG_RAGGED_VERIFY_MODE is " + *mode + "; it must be static, cap-accept or compact");
}

std::int64_t attention_tp_size(Resolution& r, std::string_view function) {
  const std::int64_t per_group =
      operators::floor_div(r, function, r.integer(Field::tp_size), r.integer(Field::attn_dp_size));
  return operators::floor_div(r, function, per_group, r.integer(Field::attn_cp_size));
}

}  // namespace preflight::resolve
