// A text that launches stand in, shared by all of them: a thousand launches of a file neither copy it nor look for its
// lines anew.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/sources/text_lines.h"

namespace preflight::sources {

// Columns of these are no places in bytes for those who count characters.
inline std::vector<int> lines_beyond_ascii(std::string_view text) {
  std::vector<int> out;
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (static_cast<unsigned char>(c) > 0x7F && (out.empty() || out.back() != line)) out.push_back(line);
  }
  return out;
}

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) : whole_(std::make_shared<const Whole>(std::move(text))) {}

  // Whether there is one, be it empty.
  explicit operator bool() const { return whole_ != nullptr; }
  const std::string& operator*() const {
    static const std::string kNone;
    return whole_ ? whole_->text : kNone;
  }
  // Of a text that is there.
  [[nodiscard]] LineColumn at(std::size_t offset) const {
    std::call_once(whole_->looked, [&] { whole_->lines.emplace(whole_->text); });
    return whole_->lines->at(offset);
  }
  [[nodiscard]] std::shared_ptr<const std::vector<int>> wide_lines() const {
    std::call_once(whole_->looked_wide,
                   [&] { whole_->wide = std::make_shared<const std::vector<int>>(lines_beyond_ascii(whole_->text)); });
    return whole_->wide;
  }

 private:
  struct Whole {
    explicit Whole(std::string given) : text(std::move(given)) {}
    std::string text;
    mutable std::once_flag looked;
    mutable std::once_flag looked_wide;
    mutable std::optional<TextLines> lines;
    mutable std::shared_ptr<const std::vector<int>> wide;
  };
  std::shared_ptr<const Whole> whole_;
};

}  // namespace preflight::sources
