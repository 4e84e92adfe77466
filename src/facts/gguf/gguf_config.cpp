// Source: transformers/modeling_gguf_pytorch_utils.py and integrations/gguf (from 5.19), with the key tables of
// configs/transformers; sglang/srt/utils/hf_transformers/config.py. Tested by tests/facts_gguf_test.cpp.
#include "src/facts/gguf/gguf_config.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "src/facts/gguf/gguf_file.h"
#include "src/facts/transformers/model_builder.h"
#include "src/base/text.h"
#include "src/base/replaced.h"

namespace preflight::facts {
namespace {

constexpr Release kOwnReader = v0_5(22);  // with transformers 5.19
constexpr Release kBesideFrom = v0_5(18);

// A list of one entry counts as the entry.
Value flat(const Value& value) {
  return value.is_list() && value.as_list().size() == 1 ? value.as_list().front() : value;
}

class Converter {
 public:
  Converter(const ConfigTables& tables, const GgufFile& file, std::string_view frame)
      : tables_(tables), file_(file), frame_(frame) {}

  Value convert() {
    const Value* named = file_.metadata.find("general.architecture");
    if (named == nullptr) {
      require_package_reads();
      raise(RF::kOther, "IndexError", frame_, "the file names no general.architecture");
    }
    if (!flat(*named).is_string()) raise(RF::kOther, "TypeError", frame_, "general.architecture is no text");
    written_ = flat(*named).as_string();
    if (tables_.release() >= kOwnReader && (written_ == "qwen35" || written_ == "qwen35moe")) return qwen35();
    require_package_reads();
    name_architecture();
    const Value* defaults = tables_.setting("gguf_defaults").find(architecture_);
    if (keys_of(written_) == nullptr && keys_of(architecture_) == nullptr) {
      raise(RF::kUnknownArchitecture, "ValueError", frame_,
            fmt::format("transformers cannot read GGUF files of the architecture {}", written_));
    }
    const bool output = std::ranges::binary_search(file_.tensors, "output.weight");
    set("tie_word_embeddings", !output || written_ == "falcon" || written_ == "bloom");
    if (defaults != nullptr) {
      for (const auto& [key, value] : defaults->as_dict()) {
        if (config_.find(key) == nullptr) set(key, value);
      }
    }
    for (const auto& [key, value] : file_.metadata.as_dict()) take(key, flat(value));
    adjust();
    if (const auto tokens = file_.texts.find("tokenizer.ggml.tokens");
        config_.find("vocab_size") == nullptr && tokens != file_.texts.end()) {
      set("vocab_size", static_cast<std::int64_t>(tokens->second));
    }
    return config_;
  }

 private:
  // The package takes a view of every tensor's data, wanted or not.
  void require_package_reads() const {
    if (!file_.repeated.empty())
      raise(RF::kOther, "KeyError", frame_, "the file has the key " + file_.repeated + " twice");
    if (!file_.damage.empty()) raise(RF::kOther, "ValueError", frame_, "the GGUF file is damaged: " + file_.damage);
  }
  void set(std::string_view key, Value value) { config_ = std::move(config_).with(key, std::move(value)); }
  [[nodiscard]] const Value* keys_of(const std::string& architecture) const {
    return tables_.setting("gguf_keys").find(architecture);
  }
  [[nodiscard]] bool any_tensor(std::string_view part) const {
    return std::any_of(file_.tensors.begin(), file_.tensors.end(),
                       [&](const std::string& name) { return name.find(part) != std::string::npos; });
  }

  // llama.cpp's name of the architecture to transformers' model type.
  void name_architecture() {
    const Value* stored = file_.metadata.find("general.name");
    const std::string name = stored != nullptr && flat(*stored).is_string() ? flat(*stored).as_string() : "";
    architecture_ = written_;
    if (contains(written_, "llama") && name == "mistral") {
      architecture_ = "mistral";
    } else if (contains(written_, "t5")) {
      set("is_gated_act", true);
      architecture_ = contains(ascii_lower(name), "umt5") ? "umt5" : "t5";
      if (contains(written_, "t5encoder")) {
        set("architectures", Value::list({architecture_ == "t5" ? "T5EncoderModel" : "UMT5EncoderModel"}));
      }
    }
    if (contains(written_, "qwen2moe")) {
      architecture_ = "qwen2_moe";
    } else if (contains(written_, "gpt_oss") || contains(written_, "gpt-oss")) {
      architecture_ = "gpt_oss";
    } else if (contains(written_, "qwen3moe")) {
      architecture_ = "qwen3_moe";
    } else if (contains(written_, "minimax-m2")) {
      architecture_ = "minimax_m2";
    }
    if (contains(written_, "stablelm")) {
      set("use_qkv_bias", any_tensor("attn_q.bias") || any_tensor("attn_k.bias") || any_tensor("attn_v.bias"));
      set("use_parallel_residual", !any_tensor("ffn_norm"));
    }
  }

  void take(const std::string& written_key, Value value) {
    const std::string key = replaced(written_key, written_, architecture_);
    const auto point = key.find('.');
    const Value* names = keys_of(key.substr(0, point));
    if (names == nullptr || point == std::string::npos) return;
    const Value* name = names->find(key.substr(point + 1));
    if (name == nullptr || !name->is_string()) return;
    if (value.is_string()) value = replaced(value.as_string(), written_, architecture_);
    set(name->as_string(), std::move(value));
  }

  void adjust() {
    const Value type = config_.find("model_type") == nullptr ? Value() : *config_.find("model_type");
    if (type == Value("gemma3")) set("model_type", "gemma3_text");
    if (type == Value("gemma4")) {  // the file holds the text part, and one of the three tokens that end a turn
      set("model_type", "gemma4_text");
      set("eos_token_id", Value::list({1, 106, 50}));
    }
    if (type == Value("minimax_m2")) {
      if (const Value* gate = config_.find("scoring_func"); gate != nullptr && gate->is_int()) {
        set("scoring_func", *gate == Value(0) ? "none" : *gate == Value(2) ? "sigmoid" : "softmax");
      }
    }
    if (type == Value("lfm2")) attention_layers_of_lfm2();
    // The text's length field is taken for the text, and no configuration takes that.
    if (architecture_ == "gpt_oss" && file_.metadata.find("gpt-oss.rope.scaling.type") != nullptr) {
      raise(RF::kOther, "TypeError", tables_.release() >= v0_5(14) ? "parse" : "patched",
            "transformers cannot read the file's rope.scaling.type");
    }
  }

  // Heads by layer, 0 where a layer is a convolution.
  void attention_layers_of_lfm2() {
    const Value* heads = config_.find("num_key_value_heads");
    if (heads == nullptr) raise(RF::kOther, "KeyError", frame_, "the file has no lfm2.attention.head_count_kv");
    if (!heads->is_list()) raise(RF::kOther, "TypeError", frame_, "lfm2.attention.head_count_kv is no list");
    Value::List full;
    Value most;
    for (std::size_t i = 0; i < heads->as_list().size(); ++i) {
      const Value& n = heads->as_list()[i];
      if (most.is_none() || n.as_number() > most.as_number()) most = n;
      if (n.as_number() > 0) full.emplace_back(static_cast<std::int64_t>(i));
    }
    if (most.is_none()) raise(RF::kOther, "ValueError", frame_, "lfm2.attention.head_count_kv is empty");
    set("num_key_value_heads", most);
    set("block_auto_adjust_ff_dim", false);
    set("full_attn_idxs", Value::list(std::move(full)));
  }

  [[nodiscard]] Value need(std::string_view name) const {
    const std::string key = fmt::format("{}.{}", written_, name);
    const Value* value = file_.metadata.find(key);
    if (value == nullptr) raise(RF::kOther, "KeyError", frame_, "the file has no " + key);
    return *value;
  }
  [[nodiscard]] Value optional(const std::string& key) const {
    const Value* value = file_.metadata.find(key);
    return value == nullptr ? Value() : *value;
  }

  Value qwen35() {
    const bool sparse = written_ == "qwen35moe";
    const Value value_heads = need("ssm.time_step_rank");
    const Value inner = need("ssm.inner_size");
    if (value_heads == Value(0)) raise(RF::kOther, "ZeroDivisionError", frame_, "ssm.time_step_rank is 0");
    const Value mtp = optional(written_ + ".nextn_predict_layers");
    const Value tokens = [&]() -> Value {
      const auto count = file_.texts.find("tokenizer.ggml.tokens");
      if (count == file_.texts.end()) raise(RF::kOther, "KeyError", frame_, "the file has no tokenizer.ggml.tokens");
      return static_cast<std::int64_t>(count->second);
    }();
    Value::List sections;
    for (const Value& section : need("rope.dimension_sections").as_list()) {
      if (section.truthy()) sections.push_back(section);
    }
    const bool output = std::ranges::binary_search(file_.tensors, "output.weight");
    config_ = Value::dict({
        {"model_type", sparse ? "qwen3_5_moe_text" : "qwen3_5_text"},
        {"architectures", Value::list({sparse ? "Qwen3_5MoeForCausalLM" : "Qwen3_5ForCausalLM"})},
        {"max_position_embeddings", need("context_length")},
        {"hidden_size", need("embedding_length")},
        {"num_attention_heads", need("attention.head_count")},
        {"num_key_value_heads", need("attention.head_count_kv")},
        {"head_dim", need("attention.key_length")},
        {"rms_norm_eps", need("attention.layer_norm_rms_epsilon")},
        {"full_attention_interval", need("full_attention_interval")},
        {"linear_conv_kernel_dim", need("ssm.conv_kernel")},
        {"linear_key_head_dim", need("ssm.state_size")},
        {"linear_num_key_heads", need("ssm.group_count")},
        {"linear_num_value_heads", value_heads},
        {"num_hidden_layers", need("block_count").as_int() - (mtp.is_none() ? 0 : mtp.as_int())},
        {"linear_value_head_dim", inner.as_int() / value_heads.as_int()},
        {"rope_parameters", Value::dict({{"rope_theta", need("rope.freq_base")},
                                         {"mrope_section", Value::list(std::move(sections))},
                                         {"mrope_interleaved", true},
                                         {"partial_rotary_factor", need("rope.dimension_count").as_number() /
                                                                       need("attention.key_length").as_number()}})},
        {"vocab_size", tokens},
        {"tie_word_embeddings", !output},
        {"eos_token_id", optional("tokenizer.ggml.eos_token_id")},
        {"bos_token_id", optional("tokenizer.ggml.bos_token_id")},
        {"pad_token_id", optional("tokenizer.ggml.padding_token_id")},
    });
    if (const Value width = optional(written_ + ".feed_forward_length"); !width.is_none()) {
      set("intermediate_size", width);
    }
    if (sparse) {
      set("moe_intermediate_size", need("expert_feed_forward_length"));
      set("shared_expert_intermediate_size", need("expert_shared_feed_forward_length"));
      set("num_experts", need("expert_count"));
      set("num_experts_per_tok", need("expert_used_count"));
    }
    return config_;
  }

  const ConfigTables& tables_;
  const GgufFile& file_;
  std::string_view frame_;
  std::string written_;       // by llama.cpp
  std::string architecture_;  // transformers' model type
  Value config_ = Value::dict({});
};

GgufReaders readers_of(Release release) { return release >= kOwnReader ? GgufReaders::kBoth : GgufReaders::kPackage; }

}  // namespace

std::string directory_of_gguf(const std::string& path) {
  return std::filesystem::path(without_end_slashes(path)).parent_path().string();
}

GgufSource gguf_source(Release release, const std::string& path) {
  if (!is_gguf_file(path)) return GgufSource::kNone;
  if (release < kBesideFrom) return GgufSource::kHeader;
  std::error_code ignored;
  const std::string config = directory_of_gguf(path) + "/config.json";
  if (std::filesystem::is_regular_file(config, ignored)) return GgufSource::kBeside;
  const auto file = read_gguf(path, GgufReaders::kPackage);
  if (!file || !(*file)->damage.empty()) return GgufSource::kHeader;
  const Value* architecture = (*file)->metadata.find("general.architecture");
  return architecture != nullptr && *architecture == Value("muse-glimmer") ? GgufSource::kNative : GgufSource::kHeader;
}

Value config_of_gguf(const ConfigTables& tables, const std::string& path, std::string_view frame) {
  // Python's pathlib drops a slash at the end, and finds a file; whoever opens the path as given does not.
  if (path.ends_with('/')) raise(RF::kOther, "OSError", frame, path + " is not the name of a file");
  const auto file = read_gguf(path, readers_of(tables.release()));
  if (!file) raise(RF::kOther, file.error().exception, frame, file.error().message);
  return Converter(tables, **file, frame).convert();
}

void name_gguf_architecture(const ConfigTables& tables, const HfConfigPtr& config) {
  const Value type = config->get("model_type");
  const Value* name = type.is_string() ? tables.setting("causal_models").find(type.as_string()) : nullptr;
  if (name == nullptr) {
    raise(RF::kOther, "RuntimeError", "get_config",
          fmt::format("no causal model is known for the GGUF file's {}", type.repr()));
  }
  config->set("architectures", Value::list({*name}));
}

}  // namespace preflight::facts
