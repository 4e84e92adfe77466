// `resolve --batch`: case lines in, outcome lines out.
#include <iostream>

#include "src/commands/case_file.h"
#include "src/commands/commands.h"

namespace preflight::commands {

int resolve_batch(const CaseFile& file) {
  return for_each_case(file, [](const ResolvedCase& c) {
    std::string line = report::outcome_json(c.launch, c.id, c.names);
    line += '\n';
    std::cout << line;
  });
}

}  // namespace preflight::commands
