// A launch as it was read from some text: what every report shows of it, and `launches` alone. Secrets are hidden.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/facts.h"

namespace preflight {

// Why something was taken that the file does not say: nothing sets it; where the file stands; no such file lies there;
// a name that is made up where this runs.
enum class TakenWhy { kNotSet, kPlace, kMissing, kMadeUp };

struct ReadLaunch {
  struct Open {
    std::string what;  // is not known, and how to give it
    int line = 0;
    int column = 0;
  };

  // Something that nothing sets, and the default that stands in for it.
  struct Default {
    std::string name;
    std::optional<std::string> value;  // none: what would stand there if it were set was left out
    int line = 0;
    int column = 0;
    TakenWhy why = TakenWhy::kNotSet;
  };

  std::string file;
  int line = 0;
  std::string stands_in = {};  // another file that its command stands in, as seen from the folder of `file`
  int line_there = 0;
  std::string name;   // of the service, container, unit, target or step; may be empty
  std::string when;   // the branch or turn of a loop it runs in; empty: always
  bool vllm = false;  // it starts vLLM: `argv` are vLLM's words
  std::vector<std::string> argv;
  Environment env;
  std::string image;
  std::string release;  // that the image's tag names
  std::vector<Open> unknown;
  std::vector<Default> defaults = {};
};

}  // namespace preflight
