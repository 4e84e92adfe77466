// Conditions of GitHub's workflows, as far as a job's matrix decides them. Tested by tests/sources_test.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "src/sources/shell.h"

namespace preflight::sources {

// Whether an expression holds in one row of a matrix; none where it asks for something else.
std::optional<bool> holds_in_row(std::string_view expression, const std::map<std::string, ShellWord>& row);

}  // namespace preflight::sources
