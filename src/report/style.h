// Colour on a terminal, none elsewhere: every style is a pair of strings, empty when colour is off.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "preflight/diagnostic.h"

namespace preflight::report {

class Style {
 public:
  // Every code that is ever written; the output gate lets no other pass, and these only once something is coloured.
  static constexpr std::array<std::string_view, 7> kCodes = {"0", "1", "2", "1;31", "1;32", "1;33", "1;36"};
  explicit Style(bool colour) : colour_(colour) { any_coloured = any_coloured || colour; }
  static bool in_use() { return any_coloured; }

  [[nodiscard]] std::string bold(std::string_view s) const { return paint("1", s); }
  [[nodiscard]] std::string dim(std::string_view s) const { return paint("2", s); }
  [[nodiscard]] std::string red(std::string_view s) const { return paint("1;31", s); }
  [[nodiscard]] std::string green(std::string_view s) const { return paint("1;32", s); }
  [[nodiscard]] std::string yellow(std::string_view s) const { return paint("1;33", s); }
  [[nodiscard]] std::string cyan(std::string_view s) const { return paint("1;36", s); }
  [[nodiscard]] std::string severity(Severity severity, std::string_view s) const {
    if (severity == Severity::kError) return red(s);
    return severity == Severity::kWarning ? yellow(s) : cyan(s);
  }

 private:
  [[nodiscard]] std::string paint(std::string_view code, std::string_view s) const {
    if (!colour_) return std::string(s);
    return "\033[" + std::string(code) + "m" + std::string(s) + "\033[0m";
  }
  inline static std::atomic<bool> any_coloured = false;
  bool colour_;
};

}  // namespace preflight::report
