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

// How a release reads a variable's value, and so what becomes of one that is none.
enum class ValueKind {
  kBool,    // 1, true, yes, y and 0, false, no, n; another is warned of, and the default taken
  kOne,     // 1 and true are true, all else is false
  kBoth,    // one place reads it as kBool, another as kOne
  kInt,     // warned of, and the default taken
  kFloat,   // the same
  kNumber,  // an integer; the default is taken without a word
  kRaises,  // ValueError where the value is read
};

struct ValueReading {
  ValueKind kind = ValueKind::kBool;
  std::string_view fallback;  // as Python prints it, "" where the code computes it
};

EnvironmentName environment_name(Release release, std::string_view name);
// nullopt: text, or read by nothing that serves a model.
std::optional<ValueReading> value_reading(Release release, std::string_view name);
// The nearest name that the release reads; "" when none is near.
std::string closest_environment_name(Release release, std::string_view name);

}  // namespace preflight::rules
