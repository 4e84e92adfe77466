// The generated tables behind preflight/fields.h and preflight/release.h.
#pragma once

#include <cstdint>
#include <span>

#include "preflight/fields.h"
#include "preflight/release.h"
#include "src/fields/flag_table.h"
#include "src/fields/table_text.h"

namespace preflight::resolve {

struct FieldDefault {
  Field field;
  TableText json;
};

// Most rows are alike in many releases: a release has the numbers of its rows.
struct ReleaseTable {
  Release release;
  std::span<const std::uint16_t> defaults;  // of default_rows()
  std::span<const std::uint16_t> flags;     // numbers of args::flag_row()
  std::span<const args::OptionName> names;  // sorted
};

std::span<const ReleaseTable> release_tables();
std::span<const FieldDefault> default_rows();
TableTexts field_names();

}  // namespace preflight::resolve
