// Any bytes as a file that operators keep: its first byte picks the name, which picks the reader where the text does
// not. Launches or a refusal, and every place lies in the text.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/sources/launch_command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace preflight::sources;
  if (size == 0) return -1;
  static constexpr std::array<const char*, 18> kNames = {
      "",          "run.sh",   "Dockerfile", "compose.yaml", "pod.yaml",         "sglang.service", "Makefile",
      "README.md", "serve.py", "argv.json",  "job.hcl",      "sglang.container", ".gitlab-ci.yml", "serve.ipynb",
      "play.yaml", "Procfile", "guide.rst",  "server.log"};
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto launches = read_launches(text, {{"A", "b c"}}, kNames.at(data[0] % kNames.size()));
  if (!launches) return 0;
  for (const LaunchCommand& launch : *launches) {
    if (launch.spans.size() != launch.argv.size() || launch.positions.size() != launch.argv.size()) __builtin_trap();
    for (const WordSpan& span : launch.spans) {
      if (span.begin > span.end || span.end > text.size()) __builtin_trap();
    }
    for (const LaunchUnknown& unknown : launch.unknown) {
      if (unknown.what.empty() || unknown.offset > text.size()) __builtin_trap();
    }
  }
  return 0;
}
