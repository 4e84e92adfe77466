// Whether config.json names one of these classes of SGLang's.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "preflight/facts.h"

namespace preflight {

inline bool has_class(const ModelFacts& model, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return model.has_architecture(name); });
}

}  // namespace preflight
