// The program's command line as words: read from the parser that reads the options, and from the tables their values
// come from. Tested by tests/completions_test.cpp.
#pragma once

#include <string>

#include "src/report/program_words.h"

namespace CLI {
class App;
}

namespace preflight::commands {

// One command, all of whose options were added.
report::CommandWords command_words(const CLI::App& app, report::Behind behind);
// The rest: the program, its exit statuses, and the options of the newest SGLang release.
report::ProgramWords program_words(std::vector<report::CommandWords> commands);

int print_completions(const std::string& shell, const report::ProgramWords& program);
int print_manual(const report::ProgramWords& program);

}  // namespace preflight::commands
