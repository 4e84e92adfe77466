// The line that a finding points at: from the command as it was given, or from the file an option came from.
#pragma once

#include <cstddef>
#include <string>

#include "preflight/report.h"

namespace preflight::report {

struct Excerpt {
  std::string place;             // "--command:1:30", "serve.yaml:2:1"; empty when the finding has no place
  std::string line;              // printable, cut to the width around what is meant; empty when there is none
  std::size_t caret_column = 0;  // columns of a terminal in front of the caret
  std::size_t caret_width = 1;
};

Excerpt excerpt_of(const SourceRange& where, const ArgumentSource& source, int width);

}  // namespace preflight::report
