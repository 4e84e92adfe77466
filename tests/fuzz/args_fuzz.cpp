// Fuzzes the argument parser: the first byte picks the release; the lines after it are the launch arguments, or, after
// a first line "yaml", the text of a --config file. Whatever comes in, parsing ends in one of its three outcomes.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "src/args/closest_options.h"
#include "src/args/parse.h"

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace preflight;
  if (size == 0) return -1;
  const auto releases = supported_releases();
  const Release release = releases[data[0] % releases.size()];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::string_view kYaml = "yaml\n";
  const bool is_yaml = text.starts_with(kYaml);
  const std::string path = "/tmp/args_fuzz_" + std::to_string(getpid()) + ".yaml";
  std::vector<std::string> argv = lines_of(text);
  if (is_yaml) {
    std::ofstream(path, std::ios::binary) << text.substr(kYaml.size());
    argv = {"--model-path", "m", "--config", path};
  } else {
    std::erase(argv, "--config");  // reads no file it did not write
  }
  const ParseOutcome outcome = args::parse(release, argv);
  if (const auto* args = std::get_if<ServerArgs>(&outcome)) {
    if (args->raw.empty()) __builtin_trap();
  }
  if (!argv.empty()) args::closest_options(release, argv.front());
  if (is_yaml) std::remove(path.c_str());
  return 0;
}
