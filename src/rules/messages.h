// From what an operator pasted to the place in SGLang that said it: exception, function, and a few words of the message
// (configs/sglang/messages.txt, written by make_messages.py there; SGLang's sentences are not kept). Which rule a
// refusal of arguments has is asked of src/resolve/core/refusal_sites.h, so that `check` and `explain` name the same
// one; what is said after them stands in late_messages.h. Tested by tests/messages_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preflight/release.h"
#include "preflight/rule.h"

namespace preflight::rules {

// What could be read in a traceback or log line.
struct PastedMessage {
  std::string exception;               // "" where the text names none
  std::string said;                    // what follows the last exception's name, or all of it where none is named
  std::string said_line;               // of it what stands on the same line
  std::vector<std::string> functions;  // of a traceback, innermost last
  std::vector<std::string> files;      // of the same frames, as they are named there
  std::vector<std::string> options;    // --names in the text, in order
  std::string words;                   // all words in lower case, one space around each
  bool is_parsers = false;             // "argument --name: …", as argparse frames every complaint of a type
};
PastedMessage read_message(std::string_view text);

struct MessagePlace {
  std::string_view marker;    // the words that told it; "" where exception and function did
  std::string_view kind;      // the exception, "warning", or "usage" of the argument parser
  std::string_view function;  // "" where it is not SGLang's
  std::string_view file;      // of the sglang package, "" where it is not SGLang's
  // Releases 0.5.N; where none is told, all.
  int first = supported_releases().front().patch;
  int last = supported_releases().back().patch;
  // Other places say these words, too: it tells beside its function, or words of what it alone names ("named": none),
  // or, where lines of a log alone say them, its exception ("raised").
  std::string_view beside;
  const Rule* rule = nullptr;       // ours, where one explains it
  std::vector<const Rule*> others;  // that may explain it as well, less likely
};

// The likeliest places, best first; a function that only moved between files stands once per file.
std::vector<MessagePlace> places_of(const PastedMessage& message);

}  // namespace preflight::rules
