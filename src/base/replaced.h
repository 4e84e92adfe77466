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
  if (from.empty() || text.find(from) == std::string::npos) return text;
  std::string out;
  std::size_t copied = 0;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, copied)) {
    out.append(text, copied, at - copied).append(to);
    copied = at + from.size();
  }
  return out.append(text, copied);
}

// Whether a character may stand in the name of a file.
inline bool is_of_name(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-' ||
         c == '.' || c == '/';
}

// The same for a path. One that says where it begins is found wherever it stands; a relative one of one component
// ("models") is an ordinary word too, so that "modelslim" and "my/models" hold none.
inline std::string path_named(std::string text, std::string_view path, std::string_view name) {
  if (path.empty() || path.find('/') != std::string_view::npos) return replaced(std::move(text), path, name);
  const auto is_whole = [&](std::size_t at) {
    const std::size_t end = at + path.size();
    return (at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || text[end] == '/');
  };
  for (auto at = text.find(path); at != std::string::npos;) {
    const bool whole = is_whole(at);
    if (whole) text.replace(at, path.size(), name);
    at = text.find(path, at + (whole ? name.size() : path.size()));
  }
  return text;
}

}  // namespace preflight
