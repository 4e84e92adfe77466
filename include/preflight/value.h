// Value: one Python value as it occurs in ServerArgs (None, bool, int, float, str, list, dict).
//
// SGLang's decisions depend on Python's distinctions (None is not False, True is not 1.0, 1 is not 1.0 when
// printed), so resolution computes on this type and never on JSON. Strings, lists and dicts are immutable and shared:
// copying a Value is cheap, and a changed container is a new one. Dicts keep insertion order, as Python's do.
// Steps copy dozens of Values a launch; hence 16 bytes and a count of owners inside, where a std::variant of
// std::string and std::shared_ptr takes 40 and a dispatch per copy. An int beyond 64 bits keeps its digits; as_int() of
// it is the nearest number of 64 bits, which orders it rightly among all others, and repr, JSON and equality see the
// digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/result.h"

namespace preflight {

class Value {
 public:
  using List = std::vector<Value>;
  using Item = std::pair<std::string, Value>;
  using Dict = std::vector<Item>;

  Value() {}                // None
  Value(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): values are literals
  Value(bool b) : kind_(Kind::kBool) { held_.integer = b ? 1 : 0; }  // NOLINT(google-explicit-constructor)
  Value(int i) : Value(std::int64_t{i}) {}                           // NOLINT(google-explicit-constructor)
  Value(std::int64_t i) : kind_(Kind::kInt) { held_.integer = i; }   // NOLINT(google-explicit-constructor)
  Value(double d) : kind_(Kind::kFloat) { held_.number = d; }        // NOLINT(google-explicit-constructor)
  Value(std::string s);                                              // NOLINT(google-explicit-constructor)
  Value(std::string_view s);                                         // NOLINT(google-explicit-constructor)
  Value(const char* s);                                              // NOLINT(google-explicit-constructor)
  static Value list(List items);
  static Value dict(Dict items);
  // The int of a decimal text (an optional '-', then digits), as long as it may be: Python's have no limit.
  static Value integer(std::string_view decimal);

  Value(const Value& other) noexcept : kind_(other.kind_), held_(other.held_) { join(); }
  Value(Value&& other) noexcept : kind_(other.kind_), held_(other.held_) { other.kind_ = Kind::kNone; }
  // By way of a temporary: `other` may lie inside what this Value holds, or be this Value.
  Value& operator=(const Value& other) noexcept { return *this = Value(other); }
  Value& operator=(Value&& other) noexcept {
    Value taken(std::move(other));
    std::swap(kind_, taken.kind_);
    std::swap(held_, taken.held_);
    return *this;
  }
  ~Value() { leave(); }

  [[nodiscard]] bool is_none() const { return kind_ == Kind::kNone; }
  [[nodiscard]] bool is_bool() const { return kind_ == Kind::kBool; }
  [[nodiscard]] bool is_int() const { return kind_ == Kind::kInt || kind_ == Kind::kLongInt; }
  [[nodiscard]] bool is_long_int() const { return kind_ == Kind::kLongInt; }  // one beyond 64 bits
  [[nodiscard]] bool is_float() const { return kind_ == Kind::kFloat; }
  [[nodiscard]] bool is_number() const { return is_bool() || is_int() || is_float(); }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::kString; }
  [[nodiscard]] bool is_list() const { return kind_ == Kind::kList; }
  [[nodiscard]] bool is_dict() const { return kind_ == Kind::kDict; }

  // Python's bool(x).
  [[nodiscard]] bool truthy() const;
  // The contained value. Of another kind: std::bad_variant_access, Python's TypeError during resolution.
  [[nodiscard]] bool as_bool() const { return need(Kind::kBool).integer != 0; }
  [[nodiscard]] std::int64_t as_int() const;  // bool counts as 0 or 1, as in Python; bounded to 64 bits
  [[nodiscard]] double as_number() const;     // bool, int or float
  [[nodiscard]] const std::string& as_string() const { return shared<std::string>(Kind::kString); }
  [[nodiscard]] const List& as_list() const { return shared<List>(Kind::kList); }
  [[nodiscard]] const Dict& as_dict() const { return shared<Dict>(Kind::kDict); }

  // dict lookup; nullptr when this is no dict or has no such key.
  [[nodiscard]] const Value* find(std::string_view key) const;
  // Same dict with one key set (appended when new). A None counts as an empty dict. A Value that is moved from and
  // holds its dict alone is changed where it is.
  [[nodiscard]] Value with(std::string_view key, Value value) const&;
  [[nodiscard]] Value with(std::string_view key, Value value) &&;

  // Python's == : 1 == 1.0 == True; None equals only None; dicts compare without order.
  friend bool operator==(const Value& a, const Value& b);
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }
  // Same kind and equal: what counts as "unchanged" in the chain of changes.
  [[nodiscard]] bool identical(const Value& other) const {
    if (kind_ != other.kind_) return false;
    // Nearly always asked about fields that hold their default: what is held alike is equal, but for nan.
    if (held_.integer == other.held_.integer) return kind_ != Kind::kFloat || held_.number == other.held_.number;
    return kind_ != Kind::kBool && kind_ != Kind::kInt && identical_content(other);
  }

  // Python's repr(), used in messages and where SGLang itself stores str(x).
  [[nodiscard]] std::string repr() const;
  // Compact JSON; nan and infinities as strings, as the recorder writes them.
  void append_json(std::string& out) const;
  [[nodiscard]] std::string json() const;
  // Strict JSON text (Python's json.loads: NaN, Infinity accepted). The error says line and column.
  static Result<Value> parse_json(std::string_view text);

 private:
  // From kLongInt on what a Value holds is shared.
  enum class Kind : std::uint8_t { kNone, kBool, kInt, kFloat, kLongInt, kString, kList, kDict };
  struct LongInt {
    std::int64_t nearest;
    std::string digits;  // of more than 64 bits, with its sign, without leading zeros
  };

  // What several Values hold together; the last one that leaves deletes it.
  struct Shared {
    mutable int owners = 1;
  };
  template <typename T>
  struct Holding : Shared {
    explicit Holding(T content) : value(std::move(content)) {}
    T value;
  };
  union Held {
    std::int64_t integer = 0;  // of a bool: 0 or 1
    double number;
    const Shared* shared;
  };

  template <typename T>
  Value(Kind kind, T content) : kind_(kind) {
    held_.shared = new Holding<T>(std::move(content));
  }
  // In line only as far as most Values go: a step makes and drops dozens, and what they would do otherwise, written
  // out at every place, is code that pushes the next step's out of the instruction cache.
  void join() const {
    if (kind_ >= Kind::kLongInt) count_in();
  }
  void leave() {
    if (kind_ >= Kind::kLongInt) count_out();
  }
  void count_in() const;
  void count_out();
  void destroy();
  [[nodiscard]] bool identical_content(const Value& other) const;

  [[noreturn]] static void refuse_kind();
  [[nodiscard]] const Held& need(Kind kind) const {
    if (kind_ != kind) refuse_kind();
    return held_;
  }
  template <typename T>
  [[nodiscard]] const T& shared(Kind kind) const {
    return static_cast<const Holding<T>*>(need(kind).shared)->value;
  }

  Kind kind_ = Kind::kNone;
  Held held_;
};

// Python's repr(float): the shortest text that reads back to the same double.
std::string python_float_repr(double d);
// True when a JSON string literal is the text between quotes: printable ASCII without quotes and backslashes.
bool is_plain_json(std::string_view s);
// JSON string literal with quotes; invalid UTF-8 is replaced, so that output is always valid JSON.
void append_json_string(std::string& out, std::string_view s);

}  // namespace preflight
