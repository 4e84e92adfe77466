// argparse's parse_args() of Python 3.11 over one release's option table.
//
// The emulation keeps argparse's order, because the first complaint ends the launch: all words are classified first
// (an ambiguous abbreviation stops right there), then options take their values from left to right, then missing
// required options are named, then words nobody took. Tested by tests/args_parse_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "preflight/server_args.h"

namespace preflight::args {

// The words to parse and where each of them stood. Words of a --config file come first.
struct CommandLine {
  std::vector<std::string> words;
  std::vector<SourceRange> where;  // one per word
  std::size_t from_config = 0;     // so many words come from the file
};

ParseOutcome parse_words(Release release, CommandLine line);

}  // namespace preflight::args
