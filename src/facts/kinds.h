// Kinds of models, told by architecture as SGLang tells them, and what their configuration says about experts, heads of
// linear attention, and quantisation. In the namespace of ModelFacts, of which they are the questions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "preflight/facts.h"

namespace preflight {

// What the layers of a model keep for a running request beside keys and values.
enum class RecurrentState {
  kNone,
  kGatedDelta,        // Qwen3-Next, Qwen3.5, Qwen4 (experimental), Jet
  kKimiDelta,         // Kimi-Linear, Bailing hybrids that say so, GLM-5-Next
  kMamba2,            // Nemotron-H, Falcon-H1, Granite hybrids with a Mamba layer
  kShortConvolution,  // LFM2
  kLightning,         // the other Bailing hybrids, MiniCPM-SALA
  kOther,             // Zaya, Inkling
  kOnlyState,         // Mamba without attention layers
};
RecurrentState recurrent_state(const ModelFacts& m);

bool is_gdn(const ModelFacts& m);         // gated delta rule
bool is_kda(const ModelFacts& m);         // Kimi delta attention
bool is_mamba2(const ModelFacts& m);      //
bool is_hybrid(const ModelFacts& m);      // a state beside a KV cache
bool is_pure_mamba(const ModelFacts& m);  // no attention layers at all
// Value heads (GDN), Mamba heads or KDA heads, 0 when none or not known.
std::int64_t linear_attention_heads(const ModelFacts& m);

// KV heads over all ranks, under whichever name the configuration has them (get_total_num_kv_heads); 0 for a model
// without attention layers. ModelFacts::num_key_value_heads is upstream's field of that name, which some models lack.
std::int64_t total_kv_heads(const ModelFacts& model);

// Whether each of `tp` ranks has whole heads of its own: query and linear-attention heads divide by them, and of
// key/value heads and ranks one divides the other (heads are repeated where ranks are more). MLA has one latent head.
bool heads_divide(const ModelFacts& model, std::int64_t tp);

// Classes whose attention asks for tensor parallelism alone (read in 0.5.23's models): it is cut over all ranks, and
// attention data parallelism copies none of it.
bool cuts_attention_over_all_ranks(const ModelFacts& m);
// The class of the language model: the checkpoint's own, or what a configuration of several models names for text.
bool language_class_starts_with(const ModelFacts& m, std::initializer_list<std::string_view> prefixes);

// DeepSeek-V3.2 and relatives: an architecture that the release reads so, whose configuration has index_topk.
bool is_deepseek_sparse(const ModelFacts& m, Release release);

struct Experts {
  std::int64_t count = 0;              // routed experts, 0 = dense model
  std::int64_t per_token = 0;          // top-k
  std::int64_t intermediate_size = 0;  // of one expert
};
Experts experts(const ModelFacts& m);
std::int64_t routed_experts(const ModelFacts& m);  // 0 when it is dense
bool has_experts(const ModelFacts& m);
// Width of one of them: the dense layers' where the configuration gives none of its own.
std::int64_t expert_width(const ModelFacts& m);
// Whether layers differ in how wide they are, or take keys and values of the layer before: they are counted as the
// first.
bool differs_by_layer(const ModelFacts& m);

// Width of the shared experts of a layer, all of them together; 0: there are none.
std::int64_t shared_experts_width(const ModelFacts& m);

// Intermediate size of the dense layers that the ranks share; 0: there are none, or the configuration does not tell.
std::int64_t dense_width(const ModelFacts& m);
// LFM2 takes two thirds of the width given, times a factor and rounded up, unless told not to; with experts, all of it.
std::int64_t lfm2_width(const ModelFacts& m);

// Quantisation of the checkpoint, by the method SGLang resolved.
bool has_quantization(const ModelFacts& m, std::string_view method);                  // "awq" also matches "awq_marlin"
std::optional<std::pair<std::int64_t, std::int64_t>> fp8_block(const ModelFacts& m);  // weight_block_size
bool is_fp8_checkpoint(const ModelFacts& m);

// The window of layers with sliding-window attention: of classes that report one, and of hybrid window pools. A
// `sliding_window` in the configuration of any other model plays no part.
std::optional<std::int64_t> sliding_window(const ModelFacts& m);

// The window as the attention backends are told, which count the tokens before one where most classes count it too; the
// local attention chunk of a model without a window. Source: get_attention_sliding_window_size() of the classes,
// resolve_sliding_window_size() in model_executor/model_runner_components/load_model_utils.py (0.5.23).
std::optional<std::int64_t> told_window(const ModelFacts& m);

// That window as it is configured, or the local attention chunk.
std::optional<std::int64_t> runtime_window(const ModelFacts& m);

// hidden_act under whichever name the configuration uses.
std::string activation(const ModelFacts& m);

// Head size of the vision tower, 0 when not known.
std::int64_t vision_head_dim(const ModelFacts& m);

// An int of the text configuration, else of the root; fallback when neither has it.
std::int64_t config_int(const ModelFacts& m, std::string_view key, std::int64_t fallback = 0);

}  // namespace preflight
