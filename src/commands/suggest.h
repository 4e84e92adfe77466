// `suggest MODEL`: launches that work here, ranked (suggest_search.h); where none does, the least that would.
#pragma once

#include <cstdint>
#include <string>

#include "src/commands/options.h"

namespace preflight::commands {

struct SuggestFlags {
  LaunchFlags launch;
  std::string model;
  std::int64_t context = 0;      // tokens of one request; 0 = the model's own
  std::int64_t concurrency = 1;  // requests at once, each at that context
  std::string goal = "latency";  // latency, throughput, memory
  int most = 3;
  std::string kernel_date;
  CheckFlags kernels;  // --kernel: only launches whose kernels are right here
};

void add_suggest_options(CLI::App& app, SuggestFlags& flags);
int run_suggest(const SuggestFlags& flags, std::vector<std::string> arguments);

}  // namespace preflight::commands
