// Any bytes as a pasted command: a launch or a refusal, never a crash, and every place lies in the text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/sources/launch_command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace preflight::sources;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto script = parse_shell({text}, text, {{"A", "b c"}})) {
    for (const ShellCommand& command : script->commands) {
      for (const ShellWord& word : command.words) {
        if (word.origin.size() != word.text.size() || word.begin > word.end) __builtin_trap();
        for (const std::size_t at : word.origin) {
          if (at >= size) __builtin_trap();
        }
      }
    }
  }
  // Half of all inputs get a launch to hold their words.
  const std::string wrapped = size % 2 == 0 ? text : "bash -c 'sglang serve '\"" + text + "\"";
  if (const auto launch = find_launch(wrapped, {{"A", "b c"}})) {
    if (launch->spans.size() != launch->argv.size()) __builtin_trap();
    for (const WordSpan& span : launch->spans) {
      if (span.begin > span.end || span.end > wrapped.size()) __builtin_trap();
    }
  }
  return 0;
}
