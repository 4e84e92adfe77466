// See layer_kinds.h.
#include "src/plan/layer_kinds.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/plan/numbers.h"

namespace preflight::plan {
namespace {

bool holds(const Value* list, std::int64_t number) {
  if (list == nullptr || !list->is_list()) return false;
  return std::find(list->as_list().begin(), list->as_list().end(), Value(number)) != list->as_list().end();
}

// The layers that hold experts: of those from `first` to `last`, every so manieth counted from `origin`.
struct ExpertLayers {
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  std::int64_t every = 1;  // 0: none
  std::int64_t origin = 0;
  const Value* dense = nullptr;  // numbers of those without

  [[nodiscard]] bool hold(std::int64_t layer) const {
    const bool within = layer >= first && layer <= last && !holds(dense, layer);
    return within && every != 0 && (layer - origin) % every == 0;
  }
};

// As the class tells them (srt/models): each hears keys of its own. Of one that is not named here the usual keys are
// taken for what they mean elsewhere.
ExpertLayers expert_layers(const ModelFacts& m, std::int64_t layers) {
  const auto number = [&](std::string_view key, std::int64_t missing) {
    return first_int(m.hf_text_config, {key}, missing);
  };
  if (architecture_starts_with(m, {"Qwen2MoeFor", "Qwen3MoeFor", "Qwen3VLMoe", "Qwen3Next", "Qwen3_5Moe", "MixtralFor",
                                   "Olmoe", "GraniteMoe", "LongcatFlashFor", "MiniMaxM2", "GptOss", "PhiMoE", "Phimoe",
                                   "HunYuanMoE", "Gemma4", "DeepseekV4"})) {
    return {};
  }
  if (architecture_starts_with(m, {"Glm4Moe", "Glm4vMoe", "LLaDA2", "BailingMoe", "HYV3"})) {
    return {.first = number("first_k_dense_replace", 0)};
  }
  if (architecture_starts_with(m, {"Deepseek", "Kimi", "MistralLarge3"})) {
    return {.first = number("first_k_dense_replace", 0), .every = number("moe_layer_freq", 1)};
  }
  if (architecture_starts_with(m, {"Afmoe", "Lfm2Moe"})) return {.first = number("num_dense_layers", 0)};
  if (architecture_starts_with(m, {"Llama4"})) return {.every = number("interleave_moe_layer_step", 1), .origin = -1};
  if (architecture_starts_with(m, {"Ernie4_5_Moe"})) {
    const std::int64_t first = number("moe_layer_start_index", layers);
    return {.first = first,
            .last = number("moe_layer_end_index", layers - 1),
            .every = number("moe_layer_interval", 1),
            .origin = first};
  }
  return {.first = first_int(m.hf_text_config, {"first_k_dense_replace", "moe_layer_start_index"}),
          .every = std::max<std::int64_t>(
              1, first_int(m.hf_text_config, {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"},
                           1)),
          .origin = -1,
          .dense = m.hf_text_config.find("mlp_only_layers")};
}

}  // namespace

std::int64_t built_layers(const ModelFacts& m) {
  if (!architecture_starts_with(m, {"HrmText"})) return m.num_hidden_layers;
  const auto number = [&](std::string_view key) { return static_cast<double>(first_int(m.hf_text_config, {key}, 1)); };
  const double turns = std::max(1.0, number("H_cycles") * (number("L_cycles") + 1));
  const std::int64_t of_stack = whole(static_cast<double>(m.num_hidden_layers) / turns);
  const std::int64_t given = first_int(m.hf_text_config, {"num_layers_per_stack"}, of_stack);
  return 2 * std::clamp<std::int64_t>(given, 0, limits::kLayers);
}

std::vector<bool> layers_with_experts(const ModelFacts& m, std::int64_t layers) {
  std::vector<bool> out(static_cast<std::size_t>(layers), false);
  if (!has_experts(m)) return out;
  const ExpertLayers told = expert_layers(m, layers);
  for (std::int64_t layer = 0; layer < layers; ++layer) out[static_cast<std::size_t>(layer)] = told.hold(layer);
  return out;
}

std::string layer_letters(const ModelFacts& m) {
  const Value* pattern = m.hf_text_config.find("hybrid_override_pattern");
  if (pattern != nullptr && pattern->is_string()) return pattern->as_string();
  // The configuration class of later transformers spells the letters out.
  const Value* types = m.hf_text_config.find("layers_block_type");
  if (types == nullptr || !types->is_list() || !architecture_starts_with(m, {"NemotronH"})) return {};
  std::string letters;
  for (const Value& type : types->as_list()) {
    letters += type == Value("mamba") ? 'M' : type == Value("attention") ? '*' : type == Value("moe") ? 'E' : '-';
  }
  return letters;
}

std::vector<bool> linear_layers(const ModelFacts& m, std::int64_t layers) {
  std::vector<bool> out(static_cast<std::size_t>(layers), false);
  const auto fill = [&](const auto& is_linear) {
    for (std::int64_t layer = 0; layer < layers; ++layer) out[static_cast<std::size_t>(layer)] = is_linear(layer);
  };
  const Value* types = m.hf_text_config.find("layer_types");
  if (const Value* kimi = m.hf_text_config.find("linear_attn_config"); kimi != nullptr && kimi->is_dict()) {
    const Value* list = kimi->find("kda_layers");  // counted from 1
    fill([&](std::int64_t layer) { return holds(list, layer + 1); });
  } else if (architecture_starts_with(m, {"BailingMoeV2_5"})) {
    const std::int64_t group = first_int(m.hf_text_config, {"layer_group_size"}, 1);
    fill([&](std::int64_t layer) { return group > 0 && (layer + 1) % group != 0; });
  } else if (architecture_starts_with(m, {"KimiLinear"})) {
    return out;  // its class asks for that list and no other
  } else if (architecture_starts_with(m, {"Qwen3Next", "Qwen3_5"})) {
    const std::int64_t interval = first_int(m.hf_text_config, {"full_attention_interval"}, 4);
    fill([&](std::int64_t layer) { return interval > 0 && (layer + 1) % interval != 0; });
  } else if (m.model_type == "gigachat3_5" && (types == nullptr || !types->is_list())) {
    const Value* full = m.hf_text_config.find("full_attention_layers");
    fill([&](std::int64_t layer) { return !holds(full, layer); });
  } else if (types != nullptr && types->is_list()) {
    const auto& list = types->as_list();
    fill([&](std::int64_t layer) {
      if (layer >= static_cast<std::int64_t>(list.size())) return false;
      const Value& type = list[static_cast<std::size_t>(layer)];
      return type == Value("mamba") || type == Value("linear_attention") || type == Value("conv") ||
             type == Value("jet");
    });
  }
  return out;
}

}  // namespace preflight::plan
