// LC: local (chunked), sliding-window and sink attention on intel_xpu.
#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

bool is_llama4(const LaunchFacts& f) { return f.model().has_architecture("Llama4ForConditionalGeneration"); }

// A verification of several branches at once: each request looks at its tokens through a flat page table.
bool tree_verified_on_xpu(const LaunchFacts& f) {
  return f.eagle_family() && f.topk() > 1 && f.verify_backend() == "intel_xpu";
}

std::optional<Finding> token_table_as_pages(const LaunchFacts& f) {
  if (!is_llama4(f) || !f.uses_xpu()) return std::nullopt;
  return Finding{.message = fmt::format("local attention of Llama 4 reads token numbers as page numbers in {}",
                                        f.release().text()),
                 .field = f.field_naming("intel_xpu")};
}

std::optional<Finding> window_pool(const LaunchFacts& f) {
  if (!f.model().is_hybrid_swa || !f.uses_xpu()) return std::nullopt;
  return Finding{.message = fmt::format("sliding-window layers read slots of the wrong pool in {}", f.release().text()),
                 .field = f.field_naming("intel_xpu")};
}

std::optional<Finding> mixed_chunk(const LaunchFacts& f) {
  if (!is_llama4(f) || !f.uses_xpu() || !f.on(Field::enable_mixed_chunk)) return std::nullopt;
  return Finding{.message = fmt::format("in a mixed batch the local layers of Llama 4 attend to everything, not to "
                                        "their chunk of {} tokens",
                                        f.model().attention_chunk_size.value_or(8192))};
}

std::optional<Finding> chunk_over_pages(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!m.is_local_attention_model || !m.attention_chunk_size || !f.uses_xpu() || f.page_size() <= 0) {
    return std::nullopt;
  }
  if (*m.attention_chunk_size % f.page_size() == 0) return std::nullopt;
  return Finding{.message = fmt::format("the local attention chunk of {} tokens is no multiple of page size {}",
                                        *m.attention_chunk_size, f.page_size())};
}

// The helper cuts the chunk to the longest sequence of the batch, rounded down to whole pages, unless its caller asks
// for the chunk as it is; XPU's caller does not ask. Only a batch that reaches the chunk, or ends on a page, is spared.
std::optional<Finding> chunk_of_short_batches(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const std::int64_t chunk = m.attention_chunk_size.value_or(0);
  if (!m.is_local_attention_model || !f.uses_xpu() || f.page_size() <= 1) return std::nullopt;
  const std::int64_t page = f.page_size();
  const std::int64_t example = 3 * page + page / 2;
  if (example >= chunk) return std::nullopt;
  return Finding{.message = fmt::format("local layers forget the beginning of requests shorter than {} tokens: at {} "
                                        "tokens and page size {}, decode sees the last {}",
                                        chunk, example, page, page / 2),
                 .field = f.field_naming("intel_xpu")};
}

std::optional<Finding> window_in_tree(const LaunchFacts& f) {
  if (!tree_verified_on_xpu(f) || !runtime_window(f.model()) || f.page_size() <= 1) return std::nullopt;
  return Finding{.message = fmt::format("verifying a draft tree (topk {}) of a sliding-window model on intel_xpu with "
                                        "page size {}",
                                        f.topk(), f.page_size())};
}

std::optional<Finding> sinks_in_tree(const LaunchFacts& f) {
  if (!tree_verified_on_xpu(f) || !f.model().has_attention_sinks) return std::nullopt;
  return Finding{.message =
                     fmt::format("verifying a draft tree (topk {}) with attention sinks on intel_xpu", f.topk())};
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py";

}  // namespace

std::span<const Rule> local_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "LC001",
       .refs = {"R-14"},
       .field = Field::attention_backend,
       .summary = "Llama 4 on intel_xpu before 0.5.13",
       .why = "Silently wrong output. intel_xpu is what SGLang chooses for Llama 4 on an Intel GPU when no backend is "
              "named.",
       .remedies = {give("--attention-backend", "triton"), in_release("0.5.13")},
       .source = kBackend,
       .device = "xpu",
       .until = v0_5(13),
       .check = token_table_as_pages,
       .fires_on = {{{.model = "llama-4-scout-17b-16e", .args = "--device xpu --tp-size 8 --context-length 65536"}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "LC002",
       .refs = {"R-14b"},
       .field = Field::attention_backend,
       .summary = "a hybrid sliding-window model on intel_xpu before 0.5.13",
       .why = "Slots are not translated to the pool of the sliding-window layers: silently wrong output.",
       .remedies = {give("--disable-hybrid-swa-memory"), give("--attention-backend", "triton"), in_release("0.5.13")},
       .source = kBackend,
       .device = "xpu",
       .until = v0_5(13),
       .check = window_pool},
      {.id = "LC003",
       .refs = {"R-23"},
       .severity = Severity::kWarning,
       .field = Field::enable_mixed_chunk,
       .summary = "Llama 4 on intel_xpu with mixed chunks",
       .why = "Only pure prefill and decode batches carry the local layout. Once a sequence is longer than its chunk, "
              "output is wrong without a message.",
       .remedies = {drop("--enable-mixed-chunk")},
       .source = kBackend,
       .device = "xpu",
       .since = v0_5(13),
       .check = mixed_chunk,
       .fires_on = {{{.model = "llama-4-scout-17b-16e",
                      .args = "--device xpu --tp-size 8 --enable-mixed-chunk --context-length 65536"}}},
       .quiet_on = {{{.model = "llama-4-scout-17b-16e", .args = "--device xpu --tp-size 8 --context-length 65536"}}}},
      {.id = "LC004",
       .refs = {"R-13"},
       .field = Field::page_size,
       .summary = "the local attention chunk is no multiple of the page size",
       .why = "On XPU the chunk is shortened to whole pages without a message, so that local layers see less than they "
              "were trained for; callers that keep the chunk (none on XPU) meet an assertion from 0.5.20.",
       .remedies = {give("--page-size", "64", "128")},
       .source = "sglang/srt/layers/attention/flashattention_backend.py, since 0.5.22 local_attention.py beside it",
       .device = "xpu",
       .check = chunk_over_pages,
       .quiet_on = {{{.model = "llama-4-scout-17b-16e",
                      .args = "--device xpu --tp-size 8 --context-length 65536 --page-size 64"}}}},
      {.id = "LC005",
       .refs = {"R-12"},
       .field = Field::speculative_eagle_topk,
       .summary = "a draft tree over a sliding window on intel_xpu",
       .why = "An assertion at the first verification.",
       .remedies = {give("--speculative-eagle-topk", "1")},
       .source = kBackend,
       .device = "xpu",
       .since = v0_5(20),
       .check = window_in_tree},
      {.id = "LC006",
       .refs = {"R-19"},
       .field = Field::speculative_eagle_topk,
       .summary = "a draft tree with attention sinks on intel_xpu",
       .why = "An assertion at the first verification.",
       .remedies = {give("--speculative-eagle-topk", "1")},
       .source = kBackend,
       .device = "xpu",
       .since = v0_5(20),
       .check = sinks_in_tree},
      {.id = "LC007",
       .severity = Severity::kWarning,
       .field = Field::attention_backend,
       .summary = "Llama 4 on intel_xpu: the local chunk shrinks with the batch",
       .why =
           "The chunk of the local layers is cut to the longest sequence of the batch, rounded down to whole pages, "
           "and intel_xpu does not ask to keep it as other backends do. Until a sequence fills a chunk, three of four "
           "layers attend to a part of the request only: worse answers, without a message.",
       .remedies = {both(
           give("--attention-backend", "triton"),
           words("where requests stay below the chunk (it attends to everything, which is the same there)"))},
       .source = "sglang/srt/layers/attention/xpu_backend.py and flashattention_backend.py (since 0.5.22 "
                 "local_attention.py)",
       .device = "xpu",
       .since = v0_5(13),
       .check = chunk_of_short_batches,
       .fires_on = {{{.model = "llama-4-scout-17b-16e", .args = "--device xpu --tp-size 8 --context-length 65536"}}},
       .quiet_on = {{{.model = "llama-4-scout-17b-16e",
                      .args = "--device xpu --tp-size 8 --context-length 65536 --attention-backend triton"},
                     {.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend intel_xpu"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
