// The search for corrected argument lists: smallest change first, each tried by resolving and checking it again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "preflight/fix.h"
#include "preflight/launch.h"

namespace preflight::fix {

// What came of one argument list. No errors, and the launch is good; doubts are errors that are only likely, such as
// weights that leave next to nothing of the memory, and a cache that holds no request.
struct Trial {
  Launch launch;
  std::vector<Diagnostic> errors;
  std::vector<Diagnostic> doubts;
  std::vector<Diagnostic> warnings = {};  // the others
  std::vector<Diagnostic> changes = {};   // of values that were given
  std::vector<Diagnostic> known = {};     // of these but errors: those of the launch itself; the search sets it
};
struct Attempt {
  std::vector<std::string> words;
  Environment env;
  std::string stored_as = {};  // form of another checkpoint of the model; "": the one given
  std::string release = {};    // another release; "": the one asked about
  std::string device = {};     // another device profile; "": the device of the launch
};
using TryArguments = std::function<Trial(const Attempt& attempt)>;

struct Question {
  Release release;
  std::vector<std::string> words;  // the given list, --config expanded
  std::vector<SourceRange> where;  // one per word
  Environment env;
};

struct Limits {
  int attempts = 600;     // resolutions in all
  std::size_t fixes = 3;  // alternatives worth telling
};

FixSearch find_fixes(const Question& question, const TryArguments& attempt, const Limits& limits = {});

}  // namespace preflight::fix
