// Text in the width of its reader: lines break between words.
#pragma once

#include <string>
#include <string_view>

namespace preflight::report {

// Each line of more than `width` columns is broken at blanks, what follows indented by two more. Lines of an excerpt
// ("    | …"), which fit already, stay; a command to paste is broken between its words with a backslash. A word that is
// longer than the width stands on a line of its own.
std::string folded(std::string_view text, int width);

// The same for a help text: what follows a row's first line stands under its second column.
std::string folded_table(std::string_view text, int width, std::size_t second_column);

}  // namespace preflight::report
