// Reading a dict whose keys may be missing.
#pragma once

#include <string>
#include <string_view>

#include "preflight/value.h"

namespace preflight::facts {

// None when absent.
inline Value field(const Value& dict, std::string_view key) {
  const Value* v = dict.find(key);
  return v == nullptr ? Value() : *v;
}

// "" when absent or no text.
inline std::string text_field(const Value& dict, std::string_view key) {
  const Value* v = dict.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

}  // namespace preflight::facts
