// Field: every ServerArgs field of every supported release, by SGLang's own name.
//
// The enum and its tables are generated at build time from configs/sglang/<release>/{flags,defaults}.json by
// configs/sglang/generate_tables.py; nobody types a field or a default by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "preflight/release.h"
#include "preflight/value.h"

namespace preflight {

enum class Field : std::uint16_t {
#define PREFLIGHT_FIELD(name) name,
#include "generated/fields.inc"
#undef PREFLIGHT_FIELD
};

inline constexpr std::size_t kFieldCount = 0
#define PREFLIGHT_FIELD(name) +1
#include "generated/fields.inc"
#undef PREFLIGHT_FIELD
    ;

std::string_view field_name(Field field);
std::optional<Field> find_field(std::string_view name);
// True when that release's ServerArgs has the field.
bool field_exists(Field field, Release release);
// The value when nothing is given (after parsing, before resolution); None for fields the release lacks.
const Value& field_default(Field field, Release release);
// For walks over a whole launch: the fields that release has, in the enum's order, and every Field's default.
std::span<const Field> fields_of(Release release);
std::span<const Value> field_defaults(Release release);

}  // namespace preflight
