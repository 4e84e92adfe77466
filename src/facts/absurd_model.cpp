#include "src/facts/absurd_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "src/base/limits.h"

namespace preflight::facts {
namespace {

struct Range {
  std::string_view name;
  std::int64_t least;
  std::int64_t most;
};

// What every language model has: none of it is 0.
constexpr std::array kOfText = {Range{"num_attention_heads", 1, limits::kHeads},
                                Range{"num_key_value_heads", 1, limits::kHeads},
                                Range{"hidden_size", 1, limits::kModelWidth},
                                Range{"num_hidden_layers", 1, limits::kLayers},
                                Range{"head_dim", 1, 1 << 16},
                                Range{"vocab_size", 1, limits::kModelTokens},
                                Range{"num_layers", 1, limits::kLayers},
                                Range{"n_layers", 1, limits::kLayers},
                                Range{"n_layer", 1, limits::kLayers},
                                Range{"max_position_embeddings", 1, limits::kModelTokens}};

// What a class divides by, sizes a convolution or a patch with, or takes a root or a power of, in whatever part it
// stands. A list of them has one entry a layer, 0 for none.
constexpr std::array kOfParts = {Range{"moe_layer_freq", 1, limits::kLayers},
                                 Range{"decoder_sparse_step", 1, limits::kLayers},
                                 Range{"full_attention_interval", 1, limits::kLayers},
                                 Range{"conv_kernel", 1, limits::kModelWidth},
                                 Range{"mamba_d_conv", 1, limits::kModelWidth},
                                 Range{"linear_conv_kernel_dim", 1, limits::kModelWidth},
                                 Range{"short_conv_kernel_size", 1, limits::kModelWidth},
                                 Range{"conv_L_cache", 1, limits::kModelWidth},
                                 Range{"patch_size", 1, limits::kModelWidth},
                                 Range{"spatial_patch_size", 1, limits::kModelWidth},
                                 Range{"temporal_patch_size", 1, limits::kModelWidth},
                                 Range{"spatial_merge_size", 1, limits::kModelWidth},
                                 Range{"depth", 0, limits::kLayers},
                                 Range{"sliding_window", -1, limits::kModelTokens},
                                 Range{"query_pre_attn_scalar", 1, limits::kModelWidth},
                                 Range{"intermediate_size", 1, limits::kModelWidth},
                                 Range{"kv_lora_rank", 1, limits::kModelWidth},
                                 Range{"rope_theta", 1, std::int64_t{1} << 62}};

// What any part may have, by the ends of its names: configurations spell them in many ways, leave some at 0, and count
// layers from the end.
constexpr std::array kByEnding = {
    Range{"_experts", 0, limits::kExperts},
    Range{"_per_tok", 0, limits::kExperts},
    Range{"_per_token", 0, limits::kExperts},
    Range{"_heads", 0, limits::kHeads},
    Range{"_head", 0, limits::kHeads},
    Range{"_groups", 0, limits::kHeads},
    Range{"_layers", -(1 << 16), 1 << 16},
    Range{"_layer", -(1 << 16), 1 << 16},
    Range{"intermediate_size", 0, limits::kModelWidth},
    Range{"hidden_size", 0, limits::kModelWidth},
    Range{"state_size", 0, limits::kModelWidth},
    Range{"_dim", 0, limits::kModelWidth},
    Range{"_rank", 0, limits::kModelWidth},
    Range{"_inner", 0, limits::kModelWidth},
    Range{"_width", 0, limits::kModelWidth},
    Range{"d_model", 0, limits::kModelWidth},
    Range{"d_state", 0, limits::kModelWidth},
    Range{"vocab_size", 0, limits::kModelTokens},
    Range{"_positions", 0, limits::kModelTokens},
    Range{"_embeddings", 0, limits::kModelTokens},
};

bool is_text_part(std::string_view key) {
  return key == "text_config" || key == "llm_config" || key == "language_config" || key == "thinker_config";
}

bool fits(const Value& value, const Range& range) {
  if (value.is_list()) return std::ranges::all_of(value.as_list(), [&](const Value& v) { return fits(v, range); });
  if (!value.is_number()) return true;
  const double number = value.as_number();
  return number >= static_cast<double>(range.least) && number <= static_cast<double>(range.most);
}

const Range* range_of(std::string_view key, const Value& value, bool of_text) {
  const auto* exact = std::ranges::find(kOfText, key, &Range::name);
  if (of_text && exact != kOfText.end()) return exact;
  const auto* part = std::ranges::find(kOfParts, key, &Range::name);
  if (part != kOfParts.end()) return value.is_list() ? nullptr : part;
  const auto* ending = std::ranges::find_if(kByEnding, [&](const Range& r) { return key.ends_with(r.name); });
  return ending != kByEnding.end() ? ending : nullptr;
}

// A number of things that are chosen from others of the same part: at least one of them, at most all.
struct Choice {
  std::string_view name;
  std::string_view of;
};
constexpr std::array kChoices = {Choice{"num_experts_per_tok", "num_experts"},
                                 Choice{"num_experts_per_tok", "n_routed_experts"},
                                 Choice{"num_experts_per_tok", "num_local_experts"},
                                 Choice{"num_experts_per_token", "num_experts"},
                                 Choice{"top_k_experts", "num_experts"},
                                 Choice{"moe_topk", "num_experts"},
                                 Choice{"moe_k", "moe_num_experts"},
                                 Choice{"topk_group", "n_group"}};

std::optional<std::string> absurd_choice(const Value& part) {
  for (const Choice& choice : kChoices) {
    const Value* all = part.find(choice.of);
    const Value* some = part.find(choice.name);
    if (all == nullptr || some == nullptr || !all->is_int() || !some->is_int()) continue;
    if (all->is_long_int() || some->is_long_int() || all->as_int() < 1) continue;
    if (some->as_int() < 1 || some->as_int() > all->as_int())
      return fmt::format("{} is {} beside {} {}: no model has that", choice.name, some->repr(), choice.of, all->repr());
  }
  return std::nullopt;
}

// What positions are stretched by, and what bounds the stretch: above 0, and no fraction is too small.
constexpr std::array<std::string_view, 3> kStretches = {"factor", "low_freq_factor", "high_freq_factor"};

bool is_no_stretch(std::string_view key, const Value& value) {
  if (!value.is_number() || std::ranges::find(kStretches, key) == kStretches.end()) return false;
  return !(value.as_number() > 0) || std::isinf(value.as_number());
}

// Weights that share a scale: rows and columns, of which there is at least one each. Where it is no such pair, layers
// divide by it or refuse it, and no rule that asks for the block sees one.
bool is_no_block(std::string_view key, const Value& value) {
  if (key != "weight_block_size" || value.is_none()) return false;
  return !value.is_list() || value.as_list().size() != 2 ||
         !std::ranges::all_of(value.as_list(), [](const Value& side) {
           return side.is_int() && fits(side, {"", 1, limits::kModelWidth});
         });
}

// Heads of latent attention are of two parts; transformers calls the rotated one the head, and GLM-5-Next's is empty.
bool is_unrotated(std::string_view key, const Value& value, const Value& part) {
  const Value* latent = part.find("kv_lora_rank");
  return key == "head_dim" && value == Value(0) && latent != nullptr && latent->truthy();
}

// The number itself of a list of them.
const Value& culprit(const Value& value, const Range& range) {
  if (!value.is_list()) return value;
  return culprit(*std::ranges::find_if(value.as_list(), [&](const Value& v) { return !fits(v, range); }), range);
}

// Names of what is left unquantised are read once, and may be as many as the model has tensors.
bool is_long_list(std::string_view key, const Value& value, bool quantization) {
  if (!value.is_list() || quantization) return false;
  return value.as_list().size() > (key == "architectures" ? limits::kArchitectures : limits::kModelItems);
}

// A letter a layer: "M*-M*-".
bool is_long_pattern(std::string_view key, const Value& value) {
  return value.is_string() && key.ends_with("_pattern") && value.as_string().size() > limits::kModelItems;
}

// What an object of a configuration is: a configuration itself, what tells of the quantisation, which goes by the names
// of modules, or something else, as labels by their numbers.
enum class Part { kConfig, kQuantization, kOther };

Part part_at(std::string_view key, Part above) {
  const bool quantization = key == "quantization_config" || key == "compression_config";
  if (quantization || above == Part::kQuantization) return Part::kQuantization;
  return above == Part::kConfig && key.ends_with("_config") ? Part::kConfig : Part::kOther;
}

std::optional<std::string> absurd_in(const Value& part, bool of_text, Part kind) {
  if (!part.is_dict()) return std::nullopt;
  if (part.as_dict().size() > (kind == Part::kConfig ? limits::kConfigSettings : limits::kModelSettings)) {
    return fmt::format("{} settings in one object: no model has that", part.as_dict().size());
  }
  if (auto why = absurd_choice(part)) return why;
  for (const auto& [key, value] : part.as_dict()) {
    if (value.is_dict()) {
      if (auto why = absurd_in(value, of_text && is_text_part(key), part_at(key, kind))) return why;
      continue;
    }
    if (is_long_list(key, value, kind == Part::kQuantization)) {
      return fmt::format("{} has {} entries: no model has that", key, value.as_list().size());
    }
    if (is_long_pattern(key, value)) {
      return fmt::format("{} has {} letters: no model has that", key, value.as_string().size());
    }
    if (is_no_stretch(key, value) || (kind == Part::kQuantization && is_no_block(key, value))) {
      return fmt::format("{} is {}: no model has that", key, value.repr());
    }
    const Range* range = range_of(key, value, of_text);
    if (range != nullptr && !fits(value, *range) && !is_unrotated(key, value, part)) {
      return fmt::format("{} is {}: no model has that", key, culprit(value, *range).repr());
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> absurd_part(const Value& config) { return absurd_in(config, true, Part::kConfig); }

}  // namespace preflight::facts
