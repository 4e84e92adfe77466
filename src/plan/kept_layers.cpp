// Tested by tests/memory_sheet_test.cpp and by tests/parity/check_pools.py against the releases' own configurators.
#include "src/plan/kept_layers.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "src/facts/kinds.h"
#include "src/facts/model_classes.h"
#include "src/plan/layer_kinds.h"
#include "src/python/environment.h"
#include "src/python/text.h"

namespace preflight::plan {
namespace {

using Ids = std::vector<std::int64_t>;

Ids all_layers(std::int64_t count) {
  Ids ids(static_cast<std::size_t>(std::max<std::int64_t>(0, count)));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Ids without(std::int64_t count, const Ids& others) {
  Ids ids = all_layers(count);
  std::erase_if(ids, [&](std::int64_t i) { return std::ranges::find(others, i) != others.end(); });
  return ids;
}

// Places in a list of names, or letters of a word, that are one of those wanted.
Ids named(const Value& types, std::initializer_list<std::string_view> wanted) {
  Ids ids;
  const auto take = [&](std::string_view name, std::size_t at) {
    if (std::ranges::find(wanted, name) != wanted.end()) ids.push_back(static_cast<std::int64_t>(at));
  };
  if (types.is_string()) {
    const std::string& letters = types.as_string();
    for (std::size_t i = 0; i < letters.size(); ++i) take(std::string_view(letters).substr(i, 1), i);
  } else if (types.is_list()) {
    const auto& list = types.as_list();
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_string()) take(list[i].as_string(), i);
    }
  }
  return ids;
}

bool is_jet(const ModelFacts& m) {
  const Value type = m.text("model_type");
  return type.is_string() && type.as_string().starts_with("jet");
}

// Every `group`-th layer is full, or those that a list does not mark with 1.
KeptLayers by_group(std::int64_t count, const Value& group, std::int64_t usual) {
  KeptLayers kept;
  const std::int64_t every = std::max<std::int64_t>(1, group.is_int() ? group.as_int() : usual);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool listed = group.is_list() && at < group.as_list().size();
    const bool full = listed ? group.as_list()[at] != Value(1) : (i + 1) % every == 0;
    (full ? kept.full : kept.state).push_back(i);
  }
  return kept;
}

// GigaChat 3.5 names its full layers by kind or by number, or has none.
KeptLayers gigachat_layers(const ModelFacts& m) {
  const std::vector<bool> linear = linear_layers(m, m.num_hidden_layers);
  KeptLayers kept;
  for (std::int64_t i = 0; i < m.num_hidden_layers; ++i) {
    (linear[static_cast<std::size_t>(i)] ? kept.state : kept.full).push_back(i);
  }
  return kept;
}

// Kimi-Linear counts its layers from 1, GLM-5-Next from 0; what is no delta layer is a full one.
KeptLayers delta_layers(const ModelFacts& m) {
  const Value config = m.text("linear_attn_config");
  const Value* listed = config.find("kda_layers");
  if (listed == nullptr || !listed->is_list()) {
    const Value types = m.text("layer_types");
    if (!types.is_list()) return by_group(m.num_hidden_layers, m.text("layer_group_size"), 4);
    const Ids state = named(types, {"linear_attention"});
    return {without(m.num_hidden_layers, state), {}, state};
  }
  const std::int64_t base = m.root("model_type") == Value("glm5_next") ? 0 : 1;
  KeptLayers kept;
  for (std::int64_t i = 0; i < m.num_hidden_layers; ++i) {
    const bool delta = std::ranges::find(listed->as_list(), Value(i + base)) != listed->as_list().end();
    (delta ? kept.state : kept.full).push_back(i);
  }
  return kept;
}

KeptLayers mamba_layers(const ModelFacts& m) {
  if (m.root("model_type") == Value("falcon_h1")) {
    return {all_layers(m.num_hidden_layers), {}, all_layers(m.num_hidden_layers)};
  }
  if (const Value pattern = m.text("hybrid_override_pattern"); pattern.is_string()) {
    return {named(pattern, {"*"}), {}, named(pattern, {"M"})};
  }
  for (const char* key : {"layers_block_type", "layer_types"}) {
    const Value types = m.text(key);
    if (types.is_list()) return {named(types, {"attention"}), {}, named(types, {"mamba"})};
  }
  return {all_layers(m.num_hidden_layers), {}, {}};
}

KeptLayers zaya_layers(const ModelFacts& m) {
  if (const Value letters = m.root("zaya_layers"); letters.truthy()) {
    const Ids attention = named(letters, {"a"});
    return {attention, {}, attention};
  }
  Ids even;
  for (std::int64_t i = 0; i < m.num_hidden_layers; i += 2) even.push_back(i);
  return {even, {}, even};
}

// Some classes have more attention layers than the configuration counts; those of Nanbeige are told by their stage.
std::int64_t counted_layers(const ModelFacts& m) {
  if (m.has_architecture("NanbeigeForCausalLM")) return m.num_hidden_layers;
  return std::max(m.num_hidden_layers, m.num_attention_layers);
}

// MiniCPM-SALA repeats a list that is shorter than the model, and has several names for each of its two kinds.
KeptLayers mixed_layers(const ModelFacts& m, const Value::List& mixers) {
  KeptLayers kept;
  for (std::int64_t i = 0; i < m.num_hidden_layers && !mixers.empty(); ++i) {
    const Value& mixer = mixers[static_cast<std::size_t>(i) % mixers.size()];
    const bool lightning = mixer.is_string() && mixer.as_string().starts_with("lightning");
    (lightning ? kept.state : kept.full).push_back(i);
  }
  return kept;
}

KeptLayers with_state(const ModelFacts& m, RecurrentState state) {
  const Value types = m.text("layer_types");
  switch (state) {
    case RecurrentState::kGatedDelta:
      if (m.model_type == "gigachat3_5") return gigachat_layers(m);
      if (is_jet(m)) {
        return {named(types, {"attn", "swa"}), {}, named(types, {"jet"})};
      }
      // Its own configuration class goes by the types, the others by the interval alone (HY014).
      if (types.is_list() && m.text("model_type") == Value("qwen4_exp_text")) {
        return {named(types, {"full_attention", "qwen_sparse_attention", "indexed_attention"}),
                {},
                named(types, {"linear_attention"})};
      }
      if (types.is_list() && !m.text("full_attention_interval").is_int()) {
        return {named(types, {"full_attention"}), {}, named(types, {"linear_attention"})};
      }
      return by_group(m.num_hidden_layers, m.text("full_attention_interval"), 4);
    case RecurrentState::kKimiDelta:
      return delta_layers(m);
    case RecurrentState::kMamba2:
      return mamba_layers(m);
    case RecurrentState::kShortConvolution:
      return {named(types, {"full_attention"}), {}, named(types, {"conv"})};
    case RecurrentState::kLightning:
      if (const Value mixers = m.text("mixer_types"); mixers.is_list()) return mixed_layers(m, mixers.as_list());
      return by_group(m.num_hidden_layers, m.text("layer_group_size"), 1);
    case RecurrentState::kOnlyState:
      return {{}, {}, all_layers(m.num_hidden_layers)};
    case RecurrentState::kOther:
      if (m.root("model_type") == Value("zaya")) return zaya_layers(m);
      return {all_layers(m.num_hidden_layers), {}, all_layers(m.num_hidden_layers)};
    case RecurrentState::kNone:
      break;
  }
  return {all_layers(counted_layers(m)), {}, {}};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The convolution's window and the recurrent state, in elements.
struct StateSize {
  std::int64_t convolution = 0;
  std::int64_t recurrent = 0;
};

// Mamba2StateShape.create: groups that ranks do not divide are repeated.
StateSize mamba_state(std::int64_t heads, std::int64_t width, std::int64_t size, std::int64_t groups,
                      std::int64_t kernel, std::int64_t ranks) {
  const std::int64_t repeated = groups % ranks == 0 ? groups : ranks;
  return {(heads * width + 2 * repeated * size) / ranks * (kernel - 1), ceil_div(heads, ranks) * width * size};
}

StateSize delta_state(const ModelFacts& m, std::int64_t ranks) {
  const Value config = m.text("linear_attn_config");
  const auto of = [&](std::string_view key, std::int64_t fallback) {
    const Value* v = config.find(key);
    return v != nullptr && v->is_int() ? v->as_int() : fallback;
  };
  const bool own = config.is_dict();  // Bailing hybrids take the attention's own heads
  const std::int64_t heads = own ? of("num_heads", 0) : m.num_attention_heads;
  const std::int64_t dim = own ? of("head_dim", 128) : config_int(m, "head_dim", m.head_dim);
  const std::int64_t kernel = own ? of("short_conv_kernel_size", 4) : config_int(m, "short_conv_kernel_size", 4);
  return {3 * (heads * dim / ranks) * (kernel - 1), heads / ranks * dim * dim};
}

StateSize gated_delta_state(const ModelFacts& m, std::int64_t ranks) {
  if (is_jet(m)) {
    const Value blocks = m.text("efficient_attention_config");
    const Value* jet = blocks.find("jet");
    if (jet == nullptr || !jet->is_dict()) return {};
    const auto of = [&](std::string_view key) {
      const Value* v = jet->find(key);
      return v != nullptr && v->is_number() ? v->as_number() : 0.0;
    };
    for (const char* key : {"num_heads", "head_dim", "expand_v", "conv_size", "mode", "dconv_generator_reduction",
                            "dconv_implementation", "norm_eps"}) {
      if (jet->find(key) == nullptr) return {};
    }
    const auto heads = static_cast<std::int64_t>(of("num_heads"));
    const auto keys = static_cast<std::int64_t>(of("head_dim"));
    const auto values = static_cast<std::int64_t>(of("head_dim") * of("expand_v"));
    return mamba_state(heads, values, keys, heads, static_cast<std::int64_t>(of("conv_size")), ranks);
  }
  return mamba_state(config_int(m, "linear_num_value_heads"), config_int(m, "linear_value_head_dim", 128),
                     config_int(m, "linear_key_head_dim", 128), config_int(m, "linear_num_key_heads", 16),
                     config_int(m, "linear_conv_kernel_dim", 4), ranks);
}

StateSize mamba2_state(const ModelFacts& m, std::int64_t ranks) {
  const auto either = [&](std::string_view a, std::string_view b, std::int64_t fallback = 0) {
    return config_int(m, a, config_int(m, b, fallback));
  };
  return mamba_state(either("mamba_num_heads", "mamba_n_heads"), either("mamba_head_dim", "mamba_d_head"),
                     either("ssm_state_size", "mamba_d_state", 128), either("n_groups", "mamba_n_groups", 1),
                     either("conv_kernel", "mamba_d_conv", 4), ranks);
}

StateSize other_state(const ModelFacts& m, std::int64_t ranks) {
  if (m.root("model_type") == Value("zaya")) {
    const std::int64_t channels = (m.num_attention_heads + total_kv_heads(m)) * m.head_dim / ranks;
    return {channels * (config_int(m, "cca_time0", 2) + config_int(m, "cca_time1", 2) - 2) + m.hidden_size, 0};
  }
  const auto kept = [&](std::int64_t heads, std::int64_t dim) {
    return std::max<std::int64_t>(1, heads / ranks) * dim;
  };
  const std::int64_t full = kept(total_kv_heads(m), m.head_dim);
  const std::int64_t window = kept(config_int(m, "swa_num_key_value_heads", total_kv_heads(m)), m.swa_head_dim);
  return {(config_int(m, "sconv_kernel_size", 4) - 1) * 2 * (full + window + m.hidden_size), 0};
}

StateSize state_of(const ModelFacts& m, std::int64_t ranks) {
  switch (recurrent_state(m)) {
    case RecurrentState::kGatedDelta:
      return gated_delta_state(m, ranks);
    case RecurrentState::kKimiDelta:
      return delta_state(m, ranks);
    case RecurrentState::kMamba2:
      return mamba2_state(m, ranks);
    case RecurrentState::kShortConvolution:
      return {m.hidden_size / ranks * (config_int(m, "conv_L_cache", 3) - 1), 0};
    case RecurrentState::kLightning: {
      const std::int64_t dim = config_int(m, "lightning_head_dim", config_int(m, "head_dim", m.head_dim));
      const std::int64_t heads =
          config_int(m, "lightning_nkv", config_int(m, "num_linear_key_value_heads", total_kv_heads(m)));
      return {0, heads / ranks * dim * dim};
    }
    case RecurrentState::kOther:
      return other_state(m, ranks);
    case RecurrentState::kOnlyState: {
      const std::int64_t width = config_int(m, "intermediate_size");
      return {width / ranks * (config_int(m, "conv_kernel", 4) - 1), width / ranks * config_int(m, "state_size", 16)};
    }
    case RecurrentState::kNone:
      break;
  }
  return {};
}

bool is_of_type(const ModelFacts& m, std::string_view type) {
  return m.root("model_type") == Value(type) || m.text("model_type") == Value(type);
}

bool names_no_state(const LaunchView& view) {
  const ModelFacts& m = view.model();
  // Ling's hybrid without such a layer is sized like any other model; recorded of 0.5.23.
  const bool may_lack = !view.before(23) && is_of_type(m, "bailing_hybrid");
  return recurrent_state(m) != RecurrentState::kNone && kept_layers(view).state.empty() && !may_lack;
}

}  // namespace

KeptLayers kept_layers(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const RecurrentState state = recurrent_state(m);
  KeptLayers kept = with_state(m, state);
  const bool split = m.is_hybrid_swa && !m.swa_layer_ids.empty() && !view.on(Field::disable_hybrid_swa_memory);
  if (split) {
    kept.full = m.full_layer_ids;
    kept.window = m.swa_layer_ids;
  }
  return kept;
}

// Classes that run in stages and do not say which: their stages make room for all layers.
constexpr struct {
  std::string_view architecture;
  Release since = v0_5(11);
  Release until = kNoEnd;
} kUntold[] = {{"BailingMM2NativeForConditionalGeneration", v0_5(21)},
               {"BailingMMNativeForConditionalGeneration", v0_5(21)},
               {"BailingMoeV3VLForConditionalGeneration", v0_5(21)},
               {"DeciLMForCausalLM"},
               {"DotsVLMForCausalLM"},
               {"Glm4vForConditionalGeneration"},
               {"Glm4vMoeForConditionalGeneration"},
               {"GlmOcrForConditionalGeneration"},
               {"KimiLinearForCausalLM", v0_5(11), v0_5(17)},
               {"LlavaForConditionalGeneration"},
               {"MiMoV2ASRForCausalLM", v0_5(14)},
               {"Mistral3ForConditionalGeneration", v0_5(23)},
               {"MossVLForConditionalGeneration"},
               {"SolarForCausalLM", v0_5(22)},
               {"ZayaForCausalLM", v0_5(14)}};

std::vector<Stage> told_stages(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const bool untold = std::ranges::any_of(kUntold, [&](const auto& row) {
    return m.has_architecture(row.architecture) && row.since <= view.release() && view.release() < row.until;
  });
  if (untold) return {{0, counted_layers(m)}};
  std::vector<Stage> stages = stages_of(view);
  if (view.before(21) && !kept_layers(view).window.empty()) {
    for (Stage& stage : stages) ++stage.end;  // adjust_hybrid_swa_layer_ids counts the next stage's first layer, too
  }
  return stages;
}

bool names_no_window(const LaunchView& view) {
  const ModelFacts& m = view.model();
  // DeepSeek-V4's layers stand in its own list.
  return m.is_hybrid_swa && m.swa_layer_ids.empty() && m.root("compress_ratios").is_none();
}

std::optional<std::size_t> stage_without_window(const LaunchView& view) {
  if (sharing_stages(view) == 1 || !view.model().root("compress_ratios").is_none()) return std::nullopt;
  const std::vector<std::int64_t> window = kept_layers(view).window;
  const std::vector<Stage> stages = told_stages(view);
  if (window.empty() || stages.size() < 2) return std::nullopt;
  const auto bare = std::ranges::find_if(stages, [&](const Stage& stage) { return stage.count(window) == 0; });
  if (bare == stages.end()) return std::nullopt;
  return static_cast<std::size_t>(bare - stages.begin());
}

bool pools_refuse_no_state(const LaunchView& view) {
  if (!names_no_state(view)) return false;
  // mamba2_cache_params of LFM2 and Zaya is None without such a layer; of other classes it is a state of no bytes,
  // which alone has no share of the memory.
  const bool none =
      recurrent_state(view.model()) == RecurrentState::kShortConvolution || is_of_type(view.model(), "zaya");
  const bool asked = view[Field::max_mamba_cache_size].is_int() || (!view.radix_cache() && view.running_requests());
  return none || !asked;
}

std::string missing_layers(const LaunchView& view) {
  const ModelFacts& m = view.model();
  if (names_no_window(view)) {
    return "SGLang refuses this model: its class has sliding-window layers, and the configuration names none";
  }
  if (stage_without_window(view)) {
    return "SGLang refuses these pipeline stages: its class has sliding-window layers, and one stage gets none";
  }
  if (pools_refuse_no_state(view)) {
    return "SGLang refuses this model: its class has layers with a recurrent state, and the configuration names none";
  }
  if (names_no_state(view)) {
    return "the pools of a hybrid without a layer that keeps a state are not counted";
  }
  // nemotron_h.py reads mamba_n_groups, and asks for n_groups once it sizes the states.
  const bool nemotron = is_of_type(m, "nemotron_h") || is_of_type(m, "NemotronH_Nano_VL_V2") ||
                        is_of_type(m, "NemotronH_Nano_Omni_Reasoning_V3");
  if (nemotron && recurrent_state(m) == RecurrentState::kMamba2 && m.text("n_groups").is_none()) {
    return "SGLang fails over this model's states: its class asks for n_groups, and the configuration names none";
  }
  return {};
}

std::int64_t Stage::count(const std::vector<std::int64_t>& layers) const {
  return std::ranges::count_if(layers, [&](std::int64_t i) { return first <= i && i < end; });
}

namespace {

constexpr std::pair<std::string_view, std::string_view> kBuilds[] = {
    {"DotsOCRForCausalLM", "Qwen2ForCausalLM"},
    {"GlmAsrForConditionalGeneration", "LlamaForCausalLM"},
    {"KimiVLForConditionalGeneration", "DeepseekV2ForCausalLM"},
    {"LightOnOCRForConditionalGeneration", "Qwen3ForCausalLM"},
    {"LlamaEmbeddingModel", "LlamaForCausalLM"},
    {"LlamaForClassification", "LlamaForCausalLM"},
    {"LlamaForSequenceClassification", "LlamaForCausalLM"},
    {"LlamaForSequenceClassificationWithNormal_Weights", "LlamaForCausalLM"},
    {"LlavaLlamaForCausalLM", "LlamaForCausalLM"},
    {"LlavaMistralForCausalLM", "MistralForCausalLM"},
    {"LlavaQwenForCausalLM", "Qwen2ForCausalLM"},
    {"LlavaVidForCausalLM", "LlamaForCausalLM"},
    {"LocateAnythingForConditionalGeneration", "Qwen2ForCausalLM"},
    {"MiDashengLMModel", "Qwen2ForCausalLM"},
    {"MistralModel", "LlamaForCausalLM"},
    {"MultiModalityCausalLM", "LlamaForCausalLM"},
    {"NVILAForConditionalGeneration", "Qwen2ForCausalLM"},
    {"NVILALiteForConditionalGeneration", "Qwen2ForCausalLM"},
    {"NemotronH_Nano_Omni_Reasoning_V3", "NemotronHForCausalLM"},
    {"NemotronH_Nano_VL_V2", "NemotronHForCausalLM"},
    {"NemotronH_Omni_Reasoning_V3", "NemotronHForCausalLM"},
    {"POINTSV15ChatModel", "Qwen2ForCausalLM"},
    {"Phi4MMForCausalLM", "LlamaForCausalLM"},
    {"Qwen2AudioForConditionalGeneration", "Qwen2ForCausalLM"},
    {"Qwen2ForRewardModel", "Qwen2ForCausalLM"},
    {"Qwen2ForSequenceClassification", "Qwen2ForCausalLM"},
    {"Qwen2VLForConditionalGeneration", "Qwen2ForCausalLM"},
    {"Qwen3ASRForConditionalGeneration", "Qwen3ForCausalLM"},
    {"Qwen3ForRewardModel", "Qwen3ForCausalLM"},
    {"Qwen3ForSequenceClassification", "Qwen3ForCausalLM"},
    {"Qwen3Model", "Qwen3ForCausalLM"},
    {"Qwen3OmniMoeForConditionalGeneration", "Qwen3MoeForCausalLM"},
    {"Sarashina2VisionForCausalLM", "LlamaForCausalLM"},
    {"Step3p7ForConditionalGeneration", "Step3p5ForCausalLM"},
    {"StepVLForConditionalGeneration", "Qwen3ForCausalLM"},
    {"VoxtralForConditionalGeneration", "LlamaForCausalLM"}};

// Classes that look up the one for their text by its model type.
constexpr std::pair<std::string_view, std::string_view> kOfType[] = {{"llama", "LlamaForCausalLM"},
                                                                     {"ministral3", "Ministral3ForCausalLM"},
                                                                     {"mistral", "MistralForCausalLM"},
                                                                     {"qwen2", "Qwen2ForCausalLM"},
                                                                     {"qwen3", "Qwen3ForCausalLM"}};

}  // namespace

std::string text_class(const ModelFacts& m) {
  if (m.has_architecture("InternVLChatModel") || m.has_architecture("InternS1ForConditionalGeneration")) {
    const Value* names = m.hf_text_config.find("architectures");
    const bool named = names != nullptr && names->is_list() && !names->as_list().empty();
    return named && names->as_list().front().is_string() ? names->as_list().front().as_string() : "";
  }
  if (m.has_architecture("LlavaForConditionalGeneration") || m.has_architecture("Mistral3ForConditionalGeneration")) {
    const Value type = m.text("model_type");
    const auto* row = std::ranges::find_if(kOfType, [&](const auto& one) { return type == Value(one.first); });
    return row == std::end(kOfType) ? "" : std::string(row->second);
  }
  const auto* row = std::ranges::find_if(kBuilds, [&](const auto& one) { return m.has_architecture(one.first); });
  return row == std::end(kBuilds) ? "" : std::string(row->second);
}

std::int64_t sharing_stages(const LaunchView& view) {
  const Launch& launch = view.launch();
  if (launch.model == nullptr) return view.pp();
  const auto is_whole = [&](std::string_view name) {
    return facts::model_class(name, launch.release()) == facts::ModelClass::kWhole;
  };
  // EmbeddingGemma's checkpoints name a class that generates.
  const bool whole = std::ranges::any_of(launch.model->architectures, is_whole) ||
                     (launch.model->is_embedding_gemma && is_whole("EmbeddingGemmaModel"));
  return whole ? 1 : view.pp();
}

std::int64_t sharing_weights(const LaunchView& view) {
  const Launch& launch = view.launch();
  const bool text_shares = launch.model != nullptr && facts::model_class(text_class(*launch.model), launch.release()) ==
                                                          facts::ModelClass::kStages;
  return text_shares ? view.pp() : sharing_stages(view);
}

std::optional<std::vector<std::int64_t>> told_partition(const LaunchView& view, std::int64_t stages) {
  const std::string* text = python::environment_text(view.launch().env, "SGLANG_PP_LAYER_PARTITION");
  if (text == nullptr || stages <= 1) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const std::string& word : python::split(*text, ',')) {
    const auto layers = python::to_int(word);
    if (!layers) return std::vector<std::int64_t>{};
    sizes.push_back(*layers);
  }
  return sizes;
}

std::vector<Stage> stages_of(const LaunchView& view) {
  const std::int64_t layers = view.model().num_hidden_layers;
  const std::int64_t count = sharing_stages(view);
  if (count == 1) return {{0, counted_layers(view.model())}};
  std::vector<std::int64_t> sizes = told_partition(view, count).value_or(std::vector<std::int64_t>{});
  if (static_cast<std::int64_t>(sizes.size()) != count) {   // what does not divide goes to the last stages
    const std::int64_t told = std::min(count, layers + 1);  // of stages without a layer, one stands for all
    sizes.assign(static_cast<std::size_t>(told), layers / count);
    for (std::int64_t i = 0; i < layers % count; ++i) ++sizes[static_cast<std::size_t>(told - 1 - i)];
  }
  std::vector<Stage> stages;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    stages.push_back({first, first + size});
    first += size;
  }
  return stages;
}

std::int64_t state_bytes_of_layer(const LaunchView& view) {
  const ModelFacts& m = view.model();
  const bool over_all_ranks = is_pure_mamba(m) || m.root("model_type") == Value("zaya");
  const StateSize size = state_of(m, over_all_ranks ? view.tp() : view.attention_tp());
  const Value& dtype = view[Field::mamba_ssm_dtype];
  const bool half = dtype.is_string() && (dtype.as_string() == "bfloat16" || dtype.as_string() == "float16");
  return size.convolution * 2 + size.recurrent * (half ? 2 : 4);
}

}  // namespace preflight::plan
