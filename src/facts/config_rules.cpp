// The rule language. Values: ["s", name] attribute of the object, ["l", name] local, ["k"] keyword arguments, ["'",
// text],
// ["c", constant], ["list", …], ["dict", key, value, …], ["merge", dict, …], arithmetic and comparison by their sign,
// ["and"|"or"|"not", …], ["if", condition, value, value], ["[]", value, index], ["slice", …], ["for", …] list,
// ["call", name, …] built-in, ["m", name, value, …] method, ["new", class, arguments], ["own", function, arguments].
// Rules: ["=", attribute, value], ["$", local, value], ["?", condition, rules, rules], ["each", names, list, rules],
// ["item", container, key, value], ["super"|"superinit", arguments], ["raise", exception], ["return", value].
// Tested by tests/facts_model_test.cpp.
#include "src/facts/config_rules.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "src/facts/model_builder.h"

namespace preflight::facts {

namespace {

thread_local std::vector<LogLine>* warnings = nullptr;

void note_class_warning(std::string_view function) {
  note_warning(function, "the configuration class warns of the values");
}

}  // namespace

void note_warning(std::string_view function, std::string message) {
  if (warnings != nullptr) warnings->push_back({"WARNING", std::string(function), std::move(message)});
}

WarningSink::WarningSink(std::vector<LogLine>& log) : before_(warnings) { warnings = &log; }
WarningSink::~WarningSink() { warnings = before_; }

void rule_error(std::string exception, std::string_view frame, std::string message) {
  raise(std::move(exception), frame, std::move(message));
}

bool attribute_truthy(const Attribute& attribute) {
  const auto* value = std::get_if<Value>(&attribute);
  return value == nullptr || value->truthy();
}

Value attribute_value(const Attribute& attribute) {
  const auto* value = std::get_if<Value>(&attribute);
  return value != nullptr ? *value : std::get<HfConfigPtr>(attribute)->to_value();
}

namespace {

const Attribute* find(const Arguments& arguments, std::string_view name) {
  for (const auto& [key, value] : arguments) {
    if (key == name) return &value;
  }
  return nullptr;
}

void put(Arguments& arguments, std::string_view name, Attribute value) {
  for (auto& [key, old] : arguments) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  arguments.emplace_back(std::string(name), std::move(value));
}

void drop(Arguments& arguments, std::string_view name) {
  std::erase_if(arguments, [&](const auto& item) { return item.first == name; });
}

Value to_dict(const Arguments& arguments) {
  Value::Dict dict;
  for (const auto& [key, value] : arguments) dict.emplace_back(key, attribute_value(value));
  return Value::dict(std::move(dict));
}

std::string python_str(const Value& v) { return v.is_string() ? v.as_string() : v.repr(); }

std::string_view op_of(const Value& expression) { return expression.as_list()[0].as_string(); }

Value::List items_of(const Value& v) {
  if (v.is_list()) return v.as_list();
  Value::List list;
  if (v.is_dict()) {
    for (const auto& item : v.as_dict()) list.emplace_back(item.first);
  } else if (v.is_string()) {
    for (const char c : v.as_string()) list.emplace_back(std::string(1, c));
  }
  return list;
}

Value arithmetic(const RuleFrame& f, std::string_view op, const Value& a, const Value& b) {
  if (op == "+" && a.is_string() && b.is_string()) return a.as_string() + b.as_string();
  if (op == "+" && a.is_list() && b.is_list()) {
    Value::List list = a.as_list();
    list.insert(list.end(), b.as_list().begin(), b.as_list().end());
    return Value::list(std::move(list));
  }
  if (op == "*" && (a.is_list() || b.is_list())) {
    const Value& items = a.is_list() ? a : b;
    const Value& count = a.is_list() ? b : a;
    Value::List list;
    for (std::int64_t i = 0; count.is_number() && i < count.as_int(); ++i) {
      list.insert(list.end(), items.as_list().begin(), items.as_list().end());
    }
    return Value::list(std::move(list));
  }
  if ((op == "-" || op == "|") && (a.is_list() || a.is_dict()) && (b.is_list() || b.is_dict()) &&
      !(op == "|" && a.is_dict())) {
    Value::List list;  // sets
    const Value::List other = items_of(b);
    for (const auto& item : items_of(a)) {
      if (op == "|" || std::find(other.begin(), other.end(), item) == other.end()) list.push_back(item);
    }
    if (op == "|") list.insert(list.end(), other.begin(), other.end());
    return Value::list(std::move(list));
  }
  if (op == "|" && a.is_dict() && b.is_dict()) {
    Value merged = a;
    for (const auto& [k, v] : b.as_dict()) merged = std::move(merged).with(k, v);
    return merged;
  }
  if (!a.is_number() || !b.is_number()) {
    rule_error("TypeError", f.function, fmt::format("{} {} {} needs numbers", a.repr(), op, b.repr()));
  }
  const bool whole = !a.is_float() && !b.is_float();
  const double x = a.as_number();
  const double y = b.as_number();
  if ((op == "/" || op == "//" || op == "%") && y == 0) rule_error("ZeroDivisionError", f.function, "division by zero");
  if (op == "/") return x / y;
  if (op == "**") {
    const double power = std::pow(x, y);
    return whole && y >= 0 ? Value(static_cast<std::int64_t>(power)) : Value(power);
  }
  if (!whole) {
    if (op == "+") return x + y;
    if (op == "-") return x - y;
    if (op == "*") return x * y;
    return op == "//" ? Value(std::floor(x / y)) : Value(x - y * std::floor(x / y));
  }
  const std::int64_t i = a.as_int();
  const std::int64_t j = b.as_int();
  if (op == "+") return i + j;
  if (op == "-") return i - j;
  if (op == "*") return i * j;
  const std::int64_t q = i / j - ((i % j != 0 && (i < 0) != (j < 0)) ? 1 : 0);
  return op == "//" ? Value(q) : Value(i - q * j);
}

bool contains(const Value& container, const Value& item) {
  if (container.is_dict()) return item.is_string() && container.find(item.as_string()) != nullptr;
  if (container.is_list()) {
    return std::find(container.as_list().begin(), container.as_list().end(), item) != container.as_list().end();
  }
  return container.is_string() && item.is_string() && container.as_string().find(item.as_string()) != std::string::npos;
}

Value compare(const RuleFrame& f, std::string_view op, const Attribute& a, const Attribute& b) {
  const Value x = attribute_value(a);
  const Value y = attribute_value(b);
  if (op == "==" || op == "is") return op == "is" ? x.identical(y) : x == y;
  if (op == "!=" || op == "isnot") return op == "isnot" ? !x.identical(y) : x != y;
  if (op == "in") return contains(y, x);
  if (op == "notin") return !contains(y, x);
  if (!x.is_number() || !y.is_number()) {
    rule_error("TypeError", f.function, fmt::format("{} {} {} needs numbers", x.repr(), op, y.repr()));
  }
  if (op == "<") return x.as_number() < y.as_number();
  if (op == "<=") return x.as_number() <= y.as_number();
  return op == ">" ? x.as_number() > y.as_number() : x.as_number() >= y.as_number();
}

// A class as a value: its key behind this mark.
constexpr std::string_view kClassValue = "class:";

const ConfigClass* class_value(const RuleFrame& f, const Attribute& attribute) {
  const auto* value = std::get_if<Value>(&attribute);
  if (value == nullptr || !value->is_string() || !value->as_string().starts_with(kClassValue)) return nullptr;
  return f.tables.find(value->as_string().substr(kClassValue.size()));
}

Attribute get_attribute(const RuleFrame& f, const Attribute& object, std::string_view name, const Attribute* fallback) {
  if (const ConfigClass* found = class_value(f, object); found != nullptr && name == "model_type") {
    return Value(found->model_type);
  }
  if (const auto* config = std::get_if<HfConfigPtr>(&object)) {
    if (const HfConfigPtr sub = (*config)->sub(name)) return sub;
    if ((*config)->has(name)) return (*config)->get(name);
  } else if (name == "value" || name == "parameters") {
    return object;
  }
  if (fallback != nullptr) return *fallback;
  if (name == "_attn_implementation") return Value();  // a property of every configuration, unset in a file
  rule_error("AttributeError", f.function, fmt::format("the configuration has no attribute {}", name));
}

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

void bind(RuleFrame& f, const Value& names, const Value& item) {
  const auto& list = names.as_list();
  if (list.size() == 1) return put(f.locals, list[0].as_string(), item);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool there = item.is_list() && i < item.as_list().size();
    put(f.locals, list[i].as_string(), there ? item.as_list()[i] : Value());
  }
}

Value index(const RuleFrame& f, const Value& container, const Value& key) {
  if (container.is_dict()) {
    const Value* found = container.find(python_str(key));
    if (found == nullptr) rule_error("KeyError", f.function, fmt::format("{} is missing", key.repr()));
    return *found;
  }
  if (!key.is_number()) rule_error("TypeError", f.function, fmt::format("{} is no index", key.repr()));
  const Value::List list = items_of(container);
  std::int64_t at = key.as_int();
  if (at < 0) at += static_cast<std::int64_t>(list.size());
  if (at < 0 || at >= static_cast<std::int64_t>(list.size())) {
    if (container.is_none()) rule_error("TypeError", f.function, "None has no items");
    rule_error("IndexError", f.function, fmt::format("index {} is out of range", at));
  }
  return list[static_cast<std::size_t>(at)];
}

Value slice(const Value& v, const Value& low, const Value& high) {
  const auto size = static_cast<std::int64_t>(v.is_string() ? v.as_string().size() : items_of(v).size());
  const auto bound = [&](const Value& b, std::int64_t fallback) {
    if (!b.is_number()) return fallback;
    const std::int64_t at = b.as_int() < 0 ? b.as_int() + size : b.as_int();
    return std::clamp<std::int64_t>(at, 0, size);
  };
  const std::int64_t from = bound(low, 0);
  const std::int64_t to = std::max(from, bound(high, size));
  if (v.is_string()) return v.as_string().substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
  const Value::List list = items_of(v);
  return Value::list(Value::List(list.begin() + from, list.begin() + to));
}

Value range(const std::vector<Value>& a) {
  const std::int64_t from = a.size() > 1 ? a[0].as_int() : 0;
  const std::int64_t to = a.size() > 1 ? a[1].as_int() : a[0].as_int();
  const std::int64_t step = a.size() > 2 ? a[2].as_int() : 1;
  Value::List list;
  for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step) list.emplace_back(i);
  return Value::list(std::move(list));
}

Value remap_layer_types(const RuleFrame& f, const Value& types) {
  const Value& names = f.tables.setting("legacy_layer_type_remap");
  if (!types.is_list() || !names.is_dict()) return types;
  Value::List list;
  for (const auto& type : types.as_list()) {
    const Value* newer = type.is_string() ? names.find(type.as_string()) : nullptr;
    list.push_back(newer == nullptr ? type : *newer);
  }
  return Value::list(std::move(list));
}

double number(const RuleFrame& f, const Value& v) {
  if (!v.is_number()) rule_error("TypeError", f.function, fmt::format("{} is not a number", v.repr()));
  return v.as_number();
}

Value builtin(const RuleFrame& f, std::string_view name, const std::vector<Value>& a) {
  if (name == "remap_layer_types") return remap_layer_types(f, a[0]);
  if (name == "range") {
    for (const auto& v : a) number(f, v);
    return range(a);
  }
  if (name == "int") {
    if (a[0].is_string()) return static_cast<std::int64_t>(std::strtoll(a[0].as_string().c_str(), nullptr, 10));
    return static_cast<std::int64_t>(number(f, a[0]));
  }
  if (name == "float") return number(f, a[0]);
  if (name == "bool") return !a.empty() && a[0].truthy();
  if (name == "str") return python_str(a[0]);
  if (name == "copy") return a[0];
  if (name == "dict") return a.empty() ? Value::dict({}) : a[0];
  if (name == "abs") return a[0].is_float() ? Value(std::fabs(a[0].as_number())) : Value(std::abs(a[0].as_int()));
  if (name == "ceil") return static_cast<std::int64_t>(std::ceil(number(f, a[0])));
  if (name == "floor") return static_cast<std::int64_t>(std::floor(number(f, a[0])));
  if (name == "sqrt") return std::sqrt(number(f, a[0]));
  if (name == "log2") return std::log2(number(f, a[0]));
  if (name == "log") return std::log(number(f, a[0]));
  if (name == "round") return static_cast<std::int64_t>(std::nearbyint(number(f, a[0])));
  if (name == "list" || name == "tuple") return Value::list(a.empty() ? Value::List{} : items_of(a[0]));
  if (a.empty()) return name == "set" ? Value::list({}) : Value();
  if (name == "max" || name == "min") {
    const Value::List list = a.size() == 1 ? items_of(a[0]) : Value::List(a.begin(), a.end());
    if (list.empty()) rule_error("ValueError", f.function, "the list is empty");
    Value best = list[0];
    for (const auto& v : list) {
      if (name == "max" ? number(f, v) > number(f, best) : number(f, v) < number(f, best)) best = v;
    }
    return best;
  }
  if (name == "len") {
    if (a[0].is_none() || a[0].is_number()) rule_error("TypeError", f.function, "it has no length");
    return static_cast<std::int64_t>(a[0].is_dict() ? a[0].as_dict().size() : items_of(a[0]).size());
  }
  Value::List list = items_of(a[0]);
  if (name == "sum") {
    Value total = 0;
    for (const auto& v : list) total = arithmetic(f, "+", total, v);
    return total;
  }
  if (name == "any") return std::any_of(list.begin(), list.end(), [](const Value& v) { return v.truthy(); });
  if (name == "all") return std::all_of(list.begin(), list.end(), [](const Value& v) { return v.truthy(); });
  if (name == "reversed") std::reverse(list.begin(), list.end());
  if (name == "set") {
    Value::List once;
    for (const auto& v : list) {
      if (std::find(once.begin(), once.end(), v) == once.end()) once.push_back(v);
    }
    return Value::list(std::move(once));
  }
  if (name == "sorted") {
    std::stable_sort(list.begin(), list.end(), [](const Value& x, const Value& y) {
      if (x.is_number() && y.is_number()) return x.as_number() < y.as_number();
      return x.repr() < y.repr();
    });
  }
  if (name == "enumerate" || name == "zip") {
    Value::List pairs;
    const Value::List other = name == "zip" && a.size() > 1 ? items_of(a[1]) : Value::List{};
    for (std::size_t i = 0; i < list.size() && (name == "enumerate" || i < other.size()); ++i) {
      pairs.push_back(name == "zip" ? Value::list({list[i], other[i]})
                                    : Value::list({static_cast<std::int64_t>(i), list[i]}));
    }
    return Value::list(std::move(pairs));
  }
  return Value::list(std::move(list));
}

// Stores a changed container where it came from.
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
    const std::string key = python_str(attribute_value(evaluate(f, place.as_list()[2])));
    store(f, place.as_list()[1], attribute_value(container).with(key, attribute_value(value)));
  }
}

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

Attribute method(RuleFrame& f, const Value& e) {
  const auto& parts = e.as_list();
  const std::string_view name = parts[1].as_string();
  std::vector<Attribute> a;
  for (std::size_t i = 3; i < parts.size(); ++i) a.push_back(evaluate(f, parts[i]));
  if (op_of(parts[2]) == "k") return method_of_kwargs(f, name, a);
  const Attribute object = evaluate(f, parts[2]);
  if (const auto* config = std::get_if<HfConfigPtr>(&object)) {
    if (name == "to_dict" || name == "copy") return (*config)->to_value();
    if (name == "get")
      return get_attribute(f, object, python_str(attribute_value(a[0])), a.size() > 1 ? &a[1] : nullptr);
    if (name == "update") {
      const Value more = attribute_value(a[0]);
      for (const auto& [k, v] : more.as_dict()) (*config)->set(k, v);
      return Value();
    }
    rule_error("AttributeError", f.function, fmt::format("the configuration has no {}", name));
  }
  const Value& v = std::get<Value>(object);
  const auto arg = [&](std::size_t i) { return i < a.size() ? attribute_value(a[i]) : Value(); };
  if (v.is_dict()) {
    if (name == "copy" || name == "keys") return v;
    if (name == "items" || name == "values") {
      Value::List list;
      for (const auto& [k, x] : v.as_dict()) list.push_back(name == "items" ? Value::list({k, x}) : x);
      return Value::list(std::move(list));
    }
    if (name == "update") {
      Value merged = v;
      for (const auto& [k, x] : arg(0).as_dict()) merged = std::move(merged).with(k, x);
      store(f, parts[2], merged);
      return Value();
    }
    const std::string key = python_str(arg(0));
    const Value* found = v.find(key);
    if (name == "setdefault" && found == nullptr) store(f, parts[2], v.with(key, arg(1)));
    if (name == "pop") {
      if (found == nullptr && a.size() < 2) rule_error("KeyError", f.function, key + " is missing");
      const Value value = found != nullptr ? *found : arg(1);
      Value::Dict rest;
      for (const auto& item : v.as_dict()) {
        if (item.first != key) rest.push_back(item);
      }
      store(f, parts[2], Value::dict(std::move(rest)));
      return value;
    }
    return found != nullptr ? Attribute(*found) : a.size() > 1 ? a[1] : Attribute(Value());
  }
  if (v.is_list()) {
    Value::List list = v.as_list();
    if (name == "copy") return v;
    if (name == "count") return static_cast<std::int64_t>(std::count(list.begin(), list.end(), arg(0)));
    if (name == "index") {
      const auto it = std::find(list.begin(), list.end(), arg(0));
      if (it == list.end()) rule_error("ValueError", f.function, arg(0).repr() + " is not in the list");
      return static_cast<std::int64_t>(it - list.begin());
    }
    if (name == "append") list.push_back(arg(0));
    if (name == "extend") {
      const Value::List more = items_of(arg(0));
      list.insert(list.end(), more.begin(), more.end());
    }
    if (name == "insert")
      list.insert(list.begin() + std::min<std::int64_t>(arg(0).as_int(), static_cast<std::int64_t>(list.size())),
                  arg(1));
    if (name == "remove") {
      if (const auto it = std::find(list.begin(), list.end(), arg(0)); it != list.end()) list.erase(it);
    }
    store(f, parts[2], Value::list(std::move(list)));
    return Value();
  }
  if (v.is_string()) {
    const std::string& text = v.as_string();
    const auto cased = [&](auto&& change) {
      std::string out = text;
      std::transform(out.begin(), out.end(), out.begin(),
                     [&](unsigned char c) { return static_cast<char>(change(c)); });
      return Value(out);
    };
    if (name == "startswith") return text.starts_with(python_str(arg(0)));
    if (name == "endswith") return text.ends_with(python_str(arg(0)));
    if (name == "lower") return cased([](int c) { return std::tolower(c); });
    if (name == "upper") return cased([](int c) { return std::toupper(c); });
    if (name == "isdigit")
      return !text.empty() &&
             std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (name == "count") return static_cast<std::int64_t>(std::count(text.begin(), text.end(), python_str(arg(0))[0]));
    if (name == "join") {
      std::string out;
      for (const auto& item : items_of(arg(0))) out += (out.empty() ? std::string() : text) + python_str(item);
      return out;
    }
    if (name == "replace") {
      std::string out = text;
      const std::string from = python_str(arg(0));
      const std::string to = python_str(arg(1));
      for (auto at = out.find(from); !from.empty() && at != std::string::npos; at = out.find(from, at + to.size()))
        out.replace(at, from.size(), to);
      return out;
    }
    if (name == "split") {
      const std::string mark = a.empty() ? " " : python_str(arg(0));
      Value::List list;
      std::size_t from = 0;
      for (auto at = text.find(mark); at != std::string::npos; from = at + mark.size(), at = text.find(mark, from)) {
        list.emplace_back(text.substr(from, at - from));
      }
      list.emplace_back(text.substr(from));
      return Value::list(std::move(list));
    }
    return v;
  }
  if (name == "get" || name == "items" || name == "pop" || name == "copy") {
    rule_error("AttributeError", f.function, fmt::format("{} has no {}", v.repr(), name));
  }
  return Value();
}

const ConfigClass* class_named(RuleFrame& f, const Value& factory) {
  const auto& parts = factory.as_list();
  const std::string_view kind = parts[0].as_string();
  if (kind == "class") return f.tables.find(parts[1].as_string());
  if (kind == "named") return class_value(f, evaluate(f, parts[1]));
  const std::string key = python_str(attribute_value(evaluate(f, parts[1])));
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

Arguments to_arguments(RuleFrame& f, const Value& expression) {
  if (op_of(expression) == "k") return f.kwargs;
  const auto& parts = expression.as_list();
  Arguments out;
  if (op_of(expression) == "dict") {
    for (std::size_t i = 1; i + 1 < parts.size(); i += 2) {
      put(out, python_str(attribute_value(evaluate(f, parts[i]))), evaluate(f, parts[i + 1]));
    }
    return out;
  }
  if (op_of(expression) == "merge") {
    for (std::size_t i = 1; i < parts.size(); ++i) {
      for (auto& [key, value] : to_arguments(f, parts[i])) put(out, key, std::move(value));
    }
    return out;
  }
  const Value dict = attribute_value(evaluate(f, expression));
  if (!dict.is_dict()) rule_error("TypeError", f.function, fmt::format("{} is no mapping", dict.repr().substr(0, 40)));
  for (const auto& [key, value] : dict.as_dict()) out.emplace_back(key, value);
  return out;
}

}  // namespace

Attribute call_own(RuleFrame& f, std::string_view key, const Arguments& given) {
  const Value* function = f.tables.function(key);
  if (function == nullptr) return Value();
  RuleFrame inner{f.tables, f.owner, f.self, {}, {}, f.function, false, false, Value()};
  // SGLang's own methods stand in a traceback under their names; transformers' do not.
  const auto point = key.rfind('.');
  const ConfigClass* definer = point == key.npos ? nullptr : f.tables.find(key.substr(0, point));
  if ((definer != nullptr && definer->own) || function->find("own") != nullptr) inner.function = key.substr(point + 1);
  if (const Value* parameters = function->find("parameters")) {
    for (const auto& p : parameters->as_list()) put(inner.locals, p.as_list()[0].as_string(), p.as_list()[1]);
  }
  for (const auto& [name, value] : given) put(inner.locals, name, value);
  if (const Value* rules = function->find("rules")) run_rules(inner, *rules);
  return inner.result;
}

namespace {

Attribute comprehension(RuleFrame& f, const std::vector<Value>& p) {
  const Value::List items = items_of(attribute_value(evaluate(f, p[3])));
  Value::List list;
  for (const auto& item : items) {
    bind(f, p[2], item);
    if (!p[4].is_none() && !attribute_truthy(evaluate(f, p[4]))) continue;
    list.push_back(attribute_value(evaluate(f, p[1])));
  }
  return Value::list(std::move(list));
}

Attribute dict_comprehension(RuleFrame& f, const std::vector<Value>& p) {
  Value dict = Value::dict({});
  for (const auto& item : items_of(attribute_value(evaluate(f, p[4])))) {
    bind(f, p[3], item);
    if (!p[5].is_none() && !attribute_truthy(evaluate(f, p[5]))) continue;
    const std::string key = python_str(attribute_value(evaluate(f, p[1])));
    dict = dict.with(key, attribute_value(evaluate(f, p[2])));
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

bool is_arithmetic(std::string_view op) {
  return op == "+" || op == "-" || op == "*" || op == "/" || op == "//" || op == "%" || op == "**" || op == "|";
}

bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=" || op == "is" ||
         op == "isnot" || op == "in" || op == "notin";
}

}  // namespace

Attribute evaluate(RuleFrame& f, const Value& e) {
  if (!e.is_list()) return e;
  const auto& p = e.as_list();
  const std::string_view op = p[0].as_string();
  if (op == "'" || op == "c") return p[1];
  if (op == "s") return get_attribute(f, f.self, p[1].as_string(), nullptr);
  if (op == "self") return f.self;
  if (op == "k") return to_dict(f.kwargs);
  if (op == "l") {
    const Attribute* found = find(f.locals, p[1].as_string());
    if (found == nullptr) rule_error("UnboundLocalError", f.function, p[1].as_string() + " has no value yet");
    return *found;
  }
  if (op == ".") return get_attribute(f, evaluate(f, p[1]), p[2].as_string(), nullptr);
  if (op == "getattr" || op == "hasattr") {
    const Attribute object = evaluate(f, p[1]);
    const std::string name = python_str(attribute_value(evaluate(f, p[2])));
    const auto* config = std::get_if<HfConfigPtr>(&object);
    if (op == "hasattr") return Value(config != nullptr && (*config)->has(name));
    if (p.size() < 4) return get_attribute(f, object, name, nullptr);
    const Attribute fallback = evaluate(f, p[3]);
    return get_attribute(f, object, name, &fallback);
  }
  if (op == "and" || op == "or") {
    Attribute value = Value();
    for (std::size_t i = 1; i < p.size(); ++i) {
      value = evaluate(f, p[i]);
      if (attribute_truthy(value) != (op == "and")) break;
    }
    return value;
  }
  if (op == "not") return Value(!attribute_truthy(evaluate(f, p[1])));
  if (op == "if") return evaluate(f, attribute_truthy(evaluate(f, p[1])) ? p[2] : p[3]);
  if (is_comparison(op)) {
    if (p[2].is_list() && op_of(p[2]) == "k") {
      const bool there = find(f.kwargs, python_str(attribute_value(evaluate(f, p[1])))) != nullptr;
      return Value(there == (op == "in"));
    }
    return compare(f, op, evaluate(f, p[1]), evaluate(f, p[2]));
  }
  if (is_arithmetic(op)) {
    Value total = attribute_value(evaluate(f, p[1]));
    for (std::size_t i = 2; i < p.size(); ++i) total = arithmetic(f, op, total, attribute_value(evaluate(f, p[i])));
    return total;
  }
  if (op == "list") {
    Value::List list;
    for (std::size_t i = 1; i < p.size(); ++i) list.push_back(attribute_value(evaluate(f, p[i])));
    return Value::list(std::move(list));
  }
  if (op == "dict" || op == "merge") return to_dict(to_arguments(f, e));
  if (op == "[]") {
    if (p[1].is_list() && op_of(p[1]) == "k") {
      const std::string key = python_str(attribute_value(evaluate(f, p[2])));
      const Attribute* found = find(f.kwargs, key);
      if (found == nullptr) rule_error("KeyError", f.function, key + " is missing");
      return *found;
    }
    return index(f, attribute_value(evaluate(f, p[1])), attribute_value(evaluate(f, p[2])));
  }
  if (op == "slice") {
    const auto part = [&](std::size_t i) { return p[i].is_none() ? Value() : attribute_value(evaluate(f, p[i])); };
    return slice(part(1), part(2), part(3));
  }
  if (op == "for") return comprehension(f, p);
  if (op == "dictcomp") return dict_comprehension(f, p);
  if (op == "let") {
    Attribute value = evaluate(f, p[2]);
    put(f.locals, p[1].as_string(), value);
    return value;
  }
  if (op == "cat") {
    std::string text;
    for (std::size_t i = 1; i < p.size(); ++i) text += python_str(attribute_value(evaluate(f, p[i])));
    return Value(text);
  }
  if (op == "call") {
    std::vector<Value> a;
    for (std::size_t i = 2; i < p.size(); ++i) {
      const Attribute value = evaluate(f, p[i]);
      if (p[1].as_string() == "copy" && std::holds_alternative<HfConfigPtr>(value))
        return std::get<HfConfigPtr>(value)->deep_copy();
      a.push_back(attribute_value(value));
    }
    return builtin(f, p[1].as_string(), a);
  }
  if (op == "m") return method(f, e);
  if (op == "isinstance") {
    const Attribute object = evaluate(f, p[1]);
    const auto& kinds = p[2].as_list();
    return Value(std::any_of(kinds.begin(), kinds.end(), [&](const Value& kind) {
      if (kind.is_string()) return is_kind(object, kind.as_string());
      const ConfigClass* found = class_value(f, evaluate(f, kind));
      return found != nullptr && is_kind(object, found->name);
    }));
  }
  if (op == "new") {
    const ConfigClass* found = class_named(f, p[1]);
    if (found == nullptr) rule_error("TypeError", f.function, "unknown configuration class");
    return construct(*found, to_arguments(f, p[2]), f.function);
  }
  if (op == "own") {
    Arguments given;
    for (const auto& a : p[2].as_list()) given.emplace_back(a.as_list()[0].as_string(), evaluate(f, a.as_list()[1]));
    return call_own(f, p[1].as_string(), given);
  }
  if (op == "next") {
    const Value::List list = items_of(attribute_value(evaluate(f, p[1])));
    return list.empty() ? evaluate(f, p[2]) : Attribute(list[0]);
  }
  if (op == "first") {
    for (std::size_t i = 1; i < p.size(); ++i) {
      const Value v = attribute_value(evaluate(f, p[i]));
      if (!v.is_none()) return v;
    }
    return Value();
  }
  if (op == "textconfig") {
    const Attribute object = evaluate(f, p[1]);
    if (const auto* config = std::get_if<HfConfigPtr>(&object)) {
      const HfConfigPtr text = (*config)->sub("text_config");
      return text ? text : *config;
    }
    return object;
  }
  if (op == "signature") return parameter_names(f, p);
  if (op == "knowntype" || op == "typeclass") {
    const std::string model_type = python_str(attribute_value(evaluate(f, p[1])));
    const ConfigClass* found = f.tables.type(model_type);
    if (op == "knowntype") return Value(found != nullptr);
    if (found == nullptr) rule_error("KeyError", f.function, fmt::format("model type {} is unknown", model_type));
    return Value(std::string(kClassValue) + found->key);
  }
  return Value();
}

void run_rules(RuleFrame& f, const Value& rules) {
  for (const auto& rule : rules.as_list()) {
    if (f.returned || f.skipped) return;
    const auto& p = rule.as_list();
    const std::string_view op = p[0].as_string();
    if (op == "=") {
      set_checked(f.self, p[1].as_string(), evaluate(f, p[2]), f.function);
    } else if (op == "$") {
      put(f.locals, p[1].as_string(), evaluate(f, p[2]));
    } else if (op == "?") {
      run_rules(f, attribute_truthy(evaluate(f, p[1])) ? p[2] : p[3]);
    } else if (op == "each") {
      for (const auto& item : items_of(attribute_value(evaluate(f, p[2])))) {
        bind(f, p[1], item);
        run_rules(f, p[3]);
        f.skipped = false;
        if (f.returned) return;
      }
    } else if (op == "item") {
      const Attribute value = evaluate(f, p[3]);
      if (op_of(p[1]) == "k") {
        put(f.kwargs, python_str(attribute_value(evaluate(f, p[2]))), value);
        continue;
      }
      const Value container = attribute_value(evaluate(f, p[1]));
      const Value key = attribute_value(evaluate(f, p[2]));
      if (container.is_list() && key.is_number()) {
        Value::List list = container.as_list();
        const std::int64_t at = key.as_int() < 0 ? key.as_int() + static_cast<std::int64_t>(list.size()) : key.as_int();
        if (at >= 0 && at < static_cast<std::int64_t>(list.size()))
          list[static_cast<std::size_t>(at)] = attribute_value(value);
        store(f, p[1], Value::list(std::move(list)));
      } else if (container.is_dict()) {
        store(f, p[1], container.with(python_str(key), attribute_value(value)));
      } else {
        rule_error("TypeError", f.function, "it takes no items");
      }
    } else if (op == "setattr") {
      const Attribute object = evaluate(f, p[1]);
      const std::string name = python_str(attribute_value(evaluate(f, p[2])));
      if (const auto* config = std::get_if<HfConfigPtr>(&object)) {
        const Attribute value = evaluate(f, p[3]);
        if (const auto* sub = std::get_if<HfConfigPtr>(&value)) {
          (*config)->set(name, *sub);
        } else {
          (*config)->set(name, std::get<Value>(value));
        }
      }
    } else if (op == "super") {
      run_post(f.owner == nullptr ? nullptr : f.owner->base, f.self, to_arguments(f, p[1]), f.function);
    } else if (op == "superinit") {
      if (f.owner != nullptr && f.owner->base != nullptr)
        run_init(*f.owner->base, f.self, to_arguments(f, p[1]), f.function);
    } else if (op == "warn") {
      note_class_warning(f.function);
    } else if (op == "superrope") {
      f.kwargs = convert_rope(f.owner == nullptr ? nullptr : f.owner->base, f.self, to_arguments(f, p[1]), f.function);
    } else if (op == "rope") {
      standardize_rope(f.tables.release(), f.self, f.function);
    } else if (op == "validate") {
      run_validator(nullptr, f.self, p[1].as_string(), f.function);
    } else if (op == "kwargs") {
      const Value dict = attribute_value(evaluate(f, p[1]));
      f.kwargs.clear();
      for (const auto& [k, v] : dict.as_dict()) f.kwargs.emplace_back(k, v);
    } else if (op == "raise") {
      rule_error(p[1].as_string(), f.function, "the configuration class refuses the values");
    } else if (op == "return") {
      f.result = evaluate(f, p[1]);
      f.returned = true;
    } else if (op == "continue") {
      f.skipped = true;
    } else if (op == "del") {
      if (op_of(p[1]) == "[]" && op_of(p[1].as_list()[1]) == "k")
        drop(f.kwargs, python_str(attribute_value(evaluate(f, p[1].as_list()[2]))));
    } else if (op == "do") {
      evaluate(f, p[1]);
    }
  }
}

namespace {

// Properties found while one configuration is read out; they ask each other, in loops over the layers.
struct KnownProperty {
  const HfConfig* config;
  const std::string* function;
  Attribute value;
};
thread_local std::vector<KnownProperty>* known_properties = nullptr;

Attribute compute_property(const HfConfig& config, const std::string& function) {
  const ConfigClass* owner = config.config_class();
  const HfConfigPtr self = std::const_pointer_cast<HfConfig>(config.shared_from_this());
  RuleFrame frame{*owner->tables, owner, self, {}, {}, "__getattribute__", false, false, Value()};
  try {
    return attribute_value(call_own(frame, function, {}));
  } catch (const Raised&) {
    return Value();
  }
}

}  // namespace

Value from_dict(const ConfigClass& config_class, Value dict, std::string_view frame) {
  if (!config_class.from_dict.is_list()) return dict;
  RuleFrame f{*config_class.tables, &config_class, nullptr, {}, {}, frame, false, false, Value()};
  put(f.locals, config_class.from_dict.as_list()[0].as_string(), std::move(dict));
  return attribute_value(evaluate(f, config_class.from_dict.as_list()[1]));
}

Attribute property_value(const HfConfig& config, const std::string& function) {
  if (config.config_class() == nullptr || config.config_class()->tables == nullptr || function.empty()) return Value();
  if (known_properties == nullptr) return compute_property(config, function);
  for (const auto& known : *known_properties) {
    if (known.config == &config && known.function == &function) return known.value;
  }
  Attribute value = compute_property(config, function);
  known_properties->push_back({&config, &function, value});
  return value;
}

Value read_out(const HfConfig& config) {
  struct Scope {
    std::vector<KnownProperty> known;
    Scope() { known_properties = &known; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { known_properties = nullptr; }
  };
  const Scope scope;
  return config.to_value_with_properties();
}

}  // namespace preflight::facts
