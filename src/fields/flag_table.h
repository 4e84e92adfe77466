// FlagRow: one argparse option of one release, as configs/sglang/<release>/flags.json records it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "preflight/fields.h"
#include "preflight/release.h"

namespace preflight::args {

struct FlagRow {
  std::span<const std::string_view> names;  // option strings in upstream's order; the first one names it in messages
  Field dest;
  std::string_view action;    // argparse action class without its underscore, e.g. "StoreTrueAction"
  std::string_view type;      // name of the converter, empty = str
  std::string_view nargs;     // "", "0", "+", "*", "?"
  std::string_view constant;  // JSON
  bool has_choices = false;
  std::span<const std::string_view> choices;
  std::string_view initial;  // JSON; "==SUPPRESS==" leaves the destination alone
  bool required = false;
  std::string_view replaced_by;  // deprecated aliases: the option to use
};

// The option table of a supported release, in upstream's registration order: numbers of rows, as most releases share
// most of them.
std::span<const std::uint16_t> flag_table(Release release);
const FlagRow& flag_row(std::uint16_t number);

}  // namespace preflight::args
