// Whether config.json names one of these classes of SGLang's, or one that begins so.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "preflight/facts.h"

namespace preflight {

inline bool has_class(const ModelFacts& model, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return model.has_architecture(name); });
}

inline bool architecture_starts_with(const ModelFacts& model, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(model.architectures, [&](const std::string& name) {
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  });
}

inline bool architecture_starts_with(const ModelFacts& model, std::initializer_list<std::string_view> prefixes) {
  return architecture_starts_with(model, std::span<const std::string_view>(prefixes.begin(), prefixes.size()));
}

}  // namespace preflight
