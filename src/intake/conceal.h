// Secrets of a launch (API keys, passwords, tokens) are shown as ***. prepare_launch() conceals what it returns, so
// that no report, excerpt or JSON made from it can tell them; the arguments kept for resolving again stay as given.
#pragma once

#include <string_view>

#include "src/intake/launch_input.h"

namespace preflight::commands {

// By the name of an option or a field.
bool is_secret(std::string_view name);
// An option that nobody knows: also when its name is nearly one of those.
bool looks_secret(std::string_view name);
// Environment variables and members of JSON objects go by other names, too: WANDB_KEY, HF_AUTH.
bool is_secret_variable(std::string_view name);

void conceal(PreparedLaunch& prepared);
// A launch as it was read.
void conceal(ReadLaunch& launch, Release release);
// Corrected arguments, after the first one was written back.
void conceal(FixSearch& search, Release release);

}  // namespace preflight::commands
