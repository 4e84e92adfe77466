// What bc, awk's BEGIN and jq print of texts that are known; nullopt for all that is not followed. Tested by
// tests/shell_test.cpp and, with bash as the judge, by tests/traps_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::sources {

// Sums of decimal numbers, `scale=N` and one comparison.
std::optional<std::string> of_bc(const std::vector<std::string>& words, std::string_view input);
// awk -v NAME=NUMBER 'BEGIN {print …}', without files.
std::optional<std::string> of_awk_begin(const std::vector<std::string>& words);
// A path of members and items, as its text: jq -r .a.b[0]
std::optional<std::string> of_jq(const std::vector<std::string>& words, std::string_view input);

}  // namespace preflight::sources
