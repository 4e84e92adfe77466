// Facts: what the model's config.json and the device say, derived once, as plain structs.
//
// ModelFacts holds what SGLang's ModelConfig derives (names as in srt/configs/model_config.py), with the defaults
// of transformers' configuration classes filled in. Resolution steps and rules read these members only; they never
// look into JSON. A fact that cannot be known is nullopt or None, never a guess.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "preflight/fields.h"
#include "preflight/release.h"
#include "preflight/remedy.h"
#include "preflight/value.h"

namespace preflight {

// One XPU as torch reports it, and the host it sits in. Memory is the total of one device, in MiB.
struct DeviceFacts {
  std::int64_t memory_mib = 24480;
  int count = 8;
  std::string name = "Intel(R) Arc(TM) Pro B60 Graphics";
  bool has_fp64 = true;  // SGLang's XMX probe
  // What SGLang takes for the device's memory with --device cpu. nullopt: this machine's; 0: not known.
  std::optional<std::int64_t> host_memory_mib = std::nullopt;
};

// Environment variables as the launch will see them; nothing is read from the real environment unless asked.
using Environment = std::map<std::string, std::string, std::less<>>;

// A refusal as Python raises it: exception type, the SGLang function at the top of the traceback, our own words.
struct Refusal {
  std::string exception;
  std::string function;
  std::string message;
  std::string rule = {};              // our rule id, when one explains it
  std::vector<Remedy> remedies = {};  // ways out that only the place of the refusal knows, before its rule's
  std::vector<Field> names = {};      // options that its message names, in that order
  std::vector<Field> read = {};       // what the refusing step had read, the last one first
};

// A log line at WARNING or above: [level, function], with our own words for people.
struct LogLine {
  std::string level = "WARNING";
  std::string function;
  std::string message = {};
};

enum class AttentionArch { kMha, kMla, kSsm };

// A file beside config.json that describes packed weights, and the method that it is of.
struct DescribedBeside {
  std::string file;
  std::string method;
};

struct ModelFacts {
  std::string path;
  std::vector<std::string> architectures;
  std::string model_type;
  AttentionArch attention_arch = AttentionArch::kMha;

  // Attention shape of the text model. Counts are totals over all ranks.
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t swa_head_dim = 0;
  std::int64_t swa_v_head_dim = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_layers = 0;
  std::optional<std::int64_t> num_nextn_predict_layers;
  std::optional<std::int64_t> first_k_dense_replace;
  std::optional<std::int64_t> full_attention_interval;
  std::int64_t vocab_size = 0;
  std::int64_t kv_lora_rank = 0;  // MLA only, else 0
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::optional<std::int64_t> index_head_dim;  // DeepSeek sparse attention
  double scaling = 0.0;                        // softmax scale of MLA models (mscale applied); 0 = 1/sqrt(head_dim)

  std::int64_t context_len = 0;  // tokens, after --context-length and its override rule
  std::string dtype;             // "bfloat16", "float16", "float32": what --dtype auto became
  std::optional<std::string> quantization;
  Value hf_quant_config;  // quantization_config of the checkpoint, None when absent
  Value quant_config;     // the description in force (also hf_quant_config.json and ModelSlim's), None when absent

  std::optional<std::int64_t> sliding_window_size;
  std::optional<std::int64_t> attention_chunk_size;
  bool is_hybrid_swa = false;
  bool has_attention_sinks = false;
  bool is_generation = true;
  bool is_multimodal = false;
  bool is_encoder_decoder = false;
  bool is_local_attention_model = false;
  double attn_logit_softcapping = 0.0;

  bool is_draft_model = false;
  bool is_embedding_gemma = false;
  bool is_language_model_only = false;
  bool is_mrope = false;
  bool is_audio_model = false;
  bool is_image_understandable = false;
  bool is_audio_understandable = false;
  bool is_multimodal_chunked_prefill_supported = false;
  bool is_piecewise_graph_disabled = false;   // is_piecewise_cuda_graph_disabled_model
  bool is_piecewise_graph_supported = false;  // multimodal models whose language part captures
  bool is_breakable_graph_supported = false;
  bool is_hybrid_swa_compress = false;
  bool has_vision_config_dict = false;      // its class keeps the vision tower's settings as a dict, without attributes
  std::vector<std::int64_t> swa_layer_ids;  // of hybrid SWA models; both empty when not split by layer
  std::vector<std::int64_t> full_layer_ids;
  std::int64_t spec_hidden_size = 0;  // what a draft model reads per token

  // The configuration after transformers' classes filled it: for facts not yet named above. Steps ask
  // text("key") / root("key"), which return None where getattr(config, key, None) would.
  Value hf_config;
  Value hf_text_config;
  [[nodiscard]] Value root(std::string_view key) const;
  [[nodiscard]] Value text(std::string_view key) const;

  // The text part's rope_parameters before --json-model-override-args; None where the launch overrides nothing.
  Value rope_before_overrides;

  // Files beside it. Where neither it nor --quantization names a method, one that the loader reads once it is told the
  // method; and the algorithm of an hf_quant_config.json that the release makes nothing of, "" where it names none.
  std::optional<DescribedBeside> described_beside;
  std::optional<std::string> unread_algorithm;

  [[nodiscard]] bool is_mla() const { return attention_arch == AttentionArch::kMla; }
  [[nodiscard]] bool has_architecture(std::string_view name) const;
  [[nodiscard]] std::int64_t num_kv_heads_per_rank(std::int64_t tp) const;
};

}  // namespace preflight
