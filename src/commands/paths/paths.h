// The files that paths name: directories are walked, patterns matched, "-" is standard input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/result.h"
#include "src/intake/launch_input.h"
#include "src/sources/launch_command.h"

namespace preflight::commands {

struct ReadFile {
  std::string name;
  bool named = false;     // by the user, not found in a directory
  std::size_t place = 0;  // among all that the paths name
  sources::SharedText text;
  std::vector<sources::LaunchCommand> launches;
  std::string why_none;                                 // where there are none
  sources::NoLaunch none = sources::NoLaunch::kUnread;  // and what it is then
  bool passed_over = false;  // no file of this folder: a pipe, a link to nothing or elsewhere

  // Found in a directory, and none of our business.
  [[nodiscard]] bool tells_nothing() const { return !named && none == sources::NoLaunch::kUnrelated; }
  [[nodiscard]] bool unread() const { return !passed_over && launches.empty() && none == sources::NoLaunch::kUnread; }
};

// Files of directories that cannot hold a launch are left out. Errors: a path that is not there.
Result<std::vector<ReadFile>> read_files(const std::vector<std::string>& paths, const sources::Variables& variables);

// Launches that may be resolved for the remedies of all of these, each of which is resolved so often anyway.
std::size_t tries_of(const std::vector<ReadFile>& files, std::size_t resolved_each = 1);

// --launch among all of them: its number in their order, or its name; files without one go. "" keeps all. Errors: there
// is none.
std::optional<Error> keep_chosen(const std::string& choice, std::vector<ReadFile>& files);
// What is asked of a launch of a file.
LaunchInput input_of(const LaunchInput& asked, const ReadFile& file, std::size_t index);

}  // namespace preflight::commands
