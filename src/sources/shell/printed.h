// What commands print that do nothing but that, from their words alone: echo, basename, dirname, seq, expr.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::sources {

// Whether the text of a command may be one of them: a look at its first word.
bool prints_its_words(std::string_view command);
// Without the line ends behind it; nullopt where what it prints depends on more than its words.
std::optional<std::string> printed_by(const std::vector<std::string>& words);

}  // namespace preflight::sources
