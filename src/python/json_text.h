// JSON as Python's json.loads and as orjson.loads read it; the two differ, and SGLang's options use both.
//
//   json.loads    accepts NaN, Infinity, -Infinity and lone surrogates; too deep nesting is a RecursionError
//   orjson.loads  strict; wants valid UTF-8; integers beyond 64 bits become floats
//
// Tested by tests/args_parse_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "preflight/value.h"

namespace preflight::python {

enum class JsonReader { kPython, kOrjson };

struct JsonFault {
  enum Kind { kSyntax, kTooDeep, kTooManyDigits } kind = kSyntax;
  std::size_t offset = 0;  // byte
};

// `repeated`: the first key that an object has twice, of which Python tells nothing.
tl::expected<Value, JsonFault> json_loads(std::string_view text, JsonReader reader = JsonReader::kPython,
                                          std::string* repeated = nullptr);

// json.dumps(value) with Python's default separators and \u escapes.
std::string json_dumps(const Value& value);

}  // namespace preflight::python
