// Commands that are lists of words: JSON, /proc/PID/cmdline; programs in Python; what a server logs of itself. Tested
// by tests/sources_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/program/follower.h"
#include "src/sources/readers/nomad.h"
#include "src/sources/readers/python_program.h"
#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

constexpr std::size_t kMostWords = 10'000;

}  // namespace

std::string plain_json(std::string_view text) {
  std::string out(text);
  bool quoted = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (quoted && out[i] == '\\') {
      ++i;
    } else if (out[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text.substr(i).starts_with("//")) {
      while (i < out.size() && out[i] != '\n') out[i++] = ' ';
    } else if (out[i] == '\t') {
      out[i] = ' ';
    }
  }
  return out;
}

// A text that is no Python as far as it is understood is looked through for lists and calls, and none is sure.
Result<bool> read_program(const SourceText& source, LaunchFinder& finder) {
  const program::Program tree = program::parse_program(source.text);
  if (tree.fault == std::string_view::npos) return program::Follower(source, finder, tree).run();
  const auto line = finder.place(tree.fault).line;
  return PythonProgram(source, finder, fmt::format("line {} is not understood as Python", line)).run();
}

Result<bool> read_words(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  std::vector<ShellWord> words;
  if (text.find('\0') != std::string_view::npos) {
    for (std::size_t from = 0; from < text.size() && words.size() < kMostWords;) {
      const std::size_t end = std::min(text.find('\0', from), text.size());
      words.push_back({piece(text, from, end), from, end});
      from = end + 1;
    }
    if (words.empty() || words.front().text.find('\n') != std::string::npos)
      return failure("the command holds a NUL byte", "1:1");
  } else if (auto list = json_words(text, 0, text.size())) {
    words = std::move(*list);
  } else if (const auto first = text.find_first_not_of(" \t\r\n");
             first != std::string_view::npos && text[first] == '{') {
    const std::string plain = plain_json(text);
    return read_manifest({plain, source.given, source.name}, finder);
  } else if (text.find("task \"") != std::string_view::npos && text.find("driver") != std::string_view::npos) {
    return read_nomad(source, finder);
  } else {
    return read_program(source, finder);
  }
  if (!words.empty() && words.front().text.starts_with("--"))
    finder.arguments(words, {});
  else
    finder.words(words, {});
  return true;
}

Result<bool> read_config(const SourceText& source, LaunchFinder& finder) {
  if (source.name.empty())
    return failure("these are options of a --config file: give the file itself, behind -- --config");
  const std::string path(source.name);
  const ShellWord option{{"--config", std::vector<std::size_t>(8, 0), {}}, 0, 0};
  const ShellWord file{{path, std::vector<std::size_t>(path.size(), 0), {}}, 0, 0};
  finder.arguments({option, file}, {});
  return true;
}

// What a running server told of itself: the values it resolved, not the words it was given.
Result<bool> read_log(const SourceText& source, LaunchFinder& finder) {
  PythonProgram log(source, finder);
  for (std::size_t i = 0; i + 1 < log.tokens().size(); ++i) {
    if (log.text_of(i) == "ServerArgs" && log.text_of(i + 1) == "(") log.keywords(i + 1, {.name = "Engine"});
  }
  return true;
}

}  // namespace preflight::sources
