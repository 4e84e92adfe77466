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

// What `docker run`, `podman exec`, `apptainer exec` and their kin start.
struct ContainerRun {
  std::size_t image = 0;                     // index of the image, or of the container's name
  std::size_t command = 0;                   // of the first word behind it; may be the number of words
  std::optional<ShellWord> entrypoint = {};  // --entrypoint
  std::string name = {};                     // --name
  std::vector<Unknown> open = {};            // words in front of the image that may hold options
  bool own_entrypoint = true;                // the image's entry point runs first: not with exec
  bool inherits = false;                     // the user's own environment, with additions
  bool reads_input = true;                   // what the caller reads: docker asks for -i
  bool of_compose = false;                   // a service of a compose file stands in the place of the image
};
// `tool` is the index of "docker"; nullopt where it starts nothing (`docker ps`) or its words end early.
std::optional<ContainerRun> container_run(const std::vector<ShellWord>& words, std::size_t tool);

// Whether words[tool] starts a container beside its caller (-d), and one in the network of the machine.
bool runs_detached(const std::vector<ShellWord>& words, std::size_t tool);
bool network_of_host(const std::vector<ShellWord>& words, std::size_t tool, std::size_t image);

// NAME=VALUE into `values`; a word without '=' is none.
void assign(const ShellText& word, Values& values);

// What the options of words[tool], in front of words[program], put into a container's environment (`inside`).
void container_environment(const std::vector<ShellWord>& words, std::size_t tool, std::size_t program,
                           const Values& host, const Variables& given, Values& inside);

// Files of variables (--env-file) in front of words[program]: nobody reads them.
std::vector<ShellNote> unread_files(const std::vector<ShellWord>& words, std::size_t program);

// Index of TEXT in `bash -euo pipefail -c TEXT`, with `shell` the index of "bash".
std::optional<std::size_t> shell_script(const std::vector<ShellWord>& words, std::size_t shell);

// The options between words[shell] and words[script] that `set` takes, and those of `shopt` behind -O and +O: -eu,
// -o pipefail.
std::vector<std::string> options_of_shell(const std::vector<ShellWord>& words, std::size_t shell, std::size_t script);

// Those that a first line gives the shell where the kernel reads it: #!/bin/bash -e. One word behind the interpreter is
// all that there is; `env -S` splits it.
std::vector<std::string> options_of_first_line(std::string_view script);

// Whether words without a program, from `first` on, are a server's of SGLang that the image starts: options that SGLang
// alone has, or those of any server where the image may be SGLang's. What of `image` is not known may be anything.
bool may_be_for_server(const std::vector<ShellWord>& words, std::size_t first, std::string_view image);

// What a text takes: what is unknown in it is told with a sentence each.
inline std::size_t weight(const ShellText& text) { return text.text.size() + 64 * text.unknowns.size(); }

}  // namespace preflight::sources
