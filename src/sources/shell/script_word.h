// Which word of a command is the file of a script that it runs.
#pragma once

#include <optional>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

// `bash FILE`, `nohup ./FILE`; none behind options that change what a shell does, or in another place than this.
std::optional<std::size_t> script_word(const std::vector<ShellWord>& words);
// Index of the file that an interpreter of Python runs, or what starts one: torchrun, `uv run`.
std::optional<std::size_t> program_word(const std::vector<ShellWord>& words);

}  // namespace preflight::sources
