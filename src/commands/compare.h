// Two launches side by side: `upgrade` (one argument list, two releases; or every launch of some files) and `resolve
// --diff` (two lists, one release).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/commands/commands.h"
#include "src/commands/fixing.h"
#include "src/report/comparison_report.h"

namespace preflight::commands {

// "SGLang 0.5.14", and what its image holds where --from names another release.
std::string name_beside_image(Release from, const std::string& of_image);

// What a launch does otherwise in `to`.
Result<report::Difference> release_difference(const LaunchInput& input, Release from, Release to,
                                              const CheckOptions& rules, Tries& tries);
// Every launch of these files by itself. Without `from`: the release that its image's tag names. Exit 1 also when one
// cannot be compared.
int upgrade_paths(const LaunchInput& input, const std::vector<std::string>& paths, std::optional<Release> from,
                  Release to, const CheckOptions& rules, const OutputOptions& output);
// Each text is a file with a launch command, such a command, or bare arguments. Exit 1 when the two differ.
int resolve_diff(const LaunchInput& input, const std::pair<std::string, std::string>& texts, const CheckOptions& rules,
                 const OutputOptions& output);

}  // namespace preflight::commands
