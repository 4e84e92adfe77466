// Prefill and decode servers that serve one model together, told by their modes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/commands/nodes/nodes.h"

namespace preflight::commands {

struct ServerPair {
  std::string what;                  // "prefill and decode of MODEL in FILE"
  std::vector<std::size_t> members;  // at least one of either mode
};

// Those of one file, else of two files of one folder. Launches of neither mode are in none.
std::vector<ServerPair> server_pairs(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches);

}  // namespace preflight::commands
