// Rotary parameters and the checks every configuration makes of itself (transformers' modeling_rope_utils and the
// validators of PreTrainedConfig). Tested by tests/facts_model_test.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/facts/transformers/config_rules.h"
#include "src/facts/transformers/model_builder.h"
#include "src/facts/transformers/dict_fields.h"

namespace preflight::facts {
namespace {

constexpr Release kSetsChecked = v0_5(15);  // releases whose transformers checks each set, and types of MLP layers
constexpr Release kNested = v0_5(22);       // releases whose transformers nests rope_parameters by the declared labels
constexpr Release kEvenHeads = v0_5(22);    // and those whose transformers wants even head dims

Value with_default(const Value& dict, std::string_view key, const Value& value) {
  return dict.find(key) != nullptr ? dict : dict.with(key, value);
}

bool listed(const Value& list, const Value& item) {
  return list.is_list() && std::find(list.as_list().begin(), list.as_list().end(), item) != list.as_list().end();
}

// Keys of rope_parameters that name layer types; empty when one set serves all layers.
std::vector<std::string> nested_keys(Release release, const HfConfigPtr& self, const Value& rope) {
  std::vector<std::string> keys;
  if (!rope.is_dict()) return keys;
  const ConfigClass* c = self->config_class();
  Value labels = self->get("layer_types");
  if (release >= kNested && c != nullptr && c->rope_labels.is_list()) labels = c->rope_labels;
  if (!labels.is_list()) return keys;
  for (const auto& item : rope.as_dict()) {
    if (listed(labels, Value(item.first))) keys.push_back(item.first);
  }
  if (release < kNested && keys.size() != rope.as_dict().size()) keys.clear();
  return keys;
}

bool scaled(const Value& type) { return type == Value("llama3") || type == Value("yarn") || type == Value("longrope"); }

Value default_type(const Value& rope) {
  const Value* type = rope.find("type");
  return type == nullptr ? Value("default") : *type;
}

Value argument(const Arguments& kwargs, std::string_view name, const Value& fallback) {
  for (const auto& [key, value] : kwargs) {
    if (key == name) return attribute_value(value);
  }
  return fallback;
}

Arguments usual_conversion(Release release, const HfConfigPtr& self, Arguments kwargs, std::string_view function) {
  const Value scaling = argument(kwargs, "rope_scaling", Value());
  Value rope = scaling.truthy() ? scaling : self->get("rope_parameters");
  if (rope.is_none()) rope = Value::dict({});
  if (!rope.is_dict()) {
    set_checked(self, "rope_parameters", rope, function);  // refuses it where the class declares the type
    rule_error("AttributeError", function, "rope_parameters is no dict");
  }
  const Value theta = argument(kwargs, "rope_theta",
                               self->has("rope_theta")      ? self->get("rope_theta")
                               : self->has("default_theta") ? self->get("default_theta")
                                                            : Value(10000.0));
  const Value partial = argument(kwargs, "partial_rotary_factor", self->get("partial_rotary_factor"));
  const auto fill = [&](Value dict) {
    dict = with_default(dict, "rope_theta", theta);
    return partial.is_none() ? dict : with_default(dict, "partial_rotary_factor", partial);
  };
  const auto keys = nested_keys(release, self, rope);
  if (release < kNested || keys.empty()) {
    rope = fill(rope);
  } else {
    for (const auto& key : keys) {
      const Value set = field(rope, key);
      if (set.is_none()) continue;
      if (!set.is_dict()) {
        rule_error("AttributeError", function, fmt::format("{} in place of rope_parameters", set.repr().substr(0, 60)));
      }
      rope = rope.with(key, fill(set));
    }
  }
  self->set("rope_parameters", rope);
  std::erase_if(kwargs, [](const auto& item) { return item.first == "rope_scaling" || item.first == "rope_theta"; });
  standardize_rope(release, self);
  return kwargs;
}

Value standard_layer(const Release release, const HfConfigPtr& self, Value rope, bool single) {
  rope = with_default(rope, "rope_type", default_type(rope));
  rope = with_default(rope, "rope_theta", self->get("rope_theta"));
  if (const Value partial = self->get("partial_rotary_factor"); !partial.is_none()) {
    rope = release >= kNested ? with_default(rope, "partial_rotary_factor", partial)
                              : rope.with("partial_rotary_factor", partial);
  }
  const Value own_type = self->get("default_rope_type");
  if (release >= kNested && own_type.is_string() && own_type != Value("default") &&
      field(rope, "rope_type") == Value("default")) {
    rope = rope.with("rope_type", own_type);
  }
  if (!scaled(field(rope, "rope_type"))) return rope;
  if (single && self->has("original_max_position_embeddings")) {
    return rope.with("original_max_position_embeddings", self->get("original_max_position_embeddings"));
  }
  if (rope.find("original_max_position_embeddings") != nullptr || !self->has("max_position_embeddings")) return rope;
  return rope.with("original_max_position_embeddings", self->get("max_position_embeddings"));
}

void require_keys(const Value& rope, std::initializer_list<const char*> keys, std::string_view function) {
  for (const char* key : keys) {
    if (rope.find(key) == nullptr) {
      rule_error("KeyError", function,
                 fmt::format("rope_parameters of type {} lack {}", field(rope, "rope_type").repr(), key));
    }
  }
}

// What the checks divide and compare. Anything but a number is a TypeError, which the class reports as its own error.
double number(const Value& value, std::string_view name, std::string_view function) {
  if (!value.is_number() && !value.is_bool()) {
    rule_error("StrictDataclassClassValidationError", function, fmt::format("{} is {}", name, value.repr()));
  }
  return value.is_bool() ? static_cast<double>(value.truthy()) : value.as_number();
}

double number(const HfConfigPtr& self, const char* name, std::string_view function) {
  if (!self->has(name)) rule_error("AttributeError", function, fmt::format("the configuration has no {}", name));
  return number(self->get(name), name, function);
}

void validate_yarn(const HfConfigPtr& self, const Value& rope, std::string_view function) {
  require_keys(rope, {"factor", "original_max_position_embeddings"}, function);
  for (const char* key : {"beta_fast", "beta_slow"}) {
    if (field(rope, key).truthy()) number(field(rope, key), key, function);
  }
  number(self, "max_position_embeddings", function);
  // Older transformers look for the length beside the sets of layer types, where it is not.
  const Value& holder = self->config_class()->tables->release() < kSetsChecked ? self->get("rope_parameters") : rope;
  require_keys(holder, {"original_max_position_embeddings"}, function);
  const Value original = field(holder, "original_max_position_embeddings");
  if (number(original, "original_max_position_embeddings", function) == 0) {
    rule_error("ZeroDivisionError", function, "original_max_position_embeddings is 0");
  }
}

void validate_longrope(const HfConfigPtr& self, const Value& rope, std::string_view function) {
  require_keys(rope, {"short_factor", "long_factor", "original_max_position_embeddings"}, function);
  number(self, "hidden_size", function);
  if (number(self, "num_attention_heads", function) == 0) {
    rule_error("ZeroDivisionError", function, "num_attention_heads is 0");
  }
  if (self->has("head_dim")) number(self, "head_dim", function);
  for (const char* key : {"short_factor", "long_factor"}) {
    const Value factors = field(rope, key);
    if (!factors.is_list() && !factors.is_string() && !factors.is_dict()) number(Value(), key, function);
  }
}

void validate_llama3(const HfConfigPtr& self, const Value& rope, std::string_view function) {
  require_keys(rope,
               {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor", "rope_theta"},
               function);
  for (const char* key : {"high_freq_factor", "low_freq_factor", "original_max_position_embeddings"}) {
    number(field(rope, key), key, function);
  }
  number(self, "max_position_embeddings", function);
}

// A head that is rotated whole has to be even; tiny heads of test models may be odd.
void validate_even_head(const HfConfigPtr& self, const Value& rope, std::string_view function) {
  const Value layers = self->get("per_layer_config");
  const Value dim = self->get("head_dim");
  if (dim.is_none() || (layers.is_dict() && !layers.as_dict().empty())) return;
  const double width = number(dim, "head_dim", function);
  if (width <= 4 || std::fmod(width, 2) == 0) return;
  const Value* partial = rope.find("partial_rotary_factor");
  const double share = partial == nullptr ? 1.0 : number(*partial, "partial_rotary_factor", function);
  if (std::trunc(width * share) != width) return;
  rule_error("StrictDataclassClassValidationError", function, fmt::format("head_dim {} is odd", dim.repr()));
}

// What the check of its type asks of one set of parameters.
void validate_set(const HfConfigPtr& self, const Value& named, std::string_view function) {
  const Value type = field(named, "rope_type");
  if (type == Value("linear") || type == Value("dynamic")) require_keys(named, {"factor"}, function);
  if (type == Value("yarn")) validate_yarn(self, named, function);
  if (type == Value("longrope")) validate_longrope(self, named, function);
  if (type == Value("llama3")) validate_llama3(self, named, function);
  if (type == Value("proportional")) require_keys(named, {"rope_theta"}, function);
}

// DeepSeek-V4's own check, and what its parameters were made into before: of the sets that its labels name, each in the
// place of all while it is looked at.
void validate_labelled_rope(const HfConfigPtr& self, const Value& labels, std::string_view function) {
  Value all = self->get("rope_parameters");
  if (!all.is_dict()) return;
  for (const Value& label : labels.as_list()) {
    if (!label.is_string() || !field(all, label.as_string()).is_dict()) continue;
    const Value found = field(all, label.as_string());
    const Value set = standard_layer(self->config_class()->tables->release(), self, found, false);
    all = all.with(label.as_string(), set);
    self->set("rope_parameters", set);
    validate_set(self, set, function);
  }
  self->set("rope_parameters", all);
}

// Every class is checked, and the check itself leaves the type in what it checked.
void validate_rope(const HfConfigPtr& self, std::string_view function) {
  const ConfigClass* c = self->config_class();
  Value rope = self->get("rope_parameters");
  if (!rope.truthy() || c == nullptr) return;
  const auto require_mapping = [&](const Value& one) {
    if (!one.is_dict())
      rule_error("AttributeError", function, fmt::format("{} in place of rope_parameters", one.repr()));
  };
  const Release release = c->tables->release();
  if (release >= kEvenHeads && rope.is_number()) {  // looked through for kinds of layers first
    rule_error("StrictDataclassClassValidationError", function, rope.repr() + " in place of rope_parameters");
  }
  require_mapping(rope);
  const auto keys = nested_keys(release, self, rope);
  std::vector<Value> sets;
  const auto with_type = [](const Value& one) {
    return one.is_dict() ? with_default(one, "rope_type", default_type(one)) : one;
  };
  for (const auto& key : keys) {
    sets.push_back(with_type(field(rope, key)));
    rope = rope.with(key, sets.back());
  }
  if (keys.empty()) sets.push_back(rope = with_type(rope));
  self->set("rope_parameters", rope);
  for (const auto& named : sets) {
    if (named.is_none() && release >= kEvenHeads) continue;  // a kind of layer that is not rotated
    require_mapping(named);
    validate_set(self, named, function);
    if (release >= kEvenHeads) validate_even_head(self, named, function);
  }
}

// Since 0.5.22 SGLang lets the lists cover the prediction layers too, where PreTrainedConfig's own check looks: in
// classes that none of their bases gives a check of its own.
bool counts_prediction_layers(const ConfigClass* c) {
  if (c->tables->release() < v0_5(22)) return false;
  while (c->base != nullptr && !c->strict) c = c->base;
  return c->base == nullptr;
}

// What Python walks over: items, keys or letters. It walks over no number.
std::optional<std::vector<Value>> walked(const Value& value) {
  if (value.is_number()) return std::nullopt;
  if (value.is_list()) return std::vector<Value>(value.as_list().begin(), value.as_list().end());
  std::vector<Value> out;
  if (value.is_dict()) {
    for (const auto& item : value.as_dict()) out.emplace_back(item.first);
  } else if (value.is_string()) {
    for (const char letter : value.as_string()) out.emplace_back(std::string(1, letter));
  }
  return out;
}

void validate_layer_types(const HfConfigPtr& self, std::string_view function) {
  const ConfigClass* c = self->config_class();
  if (c == nullptr || !self->has("num_hidden_layers")) return;
  const auto fail = [&](std::string why) {
    rule_error("StrictDataclassClassValidationError", function, std::move(why));
  };
  const bool newer = c->tables->release() >= kSetsChecked;
  const auto check = [&](const char* key, const Value& allowed) {
    const Value given = self->get(key);
    if (given.is_none()) return false;
    const auto types = walked(given);
    if (!types) fail(fmt::format("{} is no list: {}", key, given.repr()));
    for (const auto& type : *types) {
      if (allowed.is_list() && !listed(allowed, type)) fail(fmt::format("{} names {}", key, type.repr()));
    }
    const Value layers = self->get("num_hidden_layers");
    if (layers.is_none() || layers == Value(static_cast<std::int64_t>(types->size()))) return true;
    const Value extra = self->get("num_nextn_predict_layers");
    const bool covers = counts_prediction_layers(c) && extra.truthy() && extra.is_int() && layers.is_int() &&
                        layers.as_int() + extra.as_int() == static_cast<std::int64_t>(types->size());
    if (!covers) fail(fmt::format("{} has {} entries for {} layers", key, types->size(), layers.repr()));
    return true;
  };
  if (c->tables->release() < kNested) {
    if (check("layer_types", c->tables->setting("allowed_layer_types")) && newer)
      check("mlp_layer_types", c->tables->setting("allowed_layer_types"));
  } else if (check("layer_types", c->tables->setting("allowed_attn_layer_types"))) {
    check("mlp_layer_types", c->tables->setting("allowed_mlp_layer_types"));
  }
}

}  // namespace

Arguments convert_rope(const ConfigClass* c, const HfConfigPtr& self, Arguments kwargs, std::string_view function) {
  const ConfigClass* any = self->config_class();
  while (c != nullptr && !c->rope) c = c->base;
  if (c == nullptr) return usual_conversion(any->tables->release(), self, std::move(kwargs), function);
  RuleFrame frame{*c->tables, c, self, std::move(kwargs), {}, function, false, false, Value()};
  run_rules(frame, *c->rope);
  return std::move(frame.kwargs);
}

// Before 0.5.22 every kind of layer that the model has is looked up where the sets stand by kind. SGLang wraps the
// method: what it raises comes through a function of its own.
static void require_sets_of_layers(const HfConfigPtr& self, const Value& rope) {
  constexpr std::string_view kWrapper = "_safe_standardize";
  const Value layers = self->get("layer_types");
  for (const Value& layer : layers.as_list()) {
    const Value* set = layer.is_string() ? rope.find(layer.as_string()) : nullptr;
    if (set == nullptr) rule_error("KeyError", kWrapper, fmt::format("rope_parameters lack {}", layer.repr()));
    if (!set->is_dict())
      rule_error("AttributeError", kWrapper, fmt::format("rope_parameters of {} are no dict", layer.repr()));
  }
}

void standardize_rope(Release release, const HfConfigPtr& self) {
  // SGLang 0.5.13 skips configurations whose length is not set yet.
  if (release < kNested && !self->has("max_position_embeddings")) return;
  Value rope = self->get("rope_parameters");
  if (!rope.is_dict()) rope = Value::dict({});
  if (!rope.truthy() && !self->get("rope_theta").truthy()) return;
  const auto keys = nested_keys(release, self, rope);
  if (keys.empty()) {
    rope = standard_layer(release, self, rope, true);
  } else {
    if (release < kNested) require_sets_of_layers(self, rope);
    for (const auto& key : keys) {
      if (field(rope, key).is_dict()) rope = rope.with(key, standard_layer(release, self, field(rope, key), false));
    }
  }
  self->set("rope_parameters", rope);
}

// embed == dim * heads in Python: a list times a whole number is that list so often, and what cannot be multiplied is
// refused as what differs is.
bool is_product(const Value& dim, const Value& heads, const Value& embed) {
  if (dim.is_number() && heads.is_number()) return Value(dim.as_number() * heads.as_number()) == embed;
  const Value& list = dim.is_list() ? dim : heads;
  const Value& times = dim.is_list() ? heads : dim;
  if (!list.is_list() || !times.is_number() || times.is_float() || !embed.is_list()) return false;
  const auto& part = list.as_list();
  const auto& whole = embed.as_list();
  const double often = std::max(0.0, times.as_number());
  if (static_cast<double>(whole.size()) != often * static_cast<double>(part.size())) return false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i] != part[i % part.size()]) return false;
  }
  return true;
}

void run_validator(const ConfigClass* c, const HfConfigPtr& self, std::string_view name, std::string_view function) {
  const Value* own = c == nullptr ? nullptr : c->validators.find(name);
  if (own != nullptr && !own->is_string() && name == "validate_rope" && c->rope_labels.is_list())
    return validate_labelled_rope(self, c->rope_labels, function);
  if (own != nullptr && !own->is_string()) return;  // a check of its own that the tables do not hold
  if (own != nullptr) {
    RuleFrame frame{*c->tables, c, self, {}, {}, function, false, false, Value()};
    try {
      call_own(frame, own->as_string(), {});
    } catch (const Raised& raised) {
      const std::string& kind = raised.refusal.exception;
      if (kind != "ValueError" && kind != "TypeError") throw;
      rule_error("StrictDataclassClassValidationError", function, raised.refusal.message);
    }
    return;
  }
  if (name == "validate_rope") validate_rope(self, function);
  if (name == "validate_layer_type") validate_layer_types(self, function);
  if (name == "validate_architecture" && c != nullptr && c->tables->release() >= v0_5(22))
    check_layer_types_of_fields(self, function);
  if (name == "validate_architecture" && self->has("head_dim") && self->has("num_heads") && self->has("embed_dim") &&
      !is_product(self->get("head_dim"), self->get("num_heads"), self->get("embed_dim"))) {
    rule_error("StrictDataclassClassValidationError", function, "embed_dim is no multiple of the heads");
  }
}

void validate(const ConfigClass& c, const HfConfigPtr& self, std::string_view function) {
  std::vector<std::string> names = {"validate_architecture", "validate_layer_type", "validate_rope"};
  if (c.validators.is_dict()) {
    for (const auto& item : c.validators.as_dict()) {
      if (std::find(names.begin(), names.end(), item.first) == names.end()) names.push_back(item.first);
    }
  }
  std::sort(names.begin(), names.end());
  for (const auto& name : names) run_validator(&c, self, name, function);
  // The check of the token ids, last by name, asks for the text part before a constructor of SGLang's own has set it.
  const ConfigClass* made = self->config_class();
  if (made != nullptr && !made->text.empty() && !self->has(made->text) && self->sub(made->text) == nullptr) {
    rule_error("AttributeError", "get_text_config", fmt::format("the configuration has no attribute {}", made->text));
  }
  const auto nests = [&](const char* part) { return self->sub(part) != nullptr || !self->get(part).is_none(); };
  const std::array<const char*, 3> parts = {"decoder", "generator", "text_config"};
  if (made != nullptr && made->text.empty() && std::ranges::count_if(parts, nests) > 1) {
    rule_error("StrictDataclassClassValidationError", function, "the configuration nests more than one language model");
  }
}

}  // namespace preflight::facts
