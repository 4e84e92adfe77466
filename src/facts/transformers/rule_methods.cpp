// Methods of configurations, keyword arguments, dicts, lists and texts. Tested by tests/facts_model_test.cpp.
#include "src/facts/transformers/rule_methods.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "src/facts/transformers/rule_expressions.h"
#include "src/facts/transformers/rule_values.h"
#include "src/base/replaced.h"

namespace preflight::facts::rules {

const ConfigClass* class_value(const RuleFrame& f, const Attribute& attribute) {
  const auto* value = std::get_if<Value>(&attribute);
  if (value == nullptr || !value->is_string() || !value->as_string().starts_with(kClassValue)) return nullptr;
  return f.tables.find(value->as_string().substr(kClassValue.size()));
}

namespace {

// What a class knows of itself; none where `name` is nothing of the kind.
std::optional<Value> class_attribute(const ConfigClass& c, std::string_view name) {
  if (name == "model_type") return Value(c.model_type);
  if (name == "__dataclass_fields__") return c.fields.is_dict() ? c.fields : Value::dict({});
  Value::Dict dict;
  if (name == "attribute_map") {
    for (const auto& [alias, field] : c.aliases) dict.emplace_back(alias, field);
    return Value::dict(std::move(dict));
  }
  if (name != "sub_configs") return std::nullopt;
  if (!c.subs.is_dict()) return Value::dict({});
  for (const auto& [part, key] : c.subs.as_dict()) {
    dict.emplace_back(part, key.is_string() ? Value(std::string(kClassValue) + key.as_string()) : Value());
  }
  return Value::dict(std::move(dict));
}

}  // namespace

Attribute get_attribute(const RuleFrame& f, const Attribute& object, std::string_view name, const Attribute* fallback) {
  const auto* config = std::get_if<HfConfigPtr>(&object);
  if (config != nullptr) {
    if (const HfConfigPtr sub = (*config)->sub(name)) return sub;
    if ((*config)->has(name)) return (*config)->get(name);
  }
  const ConfigClass* known = config != nullptr ? (*config)->config_class() : class_value(f, object);
  if (known != nullptr) {
    if (auto value = class_attribute(*known, name)) return *std::move(value);
  } else if (name == "value" || name == "parameters") {
    return object;
  }
  if (fallback != nullptr) return *fallback;
  if (name == "_attn_implementation") return Value();  // a property of every configuration, unset in a file
  rule_error("AttributeError", f.function, fmt::format("the configuration has no attribute {}", name));
}

void store(RuleFrame& f, const Value& place, Attribute value) {
  const std::string_view op = op_of(place);
  if (op == "l") return put(f.locals, place.as_list()[1].as_string(), std::move(value));
  if (op == "s") return set_checked(f.self, place.as_list()[1].as_string(), std::move(value), f.function);
  if (op == "k") {
    f.kwargs.clear();
    const Value dict = attribute_value(value);
    for (const auto& [k, v] : dict.as_dict()) f.kwargs.emplace_back(k, v);
    return;
  }
  if (op == ".") {
    const Attribute object = evaluate(f, place.as_list()[1]);
    if (const auto* config = std::get_if<HfConfigPtr>(&object)) {
      set_checked(*config, place.as_list()[2].as_string(), std::move(value), f.function);
    }
    return;
  }
  if (op == "[]") {
    const Attribute container = evaluate(f, place.as_list()[1]);
    const std::string key = text_of(f, place.as_list()[2]);
    store(f, place.as_list()[1], attribute_value(container).with(key, attribute_value(value)));
  }
}

namespace {

Attribute method_of_kwargs(RuleFrame& f, std::string_view name, const std::vector<Attribute>& a) {
  if (name == "update") {
    const Value more = attribute_value(a[0]);
    for (const auto& [k, v] : more.as_dict()) put(f.kwargs, k, v);
    return Value();
  }
  if (a.empty()) return to_dict(f.kwargs);
  const std::string key = python_str(attribute_value(a[0]));
  const Attribute* found = find(f.kwargs, key);
  if (name == "get" || name == "pop" || name == "setdefault") {
    if (found == nullptr && a.size() < 2 && name == "pop") rule_error("KeyError", f.function, key + " is missing");
    Attribute value = found != nullptr ? *found : a.size() > 1 ? a[1] : Attribute(Value());
    if (name == "pop") drop(f.kwargs, key);
    if (name == "setdefault" && found == nullptr) put(f.kwargs, key, value);
    return value;
  }
  return Value();
}

// A call: the arguments, and the place the object came from.
struct Call {
  RuleFrame& frame;
  std::string_view name;
  const Value& place;
  const std::vector<Attribute>& arguments;

  [[nodiscard]] Value arg(std::size_t i) const {
    return i < arguments.size() ? attribute_value(arguments[i]) : Value();
  }
};

Attribute method_of_config(const Call& call, const HfConfigPtr& config) {
  const auto& a = call.arguments;
  if (call.name == "to_dict" || call.name == "copy") return config->to_value();
  if (call.name == "get") {
    return get_attribute(call.frame, config, python_str(attribute_value(a[0])), a.size() > 1 ? &a[1] : nullptr);
  }
  if (call.name == "update") {
    const Value more = attribute_value(a[0]);
    for (const auto& [k, v] : more.as_dict()) config->set(k, v);
    return Value();
  }
  rule_error("AttributeError", call.frame.function, fmt::format("the configuration has no {}", call.name));
}

Value without_key(const Value& dict, std::string_view key) {
  Value::Dict rest;
  for (const auto& item : dict.as_dict()) {
    if (item.first != key) rest.push_back(item);
  }
  return Value::dict(std::move(rest));
}

Attribute method_of_dict(const Call& call, const Value& v) {
  if (call.name == "copy" || call.name == "keys") return v;
  if (call.name == "items" || call.name == "values") {
    Value::List list;
    for (const auto& [k, x] : v.as_dict()) list.push_back(call.name == "items" ? Value::list({k, x}) : x);
    return Value::list(std::move(list));
  }
  if (call.name == "update") {
    Value merged = v;
    const Value more = call.arg(0);
    for (const auto& [k, x] : more.as_dict()) merged = std::move(merged).with(k, x);
    store(call.frame, call.place, merged);
    return Value();
  }
  const std::string key = python_str(call.arg(0));
  const Value* found = v.find(key);
  if (call.name == "setdefault" && found == nullptr) store(call.frame, call.place, v.with(key, call.arg(1)));
  if (call.name == "pop") {
    if (found == nullptr && call.arguments.size() < 2) {
      rule_error("KeyError", call.frame.function, key + " is missing");
    }
    const Value value = found != nullptr ? *found : call.arg(1);
    store(call.frame, call.place, without_key(v, key));
    return value;
  }
  if (found != nullptr) return *found;
  return call.arguments.size() > 1 ? call.arguments[1] : Attribute(Value());
}

Attribute method_of_list(const Call& call, const Value& v) {
  Value::List list = v.as_list();
  if (call.name == "copy") return v;
  if (call.name == "count") return static_cast<std::int64_t>(std::count(list.begin(), list.end(), call.arg(0)));
  const auto named = std::find(list.begin(), list.end(), call.arg(0));
  if (call.name == "index") {
    if (named == list.end()) {
      rule_error("ValueError", call.frame.function, call.arg(0).repr() + " is not in the list");
    }
    return static_cast<std::int64_t>(named - list.begin());
  }
  if (call.name == "remove" && named != list.end()) list.erase(named);
  if (call.name == "append") list.push_back(call.arg(0));
  if (call.name == "extend") {
    const Value::List more = items_of(call.arg(0));
    list.insert(list.end(), more.begin(), more.end());
  }
  if (call.name == "insert") {
    const auto at = std::min<std::int64_t>(call.arg(0).as_int(), static_cast<std::int64_t>(list.size()));
    list.insert(list.begin() + at, call.arg(1));
  }
  store(call.frame, call.place, Value::list(std::move(list)));
  return Value();
}

Value split(const std::string& text, const std::string& mark) {
  Value::List list;
  std::size_t from = 0;
  for (auto at = text.find(mark); at != std::string::npos; from = at + mark.size(), at = text.find(mark, from)) {
    list.emplace_back(text.substr(from, at - from));
  }
  list.emplace_back(text.substr(from));
  return Value::list(std::move(list));
}

Attribute method_of_text(const Call& call, const Value& v) {
  const std::string& text = v.as_string();
  const auto cased = [&](int (*change)(int)) {
    std::string out = text;
    std::ranges::transform(out, out.begin(), [&](unsigned char c) { return static_cast<char>(change(c)); });
    return Value(out);
  };
  if (call.name == "startswith") return text.starts_with(python_str(call.arg(0)));
  if (call.name == "endswith") return text.ends_with(python_str(call.arg(0)));
  if (call.name == "lower") return cased(std::tolower);
  if (call.name == "upper") return cased(std::toupper);
  if (call.name == "isdigit") {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  }
  if (call.name == "count") return static_cast<std::int64_t>(std::ranges::count(text, python_str(call.arg(0))[0]));
  if (call.name == "join") {
    std::string out;
    for (const auto& item : items_of(call.arg(0))) out += (out.empty() ? std::string() : text) + python_str(item);
    return out;
  }
  if (call.name == "replace") return replaced(text, python_str(call.arg(0)), python_str(call.arg(1)));
  if (call.name == "split") return split(text, call.arguments.empty() ? " " : python_str(call.arg(0)));
  return v;
}

}  // namespace

Attribute method(RuleFrame& f, const Value& expression) {
  const auto& parts = expression.as_list();
  const std::string_view name = parts[1].as_string();
  std::vector<Attribute> arguments;
  for (std::size_t i = 3; i < parts.size(); ++i) arguments.push_back(evaluate(f, parts[i]));
  if (op_of(parts[2]) == "k") return method_of_kwargs(f, name, arguments);
  const Attribute object = evaluate(f, parts[2]);
  const Call call{f, name, parts[2], arguments};
  if (const auto* config = std::get_if<HfConfigPtr>(&object)) return method_of_config(call, *config);
  const Value& v = std::get<Value>(object);
  if (v.is_dict()) return method_of_dict(call, v);
  if (v.is_list()) return method_of_list(call, v);
  if (v.is_string()) return method_of_text(call, v);
  if (name == "get" || name == "items" || name == "pop" || name == "copy") {
    rule_error("AttributeError", f.function, fmt::format("{} has no {}", v.repr(), name));
  }
  return Value();
}

}  // namespace preflight::facts::rules
