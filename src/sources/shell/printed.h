// What programs print that do nothing but that, from their words and what they read: basename, dirname, seq, expr,
// printf; cut, tr, head, wc. Tested by tests/shell_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

// Without the line end behind it; nullopt where what it prints depends on more than its words.
std::optional<std::string> printed_by(const std::vector<std::string>& words);
// What printf makes of its words; nullopt for formats that are not followed.
std::optional<ShellText> formatted(std::string_view format, const std::vector<ShellWord>& words, std::size_t place);
// What a filter makes of what it reads.
std::optional<std::string> filtered_by(const std::vector<std::string>& words, std::string_view input);
// Whether `grep` with these words, which may ask it to be quiet, finds a line; nullopt where that is not known.
std::optional<bool> grep_finds(const std::vector<std::string>& words, std::string_view input);
bool is_quiet_option(std::string_view word);  // -q, -qi, --quiet

}  // namespace preflight::sources
