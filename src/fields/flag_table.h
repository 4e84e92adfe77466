// FlagRow: one argparse option of one release, as configs/sglang/options.json records it.
#pragma once

#include <cstdint>
#include <span>

#include "preflight/fields.h"
#include "preflight/release.h"
#include "src/fields/table_text.h"

namespace preflight::args {

enum class ActionKind : std::uint8_t {
  kHelp,
  kStore,
  kStoreTrue,
  kBooleanOptional,
  kLoraPaths,
  kDeprecated,  // warns, stores nothing
  kRetired,     // ends the parser
  kDeprecatedStoreTrue,
  kDeprecatedStoreConst,
  kDeprecatedAliasStore,
};

enum class Converter : std::uint8_t {
  kText,
  kInt,
  kFloat,
  kHumanReadableInt,
  kJson,
  kJsonList,
  kNullableText,
  kCudaGraphBackend,
  kCudaGraphConfig,
};

// argparse's nargs: None, 0, '?', '*', '+'.
enum class Arity : std::uint8_t { kOne, kNone, kOptional, kAny, kSome };

struct FlagRow {
  TableTexts names;  // option strings in upstream's order; the first one names it in messages
  Field dest;
  ActionKind action = ActionKind::kStore;
  Converter converter = Converter::kText;
  Arity arity = Arity::kOne;
  TableText constant;  // JSON
  bool has_choices = false;
  TableTexts choices;
  bool required = false;
  TableText replaced_by;  // deprecated aliases: the option to use
};

// One option string of a release. `option`: 0 is -h, --help, which argparse adds itself; behind it come the rows of the
// release's table.
struct OptionName {
  TableText name;
  std::uint16_t option;
};

// The option table of a supported release, in upstream's registration order: numbers of rows, as most releases share
// most of them.
std::span<const std::uint16_t> flag_table(Release release);
const FlagRow& flag_row(std::uint16_t number);
// All option strings of the release, sorted.
std::span<const OptionName> option_names(Release release);
TableTexts help_names();

}  // namespace preflight::args
