// Value: one Python value as it occurs in ServerArgs (None, bool, int, float, str, list, dict).
//
// SGLang's decisions depend on Python's distinctions (None is not False, True is not 1.0, 1 is not 1.0 when
// printed), so resolution computes on this type and never on JSON. Lists and dicts are immutable and shared:
// copying a Value is cheap, and a changed container is a new one. Dicts keep insertion order, as Python's do.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "preflight/result.h"

namespace preflight {

class Value {
 public:
  using List = std::vector<Value>;
  using Item = std::pair<std::string, Value>;
  using Dict = std::vector<Item>;

  Value() = default;                             // None
  Value(std::nullptr_t) {}                       // NOLINT(google-explicit-constructor): values are written as literals
  Value(bool b) : data_(b) {}                    // NOLINT(google-explicit-constructor)
  Value(int i) : data_(std::int64_t{i}) {}       // NOLINT(google-explicit-constructor)
  Value(std::int64_t i) : data_(i) {}            // NOLINT(google-explicit-constructor)
  Value(double d) : data_(d) {}                  // NOLINT(google-explicit-constructor)
  Value(std::string s) : data_(std::move(s)) {}  // NOLINT(google-explicit-constructor)
  Value(std::string_view s) : data_(std::string(s)) {}  // NOLINT(google-explicit-constructor)
  Value(const char* s) : data_(std::string(s)) {}       // NOLINT(google-explicit-constructor)
  static Value list(List items) { return Value(std::make_shared<const List>(std::move(items))); }
  static Value dict(Dict items) { return Value(std::make_shared<const Dict>(std::move(items))); }

  [[nodiscard]] bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(data_); }
  [[nodiscard]] bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }
  [[nodiscard]] bool is_float() const { return std::holds_alternative<double>(data_); }
  [[nodiscard]] bool is_number() const { return is_bool() || is_int() || is_float(); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(data_); }
  [[nodiscard]] bool is_list() const { return std::holds_alternative<ListPtr>(data_); }
  [[nodiscard]] bool is_dict() const { return std::holds_alternative<DictPtr>(data_); }

  // Python's bool(x).
  [[nodiscard]] bool truthy() const;
  // The contained value; the caller has checked the kind (asserted).
  [[nodiscard]] bool as_bool() const { return std::get<bool>(data_); }
  [[nodiscard]] std::int64_t as_int() const;  // bool counts as 0 or 1, as in Python
  [[nodiscard]] double as_number() const;     // bool, int or float
  [[nodiscard]] const std::string& as_string() const { return std::get<std::string>(data_); }
  [[nodiscard]] const List& as_list() const { return *std::get<ListPtr>(data_); }
  [[nodiscard]] const Dict& as_dict() const { return *std::get<DictPtr>(data_); }

  // dict lookup; nullptr when this is no dict or has no such key.
  [[nodiscard]] const Value* find(std::string_view key) const;
  // Same dict with one key set (appended when new). A None counts as an empty dict.
  [[nodiscard]] Value with(std::string_view key, Value value) const;

  // Python's == : 1 == 1.0 == True; None equals only None; dicts compare without order.
  friend bool operator==(const Value& a, const Value& b);
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }
  // Same kind and equal: what counts as "unchanged" in the chain of changes.
  [[nodiscard]] bool identical(const Value& other) const;

  // Python's repr(), used in messages and where SGLang itself stores str(x).
  [[nodiscard]] std::string repr() const;
  // Compact JSON; nan and infinities as strings, as the recorder writes them.
  void append_json(std::string& out) const;
  [[nodiscard]] std::string json() const;
  // Strict JSON text (Python's json.loads: NaN, Infinity accepted). The error says line and column.
  static Result<Value> parse_json(std::string_view text);

 private:
  using ListPtr = std::shared_ptr<const List>;
  using DictPtr = std::shared_ptr<const Dict>;
  explicit Value(ListPtr p) : data_(std::move(p)) {}
  explicit Value(DictPtr p) : data_(std::move(p)) {}

  std::variant<std::monostate, bool, std::int64_t, double, std::string, ListPtr, DictPtr> data_;
};

// Python's repr(float): the shortest text that reads back to the same double.
std::string python_float_repr(double d);
// JSON string literal with quotes; invalid UTF-8 is replaced, so that output is always valid JSON.
void append_json_string(std::string& out, std::string_view s);

}  // namespace preflight
