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
#include "src/plan/draft_weights.h"
#include "src/plan/element_sizes.h"
#include "src/plan/kept_answers.h"
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
  if (has(name, "embed_tokens.")) return Cut::kTable;
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

bool is_plain(const StoredTensor& t) { return t.dtype == "F32" || t.dtype == "BF16" || t.dtype == "F16"; }

// Floating weights are kept in the type of the launch; packed ones and their scales as they are stored. Of a checkpoint
// that does not say it is quantised none is packed.
double bytes_of(const StoredTensor& t, const ModelFacts& model) {
  const bool narrow = t.dtype.starts_with("F8") && !model.quantization;
  const bool kept = !t.name.ends_with(".weight") && !t.name.ends_with(".bias");
  if (kept || !(is_plain(t) || narrow)) return static_cast<double>(t.bytes);
  const double stored = t.dtype == "F32" ? 4.0 : narrow ? 1.0 : 2.0;
  return static_cast<double>(t.bytes) / stored * plain_bytes(model);
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

// Whether what is stored is what stays.
bool is_kept(const ModelFacts& model, const facts::WeightFiles& files) {
  // Quantised while it loads, or unpacked.
  if (model.quantization && model.quant_config.is_none()) return false;
  if (model.quantization == "mxfp4" || model.quantization == "gguf" || model.quantization == "bitsandbytes")
    return false;
  // A description of a quantisation over tensors of none: its class allocates what it describes.
  return !model.quantization || !std::ranges::all_of(files.tensors, is_plain);
}

// Whether the rules above tell of every parameter what a rank has of it.
bool is_exact(const ModelFacts& model, const WeightSplit& split, const facts::WeightFiles& files) {
  const auto any_named = [&](std::string_view part) {
    return std::ranges::any_of(files.tensors, [&](const StoredTensor& t) { return has(t.name, part); });
  };
  // Experts of packed 4-bit integers have tables that no file holds.
  const bool tables = model.quantization == "compressed-tensors" && has_experts(model) && any_named("weight_packed");
  return is_trusted(model) && (!model.quantization || any_named("scale")) && !tables && split.extra_experts == 0;
}

double at_least_one(std::int64_t ranks) { return static_cast<double>(std::max<std::int64_t>(1, ranks)); }

// What the ranks have of a tensor, stage by stage.
class RankBytes {
 public:
  RankBytes(const ModelFacts& model, const WeightSplit& split)
      : model_(model),
        split_(split),
        attention_(ranks_of_attention(model, split)),
        kv_heads_(std::max<std::int64_t>(1, total_kv_heads(model))),
        whole_dense_(split.whole_dense && has_experts(model)) {
    const std::vector<std::int64_t> counts = layers_of_stages(model.num_hidden_layers, split);
    for (std::size_t s = 0; s < counts.size(); ++s)
      stage_of_.insert(stage_of_.end(), static_cast<std::size_t>(counts[s]), s);
    stages_.assign(counts.size(), 0.0);
  }

  void add(const StoredTensor& t, Cut cut, double whole) {
    const double rank = on_rank(t, cut, whole);
    const std::int64_t layer = layer_of(t.name);
    if (cut == Cut::kVision) {
      for (double& stage : stages_) stage += rank;
    } else if (layer >= 0) {
      stages_[stage_of_[static_cast<std::size_t>(layer)]] += rank;
      if (layer == model_.num_hidden_layers - 1) last_layer_ += rank;
    } else if (cut == Cut::kTable) {
      stages_.front() += rank;
      // A head of its own, which the files do not hold twice.
      if (is_tied(model_) && !has_no_own_head(model_, split_)) add_head(on_rank(t, Cut::kHead, whole));
    } else if (cut == Cut::kHead) {
      add_head(rank);
    } else {
      stages_.back() += rank;
    }
  }

  [[nodiscard]] double last_layer() const { return last_layer_; }
  [[nodiscard]] double largest_stage() const { return *std::ranges::max_element(stages_); }

 private:
  [[nodiscard]] double on_rank(const StoredTensor& t, Cut cut, double whole) const {
    switch (cut) {
      case Cut::kAttention:
        return whole / at_least_one(attention_);
      case Cut::kKeysValues:
        return whole / at_least_one(std::min(attention_, kv_heads_));
      case Cut::kDense:
        // Layers without experts of a model that has some; a shared expert stands in a layer with experts.
        return whole /
               at_least_one((has(t.name, "shared_expert") ? split_.whole_shared : whole_dense_) ? 1 : split_.tp);
      case Cut::kExperts:
        return whole / (at_least_one(is_of_all_outputs(t) ? 1 : split_.moe_tp) * at_least_one(split_.ep));
      case Cut::kTable:
        return padded(whole, t) / at_least_one(ranks_of_table(model_, split_));
      case Cut::kHead:
        return padded(whole, t) / at_least_one(ranks_of_head(model_, split_));
      case Cut::kVision:
        return whole / at_least_one(split_.whole_encoder || t.shape.size() < 2 ? 1 : split_.attention_tp);
      case Cut::kSkipped:
      case Cut::kWhole:
      case Cut::kUnknown:
        break;
    }
    return whole;
  }

  void add_head(double rank) {
    const bool on_all = head_on_every_stage(model_) && !shares_head(model_);
    for (std::size_t stage = on_all ? 0 : stages_.size() - 1; stage < stages_.size(); ++stage) stages_[stage] += rank;
  }

  const ModelFacts& model_;
  const WeightSplit& split_;
  std::int64_t attention_;
  std::int64_t kv_heads_;
  bool whole_dense_;
  std::vector<std::size_t> stage_of_;  // of each layer
  std::vector<double> stages_;
  double last_layer_ = 0;
};

}  // namespace

std::optional<WeightEstimate> stored_weights(const ModelFacts& model, const WeightSplit& split,
                                             const facts::WeightFiles& files) {
  if (!files.faults.empty() || files.tensors.empty() || model.num_hidden_layers <= 0) return std::nullopt;
  if (!is_kept(model, files)) return std::nullopt;
  WeightEstimate e;
  e.exact = is_exact(model, split, files);
  RankBytes ranks(model, split);
  for (const StoredTensor& t : files.tensors) {
    const Cut cut = cut_of(t, model);
    if (cut == Cut::kSkipped) continue;
    const double whole = bytes_of(t, model);
    ranks.add(t, cut, whole);
    e.total_bytes += static_cast<std::int64_t>(whole);
    e.exact = e.exact && cut != Cut::kVision && cut != Cut::kUnknown;
  }
  e.layer_bytes = static_cast<std::int64_t>(ranks.last_layer());
  e.per_rank_bytes = static_cast<std::int64_t>(ranks.largest_stage());
  return e;
}

namespace {

std::optional<FilledParameters> count_filled(const ModelFacts& model, const facts::WeightFiles& files) {
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

std::optional<CountedWeights> count(const ModelFacts& model, const WeightSplit& split,
                                    const facts::WeightFiles* files) {
  const auto filled = files == nullptr ? std::nullopt : filled_parameters(model, *files);
  const bool lack = files != nullptr && (filled ? filled->falls_short() : !files->unstored.empty());
  const bool others = files == nullptr || lack;
  if (auto stored = others ? std::nullopt : stored_weights(model, split, *files)) {
    stored->exact = stored->exact && misshapen_tensor(model, *files).empty() && absent_scales(model, *files).empty();
    return CountedWeights{*stored, true};
  }
  const auto shapes = estimate_served(model, split);
  return shapes ? std::optional(CountedWeights{*shapes, false}) : std::nullopt;
}

}  // namespace

std::optional<FilledParameters> filled_parameters(const ModelFacts& model, const facts::WeightFiles& files) {
  thread_local KeptAnswers<bool, std::optional<FilledParameters>> kept;
  return kept.of(model, files, true, [&] { return count_filled(model, files); });
}

std::optional<CountedWeights> count_weights(const ModelFacts& model, const WeightSplit& split,
                                            const facts::WeightFiles* files) {
  if (files == nullptr) return count(model, split, files);
  thread_local KeptAnswers<WeightSplit, std::optional<CountedWeights>> kept;
  return kept.of(model, *files, split, [&] { return count(model, split, files); });
}

void take_parts(const Launch& launch, const ModelFacts* draft, const facts::WeightFiles* files, MemoryInputs& inputs) {
  if (draft != nullptr) inputs.draft = draft_cost(launch, *draft);
  if (files == nullptr) return;
  const auto counted = count_weights(*launch.model, weight_split(launch), files);
  if (counted && counted->from_files) inputs.stored = *counted;
}

}  // namespace preflight::plan
