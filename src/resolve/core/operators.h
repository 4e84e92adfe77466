// Python's operators as steps use them: what src/python computes, and a refusal where Python raises (a zero divisor,
// values of the wrong kind). `function` is the SGLang function in which Python would raise.
// Tested by tests/resolve_memory_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve::operators {

// round(x, digits): the decimal nearest to the exact binary value, ties to even.
double round_to(double x, int digits);

// a // b and a % b for integers; ZeroDivisionError. Values stay exact beyond 64 bits.
std::int64_t floor_div(Resolution& r, std::string_view function, std::int64_t a, std::int64_t b);
Value floor_div(Resolution& r, std::string_view function, const Value& a, const Value& b);
std::int64_t modulo(Resolution& r, std::string_view function, std::int64_t a, std::int64_t b);
// a % b == 0
bool divides(Resolution& r, std::string_view function, const Value& b, const Value& a);

// a < b for numbers or strings; TypeError for anything else.
bool less(Resolution& r, std::string_view function, const Value& a, const Value& b);
// max(list); ValueError when empty, TypeError when not iterable or not comparable.
Value max_of(Resolution& r, std::string_view function, const Value& list);
// An int for range(): bool counts, float and str are TypeErrors.
std::int64_t index(Resolution& r, std::string_view function, const Value& v);
// A number for arithmetic; TypeError otherwise.
double number(Resolution& r, std::string_view function, const Value& v);
// len(x); TypeError for what has none.
std::int64_t length(Resolution& r, std::string_view function, const Value& v);

[[noreturn]] void type_error(Resolution& r, std::string_view function, std::string_view what);

}  // namespace preflight::resolve::operators
