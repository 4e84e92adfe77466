// Parameter counts by part of the model; see weights.h.
#include "src/plan/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/facts/described_form.h"
#include "src/facts/kinds.h"
#include "src/plan/output_head.h"
#include "src/plan/plain_modules.h"
#include "src/python/integer.h"

namespace preflight::plan {
namespace {

std::int64_t integer(const Value& config, std::initializer_list<std::string_view> keys, std::int64_t fallback = 0) {
  for (const auto key : keys) {
    if (const Value* v = config.find(key); v != nullptr && v->is_int()) return v->as_int();
  }
  return fallback;
}

bool any_architecture(const ModelFacts& m, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(m.architectures.begin(), m.architectures.end(), [&](const std::string& a) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return a.starts_with(p); });
  });
}

// Bytes of one parameter, by where it stands. Quantisers leave embeddings and norms alone.
struct ElementSizes {
  double plain = 2.0;
  double head = 2.0;     // a matrix of its own; few quantisers touch it
  double linear = 2.0;   // attention and dense layers
  double experts = 2.0;  // routed experts
  // What an expert has beside its elements, a number of its inner width, which ranks cut, and of its outer one.
  double for_inner = 0.0;
  double for_outer = 0.0;
  std::int64_t expert_block = 1;  // the part of an expert that a rank has is a whole number of these
  bool exact = true;
};

double packed(std::int64_t bits, std::int64_t group, bool zeros = true) {
  // A 16-bit scale and a packed zero point for every group.
  const double g = group > 0 ? static_cast<double>(group) : 1e9;
  return static_cast<double>(bits) / 8 + 2.0 / g + (zeros ? static_cast<double>(bits) / 8 / g : 0.0);
}

// A nibble an element, and a scale of one byte for every group: NVFP4 has groups of 16, the MX forms of 32.
double nibbles(std::int64_t group) { return 0.5 + 1.0 / static_cast<double>(std::max<std::int64_t>(1, group)); }
constexpr std::int64_t kNvfp4Group = 16;
constexpr std::int64_t kMxGroup = 32;

std::string word(const Value& config, std::string_view key) {
  const Value* v = config.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

// The first of the groups stands for all: others are rare. Symmetric weights have no zero points.
double compressed(const Value& groups) {
  const Value* weights = groups.as_dict().front().second.find("weights");
  const std::int64_t bits = weights != nullptr && weights->is_dict() ? integer(*weights, {"num_bits"}, 8) : 8;
  if (bits >= 8) return 1.0;
  if (word(*weights, "type") == "float") return nibbles(integer(*weights, {"group_size"}, kNvfp4Group));
  const Value* symmetric = weights->find("symmetric");
  return packed(bits, integer(*weights, {"group_size"}), symmetric == nullptr || !symmetric->truthy());
}

bool is_on(const Value& config, std::string_view key) {
  const Value* v = config.find(key);
  return v != nullptr && v->truthy();
}

// compressed_tensors_wNa16_moe.py, compressed_tensors_w8a8_fp8_moe.py: experts of 4 bits have the order of their inputs
// twice in 32 bits, ordered or not; those of 8 bits by channel a scale of 32 bits for each output.
void set_expert_tables(ElementSizes& s, const Value& groups) {
  const Value* weights = groups.as_dict().front().second.find("weights");
  if (weights == nullptr || !weights->is_dict()) return;
  if (integer(*weights, {"num_bits"}, 8) == 4 && word(*weights, "type") == "int") s.for_inner = s.for_outer = 2 * 4.0;
  if (integer(*weights, {"num_bits"}, 8) != 8 || word(*weights, "strategy") != "channel") return;
  s.for_inner = 2 * 4.0;  // gate and up
  s.for_outer = 4.0;
}

// False: there are no groups, and no layer is of any.
bool set_compressed_sizes(ElementSizes& s, const Value& config) {
  const Value* groups = config.find("config_groups");
  if (groups == nullptr || !groups->is_dict() || groups->as_dict().empty()) return false;
  s.linear = s.experts = compressed(*groups);
  set_expert_tables(s, *groups);
  s.exact = groups->as_dict().size() == 1;
  return true;
}

// Quark writes the type of its weights out; those of 4 bits have a scale of one byte for a group.
double of_quark(const Value& config) {
  const Value* all = config.find("global_quant_config");
  const Value* weight = all == nullptr ? nullptr : all->find("weight");
  const Value* type = weight == nullptr ? nullptr : weight->find("dtype");
  if (type == nullptr || !type->is_string() || !type->as_string().ends_with('4')) return 1.0;
  return nibbles(integer(*weight, {"group_size"}, kMxGroup));
}

// By the algorithm's name (modelopt_quant.py).
double of_modelopt(const Value& config) {
  const std::string algorithm = ascii_upper(word(config, "quant_algo"));
  if (algorithm.find("FP4") != std::string::npos) return nibbles(integer(config, {"group_size"}, kNvfp4Group));
  return algorithm == "MXFP8" ? 1.0 + 1.0 / static_cast<double>(kMxGroup) : 1.0;
}

// Parts may be left unquantised by name, or packed in another way; how much that is, is not computed.
bool treats_parts_apart(const Value& config) {
  if (is_on(config, "dynamic")) return true;
  return std::ranges::any_of(kLeftPlain, [&](const char* key) {
    const Value* list = config.find(key);
    return list != nullptr && list->is_list() && list->as_list().size() > 1;
  });
}

// One byte an element, and a scale of 32 bits for a block of them.
void set_byte_sizes(ElementSizes& s, const ModelFacts& m) {
  const Value* block = m.hf_quant_config.find("weight_block_size");
  s.linear = s.experts = block != nullptr && block->is_list() ? 1.0 + 4.0 / (128.0 * 128.0) : 1.0;
  // DeepSeek-V4 stores its experts in 4 bits, with a scale of one byte for 32.
  if (m.text("expert_dtype") == Value("fp4")) s.experts = nibbles(kMxGroup);
}

// Algorithms by module: the first of the experts and the first of the other modules stand for theirs.
void set_mixed_sizes(ElementSizes& s, const Value& config) {
  const Value* modules = config.find("quantized_layers");
  if (modules == nullptr || !modules->is_dict()) return;
  bool linear = false;
  bool experts = false;
  for (const auto& [name, algorithm] : modules->as_dict()) {
    const bool of_experts = name.find(".experts") != std::string::npos;
    bool& known = of_experts ? experts : linear;
    if (!known && algorithm.is_dict()) (of_experts ? s.experts : s.linear) = of_modelopt(algorithm);
    known = true;
    if (linear && experts) return;
  }
}

// ModelOpt's methods, and what packs weights in its NVFP4. They touch the head as well, unless it is left out.
void set_modelopt_sizes(ElementSizes& s, const ModelFacts& m, const Value& config) {
  const std::string& q = *m.quantization;
  s.exact = (q == "modelopt_fp4" || q == "modelopt_fp8") && !m.quant_config.is_none();
  if (m.quant_config.is_none() || word(config, "quant_method") == "fp8" || q == "minimax_m3_nvfp4") {
    // Experts are made while they load, and nothing else is; or they are stored so beside what is in FP8.
    s.exact = false;
    if (!m.quant_config.is_none()) s.linear = 1.0;
    s.experts = nibbles(kNvfp4Group);
  } else if (q == "modelopt_mixed") {
    set_mixed_sizes(s, config);
  } else {
    s.linear = of_modelopt(config);
    if (q != "petit_nvfp4") s.experts = s.linear;  // its method knows no experts
    const bool plain_head = q == "petit_nvfp4" || PlainModules(m).leaves_plain("lm_head");
    if (!plain_head) s.head = s.linear;
  }
}

ElementSizes element_sizes(const ModelFacts& m) {
  ElementSizes s;
  s.plain = m.dtype == "float32" ? 4.0 : 2.0;
  s.linear = s.experts = s.head = s.plain;
  if (!m.quantization || m.quantization->empty()) return s;
  const std::string& q = *m.quantization;
  const Value& config = described_form(m);
  const auto starts = [&](std::string_view p) { return q.starts_with(p); };
  if (starts("modelopt") || q.find("nvfp4") != std::string::npos) {
    set_modelopt_sizes(s, m, config);
  } else if (starts("bitsandbytes")) {
    s.linear = s.experts = is_on(config, "load_in_8bit") ? 1.0 : 0.5 + 1.0 / 64;
    s.exact = false;
  } else if (starts("quark") && !m.quant_config.is_none()) {
    s.linear = s.experts = of_quark(config);
    s.exact = false;
  } else if (starts("w4afp8")) {
    s.linear = 1.0 + 4.0 / (128.0 * 128.0);
    s.experts = 0.5 + 4.0 / 128;
    s.exact = false;
  } else if (starts("fp8") || starts("w8a8") || starts("blockwise_int8")) {
    set_byte_sizes(s, m);
  } else if (starts("awq") || starts("gptq") || starts("auto-round") || starts("moe_wna16")) {
    s.linear = s.experts =
        packed(integer(config, {"bits", "w_bit", "wbits"}, 4), integer(config, {"group_size", "q_group_size"}, 128));
    if (starts("gptq") && is_on(config, "lm_head")) s.head = s.linear;
  } else if (starts("mxfp4")) {
    s.experts = nibbles(kMxGroup);  // the rest stays as it is
    s.expert_block = kMxGroup;
  } else if (q == "mxfp8") {
    s.linear = s.experts = 1.0 + 1.0 / static_cast<double>(kMxGroup);
    s.exact = false;
  } else if (starts("compressed-tensors")) {
    if (!set_compressed_sizes(s, config)) return s;
  } else {
    s.linear = s.experts = 1.0;
    s.exact = false;
  }
  s.exact = s.exact && !treats_parts_apart(config);
  return s;
}

// Bytes and parameters as whole numbers that can still be added up: a batch resolves models of any size.
std::int64_t whole(double count) {
  const auto most = static_cast<double>(limits::kLaunchBytes);
  return integer::bounded_whole(std::clamp(count, 0.0, most));
}

struct Layer {
  double attention = 0;  // parameters that attention tensor parallelism cuts
  double output = 0;     // of these the output projection, where the rest are queries, keys and values
  double copied = 0;     // parameters every rank holds
  double plain = 0;      // those that every rank holds and that no quantiser touches
  double dense = 0;      // cut by tensor parallelism
  double down = 0;       // of these the last matrix, where the rest stand before it
  double experts = 0;    // cut by expert and expert-tensor parallelism
};

struct Shape {
  const ModelFacts& m;
  const Value& text;
  double hidden = 0;
  std::int64_t attention_ranks = 1;
  bool exact = true;

  [[nodiscard]] double number(std::initializer_list<std::string_view> keys, std::int64_t fallback = 0) const {
    return static_cast<double>(integer(text, keys, fallback));
  }
};

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
  // Qwen3-Next and Qwen3.5 gate the output unless the configuration says no.
  const Value* gate = s.text.find("attn_output_gate");
  const bool gated = gate != nullptr ? gate->truthy() : any_architecture(s.m, {"Qwen3Next", "Qwen3_5"});
  l.output += heads * value * s.hidden;
  l.attention += s.hidden * heads * key * (gated ? 2 : 1) + heads * value * s.hidden;
  // Fewer key/value heads than ranks: each rank holds one, whole.
  const double ranks = static_cast<double>(s.attention_ranks);
  const double copies = kv > 0 && ranks > kv ? ranks / kv : 1.0;
  l.attention += s.hidden * kv * (key + value) * copies;
}

void add_mla(const Shape& s, Layer& l) {
  const double heads = static_cast<double>(s.m.num_attention_heads);
  const double nope = static_cast<double>(s.m.qk_nope_head_dim);
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
  if (index < integer(s.text, {"num_hash_layers"})) {
    l.plain += 2 * static_cast<double>(s.m.vocab_size) * s.number({"num_experts_per_tok"});
  }
  const Value* ratios = s.text.find("compress_ratios");
  if (ratios == nullptr || !ratios->is_list() || index >= static_cast<std::int64_t>(ratios->as_list().size())) return;
  const Value& ratio = ratios->as_list()[static_cast<std::size_t>(index)];
  if (!ratio.truthy()) return;
  const bool indexed = ratio == Value(4);
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

void add_mamba2(const Shape& s, Layer& l) {
  const double heads = s.number({"mamba_num_heads", "mamba_n_heads"});
  const double inner = heads * s.number({"mamba_head_dim", "mamba_d_head"});
  const double groups = s.number({"n_groups", "mamba_n_groups"}, 1);
  const double state = s.number({"ssm_state_size", "mamba_d_state"}, 128);
  l.attention += s.hidden * (2 * inner + 2 * groups * state + heads) + inner * s.hidden;
}

// Kimi delta attention: decay and output gate go through a narrow matrix that every rank holds.
void add_kimi_delta(const Shape& s, Layer& l) {
  const Value& config = *s.text.find("linear_attn_config");
  const double heads = static_cast<double>(integer(config, {"num_heads"}));
  const double dim = static_cast<double>(integer(config, {"head_dim"}));
  const double inner = heads * dim;
  const double kernel = static_cast<double>(integer(config, {"short_conv_kernel_size"}, 4));
  l.attention += 4 * s.hidden * inner + s.hidden * heads + 2 * dim * inner + 3 * kernel * inner;
  l.copied += 2 * s.hidden * dim;
}

// LFM2's gated convolution over a few tokens.
void add_short_conv(const Shape& s, Layer& l) {
  l.dense += 4 * s.hidden * s.hidden + s.hidden * s.number({"conv_L_cache"}, 3);
}

// LFM2 takes two thirds of the width given, rounded up, unless told not to.
double lfm2_width(const Shape& s) {
  const Value* adjust = s.text.find("block_auto_adjust_ff_dim");
  const std::int64_t width = integer(s.text, {"intermediate_size"});
  if (adjust != nullptr && !adjust->truthy()) return static_cast<double>(width);
  const Value* factor = s.text.find("block_ffn_dim_multiplier");
  const std::int64_t thirds = integer::bounded_times(2, width) / 3;
  const double scale = factor != nullptr && factor->is_number() ? factor->as_number() : 1.0;
  const std::int64_t narrowed = whole(scale * static_cast<double>(thirds));
  const std::int64_t unit = std::max<std::int64_t>(1, integer(s.text, {"block_multiple_of"}, 256));
  const std::int64_t units = (narrowed + unit - 1) / unit;
  return static_cast<double>(units * unit);
}

// The width of a dense layer; GPT-like classes take four times the hidden width where none is given. Qwen's first
// class counts gate and up together. 0: the configuration does not tell.
double dense_width(const Shape& s) {
  const bool both = any_architecture(s.m, {"QWenLMHead"});
  return s.number({"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "ff_intermediate_size"},
                  any_architecture(s.m, {"GPT"}) ? integer::bounded_times(4, s.m.hidden_size) : 0) /
         (both ? 2 : 1);
}

// Layers of their own widths each, or a width under a name that is not known: nothing to count by.
bool width_untold(const Shape& s) {
  if (s.text.find("block_configs") != nullptr) return true;
  return routed_experts(s.m) == 0 && dense_width(s) <= 0;
}

void add_dense(const Shape& s, Layer& l, double width, bool gated) {
  l.dense += (gated ? 3 : 2) * s.hidden * width;
  l.down += s.hidden * width;
}

// Of a layer's parameters those that the checkpoint leaves as they are, of the ones that a quantiser would touch.
struct LeftPlain {
  double attention = 0;
  double dense = 0;
  double copied = 0;
  double experts = 0;
};

LeftPlain left_plain(const Layer& l, const PlainParts& parts, bool latent) {
  LeftPlain out;
  if (latent && parts.queries && parts.output) {
    out.attention = l.attention;
    out.copied = l.copied;
  }
  if (l.output > 0) out.attention = (parts.queries ? l.attention - l.output : 0) + (parts.output ? l.output : 0);
  if (l.down > 0) out.dense = (parts.gate_and_up ? l.dense - l.down : 0) + (parts.down ? l.down : 0);
  if (parts.experts) out.experts = l.experts;
  return out;
}

void add_experts(const Shape& s, Layer& l, bool gated, const WeightSplit& split) {
  const double count = static_cast<double>(routed_experts(s.m) + split.extra_experts);
  const double width = s.number({"moe_intermediate_size", "intermediate_size"});
  const double sides = gated ? 3 : 2;
  // Experts of Nemotron-H and Kimi-K3 stand between two projections that every rank holds.
  const double latent = s.number({"moe_latent_size", "routed_expert_hidden_size"});
  l.experts += count * sides * (latent > 0 ? latent : s.hidden) * width;
  l.copied += 2 * s.hidden * latent;
  l.plain += count * s.hidden;
  double shared =
      s.number({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"});
  if (shared == 0) shared = s.number({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"}) * width;
  if (any_architecture(s.m, {"Llama4"})) shared = width;
  l.dense += sides * s.hidden * shared;
}

bool gated_mlp(const ModelFacts& m) {
  // Two matrices a layer: BERT-like encoders, GPT-like models, and those with another activation than a gated one.
  return !any_architecture(m, {"Bert", "XLMRoberta", "Roberta", "NemotronH", "PhiForCausalLM", "GPT", "OPT", "Whisper",
                               "Starcoder2", "Arcee", "Apertus", "Persimmon", "FalconForCausalLM"});
}

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
ExpertLayers expert_layers(const Shape& s, std::int64_t layers) {
  const auto number = [&](std::string_view key, std::int64_t missing) { return integer(s.text, {key}, missing); };
  if (any_architecture(
          s.m, {"Qwen2MoeFor", "Qwen3MoeFor", "Qwen3VLMoe", "Qwen3Next", "Qwen3_5Moe", "MixtralFor", "Olmoe",
                "GraniteMoe", "MiniMaxM2", "GptOss", "PhiMoE", "Phimoe", "HunYuanMoE", "Gemma4", "DeepseekV4"})) {
    return {};
  }
  if (any_architecture(s.m, {"Glm4Moe", "Glm4vMoe", "LLaDA2", "BailingMoe", "HYV3"})) {
    return {.first = number("first_k_dense_replace", 0)};
  }
  if (any_architecture(s.m, {"Deepseek", "Kimi", "MistralLarge3"})) {
    return {.first = number("first_k_dense_replace", 0), .every = number("moe_layer_freq", 1)};
  }
  if (any_architecture(s.m, {"Llama4"})) return {.every = number("interleave_moe_layer_step", 1), .origin = -1};
  if (any_architecture(s.m, {"Ernie4_5_Moe"})) {
    const std::int64_t first = number("moe_layer_start_index", layers);
    return {.first = first,
            .last = number("moe_layer_end_index", layers - 1),
            .every = number("moe_layer_interval", 1),
            .origin = first};
  }
  return {.first = integer(s.text, {"first_k_dense_replace", "moe_layer_start_index"}),
          .every = std::max<std::int64_t>(
              1, integer(s.text, {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"}, 1)),
          .origin = -1,
          .dense = s.text.find("mlp_only_layers")};
}

// The configuration is asked once for all layers.
std::vector<bool> layers_with_experts(const Shape& s, std::int64_t layers) {
  std::vector<bool> out(static_cast<std::size_t>(layers), false);
  if (routed_experts(s.m) == 0) return out;
  const ExpertLayers told = expert_layers(s, layers);
  for (std::int64_t layer = 0; layer < layers; ++layer) out[static_cast<std::size_t>(layer)] = told.hold(layer);
  return out;
}

// Nemotron-H writes its layers as letters: M Mamba, * attention, - dense, E experts.
std::string layer_letters(const Shape& s) {
  const Value* pattern = s.text.find("hybrid_override_pattern");
  if (pattern != nullptr && pattern->is_string()) return pattern->as_string();
  // The configuration class of later transformers spells the letters out.
  const Value* types = s.text.find("layers_block_type");
  if (types == nullptr || !types->is_list() || !any_architecture(s.m, {"NemotronH"})) return {};
  std::string letters;
  for (const Value& type : types->as_list()) {
    letters += type == Value("mamba") ? 'M' : type == Value("attention") ? '*' : type == Value("moe") ? 'E' : '-';
  }
  return letters;
}

// Which layers attend linearly, or by a state of their own; the configuration is asked once for all of them.
std::vector<bool> linear_layers(const Shape& s, std::int64_t layers) {
  std::vector<bool> out(static_cast<std::size_t>(layers), false);
  const auto fill = [&](const auto& is_linear) {
    for (std::int64_t layer = 0; layer < layers; ++layer) out[static_cast<std::size_t>(layer)] = is_linear(layer);
  };
  const Value* types = s.text.find("layer_types");
  if (const Value* kimi = s.text.find("linear_attn_config"); kimi != nullptr && kimi->is_dict()) {
    const Value* list = kimi->find("kda_layers");  // counted from 1
    fill([&](std::int64_t layer) { return holds(list, layer + 1); });
  } else if (any_architecture(s.m, {"Qwen3Next", "Qwen3_5"})) {
    const std::int64_t interval = integer(s.text, {"full_attention_interval"}, 4);
    fill([&](std::int64_t layer) { return interval > 0 && (layer + 1) % interval != 0; });
  } else if (types != nullptr && types->is_list()) {
    const auto& list = types->as_list();
    fill([&](std::int64_t layer) {
      if (layer >= static_cast<std::int64_t>(list.size())) return false;
      const Value& type = list[static_cast<std::size_t>(layer)];
      return type == Value("mamba") || type == Value("linear_attention") || type == Value("conv");
    });
  }
  return out;
}

// Layers by what they are made of. Most of a model's are alike: each kind is counted once.
class Layers {
 public:
  Layers(const Shape& s, std::int64_t layers, const WeightSplit& split)
      : s_(s),
        split_(split),
        letters_(layer_letters(s)),
        linear_(linear_layers(s, layers)),
        experts_(layers_with_experts(s, layers)) {}

  const Layer& at(std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    const auto& window = s_.m.swa_layer_ids;
    const bool windowed = std::find(window.begin(), window.end(), index) != window.end();
    const char letter = i < letters_.size() ? letters_[i] : '\0';
    // Layers of compressed attention differ one by one.
    const std::int64_t own = compressed_ ? index : 0;
    const Key key{letter, linear_[i], experts_[i], windowed, own};
    const auto [it, is_new] = known_.try_emplace(key);
    if (is_new) it->second = letter != '\0' ? lettered(letter, index) : layer_of(index);
    return it->second;
  }

 private:
  using Key = std::tuple<char, bool, bool, bool, std::int64_t>;

  [[nodiscard]] Layer lettered(char letter, std::int64_t index) const {
    Layer l;
    switch (letter) {
      case 'M':
        add_mamba2(s_, l);
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

  [[nodiscard]] Layer layer_of(std::int64_t index) const {
    Layer l;
    add_mixing(l, index);
    if (experts_[static_cast<std::size_t>(index)]) {
      add_experts(s_, l, gated_, split_);
      // Gemma 4 runs a dense layer beside its experts.
      if (any_architecture(s_.m, {"Gemma4"})) add_dense(s_, l, width_, gated_);
    } else if (any_architecture(s_.m, {"Lfm2"})) {
      add_dense(s_, l, lfm2_width(s_), true);
    } else {
      add_dense(s_, l, s_.number({"intermediate_size_mlp"}, whole(width_)), gated_);
    }
    return l;
  }

  // Attention, or what stands in its place.
  void add_mixing(Layer& l, std::int64_t index) const {
    const bool linear = linear_[static_cast<std::size_t>(index)];
    const bool parallel = any_architecture(s_.m, {"FalconH1"});  // Mamba and attention side by side
    if (parallel || (linear && any_architecture(s_.m, {"Granite"}))) {
      add_mamba2(s_, l);
    } else if (linear && any_architecture(s_.m, {"KimiLinear"})) {
      add_kimi_delta(s_, l);
    } else if (linear && any_architecture(s_.m, {"Lfm2"})) {
      add_short_conv(s_, l);
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

  const Shape& s_;
  const WeightSplit& split_;
  std::string letters_;
  std::vector<bool> linear_;
  std::vector<bool> experts_;
  bool gated_ = gated_mlp(s_.m);
  double width_ = dense_width(s_);
  bool compressed_ = any_architecture(s_.m, {"DeepseekV4"});
  std::map<Key, Layer> known_;
};

// With attention data parallelism, tables are cut by attention's ranks; these models keep them whole instead
// (enable_tp=not is_dp_attention_enabled()).
bool whole_table(const ModelFacts& m) {
  return any_architecture(m, {"Qwen3_5", "Ernie4_5_VL", "ExaoneMoE", "Step3p5", "DeepseekV4", "SarvamMoE"});
}

// Scaled tables that are plain ones of torch, which no parallelism cuts.
bool plain_table(const ModelFacts& m) { return any_architecture(m, {"Gemma3", "Gemma4", "EmbeddingGemma"}); }

// SGLang rounds a vocabulary up to whole blocks before it cuts the table.
double rows_of_table(const ModelFacts& m) {
  constexpr std::int64_t kBlock = 64;
  return std::ceil(static_cast<double>(m.vocab_size) / kBlock) * kBlock;
}

// Classes whose parameters on a rank were recorded (tests/parity/weights) and are counted to half a percent: dense
// ones, and ones with experts. What is counted of others is an approximation, however much of it is known.
constexpr std::array<std::string_view, 32> kCountedDense = {"ApertusForCausalLM",
                                                            "ArceeForCausalLM",
                                                            "ChatGLMModel",
                                                            "CohereForCausalLM",
                                                            "ExaoneForCausalLM",
                                                            "GPTJForCausalLM",
                                                            "Gemma2ForCausalLM",
                                                            "Gemma3ForCausalLM",
                                                            "Gemma3ForConditionalGeneration",
                                                            "Gemma4ForConditionalGeneration",
                                                            "GemmaForCausalLM",
                                                            "Glm4ForCausalLM",
                                                            "HunYuanDenseV1ForCausalLM",
                                                            "LlamaForCausalLM",
                                                            "LlamaForSequenceClassification",
                                                            "Ministral3ForCausalLM",
                                                            "MistralForCausalLM",
                                                            "MistralModel",
                                                            "NemotronHForCausalLM",
                                                            "Olmo2ForCausalLM",
                                                            "OlmoForCausalLM",
                                                            "Phi3ForCausalLM",
                                                            "Qwen2ForCausalLM",
                                                            "Qwen2ForSequenceClassification",
                                                            "Qwen2VLForConditionalGeneration",
                                                            "Qwen2_5_VLForConditionalGeneration",
                                                            "Qwen3ForCausalLM",
                                                            "Qwen3VLForConditionalGeneration",
                                                            "Qwen3_5ForConditionalGeneration",
                                                            "SDARForCausalLM",
                                                            "StableLmForCausalLM",
                                                            "Starcoder2ForCausalLM"};
constexpr std::array<std::string_view, 22> kCountedExperts = {"DeepseekV2ForCausalLM",
                                                              "DeepseekV32ForCausalLM",
                                                              "DeepseekV3ForCausalLM",
                                                              "DeepseekV4ForCausalLM",
                                                              "Ernie4_5_MoeForCausalLM",
                                                              "Gemma4ForConditionalGeneration",
                                                              "Glm4MoeForCausalLM",
                                                              "Glm4MoeLiteForCausalLM",
                                                              "Glm4vMoeForConditionalGeneration",
                                                              "GraniteMoeSharedForCausalLM",
                                                              "HunYuanMoEV1ForCausalLM",
                                                              "KimiLinearForCausalLM",
                                                              "Llama4ForConditionalGeneration",
                                                              "MiniMaxM2ForCausalLM",
                                                              "MistralLarge3ForCausalLM",
                                                              "MixtralForCausalLM",
                                                              "NemotronHForCausalLM",
                                                              "NemotronHPuzzleForCausalLM",
                                                              "Qwen2MoeForCausalLM",
                                                              "Qwen3MoeForCausalLM",
                                                              "Qwen3VLMoeForConditionalGeneration",
                                                              "Qwen3_5MoeForConditionalGeneration"};

bool is_counted(const ModelFacts& m) {
  const auto among = [&](const auto& names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return m.has_architecture(name); });
  };
  const bool two_widths = !m.is_mla() && m.v_head_dim > 0 && m.v_head_dim != m.head_dim;  // not every class looks
  return !two_widths && (routed_experts(m) > 0 ? among(kCountedExperts) : among(kCountedDense));
}

}  // namespace

std::int64_t ranks_of_attention(const ModelFacts& model, const WeightSplit& split) {
  return std::max<std::int64_t>(1, cuts_attention_over_all_ranks(model) ? split.tp : split.attention_tp);
}

// A class that builds its table on every pipeline stage; the others leave it to the first.
bool table_on_every_stage(const ModelFacts& m) { return any_architecture(m, {"MiniMaxM2"}); }

std::int64_t ranks_of_table(const ModelFacts& model, const WeightSplit& split) {
  const bool dp_attention = split.attention_tp < split.tp;
  if (plain_table(model) || (dp_attention && whole_table(model))) return 1;
  // Of those whose attention asks for all ranks, these ask for attention's where the table is concerned.
  const bool over_all =
      cuts_attention_over_all_ranks(model) &&
      !language_class_starts_with(
          model, {"Qwen2", "Glm4For", "Glm4vFor", "GlmOcr", "GlmImage", "DotsOCR", "LlavaQwen", "LocateAnything",
                  "MiDashengLM", "MiMoFor", "MiMoV2ASR", "MiniCPMO", "NVILA", "Nanbeige", "POINTSV15"});
  return std::max<std::int64_t>(1, over_all ? split.tp : split.attention_tp);
}

TableBytes table_bytes(const ModelFacts& model, const WeightSplit& split) {
  const double head = any_architecture(model, {"FalconH1"}) ? 2.0 : 1.0;  // in 32 bits
  const double table = rows_of_table(model) * static_cast<double>(model.hidden_size);
  const ElementSizes sizes = element_sizes(model);
  const auto over = [&](double size, std::int64_t ranks) {
    return table * size / static_cast<double>(std::max<std::int64_t>(1, ranks));
  };
  const double of_head = is_tied(model) ? sizes.plain : sizes.head;
  return {.table = over(sizes.plain, ranks_of_table(model, split)),
          .head = head * over(of_head, ranks_of_head(model, split))};
}

namespace {

// Layers of a shape that is not modelled here.
bool is_of_another_shape(const ModelFacts& m) {
  return any_architecture(
             m, {"Lfm2Moe", "Lfm2Vl", "Mamba", "FalconMamba", "Zaya", "BailingMoe", "MiniMaxM1", "Gemma3n"}) ||
         (any_architecture(m, {"Gemma4"}) && integer(m.hf_text_config, {"hidden_size_per_layer_input"}) > 0);
}

double at_least_one_rank(std::int64_t ranks) { return static_cast<double>(std::max<std::int64_t>(1, ranks)); }

// What is counted of a model, and of it on a rank of each pipeline stage.
class Tally {
 public:
  explicit Tally(std::size_t stages) : stages_(stages, 0.0) {}

  // So many parameters of so many bytes each, cut over the ranks of one stage.
  void add(std::size_t stage, double count, double size, double ranks) {
    add_to_model(count, count * size);
    stages_[stage] += count * size / ranks;
  }
  void add_to_model(double count, double bytes) {
    parameters_ += count;
    bytes_ += bytes;
  }
  void add_to_stage(std::size_t stage, double bytes) { stages_[stage] += bytes; }
  [[nodiscard]] std::size_t stages() const { return stages_.size(); }
  [[nodiscard]] double stage(std::size_t i) const { return stages_[i]; }
  [[nodiscard]] double bytes() const { return bytes_; }
  [[nodiscard]] double parameters() const { return parameters_; }
  [[nodiscard]] double largest_stage() const { return *std::ranges::max_element(stages_); }

 private:
  std::vector<double> stages_;
  double bytes_ = 0;
  double parameters_ = 0;
};

// The table stands on the first stage, the head on the last; one stage alone can share a tied table.
void add_tables(Tally& tally, const ModelFacts& model, const WeightSplit& split) {
  const double table = rows_of_table(model) * static_cast<double>(model.hidden_size);
  const double size = table * element_sizes(model).plain;
  const TableBytes on_rank = table_bytes(model, split);
  const std::size_t last = tally.stages() - 1;
  tally.add_to_model(table, size);
  for (std::size_t stage = 0; stage == 0 || (table_on_every_stage(model) && stage <= last); ++stage) {
    tally.add_to_stage(stage, on_rank.table);
  }
  if (has_no_own_head(model, split)) return;
  // One matrix of the model, however often it is built.
  tally.add_to_model(is_tied(model) ? 0.0 : table, is_tied(model) ? size : table * element_sizes(model).head);
  const bool everywhere = !shares_head(model) && head_on_every_stage(model);
  for (std::size_t stage = everywhere ? 0 : last; stage <= last; ++stage) tally.add_to_stage(stage, on_rank.head);
}

// Modules that the checkpoint quantises in a way of their own: what they take more, or less, than the others.
void add_own_sizes(Tally& tally, std::size_t stage, const PlainModules& modules, std::int64_t index, const Layer& l,
                   const Shape& s, const WeightSplit& split) {
  struct Part {
    const char* module;
    double count;
    std::int64_t ranks;
  };
  const Value& config = s.m.hf_quant_config;
  for (const Part& part : {Part{"self_attn.qkv_proj", l.output > 0 ? l.attention - l.output : 0, s.attention_ranks},
                           Part{"self_attn.o_proj", l.output, s.attention_ranks},
                           Part{"mlp.gate_up_proj", l.down > 0 ? l.dense - l.down : 0, split.tp},
                           Part{"mlp.down_proj", l.down, split.tp}}) {
    const Value* own = modules.own_settings("model.layers." + std::to_string(index) + "." + part.module);
    if (own == nullptr || part.count <= 0) continue;
    const double usual = element_sizes(s.m).linear;
    const double size = packed(integer(*own, {"bits"}, integer(config, {"bits"}, 4)),
                               integer(*own, {"group_size"}, integer(config, {"group_size"}, 128)));
    tally.add_to_model(0, part.count * (size - usual));
    tally.add_to_stage(stage, part.count * (size - usual) / at_least_one_rank(part.ranks));
  }
}

// Fewer than there are, where each has more than its part.
double ranks_of_an_expert(const Shape& s, const ElementSizes& bytes, const WeightSplit& split) {
  const double width = s.number({"moe_intermediate_size", "intermediate_size"});
  if (bytes.expert_block <= 1 || width <= 0) return at_least_one_rank(split.moe_tp);
  const double block = static_cast<double>(bytes.expert_block);
  return width / (std::ceil(width / at_least_one_rank(split.moe_tp) / block) * block);
}

void add_expert_tables(Tally& tally, std::size_t stage, const ElementSizes& bytes, const Shape& s,
                       const WeightSplit& split) {
  const double experts = static_cast<double>(routed_experts(s.m) + split.extra_experts);
  const double inner = experts * bytes.for_inner * s.number({"moe_intermediate_size", "intermediate_size"});
  const double outer = experts * bytes.for_outer * s.hidden;
  tally.add_to_model(0, inner + outer);
  tally.add_to_stage(stage, (inner / at_least_one_rank(split.moe_tp) + outer) / at_least_one_rank(split.ep));
}

// The bytes of the last layer on a rank. Modules that the configuration leaves plain are counted so, no longer exactly.
double add_layers(Tally& tally, Shape& s, const WeightSplit& split, const std::vector<std::int64_t>& counts) {
  const ElementSizes bytes = element_sizes(s.m);
  // The names are those of a class whose layers are "model.layers".
  const PlainModules modules(s.m);
  const bool named = modules.any() && !s.m.architectures.empty() && s.m.architectures.front().ends_with("ForCausalLM");
  s.exact = s.exact && modules.understood();
  Layers all(s, s.m.num_hidden_layers, split);
  double of_last = 0;
  std::int64_t index = 0;
  for (std::size_t stage = 0; stage < counts.size(); ++stage) {
    for (const std::int64_t end = index + counts[stage]; index < end; ++index) {
      const double before = tally.stage(stage);
      const Layer& l = all.at(index);
      const PlainParts parts = named ? modules.in_layer(index) : PlainParts{};
      const LeftPlain plain = left_plain(l, parts, s.m.is_mla());
      s.exact = s.exact && !parts.any();
      const double attention = at_least_one_rank(s.attention_ranks);
      tally.add(stage, plain.attention, bytes.plain, attention);
      tally.add(stage, l.attention - plain.attention, bytes.linear, attention);
      tally.add(stage, plain.copied, bytes.plain, 1);
      tally.add(stage, l.copied - plain.copied, bytes.linear, 1);
      tally.add(stage, l.plain, bytes.plain, 1);
      const bool uncut = split.whole_dense && l.experts == 0 && routed_experts(s.m) > 0;
      const double dense = uncut ? 1 : at_least_one_rank(split.tp);
      tally.add(stage, plain.dense, bytes.plain, dense);
      tally.add(stage, l.dense - plain.dense, bytes.linear, dense);
      const double experts = ranks_of_an_expert(s, bytes, split) * at_least_one_rank(split.ep);
      tally.add(stage, plain.experts, bytes.plain, experts);
      tally.add(stage, l.experts - plain.experts, bytes.experts, experts);
      if (l.experts > plain.experts) add_expert_tables(tally, stage, bytes, s, split);
      add_own_sizes(tally, stage, modules, index, l, s, split);
      of_last = tally.stage(stage) - before;
    }
  }
  return of_last;
}

// What a multimodal model has beside its language part, on every stage; its bytes.
double add_encoders(Tally& tally, const ModelFacts& model, const WeightSplit& split) {
  const VisionWeights vision = vision_weights(model);
  const double count = vision.cut + vision.whole + vision.over_all;
  if (count <= 0) return 0;
  const double plain = element_sizes(model).plain;
  const double rank = vision.whole + vision.cut / (split.whole_encoder ? 1 : at_least_one_rank(split.attention_tp)) +
                      vision.over_all / (split.whole_encoder ? 1 : at_least_one_rank(split.tp));
  tally.add_to_model(count, count * plain);
  for (std::size_t stage = 0; stage < tally.stages(); ++stage) tally.add_to_stage(stage, rank * plain);
  return count * plain;
}

}  // namespace

std::optional<WeightEstimate> estimate_weights(const ModelFacts& model, const WeightSplit& split) {
  Shape s{.m = model,
          .text = model.hf_text_config,
          .hidden = static_cast<double>(model.hidden_size),
          .attention_ranks = ranks_of_attention(model, split)};
  if (model.hidden_size <= 0 || model.num_hidden_layers <= 0 || model.num_attention_heads <= 0 ||
      !model.hf_text_config.is_dict() || is_of_another_shape(model) || width_untold(s)) {
    return std::nullopt;
  }
  s.exact = element_sizes(model).exact && is_counted(model) && (routed_experts(model) > 0 || dense_width(s) > 0);
  const std::vector<std::int64_t> counts = layers_of_stages(model.num_hidden_layers, split);
  Tally tally(counts.size());
  add_tables(tally, model, split);
  WeightEstimate e;
  e.layer_bytes = whole(add_layers(tally, s, split, counts));
  const double encoders = add_encoders(tally, model, split);
  e.parameters = whole(tally.parameters());
  e.total_bytes = whole(tally.bytes());
  e.per_rank_bytes = whole(tally.largest_stage());
  e.exact = s.exact && (encoders <= 0 || encoders < 0.05 * tally.bytes());
  return e;
}

std::vector<std::int64_t> layers_of_stages(std::int64_t layers, const WeightSplit& split) {
  const std::int64_t stages = std::clamp<std::int64_t>(split.pp, 1, std::max<std::int64_t>(1, layers));
  std::int64_t given = 0;
  for (const std::int64_t n : split.stages) given += n;
  if (given == layers && static_cast<std::int64_t>(split.stages.size()) == stages) return split.stages;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = stages - layers % stages; i < stages; ++i) ++counts[static_cast<std::size_t>(i)];
  return counts;
}

}  // namespace preflight::plan
