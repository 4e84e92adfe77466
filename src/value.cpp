// Python's value semantics: truth, equality, repr, JSON. Tested by tests/value_test.cpp.
#include "preflight/value.h"

#include <array>
#include <charconv>
#include <cmath>

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

bool Value::truthy() const {
  if (is_none()) return false;
  if (is_bool()) return as_bool();
  if (is_int()) return std::get<std::int64_t>(data_) != 0;
  if (is_float()) return std::get<double>(data_) != 0.0;
  if (is_string()) return !as_string().empty();
  if (is_list()) return !as_list().empty();
  return !as_dict().empty();
}

std::int64_t Value::as_int() const { return is_bool() ? std::int64_t{as_bool()} : std::get<std::int64_t>(data_); }

double Value::as_number() const { return is_float() ? std::get<double>(data_) : static_cast<double>(as_int()); }

const Value* Value::find(std::string_view key) const {
  if (!is_dict()) return nullptr;
  for (const auto& [k, v] : as_dict()) {
    if (k == key) return &v;
  }
  return nullptr;
}

Value Value::with(std::string_view key, Value value) const {
  Dict items = is_none() ? Dict{} : as_dict();
  for (auto& [k, v] : items) {
    if (k == key) {
      v = std::move(value);
      return dict(std::move(items));
    }
  }
  items.emplace_back(std::string(key), std::move(value));
  return dict(std::move(items));
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (!a.is_float() && !b.is_float()) return a.as_int() == b.as_int();
    return a.as_number() == b.as_number();
  }
  if (a.data_.index() != b.data_.index()) return false;
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

bool Value::identical(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
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
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), d, std::chars_format::scientific).ptr;
  const std::string_view s(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const auto e = s.find('e');
  const int exponent = std::stoi(std::string(s.substr(e + 1)));
  if (exponent < -4 || exponent >= 16) {
    const std::string_view mantissa = s.substr(0, e);
    const std::string power = std::to_string(std::abs(exponent));
    return std::string(mantissa) + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" + power : power);
  }
  const auto fixed = std::to_chars(digits.data(), digits.data() + digits.size(), d, std::chars_format::fixed).ptr;
  std::string out(digits.data(), fixed);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string Value::repr() const {
  if (is_none()) return "None";
  if (is_bool()) return as_bool() ? "True" : "False";
  if (is_int()) return std::to_string(as_int());
  if (is_float()) return python_float_repr(std::get<double>(data_));
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

void append_json_string(std::string& out, std::string_view s) {
  bool plain = true;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    plain = plain && u >= 0x20 && u < 0x7F && c != '"' && c != '\\';
  }
  if (plain) {
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
    out += std::to_string(as_int());
  } else if (is_float()) {
    const double d = std::get<double>(data_);
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
