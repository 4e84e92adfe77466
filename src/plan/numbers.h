// Numbers of a configuration, and sums of them as whole numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "preflight/value.h"
#include "src/base/limits.h"
#include "src/python/integer.h"

namespace preflight::plan {

// Of the first key that holds a whole number.
inline std::int64_t first_int(const Value& config, std::initializer_list<std::string_view> keys,
                              std::int64_t fallback = 0) {
  for (const auto key : keys) {
    if (const Value* v = config.find(key); v != nullptr && v->is_int()) return v->as_int();
  }
  return fallback;
}

// Bytes and parameters as whole numbers that can still be added up: a batch resolves models of any size.
inline std::int64_t whole(double count) {
  const auto most = static_cast<double>(limits::kLaunchBytes);
  return integer::bounded_whole(std::clamp(count, 0.0, most));
}

}  // namespace preflight::plan
