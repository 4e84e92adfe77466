// Reading config.json into a configuration object, as SGLang's hf_transformers package does. Tested by
// tests/facts_model_test.cpp.
#include <array>

#include <fmt/format.h>

#include "src/facts/config_classes.h"
#include "src/facts/model_builder.h"

namespace preflight::facts {
namespace {

constexpr std::array<std::string_view, 4> kTextConfigs = {"thinker_config", "llm_config", "language_config",
                                                          "text_config"};

HfConfigPtr plain_config(const Value& dict) {
  auto config = std::make_shared<HfConfig>(nullptr);
  for (const auto& [key, value] : dict.as_dict()) config->set(key, value);
  return config;
}

}  // namespace

HfConfigPtr hf_text_config(const HfConfigPtr& config, std::string_view function) {
  const Value names = config->get("architectures");
  if (names.is_list() && !names.as_list().empty() && names.as_list()[0].is_string()) {
    const std::string& first = names.as_list()[0].as_string();
    if (first.starts_with("Llava") && first.ends_with("ForCausalLM")) {
      config->set("dtype", "float16");
      return config;
    }
  }
  const Value dtype = config->get("dtype");
  for (const auto name : kTextConfigs) {
    HfConfigPtr sub = config->sub(name);
    if (!sub) {
      const Value dict = config->get(name);
      if (!dict.is_dict()) continue;
      sub = plain_config(dict);
      config->set(name, sub);
    }
    if (sub->is_none("dtype") && !dtype.is_none()) sub->set("dtype", dtype);
  }
  HfConfigPtr text;
  if (config->has("thinker_config")) {
    const HfConfigPtr thinker = config->sub("thinker_config");
    text = thinker;
    if (thinker && thinker->sub("text_config")) {
      text = thinker->sub("text_config");
      text->set("dtype", thinker->get("dtype"));
    }
  } else if (config->has("llm_config")) {
    text = config->sub("llm_config");
    if (!text || !text->has("num_attention_heads"))
      raise("AssertionError", function, "llm_config has no num_attention_heads");
  } else if (config->has("language_config")) {
    text = config->sub("language_config");
  } else if (config->has("text_config")) {
    text = config->sub("text_config");
    if (!text || !text->has("num_attention_heads"))
      raise("AssertionError", function, "text_config has no num_attention_heads");
  }
  if (!text) return config;
  for (const char* key : {"pad_token_id", "bos_token_id", "eos_token_id", "tie_word_embeddings"}) {
    if (config->has(key) && !text->has(key)) {
      text->set(key, config->get(key));
    } else if (text->has(key) && !config->has(key)) {
      config->set(key, text->get(key));
    }
  }
  return text;
}

HfConfigPtr read_hf_config(ModelBuilder& b) {
  const auto stored = b.source.config_of(b.request.path);
  if (!stored) raise("OSError", "parse", stored.error().text());
  if (!*stored) raise("OSError", "parse", fmt::format("no config.json is known for {}", b.request.path));
  HfConfigPtr config = plain_config(**stored);
  const HfConfigPtr text = hf_text_config(config, "get_hf_text_config");
  if (text != config) {
    for (const auto& [key, attribute] : text->attributes()) {
      if (!config->has(key) && !text->is_none(key)) config->set(key, std::get<Value>(attribute));
    }
  }
  return config;
}

}  // namespace preflight::facts
