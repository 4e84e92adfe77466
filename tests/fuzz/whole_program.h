// The whole program in this process, as a fuzz target runs it: words in, status and what was printed out.
//
// What holds for every input is asked here, so that each target need only make inputs: the status is a documented one
// and never that of an internal error, bad input is told in one line, what is printed passes the output gate unchanged,
// and JSON is JSON.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/scratch.h"

namespace preflight::fuzz {

// Traps where a promise is broken, after printing the words. `words` follow the program's name.
void run_and_judge(const std::vector<std::string>& words);

}  // namespace preflight::fuzz
