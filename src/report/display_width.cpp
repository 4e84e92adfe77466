// Widths are utf8proc's, of Unicode's East Asian Width and general categories. Tested by tests/report_place_test.cpp.
#include "src/report/display_width.h"

#include <utf8proc.h>

#include "src/python/text.h"

namespace preflight::report {

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const python::Character c = python::character_at(text, 0);  // a byte that begins none stands for itself
    text.remove_prefix(c.length);
    const bool stray = c.code >= 0xD800 && c.code <= 0xDFFF;
    columns += stray ? 1U : static_cast<std::size_t>(utf8proc_charwidth(static_cast<utf8proc_int32_t>(c.code)));
  }
  return columns;
}

}  // namespace preflight::report
