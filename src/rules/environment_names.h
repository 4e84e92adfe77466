// The environment variables that each SGLang release knows (configs/sglang/environment.txt, written by
// make_environment.py there from the releases' own files). Tested by tests/environment_names_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "preflight/release.h"

namespace preflight::rules {

enum class NameState {
  kRead,     // the release reads it
  kWarned,   // it only warns that the name is old; with `instead`, the value may still be passed on
  kGone,     // earlier releases read it
  kLater,    // later releases do
  kUnknown,  // no release has it
};

struct EnvironmentName {
  NameState state = NameState::kUnknown;
  Release since = {};        // of kGone and kWarned: the first release like that; of kLater: the first that has it
  std::string_view instead;  // a variable or an option, "" where SGLang names none
};

// Whether a name is SGLang's to read at all.
bool is_sglang_name(std::string_view name);
EnvironmentName environment_name(Release release, std::string_view name);
// The nearest name that the release reads; "" when none is near.
std::string closest_environment_name(Release release, std::string_view name);

}  // namespace preflight::rules
