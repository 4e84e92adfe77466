// How many columns of a terminal a text takes: for carets that stand under what they mean.
#pragma once

#include <cstddef>
#include <string_view>

namespace preflight::report {

// Columns of UTF-8 text without control characters: wide characters take two, combining ones none. Independent of the
// locale, as a program started with LANG=C still prints UTF-8. A byte that is no UTF-8 takes one column.
std::size_t display_width(std::string_view text);

}  // namespace preflight::report
