// The whole program: the input's first lines, to an empty one, are its words; what follows is the text of a file, which
// the word FILE stands for, and of a model's config.json, which DIR stands for.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/whole_program.h"

namespace {

// Commands that judge; the others start programs, look at the host or write files.
constexpr std::array<std::string_view, 9> kCommands = {"check", "resolve", "memory",   "pages", "upgrade",
                                                       "nodes", "explain", "launches", "rules"};
// Options that start a program, open a device or write.
constexpr std::array<std::string_view, 10> kNotHere = {"--resolver",       "--kernel", "--fix",          "--inject",
                                                       "--require-kernel", "--opencl", "--list-devices", "--output",
                                                       "--write-baseline", "--svg"};

bool may_run(std::string_view word) {
  return std::ranges::none_of(kNotHere, [&](std::string_view option) { return word.starts_with(option); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size() && text[at] != '\n') {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = std::min(end + 1, text.size());
  }
  if (words.empty() || std::ranges::find(kCommands, words.front()) == kCommands.end()) return -1;
  if (!std::ranges::all_of(words, may_run)) return -1;
  // A word ends where a C string does.
  for (std::string& word : words) word.resize(std::min(word.find('\0'), word.size()));
  preflight::fuzz::write_scratch("file", at < text.size() ? text.substr(at + 1) : "");
  preflight::fuzz::write_scratch("config.json", at < text.size() ? text.substr(at + 1) : "");
  for (std::string& word : words) {
    if (word == "FILE") word = preflight::fuzz::scratch_directory() + "/file";
    if (word == "DIR") word = preflight::fuzz::scratch_directory();
    // Other paths are other people's, and a pipe among them would wait.
    if (word.starts_with("/") && !word.starts_with(preflight::fuzz::scratch_directory())) return -1;
    if (word == "-" || word.find("..") != std::string::npos) return -1;
  }
  if (words.front() == "check") words.insert(words.begin() + 1, "--no-kernel");
  preflight::fuzz::run_and_judge(words);
  return 0;
}
