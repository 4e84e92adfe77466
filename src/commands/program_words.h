// The program's command line as words: read from the parser that reads the options, and from the tables their values
// come from. Tested by tests/shells/completions_test.py.
#pragma once

#include <string>

#include "src/report/program_words.h"

namespace preflight::commands {

// Of all commands: the program, their options, its exit statuses, and the options of the newest SGLang release.
report::ProgramWords program_words();
// Whether a release of SGLang has the option, or one that begins so.
bool is_of_sglang(const std::string& option);

}  // namespace preflight::commands
