// Tested by tests/facts_model_test.cpp.
#include "src/facts/layer_shapes.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/facts/transformers/model_builder.h"
#include "src/python/text.h"

namespace preflight::facts {

Value layer_overrides(const HfConfigPtr& config) {
  Value::Dict kept;
  const Value layers = config->get("per_layer_config");
  if (!layers.is_dict()) return Value::dict({});
  for (const auto& [layer, given] : layers.as_dict()) {
    Value::Dict differing;
    if (!given.is_dict() || layer.empty()) continue;
    for (const auto& [name, value] : given.as_dict()) {
      if (name == "skip" && !value.truthy()) continue;
      if (!config->has(name) || config->get(name) != value) differing.emplace_back(name, value);
    }
    // As int() takes it: with leading zeros ("05"), a sign or blanks.
    const auto number = python::to_int(layer);
    if (!differing.empty())
      kept.emplace_back(number ? std::to_string(*number) : layer, Value::dict(std::move(differing)));
  }
  return Value::dict(std::move(kept));
}

std::set<std::string> attributes_by_layer(const HfConfigPtr& config) {
  std::set<std::string> names;
  const Value layers = layer_overrides(config);
  for (const auto& [layer, given] : layers.as_dict()) {
    for (const auto& [name, value] : given.as_dict()) names.insert(name);
  }
  names.erase("skip");
  return names;
}

std::map<std::string, LayerShape> shapes_by_type(const Value& layers, const Value& types, const LayerShape& usual) {
  constexpr std::string_view kFunction = "_gemma4_attention_shapes";
  std::map<std::string, LayerShape> shapes;
  for (const auto& [layer, given] : layers.as_dict()) {
    for (const auto& [name, value] : given.as_dict()) {
      if (name != "head_dim" && name != "num_key_value_heads") {
        raise(RF::kOther, "ValueError", kFunction,
              fmt::format("layer {} has its own {}, which SGLang cannot express", layer, name));
      }
    }
  }
  if (!types.is_list()) return shapes;
  for (std::size_t i = 0; i < types.as_list().size(); ++i) {
    LayerShape shape = usual;
    if (const Value* own = layers.find(std::to_string(i))) {
      if (const Value* dim = own->find("head_dim")) shape.head_dim = *dim;
      if (const Value* heads = own->find("num_key_value_heads")) shape.kv_heads = *heads;
    }
    const Value& type = types.as_list()[i];
    const auto [at, first] = shapes.try_emplace(type.is_string() ? type.as_string() : type.repr(), shape);
    if (!first && at->second != shape) {
      raise(RF::kOther, "ValueError", kFunction, fmt::format("{} layers have more than one shape", at->first));
    }
  }
  return shapes;
}

}  // namespace preflight::facts
