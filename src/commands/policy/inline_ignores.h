// `# xpu-preflight: ignore=RULE[,RULE] reason` in a script or manifest, on the lines of a launch or right above them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace preflight::commands {

struct InlineIgnore {
  int line = 0;                    // from 1
  std::vector<std::string> rules;  // ids, or begins of ids
  std::string reason;
  std::string fault;  // not empty: it cannot be read, and ignores nothing
};

// All of a text, in order.
std::vector<InlineIgnore> inline_ignores(std::string_view text);
// The first line from which a comment belongs to a launch that begins at `line`: those right above it, and above keys
// such as `command:` that introduce it.
int first_line_of_comments(std::string_view text, int line);

}  // namespace preflight::commands
