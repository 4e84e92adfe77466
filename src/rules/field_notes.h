// What a field of ServerArgs does, in one sentence, for the fields people ask about.
#pragma once

#include <string_view>

#include "preflight/fields.h"

namespace preflight::rules {

// Empty where there is no note.
std::string_view field_note(std::string_view field);
// A word of the kernels that is no field, rule or option; empty where it is not known.
std::string_view term_note(std::string_view term);
// Which page sizes backends and models take, by release; empty for other fields than page_size.
std::string_view page_sets_note(Field field);

}  // namespace preflight::rules
