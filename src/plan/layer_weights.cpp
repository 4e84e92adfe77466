// See layer_weights.h.
#include "src/plan/layer_weights.h"

#include <algorithm>
#include <cmath>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/plan/layer_kinds.h"

namespace preflight::plan {
namespace {

void add_ordinary_attention(const Shape& s, Layer& l, std::int64_t index) {
  double heads = static_cast<double>(s.m.num_attention_heads);
  double kv = static_cast<double>(total_kv_heads(s.m));
  double key = static_cast<double>(s.m.head_dim);
  double value = s.m.v_head_dim > 0 ? static_cast<double>(s.m.v_head_dim) : key;
  // Layers with a window may have heads of their own number and size (Gemma 4, MiMo).
  const auto& window = s.m.swa_layer_ids;
  if (std::find(window.begin(), window.end(), index) != window.end()) {
    heads = s.number({"swa_num_attention_heads"}, s.m.num_attention_heads);
    kv = s.number({"swa_num_key_value_heads"}, total_kv_heads(s.m));
    if (s.m.swa_head_dim > 0) key = value = static_cast<double>(s.m.swa_head_dim);
    if (s.m.swa_v_head_dim > 0) value = static_cast<double>(s.m.swa_v_head_dim);
  }
  // Qwen3-Next and Qwen3.5 gate the output unless the configuration says no, HRM and AFMoE always.
  const Value* gate = s.text.find("attn_output_gate");
  const bool gated =
      gate != nullptr ? gate->truthy() : architecture_starts_with(s.m, {"Qwen3Next", "Qwen3_5", "HrmText", "Afmoe"});
  l.output += heads * value * s.hidden;
  l.attention += s.hidden * heads * key * (gated ? 2 : 1) + heads * value * s.hidden;
  // Fewer key/value heads than ranks: each rank holds one, whole.
  const double ranks = static_cast<double>(s.attention_ranks);
  const double copies = kv > 0 && ranks > kv ? ranks / kv : 1.0;
  l.attention += s.hidden * kv * (key + value) * copies;
}

void add_mla(const Shape& s, Layer& l) {
  const double heads = static_cast<double>(s.m.num_attention_heads);
  // MiniCPM3 is sized by its rotary part alone and built with both.
  const double nope =
      s.m.qk_nope_head_dim > 0 ? static_cast<double>(s.m.qk_nope_head_dim) : s.number({"qk_nope_head_dim"});
  const double rope = static_cast<double>(s.m.qk_rope_head_dim);
  const double latent = static_cast<double>(s.m.kv_lora_rank);
  const double value = static_cast<double>(s.m.v_head_dim);
  const double q_rank = s.number({"q_lora_rank"});
  if (q_rank > 0) {
    l.copied += s.hidden * q_rank;
    l.attention += q_rank * heads * (nope + rope);
  } else {
    l.attention += s.hidden * heads * (nope + rope);
  }
  l.copied += s.hidden * (latent + rope);
  l.attention += latent * heads * (nope + value) + heads * value * s.hidden;
  if (!s.m.index_head_dim || s.number({"index_n_heads"}) <= 0) return;
  const double index =
      static_cast<double>(*s.m.index_head_dim);  // DeepSeek's sparse attention: every rank has them all
  l.copied += q_rank * s.number({"index_n_heads"}) * index + s.hidden * index;
  l.plain += s.hidden * s.number({"index_n_heads"});
}

// How a layer of DeepSeek-V4 compresses tokens: not at all, with an indexer, or without one.
enum class Ratio { kNone, kIndexed, kOther };

Ratio ratio_of(const Shape& s, std::int64_t index) {
  const Value* ratios = s.text.find("compress_ratios");
  if (ratios == nullptr || !ratios->is_list() || index >= static_cast<std::int64_t>(ratios->as_list().size()))
    return Ratio::kNone;
  const Value& ratio = ratios->as_list()[static_cast<std::size_t>(index)];
  if (!ratio.truthy()) return Ratio::kNone;
  return ratio == Value(4) ? Ratio::kIndexed : Ratio::kOther;
}

bool is_hashed(const Shape& s, std::int64_t index) { return index < first_int(s.text, {"num_hash_layers"}); }

// DeepSeek-V4: one latent for keys and values, queries and outputs through narrow matrices, and what compresses tokens
// by layer (srt/models/deepseek_v4.py). Streams beside the residual one are joined in 32 bits.
void add_compressed_attention(const Shape& s, Layer& l, std::int64_t index) {
  const double head = static_cast<double>(s.m.head_dim);
  const double heads = static_cast<double>(s.m.num_attention_heads) * head;
  const double q_rank = s.number({"q_lora_rank"});
  const double o_rank = s.number({"o_lora_rank"});
  l.copied += s.hidden * (q_rank + head);
  l.attention += q_rank * heads + o_rank * heads + s.number({"o_groups"}, 1) * o_rank * s.hidden;
  const double streams = s.number({"hc_mult"});
  l.plain += 2 * 2 * streams * (streams + 2) * streams * s.hidden;
  if (is_hashed(s, index)) {
    l.plain += 2 * static_cast<double>(s.m.vocab_size) * s.number({"num_experts_per_tok"});
  }
  const Ratio ratio = ratio_of(s, index);
  if (ratio == Ratio::kNone) return;
  const bool indexed = ratio == Ratio::kIndexed;
  l.plain += s.hidden * head * (indexed ? 4 : 2);
  if (!indexed) return;
  const double index_heads = s.number({"index_n_heads"});
  const double index_head = s.number({"index_head_dim"});
  l.copied += q_rank * index_heads * index_head;
  l.plain += s.hidden * (index_heads + 4 * index_head);
}

void add_gated_delta(const Shape& s, Layer& l) {
  const double keys = s.number({"linear_num_key_heads"}, 16) * s.number({"linear_key_head_dim"}, 128);
  const double heads = s.number({"linear_num_value_heads"}, 32);
  const double values = heads * s.number({"linear_value_head_dim"}, 128);
  const double kernel = s.number({"linear_conv_kernel_dim"}, 4);
  l.attention += s.hidden * (2 * keys + 2 * values + 2 * heads) + kernel * (2 * keys + values) + values * s.hidden;
}

// Its groups of states are cut like its heads, and each rank has one whole where there are none to cut (mamba.py).
void add_mamba2(const Shape& s, Layer& l, const WeightSplit& split) {
  const double heads = s.number({"mamba_num_heads", "mamba_n_heads"});
  const double inner = heads * s.number({"mamba_head_dim", "mamba_d_head"});
  const std::int64_t given = first_int(s.text, {"n_groups", "mamba_n_groups"}, 1);
  const std::int64_t ranks = ranks_of_state(s.m, split);
  const double groups = static_cast<double>(given % ranks == 0 ? given : ranks);
  const double mixed = inner + 2 * groups * s.number({"ssm_state_size", "mamba_d_state"}, 128);
  l.state +=
      s.hidden * (inner + mixed + heads) + mixed * s.number({"conv_kernel", "mamba_d_conv"}, 4) + inner * s.hidden;
}

// Kimi delta attention: decay and output gate go through a narrow matrix that every rank holds.
void add_kimi_delta(const Shape& s, Layer& l) {
  const Value& config = *s.text.find("linear_attn_config");
  const double heads = static_cast<double>(first_int(config, {"num_heads"}));
  const double dim = static_cast<double>(first_int(config, {"head_dim"}));
  const double inner = heads * dim;
  const double kernel = static_cast<double>(first_int(config, {"short_conv_kernel_size"}, 4));
  l.state += 4 * s.hidden * inner + s.hidden * heads + 2 * dim * inner + 2 * 3 * kernel * inner;  // the last in 32 bits
  l.copied += 2 * s.hidden * dim;
}

// Lightning attention of Bailing's hybrids: a key/value head for every query head, and a gate as wide as all of them.
void add_lightning(const Shape& s, Layer& l) {
  const double inner = static_cast<double>(s.m.num_attention_heads) * s.number({"head_dim"}, s.m.head_dim);
  l.attention += 5 * s.hidden * inner;
  l.output += s.hidden * inner;
}

// Jet's block: queries, keys, values, their gate and two numbers for each head, and what makes the taps of its
// convolution from the tokens (srt/models/jet_nemotron.py).
void add_jet(const Shape& s, Layer& l) {
  const Value* blocks = s.text.find("efficient_attention_config");
  const Value* jet = blocks == nullptr ? nullptr : blocks->find("jet");
  if (jet == nullptr || !jet->is_dict()) return;
  const auto of = [&](std::string_view key, std::int64_t usual) {
    return static_cast<double>(first_int(*jet, {key}, usual));
  };
  const Value* wider = jet->find("expand_v");
  const double heads = of("num_heads", 0);
  const double keys = heads * of("head_dim", 0);
  const double values = keys * (wider != nullptr && wider->is_number() ? wider->as_number() : 1.0);
  const double narrow = std::floor(values / std::max(1.0, of("dconv_generator_reduction", 8)));
  l.dense += s.hidden * (2 * keys + 2 * values + 2 * heads) + values * s.hidden + s.hidden * narrow +
             narrow * values * of("conv_size", 4);
}

// The first Mamba, which stands in place of attention and of the MLP: its states' decay is in 32 bits (mamba1.py).
void add_mamba1(const Shape& s, Layer& l) {
  const double inner = s.number({"intermediate_size"});
  const double states = s.number({"state_size"}, 16);
  const double rank = s.number({"time_step_rank"}, (s.m.hidden_size + 15) / 16);
  l.dense += inner * (3 * s.hidden + 2 * rank + 4 * states + s.number({"conv_kernel"}, 4) + 3);
}

// LFM2's gated convolution over a few tokens.
void add_short_conv(const Shape& s, Layer& l) {
  l.dense += 4 * s.hidden * s.hidden + s.hidden * s.number({"conv_L_cache"}, 3);
}

void add_dense(const Shape& s, Layer& l, double width, bool gated) {
  l.dense += (gated ? 3 : 2) * s.hidden * width;
  l.down += s.hidden * width;
}

bool is_longcat(const ModelFacts& m) { return architecture_starts_with(m, {"LongcatFlashFor"}); }

void add_experts(const Shape& s, Layer& l, bool gated, const WeightSplit& split) {
  const double count = static_cast<double>(routed_experts(s.m) + split.extra_experts);
  const double width = static_cast<double>(expert_width(s.m));
  const double sides = gated ? 3 : 2;
  // Experts of Nemotron-H and Kimi-K3 stand between two projections that every rank holds.
  const double latent = s.number({"moe_latent_size", "routed_expert_hidden_size"});
  l.experts += count * sides * (latent > 0 ? latent : s.hidden) * width;
  l.copied += 2 * s.hidden * latent;
  l.plain += count * s.hidden;
  if (is_longcat(s.m)) {  // a router in 32 bits, of experts that do nothing, too; none are shared
    l.plain += (count + 2 * s.number({"zero_expert_num"})) * s.hidden;
    return;
  }
  const auto shared = static_cast<double>(shared_experts_width(s.m));
  l.shared += sides * s.hidden * shared;
}

bool gated_mlp(const ModelFacts& m) {
  // Two matrices a layer: BERT-like encoders, GPT-like models, and those with another activation than a gated one.
  return !architecture_starts_with(
      m, {"Bert", "XLMRoberta", "Roberta", "NemotronH", "PhiForCausalLM", "GPT", "OPT", "Whisper", "Starcoder2",
          "Arcee", "Apertus", "Persimmon", "FalconForCausalLM", "CLIPModel", "Cosmos3Edge"});
}

}  // namespace

double dense_width(const Shape& s) {
  const bool both = architecture_starts_with(s.m, {"QWenLMHead"});
  return s.number({"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "ff_intermediate_size"},
                  architecture_starts_with(s.m, {"GPT"}) ? integer::bounded_times(4, s.m.hidden_size) : 0) /
         (both ? 2 : 1);
}

std::int64_t ranks_of_state(const ModelFacts& model, const WeightSplit& split) {
  return std::max<std::int64_t>(1, architecture_starts_with(model, {"KimiLinear"}) ? split.tp : split.attention_tp);
}

bool width_untold(const Shape& s) {
  if (s.text.find("block_configs") != nullptr) return true;
  return !has_experts(s.m) && dense_width(s) <= 0;
}

Layers::Layers(const Shape& s, std::int64_t layers, const WeightSplit& split)
    : s_(s),
      split_(split),
      letters_(layer_letters(s.m)),
      linear_(linear_layers(s.m, layers)),
      experts_(layers_with_experts(s.m, layers)),
      gated_(gated_mlp(s.m)),
      width_(dense_width(s)),
      compressed_(architecture_starts_with(s.m, {"DeepseekV4"})) {}

const Layer& Layers::at(std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  const auto& window = s_.m.swa_layer_ids;
  const bool windowed = std::find(window.begin(), window.end(), index) != window.end();
  const char letter = i < letters_.size() ? letters_[i] : '\0';
  const Key key{letter, linear_[i], experts_[i], windowed, compression_of(index)};
  const auto [it, is_new] = known_.try_emplace(key);
  if (is_new) it->second = letter != '\0' ? lettered(letter, index) : layer_of(index);
  return it->second;
}

// Layers of compressed attention differ by their ratio, and those that choose experts by a table.
int Layers::compression_of(std::int64_t index) const {
  if (!compressed_) return 0;
  const Ratio ratio = ratio_of(s_, index);
  return 1 + (is_hashed(s_, index) ? 1 : 0) + 2 * static_cast<int>(ratio);
}

Layer Layers::lettered(char letter, std::int64_t index) const {
  Layer l;
  switch (letter) {
    case 'M':
      add_mamba2(s_, l, split_);
      break;
    case '*':
      add_ordinary_attention(s_, l, index);
      break;
    case 'E':
      add_experts(s_, l, gated_, split_);
      break;
    default:
      add_dense(s_, l, width_, gated_);
  }
  return l;
}

Layer Layers::layer_of(std::int64_t index) const {
  Layer l;
  if (is_pure_mamba(s_.m)) {
    add_mamba1(s_, l);
    return l;
  }
  add_mixing(l, index);
  if (architecture_starts_with(s_.m, {"LongcatFlashForCausalLMNextN"})) {  // its prediction layer has no experts
    add_dense(s_, l, width_, gated_);
    return l;
  }
  if (is_longcat(s_.m)) {  // two attentions and two MLPs, and experts beside them
    add_mixing(l, index);
    add_dense(s_, l, width_, gated_);
    add_dense(s_, l, width_, gated_);
  }
  if (architecture_starts_with(s_.m, {"EmbeddingGemma2"})) {
    l.plain += 3 * s_.hidden * s_.number({"hidden_size_per_layer_input"});  // a gate and two projections of its inputs
  }
  if (experts_[static_cast<std::size_t>(index)]) {
    add_experts(s_, l, gated_, split_);
    // Gemma 4 runs a dense layer beside its experts.
    if (architecture_starts_with(s_.m, {"Gemma4"})) add_dense(s_, l, width_, gated_);
  } else if (architecture_starts_with(s_.m, {"Lfm2"})) {
    add_dense(s_, l, static_cast<double>(lfm2_width(s_.m)), true);
  } else {
    add_dense(s_, l, s_.number({"intermediate_size_mlp"}, whole(width_)), gated_);
  }
  return l;
}

// Attention, or what stands in its place.
void Layers::add_mixing(Layer& l, std::int64_t index) const {
  const bool linear = linear_[static_cast<std::size_t>(index)];
  const bool parallel = architecture_starts_with(s_.m, {"FalconH1"});  // Mamba and attention side by side
  if (parallel || (linear && architecture_starts_with(s_.m, {"Granite"}))) {
    add_mamba2(s_, l, split_);
  } else if (linear && architecture_starts_with(s_.m, {"KimiLinear"})) {
    add_kimi_delta(s_, l);
  } else if (linear && architecture_starts_with(s_.m, {"Lfm2"})) {
    add_short_conv(s_, l);
  } else if (linear && architecture_starts_with(s_.m, {"BailingMoe"})) {
    add_lightning(s_, l);
  } else if (linear && architecture_starts_with(s_.m, {"Jet"})) {
    add_jet(s_, l);
  } else if (linear) {
    add_gated_delta(s_, l);
  }
  if (linear && !parallel) return;
  if (compressed_) {
    add_compressed_attention(s_, l, index);
  } else if (s_.m.is_mla()) {
    add_mla(s_, l);
  } else {
    add_ordinary_attention(s_, l, index);
  }
}

}  // namespace preflight::plan
