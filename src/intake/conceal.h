// Secrets of a launch (API keys, passwords, tokens) are shown as ***. prepare_launch() conceals what it returns, so
// that no report, excerpt or JSON made from it can tell them; the arguments kept for resolving again stay as given.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/intake/launch_input.h"
#include "src/intake/secret_text.h"

namespace preflight::commands {

// What is secret in a text that launches stand in, by the names that stand beside it there: hidden in all that follow.
void keep_secrets_of(std::string_view text);
void conceal(PreparedLaunch& prepared);
// A launch as it was read.
void conceal(ReadLaunch& launch, const sources::Conditions& when, Release release);
// A launch of a batch without its secrets; none where it holds none of `shortest` letters, which is nearly always.
std::optional<Launch> concealed(const Launch& launch, const LaunchInputs& inputs, std::size_t shortest = 1);
// Corrected arguments, after the first one was written back.
void conceal(FixSearch& search, const LaunchInputs& inputs);
// Findings whose remedies were carried out on the arguments as they were given.
void conceal(std::vector<Diagnostic>& findings, const LaunchInputs& inputs);
// A sentence about them.
void hide_in(std::string& text, const LaunchInputs& inputs);
// Arguments that are shown by themselves.
std::vector<std::string> concealed(Release release, std::vector<std::string> words);

}  // namespace preflight::commands
