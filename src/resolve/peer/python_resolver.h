// The real code as a second resolver: asks the SGLang that is installed in a Python environment.
//
// Runs src/resolve/peer/ask_sglang.py in that interpreter, one process a launch, and turns its answer into a Launch, so
// that the same rules, plan and kernel run behind it. Works for releases this build does not know: their fields that we
// have no name for are dropped (`unknown_fields` says which).
#pragma once

#include <string>
#include <vector>

#include "preflight/launch.h"
#include "preflight/result.h"
#include "src/facts/model_source.h"

namespace preflight::resolve {

struct PythonAnswer {
  Launch launch;
  std::string release;                                 // what the interpreter's package says, e.g. "0.5.24"
  std::vector<std::string> unknown_fields;             // of the answer, not in our tables
  std::vector<std::pair<Field, Value>> defaults = {};  // what its launches start from; empty: it does not tell
};

// Errors: the interpreter cannot be run, has no sglang, dies, or takes longer than `timeout_seconds`.
// `known` is the release whose field names and defaults the launch is expressed in.
Result<PythonAnswer> ask_python(const std::string& interpreter, Release known, const std::vector<std::string>& argv,
                                const DeviceFacts& device, const Environment& env, int timeout_seconds = 300);

// The release of the SGLang in that interpreter.
Result<std::string> python_release(const std::string& interpreter);

// Builds the launch's model facts as resolution would; leaves launch.model null when they cannot be had.
void attach_model(Launch& launch, facts::ModelSource& models);

// One line per difference between two resolutions of the same launch; empty when they agree.
std::vector<std::string> differences(const Launch& ours, const Launch& theirs);
// What was compared where differences() finds none: "both accept it; 500 fields, 2 warnings and 30 changes are the
// same".
std::string agreement(const Launch& launch);

}  // namespace preflight::resolve
