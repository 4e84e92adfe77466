// Python's value semantics: truth, equality, repr, JSON. Tested by tests/value_test.cpp.
#include "preflight/value.h"

#include <ext/atomicity.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <variant>

#include <nlohmann/json.hpp>

namespace preflight {
namespace {

void append_repr_string(std::string& out, const std::string& s) {
  // Python prefers single quotes and switches to double ones when that saves escapes.
  const bool has_single = s.find('\'') != std::string::npos;
  const char quote = has_single && s.find('"') == std::string::npos ? '"' : '\'';
  out += quote;
  for (const char c : s) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  out += quote;
}

}  // namespace

Value::Value(std::string s) : Value(Kind::kString, std::move(s)) {}
Value::Value(std::string_view s) : Value(std::string(s)) {}
Value::Value(const char* s) : Value(std::string(s)) {}

// Counted as std::shared_ptr does: without a locked instruction as long as the process has one thread.
void Value::count_in() const { __gnu_cxx::__atomic_add_dispatch(&held_.shared->owners, 1); }

void Value::count_out() {
  if (__gnu_cxx::__exchange_and_add_dispatch(&held_.shared->owners, -1) == 1) destroy();
}

Value Value::list(List items) { return {Kind::kList, std::move(items)}; }
Value Value::dict(Dict items) { return {Kind::kDict, std::move(items)}; }

Value Value::integer(std::string_view decimal) {
  const bool negative = decimal.starts_with('-');
  std::string_view digits = decimal.substr(negative ? 1 : 0);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  std::string text = (negative ? "-" : "") + std::string(digits.empty() ? "0" : digits);
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) return number;
  using Limits = std::numeric_limits<std::int64_t>;
  return {Kind::kLongInt, LongInt{negative ? Limits::min() : Limits::max(), std::move(text)}};
}

void Value::refuse_kind() { throw std::bad_variant_access(); }

void Value::destroy() {
  switch (kind_) {
    case Kind::kLongInt:
      delete static_cast<const Holding<LongInt>*>(held_.shared);
      break;
    case Kind::kString:
      delete static_cast<const Holding<std::string>*>(held_.shared);
      break;
    case Kind::kList:
      delete static_cast<const Holding<List>*>(held_.shared);
      break;
    case Kind::kDict:
      delete static_cast<const Holding<Dict>*>(held_.shared);
      break;
    default:
      break;
  }
}

bool Value::truthy() const {
  if (is_none()) return false;
  if (is_bool()) return as_bool();
  if (is_int()) return is_long_int() || held_.integer != 0;
  if (is_float()) return held_.number != 0.0;
  if (is_string()) return !as_string().empty();
  if (is_list()) return !as_list().empty();
  return !as_dict().empty();
}

std::int64_t Value::as_int() const {
  if (is_long_int()) return shared<LongInt>(Kind::kLongInt).nearest;
  return is_bool() ? std::int64_t{as_bool()} : need(Kind::kInt).integer;
}

double Value::as_number() const {
  if (is_long_int()) return std::strtod(shared<LongInt>(Kind::kLongInt).digits.c_str(), nullptr);
  return is_float() ? held_.number : static_cast<double>(as_int());
}

const Value* Value::find(std::string_view key) const {
  if (!is_dict()) return nullptr;
  for (const auto& [k, v] : as_dict()) {
    if (k == key) return &v;
  }
  return nullptr;
}

namespace {

void put(Value::Dict& items, std::string_view key, Value value) {
  for (auto& [k, v] : items) {
    if (k == key) {
      v = std::move(value);
      return;
    }
  }
  items.emplace_back(std::string(key), std::move(value));
}

}  // namespace

Value Value::with(std::string_view key, Value value) const& {
  Dict items = is_none() ? Dict{} : as_dict();
  put(items, key, std::move(value));
  return dict(std::move(items));
}

Value Value::with(std::string_view key, Value value) && {
  const bool alone = kind_ == Kind::kDict && held_.shared->owners == 1;
  if (!alone) return static_cast<const Value&>(*this).with(key, std::move(value));
  put(const_cast<Dict&>(as_dict()), key, std::move(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return std::move(*this);
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (!a.is_float() && !b.is_float()) {
      if (a.is_long_int() && b.is_long_int()) return a.repr() == b.repr();
      return a.is_long_int() == b.is_long_int() && a.as_int() == b.as_int();
    }
    return a.as_number() == b.as_number();
  }
  if (a.kind_ != b.kind_) return false;
  if (a.is_none()) return true;
  if (a.is_string()) return a.as_string() == b.as_string();
  if (a.is_list()) return a.as_list() == b.as_list();
  const auto& x = a.as_dict();
  if (x.size() != b.as_dict().size()) return false;
  for (const auto& [k, v] : x) {
    const Value* other = b.find(k);
    if (other == nullptr || *other != v) return false;
  }
  return true;
}

bool Value::identical_content(const Value& other) const {
  if (is_none()) return true;
  if (is_list()) {
    const auto& x = as_list();
    const auto& y = other.as_list();
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!x[i].identical(y[i])) return false;
    }
    return true;
  }
  if (is_dict()) {
    if (as_dict().size() != other.as_dict().size()) return false;
    for (const auto& [k, v] : as_dict()) {
      const Value* o = other.find(k);
      if (o == nullptr || !v.identical(*o)) return false;
    }
    return true;
  }
  return *this == other;
}

std::string python_float_repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  std::array<char, 32> digits{};
  const auto written = [&](std::chars_format format) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), d, format).ptr;
    return std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  };
  const double size = std::abs(d);
  if (size == 0.0 || (size >= 1e-4 && size < 1e16)) {
    std::string out(written(std::chars_format::fixed));
    if (out.find('.') == std::string::npos) out += ".0";
    return out;
  }
  // Both write the mantissa as Python does, and at least two digits of the exponent.
  return std::string(written(std::chars_format::scientific));
}

std::string Value::repr() const {
  if (is_none()) return "None";
  if (is_bool()) return as_bool() ? "True" : "False";
  if (is_long_int()) return shared<LongInt>(Kind::kLongInt).digits;
  if (is_int()) return std::to_string(as_int());
  if (is_float()) return python_float_repr(held_.number);
  std::string out;
  if (is_string()) {
    append_repr_string(out, as_string());
    return out;
  }
  if (is_list()) {
    out = "[";
    for (const auto& v : as_list()) out += (out.size() > 1 ? ", " : "") + v.repr();
    return out + "]";
  }
  out = "{";
  for (const auto& [k, v] : as_dict()) {
    if (out.size() > 1) out += ", ";
    append_repr_string(out, k);
    out += ": " + v.repr();
  }
  return out + "}";
}

bool is_plain_json(std::string_view s) {
  // Eight bytes at a time. In each byte the highest bit tells: of w, "not ASCII"; of w - 0x20 without those, "below a
  // space"; of (w ^ c) - 1 likewise, "equals c". A borrow can only add to bytes above one that has already told.
  constexpr std::uint64_t kEach = 0x0101010101010101;
  constexpr std::uint64_t kHighest = 0x80 * kEach;
  constexpr std::uint64_t kSpaces = ' ' * kEach;
  const auto below = [](std::uint64_t w, std::uint64_t limit) { return (w - limit * kEach) & ~w; };
  std::uint64_t told = 0;
  const auto look = [&](std::uint64_t w) {
    told |= w | below(w, ' ') | below(w ^ ('"' * kEach), 1) | below(w ^ ('\\' * kEach), 1);
  };
  std::uint64_t w = 0;
  if (s.size() < sizeof(w)) {
    // Around the text stand spaces, which tell nothing.
    w = kSpaces;
    std::memcpy(&w, s.data(), s.size());
    look(w);
    return (told & kHighest) == 0;
  }
  // The last word overlaps the one before.
  for (std::size_t at = 0; at < s.size(); at += sizeof(w)) {
    std::memcpy(&w, s.data() + std::min(at, s.size() - sizeof(w)), sizeof(w));
    look(w);
  }
  return (told & kHighest) == 0;
}

void append_json_string(std::string& out, std::string_view s) {
  if (is_plain_json(s)) {
    out += '"';
    out += s;
    out += '"';
    return;
  }
  out += nlohmann::json(std::string(s)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Value::append_json(std::string& out) const {
  if (is_none()) {
    out += "null";
  } else if (is_bool()) {
    out += as_bool() ? "true" : "false";
  } else if (is_int()) {
    out += repr();
  } else if (is_float()) {
    const double d = held_.number;
    if (std::isfinite(d)) {
      out += python_float_repr(d);
    } else {
      append_json_string(out, python_float_repr(d));
    }
  } else if (is_string()) {
    append_json_string(out, as_string());
  } else if (is_list()) {
    out += '[';
    bool first = true;
    for (const auto& v : as_list()) {
      if (!first) out += ',';
      first = false;
      v.append_json(out);
    }
    out += ']';
  } else {
    out += '{';
    bool first = true;
    for (const auto& [k, v] : as_dict()) {
      if (!first) out += ',';
      first = false;
      append_json_string(out, k);
      out += ':';
      v.append_json(out);
    }
    out += '}';
  }
}

std::string Value::json() const {
  std::string out;
  append_json(out);
  return out;
}

}  // namespace preflight
