// ML: multi-head latent attention on intel_xpu, beyond the page size.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/launch/workspace.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/sheet_of.h"

namespace preflight::rules {
namespace {

std::optional<Finding> latent_width(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!m.is_mla() || !f.decode_on_xpu()) return std::nullopt;
  if (m.kv_lora_rank == sizing::kMlaLatent && m.qk_rope_head_dim == sizing::kMlaRope) return std::nullopt;
  Finding finding{.message = fmt::format("the MLA decode kernel is built for a latent of 512 and rope of 64; the model "
                                         "has {} and {}",
                                         m.kv_lora_rank, m.qk_rope_head_dim),
                  .field = f.decode_field()};
  // Kernels of the releases from 0.5.20 on may know more widths; which one is installed is not in the arguments.
  if (f.since(20)) finding.severity = Severity::kWarning;
  return finding;
}

std::optional<Finding> folded_rope(const LaunchFacts& f) {
  if (!f.model().is_mla() || !f.decode_on_xpu() || !f.model().has_architecture("MiniCPM3ForCausalLM")) {
    return std::nullopt;
  }
  return Finding{.message = "this model hands rope over inside the key, and intel_xpu stores such cache rows wrongly",
                 .field = f.decode_field()};
}

std::optional<Finding> cache_converted(const LaunchFacts& f) {
  if (!f.model().is_mla() || !f.decode_on_xpu() || !f.kv_is_fp8()) return std::nullopt;
  return Finding{.message = fmt::format("MLA decode converts the whole {} cache of a layer to {} at every step",
                                        f.kv_dtype(), f.model_dtype())};
}

std::optional<Finding> soft_cap_in_mla_prefill(const LaunchFacts& f) {
  if (!f.model().is_mla() || !f.prefill_on_xpu() || f.model().attn_logit_softcapping == 0.0) return std::nullopt;
  return Finding{.message = fmt::format("MLA prefill on intel_xpu has no logit soft cap; the model asks for {}",
                                        f.model().attn_logit_softcapping),
                 .field = f.prefill_field()};
}

std::optional<Finding> one_token_query(const LaunchFacts& f) {
  if (!f.model().is_mla() || !f.prefill_on_xpu()) return std::nullopt;
  return Finding{.message = fmt::format("MLA prefill of a single token may hang the kernel; {} has no workaround yet",
                                        f.release().text()),
                 .field = f.prefill_field()};
}

constexpr double kGib = 1024.0 * 1024 * 1024;

// The workspace at the largest batch: as many requests as are asked for, else as the KV pool has room for.
struct LargestWorkspace {
  Workspace workspace;
  bool by_sheet = false;
};

std::optional<LargestWorkspace> largest_workspace(const LaunchFacts& f) {
  std::optional<std::int64_t> requests = f.running_requests();
  const bool by_sheet = !requests;
  if (by_sheet) {
    const auto sheet = sheet_of(f);
    if (!sheet || sheet->at_once < 1) return std::nullopt;
    requests = sheet->at_once;
  }
  const auto workspace = mla_workspace(f, *requests);
  return workspace ? std::optional(LargestWorkspace{*workspace, by_sheet}) : std::nullopt;
}

// A count of requests that rests on counted weights is as good as these.
std::vector<std::string_view> refs_of(const LargestWorkspace& largest) {
  return largest.by_sheet ? std::vector<std::string_view>{"MEM-1"} : std::vector<std::string_view>{};
}

std::optional<Finding> idle_workspace(const LaunchFacts& f) {
  const auto largest = largest_workspace(f);
  constexpr std::int64_t kWorthSaying = 64LL * 1024 * 1024;
  if (!largest || largest->workspace.bytes < kWorthSaying) return std::nullopt;
  return Finding{
      .message = fmt::format("the MLA workspace grows to {:.2f} GiB at {} requests{}, outside "
                             "--mem-fraction-static, and is not used",
                             static_cast<double>(largest->workspace.bytes) / kGib, largest->workspace.requests,
                             largest->by_sheet ? ", for which the KV cache has room" : ""),
      .field = Field::max_running_requests,
      .extra_refs = refs_of(*largest)};
}

std::optional<Finding> workspace_size_overflows(const LaunchFacts& f) {
  const auto largest = largest_workspace(f);
  if (!largest || !largest->workspace.size_overflows) return std::nullopt;
  return Finding{.message = fmt::format("from {} requests at once on, the size of the MLA workspace no longer fits the "
                                        "kernel's 32-bit integer ({} may run)",
                                        largest->workspace.requests + 1, largest->workspace.asked),
                 .field = Field::max_running_requests,
                 .extra_refs = refs_of(*largest)};
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py";

}  // namespace

std::span<const Rule> mla_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "ML001",
       .refs = {"K-1"},
       .field = Field::decode_attention_backend,
       .summary = "MLA widths the decode kernel is not built for",
       .why = "The kernel checks the widths at the first decode step.",
       .remedies = {give("--decode-attention-backend", "triton")},
       .source = "sgl-kernel-xpu src/sycl/mla_decode.cpp",
       .device = "xpu",
       .since = v0_5(12),
       .decided_by = {"kv_lora_rank"},
       .check = latent_width,
       .fires_on =
           {{{.model = "minicpm3-4b", .args = "--device xpu --decode-attention-backend intel_xpu", .since = v0_5(22)}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --decode-attention-backend intel_xpu"}}}},
      {.id = "ML002",
       .refs = {"R-25"},
       .certainty = Certainty::kLikely,
       .field = Field::decode_attention_backend,
       .summary = "MiniCPM3 on intel_xpu stores its cache rows wrongly",
       .why = "Silently wrong output from the first decode step.",
       .remedies = {give("--decode-attention-backend", "triton"), in_release("0.5.21")},
       .source = kBackend,
       .device = "xpu",
       .until = v0_5(21),
       .check = folded_rope},
      {.id = "ML003",
       .refs = {"K-3"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::kv_cache_dtype,
       .summary = "an FP8 cache for MLA decode on intel_xpu saves nothing",
       .why = "Before each call the layer's cache is copied in the query's type: more memory at the peak, and slow.",
       .remedies = {give("--kv-cache-dtype", "auto")},
       .source = kBackend,
       .device = "xpu",
       .since = v0_5(12),
       .decided_by = {"dtype"},
       .check = cache_converted,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --kv-cache-dtype fp8_e4m3"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --decode-attention-backend intel_xpu"}}}},
      {.id = "ML004",
       .refs = {"R-17"},
       .field = Field::attention_backend,
       .summary = "MLA prefill on intel_xpu with a logit soft cap",
       .why = "An assertion at the first prefill.",
       .remedies = {give("--prefill-attention-backend", "triton")},
       .source = kBackend,
       .device = "xpu",
       .since = v0_5(20),
       .check = soft_cap_in_mla_prefill},
      {.id = "ML005",
       .refs = {"R-27"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::attention_backend,
       .summary = "MLA prefill of one token on intel_xpu",
       .why = "Later releases avoid the call with a remark that the kernel hangs for a one-token query.",
       .remedies = {give("--prefill-attention-backend", "triton"), in_release("0.5.22")},
       .source = kBackend,
       .device = "xpu",
       .since = v0_5(20),
       .until = v0_5(22),
       .check = one_token_query},
      {.id = "ML006",
       .refs = {"E.4"},
       .severity = Severity::kInfo,
       .field = Field::max_running_requests,
       .summary = "the MLA workspace is allocated outside the static budget and not used",
       .why = "The buffer is sized for an automatic split count, while the call uses one split. It grows with the "
              "largest batch.",
       .remedies = {lower("--max-running-requests"), lower("--mem-fraction-static")},
       .source = kBackend,
       .since = v0_5(12),
       .until = v0_5(20),
       .decided_by = {"num_q_heads", "context_length"},
       .check = idle_workspace,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --max-running-requests 256"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --attention-backend triton --max-running-requests 256"}}}},
      {.id = "ML007",
       .refs = {"E.4"},
       .severity = Severity::kInfo,
       .field = Field::max_running_requests,
       .summary = "the size of the MLA workspace overflows 32 bits",
       .why = "The kernel package sums the bytes in a C int. A size that wraps is negative or small, and the buffer "
              "stays as large as smaller batches made it: harmless, as decode takes one split and does not use it. "
              "Only a first batch of that size would fail, with a RuntimeError about a negative dimension.",
       .remedies = {lower("--max-running-requests"), raise("--tp-size")},
       .source = "sglang/srt/layers/attention/xpu_backend.py; sgl-kernel-xpu src/sycl/mla_decode.cpp",
       .device = "xpu",
       .since = v0_5(12),
       .until = v0_5(20),
       .decided_by = {"context_length", "num_q_heads", "kv_lora_rank"},
       .check = workspace_size_overflows,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --max-running-requests 1024"},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --max-running-requests 1017"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --max-running-requests 1016"},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --attention-backend triton --max-running-requests 1024"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
