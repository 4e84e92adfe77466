// Making a configuration object: declared fields, the class's rules, PreTrainedConfig's own part, and the checks at
// the end. Tested by tests/facts_model_test.cpp.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "src/base/number_text.h"
#include "src/facts/layer_shapes.h"
#include "src/facts/transformers/config_rules.h"
#include "src/facts/transformers/rule_values.h"
#include "src/python/text.h"

namespace preflight::facts {
namespace {

bool matches(const Value& v, const Value& type);

bool matches_any(const Value& v, const Value::List& types) {
  return std::any_of(types.begin() + 1, types.end(), [&](const Value& t) { return matches(v, t); });
}

// huggingface_hub's rule for one declared type.
bool matches(const Value& v, const Value& type) {
  if (type.is_none()) return true;
  if (type.is_string()) {
    const std::string& name = type.as_string();
    if (name == "Any" || name == "object") return true;
    if (name == "None") return v.is_none();
    if (name == "int") return v.is_int();
    if (name == "bool") return v.is_bool();
    if (name == "float") return v.is_float();
    if (name == "str" || name == "dtype") return v.is_string();
    if (name == "list" || name == "sequence") return v.is_list() || (name == "sequence" && v.is_string());
    if (name == "tuple") return false;  // a file has lists alone, and every declared tuple has a list beside it
    return name == "dict" ? v.is_dict() : !v.is_number() && !v.is_none() && !v.is_string() && !v.is_list();
  }
  const auto& parts = type.as_list();
  const std::string& kind = parts[0].as_string();
  if (kind == "union") return matches_any(v, parts);
  if (kind == "literal") return std::find(parts.begin() + 1, parts.end(), v) != parts.end();
  if (kind == "list") {
    return v.is_list() && std::all_of(v.as_list().begin(), v.as_list().end(),
                                      [&](const Value& item) { return matches(item, parts[1]); });
  }
  if (kind == "dict") {
    return v.is_dict() && std::all_of(v.as_dict().begin(), v.as_dict().end(), [&](const Value::Item& item) {
             return matches(Value(item.first), parts[1]) && matches(item.second, parts[2]);
           });
  }
  return true;
}

// The same for a configuration object: its class or a base of it must be named.
bool matches(const HfConfig& config, const Value& type) {
  if (type.is_none()) return true;
  if (type.is_string()) {
    const std::string& name = type.as_string();
    return name == "PreTrainedConfig" || name == "Any" || name == "object" || config.is_instance(name);
  }
  const auto& parts = type.as_list();
  return parts[0].as_string() == "union" &&
         std::any_of(parts.begin() + 1, parts.end(), [&](const Value& t) { return matches(config, t); });
}

bool contains(const Value& list, const std::string& name) {
  return list.is_list() && std::find(list.as_list().begin(), list.as_list().end(), Value(name)) != list.as_list().end();
}

const ConfigClass* strict_class(const ConfigClass* c) {
  while (c != nullptr && !c->strict) c = c->base;
  return c;
}

const Attribute* argument(const Arguments& arguments, std::string_view name) {
  for (const auto& [key, value] : arguments) {
    if (key == name) return &value;
  }
  return nullptr;
}

void remove(Arguments& arguments, std::string_view name) {
  std::erase_if(arguments, [&](const auto& item) { return item.first == name; });
}

std::string_view frame_of(const ConfigClass& c, std::string_view own, std::string_view outer) {
  return c.own ? own : outer;
}

bool torch_knows(const std::string& name) {
  static constexpr std::string_view kNames[] = {"float16", "bfloat16", "float32", "float64", "half",
                                                "float",   "double",   "int8",    "uint8",   "float8_e4m3fn",
                                                "int16",   "int32",    "int64",   "bool",    "float8_e5m2"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string canonical_dtype(const std::string& name) {
  if (name == "half") return "float16";
  if (name == "float") return "float32";
  return name == "double" ? "float64" : name;
}

// Since 0.5.22 what differs by layer is set last, and looked at as it is set.
std::optional<Value> taken_per_layer(const ConfigTables& tables, Arguments& kwargs) {
  const Attribute* given = argument(kwargs, "per_layer_config");
  if (tables.release() < v0_5(22) || given == nullptr) return std::nullopt;
  Value value = attribute_value(*given);
  remove(kwargs, "per_layer_config");
  return value.is_none() ? std::nullopt : std::optional(std::move(value));
}

// A layer has a window or chunks of attention, its own or the model's, and not both.
void check_windows_per_layer(const HfConfigPtr& self, const Value& layers, std::int64_t count,
                             std::string_view function) {
  const auto of_layer = [&](const Value* overrides, const char* name) {
    const Value* own = overrides == nullptr ? nullptr : overrides->find(name);
    return own != nullptr ? *own : self->get(name);
  };
  const auto has_both = [&](const Value* overrides) {
    return !of_layer(overrides, "sliding_window").is_none() && !of_layer(overrides, "attention_chunk_size").is_none();
  };
  const auto& named = layers.as_dict();
  const bool others = static_cast<std::int64_t>(named.size()) < count && has_both(nullptr);
  if (others || std::ranges::any_of(named, [&](const auto& layer) { return has_both(&layer.second); }))
    rule_error("ValueError", function, "per_layer_config leaves a layer a window and chunks of attention");
}

// What differs by layer stands in every layer, or has a value for those where it does not.
void check_attributes_per_layer(const HfConfigPtr& self, const Value& layers, std::int64_t count,
                                std::string_view function) {
  const auto& named = layers.as_dict();
  const bool all_named = static_cast<std::int64_t>(named.size()) == count;
  std::map<std::string_view, std::size_t> stated;  // by so many layers
  for (const auto& [key, overrides] : named) {
    for (const auto& [name, value] : overrides.as_dict()) ++stated[name];
  }
  for (const auto& [name, layers_with_it] : stated) {
    if (name == "skip" || (all_named && layers_with_it == named.size()) || self->has(name)) continue;
    rule_error("ValueError", function,
               fmt::format("per_layer_config sets {}, which other layers lack", name.substr(0, 40)));
  }
}

void set_per_layer(const HfConfigPtr& self, const Value& layers, std::string_view function) {
  if (!layers.is_dict()) rule_error("AttributeError", function, "per_layer_config is no mapping");
  // The whole of a model with parts has no layers of its own.
  if (!self->has("num_hidden_layers")) rule_error("AttributeError", function, "per_layer_config of no layers");
  const Value count = self->get("num_hidden_layers");
  for (const auto& [key, overrides] : layers.as_dict()) {
    const auto layer = python::to_int(key);
    if (!layer) {
      rule_error("ValueError", function, fmt::format("per_layer_config names the layer {}", key.substr(0, 40)));
    }
    if (count.is_int() && (*layer < 0 || *layer >= count.as_int())) {
      rule_error("ValueError", function, fmt::format("per_layer_config names layer {} of {}", *layer, count.as_int()));
    }
  }
  const auto is_mapping = [](const auto& layer) { return layer.second.is_dict(); };
  if (count.is_int() && std::ranges::all_of(layers.as_dict(), is_mapping)) {
    check_windows_per_layer(self, layers, count.as_int(), function);
    check_attributes_per_layer(self, layers, count.as_int(), function);
  }
  self->set("per_layer_config", layers);
}

// Older names of kinds of layers become today's, in the releases that know some.
void rename_layer_types(const ConfigTables& tables, const HfConfigPtr& self, std::string_view function) {
  if (!tables.setting("legacy_layer_type_remap").is_dict()) return;
  const Value& names = tables.setting("legacy_layer_type_remap");
  for (const char* key : {"layer_types", "mtp_layer_types"}) {
    const Value types = self->get(key);
    if (types.is_none()) continue;
    if (types.is_number()) rule_error("TypeError", function, fmt::format("{} is no list", key));
    Value::List list;
    for (const auto& type : rules::items_of(types)) {
      const Value* newer = type.is_string() ? names.find(type.as_string()) : nullptr;
      list.push_back(newer == nullptr ? type : *newer);
    }
    Value remapped = Value::list(std::move(list));
    if (remapped != types) self->set(key, std::move(remapped));
  }
}

// The number of labels makes their map where the file has none, and its setter makes another one where the two differ:
// range() takes whole numbers alone. The map's keys are texts in JSON, read as numbers.
void check_labels(const HfConfigPtr& self, const Arguments& kwargs, std::string_view function) {
  const Value labels = self->get("id2label");
  const Attribute* given = argument(kwargs, "num_labels");
  if (!labels.is_none() && !labels.is_dict()) {
    const bool counted = given != nullptr && !attribute_value(*given).is_none();
    rule_error(counted && labels.is_number() ? "TypeError" : "AttributeError", function, "id2label is no map");
  }
  if (labels.is_dict()) {
    for (const auto& [key, label] : labels.as_dict()) {
      if (!python::to_integer(key)) rule_error("ValueError", function, fmt::format("id2label has the key {}", key));
    }
  }
  if (given == nullptr) return;
  const Value count = attribute_value(*given);
  if (count.is_int() || count.is_bool()) return;
  const bool is_theirs = labels.is_dict() && count == Value(static_cast<std::int64_t>(labels.as_dict().size()));
  if (!is_theirs)
    rule_error("TypeError", function, fmt::format("num_labels is {}, no whole number", count.repr().substr(0, 60)));
}

// PreTrainedConfig.__post_init__.
void root_post(const ConfigTables& tables, const HfConfigPtr& self, Arguments kwargs, std::string_view function) {
  if (const Attribute* dtype = argument(kwargs, "torch_dtype");
      dtype != nullptr && !attribute_value(*dtype).is_none()) {
    if (self->is_none("dtype")) self->set("dtype", attribute_value(*dtype));
  }
  remove(kwargs, "torch_dtype");
  if (const Value dtype = self->get("dtype"); dtype.is_string()) {
    const std::string& name = dtype.as_string();
    if (!torch_knows(name)) rule_error("AttributeError", function, fmt::format("torch has no dtype {}", name));
    self->set("dtype", canonical_dtype(name));
  }
  check_labels(self, kwargs, function);
  if (tables.release() >= v0_5(13) && self->get("problem_type") == Value("single_label_classification")) {
    const Value labels = self->get("id2label");
    const Attribute* count = argument(kwargs, "num_labels");
    const bool one =
        labels.is_dict() ? labels.as_dict().size() == 1 : count != nullptr && attribute_value(*count) == Value(1);
    if (one) rule_error("ValueError", function, "single_label_classification needs more than one label");
  }
  // As many as num_labels says; what reads them asks only that there is a map.
  static const Value kTwoLabels = Value::dict({{"0", "LABEL_0"}, {"1", "LABEL_1"}});
  if (self->is_none("id2label")) self->set("id2label", kTwoLabels);
  const auto given = [&](std::string_view name) {
    const Attribute* a = argument(kwargs, name);
    return a != nullptr && attribute_truthy(*a);
  };
  if (self->has("rope_parameters") || (given("rope_scaling") && given("rope_theta"))) {
    kwargs = convert_rope(self->config_class(), self, std::move(kwargs), function);
  }
  std::erase_if(kwargs, [&](const auto& item) { return tables.is_generation_parameter(item.first); });
  const std::optional<Value> per_layer = taken_per_layer(tables, kwargs);
  for (const char* name :
       {"name_or_path", "_commit_hash", "output_attentions", "attn_implementation", "experts_implementation",
        "_attn_implementation_internal", "_experts_implementation_internal"}) {
    remove(kwargs, name);
  }
  for (auto& [name, value] : kwargs) set_checked(self, name, std::move(value), function);
  if (per_layer) set_per_layer(self, *per_layer, function);
  rename_layer_types(tables, self, function);
}

void set_fields(const ConfigClass& c, const HfConfigPtr& self, Arguments& kwargs, std::string_view function) {
  if (!c.fields.is_dict()) return;
  for (const auto& [name, fallback] : c.fields.as_dict()) {
    const auto it =
        std::find_if(kwargs.begin(), kwargs.end(), [&n = name](const auto& item) { return item.first == n; });
    if (it == kwargs.end()) {
      // Declared defaults are taken unchecked.
      self->set(name, fallback);
    } else {
      set_checked(self, name, std::move(it->second), function);
      kwargs.erase(it);
    }
  }
}

}  // namespace

void check_layer_types_of_fields(const HfConfigPtr& self, std::string_view function) {
  const ConfigClass* strict = strict_class(self->config_class());
  if (strict == nullptr) return;
  const Value layers = layer_overrides(self);
  for (const auto& [layer, overrides] : layers.as_dict()) {
    for (const auto& [name, value] : overrides.as_dict()) {
      const Value* type = strict->checks.find(name);
      if (type == nullptr || matches(value, *type)) continue;
      rule_error("StrictDataclassFieldValidationError", function,
                 fmt::format("{} of layer {} has the wrong type: {}", name, layer, value.repr().substr(0, 60)));
    }
  }
}

void set_checked(const HfConfigPtr& config, const std::string& name, Attribute value, std::string_view function) {
  if (const ConfigClass* c = config->config_class();
      c != nullptr && contains(c->readonly, std::string(config->resolve(name)))) {
    rule_error("AttributeError", function, fmt::format("{} is computed and cannot be set", name));
  }
  const ConfigClass* strict = strict_class(config->config_class());
  const Value* type = strict == nullptr ? nullptr : strict->checks.find(name);
  // A property whose setter sets the declared name.
  if (type == nullptr && strict != nullptr && name == "rope_scaling") type = strict->checks.find("rope_parameters");
  const auto* plain = std::get_if<Value>(&value);
  if (type != nullptr && !(plain != nullptr ? matches(*plain, *type) : matches(*std::get<HfConfigPtr>(value), *type))) {
    rule_error("StrictDataclassFieldValidationError", function,
               fmt::format("{} has the wrong type: {}", name,
                           plain != nullptr ? plain->repr().substr(0, 60) : "a configuration of another class"));
  }
  if (plain != nullptr) {
    config->set(name, std::move(std::get<Value>(value)));
  } else {
    config->set(name, std::move(std::get<HfConfigPtr>(value)));
  }
}

void run_post(const ConfigClass* c, const HfConfigPtr& self, Arguments kwargs, std::string_view function) {
  while (c != nullptr && !c->post) c = c->base;
  if (c == nullptr || c->base == nullptr) {
    const ConfigClass* any = self->config_class();
    if (any != nullptr) root_post(*any->tables, self, std::move(kwargs), function);
    return;
  }
  RuleFrame frame{*c->tables, c,     self,   std::move(kwargs), {}, frame_of(*c, "__post_init__", function),
                  false,      false, Value()};
  run_rules(frame, *c->post);
}

void run_init(const ConfigClass& c, const HfConfigPtr& self, Arguments kwargs, std::string_view function) {
  if (!c.init) {
    set_fields(c, self, kwargs, function);
    run_post(self->config_class(), self, std::move(kwargs), function);
  } else {
    RuleFrame frame{*c.tables, &c, self, {}, {}, frame_of(c, "__init__", function), false, false, Value()};
    if (c.parameters.is_list()) {
      for (const auto& p : c.parameters.as_list()) {
        const std::string& name = p.as_list()[0].as_string();
        const auto it =
            std::find_if(kwargs.begin(), kwargs.end(), [&](const auto& item) { return item.first == name; });
        frame.locals.emplace_back(name, it == kwargs.end() ? Attribute(p.as_list()[1]) : std::move(it->second));
        if (it != kwargs.end()) kwargs.erase(it);
      }
    }
    frame.kwargs = std::move(kwargs);
    run_rules(frame, *c.init);
  }
  if (c.strict) validate(c, self, function);
}

HfConfigPtr construct(const ConfigClass& c, Arguments arguments, std::string_view function) {
  auto self = std::make_shared<HfConfig>(&c);
  run_init(c, self, std::move(arguments), function);
  return self;
}

HfConfigPtr construct(const ConfigClass& c, const Value& arguments, std::string_view function) {
  Arguments list;
  if (arguments.is_dict()) {
    for (const auto& [key, value] : arguments.as_dict()) list.emplace_back(key, value);
  }
  return construct(c, std::move(list), function);
}

}  // namespace preflight::facts
