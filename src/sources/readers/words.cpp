// Commands that are lists of words: JSON, /proc/PID/cmdline; programs in Python; what a server logs of itself. Tested
// by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/mentions.h"
#include "src/sources/program/follower.h"
#include "src/sources/readers/config_options.h"
#include "src/sources/readers/nomad.h"
#include "src/sources/readers/python_tokens.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/started_program.h"

namespace preflight::sources {

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

namespace {

// The line of a place says nothing any longer; what stands around it keeps its place.
void blank_line(std::string& text, std::size_t at) {
  at = std::min(at, text.size() - 1);
  const std::size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const std::size_t from = before == std::string::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const std::size_t first = std::min(text.find_first_not_of(" \t", from), end);
  const bool said = first < end && text.substr(first, end - first).find_first_not_of("0 ") != std::string::npos;
  for (std::size_t i = first; i < end; ++i) text[i] = ' ';
  if (said && first < end) text[first] = '0';  // a statement, where a block may need one
}

// What is taken for given to a program, from the least on.
enum class Given { kNothing, kTested, kEmpty };

struct ProgramText {
  const SourceText& source;
  const program::Program& tree;
  const std::string& doubt;
  const ProgramStart* start;
};

Result<bool> follow(const ProgramText& text, LaunchFinder& finder, Given given, bool probes) {
  program::Follower follower(text.source, finder, text.tree, text.doubt, given == Given::kNothing, text.start);
  if (given == Given::kEmpty) follower.ask_for_empty();
  if (probes) follower.spend_at_most(limits::kProbeSteps);
  return follower.run();
}

// Whether a program comes to a launch with that; sys.exit("set …") ends others, and leaves functions that nothing
// calls.
bool launches_with(const ProgramText& text, Given given) {
  LaunchFinder found(text.source.text, text.source.given);
  if (!follow(text, found, given, true)) return false;
  const std::vector<LaunchCommand> launches = found.take();
  return std::ranges::any_of(launches,
                             [](const LaunchCommand& launch) { return !launch.when.has(Condition::Kind::kUncalled); });
}

// Of a program that asks for variables, or counts its arguments: what it needs to come to a launch.
Given needs(const ProgramText& text) {
  constexpr auto kAsks = std::to_array<std::string_view>({"environ", "getenv", "len(sys.argv)"});
  const std::string_view all = text.source.text;
  if (std::ranges::none_of(kAsks, [&](std::string_view sign) { return all.find(sign) != all.npos; }))
    return Given::kNothing;
  if (launches_with(text, Given::kNothing)) return Given::kNothing;
  const bool empties = all.find("\"\")") != all.npos || all.find("'')") != all.npos;
  if (!empties || launches_with(text, Given::kTested)) return Given::kTested;
  return launches_with(text, Given::kEmpty) ? Given::kEmpty : Given::kTested;
}

}  // namespace

// Lines that are no Python as far as it is understood are left out, and then no launch is sure.
Result<bool> read_program(const SourceText& source, LaunchFinder& finder, const ProgramStart* start) {
  std::string text(source.text);
  std::string doubt;
  for (std::size_t i = 0; i <= std::min(limits::kLeftOutLines, limits::kReadAgainBytes / (text.size() + 1)); ++i) {
    const program::Program tree = program::parse_program(text);
    SourceText understood = source;
    understood.text = text;
    if (tree.fault == std::string_view::npos) {
      const ProgramText program{understood, tree, doubt, start};
      return follow(program, finder, needs(program), false);
    }
    if (i == 0 && python_tokens(text).size() >= limits::kPythonTokens) return true;
    const int line = source.line != nullptr ? (*source.line)(tree.fault) : finder.place(tree.fault).line;
    if (doubt.empty()) doubt = fmt::format("line {} is not understood as Python", line);
    if (tree.fault >= text.size() && i > 0) break;
    blank_line(text, tree.fault);
  }
  if (!doubt.empty() && mentions_launch(source.text))
    finder.note({"SH004", doubt + ": give the command that it runs", 0});
  return true;
}

Result<bool> read_program(const SourceText& source, LaunchFinder& finder) {
  return read_program(source, finder, nullptr);
}

namespace {

// [{"…
bool lists_objects(std::string_view text) {
  const auto next = text.find_first_not_of(" \t\r\n", 1);
  const auto key = next == std::string_view::npos ? next : text.find_first_not_of(" \t\r\n", next + 1);
  return text[0] == '[' && key != std::string_view::npos && text[next] == '{' && text[key] == '"';
}

}  // namespace

Result<bool> read_words(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  std::vector<ShellWord> words;
  if (text.find('\0') != std::string_view::npos) {
    for (std::size_t from = 0; from < text.size();) {
      if (words.size() == limits::kListWords) return failure("the command has more than 10,000 words", "1:1");
      const std::size_t end = std::min(text.find('\0', from), text.size());
      words.push_back({piece(text, from, end), from, end});
      from = end + 1;
    }
    if (words.empty() || words.front().text.find('\n') != std::string::npos)
      return failure("the command holds a NUL byte", "1:1");
  } else if (auto list = json_words(text, 0, text.size())) {
    words = std::move(*list);
  } else if (const auto first = text.find_first_not_of(" \t\r\n");
             first != std::string_view::npos && (text[first] == '{' || lists_objects(text.substr(first)))) {
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
  if (options_of_config(source.text) != OptionsOf::kSglang) {
    finder.note({"SH004",
                 "nothing here says whose options these are, other servers have the same: as a file for SGLang's "
                 "--config give it behind -- --config",
                 0});
    return true;
  }
  const std::string path(source.name);
  const ShellWord option{{"--config", std::vector<std::size_t>(8, 0), {}}, 0, 0};
  const ShellWord file{{path, std::vector<std::size_t>(path.size(), 0), {}}, 0, 0};
  finder.arguments({option, file}, {});
  return true;
}

namespace {

// The values of ServerArgs(…) that begin at `from`, as a program; none where the text ends within. What Python prints
// as <…> is no expression.
std::optional<ShellText> logged_call(std::string_view text, std::size_t from) {
  ShellText out;
  char quote = '\0';
  int open = 0;
  for (std::size_t i = from; i < std::min(text.size(), from + limits::kLoggedBytes); ++i) {
    const char c = text[i];
    constexpr std::size_t kLongestSign = 200;
    const bool sign = c == '<' && quote == '\0';
    const std::size_t sign_length = sign ? text.substr(i, kLongestSign).find('>') : std::string_view::npos;
    const std::size_t sign_end = sign_length == std::string_view::npos ? sign_length : i + sign_length;
    if (sign_end != std::string_view::npos) {
      append(out, {"logged_value", std::vector<std::size_t>(12, i), {}});
      i = sign_end;
      continue;
    }
    append(out, piece(text, i, i + 1));
    if (quote != '\0') {
      if (c == '\\' && i + 1 < text.size()) append(out, piece(text, i + 1, i + 2));
      if (c == '\\') ++i;
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++open;
    } else if ((c == ')' || c == ']' || c == '}') && --open == 0) {
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace

// What a running server told of itself: the values it resolved, not the words it was given.
Result<bool> read_log(const SourceText& source, LaunchFinder& finder) {
  constexpr std::string_view kCall = "ServerArgs(";
  int cut_off = 0;
  for (auto at = source.text.find(kCall); at != std::string_view::npos; at = source.text.find(kCall, at + 1)) {
    const auto call = logged_call(source.text, at);
    if (!call) {
      const bool last = ++cut_off == limits::kCutOffCalls;
      finder.note({"SH004",
                   last ? "the values that the server logged here are cut off, as others before them: those behind "
                          "them are not looked at"
                        : "the values that the server logged here are cut off",
                   at});
      if (last) break;
      continue;
    }
    if (finder.error()) break;
    if (auto done = read_part(*call, FileKind::kWords, {}, source, finder); !done) return done;
  }
  return true;
}

}  // namespace preflight::sources
