// What instrumented sources call in place of a release, a threshold or a literal: the value itself, but for the one
// site that PREFLIGHT_MUTANT="SITE:SHIFT" names. Only the programs of `./dev mutate` have this.
#pragma once

#include <cstdint>
#include <string_view>

#include "preflight/release.h"

namespace preflight::mutation {

// Whether `site` is the one altered in this run. Notes that the run came by.
bool altered(std::int64_t site);
int shift();
constexpr int kAsOfPost = -2;  // a release is the post-release before it

template <class Number>
Number number(std::int64_t site, Number value) {
  const int by = shift() == kAsOfPost ? -1 : shift();
  return altered(site) ? static_cast<Number>(value + static_cast<Number>(by)) : value;
}

inline int post(std::int64_t site) { return altered(site) && shift() == kAsOfPost ? 1 : 0; }

// An element of a set of numbers: leaves it, or what is not in it comes in.
template <class Number>
Number element(std::int64_t site, Number value, Number other) {
  return altered(site) ? other : value;
}

inline Release release(std::int64_t site, Release value) {
  return altered(site) ? v0_5(number(site, value.patch), post(site)) : value;
}

inline const char* element(std::int64_t site, const char* value, const char* other) {
  return altered(site) ? other : value;
}

// A release that is named in a text.
inline const char* named(std::int64_t site, const char* value, const char* earlier, const char* later) {
  if (!altered(site)) return value;
  return shift() < 0 ? earlier : later;
}

}  // namespace preflight::mutation
