// MC: the class that serves the model's architecture. SGLang looks for it when the workers load the model, after the
// configuration was resolved.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/facts/captured_layers.h"
#include "src/facts/counted_experts.h"
#include "src/facts/cuda_heads.h"
#include "src/facts/kinds.h"
#include "src/facts/model_classes.h"
#include "src/plan/output_head.h"
#include "src/python/integer.h"
#include "src/rules/attention_ranks.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"
#include "src/rules/serving_class.h"
#include "src/rules/transformers_types.h"

namespace preflight::rules {
namespace {

using facts::ModelClass;

bool served(ModelClass c) { return is_own(c) || c == ModelClass::kTransformers; }
bool takes_stages(ModelClass c) { return c == ModelClass::kStages; }

std::vector<Remedy> later_release(const LaunchFacts& f, std::string_view architecture, bool (*test)(ModelClass)) {
  const auto release = facts::first_release_after(f.release(), architecture, test);
  return release ? std::vector{with_release(release->text())} : std::vector<Remedy>{};
}

std::optional<Finding> no_class(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const bool by_transformers = f.is(Field::model_impl, "transformers");
  if (m.architectures.empty() || by_transformers || f.is(Field::model_impl, "mindspore")) return std::nullopt;
  if (!own_architecture(f).empty() || brings_its_own_class(f)) return std::nullopt;
  for (const std::string& name : m.architectures) {
    if (name.starts_with("Transformers")) continue;
    const ModelClass found = facts::model_class(name, f.release());
    if (found == ModelClass::kTransformers || (found == ModelClass::kRefused && !f.is(Field::model_impl, "auto"))) {
      continue;
    }
    return Finding{.message = fmt::format("SGLang {} has no class for {}, and {}", f.release().text(), name,
                                          found == ModelClass::kRefused
                                              ? "transformers' own says that it cannot stand behind SGLang's layers"
                                              : "the transformers release it needs has none either"),
                   .remedies = later_release(f, name, served)};
  }
  return std::nullopt;
}

// 0.5.15 imports CUTLASS's Python package with the index of sparse attention, and its registry passes over every module
// that cannot be imported; 0.5.15.post1 does so beside NVIDIA GPUs alone.
std::optional<Finding> class_not_imported(const LaunchFacts& f) {
  const std::string_view name = serving_class(f);
  const auto imported = [&](Release r) {
    const ModelClass found = facts::model_class(name, r);
    return found == ModelClass::kStages || found == ModelClass::kWhole;
  };
  if (name.empty() || imported(f.release()) || !imported(v0_5(15, 1))) return std::nullopt;
  return Finding{
      .message = fmt::format("SGLang {} cannot import {} without NVIDIA's CUTLASS package", f.release().text(), name),
      .remedies = {with_release(v0_5(15, 1).text())}};
}

// Classes whose modules import kernels of other devices as they are read, and the package that these need.
struct ForeignPackage {
  std::string_view name;
  Release until;
  std::string_view package;
};
constexpr Release kHelionUntil = v0_5(18);
constexpr Release kTvmUntil = v0_5(19);
constexpr std::array kForeignPackages = {
    ForeignPackage{"InklingForConditionalGeneration", kHelionUntil, "helion"},
    ForeignPackage{"InklingForConditionalGeneration", kNoEnd, "nvidia-cutlass-dsl"},
    ForeignPackage{"InklingForConditionalGenerationMTP", kHelionUntil, "helion"},
    ForeignPackage{"InklingForConditionalGenerationMTP", kNoEnd, "nvidia-cutlass-dsl"},
    ForeignPackage{"MiniMaxM2ForCausalLM", kTvmUntil, "apache-tvm-ffi"},
    ForeignPackage{"MiniMaxM3SparseForCausalLM", kTvmUntil, "apache-tvm-ffi"},
    ForeignPackage{"MiniMaxM3SparseForConditionalGeneration", kTvmUntil, "apache-tvm-ffi"}};

std::optional<Finding> class_of_foreign_packages(const LaunchFacts& f) {
  const std::string_view name = serving_class(f);
  const auto row = std::ranges::find_if(
      kForeignPackages, [&](const ForeignPackage& p) { return p.name == name && f.release() < p.until; });
  if (row == kForeignPackages.end()) return std::nullopt;
  Finding finding{.message = fmt::format("SGLang {} cannot import {} without the package {}", f.release().text(), name,
                                         row->package)};
  if (row->until == kTvmUntil)
    finding.remedies = {with_release(row->until.text()), in_words("install " + std::string(row->package))};
  return finding;
}

// mimo_v2.py hands rope_scaling to the rotary embedding as it finds it, and that is kept by what it was made of. Since
// 0.5.22 transformers has a class for the model, which tells of it by kind of layer.
std::optional<Finding> rotary_by_kind(const LaunchFacts& f) {
  const std::string_view name = serving_class(f);
  if (name != "MiMoV2FlashForCausalLM" && name != "MiMoV2ForCausalLM") return std::nullopt;
  // The model's own class, where it runs, is not known here.
  if (f.on(Field::trust_remote_code) && f.model().root("auto_map").find("AutoConfig") != nullptr) return std::nullopt;
  const Value rope = f.model().root("rope_parameters");
  if (!rope.is_dict() || std::ranges::none_of(rope.as_dict(), [](const auto& one) { return one.second.is_dict(); })) {
    return std::nullopt;
  }
  return Finding{.message =
                     fmt::format("{} takes rotary parameters of one kind, and the configuration has them by kind "
                                 "of layer",
                                 name)};
}

// Classes whose forward takes what another stage hands on, and that assert against stages nonetheless, or build all
// layers in each and look at nothing that is handed on (Llama 4's text).
constexpr std::array<std::string_view, 5> kOneStage = {"SDARForCausalLM", "SDARMoeForCausalLM", "NanbeigeForCausalLM",
                                                       "InternS2MobiusForConditionalGeneration", "Llama4ForCausalLM"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::optional<Finding> no_stages(const LaunchFacts& f) {
  if (f.pp() == 1) return std::nullopt;
  const std::string_view name = serving_class(f);
  const ModelClass kind = facts::model_class(name, f.release());
  if (name.empty() || (kind != ModelClass::kWhole && !among(kOneStage, name))) return std::nullopt;
  Finding finding{.message = fmt::format("{} cannot run in {} pipeline stages", name, f.pp())};
  finding.remedies = {to_drop("--pp-size")};
  if (among(kOneStage, name)) return finding;
  for (Remedy& later : later_release(f, name, takes_stages)) finding.remedies.push_back(std::move(later));
  return finding;
}

std::optional<Finding> no_head(const LaunchFacts& f) {
  const std::string_view name = own_architecture(f);
  if (f.pp() == 1 || f.is(Field::model_impl, "transformers")) return std::nullopt;
  if (name.empty() || !f.model().is_generation || !plan::table_is_head(f.model())) return std::nullopt;
  return Finding{.message = fmt::format("the last of {} pipeline stages has no output head: {} shares its table with "
                                        "the head, and the table stands on the first stage",
                                        f.pp(), name)};
}

std::optional<Finding> attention_over_all_ranks(const LaunchFacts& f) {
  if (f.attention_dp() == 1 || !cuts_over_all_ranks(f)) return std::nullopt;
  return Finding{.message = fmt::format(
                     "{} cuts its attention over all {} ranks, and the launch gives {} groups of them "
                     "requests of their own",
                     transformers_serves(f) ? "transformers' class" : own_architecture(f), f.tp(), f.attention_dp())};
}

// Classes that draft for another model: their forward pass reads the hidden states that it leaves them.
bool is_draft_class(std::string_view name) {
  return name.find("Eagle") != name.npos || name.ends_with("NextN") || name.ends_with("MTP") ||
         name.ends_with("AssistantForCausalLM") || name.ends_with("AssistantModel") ||
         name.find("DFlash") != name.npos || name.find("DSpark") != name.npos || name.ends_with("DraftModel");
}

// MiMo-V2 with its towers has an encoder of audio, whose tokenizer is loaded onto the current CUDA device.
bool hears(const LaunchFacts& f) {
  return !f.model().root("vision_config").is_none() && !f.model().root("audio_config").is_none();
}

// Classes whose constructor or load_weights asks torch for a CUDA device or stream.
struct CudaClass {
  std::string_view name;
  Release until = kNoEnd;  // its beginning is that of the class
  bool (*reached)(const LaunchFacts&) = always;
};
constexpr std::array kCudaClasses = {CudaClass{"DbrxForCausalLM"},
                                     CudaClass{"KimiK3ForConditionalGeneration"},
                                     CudaClass{"MiMoV2ASRForCausalLM"},
                                     CudaClass{"MiMoV2ForCausalLM", kNoEnd, hears},
                                     CudaClass{"MiMoV2FlashForCausalLM", kNoEnd, hears},
                                     CudaClass{"MuseSparkForConditionalGeneration"},
                                     CudaClass{"Grok1ForCausalLM", v0_5(19)},
                                     CudaClass{"Grok1ModelForCausalLM", v0_5(19)},
                                     CudaClass{"KimiLinearForCausalLM", v0_5(19)},
                                     CudaClass{"LongcatFlashForCausalLM", v0_5(19)},
                                     CudaClass{"LlavaLlamaForCausalLM", v0_5(20)},
                                     CudaClass{"LlavaQwenForCausalLM", v0_5(20)},
                                     CudaClass{"LlavaMistralForCausalLM", v0_5(20)},
                                     CudaClass{"LlavaVidForCausalLM", v0_5(20)},
                                     CudaClass{"MiniCPMV", v0_5(13)},
                                     CudaClass{"MiniCPMO", v0_5(13)}};

std::optional<Finding> class_for_cuda(const LaunchFacts& f) {
  const auto row = std::ranges::find(kCudaClasses, serving_class(f), &CudaClass::name);
  if (row == kCudaClasses.end() || f.release() >= row->until || !row->reached(f)) return std::nullopt;
  Finding finding{.message = fmt::format("{} is built on CUDA devices alone", row->name)};
  if (row->until != kNoEnd) finding.remedies = {with_release(row->until.text())};
  return finding;
}

// Classes that hand dual_chunk_attention_config to the rotary embedding. Before 0.5.20 resolution wants the backend of
// that attention, which no Intel GPU has.
std::optional<Finding> dual_chunks(const LaunchFacts& f) {
  constexpr std::array<std::string_view, 4> kClasses = {"Qwen2ForCausalLM", "Qwen2MoeForCausalLM",
                                                        "Qwen3MoeForCausalLM", "Glm4ForCausalLM"};
  const Value config = f.model().root("dual_chunk_attention_config");
  if (config.is_none() || !among(kClasses, serving_class(f))) return std::nullopt;
  Finding finding{.message =
                      "config.json asks for dual chunk attention, whose rotary embedding is built on CUDA "
                      "devices alone"};
  Remedy plain = to_give("--json-model-override-args", {R"({"dual_chunk_attention_config": null})"});
  const Value* own = config.find("original_max_position_embeddings");
  if (own != nullptr && own->is_int()) plain.words = fmt::format("for texts of up to {} tokens", own->as_int());
  finding.remedies = {std::move(plain)};
  return finding;
}

std::optional<Finding> draft_as_model(const LaunchFacts& f) {
  const std::string_view name = own_architecture(f);
  if (name.empty() || !is_draft_class(name)) return std::nullopt;
  return Finding{.message = fmt::format("{} drafts for another model and serves nothing by itself", name)};
}

// EAGLE and what is like it share the target's table and head with the draft; EAGLE3 its table, unless the draft says
// that it has no head of its own.
std::optional<Finding> draft_calls_cuda(const LaunchFacts& f) {
  const std::string algorithm = f.algorithm();
  if (f.draft_model() == nullptr || !f.eagle_family() || algorithm == "STANDALONE") return std::nullopt;
  const std::string_view name = own_architecture(*f.draft_model(), f.release());
  const auto taken = algorithm == "EAGLE3" ? facts::Taken::kTable : facts::Taken::kHead;
  const Release until = facts::calls_cuda_until(name, taken);
  if (f.release() >= until) return std::nullopt;
  Finding finding{.message = fmt::format("{} waits for a CUDA device when it is given the target's {}", name,
                                         algorithm == "EAGLE3" ? "embedding table" : "output head")};
  if (until != kNoEnd) finding.remedies = {with_release(until.text())};
  finding.remedies.push_back(to_drop("--speculative-algorithm"));
  return finding;
}

// Whose convention of capturing layers the launch asks of the target's class; empty: none, or not known. A draft may
// say that it reads the last layer alone; NGRAM and the like read none.
std::string captured_for(const LaunchFacts& f) {
  const std::string_view without_draft = f.text(Field::aux_hidden_state_capture);
  if (!without_draft.empty()) return ascii_upper(without_draft);
  const std::string algorithm = f.algorithm();
  if (algorithm == "DFLASH" || algorithm == "DSPARK") return algorithm;
  if (algorithm != "EAGLE3" || f.draft_model() == nullptr) return {};
  if (f.text(Field::speculative_draft_model_path).empty()) return {};
  const Value said = f.draft_model()->root("eagle_config");
  const Value* uses = said.find("use_aux_hidden_state");
  return uses == nullptr || uses->truthy() ? algorithm : std::string();
}

std::optional<Finding> captures_no_layers(const LaunchFacts& f) {
  const std::string algorithm = captured_for(f);
  if (algorithm.empty() || f.is(Field::model_impl, "mindspore")) return std::nullopt;
  const bool by_transformers = f.is(Field::model_impl, "transformers");
  const std::string_view name = by_transformers ? "transformers' class" : own_architecture(f);
  if (name.empty() || is_draft_class(name)) return std::nullopt;
  const auto since = facts::captures_since(name, algorithm);
  if (since && f.release() >= *since) return std::nullopt;
  Finding finding{.message = fmt::format("{} hands out no layers' hidden states, which {} reads", name, algorithm)};
  finding.remedies = {to_drop(f.algorithm().empty() ? "--enable-return-aux-hidden-states" : "--speculative-algorithm")};
  if (since) finding.remedies.push_back(with_release(since->text()));
  if (by_transformers) finding.remedies.push_back(to_drop("--model-impl"));
  return finding;
}

// The recorder of the experts' distribution, asked for or behind another option.
std::optional<Finding> counts_no_experts(const LaunchFacts& f) {
  if (f.text(Field::expert_distribution_recorder_mode).empty() || f.on(Field::encoder_only)) return std::nullopt;
  const std::string_view name = serving_class(f);
  if (name.empty() || has_classes_of_its_own(f)) return std::nullopt;
  const auto since = facts::counts_experts_since(name);
  if (since && f.release() >= *since) return std::nullopt;
  constexpr std::array kAsked = {
      std::pair{Field::enable_eplb, "--enable-eplb"},
      std::pair{Field::expert_distribution_recorder_mode, "--expert-distribution-recorder-mode"},
      std::pair{Field::expert_balancedness_report_mode, "--expert-balancedness-report-mode"},
      std::pair{Field::enable_expert_distribution_metrics, "--enable-expert-distribution-metrics"}};
  Remedy without;
  for (const auto& [field, option] : kAsked) {
    if (!f.given(field)) continue;
    for (RemedyStep& step : to_drop(option).steps) without.steps.push_back(std::move(step));
  }
  Finding finding{.message = fmt::format("{} does not say how many experts it has, which their recorder asks", name)};
  if (f.on(Field::enable_eplb)) finding.field = Field::enable_eplb;
  if (without.acts()) finding.remedies.push_back(std::move(without));
  if (since) finding.remedies.push_back(with_release(since->text()));
  return finding;
}

// Model types whose configuration in transformers has no plan of its layers, neither for tensors nor for stages, alike
// in 5.8.1, 5.12.1 and 5.19.0; those that further types lack for pipelines alone. Models of several parts are not
// judged here.
constexpr std::array<std::string_view, 37> kNoPlan = {"afmoe",
                                                      "bamba",
                                                      "biogpt",
                                                      "bitnet",
                                                      "bloom",
                                                      "codegen",
                                                      "diffllama",
                                                      "falcon",
                                                      "falcon_h1",
                                                      "falcon_mamba",
                                                      "gpt2",
                                                      "gpt_bigcode",
                                                      "gpt_neo",
                                                      "gpt_oss",
                                                      "gptj",
                                                      "granitemoe",
                                                      "granitemoehybrid",
                                                      "granitemoeshared",
                                                      "hunyuan_v1_dense",
                                                      "hunyuan_v1_moe",
                                                      "jamba",
                                                      "jetmoe",
                                                      "lfm2",
                                                      "lfm2_moe",
                                                      "mamba",
                                                      "mamba2",
                                                      "nemotron",
                                                      "nemotron_h",
                                                      "opt",
                                                      "persimmon",
                                                      "phimoe",
                                                      "recurrent_gemma",
                                                      "stablelm",
                                                      "xglm",
                                                      "xlstm",
                                                      "zamba",
                                                      "zamba2"};
constexpr std::array<std::string_view, 3> kNoStagePlanEither = {"llama4_text", "nanochat", "olmoe"};
constexpr std::array<std::string_view, 2> kStagePlan = {"afmoe", "gpt_oss"};

// Of a model of several parts the text's plan is taken, or that of the model that the text's type is named after.
bool has_plan_of_tensors(const LaunchFacts& f) {
  const std::string& type = f.model().model_type;
  if (has_tensor_plan(type) && !facts::has_class_of_sglang(type, f.release())) return true;
  const Value text = f.model().text("model_type");
  if (!text.is_string() || text.as_string() == type) return false;
  std::string_view name = text.as_string();
  if (has_tensor_plan(name)) return true;
  for (const std::string_view ending : {std::string_view("_text"), std::string_view("_vl")}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return has_tensor_plan(name);
}

std::optional<Finding> no_plan_of_layers(const LaunchFacts& f) {
  if (f.tp() == 1 && f.pp() == 1) return std::nullopt;
  const std::string& type = f.model().model_type;
  if (!transformers_serves(f) || brings_its_own_class(f)) return std::nullopt;
  const bool no_plan = among(kNoPlan, type);
  const bool no_stages = (no_plan && !among(kStagePlan, type)) || among(kNoStagePlanEither, type);
  const bool over_tensors = f.tp() > 1 && !has_plan_of_tensors(f);
  const bool over_stages = f.pp() > 1 && no_stages;
  if (!over_tensors && !over_stages) return std::nullopt;
  const std::string_view option = over_stages ? "--pp-size" : "--tp-size";
  Finding finding{.message = fmt::format(
                      "transformers' class for {} cannot be cut into {}", type,
                      over_stages ? fmt::format("{} pipeline stages", f.pp()) : fmt::format("{} tensor ranks", f.tp())),
                  .field = over_stages ? Field::pp_size : Field::tp_size,
                  .remedies = {to_drop(std::string(option))}};
  if (!own_architecture(f).empty()) finding.remedies.push_back(to_drop("--model-impl"));
  return finding;
}

// Model types of encoders whose attention in transformers does not know its layer, and of those where it does: alike in
// the releases' transformers. SGLang finds a layer's cache by that number, and takes all of them for cross-attention.
constexpr std::array<std::string_view, 5> kNoLayerNumber = {"albert", "distilbert", "jina_embeddings_v3", "mobilebert",
                                                            "nomic_bert"};
constexpr std::array<std::string_view, 12> kEncoders = {
    "bert",       "camembert", "data2vec-text",        "electra",     "ernie",          "eurobert",
    "modernbert", "roberta",   "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"};

std::optional<Finding> no_layer_number(const LaunchFacts& f) {
  const std::string& type = f.model().model_type;
  if (!transformers_serves(f) || brings_its_own_class(f) || !among(kNoLayerNumber, type)) return std::nullopt;
  return Finding{.message = fmt::format("transformers' class serves this model, and attention of {} does not know its "
                                        "layer",
                                        type)};
}

std::optional<Finding> encoder_of_transformers(const LaunchFacts& f) {
  if (!transformers_serves(f) || brings_its_own_class(f) || !among(kEncoders, f.model().model_type))
    return std::nullopt;
  if (f.model().root("is_decoder").truthy()) return std::nullopt;
  const bool writes_nowhere = f.prefill_on_xpu() || f.prefill_on("torch_native");
  if (!writes_nowhere && !f.prefill_on("flex_attention")) return std::nullopt;
  return Finding{.message = fmt::format(
                     "transformers' class serves this encoder, and {}",
                     writes_nowhere ? "its keys have no place in the cache of " + std::string(f.prefill_backend())
                                    : "flex_attention has causal attention alone"),
                 .field = f.prefill_field()};
}

// Where a key stands: the configuration itself, its text part, the part of its tower.
enum class Part { kRoot, kText, kTower };
Value part_of(const ModelFacts& m, Part part, std::string_view key) {
  if (part == Part::kText) return m.text(key);
  if (part == Part::kRoot) return m.root(key);
  const Value tower = m.root("vision_config");
  const Value* value = tower.find(key);
  return value == nullptr ? Value() : *value;
}

// Layers of experts behind the dense ones, whose number some configurations leave out.
bool has_layers_of_experts(const LaunchFacts& f) {
  const Value dense = f.model().text("first_k_dense_replace");
  return dense.is_none() || (dense.is_int() && dense.as_int() < f.model().num_hidden_layers);
}
bool routes_experts(const LaunchFacts& f) {
  return !f.model().root("n_routed_experts").is_none() && has_layers_of_experts(f);
}
bool builds_a_tower(const LaunchFacts& f) { return !f.model().is_language_model_only; }
bool describes_a_tower(const LaunchFacts& f) { return f.model().root("vision_config").is_dict() && builds_a_tower(f); }

// What SGLang's classes ask of a configuration outright, and transformers' classes do not fill in; `only`: the one
// value that they take.
struct Asked {
  std::string_view architecture;
  std::string_view key;
  std::string_view only = {};
  Part part = Part::kRoot;
  bool (*asks)(const LaunchFacts&) = nullptr;  // null: every model
  // The key may say null, and the whole's stands in its text's place: it is kept and never looked at.
  bool is_merely_kept = false;
};
constexpr std::array<Asked, 25> kAsked = {
    Asked{"Gemma2ForCausalLM", "hidden_act", "gelu_pytorch_tanh"},
    Asked{"Gemma2ForSequenceClassification", "hidden_act", "gelu_pytorch_tanh"},

    Asked{"BertModel", "position_embedding_type", "absolute"},
    Asked{"BertForSequenceClassification", "position_embedding_type", "absolute"},
    Asked{"Contriever", "position_embedding_type", "absolute"},
    Asked{"XLMRobertaModel", "position_embedding_type", "absolute"},
    Asked{"XLMRobertaForSequenceClassification", "position_embedding_type", "absolute"},
    Asked{"LlamaForClassification", "classification_out_size"},

    // Its text is built by the class of Cohere's experts, also where it has none.
    Asked{"Cohere2VisionForConditionalGeneration", "num_experts", {}, Part::kText, has_layers_of_experts},
    Asked{"DiffusionGemmaForBlockDiffusion", "num_experts", {}, Part::kText},
    Asked{"DeepseekV2ForCausalLM", "moe_layer_freq", {}, Part::kRoot, routes_experts},
    Asked{"DeepseekV3ForCausalLM", "moe_layer_freq", {}, Part::kRoot, routes_experts},
    Asked{"DeepseekV32ForCausalLM", "moe_layer_freq", {}, Part::kRoot, routes_experts},
    Asked{"GlmMoeDsaForCausalLM", "moe_layer_freq", {}, Part::kRoot, routes_experts},
    Asked{"Glm4MoeLiteForCausalLM", "first_k_dense_replace"}, Asked{"ExaoneMoeForCausalLM", "is_moe_layer"},
    // of the classes that keep it those whose configuration is SGLang's own and fills in none
    Asked{"ExaoneForCausalLM", "pad_token_id", {}, Part::kRoot, nullptr, true},
    Asked{"Step3VLForConditionalGeneration", "pad_token_id", {}, Part::kText, nullptr, true},
    Asked{"HYV3ForCausalLM", "route_norm"}, Asked{"MiniMaxM2ForCausalLM", "scoring_func"},
    Asked{"Mamba2ForCausalLM", "intermediate_size"},
    // a checkpoint without a tower is one of Gemma4ForCausalLM
    Asked{"Gemma4ForConditionalGeneration", "patch_size", {}, Part::kTower, builds_a_tower},
    // of every tower, whatever its layers: the class refuses one that leaves it out
    Asked{
        "MiniMaxM3SparseForConditionalGeneration", "img_token_compression_config", {}, Part::kTower, describes_a_tower},
    Asked{"Ernie4_5_VLMoeForConditionalGeneration", "in_chans", {}, Part::kTower, describes_a_tower},
    Asked{"Qwen2VLForConditionalGeneration", "in_chans", {}, Part::kTower, describes_a_tower}};

bool has_key(const ModelFacts& m, const Asked& asked) {
  if (asked.is_merely_kept)
    return m.hf_text_config.find(asked.key) != nullptr || m.hf_config.find(asked.key) != nullptr;
  return asked.part == Part::kRoot ? m.hf_config.find(asked.key) != nullptr
                                   : !part_of(m, asked.part, asked.key).is_none();
}

// An option fills in a number whose value follows from the others; the rest only the model's author knows.
Remedy way_to_fill_in(const Asked& asked, const ModelFacts& m) {
  const auto given = [&](std::int64_t value) {
    return to_give("--json-model-override-args", {fmt::format(R"({{"{}": {}}})", asked.key, value)});
  };
  if (asked.is_merely_kept) return given(0);
  if (asked.key == "moe_layer_freq") return given(1);
  if (asked.architecture == "Mamba2ForCausalLM") {
    return given(integer::bounded_times(config_int(m, "expand", 2), m.hidden_size));
  }
  if (asked.key == "num_experts") return in_words("a model whose text has experts");
  if (!asked.only.empty()) {
    Remedy as_trained =
        to_give("--json-model-override-args", {fmt::format(R"({{"{}": "{}"}})", asked.key, asked.only)});
    as_trained.words = "where the model was trained so";
    return as_trained;
  }
  return in_words(fmt::format("\"{}\" as the model's first checkpoint has it", asked.key));
}

std::optional<Finding> lacks_what_is_asked(const LaunchFacts& f) {
  const std::string_view name = serving_class(f);
  const auto asked = std::ranges::find(kAsked, name, &Asked::architecture);
  if (asked == kAsked.end() || has_classes_of_its_own(f)) return std::nullopt;
  if (asked->asks != nullptr && !asked->asks(f)) return std::nullopt;
  // What transformers saves says so, and so does what names code beside it; a few keys written down for a model are not
  // all that its file has.
  const bool is_whole = !f.model().root("transformers_version").is_none() || !f.model().root("auto_map").is_none();
  const bool lacks = !has_key(f.model(), *asked);
  if (lacks && !is_whole) return std::nullopt;
  if (lacks) {
    constexpr std::array<std::string_view, 3> kPlaces = {"config.json", "text_config of config.json",
                                                         "vision_config of config.json"};
    Finding finding{.message = fmt::format("{} asks for {}, which {} does not have", name, asked->key,
                                           kPlaces.at(static_cast<std::size_t>(asked->part)))};
    finding.remedies = {way_to_fill_in(*asked, f.model())};
    return finding;
  }
  const Value value = part_of(f.model(), asked->part, asked->key);
  if (asked->only.empty() || value == Value(std::string(asked->only))) return std::nullopt;
  return Finding{.message = fmt::format("{} takes {} {} alone, and config.json has {}", name, asked->key, asked->only,
                                        value.repr())};
}

// transformers' class of EXAONE 4 counts the layers of a group, of which the last has no window; SGLang's spells them.
std::optional<Finding> counts_a_pattern(const LaunchFacts& f) {
  const Value pattern = f.model().root("sliding_window_pattern");
  const bool is_whole = !f.model().root("transformers_version").is_none();
  if (serving_class(f) != "Exaone4ForCausalLM" || has_classes_of_its_own(f) || !is_whole) return std::nullopt;
  if (!pattern.is_number() || !pattern.truthy()) return std::nullopt;
  return Finding{.message = fmt::format("sliding_window_pattern of the configuration is {}, and no word such as LLLG",
                                        pattern.repr())};
}

// SGLang's configuration class of LongCat writes rope_scaling over what transformers made of rope_theta, and the
// model's class looks into it. A scale of one leaves the embedding as it is.
std::optional<Finding> unscaled_positions(const LaunchFacts& f) {
  if (serving_class(f) != "LongcatFlashForCausalLM" || has_classes_of_its_own(f)) return std::nullopt;
  if (!f.model().root("rope_parameters").is_none()) return std::nullopt;
  Finding finding{.message = "LongcatFlashForCausalLM looks into rope_scaling, which config.json does not have"};
  const Value theta = f.model().root("rope_theta");
  if (!theta.is_number()) return finding;
  finding.remedies = {
      to_give("--json-model-override-args",
              {fmt::format(R"({{"rope_scaling": {{"rope_type": "default", "rope_theta": {}}}}})", theta.repr())})};
  return finding;
}

}  // namespace

bool cuts_over_all_ranks(const LaunchFacts& f) {
  if (transformers_serves(f) && !has_classes_of_its_own(f))
    return true;  // whatever it is a model of (srt/models/transformers.py)
  return !own_architecture(f).empty() && cuts_attention_over_all_ranks(f.model());
}

std::int64_t attention_ranks(const LaunchFacts& f) { return cuts_over_all_ranks(f) ? f.tp() : f.attention_tp(); }

std::span<const Rule> model_class_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "MC001",
       .field = Field::model_path,
       .summary = "no class serves the model's architecture",
       .why =
           "ValueError in resolve_transformers_arch when the workers load the model. SGLang takes a class of its own, "
           "else transformers' class where that one is compatible.",
       .fix = "another model, or a release that has a class for this one",
       .source = "srt/model_loader/utils.py; srt/models/registry.py; transformers' is_backend_compatible",
       .check = no_class,
       .fires_on = {{{.model = "falcon-40b", .args = "--device xpu --tp-size 4"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"},
                     {.model = "falcon-40b", .args = "--device xpu --tp-size 4 --model-impl transformers"}}}},
      {.id = "MC002",
       .field = Field::pp_size,
       .summary = "pipeline stages with a model whose class takes none",
       .why =
           "The worker asserts after the weights are loaded: the class's forward takes nothing from another stage. Of "
           "the classes that take it by name alone some assert while they are built, and Llama 4's text builds all "
           "layers in each stage and hands nothing on.",
       .remedies = {drop("--pp-size")},
       .source = "srt/model_executor/model_runner.py (support_pp); srt/models/llama4.py",
       .check = no_stages,
       .fires_on = {{{.model = "gemma-2-9b-it", .args = "--device xpu --pp-size 2"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --pp-size 2"},
                     {.model = "gemma-2-9b-it", .args = "--device xpu --tp-size 2"}}}},
      {.id = "MC003",
       .field = Field::pp_size,
       .summary = "pipeline stages with a model whose head is its table of tokens",
       .why = "AttributeError at the first forward pass, with Granite's hybrids and Zaya while the class is built: in "
              "place of the head, the last stage holds a PPMissingLayer.",
       .remedies = {drop("--pp-size")},
       .source = "srt/models (llama.py, apertus.py, granitemoehybrid.py); srt/layers/logits_processor.py",
       .check = no_head,
       .fires_on = {{{.model = "llama-3.2-1b-instruct", .args = "--device xpu --pp-size 2"}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu --pp-size 2"},
                     {.model = "llama-3.2-1b-instruct", .args = "--device xpu --tp-size 2"}}}},
      {.id = "MC004",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::enable_dp_attention,
       .summary = "attention data parallelism with a model whose class does not know it",
       .why = "Ranks add up their parts of attention, table and layers across the groups, whose requests differ: wrong "
              "text, or a hang where their batches differ in length. SGLang does not look.",
       .remedies = {drop("--enable-dp-attention"), drop("--attn-dp-size")},
       .source = "srt/models; srt/layers/dp_attention.py",
       .doubtful = true,
       .check = attention_over_all_ranks,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --tp-size 4 --dp-size 2 --enable-dp-attention"},
                     {.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 4 --dp-size 2 --enable-dp-attention --model-impl transformers"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --tp-size 4 --dp-size 2 --enable-dp-attention"},
                     {.model = "llama-3.1-8b-instruct", .args = "--device xpu --tp-size 4"}}}},
      {.id = "MC005",
       .field = Field::model_path,
       .summary = "a draft model in place of the model",
       .why = "Its forward pass reads the target's hidden states, and there is no target: AttributeError, for DFLASH "
              "ValueError, at the first batch.",
       .fix = "the model that it drafts for, with this one as its draft",
       .source = "sglang/srt/models/llama_eagle3.py and its like; sglang/srt/models/dflash.py",
       .check = draft_as_model,
       .fires_on = {{{.model = "llama-3.1-8b-eagle3", .args = "--device xpu"},
                     {.model = "llama-3.1-8b-eagle", .args = "--device xpu"}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct", .args = "--device xpu"}}}},
      {.id = "MC006",
       .field = Field::model_path,
       .summary = "a class that is built on CUDA devices alone",
       .why = "Its constructor, or its load_weights, asks torch for a CUDA device (AssertionError) or stream "
              "(RuntimeError) whatever the launch's device.",
       .fix = "another model: no option helps",
       .source = "sglang/srt/models: dbrx.py, grok.py, kimi_k3.py, kimi_linear.py, llava.py, llavavid.py, "
                 "longcat_flash.py, mimo_audio.py, minicpmo.py, minicpmv.py, muse_spark.py; "
                 "sglang/srt/runtime_context.py: get_stream",
       .device = "xpu",
       .check = class_for_cuda,
       .fires_on = {{{.model = "kimi-linear-48b-a3b-instruct",
                      .args = "--device xpu --tp-size 8 --disable-radix-cache",
                      .until = v0_5(19)}}},
       .quiet_on = {{{.model = "kimi-linear-48b-a3b-instruct",
                      .args = "--device xpu --tp-size 8 --disable-radix-cache",
                      .since = v0_5(19)},
                     {.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "MC007",
       .field = Field::speculative_algorithm,
       .summary = "a draft that reads layers which the model's class does not hand out",
       .why =
           "ValueError once the weights are loaded, for EAGLE3 before 0.5.23 AttributeError: the class has no method "
           "that says which layers to keep.",
       .remedies = {drop("--speculative-algorithm")},
       .source = "sglang/srt/model_executor/model_runner_components/attention_backend_setup.py, earlier "
                 "model_executor/model_runner.py; sglang/srt/models",
       .check = captures_no_layers,
       .fires_on = {{{.model = "gemma-2-9b-it",
                      .args = "--device xpu --attention-backend triton --speculative-algorithm DFLASH "
                              "--speculative-draft-model-path {models}/llama3.1-8b-instruct-dflash-ultrachat",
                      .since = v0_5(20)}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --attention-backend triton --speculative-algorithm DFLASH "
                              "--speculative-draft-model-path {models}/llama3.1-8b-instruct-dflash-ultrachat"},
                     {.model = "gemma-2-9b-it", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "MC008",
       .field = Field::tp_size,
       .summary = "ranks or stages with a class of transformers that has no plan for them",
       .why =
           "ValueError while the model is built: SGLang takes from transformers' configuration which layers are cut.",
       .remedies = {drop("--tp-size"), drop("--pp-size"), drop("--model-impl")},
       .source = "sglang/srt/models/transformers.py; transformers: base_model_tp_plan, base_model_pp_plan",
       .check = no_plan_of_layers,
       .fires_on = {{{.model = "lfm2-1.2b",
                      .args = "--device xpu --disable-radix-cache --tp-size 2 --model-impl transformers"},
                     {.model = "lfm2-1.2b",
                      .args = "--device xpu --disable-radix-cache --pp-size 2 --model-impl transformers"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --tp-size 4 --model-impl transformers"},
                     {.model = "lfm2-1.2b", .args = "--device xpu --disable-radix-cache --tp-size 2"}}}},
      {.id = "MC009",
       .field = Field::speculative_algorithm,
       .summary = "a draft class that waits for a CUDA device",
       .why =
           "torch.cuda.synchronize() while the draft worker is built: AssertionError, as torch for Intel GPUs is not "
           "compiled with CUDA. Nothing asks for the device first.",
       .remedies = {drop("--speculative-algorithm")},
       .source = "sglang/srt/models: set_embed_and_head, set_embed; sglang/srt/speculative/eagle_worker_v2.py",
       .device = "xpu",
       .since = v0_5(15),
       .check = draft_calls_cuda},
      {.id = "MC010",
       .field = Field::model_path,
       .summary = "dual chunk attention on an Intel GPU",
       .why = "0.5.20 took its backend away and left its rotary embedding, whose constructor asks torch for a CUDA "
              "device: AssertionError while the layers are built.",
       .remedies = {give("--json-model-override-args", R"({"dual_chunk_attention_config": null})")},
       .source = "sglang/srt/layers/rotary_embedding: factory.py, rope_variant.py (DualChunkRotaryEmbedding)",
       .device = "xpu",
       .since = v0_5(20),
       .check = dual_chunks,
       .fires_on = {{{.model = "qwen2.5-7b-instruct",
                      .args = "--device xpu --json-model-override-args "
                              R"('{"dual_chunk_attention_config": {"chunk_size": 8192, "local_size": 1024}}')"}}},
       .quiet_on = {{{.model = "qwen2.5-7b-instruct",
                      .args = "--device xpu --json-model-override-args '{\"dual_chunk_attention_config\": null}'"},
                     {.model = "qwen2.5-7b-instruct", .args = "--device xpu"}}}},
      {.id = "MC011",
       .field = Field::model_path,
       .summary = "an encoder whose attention in transformers does not know its layer",
       .why =
           "SGLang looks for a layer's cache by the number that the attention carries: AttributeError (layer_idx) in "
           "the first forward pass, which is the warm-up's.",
       .fix = "a model that SGLang has a class for: bge, e5 and the like",
       .source =
           "sglang/srt/models/transformers.py: sglang_flash_attention_forward; transformers: modeling_albert.py, "
           "modeling_distilbert.py, modeling_jina_embeddings_v3.py, modeling_mobilebert.py, modeling_nomic_bert.py",
       .check = no_layer_number,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "MC012",
       .field = Field::attention_backend,
       .summary = "an encoder by transformers' class on a backend that cannot attend for it",
       .why = "SGLang makes such layers cross-attention. intel_xpu and torch_native write their keys where an "
              "encoder-decoder model has room: RuntimeError in set_kv_buffer. flex_attention: NotImplementedError.",
       .remedies = {give("--attention-backend", "triton")},
       .source = "sglang/srt/models/transformers.py; sglang/srt/layers/attention: xpu_backend.py, "
                 "torch_native_backend.py, torch_flex_backend.py; sgl-project/sglang#35213",
       .device = "xpu",
       .check = encoder_of_transformers,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "MC015",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::model_path,
       .summary = "a class that is imported with packages for other GPUs",
       .why = "Inkling's experts import helion up to 0.5.17, since 0.5.18 its attention nvidia-cutlass-dsl and quack; "
              "MiniMax M2 and M3 import apache-tvm-ffi before 0.5.19. SGLang for Intel GPUs does not install them. The "
              "class is passed over when the server starts: transformers' class stands in for it, or ValueError.",
       .fix = "a release that imports the class without it, or another model: no option helps",
       .source = "sglang/srt/models/inkling_common: moe.py, attn.py; sglang/kernels/ops/attention/flash_attn/cute; "
                 "sglang/srt/models: minimax_m2.py, minimax_m3.py, registry.py; sgl-project/sglang#35290",
       .device = "xpu",
       .check = class_of_foreign_packages,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "MC016",
       .field = Field::expert_distribution_recorder_mode,
       .summary = "a record of experts that the model's class does not count",
       .why = "AssertionError in every rank before the weights are loaded: --enable-eplb, its recorder and its reports "
              "need a class with get_model_config_for_expert_location.",
       .remedies = {drop("--enable-eplb"), drop("--expert-distribution-recorder-mode")},
       .source = "sglang/srt/eplb: expert_distribution.py, expert_location.py; sglang/srt/models",
       .check = counts_no_experts,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --expert-distribution-recorder-mode stat"},
                     {.model = "qwen3-8b", .args = "--device xpu --tp-size 4 --ep-size 4 --enable-eplb"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --ep-size 4 --enable-eplb"},
                     {.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "MC035",
       .field = Field::model_path,
       .summary = "rotary parameters by kind of layer in MiMo-V2's class",
       .why = "TypeError while the class is built: the embedding is looked up by what it is made of, and objects in "
              "objects cannot be. The model's own configuration class, which --trust-remote-code runs, has them as the "
              "class expects.",
       .remedies = {give("--trust-remote-code")},
       .source = "sglang/srt/models/mimo_v2.py, sglang/srt/layers/rotary_embedding/factory.py",
       .check = rotary_by_kind,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "MC036",
       .field = Field::model_path,
       .summary = "a configuration without what SGLang's class asks for",
       .why = "AttributeError or TypeError while the class is built, or ValueError where the value is another. "
              "transformers' classes of these releases fill in none: a checkpoint that was saved with them has no such "
              "key.",
       .remedies = {words(
           "the key in the checkpoint's config.json: \"position_embedding_type\": \"absolute\" where the "
           "model was trained so, \"classification_out_size\" as wide as its head, \"hidden_act\": "
           "\"gelu_pytorch_tanh\" for Gemma 2, the others as the model's first "
           "checkpoint has them (\"moe_layer_freq\": 1 for DeepSeek and GLM)")},
       .source = "sglang/srt/models: bert.py, roberta.py, llama_classification.py, gemma2.py, cohere2_moe.py, "
                 "deepseek_v2.py, glm4_moe_lite.py, exaone_moe.py, hunyuan_v3.py, minimax_m2.py, mamba2.py, "
                 "gemma4_vision.py, gemma4_diffusion.py, minimax_vl_common.py, ernie45_vl.py, qwen2_vl.py, exaone.py, "
                 "step3_vl.py",
       .check = lacks_what_is_asked,
       .quiet_on = {{{.model = "bge-reranker-v2-m3",
                      .args = "--device xpu --attention-backend triton --is-embedding"}}}},
      {.id = "MC037",
       .field = Field::model_path,
       .summary = "EXAONE 4 with a number for its pattern of windows",
       .why = "TypeError while the class is built: SGLang takes the length of that word. Where config.json leaves it "
              "out, or transformers saved it, its class has a number there.",
       .remedies = {words("\"sliding_window_pattern\" of config.json as the model's first checkpoint has it, LLLG or "
                          "null")},
       .source = "sglang/srt/models/exaone4.py",
       .check = counts_a_pattern,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "MC040",
       .field = Field::model_path,
       .summary = "LongCat without a scale for its positions",
       .why = "TypeError while the class is built: its configuration class in SGLang sets rope_scaling, which "
              "transformers takes for all of the rotary parameters, and without one these are None.",
       .remedies = {words("\"rope_scaling\" in config.json, of type default")},
       .source = "sglang/srt/models/longcat_flash.py; sglang/srt/configs/longcat_flash.py",
       .since = v0_5(19),
       .check = unscaled_positions,
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"}}}},
      {.id = "MD020",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::model_path,
       .summary = "a class of models that this release imports beside NVIDIA GPUs alone",
       .why = "The index of sparse attention imports nvidia-cutlass-dsl, which SGLang for Intel GPUs does not install. "
              "The class is passed over when the server starts: transformers' class stands in for it, or ValueError.",
       .remedies = {in_release("0.5.15.post1")},
       .source = "sglang/jit_kernel/dsa/__init__.py; srt/models/registry.py",
       .device = "xpu",
       .since = v0_5(15),
       .until = v0_5(15, 1),
       .check = class_not_imported,
       .fires_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --tp-size 2"},
                     {.model = "deepseek-v2-lite-chat-fp8", .args = "--device xpu --tp-size 2"}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu"},
                     {.model = "deepseek-v2-lite-chat", .args = "--device xpu --model-impl transformers"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
