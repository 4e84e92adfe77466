// PG: page sizes that resolution accepts and a kernel does not.
#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/base/counted.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

std::optional<Finding> prefill_only_page(const LaunchFacts& f) {
  if (!f.prefill_on_xpu() || f.decode_on_xpu() || f.model().is_mla()) return std::nullopt;
  if (sizing::fa_decode_page_size_supported(f.page_size())) return std::nullopt;
  return Finding{.message = fmt::format("prefill on intel_xpu, decode on {}: the page size stays {}, and the kernel "
                                        "takes 64 or 128",
                                        f.decode_backend(), f.page_size())};
}

std::optional<Finding> mla_table_width(const LaunchFacts& f) {
  const std::int64_t page = f.page_size();
  if (!f.model().is_mla() || !f.decode_on_xpu() || page >= 128 || !sizing::mla_page_size_supported(page)) {
    return std::nullopt;
  }
  const std::int64_t multiple = 128 / page;
  if (f.decode_graph_full()) {
    // Under a graph the table is as wide as the context, always.
    const std::int64_t columns = sizing::page_table_columns(f.model().context_len, page);
    if (sizing::mla_columns_accepted(columns, page)) return std::nullopt;
    return Finding{.message =
                       fmt::format("page size {} and a context of {} make a page table of {}, no multiple of {}", page,
                                   counted(f.model().context_len, "token"), counted(columns, "column"), multiple)};
  }
  return Finding{.message = fmt::format("with page size {} the MLA decode kernel wants a page table width that is a "
                                        "multiple of {}, and SGLang does not pad it: a longest request of 1 to {} "
                                        "tokens already fails",
                                        page, multiple, page * (multiple - 1))};
}

std::optional<Finding> draft_page(const LaunchFacts& f) {
  if (f.algorithm().empty() || !f.is(Field::speculative_draft_attention_backend, "intel_xpu") || f.uses_xpu()) {
    return std::nullopt;
  }
  if (sizing::fa_decode_page_size_supported(f.page_size())) return std::nullopt;
  return Finding{.message = fmt::format("the draft model runs on intel_xpu with page size {}; the kernel takes 64 or "
                                        "128",
                                        f.page_size())};
}

}  // namespace

std::span<const Rule> paging_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "PG001",
       .refs = {"AT-10-gap"},
       .field = Field::page_size,
       .summary = "intel_xpu for prefill only, with a page size its kernel does not take",
       .why = "Up to 0.5.19 SGLang adjusts the page size for the decode backend only. A batch of several requests is "
              "refused by the kernel; a single one computes no tile and answers with garbage.",
       .remedies = {give("--page-size", "64", "128")},
       .source = "sglang/srt/server_args.py; sgl-kernel-xpu src/sycl/flash_attention.cpp",
       .device = "xpu",
       .until = v0_5(20),
       .check = prefill_only_page,
       .fires_on = {{{.model = "llama-3.2-1b-instruct",
                      .args = "--device xpu --prefill-attention-backend intel_xpu --decode-attention-backend triton"}}},
       .quiet_on = {{{.model = "llama-3.2-1b-instruct",
                      .args = "--device xpu --prefill-attention-backend intel_xpu --decode-attention-backend triton "
                              "--page-size 64"},
                     {.model = "llama-3.2-1b-instruct", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "PG002",
       .refs = {"K-6"},
       .field = Field::page_size,
       .summary = "MLA decode on intel_xpu with pages below 128",
       .why = "The kernel's wrapper asserts that the page table is a multiple of 128/page columns wide. SGLang passes "
              "exactly as many columns as the longest request needs, so one of the first decode steps fails.",
       .remedies = {give("--page-size", "128")},
       .source = "sglang/srt/layers/attention/xpu_backend.py; sgl-kernel-xpu flash_mla_decode",
       .device = "xpu",
       .check = mla_table_width,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --page-size 64 --tp-size 2"},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --page-size 16 --tp-size 2"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --decode-attention-backend intel_xpu --page-size 128 --tp-size 2"},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --attention-backend triton --page-size 64 --tp-size 2"}}}},
      {.id = "PG003",
       .refs = {"SPX-4"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::speculative_draft_attention_backend,
       .summary = "the draft model alone runs on intel_xpu, with a page size its kernel does not take",
       .why =
           "The page size is adjusted for the target's backends only; the first draft extend is refused by the paged "
           "kernel, unless it has a path for page size 1.",
       .remedies = {give("--page-size", "64", "128")},
       .source = "sglang/srt/arg_groups/overrides.py",
       .device = "xpu",
       .since = v0_5(20),
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = draft_page,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args =
                          "--device xpu --attention-backend triton --speculative-draft-attention-backend intel_xpu "
                          "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
                          "--speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5 "
                          "--dtype float16"}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct",
                      .args =
                          "--device xpu --attention-backend triton --speculative-draft-attention-backend intel_xpu "
                          "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
                          "--speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5 "
                          "--dtype float16 --page-size 64"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
