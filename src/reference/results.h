// Results handed over without a copy, which an initializer list makes of each: they are what a reference keeps most of.
#pragma once

#include <utility>
#include <vector>

#include "preflight/reference.h"

namespace preflight::reference {

template <typename... Results>
std::vector<Expected> handed_over(Results&&... results) {
  std::vector<Expected> all;
  all.reserve(sizeof...(results));
  (all.push_back(std::forward<Results>(results)), ...);
  return all;
}

}  // namespace preflight::reference
