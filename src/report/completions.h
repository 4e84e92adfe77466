// Completion scripts: every command, option and value of the program, and SGLang's own options behind `--`.
//
// The scripts hold all words and start nothing: completing costs no process. Tested by
// tests/shells/completions_test.py, which lets the shells complete.
#pragma once

#include <string>

#include "src/report/program_words.h"

namespace preflight::report {

std::string bash_completion(const ProgramWords& program);
std::string zsh_completion(const ProgramWords& program);
std::string fish_completion(const ProgramWords& program);

}  // namespace preflight::report
