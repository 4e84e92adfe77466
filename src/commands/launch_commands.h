// The command lines of `memory`, `upgrade`, `pages`, `nodes`, `explain` and `resolve --diff`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/commands/options.h"

namespace CLI {
class App;
}

namespace preflight::commands {

bool launch_given(const LaunchFlags& flags, const std::vector<std::string>& arguments);
// One that was given and describes a launch or its model, whatever the machine; "" for none.
std::string_view option_of_a_model(const LaunchFlags& flags);
// Where no launch is given, such an option is refused.
Error idle_without_launch(std::string_view option);

struct MemoryFlags {
  LaunchFlags launch;
  double weights_gib = 0.0;  // 0: estimated
  double draft_gib = 0.0;
  double free_gib = 0.0;
};

struct UpgradeFlags {
  LaunchFlags launch;
  std::vector<std::string> paths;
  std::string from;
  std::string to;
  std::string kernel_date;
};

struct PagesFlags {
  LaunchFlags launch;
  bool no_kernel = false;
  std::string svg;
  std::string kernel_date;
};

struct NodesFlags {
  LaunchFlags launch;
  std::vector<std::string> files;
  std::string kernel_date;
};

void add_memory_options(CLI::App& app, MemoryFlags& flags);
void add_upgrade_options(CLI::App& app, UpgradeFlags& flags);
void add_pages_options(CLI::App& app, PagesFlags& flags);
void add_nodes_options(CLI::App& app, NodesFlags& flags);

int run_memory(const MemoryFlags& flags, std::vector<std::string> arguments);
int run_upgrade(const UpgradeFlags& flags, std::vector<std::string> arguments);
int run_pages(const PagesFlags& flags, std::vector<std::string> arguments);
int run_nodes(const NodesFlags& flags);
int run_explain(const LaunchFlags& flags, const std::string& what, std::vector<std::string> arguments);
int run_diff(const LaunchFlags& flags, const std::vector<std::string>& texts, const std::vector<std::string>& launch);

}  // namespace preflight::commands
