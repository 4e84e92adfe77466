// The manual page xpu-preflight(1) as troff, from the words of the command line. Tested by
// tests/shells/completions_test.py.
#pragma once

#include <string>
#include <vector>

#include "src/report/program_words.h"

namespace preflight::report {

std::string manual_page(const ProgramWords& program);
// The same statuses as --help lists them.
std::string exit_statuses_text(const std::vector<ExitWords>& statuses);

}  // namespace preflight::report
