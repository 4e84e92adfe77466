// What a field of ServerArgs does, in one sentence, for the fields people ask about.
#pragma once

#include <string_view>

namespace preflight::rules {

// Empty where there is no note.
std::string_view field_note(std::string_view field);

}  // namespace preflight::rules
