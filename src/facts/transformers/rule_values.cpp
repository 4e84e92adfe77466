// Python's operators and built-in functions over values. Tested by tests/facts_model_test.cpp.
#include "src/facts/transformers/rule_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "src/base/limits.h"

namespace preflight::facts::rules {

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

Value::List iterated(const RuleFrame& f, const Value& v) {
  if (v.is_none() || v.is_bool() || v.is_number())
    rule_error("TypeError", f.function, fmt::format("{} has no items to go through", v.repr()));
  return items_of(v);
}

namespace {

void require_countable(const RuleFrame& f, double items) {
  if (items <= static_cast<double>(limits::kListItems)) return;
  const bool endless = items > static_cast<double>(limits::kPythonItems);
  rule_error(endless ? "MemoryError" : std::string(limits::kOurs), f.function,
             fmt::format("a list of {:.0f} items, and no model has that", items));
}

Value repeated(const RuleFrame& f, const Value& items, const Value& count) {
  Value::List list;
  require_countable(f, static_cast<double>(items.as_list().size()) * (count.is_number() ? count.as_number() : 0.0));
  for (std::int64_t i = 0; count.is_number() && i < count.as_int(); ++i) {
    list.insert(list.end(), items.as_list().begin(), items.as_list().end());
  }
  return Value::list(std::move(list));
}

// Union and difference of sets, which are lists or the keys of a dict.
Value of_sets(std::string_view op, const Value& a, const Value& b) {
  Value::List list;
  const Value::List other = items_of(b);
  for (const auto& item : items_of(a)) {
    if (op == "|" || std::find(other.begin(), other.end(), item) == other.end()) list.push_back(item);
  }
  if (op == "|") list.insert(list.end(), other.begin(), other.end());
  return Value::list(std::move(list));
}

// Operators of texts, lists, dicts and sets; none where they are operators of numbers.
std::optional<Value> of_containers(const RuleFrame& f, std::string_view op, const Value& a, const Value& b) {
  if (op == "+" && a.is_string() && b.is_string()) return a.as_string() + b.as_string();
  if (op == "+" && a.is_list() && b.is_list()) {
    Value::List list = a.as_list();
    list.insert(list.end(), b.as_list().begin(), b.as_list().end());
    return Value::list(std::move(list));
  }
  if (op == "*" && (a.is_list() || b.is_list())) return a.is_list() ? repeated(f, a, b) : repeated(f, b, a);
  if (op == "|" && a.is_dict() && b.is_dict()) {
    Value merged = a;
    for (const auto& [k, v] : b.as_dict()) merged = std::move(merged).with(k, v);
    return merged;
  }
  const auto is_set = [](const Value& v) { return v.is_list() || v.is_dict(); };
  if ((op == "-" || (op == "|" && !a.is_dict())) && is_set(a) && is_set(b)) return of_sets(op, a, b);
  return std::nullopt;
}

Value of_floats(std::string_view op, double x, double y) {
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  return op == "//" ? Value(std::floor(x / y)) : Value(x - y * std::floor(x / y));
}

Value of_ints(std::string_view op, std::int64_t i, std::int64_t j) {
  if (op == "+") return i + j;
  if (op == "-") return i - j;
  if (op == "*") return i * j;
  const std::int64_t q = i / j - ((i % j != 0 && (i < 0) != (j < 0)) ? 1 : 0);
  return op == "//" ? Value(q) : Value(i - q * j);
}

}  // namespace

Value arithmetic(const RuleFrame& f, std::string_view op, const Value& a, const Value& b) {
  if (auto value = of_containers(f, op, a, b)) return *std::move(value);
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
  return whole ? of_ints(op, a.as_int(), b.as_int()) : of_floats(op, x, y);
}

bool is_arithmetic(std::string_view op) {
  constexpr std::array<std::string_view, 8> kOperators{"+", "-", "*", "/", "//", "%", "**", "|"};
  return std::ranges::find(kOperators, op) != kOperators.end();
}

bool is_comparison(std::string_view op) {
  constexpr std::array<std::string_view, 10> kOperators{"==", "!=", "<", "<=", ">", ">=", "is", "isnot", "in", "notin"};
  return std::ranges::find(kOperators, op) != kOperators.end();
}

namespace {

bool contains(const Value& container, const Value& item) {
  if (container.is_dict()) return item.is_string() && container.find(item.as_string()) != nullptr;
  if (container.is_list()) {
    return std::find(container.as_list().begin(), container.as_list().end(), item) != container.as_list().end();
  }
  return container.is_string() && item.is_string() && container.as_string().find(item.as_string()) != std::string::npos;
}

}  // namespace

Value compare(const RuleFrame& f, std::string_view op, const Attribute& a, const Attribute& b) {
  const Value x = attribute_value(a);
  const Value y = attribute_value(b);
  if (op == "==" || op == "is") return op == "is" ? x.identical(y) : x == y;
  if (op == "!=" || op == "isnot") return op == "isnot" ? !x.identical(y) : x != y;
  if (op == "in") return contains(y, x);
  if (op == "notin") return !contains(y, x);
  if (op == "<=" && x.is_list() && y.is_list()) {  // of sets: classes compare no lists
    return std::ranges::all_of(x.as_list(), [&](const Value& item) { return contains(y, item); });
  }
  if (!x.is_number() || !y.is_number()) {
    rule_error("TypeError", f.function, fmt::format("{} {} {} needs numbers", x.repr(), op, y.repr()));
  }
  if (op == "<") return x.as_number() < y.as_number();
  if (op == "<=") return x.as_number() <= y.as_number();
  return op == ">" ? x.as_number() > y.as_number() : x.as_number() >= y.as_number();
}

std::size_t position_in(const RuleFrame& f, const Value::List& list, const Value& key) {
  const auto size = static_cast<std::int64_t>(list.size());
  const std::int64_t at = key.as_int() < 0 ? key.as_int() + size : key.as_int();
  if (at < 0 || at >= size) rule_error("IndexError", f.function, fmt::format("index {} is out of range", at));
  return static_cast<std::size_t>(at);
}

Value index(const RuleFrame& f, const Value& container, const Value& key) {
  if (container.is_dict()) {
    const Value* found = container.find(python_str(key));
    if (found == nullptr) rule_error("KeyError", f.function, fmt::format("{} is missing", key.repr()));
    return *found;
  }
  if (!key.is_number()) rule_error("TypeError", f.function, fmt::format("{} is no index", key.repr()));
  if (container.is_none()) rule_error("TypeError", f.function, "None has no items");
  const Value::List list = items_of(container);
  return list[position_in(f, list, key)];
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

namespace {

Value range(const RuleFrame& f, const std::vector<Value>& a) {
  const std::int64_t from = a.size() > 1 ? a[0].as_int() : 0;
  const std::int64_t to = a.size() > 1 ? a[1].as_int() : a[0].as_int();
  const std::int64_t step = a.size() > 2 ? a[2].as_int() : 1;
  if (step == 0) rule_error("ValueError", f.function, "a range with steps of zero");
  require_countable(f, (static_cast<double>(to) - static_cast<double>(from)) / static_cast<double>(step));
  Value::List list;
  for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step) list.emplace_back(i);
  return Value::list(std::move(list));
}

double number(const RuleFrame& f, const Value& v) {
  if (!v.is_number()) rule_error("TypeError", f.function, fmt::format("{} is not a number", v.repr()));
  return v.as_number();
}

// Functions of numbers and texts; none where `name` is no such function.
std::optional<Value> scalar_function(const RuleFrame& f, std::string_view name, const std::vector<Value>& a) {
  if (name == "bool") return !a.empty() && a[0].truthy();
  if (a.empty()) return std::nullopt;
  const auto whole = [](double v) { return Value(static_cast<std::int64_t>(v)); };
  if (name == "int") {
    if (a[0].is_string()) return static_cast<std::int64_t>(std::strtoll(a[0].as_string().c_str(), nullptr, 10));
    return whole(number(f, a[0]));
  }
  if (name == "float") return number(f, a[0]);
  if (name == "str") return python_str(a[0]);
  if (name == "abs") return a[0].is_float() ? Value(std::fabs(a[0].as_number())) : Value(std::abs(a[0].as_int()));
  if (name == "ceil") return whole(std::ceil(number(f, a[0])));
  if (name == "floor") return whole(std::floor(number(f, a[0])));
  if (name == "sqrt") return std::sqrt(number(f, a[0]));
  if (name == "log2") return std::log2(number(f, a[0]));
  if (name == "log") return std::log(number(f, a[0]));
  if (name == "round") return whole(std::nearbyint(number(f, a[0])));
  return std::nullopt;
}

Value extreme(const RuleFrame& f, bool largest, const std::vector<Value>& a) {
  const Value::List list = a.size() == 1 ? iterated(f, a[0]) : Value::List(a.begin(), a.end());
  if (list.empty()) rule_error("ValueError", f.function, "the list is empty");
  Value best = list[0];
  for (const auto& v : list) {
    if (largest ? number(f, v) > number(f, best) : number(f, v) < number(f, best)) best = v;
  }
  return best;
}

Value length(const RuleFrame& f, const Value& v) {
  if (v.is_none() || v.is_number()) rule_error("TypeError", f.function, "it has no length");
  return static_cast<std::int64_t>(v.is_dict() ? v.as_dict().size() : items_of(v).size());
}

Value without_repetition(const Value::List& list) {
  Value::List once;
  for (const auto& v : list) {
    if (std::find(once.begin(), once.end(), v) == once.end()) once.push_back(v);
  }
  return Value::list(std::move(once));
}

Value enumerated(const Value::List& list) {
  Value::List pairs;
  for (std::size_t i = 0; i < list.size(); ++i) {
    pairs.push_back(Value::list({static_cast<std::int64_t>(i), list[i]}));
  }
  return Value::list(std::move(pairs));
}

Value zipped(const Value::List& list, const Value::List& other) {
  Value::List pairs;
  for (std::size_t i = 0; i < std::min(list.size(), other.size()); ++i) {
    pairs.push_back(Value::list({list[i], other[i]}));
  }
  return Value::list(std::move(pairs));
}

// Functions of what a value gives when iterated over.
Value list_function(const RuleFrame& f, std::string_view name, const std::vector<Value>& a) {
  Value::List list = iterated(f, a[0]);
  const auto truthy = [](const Value& v) { return v.truthy(); };
  if (name == "sum") {
    Value total = 0;
    for (const auto& v : list) total = arithmetic(f, "+", total, v);
    return total;
  }
  if (name == "prod") {
    Value product = 1;
    for (const auto& v : list) product = arithmetic(f, "*", product, v);
    return product;
  }
  if (name == "any") return std::ranges::any_of(list, truthy);
  if (name == "all") return std::ranges::all_of(list, truthy);
  if (name == "set") return without_repetition(list);
  if (name == "enumerate") return enumerated(list);
  if (name == "zip") return zipped(list, a.size() > 1 ? iterated(f, a[1]) : Value::List{});
  if (name == "reversed") std::ranges::reverse(list);
  if (name == "sorted") {
    std::ranges::stable_sort(list, [](const Value& x, const Value& y) {
      if (x.is_number() && y.is_number()) return x.as_number() < y.as_number();
      return x.repr() < y.repr();
    });
  }
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

}  // namespace

Value builtin(const RuleFrame& f, std::string_view name, const std::vector<Value>& a) {
  if (auto value = scalar_function(f, name, a)) return *std::move(value);
  if (name == "dict") return a.empty() ? Value::dict({}) : a[0];
  if (name == "list" || name == "tuple") return Value::list(a.empty() ? Value::List{} : iterated(f, a[0]));
  if (a.empty()) return name == "set" ? Value::list({}) : Value();
  if (name == "remap_layer_types") return remap_layer_types(f, a[0]);
  if (name == "copy") return a[0];
  if (name == "range") {
    for (const auto& v : a) number(f, v);
    return range(f, a);
  }
  if (name == "max" || name == "min") return extreme(f, name == "max", a);
  if (name == "len") return length(f, a[0]);
  return list_function(f, name, a);
}

}  // namespace preflight::facts::rules
