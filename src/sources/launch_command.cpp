// Tested by tests/launch_command_test.cpp and tests/sources_test.cpp.
#include "src/sources/launch_command.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "src/sources/launch_finder.h"
#include "src/sources/mentions.h"
#include "src/sources/readers/python_tokens.h"
#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

std::string place_text(LineColumn at) { return fmt::format("{}:{}", at.line, at.column); }

// Why a text gives no launch.
Error nothing_found(std::string_view text, FileKind kind, const LaunchFinder& finder) {
  const auto meant = meant_mentions(text, kind);
  if (!meant.empty() && kind == FileKind::kWords) {
    return {"a text here names a launch, and what is made of it is not followed: give the command that it runs",
            place_text(finder.place(meant.front()))};
  }
  if (!meant.empty()) {
    return {
        "a launch is named here, and nothing runs it (a function that nobody calls, a text for another program, or "
        "what stands behind an exit)",
        place_text(finder.place(meant.front()))};
  }
  if (kind == FileKind::kWords && python_tokens(text).size() >= kMostPythonTokens)
    return {fmt::format("this text is longer than is followed: {} words and signs of a program", kMostPythonTokens)};
  if (mentions_launch(text))
    return {fmt::format("{}: it is named only in comments, in prose or for programs like grep and pkill", kNoLaunch)};
  return {fmt::format("{}: expected `python -m sglang.launch_server …` or `sglang serve …`", kNoLaunch)};
}

// Texts that name a launch and that no reader took for anything. A shell's are followed as they stand; a notebook's
// prose and a Makefile's variables are not told from what runs.
void tell_others(std::string_view text, FileKind kind, const LaunchFinder& finder, LaunchCommand& last) {
  constexpr std::array kKinds = {FileKind::kManifest, FileKind::kDockerfile, FileKind::kUnit,
                                 FileKind::kMarkdown, FileKind::kWords,      FileKind::kProcfile};
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return;
  constexpr std::size_t kMostTold = 20;
  std::size_t told = 0;
  for (const std::size_t at : meant_mentions(text, kind)) {
    const bool noted = std::any_of(last.notes.begin(), last.notes.end(), [&](const ShellNote& note) {
      return note.rule == "SH004" && finder.place(note.offset).line == finder.place(at).line;
    });
    if (noted || finder.accounts_for(at) || ++told > kMostTold) continue;
    last.notes.push_back({"SH004", "a launch is named here, and it is not read: give the command that it runs", at});
  }
}

}  // namespace

Result<std::vector<LaunchCommand>> read_launches(std::string_view text, const Variables& variables,
                                                 std::string_view name) {
  LaunchFinder finder(text, variables);
  const SourceText source{text, variables, name};
  const FileKind kind = kind_of(text, name);
  auto done = read_as(kind, source, finder);
  if (!done) return tl::make_unexpected(done.error());
  if (finder.error()) return tl::make_unexpected(*finder.error());
  const auto unknown_program = finder.unknown_program();
  if (kind == FileKind::kShell && finder.found_any()) finder.tell_what_is_left();
  auto found = finder.take();
  if (found.empty()) {
    if (text.find('\0') != std::string_view::npos) return failure("the command holds a NUL byte", "1:1");
    if (unknown_program) return failure(unknown_program->message, place_text(finder.place(unknown_program->offset)));
    for (const ShellNote& note : finder.notes()) {
      const bool block = note.message.starts_with("a code block is not understood");
      if (note.rule == "SH004" || block) return failure(note.message, place_text(finder.place(note.offset)));
    }
    return tl::make_unexpected(nothing_found(text, kind, finder));
  }
  tell_others(text, kind, finder, found.back());
  return found;
}

Result<std::vector<LaunchCommand>> find_launches(std::string_view text, const Variables& variables) {
  auto found = read_launches(text, variables);
  if (!found) return found;
  for (const LaunchCommand& launch : *found) {
    if (!launch.unknown.empty()) return failure(launch.unknown.front().what, place_text(launch.unknown.front().where));
  }
  return found;
}

Result<LaunchCommand> find_launch(std::string_view text, const Variables& variables) {
  auto all = find_launches(text, variables);
  if (!all) return tl::make_unexpected(all.error());
  if (all->size() > 1) {
    const char* kind = is_manifest(text) ? "manifest" : "command";
    return failure(
        fmt::format("{} SGLang launches in this {}; give one, or check them together with `nodes`", all->size(), kind));
  }
  return std::move(all->front());
}

}  // namespace preflight::sources
