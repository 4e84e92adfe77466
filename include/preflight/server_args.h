// Stage 1: the arguments of `python -m sglang.launch_server`, parsed as that release's argparse would.
//
// Parsing has three ends, as upstream has: accepted (ServerArgs), refused by argparse (UsageError, exit 2 there), or
// an exception while merging --config or setting up logging (ParseRefusal). Each carries what was logged before it;
// on success that is the beginning of the launch's log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/facts.h"
#include "preflight/launch_fields.h"

namespace preflight {

// One option as it was given; a repeated option gives several, the last wins.
struct GivenOption {
  Field field;
  std::string_view option;  // the full option string it resolved to, e.g. "--page-size": a name of the release's table
  std::string spelled;      // as typed, e.g. "--page" or "--page-size=64"
  SourceRange where;
  bool from_config_file = false;
};

struct ServerArgs {
  Release release;
  LaunchFields raw;                // as given, or the release's defaults; empty when parsing ended early
  std::vector<GivenOption> given;  // in order of appearance
  std::vector<LogLine> warnings;   // deprecated options
  std::vector<std::string> argv;   // as given, after --config was expanded

  [[nodiscard]] const Value& operator[](Field f) const { return raw[f]; }
  [[nodiscard]] const GivenOption* last_given(Field f) const;
};

// argparse's own refusal. kind and flag as ../sglang/tools/compare.py names them: unrecognized, ambiguous, choice,
// value, expected, required, other.
struct UsageError {
  std::string kind;
  std::string flag;
  std::string message;  // our own sentence
  SourceRange where;
  std::vector<LogLine> warnings = {};
  std::optional<std::string> value = {};  // of kind choice: the word that is none
};

// An exception before there were any ServerArgs.
struct ParseRefusal {
  Refusal refusal;
  SourceRange where = {};
  std::vector<LogLine> warnings = {};
};

using ParseOutcome = std::variant<ServerArgs, UsageError, ParseRefusal>;

}  // namespace preflight
