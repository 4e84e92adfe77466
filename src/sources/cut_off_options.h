// Puts back what a comment, a blank behind a backslash or a forgotten backslash cut off from a launch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::sources {

class CutOffOptions {
 public:
  // `text` outlives this.
  explicit CutOffOptions(std::string_view text) : text_(text) {}

  // Joins the options at `options` to the launch at `launch` that ends at `end`; comments between them go in front of
  // the launch. Nothing is done where more than blanks and comments stand between them.
  void join(std::size_t launch, std::size_t end, std::size_t options);

  // The text with all that was joined; empty where nothing was.
  [[nodiscard]] std::string mended() const;

 private:
  struct Splice {
    std::size_t begin;
    std::size_t end;
    std::string text;
  };

  [[nodiscard]] std::size_t cut_at(std::size_t launch, std::size_t end, std::size_t options) const;
  [[nodiscard]] std::size_t first_line(std::size_t launch) const;
  [[nodiscard]] std::size_t last_splice() const { return splices_.empty() ? 0 : splices_.back().end; }
  void put_above(std::size_t line, const std::string& comments);

  std::string_view text_;
  std::vector<Splice> splices_;  // in the order of the text
};

}  // namespace preflight::sources
