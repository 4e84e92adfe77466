// Settings of --set that nothing heeds: a misspelt name, and what a file fixes itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::commands {

struct SettingsText {
  std::string_view text;
  std::string name = {};  // of the file; may be empty; kept here, for callers choose between two
};

// Told once, on standard error: names that none of the texts has, and settings without which each of them says the
// same.
void tell_idle_settings(const sources::Variables& variables, const std::vector<SettingsText>& texts);

}  // namespace preflight::commands
