// Tested by tests/resolve_memory_test.cpp.
#include "src/resolve/core/operators.h"

#include <cstdlib>

#include <fmt/format.h>

#include "src/python/integer.h"

namespace preflight::resolve::operators {

double round_to(double x, int digits) {
  // Correctly rounded decimal text of the exact value is what CPython's float.__round__ reads back.
  return std::strtod(fmt::format("{:.{}f}", x, digits).c_str(), nullptr);
}

void type_error(Resolution& r, std::string_view function, std::string_view what) {
  r.refuse(RF::kOther, "TypeError", std::string(function), std::string(what));
}

namespace {

// None and texts are no zero: the operation itself raises for them.
void need_divisor(Resolution& r, std::string_view function, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number() && !b.truthy()) {
    r.refuse(RF::kOther, "ZeroDivisionError", std::string(function), "a parallel size or page size is 0");
  }
}

}  // namespace

std::int64_t floor_div(Resolution& r, std::string_view function, std::int64_t a, std::int64_t b) {
  need_divisor(r, function, a, b);
  return integer::floor_div(a, b);
}

Value floor_div(Resolution& r, std::string_view function, const Value& a, const Value& b) {
  need_divisor(r, function, a, b);
  return integer::floor_div(a, b);
}

std::int64_t modulo(Resolution& r, std::string_view function, std::int64_t a, std::int64_t b) {
  need_divisor(r, function, a, b);
  return integer::modulo(a, b);
}

bool divides(Resolution& r, std::string_view function, const Value& b, const Value& a) {
  need_divisor(r, function, a, b);
  return !integer::modulo(a, b).truthy();
}

bool less(Resolution& r, std::string_view function, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_float() || b.is_float() ? a.as_number() < b.as_number() : integer::less(a, b);
  }
  if (a.is_string() && b.is_string()) return a.as_string() < b.as_string();
  if (a.is_list() && b.is_list()) {  // the first items that differ decide, else the shorter list is less
    const auto& x = a.as_list();
    const auto& y = b.as_list();
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (x[i] != y[i]) return less(r, function, x[i], y[i]);
    }
    return x.size() < y.size();
  }
  type_error(r, function, fmt::format("{} cannot be compared with {}", a.repr(), b.repr()));
}

Value max_of(Resolution& r, std::string_view function, const Value& list) {
  Value::List items;
  if (list.is_list()) {
    items = list.as_list();
  } else if (list.is_string()) {
    for (const char c : list.as_string()) items.emplace_back(std::string(1, c));
  } else if (list.is_dict()) {
    for (const auto& [key, value] : list.as_dict()) items.emplace_back(key);
  } else {
    type_error(r, function, fmt::format("{} is not a list", list.repr()));
  }
  if (items.empty())
    r.refuse(RF::kOther, "ValueError", std::string(function), "the list is empty, so it has no largest entry");
  Value most = items.front();
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (less(r, function, most, items[i])) most = items[i];
  }
  return most;
}

std::int64_t index(Resolution& r, std::string_view function, const Value& v) {
  if (v.is_int() || v.is_bool()) return v.as_int();
  type_error(r, function, fmt::format("{} is not an integer", v.repr()));
}

double number(Resolution& r, std::string_view function, const Value& v) {
  if (v.is_number()) return v.as_number();
  type_error(r, function, fmt::format("{} is not a number", v.repr()));
}

std::int64_t length(Resolution& r, std::string_view function, const Value& v) {
  if (v.is_list()) return static_cast<std::int64_t>(v.as_list().size());
  if (v.is_dict()) return static_cast<std::int64_t>(v.as_dict().size());
  if (v.is_string()) return static_cast<std::int64_t>(v.as_string().size());
  type_error(r, function, fmt::format("{} has no length", v.repr()));
}

}  // namespace preflight::resolve::operators
