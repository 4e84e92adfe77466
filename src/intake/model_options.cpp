// Facts by option become a config.json of the plainest architecture of their kind, so that they go the same way as a
// model's own. What is not given stays unknown: a neutral value stands in for it, rules that depend on it are not
// decided (commands/check.cpp), and the report says so.
#include "src/intake/model_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "src/facts/absurd_model.h"
#include "src/intake/launch_input.h"
#include "src/base/read_text.h"

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
  if (fact.kind == Kind::kText) {
    if (text == "bfloat16" || text == "float16" || text == "float32") return Value(text);
    return failure(fmt::format("--fact {}={}: expected {}", fact.name, text, fact.meaning));
  }
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
  if (auto why = facts::absurd_part(*value)) return failure(std::move(*why), path);  // whatever it stands in for
  return value;
}

constexpr std::int64_t kHeads = 128;
constexpr std::int64_t kHeadDim = 128;

// Neutral stand-ins: they divide by any usual tp, and no width rule fires on them.
Value plain_config(bool mla) {
  Value::Dict d = {{"architectures", Value::list({mla ? "DeepseekV2ForCausalLM" : "LlamaForCausalLM"})},
                   {"model_type", mla ? "deepseek_v2" : "llama"},
                   {"num_attention_heads", kHeads},
                   {"num_key_value_heads", kHeads},
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
    d.emplace_back("head_dim", kHeadDim);
  }
  return Value::dict(std::move(d));
}

// `config` with the facts in it; those of a nested text model go there.
Result<Value> with_facts(const Value& config, const std::map<std::string, std::string>& facts) {
  const Value* text = config.find("text_config");
  Value inner = text != nullptr && text->is_dict() ? *text : config;
  for (const auto& [name, given] : facts) {
    const auto* fact = std::ranges::find(kFacts, name, &FactName::name);
    if (fact == kFacts.end()) {
      std::string known;
      for (const auto& f : kFacts) known += (known.empty() ? "" : ", ") + std::string(f.name);
      return failure(fmt::format("--fact {}: not a known fact; known are {}", name, known));
    }
    auto value = fact_value(*fact, given);
    if (!value) return tl::make_unexpected(value.error());
    inner = inner.with(fact->key, std::move(*value));
  }
  return text != nullptr && text->is_dict() ? config.with("text_config", std::move(inner)) : std::move(inner);
}

// A model described by facts alone.
Result<ModelByOption> by_facts(const LaunchInput& input) {
  const bool mla = input.mla.value_or(input.facts.contains("kv_lora_rank"));
  auto config = with_facts(plain_config(mla), input.facts);
  if (!config) return tl::make_unexpected(config.error());
  const auto number = [&](std::string_view key) { return config->find(key)->as_int(); };
  const auto given = [&](std::string_view name) { return input.facts.contains(std::string(name)); };
  if (!mla && !given("num_kv_heads")) *config = config->with("num_key_value_heads", number("num_attention_heads"));
  if (!given("hidden_size")) {  // transformers wants a multiple of the heads
    const std::int64_t width = mla ? kHeadDim : number("head_dim");
    *config = config->with("hidden_size", number("num_attention_heads") * width);
  }
  ModelByOption out;
  for (const std::string_view name :
       {"num_q_heads", "num_kv_heads", "head_dim", "kv_lora_rank", "num_layers", "context_length", "dtype"}) {
    const bool applies = mla ? name != "num_kv_heads" && name != "head_dim" : name != "kv_lora_rank";
    if (!applies || given(name)) continue;
    const auto* fact = std::ranges::find(kFacts, name, &FactName::name);
    out.assumed.push_back({std::string(name), config->find(fact->key)->repr()});
  }
  out.config = std::move(*config);
  return out;
}

}  // namespace

Result<ModelByOption> model_by_option(const LaunchInput& input, facts::ModelFiles& models, const std::string& path) {
  ModelByOption out;
  if (!input.draft_model_config.empty()) {
    auto config = read_config(input.draft_model_config);
    if (!config) return tl::make_unexpected(config.error());
    out.draft_config = std::move(*config);
  }
  const bool by_fact = input.mla || !input.facts.empty();
  if (!input.model_config.empty()) {
    if (by_fact) return failure("--model-config and --mla/--fact describe the model twice; give one of them");
    auto config = read_config(input.model_config);
    if (!config) return tl::make_unexpected(config.error());
    out.config = std::move(*config);
  }
  if (!by_fact) return out;
  const auto known = models.config_of(path);
  if (known && *known != nullptr && (*known)->is_dict()) {
    if (input.mla) return failure(fmt::format("--mla/--no-mla: {} is known and says itself what it uses", path));
    auto config = with_facts(**known, input.facts);
    if (!config) return tl::make_unexpected(config.error());
    out.config = std::move(*config);
    return out;
  }
  auto described = by_facts(input);
  if (!described) return described;
  described->draft_config = std::move(out.draft_config);
  return described;
}

std::vector<std::pair<std::string_view, std::string_view>> fact_names() {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const auto& f : kFacts) out.emplace_back(f.name, f.meaning);
  return out;
}

}  // namespace preflight::commands
