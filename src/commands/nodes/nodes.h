// `nodes`: the commands of one launch over several machines, checked together: files with one command each, or a
// LeaderWorkerSet manifest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/commands/commands.h"
#include "src/sources/file_steps.h"

namespace preflight::commands {

struct Node {
  std::string name;                            // the file, or "leader", "worker 1" of a manifest
  std::shared_ptr<const std::string> command;  // shell text that holds the launch, with others of its file
  sources::Variables variables;
  Environment env;                                           // of the container
  std::optional<facts::CardLimit> cards = {};                // that the container is given, when its limits say so
  std::shared_ptr<const sources::LaunchCommand> found = {};  // the launch itself, where `command` was read for it
  std::string set = {};                                      // the LeaderWorkerSet that it is of
  std::string file = {};                                     // that holds it, where the name has more
  bool is_file = false;                                      // its name is the path of `command`
};

// One node per launch in each file; a manifest gives as many as its size says. Errors: unreadable files, a file without
// a launch. `variables` are those of --set; what is read counts in `steps`.
Result<std::vector<Node>> read_nodes(const std::vector<std::string>& files, const sources::Variables& variables,
                                     sources::RunSteps& steps);

// What the nodes must agree on, and whether their ranks are complete. One PreparedLaunch per node, in order.
std::vector<Diagnostic> node_findings(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches);

// Nodes of one launch each, by their indices: of one set, and where the ranks of all are not those of one launch, of
// one address, one model or one folder, when that makes whole launches of them.
std::vector<std::vector<std::size_t>> node_groups(const std::vector<Node>& nodes,
                                                  const std::vector<PreparedLaunch>& launches);

// "prefill" or "decode"; "" for a launch that is neither, or is refused.
std::string disaggregation_mode(const Launch& launch);
// What each prefill server and each decode server among the launches must agree on.
std::vector<Diagnostic> pair_findings(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches);

// Servers that run at the same time on one machine, for sure, and want the same of it.
std::vector<Diagnostic> beside_findings(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches);

}  // namespace preflight::commands
