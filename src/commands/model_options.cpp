// Facts by option become a config.json of the plainest architecture of their kind, so that they go the same way as a
// model's own. What is not given stays unknown: a neutral value stands in for it, rules that depend on it are not
// decided (commands/check.cpp), and the report says so.
#include "src/commands/model_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "src/commands/launch_input.h"
#include "src/read_text.h"

namespace preflight::commands {
namespace {

enum class Kind { kInteger, kNumber, kText };

struct FactName {
  std::string_view name;
  std::string_view key;  // in config.json
  Kind kind;
  std::string_view meaning;
};

constexpr std::array kFacts = {
    FactName{"num_q_heads", "num_attention_heads", Kind::kInteger, "query heads over all ranks"},
    FactName{"num_kv_heads", "num_key_value_heads", Kind::kInteger, "KV heads over all ranks (not MLA)"},
    FactName{"head_dim", "head_dim", Kind::kInteger, "width of a query/key head (not MLA)"},
    FactName{"head_dim_v", "v_head_dim", Kind::kInteger, "width of a value head"},
    FactName{"kv_lora_rank", "kv_lora_rank", Kind::kInteger, "MLA latent width"},
    FactName{"qk_rope_head_dim", "qk_rope_head_dim", Kind::kInteger, "MLA rotary width"},
    FactName{"qk_nope_head_dim", "qk_nope_head_dim", Kind::kInteger, "MLA width without rotary"},
    FactName{"hidden_size", "hidden_size", Kind::kInteger, "model width"},
    FactName{"num_layers", "num_hidden_layers", Kind::kInteger, "transformer layers"},
    FactName{"vocab_size", "vocab_size", Kind::kInteger, "vocabulary"},
    FactName{"context_length", "max_position_embeddings", Kind::kInteger, "longest sequence, tokens"},
    FactName{"window", "sliding_window", Kind::kInteger, "sliding window, tokens"},
    FactName{"softcap", "attn_logit_softcapping", Kind::kNumber, "attention logit soft cap"},
    FactName{"dtype", "torch_dtype", Kind::kText, "bfloat16, float16 or float32"},
};

Result<Value> fact_value(const FactName& fact, const std::string& text) {
  if (fact.kind == Kind::kText) return Value(text);
  std::int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (const auto [p, e] = std::from_chars(text.data(), end, integer); e == std::errc{} && p == end) {
    constexpr std::int64_t kMax = std::int64_t{1} << 40;
    if (integer > 0 && integer < kMax) return Value(integer);
  } else if (fact.kind == Kind::kNumber) {
    double number = 0.0;
    if (const auto [q, f] = std::from_chars(text.data(), end, number); f == std::errc{} && q == end && number > 0) {
      return Value(number);
    }
  }
  return failure(fmt::format("--fact {}={}: expected a positive {}", fact.name, text,
                             fact.kind == Kind::kInteger ? "whole number" : "number"));
}

Result<Value> read_config(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return tl::make_unexpected(text.error());
  auto value = Value::parse_json(*text);
  if (!value) return failure(value.error().message, path);
  if (!value->is_dict()) return failure("a model configuration is a JSON object", path);
  return value;
}

// Neutral stand-ins: they divide by any usual tp, and no width rule fires on them.
Value plain_config(bool mla) {
  Value::Dict d = {{"architectures", Value::list({mla ? "DeepseekV2ForCausalLM" : "LlamaForCausalLM"})},
                   {"model_type", mla ? "deepseek_v2" : "llama"},
                   {"num_attention_heads", 128},
                   {"num_key_value_heads", 128},
                   {"hidden_size", 4096},
                   {"num_hidden_layers", 32},
                   {"vocab_size", 32000},
                   {"intermediate_size", 16384},
                   {"max_position_embeddings", 131072},
                   {"torch_dtype", "bfloat16"}};
  if (mla) {
    for (auto& [k, v] : Value::Dict{{"kv_lora_rank", 512},
                                    {"qk_rope_head_dim", 64},
                                    {"qk_nope_head_dim", 128},
                                    {"v_head_dim", 128},
                                    {"q_lora_rank", Value()},
                                    {"n_routed_experts", 64}}) {
      d.emplace_back(k, v);
    }
  } else {
    d.emplace_back("head_dim", 128);
  }
  return Value::dict(std::move(d));
}

Result<ModelOptions> by_facts(const LaunchInput& input) {
  ModelOptions out;
  out.given_by_option = true;
  const bool mla = input.mla.value_or(input.facts.contains("kv_lora_rank"));
  Value config = plain_config(mla);
  for (const auto& [name, text] : input.facts) {
    const auto* fact = std::ranges::find(kFacts, name, &FactName::name);
    if (fact == kFacts.end()) {
      std::string known;
      for (const auto& f : kFacts) known += (known.empty() ? "" : ", ") + std::string(f.name);
      return failure(fmt::format("--fact {}: not a known fact; known are {}", name, known));
    }
    auto value = fact_value(*fact, text);
    if (!value) return tl::make_unexpected(value.error());
    config = config.with(fact->key, std::move(*value));
  }
  if (!mla && !input.facts.contains("num_kv_heads") && input.facts.contains("num_q_heads")) {
    config = config.with("num_key_value_heads", *config.find("num_attention_heads"));
  }
  for (const std::string_view name :
       {"num_q_heads", "num_kv_heads", "head_dim", "kv_lora_rank", "num_layers", "context_length", "dtype"}) {
    const bool applies = mla ? name != "num_kv_heads" && name != "head_dim" : name != "kv_lora_rank";
    if (applies && !input.facts.contains(std::string(name))) out.assumed.emplace_back(name);
  }
  out.source = std::make_shared<facts::ModelFiles>(facts::KnownModels::kYes);
  out.config = std::move(config);
  return out;
}

}  // namespace

Result<ModelOptions> make_model_source(const LaunchInput& input) {
  if (!input.model_config.empty()) {
    if (input.mla || !input.facts.empty()) {
      return failure("--model-config and --mla/--fact describe the model twice; give one of them");
    }
    auto config = read_config(input.model_config);
    if (!config) return tl::make_unexpected(config.error());
    ModelOptions out;
    out.given_by_option = true;
    out.source = std::make_shared<facts::ModelFiles>(facts::KnownModels::kYes);
    out.config = std::move(*config);
    return out;
  }
  if (input.mla || !input.facts.empty()) return by_facts(input);
  ModelOptions out;
  out.source = std::make_shared<facts::ModelFiles>(facts::KnownModels::kYes);
  return out;
}

std::vector<std::pair<std::string_view, std::string_view>> fact_names() {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const auto& f : kFacts) out.emplace_back(f.name, f.meaning);
  return out;
}

}  // namespace preflight::commands
