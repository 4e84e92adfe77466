// The generated tables behind preflight/fields.h and preflight/release.h.
#pragma once

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

struct ReleaseTable {
  Release release;
  std::span<const FieldDefault> defaults;
  std::span<const args::FlagRow> flags;
};

std::span<const ReleaseTable> release_tables();
std::span<const std::string_view> field_names();

}  // namespace preflight::resolve
