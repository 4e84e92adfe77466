// BK: attention backends that cannot run on an Intel GPU, or not with this model or device.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

constexpr std::string_view kFlex = "flex_attention";
constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::int64_t kRoundTokens = 1024;

// Backends made for other vendors. SGLang's resolution refuses some of them for some models; the rest pass.
constexpr std::array<std::string_view, 18> kForeign = {"fa3",
                                                       "fa4",
                                                       "flashinfer",
                                                       "flashmla",
                                                       "trtllm_mha",
                                                       "trtllm_mla",
                                                       "cutlass_mla",
                                                       "cutedsl_mla",
                                                       "tokenspeed_mla",
                                                       "hpc_ops",
                                                       "dual_chunk_flash_attn",
                                                       "aiter",
                                                       "wave",
                                                       "ascend",
                                                       "llada2_cfg_flashinfer",
                                                       "minicpm_flashattn",
                                                       "minicpm_flashinfer",
                                                       "intel_amx"};

std::optional<Finding> foreign_backend(const LaunchFacts& f) {
  const bool cpu = f.is(Field::device, "cpu");
  if (!cpu && !f.is(Field::device, "xpu")) return std::nullopt;  // on other vendors' GPUs these are at home
  const std::string_view where = cpu ? "a CPU" : "an Intel GPU";
  const auto foreign = [&](std::string_view b) {
    if (b == (cpu ? "intel_amx" : "intel_xpu")) return false;
    if (b == "intel_xpu" || (cpu && b == "triton")) return true;  // Triton has no driver for a processor
    return std::find(kForeign.begin(), kForeign.end(), b) != kForeign.end();
  };
  const bool in_decode = foreign(f.decode_backend());
  if (!in_decode && !foreign(f.prefill_backend())) return std::nullopt;
  const std::string_view name = in_decode ? f.decode_backend() : f.prefill_backend();
  const bool by_default = !f.given(Field::attention_backend) && !f.given(Field::prefill_attention_backend) &&
                          !f.given(Field::decode_attention_backend);
  Finding finding{.message = fmt::format("attention backend {} does not exist on {}", name, where),
                  .field = f.field_naming(name)};
  if (cpu) finding.remedies = {to_give("--attention-backend", {"torch_native", "intel_amx"})};
  // Without fp64 SGLang takes intel_xpu away again, and elsewhere its kernels are not built.
  const bool kernels = f.is_battlemage_or_later() && f.device().has_fp64;
  if (!cpu && !kernels) finding.remedies = {to_give("--attention-backend", {"triton"})};
  if (by_default && f.on(Field::enable_deterministic_inference)) {
    finding.field = Field::enable_deterministic_inference;
    finding.message =
        fmt::format("deterministic inference without a backend chose {}, which does not exist on {}", name, where);
    if (!cpu) finding.remedies = {to_give("--attention-backend", {"triton"})};
    if (f.since(19) && kernels && !cpu) finding.remedies.front().steps.front().values.emplace_back("intel_xpu");
    finding.extra_refs = {"DET-2"};
  }
  return finding;
}

bool attends_sparsely(std::string_view backend) { return backend == "dsa" || backend == "nsa"; }

// The phase's backend of sparse attention; empty: neither has one, or the model has no such attention.
std::string_view sparse_backend(const LaunchFacts& f) {
  if (!f.has_model() || !is_deepseek_sparse(f.model(), f.release())) return {};
  for (const std::string_view backend : {f.decode_backend(), f.prefill_backend()}) {
    if (attends_sparsely(backend)) return backend;
  }
  return {};
}

// The phase's backend that runs Intel's kernels; empty: neither does. Sparse attention of 0.5.20 and later is made of
// those for latent attention.
std::string_view on_intel_kernels(const LaunchFacts& f) {
  if (f.uses_xpu()) return "intel_xpu";
  return f.before(20) ? std::string_view() : sparse_backend(f);
}

std::optional<Finding> device_not_built_for(const LaunchFacts& f) {
  constexpr Field kDraft = Field::speculative_draft_attention_backend;
  const bool drafts = f.on(Field::speculative_algorithm) && f.is(kDraft, "intel_xpu");
  const std::string_view attends = on_intel_kernels(f);
  if ((attends.empty() && !drafts) || f.is_battlemage_or_later()) return std::nullopt;
  const std::string_view name = attends.empty() ? "intel_xpu" : attends;
  const bool refused = name == "intel_xpu" && !f.device().has_fp64;
  const bool left_over = refused && !f.is(Field::attention_backend, "intel_xpu");
  const std::string kernels =
      refused ? "intel_xpu kernels refuse a device without fp64, as this one is said to be"
              : fmt::format("{} kernels are built for Battlemage and later, not for {}", name, f.device().name);
  return Finding{.message = fmt::format("{}{}", kernels,
                                        left_over ? "; SGLang's fallback to triton covers --attention-backend only, "
                                                    "not the split options"
                                                  : ""),
                 .field = attends.empty() ? kDraft : f.field_naming(name),
                 .remedies = {to_give(attends.empty() ? "--speculative-draft-attention-backend" : "--attention-backend",
                                      {"triton"}),
                              on_another_card()}};
}

// AITER's own GPUs: the work was split as if an entry of the index named a page, and it names a token.
std::optional<Finding> aiter_pages(const LaunchFacts& f) {
  if (!f.decode_on("aiter") || !f.model().is_mla() || f.page_size() <= 1) return std::nullopt;
  return Finding{.message = fmt::format("aiter attends to one key in {} of an MLA model with --page-size {}",
                                        f.page_size(), f.page_size()),
                 .field = f.given(Field::page_size) ? Field::page_size : f.decode_field()};
}

std::optional<Finding> window_with_cross_attention(const LaunchFacts& f) {
  if (!f.uses_xpu() || !f.model().is_encoder_decoder || !runtime_window(f.model())) return std::nullopt;
  return Finding{.message = "intel_xpu does not combine a sliding window with an encoder-decoder model",
                 .field = f.field_naming("intel_xpu")};
}

std::optional<Finding> triton_with_cross_attention(const LaunchFacts& f) {
  if (!f.any_phase_on("triton") || !f.model().is_encoder_decoder) return std::nullopt;
  return Finding{.message = "triton attention has no cross-attention for an encoder-decoder model",
                 .field = f.field_naming("triton")};
}

std::optional<Finding> encoder_decoder_paging(const LaunchFacts& f) {
  if (!f.uses_xpu() || !f.model().is_encoder_decoder) return std::nullopt;
  return Finding{.message = fmt::format("SGLang {} runs encoder-decoder models on intel_xpu wrongly with page size {}",
                                        f.release().text(), f.page_size()),
                 .field = f.field_naming("intel_xpu")};
}

std::optional<Finding> encoder_decoder_graph(const LaunchFacts& f) {
  if (!f.uses_xpu() || !f.model().is_encoder_decoder || !f.any_graph()) return std::nullopt;
  return Finding{.message = "encoder-decoder models on intel_xpu run eagerly only, and a graph is on"};
}

// Nothing but the causal mask reaches torch's kernel.
std::optional<Finding> flex_without_window(const LaunchFacts& f) {
  if (!f.any_phase_on(kFlex)) return std::nullopt;
  const auto window = runtime_window(f.model());
  const double cap = f.model().attn_logit_softcapping;
  const bool reaches = window && *window < f.model().context_len;
  if (!reaches && cap <= 0.0) return std::nullopt;
  const std::string what = reaches ? fmt::format("a window of {} tokens", *window) : std::string();
  const std::string capped = cap > 0.0 ? fmt::format("logits capped at {}", cap) : std::string();
  return Finding{.message = fmt::format("the model attends with {}{}{}, and flex_attention without", what,
                                        reaches && cap > 0.0 ? " and " : "", capped),
                 .field = f.field_naming(kFlex)};
}

std::optional<Finding> torch_without_soft_cap(const LaunchFacts& f) {
  if (!f.any_phase_on("torch_native") || f.model().attn_logit_softcapping <= 0.0) return std::nullopt;
  return Finding{.message = fmt::format("the model caps attention logits at {}, and torch_native does not",
                                        f.model().attn_logit_softcapping),
                 .field = f.field_naming("torch_native")};
}

std::optional<Finding> flex_with_cross_attention(const LaunchFacts& f) {
  if (!f.any_phase_on(kFlex) || !f.model().is_encoder_decoder) return std::nullopt;
  return Finding{.message = "flex_attention has no cross-attention for an encoder-decoder model",
                 .field = f.field_naming(kFlex)};
}

// For each prompt SGLang asks torch for a mask that is made whole: a byte for every pair of its tokens, and eight more
// while they are counted by blocks (10.0 bytes measured on a CPU with torch 2.13 and 2.14).
double flex_mask_bytes(std::int64_t tokens) {
  constexpr double kBytesOfPair = 10;
  return kBytesOfPair * static_cast<double>(tokens) * static_cast<double>(tokens);
}

std::optional<Finding> flex_mask_too_large(const LaunchFacts& f) {
  const auto fraction = f.static_share();
  const std::int64_t context = f.model().context_len;
  if (!f.is(Field::device, "xpu") || !f.prefill_on(kFlex) || !fraction) return std::nullopt;
  const double left = static_cast<double>(f.device().memory_mib) * 1024 * 1024 * (1 - *fraction);
  if (flex_mask_bytes(context) <= left) return std::nullopt;
  const std::int64_t longest =
      static_cast<std::int64_t>(std::sqrt(left / flex_mask_bytes(1))) / kRoundTokens * kRoundTokens;
  Finding finding{
      .message =
          fmt::format("flex_attention makes a mask of about {:.1f} GiB for a prompt of {} tokens; {:.1f} GiB are "
                      "left outside the static budget",
                      flex_mask_bytes(context) / kGib, context, left / kGib),
      .field = f.prefill_field(),
      .remedies = {to_give("--prefill-attention-backend", {"triton"}), to_give("--attention-backend", {"triton"})}};
  if (longest > 0) {
    finding.message += fmt::format(", enough for {} tokens", longest);
    finding.remedies.push_back(to_give("--context-length", {std::to_string(longest)}));
  }
  return finding;
}

std::optional<Finding> flex_one_by_one(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu") || !f.any_phase_on(kFlex)) return std::nullopt;
  return Finding{.message =
                     "flex_attention takes the requests of a batch one after the other, and each prefill chunk "
                     "with the whole prompt before it",
                 .field = f.field_naming(kFlex)};
}

// Parts of sparse attention whose kernels are another vendor's, or a package of theirs.
struct SparsePart {
  Field field;
  std::string_view option;
  std::initializer_list<std::string_view> others;
};

std::optional<Finding> sparse_part_of_others(const LaunchFacts& f) {
  const SparsePart parts[] = {
      {Field::dsa_prefill_backend,
       "--dsa-prefill-backend",
       {"flashmla_sparse", "flashmla_kv", "flashmla_auto", "flashmla_sparse_q8", "flashinfer_sparse_mla", "tilelang",
        "trtllm", "aiter", "triton_sparse_mla"}},
      {Field::dsa_decode_backend,
       "--dsa-decode-backend",
       {"flashmla_sparse", "flashmla_kv", "flashmla_auto", "flashmla_sparse_q8", "flashinfer_sparse_mla", "tilelang",
        "trtllm", "aiter"}},
      {Field::dsa_topk_backend, "--dsa-topk-backend", {"flashinfer"}},
      {Field::dsa_paged_mqa_logits_backend, "--dsa-paged-mqa-logits-backend", {"aiter", "cutedsl"}}};
  if (sparse_backend(f).empty()) return std::nullopt;
  for (const SparsePart& part : parts) {
    if (!f.one_of(part.field, part.others)) continue;
    return Finding{.message = fmt::format("{} {} runs on another vendor's GPUs", part.option, f.text(part.field)),
                   .field = part.field,
                   .remedies = {to_drop(std::string(part.option))}};
  }
  return std::nullopt;
}

std::optional<Finding> sparse_backend_of_cuda(const LaunchFacts& f) {
  const std::string_view name = sparse_backend(f);
  if (name.empty()) return std::nullopt;
  return Finding{
      .message = fmt::format("attention backend {} of {} asks torch for a CUDA device", name, f.release().text()),
      .field = f.field_naming(name)};
}

std::optional<Finding> index_without_form(const LaunchFacts& f) {
  if (!is_deepseek_sparse(f.model(), f.release())) return std::nullopt;
  return Finding{.message = fmt::format("the index of this model's sparse attention has no form for Intel GPUs in {}",
                                        f.release().text())};
}

// Other backends have no metadata for the index, which then chooses nothing. Prompts are attended to whole on Intel
// GPUs by either.
std::optional<Finding> dense_in_place_of_sparse(const LaunchFacts& f) {
  if (attends_sparsely(f.decode_backend()) || !is_deepseek_sparse(f.model(), f.release())) return std::nullopt;
  return Finding{.message = fmt::format("the model's sparse attention is not used: {} attends to every token before",
                                        f.decode_backend()),
                 .field = f.field_naming(f.decode_backend())};
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py";
constexpr std::string_view kFlexSource = "sglang/srt/layers/attention/torch_flex_backend.py";
constexpr std::string_view kRegistry = "sglang/srt/layers/attention/attention_registry.py";

}  // namespace

std::span<const Rule> backend_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "BK001",
       .refs = {"BK-1"},
       .field = Field::attention_backend,
       .summary = "the attention backend is made for another vendor's GPUs",
       .why = "Resolution accepts the name; the worker dies while it builds the backend: fa3 on an assertion about the "
              "CUDA capability, the others on an import; triton on a CPU at the first batch, where Triton finds no "
              "driver.",
       .remedies = {give("--attention-backend", "triton", "intel_xpu")},
       .source = "sglang/srt/layers/attention/attention_registry.py, sglang/srt/utils/common.py",
       .need = RuleNeed::kNothing,
       .check = foreign_backend,
       .fires_on =
           {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend fa3"},
             {.model = "qwen3-0.6b", .args = "--device xpu --enable-deterministic-inference", .since = v0_5(12)}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend intel_xpu"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-deterministic-inference --attention-backend triton"}}}},
      {.id = "BK002",
       .refs = {"R-21"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::attention_backend,
       .summary = "intel_xpu on a device its kernels are not built for",
       .why =
           "The first attention call fails: without fp64 the kernel refuses the device, on Data Center GPU Max there "
           "is no binary for it.",
       .remedies = {give("--attention-backend", "triton"), remedy::on_another_card()},
       .source = "sgl-kernel-xpu python/sgl_kernel/flash_attn.py",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = device_not_built_for,
       .fires_on =
           {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu", .device = "max1550"},
             {.model = "qwen3-0.6b", .args = "--device xpu --decode-attention-backend intel_xpu", .device = "a770"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu", .device = "a770"}}}},
      {.id = "BK003",
       .refs = {"R-2"},
       .field = Field::attention_backend,
       .summary = "sliding window and cross-attention together on intel_xpu",
       .why = "An assertion in the backend's constructor.",
       .remedies = {words("no backend of this release runs such a model on XPU")},
       .source = kBackend,
       .device = "xpu",
       .check = window_with_cross_attention,
       .quiet_on = {{{.model = "gemma-3-1b-it", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "BK004",
       .refs = {"R-26"},
       .field = Field::attention_backend,
       .summary = "an encoder-decoder model on triton attention",
       .why = "An assertion when the backend is created.",
       .remedies = {both(give("--attention-backend", "intel_xpu"), in_release("0.5.20"))},
       .source = kRegistry,
       .device = "xpu",
       .check = triton_with_cross_attention,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "BK005",
       .refs = {"R-7", "R-8"},
       .field = Field::attention_backend,
       .summary = "encoder-decoder on intel_xpu before 0.5.20",
       .why =
           "A batch of two requests trips an assertion; a single request reads the cross-attention cache at the wrong "
           "granularity and answers wrongly without a message.",
       .remedies = {in_release("0.5.20")},
       .source = kBackend,
       .device = "xpu",
       .until = v0_5(20),
       .check = encoder_decoder_paging},
      {.id = "BK006",
       .refs = {"R-9"},
       .field = Field::cuda_graph_config,
       .summary = "encoder-decoder on intel_xpu with a graph",
       .why = "An assertion in the backend's constructor: the cross-attention gather cannot be captured.",
       .remedies = {give("--cuda-graph-backend-decode", "disabled")},
       .source = kBackend,
       .device = "xpu",
       .since = v0_5(20),
       .check = encoder_decoder_graph},
      {.id = "BK007",
       .refs = {"sglang#25556"},
       .field = Field::page_size,
       .summary = "MLA on aiter with pages above 1 before 0.5.13",
       .why = "The split of the work over the GPU counts the keys in pages while the index counts tokens, so that of "
              "a page's worth of keys one is attended (accuracy near zero, and faster); the buffer that graphs capture "
              "is counted in pages, too, "
              "and written past its end, "
              "with unified attention (SGLANG_USE_AITER_UNIFIED_ATTN) as well. 0.5.13 counts both in tokens.",
       .remedies = {give("--page-size", "1"), in_release("0.5.13")},
       .source =
           "sgl-project/sglang#25556; sglang/srt/layers/attention/aiter_backend.py: make_mla_prefill_ps_meta_data, "
           "init_cuda_graph_state",
       .until = v0_5(13),
       .check = aiter_pages,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device cuda --attention-backend aiter --page-size 2"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device cuda --attention-backend aiter --page-size 1"},
                     {.model = "qwen3-0.6b", .args = "--device cuda --attention-backend aiter --page-size 64"}}}},
      {.id = "BK020",
       .field = Field::attention_backend,
       .summary = "flex_attention ignores the model's sliding window or logit soft cap",
       .why =
           "The backend hands torch a causal mask alone, and no function that changes scores: beyond the window every "
           "token attends to all before it, silently.",
       .remedies = {give("--attention-backend", "triton")},
       .source = kFlexSource,
       .decided_by = {"context_length"},
       .check = flex_without_window,
       .fires_on = {{{.model = "gemma-3-1b-it", .args = "--device xpu --attention-backend flex_attention"},
                     {.model = "gemma-2-9b-it", .args = "--device xpu --attention-backend flex_attention"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend flex_attention"},
                     {.model = "gemma-3-1b-it", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "BK021",
       .field = Field::attention_backend,
       .summary = "an encoder-decoder model on flex_attention",
       .why = "The first request ends in a NotImplementedError: the backend attends causally only.",
       .remedies = {give("--attention-backend", "intel_xpu")},
       .source = kFlexSource,
       .device = "xpu",
       .check = flex_with_cross_attention,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend flex_attention"}}}},
      {.id = "BK022",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::attention_backend,
       .summary = "flex_attention's mask of a long prompt does not fit",
       .why =
           "Before each prefill SGLang has torch make the whole mask of every prompt, up to the end of its chunk, in "
           "what is left outside the static budget: the memory grows with the square of the prompt, and a long one "
           "ends the worker with an out-of-memory error.",
       .remedies = {give("--attention-backend", "triton"), lower("--context-length")},
       .source = kFlexSource,
       .decided_by = {"context_length"},
       .check = flex_mask_too_large,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend flex_attention"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend flex_attention --context-length 4096"}}}},
      {.id = "BK023",
       .severity = Severity::kInfo,
       .field = Field::attention_backend,
       .summary = "flex_attention works request by request",
       .why =
           "Every request of a batch takes a call of torch's kernel of its own, in each layer. Of a chunked prompt the "
           "tokens before the chunk are attended for once more and thrown away.",
       .remedies = {give("--attention-backend", "triton")},
       .source = kFlexSource,
       .need = RuleNeed::kNothing,
       .check = flex_one_by_one,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend flex_attention"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "BK024",
       .field = Field::attention_backend,
       .summary = "torch_native ignores the model's logit soft cap",
       .why = "torch's scaled_dot_product_attention has no cap, and the backend does not ask for one: silently wrong "
              "output.",
       .remedies = {give("--attention-backend", "triton")},
       .source = "sglang/srt/layers/attention/torch_native_backend.py",
       .check = torch_without_soft_cap,
       .fires_on = {{{.model = "gemma-2-9b-it", .args = "--device xpu --attention-backend torch_native --tp-size 2"}}},
       .quiet_on = {{{.model = "gemma-2-9b-it", .args = "--device xpu --attention-backend triton --tp-size 2"},
                     {.model = "gemma-3-1b-it", .args = "--device xpu --attention-backend torch_native"}}}},
      {.id = "BK025",
       .field = Field::dsa_prefill_backend,
       .summary = "a part of sparse attention that is another vendor's",
       .why =
           "ValueError while the backend or the indexer is built where the part asks for its GPU; else an error of its "
           "package or kernel at the first forward pass.",
       .remedies = {drop("--dsa-prefill-backend"), drop("--dsa-decode-backend"), drop("--dsa-topk-backend"),
                    drop("--dsa-paged-mqa-logits-backend")},
       .source = "sglang/srt/layers/attention/dsa_backend.py, sglang/srt/layers/attention/dsa",
       .device = "xpu",
       .since = v0_5(20),
       .check = sparse_part_of_others,
       .fires_on = {{{.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --dsa-prefill-backend tilelang",
                      .since = v0_5(20)},
                     {.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --dsa-topk-backend flashinfer",
                      .since = v0_5(20)}}},
       .quiet_on = {{{.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --dsa-prefill-backend intel_xpu",
                      .since = v0_5(20)},
                     {.model = "deepseek-v3",
                      .args = "--device xpu --tp-size 8 --dsa-prefill-backend tilelang",
                      .since = v0_5(20)}}}},
      {.id = "BK026",
       .severity = Severity::kInfo,
       .field = Field::attention_backend,
       .summary = "a model with sparse attention on a backend that attends to everything",
       .why =
           "The index that chooses which tokens a new one attends to is asked by the sparse backend alone. The answers "
           "are those of the model without it, and long contexts cost what they cost a model that has none.",
       .fix = "from 0.5.20 on no option names a backend: SGLang then takes the sparse one",
       .source = "sglang/srt/layers/attention/base_attn_backend.py: get_indexer_metadata; the indexer in "
                 "sglang/srt/layers/attention/dsa (nsa in 0.5.12)",
       .device = "xpu",
       .since = v0_5(12),
       .check = dense_in_place_of_sparse,
       .fires_on = {{{.model = "deepseek-v3.2", .args = "--device xpu --tp-size 8 --attention-backend triton"},
                     {.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --decode-attention-backend triton",
                      .since = v0_5(20)}}},
       .quiet_on = {{{.model = "deepseek-v3.2", .args = "--device xpu --tp-size 8"},
                     {.model = "deepseek-v3", .args = "--device xpu --tp-size 8 --attention-backend triton"}}}},
      {.id = "BK027",
       .field = Field::attention_backend,
       .summary = "the sparse attention backend before 0.5.20",
       .why = "It asks torch for the capability of a CUDA device while it is built: AssertionError or RuntimeError. On "
              "another backend the model attends to every token, with the index's pages of 64.",
       .remedies = {in_release("0.5.20"), both(give("--attention-backend", "triton"), give("--page-size", "64"))},
       .source = "sglang/srt/layers/attention/nsa_backend.py, since 0.5.13 dsa_backend.py",
       .device = "xpu",
       .since = v0_5(12),
       .until = v0_5(20),
       .check = sparse_backend_of_cuda,
       .fires_on = {{{.model = "deepseek-v3.2", .args = "--device xpu --tp-size 8 --page-size 64"}}},
       .quiet_on = {{{.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --attention-backend triton --page-size 64"}}}},
      {.id = "BK028",
       .field = Field::model_path,
       .summary = "sparse attention in 0.5.17",
       .why = "The class of the index lost its way for XPU in this release and has none in plain torch: "
              "NotImplementedError at the first forward pass, whatever the backend.",
       .remedies = {in_release("0.5.20")},
       .source = "sglang/srt/layers/attention/dsa/dsa_indexer.py, sglang/srt/layers/utils/multi_platform.py",
       .device = "xpu",
       .since = v0_5(17),
       .until = v0_5(18),
       .check = index_without_form,
       .fires_on = {{{.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --attention-backend triton --page-size 64"}}},
       .quiet_on = {{{.model = "deepseek-v3", .args = "--device xpu --tp-size 8 --attention-backend triton"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
