// Made of dir() of each type, of Python 3.11, and of what later ones added. Tested by tests/traps_test.cpp, with Python
// as the judge.
#include "src/sources/program/attributes.h"

#include <algorithm>
#include <array>
#include <span>

namespace preflight::sources::program {
namespace {

constexpr auto kStr = std::to_array<std::string_view>(
    {"capitalize", "casefold",     "center",       "count",   "encode",     "endswith",    "expandtabs",
     "find",       "format",       "format_map",   "index",   "isalnum",    "isalpha",     "isascii",
     "isdecimal",  "isdigit",      "isidentifier", "islower", "isnumeric",  "isprintable", "isspace",
     "istitle",    "isupper",      "join",         "ljust",   "lower",      "lstrip",      "maketrans",
     "partition",  "removeprefix", "removesuffix", "replace", "rfind",      "rindex",      "rjust",
     "rpartition", "rsplit",       "rstrip",       "split",   "splitlines", "startswith",  "strip",
     "swapcase",   "title",        "translate",    "upper",   "zfill"});
constexpr auto kList = std::to_array<std::string_view>(
    {"append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"});
constexpr auto kTuple = std::to_array<std::string_view>({"count", "index"});
constexpr auto kDict =
    std::to_array<std::string_view>({"clear", "copy", "fromkeys", "get", "items", "keys", "move_to_end", "pop",
                                     "popitem", "setdefault", "update", "values"});
constexpr auto kSet = std::to_array<std::string_view>(
    {"add", "clear", "copy", "difference", "difference_update", "discard", "intersection", "intersection_update",
     "isdisjoint", "issubset", "issuperset", "pop", "remove", "symmetric_difference", "symmetric_difference_update",
     "union", "update"});
constexpr auto kInt =
    std::to_array<std::string_view>({"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
                                     "from_bytes", "imag", "is_integer", "numerator", "real", "to_bytes"});
constexpr auto kFloat = std::to_array<std::string_view>(
    {"as_integer_ratio", "conjugate", "from_number", "fromhex", "hex", "imag", "is_integer", "real"});

// Those of a type; none where the value may be of another one: a view, a named tuple, a defaultdict.
std::span<const std::string_view> attributes_of(const Val& v) {
  const bool other = v.object != nullptr && (!v.object->name.empty() || !v.object->now.names.empty());
  if (other) return {};
  switch (v.kind) {
    case Val::Kind::kText:
      return kStr;
    case Val::Kind::kList:
      return kList;
    case Val::Kind::kTuple:
      return kTuple;
    case Val::Kind::kDict:
      return kDict;
    case Val::Kind::kSet:
      return kSet;
    case Val::Kind::kBool:
    case Val::Kind::kInt:
      return kInt;
    case Val::Kind::kFloat:
      return kFloat;
    default:
      return {};
  }
}

}  // namespace

bool lacks_attribute(const Val& v, std::string_view name) {
  const auto known = attributes_of(v);
  return !known.empty() && !name.starts_with('_') && std::ranges::find(known, name) == known.end();
}

}  // namespace preflight::sources::program
