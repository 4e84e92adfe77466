// SP: speculative decoding on Intel GPUs. It runs on triton from 0.5.15 and on intel_xpu from 0.5.20.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/facts/model_classes.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// Drafting on a backend that the draft worker cannot build; the message ends with `why`.
std::optional<Finding> drafts_on(const LaunchFacts& f, std::string_view backend, std::string_view why) {
  if (!f.eagle_family()) return std::nullopt;
  const bool decode = f.draft_steps() > 1 && f.draft_decode_backend() == backend;
  const bool extend = f.draft_extend_backend() == backend;
  if (!decode && !extend) return std::nullopt;
  const bool own = f.is(Field::speculative_draft_attention_backend, backend);
  return Finding{.message = fmt::format("{} drafts on {}, which {}", f.algorithm(), backend, why),
                 .field = own ? Field::speculative_draft_attention_backend : f.field_naming(backend)};
}

std::optional<Finding> draft_on_xpu(const LaunchFacts& f) {
  return drafts_on(f, "intel_xpu", f.release().text() + " does not build");
}

std::optional<Finding> draft_on_torch(const LaunchFacts& f) {
  return drafts_on(f, "torch_native", "has no draft worker");
}

// Of a verification SGLang tells the backend no lengths of what is cached, and torch_native has no mask of a tree.
std::optional<Finding> verified_on_torch(const LaunchFacts& f) {
  if (f.algorithm().empty() || f.verify_backend() != "torch_native") return std::nullopt;
  const bool by_decode = f.is(Field::speculative_attention_mode, "decode");
  return Finding{.message = fmt::format("torch_native cannot verify what {} drafts", f.algorithm()),
                 .field = by_decode ? f.decode_field() : f.prefill_field()};
}

std::optional<Finding> tree_on_mla(const LaunchFacts& f) {
  if (!f.eagle_family() || f.topk() <= 1 || !f.model().is_mla()) return std::nullopt;
  if (f.draft_decode_backend() != "intel_xpu" && f.verify_backend() != "intel_xpu") return std::nullopt;
  return Finding{.message = fmt::format("a draft tree (topk {}) for an MLA model on intel_xpu", f.topk())};
}

// Checkpoints with layers of their own that predict further tokens are read as such a class; all others are the same
// model once more.
std::optional<Finding> drafts_for_itself(const LaunchFacts& f) {
  const ModelFacts* draft = f.draft_model();
  const std::string_view path = f.text(Field::speculative_draft_model_path);
  if (draft == nullptr || (!path.empty() && path != f.text(Field::model_path))) return std::nullopt;
  if (draft->architectures != f.model().architectures) return std::nullopt;
  return Finding{.message = fmt::format("{} {}: the target itself is loaded a second time and drafts", f.algorithm(),
                                        path.empty() ? "without a draft model" : "with the target as its draft model")};
}

std::optional<Finding> no_speculation(const LaunchFacts& f) {
  if (!f.eagle_family()) return std::nullopt;
  return Finding{.message = fmt::format("{} cannot run on an Intel GPU in {}, whatever the backend", f.algorithm(),
                                        f.release().text())};
}

std::optional<Finding> greedy_verification(const LaunchFacts& f) {
  if (!f.eagle_family() && f.algorithm() != "NGRAM") return std::nullopt;
  return Finding{.message =
                     fmt::format("with {} every request is decoded greedily: temperature, top-p, top-k and seeds "
                                 "are ignored",
                                 f.algorithm())};
}

std::optional<Finding> greedy_dflash(const LaunchFacts& f) {
  if (f.algorithm() != "DFLASH") return std::nullopt;
  return Finding{.message = "DFLASH decodes greedily when the installed kernel package lacks the sampling operation"};
}

std::optional<Finding> gdn_verify(const LaunchFacts& f) {
  if (!f.eagle_family() || !is_gdn(f.model())) return std::nullopt;
  return Finding{.message = fmt::format("speculative decoding of a gated-delta model calls a convolution that {} does "
                                        "not have on XPU",
                                        f.release().text())};
}

// Whoever verifies drafts on a GDN model, tree or chain, does so with that kernel, but for the ring of ReplaySSM.
std::optional<Finding> gdn_verify_stride(const LaunchFacts& f) {
  if (f.algorithm().empty() || !is_gdn(f.model()) || f.on(Field::enable_linear_replayssm_spec)) return std::nullopt;
  return Finding{.message = fmt::format("speculative decoding of a gated-delta model calls a kernel without one of its "
                                        "arguments in {}",
                                        f.release().text())};
}

std::optional<Finding> graph_with_speculation(const LaunchFacts& f) {
  if (f.algorithm().empty() || !f.decode_on_xpu() || !f.decode_graph_full()) return std::nullopt;
  return Finding{.message = "intel_xpu captures no speculative decode graph in this release"};
}

#define EAGLE3_ARGS                                                                             \
  "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 " \
  "--speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5 --dtype float16"

// What a draft's projection takes of each hidden state; 0: not of the classes that say so.
std::int64_t width_drafted_for(const ModelFacts& draft) {
  constexpr std::array<std::string_view, 3> kEagle{"LlamaForCausalLMEagle3", "LlamaForCausalLMEagle",
                                                   "Qwen2ForCausalLMEagle"};
  const std::string name = draft.architectures.empty() ? std::string() : draft.architectures.front();
  if (std::ranges::find(kEagle, name) == kEagle.end()) return 0;
  const Value* told = name == kEagle.front() ? draft.hf_config.find("target_hidden_size") : nullptr;
  return told != nullptr && told->is_int() ? told->as_int() : draft.hidden_size;
}

std::optional<Finding> draft_of_another_width(const LaunchFacts& f) {
  if (!f.eagle_family() || f.draft_model() == nullptr) return std::nullopt;
  const std::int64_t width = width_drafted_for(*f.draft_model());
  if (width <= 0 || f.model().hidden_size <= 0 || width == f.model().hidden_size) return std::nullopt;
  return Finding{.message = fmt::format("the draft is made for hidden states of {}; the model's have {}", width,
                                        f.model().hidden_size)};
}

std::optional<Finding> draft_of_another_vocabulary(const LaunchFacts& f) {
  if (f.algorithm() != "STANDALONE" || f.draft_model() == nullptr) return std::nullopt;
  const std::int64_t draft = f.draft_model()->vocab_size;
  if (draft <= 0 || f.model().vocab_size <= 0 || draft == f.model().vocab_size) return std::nullopt;
  return Finding{.message =
                     fmt::format("the draft's vocabulary has {} tokens, the model's {}", draft, f.model().vocab_size)};
}

// SGLang's own classes that draft a block of tokens at once from the target's projected states, and no others: those
// with project_target_hidden in srt/models, inherited ones too. None of them takes the target's table or head over.
constexpr std::array<std::string_view, 13> kBlockDrafts = {"DFlash2BeamDraftModel",
                                                           "DFlash2DraftModel",
                                                           "DFlashDraftModel",
                                                           "DFlashLagunaForCausalLM",
                                                           "DSparkDraftModel",
                                                           "DSparkMiniMaxDraftModel",
                                                           "DeepseekV4ForCausalLMDSpark",
                                                           "Lfm2DSparkDraftModel",
                                                           "LiLiCorrDraftModel",
                                                           "LingDSparkModel",
                                                           "MiniMaxDFlash2DraftModel",
                                                           "MuseGlimmerAssistantModel",
                                                           "Qwen3DSparkModel"};

// The algorithm that a draft's class is made for; empty: not known.
std::string algorithm_of(std::string_view draft) {
  if (draft.find("DSpark") != draft.npos) return "DSPARK";
  if (draft.find("DFlash") != draft.npos) return "DFLASH";
  if (draft.find("Eagle3") != draft.npos) return "EAGLE3";
  return draft.find("Eagle") != draft.npos ? "EAGLE" : "";
}

// EAGLE3 hands a draft the states of three layers unless the draft says otherwise, and these are made for one.
bool takes_one_layer(const ModelFacts& draft) {
  const std::string& name = draft.architectures.front();
  if (name != "LlamaForCausalLMEagle" && name != "Qwen2ForCausalLMEagle") return false;
  const Value said = draft.root("eagle_config");
  const Value* uses = said.find("use_aux_hidden_state");
  return uses == nullptr || uses->truthy();
}

std::optional<Finding> draft_of_another_algorithm(const LaunchFacts& f) {
  const std::string algorithm = f.algorithm();
  const bool blocks = algorithm == "DFLASH" || algorithm == "DSPARK";
  if (!blocks && algorithm != "EAGLE" && algorithm != "EAGLE3") return std::nullopt;
  if (f.draft_model() == nullptr || f.draft_model()->architectures.empty()) return std::nullopt;
  const std::string& name = f.draft_model()->architectures.front();
  if (!is_own(facts::model_class(name, f.release()))) return std::nullopt;
  const bool drafts_blocks = std::ranges::find(kBlockDrafts, name) != kBlockDrafts.end();
  const bool of_eagle = algorithm == "EAGLE3" && takes_one_layer(*f.draft_model());
  if (drafts_blocks == blocks && !of_eagle) return std::nullopt;
  Finding finding{.message = fmt::format("the draft's class, {}, is not one that {} can drive", name, algorithm)};
  if (const std::string own = algorithm_of(name); !own.empty())
    finding.remedies.push_back(to_give("--speculative-algorithm", {own}));
  finding.remedies.push_back(to_drop("--speculative-algorithm"));
  return finding;
}

// EAGLE hands a draft the states of the last layer and the target's head. These classes take what has the width of
// their own for joined already, and run.
std::optional<Finding> eagle3_draft_under_eagle(const LaunchFacts& f) {
  if (f.algorithm() != "EAGLE" || f.draft_model() == nullptr || f.draft_model()->architectures.empty()) return {};
  const std::string& name = f.draft_model()->architectures.front();
  if (name != "LlamaForCausalLMEagle3" && name != "Eagle3DeepseekV2ForCausalLM") return std::nullopt;
  const Value said = f.draft_model()->root("eagle_config");
  const Value* uses = said.find("use_aux_hidden_state");
  const bool of_one_layer = uses != nullptr && !uses->truthy();
  if (of_one_layer || draft_of_another_width(f)) return std::nullopt;
  return Finding{.message = fmt::format("EAGLE drives a draft of EAGLE3, {}: hardly a token of it is accepted", name)};
}

// Where the draft's backend is none that DFLASH knows, these releases take FlashInfer for it on every device but AMD's.
std::optional<Finding> block_draft_on_flashinfer(const LaunchFacts& f) {
  if (f.algorithm() != "DFLASH") return std::nullopt;
  constexpr Field kOwn = Field::speculative_draft_attention_backend;
  const bool told = !f.text(kOwn).empty() && (f.before(15) || f.given(kOwn));
  const std::string_view backend = told ? f.text(kOwn) : f.prefill_backend();
  if (backend == "triton" || backend == "fa3" || backend == "fa4" || backend == "flashinfer") return std::nullopt;
  return Finding{
      .message = fmt::format("DFLASH does not draft on {}: SGLang {} takes flashinfer for it, which no Intel "
                             "GPU has",
                             backend, f.release().text()),
      .field = told ? kOwn : f.field_naming(backend)};
}

}  // namespace

std::span<const Rule> speculative_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "SP001",
       .refs = {"R-4"},
       .field = Field::attention_backend,
       .summary = "drafting on intel_xpu before 0.5.20",
       .why = "The draft worker finds no such backend in its factory: ValueError while it is built.",
       .remedies = {give("--speculative-draft-attention-backend", "triton"),
                    both(give("--attention-backend", "triton"),
                         give("--speculative-draft-attention-backend", "triton")),
                    in_release("0.5.20")},
       .source = "sglang/srt/speculative/draft_utils.py",
       .device = "xpu",
       .until = v0_5(20),
       .need = RuleNeed::kNothing,
       .check = draft_on_xpu,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend intel_xpu " EAGLE3_ARGS}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend triton " EAGLE3_ARGS},
                     {.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "SP002",
       .refs = {"R-5"},
       .field = Field::speculative_eagle_topk,
       .summary = "a draft tree for an MLA model on intel_xpu",
       .why =
           "Resolution looks at --attention-backend only; with triton there and intel_xpu for decode the launch passes "
           "and the first draft step fails on an assertion.",
       .remedies = {give("--speculative-eagle-topk", "1")},
       .source = "sglang/srt/layers/attention/xpu_backend.py",
       .device = "xpu",
       .since = v0_5(20),
       .check = tree_on_mla,
       .fires_on = {{{.model = "glm-4.7-flash",
                      .args =
                          "--device xpu --decode-attention-backend intel_xpu --tp-size 4 --speculative-algorithm NEXTN "
                          "--speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8"}}},
       .quiet_on = {{{.model = "glm-4.7-flash",
                      .args =
                          "--device xpu --decode-attention-backend intel_xpu --tp-size 4 --speculative-algorithm NEXTN "
                          "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"}}}},
      {.id = "SP003",
       .refs = {"SPX-1"},
       .field = Field::speculative_algorithm,
       .summary = "speculative decoding on an Intel GPU before 0.5.15",
       .why = "The kernels that build the draft tree are imported for other vendors only: KeyError or NameError at the "
              "latest with the first draft.",
       .remedies = {in_release("0.5.15")},
       .source = "sglang/srt/speculative/eagle_worker.py, sglang/srt/speculative/eagle_utils.py",
       .device = "xpu",
       .until = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = no_speculation,
       .fires_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu " EAGLE3_ARGS}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu"}}}},
      {.id = "SP004",
       .refs = {"SPX-2"},
       .severity = Severity::kWarning,
       .field = Field::speculative_algorithm,
       .summary = "speculative decoding ignores sampling parameters on an Intel GPU",
       .why = "Verification is greedy there, with no log line. Requests that ask for a temperature get none.",
       .remedies = {drop("--speculative-algorithm"), words("tell those who send requests")},
       .source = "sglang/srt/speculative/eagle_utils.py",
       .device = "xpu",
       .since = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = greedy_verification,
       .fires_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu " EAGLE3_ARGS}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu"}}}},
      {.id = "SP005",
       .refs = {"SPX-2a"},
       .severity = Severity::kInfo,
       .field = Field::speculative_algorithm,
       .summary = "DFLASH may decode greedily",
       .why = "It falls back with a log line when the sampling operation is missing.",
       .remedies = {words("a newer sgl-kernel-xpu")},
       .source = "sglang/srt/speculative",
       .device = "xpu",
       .since = v0_5(20),
       .need = RuleNeed::kNothing,
       .check = greedy_dflash,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend triton --speculative-algorithm DFLASH "
                              "--speculative-draft-model-path {models}/llama3.1-8b-instruct-dflash-ultrachat"}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu"}}}},
      {.id = "SP006",
       .refs = {"SPX-3"},
       .field = Field::speculative_algorithm,
       .summary = "speculative decoding of a gated-delta hybrid in 0.5.17 and 0.5.18",
       .why = "TypeError at the first verification: the XPU convolution lacks an argument.",
       .remedies = {in_release("0.5.21")},
       .source = "sglang/srt/layers/attention/linear/gdn_backend.py",
       .device = "xpu",
       .since = v0_5(17),
       .until = v0_5(19),
       .check = gdn_verify},
      {.id = "SP010",
       .field = Field::speculative_algorithm,
       .summary = "speculative decoding of a gated-delta hybrid in 0.5.19 and 0.5.20",
       .why = "TypeError at the first verification: the Intel form of the delta rule leaves out stride_h0_source, "
              "which the shared kernel wants since 0.5.17.",
       .remedies = {in_release("0.5.21")},
       .source = "sglang/srt/hardware_backend/xpu/kernels/fla/fused_sigmoid_gating_recurrent.py",
       .since = v0_5(19),
       .until = v0_5(21),
       .check = gdn_verify_stride},
      {.id = "SP007",
       .refs = {"R-10"},
       .certainty = Certainty::kLikely,
       .field = Field::cuda_graph_config,
       .summary = "speculation with a decode graph on intel_xpu before 0.5.20",
       .why = "An assertion when the graph is captured.",
       .remedies = {give("--cuda-graph-backend-decode", "disabled"), in_release("0.5.20")},
       .source = "sglang/srt/layers/attention/xpu_backend.py",
       .device = "xpu",
       .since = v0_5(15),
       .until = v0_5(20),
       .need = RuleNeed::kNothing,
       .check = graph_with_speculation},
      {.id = "SP008",
       .field = Field::attention_backend,
       .summary = "drafting on torch_native",
       .why = "The draft worker finds no such backend in its factory: ValueError while it is built.",
       .remedies = {give("--attention-backend", "triton"), give("--speculative-draft-attention-backend", "triton")},
       .source = "sglang/srt/speculative/draft_utils.py",
       .need = RuleNeed::kNothing,
       .check = draft_on_torch,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend torch_native " EAGLE3_ARGS}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend triton " EAGLE3_ARGS},
                     {.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend torch_native"}}}},
      {.id = "SP013",
       .field = Field::attention_backend,
       .summary = "drafts verified on torch_native",
       .why =
           "It takes the lengths of what is cached from where a verification has none: AttributeError with the first "
           "draft, and the server ends.",
       .remedies = {give("--attention-backend", "triton"), drop("--speculative-algorithm")},
       .source = "sglang/srt/layers/attention/torch_native_backend.py, "
                 "sglang/srt/model_executor/forward_batch_info.py",
       .device = "xpu",
       .since = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = verified_on_torch,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend torch_native --speculative-draft-attention-backend "
                              "triton " EAGLE3_ARGS}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu --attention-backend triton " EAGLE3_ARGS},
                     {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend torch_native"}}}},
      {.id = "SP009",
       .severity = Severity::kWarning,
       .field = Field::speculative_algorithm,
       .summary = "no draft model is named, and the target has no prediction layers",
       .why = "The draft worker then takes --model-path: the whole checkpoint is loaded once more, with a KV cache for "
              "all of its layers, and every draft step costs as much as a step of the target.",
       .remedies = {words("--speculative-draft-model-path with a draft made for this model"),
                    drop("--speculative-algorithm")},
       .source = "sglang/srt/managers/tp_worker.py, sglang/srt/configs/model_config.py",
       .check = drafts_for_itself},
      {.id = "SP011",
       .field = Field::speculative_draft_model_path,
       .summary = "a draft made for a model of another width",
       .why = "Its first projection takes hidden states of the width it was trained on: RuntimeError of shapes at the "
              "first draft.",
       .remedies = {words("--speculative-draft-model-path with a draft made for this model"),
                    drop("--speculative-algorithm")},
       .source = "sglang/srt/models/llama_eagle3.py, sglang/srt/models/llama_eagle.py",
       .check = draft_of_another_width},
      {.id = "SP012",
       .field = Field::speculative_draft_model_path,
       .summary = "a draft with another vocabulary than the model's",
       .why = "STANDALONE hands token ids from one to the other and compares the sizes while it is built: ValueError.",
       .remedies = {words("--speculative-draft-model-path with a draft of the same vocabulary"),
                    drop("--speculative-algorithm")},
       .source = "sglang/srt/speculative/standalone_worker_v2.py",
       .since = v0_5(16),
       .check = draft_of_another_vocabulary},
      {.id = "SP014",
       .field = Field::speculative_algorithm,
       .summary = "a draft whose class is made for another algorithm",
       .why =
           "DFLASH and DSPARK project the target's states with a method of the draft's class, EAGLE and EAGLE3 hand it "
           "the target's table or head: AttributeError while the draft worker is built, or at the first batch. A draft "
           "of EAGLE takes the states of one layer, and EAGLE3 hands it three: RuntimeError of shapes.",
       .remedies = {words("the algorithm that the draft was made for"), drop("--speculative-algorithm")},
       .source = "sglang/srt/speculative: dflash_worker.py (later dflash_worker_v2.py), eagle_worker.py (later "
                 "eagle_worker_v2.py), dspark_components; sglang/srt/models: dflash.py, dspark.py, llama_eagle3.py",
       .check = draft_of_another_algorithm},
      {.id = "SP016",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::speculative_algorithm,
       .summary = "a draft of EAGLE3 under EAGLE",
       .why = "The draft was made for the joined states of three layers and a head of its own. EAGLE hands it those of "
              "the last layer and the target's head: no error, right answers, and drafts that are thrown away.",
       .remedies = {give("--speculative-algorithm", "EAGLE3"), drop("--speculative-algorithm")},
       .source = "sglang/srt/speculative/eagle_worker_v2.py (before 0.5.15 eagle_worker.py, too), "
                 "sglang/srt/models/llama_eagle3.py, sglang/srt/models/kimi_k25_eagle3.py",
       .check = eagle3_draft_under_eagle},
      {.id = "SP015",
       .field = Field::attention_backend,
       .summary = "DFLASH drafting on FlashInfer before 0.5.16",
       .why =
           "The draft worker knows triton and backends of other vendors, and takes FlashInfer in place of any other: "
           "ImportError or NameError of flashinfer while it is built. 0.5.16 to 0.5.19 refuse DFLASH on Intel GPUs.",
       .remedies = {give("--attention-backend", "triton"), give("--speculative-draft-attention-backend", "triton"),
                    drop("--speculative-algorithm")},
       .source = "sglang/srt/speculative/dflash_worker.py; in 0.5.15 _resolve_dflash_draft_attention_backend of "
                 "sglang/srt/arg_groups/speculative_hook.py",
       .device = "xpu",
       .until = v0_5(16),
       .need = RuleNeed::kNothing,
       .check = block_draft_on_flashinfer,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend intel_xpu --speculative-algorithm DFLASH "
                              "--speculative-draft-model-path {models}/llama3.1-8b-instruct-dflash-ultrachat"}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend triton --speculative-algorithm DFLASH "
                              "--speculative-draft-model-path {models}/llama3.1-8b-instruct-dflash-ultrachat"},
                     {.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend intel_xpu --speculative-draft-attention-backend triton "
                              "--speculative-algorithm DFLASH "
                              "--speculative-draft-model-path {models}/llama3.1-8b-instruct-dflash-ultrachat"}}}},
  });
  return kRules;
}

#undef EAGLE3_ARGS

}  // namespace preflight::rules
