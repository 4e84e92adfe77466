// The parts of a command line that start a container or a shell: what they run, and in which environment.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

std::string_view base_name(std::string_view path);
bool is_shell(std::string_view word);

// docker and its kin, which run a command in an environment of its own.
bool is_container_tool(std::string_view word);

// The words that run in the container when `docker run --entrypoint …` replaces the image's: the entry point, then
// what stands behind the image. `tool` is the index of "docker".
std::optional<std::vector<ShellWord>> behind_entrypoint(const std::vector<ShellWord>& words, std::size_t tool);

// The environment of the program at words[program]: `outer`, changed by the command's assignments, by `env NAME=VALUE`,
// and by a container tool, which hands over only what -e and --env name.
Values environment_of(const std::vector<ShellWord>& assignments, const std::vector<ShellWord>& words,
                      std::size_t program, const Values& outer, const Variables& given);

// Files of variables (--env-file) in front of words[program]: nobody reads them.
std::vector<ShellNote> unread_files(const std::vector<ShellWord>& words, std::size_t program);

// Index of TEXT in `bash -euo pipefail -c TEXT`, with `shell` the index of "bash".
std::optional<std::size_t> shell_script(const std::vector<ShellWord>& words, std::size_t shell);

}  // namespace preflight::sources
