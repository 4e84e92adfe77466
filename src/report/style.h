// Colour on a terminal, none elsewhere: every style is a pair of strings, empty when colour is off.
#pragma once

#include <string>
#include <string_view>

#include "preflight/diagnostic.h"

namespace preflight::report {

class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}

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
  bool colour_;
};

}  // namespace preflight::report
