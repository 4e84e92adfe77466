#include "src/plan/stored_weights.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/facts/kinds.h"
#include "src/plan/output_head.h"
#include "src/plan/tensor_shapes.h"
#include "src/plan/token_table.h"

namespace preflight::plan {
namespace {

using facts::StoredTensor;

// How one tensor stands on the ranks.
enum class Cut { kSkipped, kWhole, kAttention, kKeysValues, kDense, kExperts, kTable, kHead, kVision, kUnknown };

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

template <std::size_t N>
bool has_any(std::string_view name, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return has(name, p); });
}

// The number behind "layers."; -1 outside of layers.
std::int64_t layer_of(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  const auto at = name.find(kLayers);
  if (at == std::string_view::npos) return -1;
  std::int64_t n = -1;
  std::from_chars(name.data() + at + kLayers.size(), name.data() + name.size(), n);
  return n;
}

constexpr std::array<std::string_view, 4> kVision = {"visual.", "vision_tower.", "vision_model.",
                                                     "multi_modal_projector."};
constexpr std::array<std::string_view, 8> kColumnAttention = {
    "q_proj.", "qkv_proj.", "q_b_proj.", "kv_b_proj.", "in_proj_qkvz.", "in_proj_ba.", "in_proj_qkv.", "conv1d."};
constexpr std::array<std::string_view, 2> kKeysValues = {"k_proj.", "v_proj."};
constexpr std::array<std::string_view, 2> kRowAttention = {"o_proj.", "out_proj."};
constexpr std::array<std::string_view, 4> kColumnDense = {"gate_proj.", "up_proj.", "gate_up_proj.",
                                                          "shared_expert_gate_up."};
constexpr std::array<std::string_view, 6> kWhole = {"norm",      "mlp.gate.", "block_sparse_moe.gate.",
                                                    "kv_a_proj", "q_a_proj.", "indexer."};

bool is_bias(std::string_view name) { return name.ends_with(".bias"); }

// Scales by output of a matrix that is cut by its inputs: each rank has all of them.
bool is_of_all_outputs(const StoredTensor& t) {
  const bool by_output = t.shape.size() == 1 || (t.shape.size() == 2 && t.shape[1] == 1);
  return by_output && has(t.name, "scale") && (has_any(t.name, kRowAttention) || has(t.name, "down_proj."));
}

// Scales of whole tensors and of channels of the uncut side are small and whole.
bool is_scalar(const StoredTensor& t) {
  std::int64_t count = 1;
  for (const std::int64_t n : t.shape) count *= n;
  return count <= 1;
}

Cut cut_of(const StoredTensor& t, const ModelFacts& model) {
  const std::string_view name = t.name;
  if (has(name, "rotary_emb.inv_freq") || name.starts_with("mtp.")) return Cut::kSkipped;
  if (const std::int64_t layer = layer_of(name); layer >= model.num_hidden_layers && !has_any(name, kVision)) {
    return Cut::kSkipped;  // prediction layers, which the draft loads
  }
  if (has_any(name, kVision)) return Cut::kVision;
  if (has(name, "embed_tokens.") || name == "model.embed_tokens.weight") return Cut::kTable;
  if (has(name, "lm_head.")) return shares_head(model) ? Cut::kSkipped : Cut::kHead;
  if (is_scalar(t)) return Cut::kWhole;
  if (has(name, ".experts.")) return Cut::kExperts;
  if (has(name, "shared_expert_gate.")) return Cut::kWhole;
  if (has_any(name, kWhole)) return Cut::kWhole;
  if (is_of_all_outputs(t)) return Cut::kWhole;
  if (has_any(name, kRowAttention)) return is_bias(name) ? Cut::kWhole : Cut::kAttention;
  if (has_any(name, kKeysValues) && !has(name, "qkv_proj.")) return Cut::kKeysValues;
  if (has_any(name, kColumnAttention) || name.ends_with(".A_log") || name.ends_with(".dt_bias")) return Cut::kAttention;
  if (has(name, "down_proj.")) return is_bias(name) ? Cut::kWhole : Cut::kDense;
  if (has_any(name, kColumnDense)) return Cut::kDense;
  return Cut::kUnknown;
}

// Floating weights are kept in the type of the launch; packed ones and their scales as they are stored. Of a checkpoint
// that does not say it is quantised none is packed.
double bytes_of(const StoredTensor& t, const ModelFacts& model) {
  const bool wide = t.dtype == "F32" || t.dtype == "BF16" || t.dtype == "F16";
  const bool narrow = t.dtype.starts_with("F8") && !model.quantization;
  const bool kept = !t.name.ends_with(".weight") && !t.name.ends_with(".bias");
  if (kept || !(wide || narrow)) return static_cast<double>(t.bytes);
  const double stored = t.dtype == "F32" ? 4.0 : narrow ? 1.0 : 2.0;
  return static_cast<double>(t.bytes) / stored * (model.dtype == "float32" ? 4.0 : 2.0);
}

double padded(double bytes, const StoredTensor& t) {
  if (t.shape.empty() || t.shape[0] <= 0) return bytes;
  const std::int64_t rows = (t.shape[0] + 63) / 64 * 64;
  return bytes / static_cast<double>(t.shape[0]) * static_cast<double>(rows);
}

// Architectures whose every parameter the rules above name.
bool is_trusted(const ModelFacts& model) {
  constexpr std::array<std::string_view, 12> kTrusted = {
      "LlamaForCausalLM",    "MistralForCausalLM",  "Qwen2ForCausalLM",   "Qwen3ForCausalLM",
      "Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "MixtralForCausalLM", "Gemma2ForCausalLM",
      "Gemma3ForCausalLM",   "Olmo2ForCausalLM",    "GraniteForCausalLM", "Phi3ForCausalLM"};
  return std::any_of(kTrusted.begin(), kTrusted.end(), [&](std::string_view a) { return model.has_architecture(a); });
}

bool is_packed(const StoredTensor& t) { return t.dtype != "F32" && t.dtype != "BF16" && t.dtype != "F16"; }

}  // namespace

std::optional<WeightEstimate> stored_weights(const ModelFacts& model, const WeightSplit& split,
                                             const facts::WeightFiles& files) {
  if (!files.faults.empty() || files.tensors.empty() || model.num_hidden_layers <= 0) return std::nullopt;
  // Quantised while it loads, or unpacked: what is stored is not what stays.
  if (model.quantization && model.quant_config.is_none()) return std::nullopt;
  if (model.quantization == "mxfp4" || model.quantization == "gguf" || model.quantization == "bitsandbytes")
    return std::nullopt;
  // A description of a quantisation over tensors of none: its class allocates what it describes.
  const bool described = model.quantization.has_value();
  if (described && std::ranges::none_of(files.tensors, is_packed)) return std::nullopt;
  const auto d = [](std::int64_t n) { return static_cast<double>(std::max<std::int64_t>(1, n)); };
  const std::vector<std::int64_t> counts = layers_of_stages(model.num_hidden_layers, split);
  std::vector<std::size_t> stage_of;
  for (std::size_t s = 0; s < counts.size(); ++s)
    stage_of.insert(stage_of.end(), static_cast<std::size_t>(counts[s]), s);
  std::vector<double> stages(counts.size(), 0.0);
  const std::int64_t kv = std::max<std::int64_t>(1, total_kv_heads(model));
  const std::int64_t attention = ranks_of_attention(model, split);
  WeightEstimate e;
  const bool scaled = std::ranges::any_of(files.tensors, [](const StoredTensor& t) { return has(t.name, "scale"); });
  // Experts of packed 4-bit integers have tables that no file holds.
  const bool tables =
      model.quantization == "compressed-tensors" && routed_experts(model) > 0 &&
      std::ranges::any_of(files.tensors, [](const StoredTensor& t) { return has(t.name, "weight_packed"); });
  e.exact = is_trusted(model) && (!described || scaled) && !tables;
  // Layers without experts of a model that has some; a shared expert stands in a layer with experts.
  const bool whole_dense = split.whole_dense && routed_experts(model) > 0;
  double last_layer = 0;
  const auto add_head = [&](double rank) {
    const bool on_all = head_on_every_stage(model) && !shares_head(model);
    for (std::size_t stage = on_all ? 0 : stages.size() - 1; stage < stages.size(); ++stage) stages[stage] += rank;
  };
  for (const StoredTensor& t : files.tensors) {
    const Cut cut = cut_of(t, model);
    if (cut == Cut::kSkipped) continue;
    const double whole = bytes_of(t, model);
    double rank = whole;
    if (cut == Cut::kAttention) rank = whole / d(attention);
    if (cut == Cut::kKeysValues) rank = whole / d(std::min(attention, kv));
    if (cut == Cut::kDense) rank = whole / d(whole_dense && !has(t.name, "shared_expert") ? 1 : split.tp);
    if (cut == Cut::kExperts) rank = whole / (d(is_of_all_outputs(t) ? 1 : split.moe_tp) * d(split.ep));
    if (cut == Cut::kTable) rank = padded(whole, t) / d(ranks_of_table(model, split));
    if (cut == Cut::kHead) rank = padded(whole, t) / d(ranks_of_head(model, split));
    if (cut == Cut::kVision) {
      rank = whole / d(split.whole_encoder || t.shape.size() < 2 ? 1 : split.attention_tp);
      e.exact = false;
    }
    if (cut == Cut::kUnknown) e.exact = false;
    e.total_bytes += static_cast<std::int64_t>(whole);
    const std::int64_t layer = layer_of(t.name);
    if (cut == Cut::kVision) {
      for (double& stage : stages) stage += rank;
    } else if (layer >= 0) {
      stages[stage_of[static_cast<std::size_t>(layer)]] += rank;
      if (layer == model.num_hidden_layers - 1) last_layer += rank;
    } else if (cut == Cut::kTable) {
      stages.front() += rank;
      // A head of its own, which the files do not hold twice.
      if (is_tied(model) && !has_no_own_head(model, split)) add_head(padded(whole, t) / d(ranks_of_head(model, split)));
    } else if (cut == Cut::kHead) {
      add_head(rank);
    } else {
      stages.back() += rank;
    }
  }
  if (split.extra_experts > 0) e.exact = false;
  e.layer_bytes = static_cast<std::int64_t>(last_layer);
  e.per_rank_bytes = static_cast<std::int64_t>(*std::max_element(stages.begin(), stages.end()));
  return e;
}

std::optional<FilledParameters> filled_parameters(const ModelFacts& model, const facts::WeightFiles& files) {
  if (model.quantization || !model.quant_config.is_none()) return std::nullopt;
  const auto stored = stored_weights(model, {}, files);
  const auto shapes = estimate_weights(model);
  if (!stored || !shapes || !stored->exact || !shapes->exact) return std::nullopt;
  double foreign = 0;  // of other names than the parameters of these classes, which no loader takes
  for (const StoredTensor& t : files.tensors) {
    const bool named = t.name.starts_with("model.") || t.name.starts_with("lm_head.");
    if (!named && cut_of(t, model) != Cut::kSkipped) foreign += bytes_of(t, model);
  }
  return FilledParameters{stored->per_rank_bytes - static_cast<std::int64_t>(foreign), shapes->per_rank_bytes};
}

std::optional<CountedWeights> count_weights(const ModelFacts& model, const WeightSplit& split,
                                            const facts::WeightFiles* files) {
  const auto filled = files == nullptr ? std::nullopt : filled_parameters(model, *files);
  const bool lack = files != nullptr && (filled ? filled->falls_short() : !files->unstored.empty());
  const bool others = files == nullptr || lack;
  if (auto stored = others ? std::nullopt : stored_weights(model, split, *files)) {
    stored->exact = stored->exact && misshapen_tensor(model, *files).empty() && absent_scales(model, *files).empty();
    return CountedWeights{*stored, true};
  }
  const auto shapes = estimate_weights(model, split);
  return shapes ? std::optional(CountedWeights{*shapes, false}) : std::nullopt;
}

void take_parts(const Launch& launch, const ModelFacts* draft, const facts::WeightFiles* files, MemoryInputs& inputs) {
  if (draft != nullptr) inputs.draft = draft_cost(launch, *draft);
  if (files == nullptr) return;
  const auto counted = count_weights(*launch.model, weight_split(launch), files);
  if (counted && counted->from_files) inputs.stored = *counted;
}

}  // namespace preflight::plan
