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
constexpr year_month_day kOutArgument = day(2026, 6, 29);      // out= of the attention call
constexpr year_month_day kCompress = day(2026, 7, 11);         // compress_norm_rope_store
constexpr year_month_day kConvolution = day(2026, 7, 20);      // causal_conv1d_fn_xpu
constexpr year_month_day kGatedDelta = day(2026, 7, 22);       // gdn_attention
constexpr year_month_day kFusedNorm = day(2026, 7, 25);        // fused_q_norm_rope
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

// What the scheduler's modules import as they are read, whatever the launch asks for: DeepSeek-V4's operations since
// 0.5.16, of which those of 0.5.18 came last, and HiSparse's since 0.5.21, which no package of kDecodeWorkspace has.
std::optional<Finding> operations_at_start(const LaunchFacts& f) {
  if (f.since(21)) {
    if (kernel(f) > kDecodeWorkspace) return std::nullopt;
    return mismatch(f, "a kernel package newer than 2026-08-21, which has load_cache_to_device_buffer_mla");
  }
  const bool fused = f.since(18);
  if (kernel(f) >= (fused ? kFusedNorm : kCompress)) return std::nullopt;
  return mismatch(f, fused ? "a kernel package of 2026-07-25 or later, which has fused_q_norm_rope"
                           : "a kernel package of 2026-07-11 or later, which has compress_norm_rope_store");
}

std::optional<Finding> image_blocks(const LaunchFacts& f) {
  const bool gemma3 = f.has_model() && f.model().has_architecture("Gemma3ForConditionalGeneration");
  if (!gemma3 || !f.model().is_multimodal || !f.prefill_on_xpu() || kernel(f) > kDecodeWorkspace) return std::nullopt;
  return mismatch(f, "a kernel package that knows image blocks for Gemma 3 on intel_xpu");
}

// The wrapper of every hybrid's attention imports them, whichever kind its linear layers are.
std::optional<Finding> gated_delta_operations(const LaunchFacts& f) {
  if (!f.has_model() || !is_hybrid(f.model())) return std::nullopt;
  if (kernel(f) >= (f.before(19) ? kConvolution : kGatedDelta)) return std::nullopt;
  return mismatch(f, f.before(19) ? "the causal convolution of the kernel package (2026-07-20)"
                                  : "gated-delta attention of the kernel package (2026-07-22)");
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py; sgl-kernel-xpu";

}  // namespace

std::span<const Rule> kernel_pairing_rules() {
  static const auto kRules = std::to_array<Rule>({
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
       .why = "ImportError for every launch on XPU, whatever the backend and the model.",
       .remedies = {words("a newer kernel package")},
       .source = "sglang/srt/managers/hisparse_coordinator.py (0.5.21 to 0.5.23), kernels/ops/attention/dsv4, up to "
                 "0.5.16 jit_kernel/dsv4; sgl-kernel-xpu python/sgl_kernel/__init__.py",
       .device = "xpu",
       .since = v0_5(16),
       .need = RuleNeed::kKernelDate,
       .check = operations_at_start},
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
       .summary = "a kernel package without the linear-attention operations",
       .why = "ImportError while the hybrid model is built.",
       .remedies = {words("a newer kernel package")},
       .source = "sglang/srt/layers/attention/attention_registry.py: attn_backend_wrapper; sgl-kernel-xpu "
                 "python/sgl_kernel/__init__.py",
       .device = "xpu",
       .since = v0_5(17),
       .need = RuleNeed::kKernelDate,
       .check = gated_delta_operations},
  });
  return kRules;
}

}  // namespace preflight::rules
