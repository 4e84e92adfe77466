// WP: models whose layers see the whole prompt, not only what stands before a token.
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/facts/has_class.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// srt/models/bert.py and roberta.py.
bool is_bert(const LaunchFacts& f) {
  return has_class(f.model(), {"BertModel", "BertForSequenceClassification", "Contriever", "XLMRobertaModel",
                               "XLMRobertaForSequenceClassification"});
}

// Layers of type ENCODER_ONLY.
bool is_encoder(const LaunchFacts& f) {
  return is_bert(f) || has_class(f.model(), {"Lfm2BidirectionalModel", "EmbeddingGemma2Model"});
}

// EmbeddingGemma, whose layers have the type DECODER_BIDIRECTIONAL. Releases before 0.5.17 have no word for it.
bool reads_prompt_both_ways(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const bool by_config = m.has_architecture("Gemma3TextModel") && m.text("use_bidirectional_attention").truthy();
  return (m.is_embedding_gemma || by_config) && !m.has_architecture("EmbeddingGemma2Model");
}

std::optional<Finding> causal_on_xpu(const LaunchFacts& f) {
  if (!f.prefill_on_xpu() || !(is_encoder(f) || reads_prompt_both_ways(f))) return std::nullopt;
  return Finding{.message = fmt::format("intel_xpu of SGLang {} masks what stands behind each token, and the layers of "
                                        "this model see the whole text",
                                        f.release().text()),
                 .field = f.prefill_field()};
}

std::optional<Finding> encoder_on_flex(const LaunchFacts& f) {
  if (!f.prefill_on("flex_attention") || !is_encoder(f)) return std::nullopt;
  return Finding{
      .message = "flex_attention has causal attention alone, and the layers of this model see the whole text",
      .field = f.prefill_field()};
}

std::optional<Finding> causal_decoder(const LaunchFacts& f) {
  const bool ignores = f.prefill_on("torch_native") || f.prefill_on("flex_attention");
  if (!ignores || !reads_prompt_both_ways(f)) return std::nullopt;
  Finding finding{.message = fmt::format("{} masks what stands behind each token, and the layers of this model see the "
                                         "whole text",
                                         f.prefill_backend()),
                  .field = f.prefill_field()};
  if (f.before(17)) {
    finding.remedies = {together({to_give("--attention-backend", {"triton"}), with_release("0.5.17")})};
  }
  return finding;
}

// What triton of before 0.5.17 asks for before it looks both ways.
bool graphs_are_off(const LaunchFacts& f) {
  if (f.before(14)) return f.on(Field::disable_cuda_graph);
  const auto off = [&](std::string_view phase) {
    const Value* of_phase = f[Field::cuda_graph_config].find(phase);
    const Value* backend = of_phase == nullptr ? nullptr : of_phase->find("backend");
    return backend != nullptr && backend->is_string() && backend->as_string() == "disabled";
  };
  return off("decode") && off("prefill");
}
bool looks_both_ways(const LaunchFacts& f) {
  return f.prefill_on("triton") && f.integer(Field::chunked_prefill_size, 0) == -1 && graphs_are_off(f);
}

std::optional<Finding> causal_on_triton(const LaunchFacts& f) {
  if (!f.prefill_on("triton") || !reads_prompt_both_ways(f)) return std::nullopt;
  std::vector<Remedy> parts;
  if (f.integer(Field::chunked_prefill_size, 0) != -1) parts.push_back(to_give("--chunked-prefill-size", {"-1"}));
  if (!graphs_are_off(f)) parts.push_back(to_give("--disable-cuda-graph"));
  const bool causal = !parts.empty();
  if (f.radix_cache()) parts.push_back(to_give("--disable-radix-cache"));
  if (parts.empty()) return std::nullopt;
  Remedy all = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) all = together({all, parts[i]});
  return Finding{.message = causal
                                ? fmt::format("triton of SGLang {} masks what stands behind each token while prompts "
                                              "may be cut or a graph is on, and the layers of this model see the "
                                              "whole text",
                                              f.release().text())
                                : "the prefix cache is on, and what was computed for a text of this model depends "
                                  "on all of it",
                 .field = f.prefill_field(),
                 .remedies = {std::move(all), with_release("0.5.17")}};
}

// Its layers have the type that EmbeddingGemma's have.
std::optional<Finding> gemma_both_ways(const LaunchFacts& f) {
  const bool decodes = has_class(f.model(), {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"});
  if (!decodes || !looks_both_ways(f)) return std::nullopt;
  return Finding{.message =
                     fmt::format("--chunked-prefill-size -1 lets triton of SGLang {} show every token of a prompt "
                                 "what stands behind it",
                                 f.release().text())};
}

std::optional<Finding> reuses_every_start(const LaunchFacts& f) {
  if (!is_bert(f) || !f.radix_cache() || f.page_size() > 1) return std::nullopt;
  return Finding{.message = "the prefix cache is on, and every text of this encoder begins with the same token"};
}

std::optional<Finding> reuses_long_starts(const LaunchFacts& f) {
  if (!is_bert(f) || !f.radix_cache() || f.page_size() <= 1 || f.page_size() >= f.model().context_len)
    return std::nullopt;
  return Finding{.message =
                     fmt::format("the prefix cache is on: texts of this encoder that share their first {} tokens share "
                                 "what was computed for the first of them",
                                 f.page_size())};
}

std::optional<Finding> cut_into_chunks(const LaunchFacts& f) {
  const std::int64_t chunk = f.integer(Field::chunked_prefill_size, -1);
  const std::int64_t longest = f.model().context_len;
  if (!is_bert(f) || chunk <= 0 || chunk >= longest) return std::nullopt;
  return Finding{
      .message =
          fmt::format("a text of more than {} tokens is computed in parts, and this encoder takes {}", chunk, longest),
      .remedies = {to_give("--chunked-prefill-size", {std::to_string(sizing::align_up(longest, f.page_size()))}),
                   to_give("--context-length", {std::to_string(chunk)})}};
}

constexpr std::string_view kXpu = "sglang/srt/layers/attention/xpu_backend.py";
constexpr std::string_view kModels =
    "sglang/srt/models/roberta.py, sglang/srt/models/bert.py, sglang/srt/layers/pooler.py";

}  // namespace

std::span<const Rule> whole_prompt_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "WP001",
       .field = Field::attention_backend,
       .summary = "an encoder on intel_xpu before 0.5.20",
       .why = "The backend does not look at a layer's type: all attention is causal, and every embedding and score is "
              "wrong, without a word.",
       .remedies = {give("--attention-backend", "triton"), in_release("0.5.20")},
       .source = kXpu,
       .device = "xpu",
       .until = v0_5(20),
       .check = causal_on_xpu,
       .fires_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --attention-backend intel_xpu"}}},
       .quiet_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --attention-backend triton"},
                     {.model = "qwen3-embedding-0.6b",
                      .args = "--device xpu --is-embedding --attention-backend intel_xpu"}}}},
      {.id = "WP002",
       .field = Field::attention_backend,
       .summary = "an encoder on flex_attention",
       .why = "The first request ends in a NotImplementedError: the backend attends causally only.",
       .remedies = {give("--attention-backend", "triton")},
       .source = "sglang/srt/layers/attention/torch_flex_backend.py",
       .device = "xpu",
       .check = encoder_on_flex,
       .fires_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --attention-backend flex_attention"}}},
       .quiet_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --attention-backend torch_native"}}}},
      {.id = "WP003",
       .field = Field::attention_backend,
       .summary = "EmbeddingGemma on a backend that attends causally",
       .why = "The backend knows encoders and nothing between: every embedding is wrong, without a word.",
       .remedies = {give("--attention-backend", "triton")},
       .source = "sglang/srt/layers/attention/torch_native_backend.py, sglang/srt/models/gemma3_causal.py",
       .device = "xpu",
       .check = causal_decoder,
       .fires_on = {{{.model = "embeddinggemma-300m",
                      .args = "--device xpu --is-embedding --attention-backend torch_native"},
                     {.model = "embeddinggemma-300m",
                      .args = "--device xpu --is-embedding --attention-backend flex_attention"}}},
       .quiet_on = {{{.model = "embeddinggemma-300m",
                      .args = "--device xpu --is-embedding --attention-backend triton"}}}},
      {.id = "WP007",
       .field = Field::chunked_prefill_size,
       .summary = "EmbeddingGemma on triton before 0.5.17",
       .why =
           "The backend looks both ways where no prompt is cut and no graph is on, and the prefix cache hands on what "
           "another text gave: embeddings are wrong, without a word. 0.5.17 sees to it itself.",
       .remedies = {both(give("--chunked-prefill-size", "-1"), give("--disable-radix-cache")), in_release("0.5.17")},
       .source = "sglang/srt/layers/attention/triton_backend.py: allow_bidirectional_attention_in_extend",
       .device = "xpu",
       .until = v0_5(17),
       .check = causal_on_triton,
       .fires_on = {{{.model = "embeddinggemma-300m", .args = "--device xpu --is-embedding"},
                     {.model = "embeddinggemma-300m",
                      .args = "--device xpu --is-embedding --chunked-prefill-size -1 --disable-cuda-graph"}}},
       .quiet_on = {{{.model = "embeddinggemma-300m",
                      .args = "--device xpu --is-embedding --chunked-prefill-size -1 --disable-cuda-graph "
                              "--disable-radix-cache"},
                     {.model = "gemma-3-1b-it", .args = "--device xpu"}}}},
      {.id = "WP008",
       .field = Field::chunked_prefill_size,
       .summary = "Gemma 3 on triton before 0.5.17 with prompts that are never cut",
       .why =
           "Its layers have the type of EmbeddingGemma's, and where no prompt is cut and no graph is on, the backend "
           "looks both ways: the model reads prompts as it was never trained to, without a word.",
       .remedies = {drop("--chunked-prefill-size"), in_release("0.5.17")},
       .source = "sglang/srt/models/gemma3_causal.py; sglang/srt/layers/attention/triton_backend.py: "
                 "allow_bidirectional_attention_in_extend",
       .device = "xpu",
       .until = v0_5(17),
       .check = gemma_both_ways,
       .fires_on = {{{.model = "gemma-3-1b-it", .args = "--device xpu --chunked-prefill-size -1 --disable-cuda-graph"},
                     {.model = "gemma-3-1b-it", .args = "--device xpu --chunked-prefill-size -1", .since = v0_5(15)}}},
       .quiet_on = {{{.model = "gemma-3-1b-it", .args = "--device xpu --disable-cuda-graph"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --chunked-prefill-size -1 --disable-cuda-graph"}}}},
      {.id = "WP004",
       .field = Field::disable_radix_cache,
       .summary = "an encoder with the prefix cache in pages of 1",
       .why =
           "What was computed for a text depends on all of it. From the second request on the first token comes from "
           "the cache: XLM-RoBERTa's server ends in an AssertionError, BERT answers with the embedding of another "
           "token.",
       .remedies = {give("--disable-radix-cache")},
       .source = kModels,
       .check = reuses_every_start,
       .fires_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu"}}},
       .quiet_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --disable-radix-cache"},
                     {.model = "qwen3-embedding-0.6b", .args = "--device xpu --is-embedding"}}}},
      {.id = "WP005",
       .severity = Severity::kWarning,
       .field = Field::disable_radix_cache,
       .summary = "an encoder with the prefix cache",
       .why =
           "What was computed for a text depends on all of it. Where a page of it comes from the cache, XLM-RoBERTa's "
           "server ends in an AssertionError, and BERT's embedding is wrong.",
       .remedies = {give("--disable-radix-cache")},
       .source = kModels,
       .decided_by = {"context_length"},
       .check = reuses_long_starts,
       .fires_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --attention-backend intel_xpu"}}},
       .quiet_on = {{{.model = "bge-reranker-v2-m3",
                      .args = "--device xpu --attention-backend intel_xpu --disable-radix-cache"}}}},
      {.id = "WP006",
       .severity = Severity::kWarning,
       .field = Field::chunked_prefill_size,
       .summary = "an encoder whose texts are computed in parts",
       .why = "What was computed for a text depends on all of it. With the second part XLM-RoBERTa's server ends in an "
              "AssertionError, and BERT's embedding is wrong.",
       .remedies = {raise("--chunked-prefill-size"), lower("--context-length")},
       .source = kModels,
       .decided_by = {"context_length"},
       .check = cut_into_chunks,
       .fires_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --chunked-prefill-size 4096"}}},
       .quiet_on = {{{.model = "bge-reranker-v2-m3", .args = "--device xpu --chunked-prefill-size -1"},
                     {.model = "qwen3-embedding-0.6b",
                      .args = "--device xpu --is-embedding --chunked-prefill-size 4096"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
