// The generated tables behind preflight/fields.h and preflight/release.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "preflight/fields.h"
#include "preflight/release.h"
#include "src/fields/flag_table.h"

namespace preflight::resolve {

struct FieldDefault {
  Field field;
  std::string_view json;
};

// Most rows are alike in many releases, and each pointer of a table is put right at every start of the program: a
// release has the numbers of its rows.
struct ReleaseTable {
  Release release;
  std::span<const std::uint16_t> defaults;  // of default_rows()
  std::span<const std::uint16_t> flags;     // of flag_rows()
};

std::span<const ReleaseTable> release_tables();
std::span<const FieldDefault> default_rows();
std::span<const args::FlagRow> flag_rows();
std::span<const std::string_view> field_names();

}  // namespace preflight::resolve
