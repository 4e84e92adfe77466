// Environment variables as SGLang reads them. Two readers exist upstream and accept different words for true:
//
//   EnvBool           of sglang.srt.environ, nearly every variable: 1, true, yes, y and 0, false, no, n in any case;
//                     any other text is warned of and leaves the default
//   get_bool_env_var  of sglang.srt.utils, the variables that environ does not declare: 1 and true in any case, any
//                     other text is false
//
// A variable's own reader is chosen here by its name, so that nobody who asks can choose the other one. Which reader a
// variable has did not change between 0.5.11 and 0.5.23. Tested by tests/environment_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "preflight/facts.h"

namespace preflight::python {

// nullptr when unset.
const std::string* environment_text(const Environment& env, std::string_view name);

// What the release reads of a boolean variable; `fallback` where it is unset.
bool environment_bool(const Environment& env, std::string_view name, bool fallback = false);

// EnvInt: int(text), or the fallback where that raises.
std::int64_t environment_int(const Environment& env, std::string_view name, std::int64_t fallback);

}  // namespace preflight::python
