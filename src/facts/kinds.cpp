// Model families by architecture; see kinds.h. Lists follow srt/configs/hybrid_arch.py and model_config.py.
#include "src/facts/kinds.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "src/facts/architectures.h"
#include "src/facts/counted_experts.h"
#include "src/facts/has_class.h"
#include "src/facts/repeated_heads.h"
#include "src/python/integer.h"

namespace preflight {
namespace {

using Prefixes = std::span<const std::string_view>;

bool has_layer_type(const ModelFacts& m, std::string_view type) {
  const Value types = m.text("layer_types");
  return types.is_list() && std::ranges::find(types.as_list(), Value(type)) != types.as_list().end();
}

std::int64_t first_int(const ModelFacts& m, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    if (const auto v = config_int(m, key, -1); v >= 0) return v;
  }
  return 0;
}

// A number for all layers, or a list of one for each; 0 where it is neither. A list says its first layer's.
std::int64_t of_first_layer(const Value& told) {
  const Value& number = told.is_list() && !told.as_list().empty() ? told.as_list().front() : told;
  return number.is_int() ? std::max<std::int64_t>(0, number.as_int()) : 0;
}

bool is_uneven(const Value& told) {
  const auto differ = [](const Value& a, const Value& b) { return !(a == b); };
  return told.is_list() && std::ranges::adjacent_find(told.as_list(), differ) != told.as_list().end();
}

// The table of models with a recurrent state, by model_type as hybrid_arch.py tells them by their configuration
// classes.
enum class Place { kRoot, kText, kEither };

struct StateRow {
  const char* model_type;
  Place place = Place::kRoot;
  RecurrentState state = RecurrentState::kNone;
  RecurrentState (*confirm)(const ModelFacts&, RecurrentState) = nullptr;  // where the configuration decides
};

RecurrentState with_mamba_layer(const ModelFacts& m, RecurrentState state) {
  const Value layers = m.root("layer_types");
  const bool any = layers.is_list() && std::any_of(layers.as_list().begin(), layers.as_list().end(),
                                                   [](const Value& v) { return v == Value("mamba"); });
  return any ? state : RecurrentState::kNone;
}

// The layers of Nemotron-H that predict further tokens have no Mamba among them.
RecurrentState unless_plain_draft(const ModelFacts& m, RecurrentState state) {
  if (!m.is_draft_model) return state;
  const Value pattern = m.root("mtp_hybrid_override_pattern");
  return pattern.is_string() && pattern.as_string().find('M') == std::string::npos ? RecurrentState::kNone : state;
}

RecurrentState of_bailing(const ModelFacts& m, RecurrentState state) {
  return m.root("use_kda").truthy() || m.text("use_kda").truthy() ? RecurrentState::kKimiDelta : state;
}

// Under any of the names that its class takes for such a layer; with none of them it is a model like any other.
RecurrentState with_lightning_layer(const ModelFacts& m, RecurrentState state) {
  const Value mixers = m.root("mixer_types");
  const bool any = mixers.is_list() && std::ranges::any_of(mixers.as_list(), [](const Value& v) {
                     return v.is_string() && v.as_string().starts_with("lightning");
                   });
  return any ? state : RecurrentState::kNone;
}

RecurrentState unless_draft(const ModelFacts& m, RecurrentState state) {
  return m.is_draft_model ? RecurrentState::kNone : state;
}

constexpr StateRow kStates[] = {
    {"granitemoehybrid", Place::kRoot, RecurrentState::kMamba2, with_mamba_layer},
    {"nemotron_h", Place::kRoot, RecurrentState::kMamba2, unless_plain_draft},
    {"nemotron_h_puzzle", Place::kRoot, RecurrentState::kMamba2, unless_plain_draft},
    {"NemotronH_Nano_VL_V2", Place::kRoot, RecurrentState::kMamba2},
    {"NemotronH_Nano_Omni_Reasoning_V3", Place::kRoot, RecurrentState::kMamba2},
    {"nemotron_h_omni", Place::kRoot, RecurrentState::kMamba2},
    {"falcon_h1", Place::kRoot, RecurrentState::kMamba2},
    {"lfm2", Place::kRoot, RecurrentState::kShortConvolution},
    {"lfm2_moe", Place::kRoot, RecurrentState::kShortConvolution},
    {"lfm2_vl", Place::kRoot, RecurrentState::kShortConvolution},
    {"zaya", Place::kRoot, RecurrentState::kOther},
    {"inkling_model", Place::kRoot, RecurrentState::kOther},
    {"inkling_mm_model", Place::kRoot, RecurrentState::kOther},
    {"mamba", Place::kRoot, RecurrentState::kOnlyState},
    {"mamba2", Place::kRoot, RecurrentState::kOnlyState},
    {"falcon_mamba", Place::kRoot, RecurrentState::kOnlyState},
    {"minicpm_sala", Place::kRoot, RecurrentState::kLightning, with_lightning_layer},
    {"bailing_hybrid", Place::kEither, RecurrentState::kLightning, of_bailing},
    {"kimi_linear", Place::kEither, RecurrentState::kKimiDelta},
    {"glm5_next", Place::kRoot, RecurrentState::kKimiDelta, unless_draft},
    {"gigachat3_5", Place::kRoot, RecurrentState::kGatedDelta, unless_draft},
    {"qwen3_next", Place::kText, RecurrentState::kGatedDelta},
    {"qwen3_5_text", Place::kText, RecurrentState::kGatedDelta},
    {"qwen3_5_moe_text", Place::kText, RecurrentState::kGatedDelta},
    {"qwen4_exp_text", Place::kText, RecurrentState::kGatedDelta},
    {"jet_nemotron", Place::kText, RecurrentState::kGatedDelta},
    {"jet_vlm", Place::kText, RecurrentState::kGatedDelta},
};

// InternVL names the class of its language model.
bool class_starts_with(const ModelFacts& m, Prefixes prefixes) {
  if (!architecture_starts_with(m, {"InternVLChat"})) return architecture_starts_with(m, prefixes);
  const Value named = m.text("architectures");
  return named.is_list() && std::ranges::any_of(named.as_list(), [&](const Value& a) {
           return a.is_string() &&
                  std::ranges::any_of(prefixes, [&](std::string_view p) { return a.as_string().starts_with(p); });
         });
}

// Classes whose attention asks for the width of all ranks, not for attention's own: tests/data/attention_ranks.txt.
constexpr std::array<std::string_view, 112> kOverAllRanks = {"Afmoe",
                                                             "Apertus",
                                                             "Arcee",
                                                             "Baichuan",
                                                             "Bert",
                                                             "ChatGLM",
                                                             "Cohere2",
                                                             "CohereFor",
                                                             "Contriever",
                                                             "Cosmos3Edge",
                                                             "DFlash",
                                                             "DSparkDraft",
                                                             "Dbrx",
                                                             "DeciLM",
                                                             "DeepseekFor",
                                                             "DiffusionGemma",
                                                             "DotsOCR",
                                                             "EmbeddingGemma",
                                                             "Ernie4_5_For",
                                                             "Ernie4_5_MoeFor",
                                                             "Ernie4_5_VL",
                                                             "Exaone4",
                                                             "ExaoneFor",
                                                             "GPT2",
                                                             "GPTBigCode",
                                                             "GPTJ",
                                                             "Gemma2",
                                                             "Gemma3For",
                                                             "Gemma3n",
                                                             "Gemma4Assistant",
                                                             "Gemma4For",
                                                             "Gemma4Unified",
                                                             "GemmaFor",
                                                             "Glm4For",
                                                             "Glm4vFor",
                                                             "GlmAsr",
                                                             "GlmImage",
                                                             "GlmOcr",
                                                             "GraniteFor",
                                                             "GraniteMoeFor",
                                                             "GraniteMoeHybrid",
                                                             "GraniteMoeSWA",
                                                             "GraniteMoeShared",
                                                             "GraniteSWA",
                                                             "Grok1",
                                                             "HYV3",
                                                             "HrmText",
                                                             "HunYuan",
                                                             "IQuestCoder",
                                                             "IQuestLoop",
                                                             "InternLM2For",
                                                             "InternLM3",
                                                             "Lfm2DSpark",
                                                             "Lfm2For",
                                                             "Lfm2MoeFor",
                                                             "LiLiCorr",
                                                             "LingDSpark",
                                                             "LlamaEmbedding",
                                                             "LlamaFor",
                                                             "LlavaLlama",
                                                             "LlavaQwen",
                                                             "LlavaVid",
                                                             "LocateAnything",
                                                             "MiDashengLM",
                                                             "MiMoFor",
                                                             "MiMoMTP",
                                                             "MiMoV2ASR",
                                                             "MiniCPM3",
                                                             "MiniCPMFor",
                                                             "MiniCPMO",
                                                             "MiniCPMSALA",
                                                             "MiniMaxDFlash2",
                                                             "Ministral3",
                                                             "Mistral3For",
                                                             "MistralFor",
                                                             "MistralModel",
                                                             "MixtralFor",
                                                             "Mllama",
                                                             "MultiModality",
                                                             "MuseGlimmer",
                                                             "NVILA",
                                                             "Nanbeige",
                                                             "OPT",
                                                             "Olmo2For",
                                                             "OlmoFor",
                                                             "Olmoe",
                                                             "Orion",
                                                             "POINTSV15",
                                                             "PaddleOCR",
                                                             "Persimmon",
                                                             "Phi3For",
                                                             "Phi3Small",
                                                             "Phi4MM",
                                                             "PhiFor",
                                                             "QWenLM",
                                                             "QuantMixtral",
                                                             "Qwen2Audio",
                                                             "Qwen2For",
                                                             "Qwen2VLFor",
                                                             "Qwen2_5_VLFor",
                                                             "Qwen3DSpark",
                                                             "Sarashina2Vision",
                                                             "Solar",
                                                             "StableLm",
                                                             "Starcoder2For",
                                                             "TeleFLM",
                                                             "UnlimitedOCR",
                                                             "VoxtralFor",
                                                             "Whisper",
                                                             "XLMRoberta",
                                                             "Xverse",
                                                             "YiVL"};

}  // namespace

std::int64_t config_int(const ModelFacts& m, std::string_view key, std::int64_t fallback) {
  if (const Value v = m.text(key); v.is_int()) return v.as_int();
  if (const Value v = m.root(key); v.is_int()) return v.as_int();
  return fallback;
}

RecurrentState recurrent_state(const ModelFacts& m) {
  const Value root = m.root("model_type");
  const Value text = m.text("model_type");
  const auto names = [](const Value& type, const StateRow& row) {  // no Value of each row: every rule asks
    return type.is_string() && type.as_string() == row.model_type;
  };
  for (const StateRow& row : kStates) {
    const bool here =
        (row.place != Place::kText && names(root, row)) || (row.place != Place::kRoot && names(text, row));
    if (here) return row.confirm == nullptr ? row.state : row.confirm(m, row.state);
  }
  return RecurrentState::kNone;
}

std::int64_t total_kv_heads(const ModelFacts& model) {
  const Value type = model.root("model_type");
  const bool falcon = type == Value("falcon") || type == Value("RefinedWeb") || type == Value("RefinedWebModel");
  const bool new_falcon = falcon && model.root("new_decoder_architecture").truthy();
  if (!new_falcon && model.text("multi_query").truthy()) return 1;
  if (type == Value("mpt") || type == Value("dbrx")) {
    const Value attention = model.root("attn_config");
    const Value* heads = attention.find("kv_n_heads");
    return heads != nullptr && heads->is_int() ? heads->as_int() : model.num_attention_heads;
  }
  for (const std::string_view key :
       {"n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"}) {
    if (const Value heads = model.text(key); heads.is_int()) return heads.as_int();
  }
  if (model.attention_arch == AttentionArch::kSsm) return 0;
  return model.num_key_value_heads > 0 ? model.num_key_value_heads : model.num_attention_heads;
}

bool is_gdn(const ModelFacts& m) { return recurrent_state(m) == RecurrentState::kGatedDelta; }
bool is_kda(const ModelFacts& m) { return recurrent_state(m) == RecurrentState::kKimiDelta; }
bool is_mamba2(const ModelFacts& m) { return recurrent_state(m) == RecurrentState::kMamba2; }
bool is_pure_mamba(const ModelFacts& m) { return recurrent_state(m) == RecurrentState::kOnlyState; }

bool is_hybrid(const ModelFacts& m) {
  const RecurrentState state = recurrent_state(m);
  return state != RecurrentState::kNone && state != RecurrentState::kOnlyState;
}

std::int64_t linear_attention_heads(const ModelFacts& m) {
  if (is_gdn(m)) return first_int(m, {"linear_num_value_heads"});
  if (is_mamba2(m)) return first_int(m, {"mamba_num_heads", "mamba_n_heads"});
  if (is_kda(m)) {
    const Value linear = m.text("linear_attn_config");
    const Value* heads = linear.find("num_heads");
    return heads != nullptr && heads->is_int() ? heads->as_int() : 0;
  }
  return 0;
}

bool heads_divide(const ModelFacts& model, std::int64_t tp) {
  const std::int64_t kv = total_kv_heads(model);
  if (model.num_attention_heads % tp != 0 || linear_attention_heads(model) % tp != 0) return false;
  return model.is_mla() || kv <= 0 || (kv >= tp ? kv % tp == 0 : repeats_kv_heads(model) && tp % kv == 0);
}

bool language_class_starts_with(const ModelFacts& m, std::initializer_list<std::string_view> prefixes) {
  return class_starts_with(m, Prefixes(prefixes.begin(), prefixes.size()));
}

bool cuts_attention_over_all_ranks(const ModelFacts& m) {
  // Without latent attention their language model is the first DeepSeek's.
  if (!m.is_mla() && architecture_starts_with(m, {"DeepseekOCR", "DeepseekVL"})) return true;
  return class_starts_with(m, kOverAllRanks);
}

bool is_deepseek_sparse(const ModelFacts& m, Release release) {
  return !m.architectures.empty() && facts::has_trait(m.architectures.front(), facts::ArchTrait::kDsa, release) &&
         !m.root("index_topk").is_none();
}

std::int64_t routed_experts(const ModelFacts& model) {
  // The configuration class of dense Qwen3.5 models carries the experts of its sibling as defaults, alone or as the
  // text of a model of several parts: MiniCPM-V 4.6.
  const bool dense_sibling = std::any_of(model.architectures.begin(), model.architectures.end(), [](const auto& a) {
    return a.starts_with("Qwen3_5") && a.find("Moe") == std::string::npos;
  });
  if (dense_sibling || model.text("model_type") == Value("qwen3_5_text")) return 0;
  // The key of an ancestor, or of the model that it was cut out of, may stand in a dense model's configuration.
  if (!model.architectures.empty() && std::ranges::all_of(model.architectures, facts::builds_no_experts)) return 0;
  // So does Nemotron-H's: its layers say whether there are any.
  const Value* letters = model.hf_text_config.find("hybrid_override_pattern");
  if (letters != nullptr && letters->is_string() && letters->as_string().find('E') == std::string::npos) return 0;
  const Value* types = model.hf_text_config.find("layers_block_type");
  if (types != nullptr && types->is_list() && architecture_starts_with(model, {"NemotronH"}) &&
      std::none_of(types->as_list().begin(), types->as_list().end(),
                   [](const Value& t) { return t == Value("moe"); })) {
    return 0;
  }
  for (const auto key : {"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"}) {
    if (const Value* count = model.hf_text_config.find(key); count != nullptr && count->is_int()) {
      return count->as_int() > 1 ? count->as_int() : 0;  // some dense configurations carry the key with 0 or 1
    }
  }
  return 0;
}

bool has_experts(const ModelFacts& m) { return routed_experts(m) > 0; }

std::int64_t expert_width(const ModelFacts& m) {
  if (architecture_starts_with(m, {"HunYuanMoE"})) {
    if (const auto width = of_first_layer(m.text("moe_intermediate_size")); width > 0) return width;
  }
  return first_int(m, {"moe_intermediate_size", "intermediate_size"});
}

bool differs_by_layer(const ModelFacts& m) {
  const std::initializer_list<std::string_view> widths = {"moe_intermediate_size", "intermediate_size", "num_experts",
                                                          "num_shared_expert"};
  const bool takes_keys = m.text("use_cla").truthy() && first_int(m, {"cla_share_factor"}) > 1;
  return takes_keys || std::ranges::any_of(widths, [&](auto key) { return is_uneven(m.text(key)); });
}

Experts experts(const ModelFacts& m) {
  Experts e;
  e.count = routed_experts(m);
  if (e.count == 0) return e;
  e.per_token = first_int(m, {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts", "moe_k"});
  e.intermediate_size = expert_width(m);
  return e;
}

std::int64_t shared_experts_width(const ModelFacts& m) {
  if (architecture_starts_with(m, {"Llama4"})) return expert_width(m);
  if (architecture_starts_with(m, {"Step3"})) return first_int(m, {"share_expert_dim"});
  if (architecture_starts_with(m, {"HunYuanMoE"})) {  // as wide as a dense layer, and only where a layer mixes both
    const std::int64_t mixed = m.text("use_mixed_mlp_moe").truthy() ? of_first_layer(m.text("num_shared_expert")) : 0;
    return integer::bounded_times(mixed, first_int(m, {"intermediate_size"}));
  }
  const std::int64_t width = first_int(
      m, {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"});
  const std::int64_t count = first_int(m, {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"});
  // Bailing's first classes read the width of one; that of Ring-2.5 takes the routed ones'.
  const bool of_one = architecture_starts_with(m, {"BailingMoE", "BailingMoeForCausalLM", "BailingMoeV2ForCausalLM"});
  const bool of_routed = architecture_starts_with(m, {"BailingMoeV2_5"});
  if (width > 0 && !of_routed) return of_one ? integer::bounded_times(count, width) : width;
  return integer::bounded_times(count, expert_width(m));
}

std::int64_t lfm2_width(const ModelFacts& m) {
  const std::int64_t given = std::max<std::int64_t>(0, config_int(m, "intermediate_size"));
  const Value adjust = m.text("block_auto_adjust_ff_dim");
  if (architecture_starts_with(m, {"Lfm2Moe"}) || (!adjust.is_none() && !adjust.truthy())) return given;
  const Value factor = m.text("block_ffn_dim_multiplier");
  const double scale = factor.is_number() ? factor.as_number() : 1.0;
  const std::int64_t thirds = integer::bounded_times(2, given) / 3;
  const std::int64_t narrowed = integer::bounded_whole(scale * static_cast<double>(thirds));
  const std::int64_t unit = std::max<std::int64_t>(1, config_int(m, "block_multiple_of", 256));
  return integer::bounded_times(integer::bounded_plus(narrowed, unit - 1) / unit, unit);
}

std::int64_t dense_width(const ModelFacts& m) {
  // Classes that read their width elsewhere.
  if (architecture_starts_with(m, {"PhiForCausalLM", "Mellum", "QWenLMHead"})) return 0;
  const bool dense_layers = !has_experts(m) || config_int(m, "first_k_dense_replace") > 0;
  if (!dense_layers) return 0;
  if (architecture_starts_with(m, {"Lfm2"})) return lfm2_width(m);
  return std::max<std::int64_t>(0, config_int(m, "intermediate_size"));
}

bool has_quantization(const ModelFacts& m, std::string_view method) {
  if (!m.quantization) return false;
  const std::string_view q = *m.quantization;
  return q == method || (q.starts_with(method) && q.substr(method.size()).starts_with("_marlin"));
}

std::optional<std::pair<std::int64_t, std::int64_t>> fp8_block(const ModelFacts& m) {
  const Value* block = m.hf_quant_config.find("weight_block_size");
  if (block == nullptr || !block->is_list() || block->as_list().size() != 2) return std::nullopt;
  const auto& list = block->as_list();
  if (!list[0].is_int() || !list[1].is_int() || list[0].as_int() <= 0 || list[1].as_int() <= 0) return std::nullopt;
  return std::pair{list[0].as_int(), list[1].as_int()};
}

bool is_fp8_checkpoint(const ModelFacts& m) {
  const Value* method = m.hf_quant_config.find("quant_method");
  return has_quantization(m, "fp8") && method != nullptr && *method == Value("fp8");
}

namespace {

// Classes that tell the window of their attention themselves, and where they read it.
struct OwnWindow {
  std::string_view architecture;  // how its name begins
  std::string_view key;           // of the configuration; empty: ModelFacts::sliding_window_size
  bool counts_itself = true;      // a token is one of its window: the backends are told one less
};
constexpr std::array kOwnWindows = {OwnWindow{"Afmoe", "sliding_window"},
                                    OwnWindow{"Beam", "sliding_window"},
                                    OwnWindow{"DiffusionGemma", "sliding_window"},
                                    OwnWindow{"EmbeddingGemmaModel", "sliding_window"},
                                    OwnWindow{"Exaone4", "sliding_window"},
                                    OwnWindow{"Gemma2", "sliding_window"},
                                    OwnWindow{"Gemma3", "sliding_window"},
                                    OwnWindow{"Gemma4", "sliding_window"},
                                    OwnWindow{"GptOss", "sliding_window"},
                                    OwnWindow{"Inkling", "sliding_window_size"},
                                    OwnWindow{"JetNemotron", ""},
                                    OwnWindow{"Mellum", "sliding_window"},
                                    OwnWindow{"MuseGlimmer", "sliding_window"},
                                    OwnWindow{"MuseSpark", "sliding_window"},
                                    OwnWindow{"Olmo2", "sliding_window"},
                                    OwnWindow{"Spark2_5", "sliding_window"},
                                    OwnWindow{"UnlimitedOCR", "", false}};

const OwnWindow* own_window(const ModelFacts& m) {
  if (m.architectures.empty()) return nullptr;
  const auto it = std::ranges::find_if(
      kOwnWindows, [&](const OwnWindow& w) { return m.architectures.front().starts_with(w.architecture); });
  if (it == kOwnWindows.end()) return nullptr;
  return it;
}

// Beam and Muse Spark tell one only where a layer has it.
bool has_windowed_layers(const ModelFacts& m) {
  return !architecture_starts_with(m, {"Beam", "MuseSpark"}) || has_layer_type(m, "sliding_attention");
}

}  // namespace

std::optional<std::int64_t> sliding_window(const ModelFacts& m) {
  const OwnWindow* own = own_window(m);
  if (own == nullptr) return m.is_hybrid_swa ? m.sliding_window_size : std::nullopt;
  if (!has_windowed_layers(m)) return std::nullopt;
  const std::int64_t derived = m.sliding_window_size.value_or(0);
  const std::int64_t window = own->key.empty() ? derived : config_int(m, own->key, derived);
  return window > 0 ? std::optional(window) : std::nullopt;
}

std::optional<std::int64_t> told_window(const ModelFacts& m) {
  const OwnWindow* own = own_window(m);
  const auto window = sliding_window(m);
  if (own == nullptr) return window ? window : m.attention_chunk_size;
  return window && own->counts_itself ? std::optional(*window - 1) : window;
}

std::optional<std::int64_t> runtime_window(const ModelFacts& m) {
  const auto window = sliding_window(m);
  return window ? window : m.attention_chunk_size;
}

std::string activation(const ModelFacts& m) {
  for (const auto key : {"mlp_hidden_act", "hidden_activation", "hidden_act"}) {
    if (const Value v = m.text(key); v.is_string()) return v.as_string();
  }
  return {};
}

std::int64_t vision_head_dim(const ModelFacts& m) {
  const Value vision = m.root("vision_config");
  if (!vision.is_dict()) return 0;
  const auto integer = [&](std::initializer_list<std::string_view> keys) -> std::int64_t {
    for (const auto key : keys) {
      if (const Value* v = vision.find(key); v != nullptr && v->is_int()) return v->as_int();
    }
    return 0;
  };
  if (const auto own = integer({"head_dim"}); own > 0) return own;
  // Qwen2-VL names the width embed_dim and uses hidden_size for the language side.
  const std::int64_t width = integer({"embed_dim", "hidden_size"});
  const std::int64_t heads = integer({"num_heads", "num_attention_heads"});
  return heads > 0 && width % heads == 0 ? width / heads : 0;
}

}  // namespace preflight
