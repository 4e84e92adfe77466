// Every occurrence of one text replaced by another, from left to right, without looking into what was put there; an
// empty `from` occurs nowhere. Tested by tests/value_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace preflight {

// (path, name): every occurrence of path in a string value is written as name, e.g. ("/tmp/m/qwen3-8b", "{model}").
using PathNames = std::vector<std::pair<std::string, std::string>>;

inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace preflight
