// Launches as they were read from files: as text and as JSON. Tested by tests/launches_test.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "preflight/read_launch.h"

namespace preflight::report {

// What was said while a launch was read: SH002, SH004 and their kin.
struct ReadNote {
  std::string rule;
  ReadLaunch::Open open;
};

// {"source": {"file", "line"}, "stands_in", "name", "when", "program", "argv", "env", "image", "release", "unknown":
// [{"what", "where"}], "defaults": [{"name", "value", "where", "why"}]}
nlohmann::ordered_json read_launch_json(const ReadLaunch& launch);
// As above, and "notes": [{"rule", "what", "where"}].
nlohmann::ordered_json read_launch_json(const ReadLaunch& launch, std::span<const ReadNote> notes);
// What nothing sets, and the defaults that stand in for it, as one line; "" where none does.
std::string defaults_text(const ReadLaunch& launch);
std::string read_launch_text(const ReadLaunch& launch, std::span<const ReadNote> notes);

// A launch with what was said while it was read.
struct ToldLaunch {
  ReadLaunch launch;
  std::vector<ReadNote> notes;
};
std::string launches_json(std::span<const ToldLaunch> launches);

}  // namespace preflight::report
