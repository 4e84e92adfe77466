// Evaluates expressions, one function for each form. Tested by tests/facts_model_test.cpp.
#include "src/facts/transformers/rule_expressions.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "src/facts/transformers/rule_methods.h"
#include "src/facts/transformers/rule_values.h"

namespace preflight::facts {
namespace rules {

std::string_view op_of(const Value& expression) { return expression.as_list()[0].as_string(); }
bool is_form(const Value& expression, std::string_view op) { return expression.is_list() && op_of(expression) == op; }

Value value_of(RuleFrame& f, const Value& expression) { return attribute_value(evaluate(f, expression)); }
std::string text_of(RuleFrame& f, const Value& expression) { return python_str(value_of(f, expression)); }

void bind(RuleFrame& f, const Value& names, const Value& item) {
  const auto& list = names.as_list();
  if (list.size() == 1) return put(f.locals, list[0].as_string(), item);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool there = item.is_list() && i < item.as_list().size();
    put(f.locals, list[i].as_string(), there ? item.as_list()[i] : Value());
  }
}

namespace {

bool is_kind(const Attribute& attribute, std::string_view kind) {
  if (const auto* config = std::get_if<HfConfigPtr>(&attribute)) {
    return kind == "PreTrainedConfig" || (*config)->is_instance(kind);
  }
  const Value& v = std::get<Value>(attribute);
  if (kind == "dict") return v.is_dict();
  if (kind == "list" || kind == "tuple" || kind == "Sequence") return v.is_list();
  if (kind == "str") return v.is_string();
  if (kind == "bool") return v.is_bool();
  if (kind == "int") return v.is_int() || v.is_bool();
  return kind == "float" && v.is_float();
}

const ConfigClass* class_named(RuleFrame& f, const Value& factory) {
  const auto& parts = factory.as_list();
  const std::string_view kind = parts[0].as_string();
  if (kind == "class") return f.tables.find(parts[1].as_string());
  if (kind == "named") return rules::class_value(f, evaluate(f, parts[1]));
  const std::string key = text_of(f, parts[1]);
  if (kind == "type") {
    const ConfigClass* found = f.tables.type(key);
    if (found == nullptr) rule_error("KeyError", f.function, fmt::format("model type {} is unknown", key));
    return found;
  }
  const ConfigClass* owner = f.self ? f.self->config_class() : f.owner;
  const Value* name = owner == nullptr ? nullptr : owner->subs.find(key);
  if (name == nullptr || !name->is_string())
    rule_error("KeyError", f.function, fmt::format("no sub-configuration {}", key));
  return f.tables.find(name->as_string());
}

}  // namespace

Arguments to_arguments(RuleFrame& f, const Value& expression) {
  if (op_of(expression) == "k") return f.kwargs;
  const auto& parts = expression.as_list();
  Arguments out;
  if (op_of(expression) == "dict") {
    for (std::size_t i = 1; i + 1 < parts.size(); i += 2) {
      put(out, text_of(f, parts[i]), evaluate(f, parts[i + 1]));
    }
    return out;
  }
  if (op_of(expression) == "merge") {
    for (std::size_t i = 1; i < parts.size(); ++i) {
      for (auto& [key, value] : to_arguments(f, parts[i])) put(out, key, std::move(value));
    }
    return out;
  }
  const Value dict = value_of(f, expression);
  if (!dict.is_dict()) rule_error("TypeError", f.function, fmt::format("{} is no mapping", dict.repr().substr(0, 40)));
  for (const auto& [key, value] : dict.as_dict()) out.emplace_back(key, value);
  return out;
}

namespace {

Attribute comprehension(RuleFrame& f, const std::vector<Value>& p) {
  const Value::List items = iterated(f, value_of(f, p[3]));
  Value::List list;
  for (const auto& item : items) {
    bind(f, p[2], item);
    if (!p[4].is_none() && !attribute_truthy(evaluate(f, p[4]))) continue;
    list.push_back(value_of(f, p[1]));
  }
  return Value::list(std::move(list));
}

Attribute dict_comprehension(RuleFrame& f, const std::vector<Value>& p) {
  Value dict = Value::dict({});
  for (const auto& item : iterated(f, value_of(f, p[4]))) {
    bind(f, p[3], item);
    if (!p[5].is_none() && !attribute_truthy(evaluate(f, p[5]))) continue;
    const std::string key = text_of(f, p[1]);
    dict = dict.with(key, value_of(f, p[2]));
  }
  return dict;
}

// The names a class's constructor takes, for rules that sort arguments by them.
Value parameter_names(RuleFrame& f, const std::vector<Value>& p) {
  const ConfigClass* found = class_named(f, Value::list({p[1], p[2]}));
  Value names = Value::dict({});
  if (found == nullptr) return names;
  if (found->parameters.is_list()) {
    for (const auto& parameter : found->parameters.as_list())
      names = std::move(names).with(parameter.as_list()[0].as_string(), 1);
  } else if (found->fields.is_dict()) {
    for (const auto& item : found->fields.as_dict()) names = std::move(names).with(item.first, 1);
  }
  return names;
}

Attribute local(RuleFrame& f, const Value::List& p) {
  const Attribute* found = find(f.locals, p[1].as_string());
  if (found == nullptr) rule_error("UnboundLocalError", f.function, p[1].as_string() + " has no value yet");
  return *found;
}

Attribute attribute_by_name(RuleFrame& f, const Value::List& p) {
  const Attribute object = evaluate(f, p[1]);
  const std::string name = text_of(f, p[2]);
  if (p[0].as_string() == "hasattr") {
    const auto* config = std::get_if<HfConfigPtr>(&object);
    return Value(config != nullptr && (*config)->has(name));
  }
  if (p.size() < 4) return get_attribute(f, object, name, nullptr);
  const Attribute fallback = evaluate(f, p[3]);
  return get_attribute(f, object, name, &fallback);
}

Attribute and_or(RuleFrame& f, const Value::List& p) {
  const bool is_and = p[0].as_string() == "and";
  Attribute value = Value();
  for (std::size_t i = 1; i < p.size(); ++i) {
    value = evaluate(f, p[i]);
    if (attribute_truthy(value) != is_and) break;
  }
  return value;
}

Attribute comparison(RuleFrame& f, const Value::List& p) {
  const std::string_view op = p[0].as_string();
  if (is_form(p[2], "k")) return Value((find(f.kwargs, text_of(f, p[1])) != nullptr) == (op == "in"));
  return compare(f, op, evaluate(f, p[1]), evaluate(f, p[2]));
}

Attribute arithmetic_form(RuleFrame& f, const Value::List& p) {
  Value total = value_of(f, p[1]);
  for (std::size_t i = 2; i < p.size(); ++i) {
    total = arithmetic(f, p[0].as_string(), total, value_of(f, p[i]));
  }
  return total;
}

Attribute list_of(RuleFrame& f, const Value::List& p) {
  Value::List list;
  for (std::size_t i = 1; i < p.size(); ++i) list.push_back(value_of(f, p[i]));
  return Value::list(std::move(list));
}

Attribute item(RuleFrame& f, const Value::List& p) {
  if (!is_form(p[1], "k")) return index(f, value_of(f, p[1]), value_of(f, p[2]));
  const std::string key = text_of(f, p[2]);
  const Attribute* found = find(f.kwargs, key);
  if (found == nullptr) rule_error("KeyError", f.function, key + " is missing");
  return *found;
}

Attribute slice_form(RuleFrame& f, const Value::List& p) {
  const auto part = [&](std::size_t i) { return p[i].is_none() ? Value() : value_of(f, p[i]); };
  return slice(part(1), part(2), part(3));
}

Attribute assigned(RuleFrame& f, const Value::List& p) {
  Attribute value = evaluate(f, p[2]);
  put(f.locals, p[1].as_string(), value);
  return value;
}

Attribute joined_text(RuleFrame& f, const Value::List& p) {
  std::string text;
  for (std::size_t i = 1; i < p.size(); ++i) text += text_of(f, p[i]);
  return Value(text);
}

Attribute builtin_form(RuleFrame& f, const Value::List& p) {
  std::vector<Value> arguments;
  for (std::size_t i = 2; i < p.size(); ++i) {
    const Attribute value = evaluate(f, p[i]);
    const auto* config = std::get_if<HfConfigPtr>(&value);
    if (config != nullptr && p[1].as_string() == "copy") return (*config)->deep_copy();
    arguments.push_back(attribute_value(value));
  }
  return builtin(f, p[1].as_string(), arguments);
}

Attribute is_instance(RuleFrame& f, const Value::List& p) {
  const Attribute object = evaluate(f, p[1]);
  return Value(std::ranges::any_of(p[2].as_list(), [&](const Value& kind) {
    if (kind.is_string()) return is_kind(object, kind.as_string());
    const ConfigClass* found = class_value(f, evaluate(f, kind));
    return found != nullptr && is_kind(object, found->name);
  }));
}

Attribute new_object(RuleFrame& f, const Value::List& p) {
  const ConfigClass* found = class_named(f, p[1]);
  if (found == nullptr) rule_error("TypeError", f.function, "unknown configuration class");
  return construct(*found, to_arguments(f, p[2]), f.function);
}

Attribute own_function(RuleFrame& f, const Value::List& p) {
  Arguments given;
  for (const auto& a : p[2].as_list()) given.emplace_back(a.as_list()[0].as_string(), evaluate(f, a.as_list()[1]));
  return call_own(f, p[1].as_string(), given);
}

Attribute next_of(RuleFrame& f, const Value::List& p) {
  const Value::List list = items_of(value_of(f, p[1]));
  return list.empty() ? evaluate(f, p[2]) : Attribute(list[0]);
}

Attribute first_given(RuleFrame& f, const Value::List& p) {
  for (std::size_t i = 1; i < p.size(); ++i) {
    const Value v = value_of(f, p[i]);
    if (!v.is_none()) return v;
  }
  return Value();
}

Attribute text_config(RuleFrame& f, const Value::List& p) {
  const Attribute object = evaluate(f, p[1]);
  const auto* config = std::get_if<HfConfigPtr>(&object);
  if (config == nullptr) return object;
  const HfConfigPtr text = (*config)->sub("text_config");
  return text ? text : *config;
}

Attribute is_known_type(RuleFrame& f, const Value::List& p) {
  return Value(f.tables.type(text_of(f, p[1])) != nullptr);
}

Attribute class_of_type(RuleFrame& f, const Value::List& p) {
  const std::string model_type = text_of(f, p[1]);
  const ConfigClass* found = f.tables.type(model_type);
  if (found == nullptr) rule_error("KeyError", f.function, fmt::format("model type {} is unknown", model_type));
  return Value(std::string(kClassValue) + found->key);
}

// p is the list of the expression, p[0] the form's name.
using Form = Attribute (*)(RuleFrame& f, const Value::List& p);
const std::unordered_map<std::string_view, Form>& forms() {
  static const std::unordered_map<std::string_view, Form> kForms{
      {"'", [](RuleFrame&, const Value::List& p) -> Attribute { return p[1]; }},
      {"c", [](RuleFrame&, const Value::List& p) -> Attribute { return p[1]; }},
      {"s", [](RuleFrame& f, const Value::List& p) { return get_attribute(f, f.self, p[1].as_string(), nullptr); }},
      {"self", [](RuleFrame& f, const Value::List&) -> Attribute { return f.self; }},
      {"k", [](RuleFrame& f, const Value::List&) -> Attribute { return to_dict(f.kwargs); }},
      {"l", local},
      {".", [](RuleFrame& f,
               const Value::List& p) { return get_attribute(f, evaluate(f, p[1]), p[2].as_string(), nullptr); }},
      {"getattr", attribute_by_name},
      {"hasattr", attribute_by_name},
      {"and", and_or},
      {"or", and_or},
      {"not",
       [](RuleFrame& f, const Value::List& p) -> Attribute { return Value(!attribute_truthy(evaluate(f, p[1]))); }},
      {"if", [](RuleFrame& f,
                const Value::List& p) { return evaluate(f, attribute_truthy(evaluate(f, p[1])) ? p[2] : p[3]); }},
      {"list", list_of},
      {"[]", item},
      {"slice", slice_form},
      {"for", comprehension},
      {"dictcomp", dict_comprehension},
      {"let", assigned},
      {"cat", joined_text},
      {"call", builtin_form},
      {"isinstance", is_instance},
      {"new", new_object},
      {"own", own_function},
      {"next", next_of},
      {"first", first_given},
      {"textconfig", text_config},
      {"signature", [](RuleFrame& f, const Value::List& p) -> Attribute { return parameter_names(f, p); }},
      {"knowntype", is_known_type},
      {"typeclass", class_of_type},
  };
  return kForms;
}

}  // namespace
}  // namespace rules

Attribute evaluate(RuleFrame& f, const Value& e) {
  if (!e.is_list()) return e;
  const auto& p = e.as_list();
  const std::string_view op = p[0].as_string();
  if (const auto form = rules::forms().find(op); form != rules::forms().end()) return form->second(f, p);
  if (op == "m") return rules::method(f, e);
  if (op == "dict" || op == "merge") return rules::to_dict(rules::to_arguments(f, e));
  if (rules::is_comparison(op)) return rules::comparison(f, p);
  if (rules::is_arithmetic(op)) return rules::arithmetic_form(f, p);
  return Value();
}

}  // namespace preflight::facts
