// Our own files' JSON: the reader of src/python/json_text.h, with the line and column of what it objects to. Tested by
// tests/value_test.cpp and fuzzed by tests/fuzz/json_fuzz.cpp.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/python/json_text.h"
#include "src/python/text.h"

namespace preflight {

namespace {

// A document of one literal or one plain string: most of the thousand small ones in the tables, which every start
// reads.
std::optional<Value> plain_scalar(std::string_view text) {
  if (text == "null") return Value();
  if (text == "false") return Value(false);
  if (text == "true") return Value(true);
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  const std::string_view inside = text.substr(1, text.size() - 2);
  return is_plain_json(inside) ? std::optional(Value(inside)) : std::nullopt;
}

}  // namespace

Result<Value> Value::parse_json(std::string_view text) {
  if (auto scalar = plain_scalar(text)) return std::move(*scalar);
  // Python decodes a file before json.loads sees it, so bytes that are no text are refused here as well.
  if (!python::is_valid_utf8(text)) return failure("not valid JSON: the text is not UTF-8");
  auto value = python::json_loads(text);
  if (value) return std::move(*value);
  const std::string_view before = text.substr(0, std::min(value.error().offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0: the first line
  return failure(fmt::format("not valid JSON at line {}, column {}", line, column));
}

}  // namespace preflight
