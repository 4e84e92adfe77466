// JsonText: JSON as it is written: text that grows at its end, without a tree in between.
//
// Outcome lines are most of what a batch does after resolution; a call per comma and a check per byte were a third of
// it. Tested by tests/json_text_test.cpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "preflight/value.h"

namespace preflight::report {

class JsonText {
 public:
  explicit JsonText(std::size_t expected) : text_(expected, '\0') {}

  // As it is: punctuation, numbers, names known to need no escapes.
  void raw(std::string_view s) {
    std::memcpy(room(s.size()), s.data(), s.size());
    used_ += s.size();
  }
  void raw(char c) {
    *room(1) = c;
    ++used_;
  }
  void integer(std::int64_t i) {
    char* at = room(24);
    used_ += static_cast<std::size_t>(std::to_chars(at, at + 24, i).ptr - at);
  }
  // Between quotes as it is.
  void quoted(std::string_view s) {
    char* at = room(s.size() + 2);
    *at = '"';
    std::memcpy(at + 1, s.data(), s.size());
    at[s.size() + 1] = '"';
    used_ += s.size() + 2;
  }
  // A string literal of any text.
  void string(std::string_view s) {
    if (is_plain_json(s)) return quoted(s);
    std::string escaped;
    append_json_string(escaped, s);
    raw(escaped);
  }

  // What was written so far, and its end: a batch writes one text after the other into the same memory.
  [[nodiscard]] std::string_view view() const { return {text_.data(), used_}; }
  void clear() { used_ = 0; }
  [[nodiscard]] std::string take() && {
    text_.resize(used_);
    return std::move(text_);
  }

 private:
  char* room(std::size_t size) {
    if (used_ + size > text_.size()) grow(size);
    return text_.data() + used_;
  }
  [[gnu::noinline]] void grow(std::size_t size) { text_.resize(std::max(2 * text_.size(), used_ + size)); }

  std::string text_;  // its first used_ bytes are written
  std::size_t used_ = 0;
};

}  // namespace preflight::report
