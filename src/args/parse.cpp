// What prepare_server_args() does up to the construction of ServerArgs: --config, argparse, logging level.
// Tested by tests/args_parse_test.cpp and tests/args_config_test.cpp.
#include "src/args/parse.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/args/argument_parser.h"
#include "src/args/config_file.h"
#include "src/base/ascii_case.h"

namespace preflight::args {
namespace {

CommandLine command_line(const std::vector<std::string>& argv, const std::vector<SourceRange>& positions) {
  CommandLine line{argv, positions, 0};
  line.where.resize(argv.size());
  for (std::size_t i = 0; i < argv.size(); ++i) line.where[i].argv_index = static_cast<int>(i);
  return line;
}

// SGLang upper-cases --log-level, looks that name up in Python's logging module and hands the result to
// basicConfig(): any upper-case name of the module gets so far, and only levels pass.
std::string_view log_level_exception(std::string_view level) {
  constexpr std::array<std::string_view, 8> kLevels = {"CRITICAL", "DEBUG",  "ERROR", "FATAL",
                                                       "INFO",     "NOTSET", "WARN",  "WARNING"};
  const std::string upper = ascii_upper(level);
  if (std::find(kLevels.begin(), kLevels.end(), upper) != kLevels.end()) return {};
  if (upper == "BASIC_FORMAT") return "ValueError";
  if (upper == "_STYLES") return "TypeError";
  return "AttributeError";
}

// Releases with this field note whether the policy was spelled out on the command line or in the file.
void note_radix_eviction_policy(ServerArgs& args) {
  constexpr std::string_view kOption = "--radix-eviction-policy";
  static const auto field = find_field("_radix_eviction_policy_explicitly_set");
  if (!field || !field_exists(*field, args.release)) return;
  args.raw.set(*field, std::any_of(args.argv.begin(), args.argv.end(), [&](std::string_view a) {
    return a.starts_with(kOption) && (a.size() == kOption.size() || a[kOption.size()] == '=');
  }));
}

}  // namespace

ParseOutcome parse(Release release, const std::vector<std::string>& argv, const std::vector<SourceRange>& positions,
                   const ConfigText* config) {
  CommandLine line = command_line(argv, positions);
  if (auto refused = merge_config_file(release, line, config)) return std::move(*refused);
  ParseOutcome outcome = parse_words(release, std::move(line));
  auto* args = std::get_if<ServerArgs>(&outcome);
  if (args == nullptr) return outcome;
  note_radix_eviction_policy(*args);
  const Value& level = (*args)[Field::log_level];
  const std::string_view exception = level.is_string() ? log_level_exception(level.as_string()) : "AttributeError";
  if (!exception.empty()) {
    const GivenOption* given = args->last_given(Field::log_level);
    return ParseRefusal{{std::string(exception), "prepare_server_args",
                         fmt::format("--log-level {} is no logging level; use debug, info, warning, error or critical",
                                     level.is_string() ? level.as_string() : level.repr())},
                        given != nullptr ? given->where : SourceRange{},
                        std::move(args->warnings)};
  }
  return outcome;
}

}  // namespace preflight::args
