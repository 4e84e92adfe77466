// What instrumented sources call in place of a release, a threshold or a literal: the value itself, but for the sites
// that PREFLIGHT_MUTANT="SITE:SHIFT[,SITE:SHIFT…]" names. Only the programs of `./dev mutate` have this.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

#include "preflight/release.h"

namespace preflight::mutation {

// By what `site` is altered in this run, if it is. Notes that the run came by.
std::optional<int> shift_of(std::int64_t site);
constexpr int kAsOfPost = -2;  // a release is the post-release before it

template <class Number>
Number number(std::int64_t site, Number value) {
  const auto by = shift_of(site);
  return by ? static_cast<Number>(value + static_cast<Number>(*by == kAsOfPost ? -1 : *by)) : value;
}

inline int post(std::int64_t site) { return shift_of(site) == kAsOfPost ? 1 : 0; }

// An element of a set of numbers: leaves it, or what is not in it comes in.
template <class Number>
Number element(std::int64_t site, Number value, Number other) {
  return shift_of(site) ? other : value;
}

// What a `switch` is asked about: the label of this shift is taken for another.
template <class Label>
Label label(std::int64_t site, Label value, std::initializer_list<std::type_identity_t<Label>> labels,
            std::initializer_list<std::type_identity_t<Label>> others) {
  const auto which = shift_of(site);
  return which && value == *(labels.begin() + *which) ? *(others.begin() + *which) : value;
}

inline Release release(std::int64_t site, Release value) {
  return shift_of(site) ? v0_5(number(site, value.patch), post(site)) : value;
}

inline const char* element(std::int64_t site, const char* value, const char* other) {
  return shift_of(site) ? other : value;
}

// A release that is named in a text.
inline const char* named(std::int64_t site, const char* value, const char* earlier, const char* later) {
  const auto by = shift_of(site);
  if (!by) return value;
  return *by < 0 ? earlier : later;
}

}  // namespace preflight::mutation
