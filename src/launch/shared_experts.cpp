// See shared_experts.h.
#include "src/launch/shared_experts.h"

#include <initializer_list>
#include <string_view>

#include "src/facts/kinds.h"

namespace preflight {
namespace {

using Names = std::initializer_list<std::string_view>;

// DeepSeek's block, which many classes are made of.
bool has_deepseeks_block(const ModelFacts& m) {
  return language_class_starts_with(m, {"DeepseekV", "DeepseekOCR", "GlmMoeDsa", "KimiVL", "KimiK25", "DotsVLM",
                                        "MistralLarge3", "Pixtral", "UnlimitedOCR"});
}

bool asked_by_variable(const LaunchView& view) {
  return view.env_on("SGLANG_SHARED_EXPERT_TP1") &&
         (has_deepseeks_block(view.model()) || language_class_starts_with(view.model(), {"Laguna"}));
}

// Where tokens are exchanged each class names those exchanges under which it keeps them whole.
bool kept_for_exchange(const LaunchView& view) {
  if (!view.exchanges_tokens()) return false;
  const auto keeps = [&](Names classes, Names backends) {
    return language_class_starts_with(view.model(), classes) && view.one_of(Field::moe_a2a_backend, backends);
  };
  if (has_deepseeks_block(view.model())) return !view.one_of(Field::moe_a2a_backend, {"ascend_tp", "customized"});
  return language_class_starts_with(view.model(), {"BailingMoeV3", "KimiK3"}) ||
         keeps({"Qwen2Moe", "Qwen3Next", "Qwen3_5", "Qwen4Exp"},
               {"deepep", "mori", "deepep_v2", "flashinfer", "flashinfer_megamoe", "megamoe", "ascend_fuseep"}) ||
         keeps({"Glm4MoeFor", "Glm4vMoe"},
               {"deepep", "mooncake", "nixl", "mori", "ascend_fuseep", "flashinfer", "flashinfer_megamoe"}) ||
         keeps({"Glm4MoeLite"}, {"deepep", "mooncake"}) || keeps({"Bailing", "ExaoneMo", "LLaDA2"}, {"deepep"}) ||
         keeps({"MiniMaxM3"}, {"deepep", "megamoe"}) ||
         keeps({"NemotronH"}, {"deepep", "flashinfer", "flashinfer_megamoe"});
}

}  // namespace

std::int64_t shared_expert_ranks(const LaunchView& view) {
  return asked_by_variable(view) || kept_for_exchange(view) ? 1 : view.tp();
}

}  // namespace preflight
