// MC: DeepSeek-V4, whose defaults in the environment are for other vendors' GPUs.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/facts/fp4_experts.h"
#include "src/facts/kinds.h"
#include "src/python/environment.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

// A step of the layers that another vendor's package does unless its variable is off; all are on by default.
struct ForeignStep {
  std::string_view variable;
  std::string_view package;
  Release until = kNoEnd;  // first release that leaves it out on XPU
};
constexpr std::array kSteps = {
    ForeignStep{"SGLANG_OPT_FP8_WO_A_GEMM", "deep_gemm"},
    ForeignStep{"SGLANG_OPT_USE_TILELANG_MHC_PRE", "tilelang", v0_5(20)},
    ForeignStep{"SGLANG_OPT_USE_TILELANG_MHC_POST", "tilelang", v0_5(20)},
    ForeignStep{"SGLANG_OPT_DEEPGEMM_HC_PRENORM", "deep_gemm", v0_5(20)},
};

bool is_taken(const ForeignStep& step, const LaunchFacts& f) {
  if (f.release() >= step.until || !python::environment_bool(f.launch().env, step.variable, true)) return false;
  if (step.variable != "SGLANG_OPT_FP8_WO_A_GEMM") return true;
  const auto block = fp8_block(f.model());
  return has_quantization(f.model(), "fp8") && block && block->first == 128 && block->second == 128;
}

std::optional<Finding> steps_of_others(const LaunchFacts& f) {
  if (!is_deepseek_v4(f.model(), f.release())) return std::nullopt;
  Remedy off;
  std::vector<std::string_view> packages;
  for (const ForeignStep& step : kSteps) {
    if (!is_taken(step, f)) continue;
    off.steps.push_back({StepKind::kSet, std::string(step.variable), {"false"}});
    if (std::ranges::find(packages, step.package) == packages.end()) packages.push_back(step.package);
  }
  if (packages.empty()) return std::nullopt;
  return Finding{.message = fmt::format("DeepSeek-V4 imports {}, which no Intel GPU has", fmt::join(packages, " and ")),
                 .remedies = {std::move(off)}};
}

std::optional<Finding> metadata_of_others(const LaunchFacts& f) {
  if (!is_deepseek_v4(f.model(), f.release())) return std::nullopt;
  return Finding{.message =
                     fmt::format("SGLang {} has no path of DeepSeek-V4's attention for XPU", f.release().text())};
}

}  // namespace

std::span<const Rule> deepseek_v4_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "MC013",
       .field = Field::model_path,
       .summary = "steps of DeepSeek-V4 by packages of other vendors",
       .why =
           "ModuleNotFoundError, of tilelang when the weights are loaded, of deep_gemm at the first forward pass. The "
           "variables that turn these steps off are set by themselves on other GPUs alone.",
       .remedies = {set("SGLANG_OPT_FP8_WO_A_GEMM", "false")},
       .source = "sglang/srt/models/deepseek_v4.py; sglang/srt/environ.py; sgl-project/sglang#25936",
       .device = "xpu",
       .since = v0_5(15),
       .check = steps_of_others,
       .fires_on =
           {{{.model = "deepseek-v4-flash", .args = "--device xpu --tp-size 16", .device = "b60x16", .since = v0_5(20)},
             {.model = "deepseek-v4-flash",
              .args = "--device xpu --tp-size 16",
              .device = "b60x16",
              .env = "SGLANG_OPT_FP8_WO_A_GEMM=false",
              .until = v0_5(20)}}},
       .quiet_on = {{{.model = "deepseek-v4-flash",
                      .args = "--device xpu --tp-size 16",
                      .device = "b60x16",
                      .env = "SGLANG_OPT_FP8_WO_A_GEMM=false",
                      .since = v0_5(20)},
                     {.model = "qwen3-8b-fp8", .args = "--device xpu"}}}},
      {.id = "MC014",
       .field = Field::model_path,
       .summary = "DeepSeek-V4 before 0.5.15",
       .why =
           "ImportError while the first batch is prepared: the attention's metadata are made by a module of sgl_kernel "
           "that the package for XPU does not have.",
       .remedies = {both(set("SGLANG_OPT_FP8_WO_A_GEMM", "false"), in_release("0.5.20"))},
       .source = "sglang/srt/layers/attention/deepseek_v4_backend.py: _create_flashmla_metadata",
       .device = "xpu",
       .since = v0_5(12),
       .until = v0_5(15),
       .check = metadata_of_others,
       .fires_on = {{{.model = "deepseek-v4-flash", .args = "--device xpu --tp-size 16", .device = "b60x16"}}},
       .quiet_on = {{{.model = "deepseek-v3", .args = "--device xpu --tp-size 16", .device = "b60x16"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
