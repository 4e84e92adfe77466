// Recorded-style cases: one JSON object a line with args, model directory, device, env and a --config text.
// `resolve --batch` and `check --batch` read them; docs/outcomes.md describes the format.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "preflight/launch.h"
#include "preflight/report.h"
#include "src/intake/launch_input.h"
#include "src/base/replaced.h"

namespace preflight::commands {

struct CaseFile {
  Release release;
  std::string models;       // directory of model directories: "{models}/NAME", and "{model}" for the case's own
  std::string cases;        // JSON lines; "-" = standard input
  DeviceFacts device = {};  // of cases that describe none
  // Ids of known models count as known and unknown ones leave a launch open, as on a machine that reaches a hub.
  // Otherwise as on a machine without one: SGLang refuses what it cannot fetch.
  bool hub = false;
  Environment env = {};        // of every case; what a case says itself counts more
  std::string stored_as = {};  // form of every case's checkpoint, where its model is known; "" as it is
};

// What of the device a case says itself.
struct OwnDevice {
  bool card = false;
  bool memory = false;
  bool count = false;
  bool host = false;
};

struct ResolvedCase {
  Value id;  // text or a whole number, as the case has it
  Launch launch;
  std::optional<UnknownModel> unknown_model = {};  // with a hub
  LaunchInputs inputs;  // its --config file, if any, is gone after the call: options stand in inputs.argv
  PathNames names;      // how paths are written in outcomes
  OwnDevice own = {};
};

// Keys of cases that are nothing here, as remarks are: whoever meant one has to hear of it. A few of them.
using LeftOutKeys = std::set<std::string>;

// Calls `each` for every case in order, and `idle` before it waits for more of them: whoever writes the cases may be
// waiting for answers. Memory stays flat. Returns why it ended before the last line, with the place; nullopt: it did
// not.
std::optional<Error> for_each_case(
    const CaseFile& file, const std::function<void(const ResolvedCase&)>& each,
    const std::function<void()>& idle = [] {}, LeftOutKeys* left_out = nullptr);

}  // namespace preflight::commands
