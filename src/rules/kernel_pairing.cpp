// KR: does the installed sgl-kernel-xpu fit the SGLang release? Its date is not in the launch arguments; these rules
// run when it is given. Dates are those of kernel commits.
#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

using std::chrono::year_month_day;

constexpr year_month_day day(int y, unsigned m, unsigned d) {
  return {std::chrono::year{y}, std::chrono::month{m}, std::chrono::day{d}};
}

constexpr year_month_day kWorkspaceForm = day(2026, 5, 4);     // arguments of the workspace size changed
constexpr year_month_day kStoreCache = day(2026, 6, 2);        // store_cache_xpu
constexpr year_month_day kOutArgument = day(2026, 6, 29);      // out= of the attention call
constexpr year_month_day kMinP = day(2026, 7, 31);             // min-p sampling
constexpr year_month_day kDecodeWorkspace = day(2026, 8, 21);  // flash_mla_decode_get_workspace_size comes after

std::string text(year_month_day d) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(d.year()), static_cast<unsigned>(d.month()),
                     static_cast<unsigned>(d.day()));
}

year_month_day kernel(const LaunchFacts& f) { return *f.options().kernel_date; }

Finding mismatch(const LaunchFacts& f, std::string_view needs) {
  return {.message = fmt::format("SGLang {} needs {}; the kernel package is of {}", f.release().text(), needs,
                                 text(kernel(f)))};
}

bool mla_decode(const LaunchFacts& f) { return f.has_model() && f.model().is_mla() && f.decode_on_xpu(); }

std::optional<Finding> workspace_too_new(const LaunchFacts& f) {
  if (!mla_decode(f) || kernel(f) < kWorkspaceForm) return std::nullopt;
  return mismatch(f, "a kernel package older than 2026-05-04 for MLA decode on intel_xpu");
}

std::optional<Finding> workspace_too_old(const LaunchFacts& f) {
  if (!mla_decode(f) || kernel(f) >= kWorkspaceForm) return std::nullopt;
  return mismatch(f, "a kernel package of 2026-05-04 or later for MLA decode on intel_xpu");
}

std::optional<Finding> out_argument(const LaunchFacts& f) {
  if (!f.uses_xpu() || kernel(f) >= kOutArgument) return std::nullopt;
  return mismatch(f, "a kernel package of 2026-06-29 or later for intel_xpu");
}

std::optional<Finding> decode_workspace(const LaunchFacts& f) {
  if (!f.uses_xpu() || kernel(f) > kDecodeWorkspace) return std::nullopt;
  return mismatch(f, "a kernel package newer than 2026-08-21 for intel_xpu, MLA or not");
}

std::optional<Finding> sampling_operations(const LaunchFacts& f) {
  if (kernel(f) >= kMinP) return std::nullopt;
  return mismatch(f, kernel(f) < kStoreCache ? "store_cache_xpu (2026-06-02) and min-p sampling (2026-07-31)"
                                             : "min-p sampling (2026-07-31)");
}

std::optional<Finding> image_blocks(const LaunchFacts& f) {
  const bool gemma3 = f.has_model() && f.model().has_architecture("Gemma3ForConditionalGeneration");
  if (!gemma3 || !f.model().is_multimodal || !f.prefill_on_xpu() || kernel(f) > kDecodeWorkspace) return std::nullopt;
  return mismatch(f, "a kernel package that knows image blocks for Gemma 3 on intel_xpu");
}

std::optional<Finding> gated_delta_operations(const LaunchFacts& f) {
  // Dates of these operations are not known; a kernel older than the oldest known pairing cannot have them.
  if (!f.has_model() || !is_gdn(f.model()) || kernel(f) >= kStoreCache) return std::nullopt;
  return mismatch(f, f.before(19) ? "the causal convolution of the kernel package"
                                  : "gated-delta attention of the "
                                    "kernel package");
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py; sgl-kernel-xpu";

const Rule kRules[] = {
    {.id = "KR001",
     .refs = {"KER-1"},
     .summary = "SGLang 0.5.11 with a kernel package whose workspace call changed",
     .why = "TypeError in the workspace call at the first forward pass.",
     .remedies = {in_release("0.5.12"), words("a kernel package from before 2026-05-04")},
     .source = kBackend,
     .until = v0_5(12),
     .need = RuleNeed::kKernelDate,
     .check = workspace_too_new},
    {.id = "KR002",
     .refs = {"KER-2"},
     .summary = "a kernel package with the old workspace call",
     .why = "TypeError in the workspace call at the first forward pass.",
     .remedies = {words("a kernel package of 2026-05-04 or later")},
     .source = kBackend,
     .since = v0_5(12),
     .until = v0_5(20),
     .need = RuleNeed::kKernelDate,
     .check = workspace_too_old},
    {.id = "KR003",
     .refs = {"KER-3"},
     .summary = "a kernel package whose attention call takes no output",
     .why = "TypeError at the first attention call.",
     .remedies = {words("a kernel package of 2026-06-29 or later")},
     .source = kBackend,
     .since = v0_5(15),
     .until = v0_5(20),
     .need = RuleNeed::kKernelDate,
     .check = out_argument},
    {.id = "KR004",
     .refs = {"KER-4"},
     .summary = "a kernel package without the workspace function SGLang imports",
     .why = "ImportError when intel_xpu is loaded, for MLA and for other models; triton is not touched.",
     .remedies = {words("a newer kernel package"), give("--attention-backend", "triton")},
     .source = kBackend,
     .device = "xpu",
     .since = v0_5(20),
     .need = RuleNeed::kKernelDate,
     .check = decode_workspace},
    {.id = "KR005",
     .refs = {"KER-5"},
     .summary = "a kernel package without the operations SGLang imports at start",
     .why = "ImportError for every launch on XPU, whatever the backend.",
     .remedies = {words("a newer kernel package")},
     .source = "sglang/srt/layers/sampler.py, sglang/srt/mem_cache/memory_pool.py; sgl-kernel-xpu",
     .device = "xpu",
     .since = v0_5(21),
     .need = RuleNeed::kKernelDate,
     .check = sampling_operations},
    {.id = "KR006",
     .refs = {"KER-6"},
     .certainty = Certainty::kLikely,
     .summary = "a kernel package without image blocks for Gemma 3",
     .why = "TypeError at the first prefill with an image.",
     .remedies = {words("a newer kernel package"), give("--prefill-attention-backend", "triton")},
     .source = kBackend,
     .since = v0_5(23),
     .need = RuleNeed::kKernelDate,
     .check = image_blocks},
    {.id = "KR007",
     .refs = {"KER-7"},
     .certainty = Certainty::kLikely,
     .summary = "a kernel package without the linear-attention operations",
     .why = "ImportError while the hybrid model is built.",
     .remedies = {words("a newer kernel package")},
     .source = "sglang/srt/layers/attention/linear; sgl-kernel-xpu",
     .device = "xpu",
     .since = v0_5(17),
     .need = RuleNeed::kKernelDate,
     .check = gated_delta_operations},
};

}  // namespace

std::span<const Rule> kernel_pairing_rules() { return kRules; }

}  // namespace preflight::rules
