// How far two words are from each other: for what a mistyped one may have meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace preflight {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`; stops counting above `limit`,
// and is then more than it.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

}  // namespace preflight
