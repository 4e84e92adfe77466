// Parts of text in configuration files.
#pragma once

#include <string_view>

#include "src/base/ascii_case.h"

namespace preflight::facts {

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace preflight::facts
