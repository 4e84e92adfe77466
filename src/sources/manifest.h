// Launches in files that are no shell text: a Dockerfile (ENTRYPOINT, CMD, ENV), and the command, args and entrypoint
// of a compose service or a Kubernetes container, whole or as a pasted piece. Words keep their places in the text.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

struct ContainerCommand {
  std::vector<ShellWord> words;     // run as they are, without a shell
  std::optional<ShellText> script;  // or: text for a shell
  Values env;
};

// True when `text` is a whole compose file or Kubernetes object rather than a script.
bool is_manifest(std::string_view text);

// Empty when `text` is none of these files. Errors: a manifest that is no YAML, and those of
// parse_shell.
Result<std::vector<ContainerCommand>> read_manifest(std::string_view text, const Variables& given);

}  // namespace preflight::sources
