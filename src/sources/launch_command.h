// Finding the SGLang launch in pasted text: `python -m sglang.launch_server …` or `sglang serve …` (or vLLM's
// `vllm serve …`, to be translated), bare or wrapped as
// operators have it (environment assignments, exec, env, nohup, numactl, docker run, bash -c "…", several commands in
// a row), in a Dockerfile, or in the `command` and `args` of a compose file or a Kubernetes manifest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/facts.h"
#include "preflight/result.h"
#include "src/sources/shell.h"

namespace preflight::sources {

// Byte offsets of a word, quotes included.
struct WordSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct LaunchCommand {
  std::vector<std::string> argv;       // arguments after the launcher
  std::vector<SourceRange> positions;  // one per argument: line, column and argv_index
  std::vector<WordSpan> spans;         // one per argument: where it stands in the text
  Environment env;                     // what the command sets for the launch (assignments, export, docker -e)
  bool serve = false;                  // `sglang serve`, which reads some words before launch_server's parser does
  bool vllm = false;                   // `vllm serve` or vLLM's API server: words of another program
  std::vector<ShellNote> notes;
};

// The one launch in `text`. Errors: nothing found, more than one found, what parse_shell refuses, or something unknown
// in the launch's own words or in a variable that SGLang reads.
Result<LaunchCommand> find_launch(std::string_view text, const Variables& variables);
// All launches in `text`, in their order; at least one.
Result<std::vector<LaunchCommand>> find_launches(std::string_view text, const Variables& variables);

}  // namespace preflight::sources
