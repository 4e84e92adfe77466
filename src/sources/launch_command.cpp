// Tested by tests/launch_command_test.cpp and tests/sources_test.cpp.
#include "src/sources/launch_command.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "src/sources/launch_finder.h"
#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

Result<bool> read_as(FileKind kind, const SourceText& source, LaunchFinder& finder) {
  switch (kind) {
    case FileKind::kManifest: {
      auto done = read_manifest(source, finder);
      if (done || is_manifest(source.text)) return done;
      return finder.script({std::string(source.text)}, {});  // a script that holds such a line
    }
    case FileKind::kDockerfile:
      return read_dockerfile(source, finder);
    case FileKind::kUnit:
      return read_unit(source, finder);
    case FileKind::kMakefile:
      return read_makefile(source, finder);
    case FileKind::kMarkdown:
      return read_markdown(source, finder);
    case FileKind::kWords:
      return read_words(source, finder);
    case FileKind::kLog:
      return read_log(source, finder);
    case FileKind::kConfig:
      return read_config(source, finder);
    case FileKind::kTemplate:
      return failure("this is a template: render it first (helm template, kustomize build) and give what comes out");
    case FileKind::kProcfile:
      return read_procfile(source, finder);
    case FileKind::kOther:
      if (source.text.find("sglang") == std::string_view::npos) return true;
      return failure(fmt::format("files like {} are not read: give the launch in it as a command", source.name));
    case FileKind::kShell:
      break;
  }
  return finder.script({std::string(source.text)}, {});
}

std::string place_text(LineColumn at) { return fmt::format("{}:{}", at.line, at.column); }

}  // namespace

Result<std::vector<LaunchCommand>> read_launches(std::string_view text, const Variables& variables,
                                                 std::string_view name) {
  LaunchFinder finder(text, variables);
  const SourceText source{text, variables, name};
  auto done = read_as(kind_of(text, name), source, finder);
  if (!done) return tl::make_unexpected(done.error());
  if (finder.error()) return tl::make_unexpected(*finder.error());
  const auto unknown_program = finder.unknown_program();
  auto found = finder.take();
  if (found.empty()) {
    if (text.find('\0') != std::string_view::npos) return failure("the command holds a NUL byte", "1:1");
    if (unknown_program) return failure(unknown_program->message, place_text(finder.place(unknown_program->offset)));
    for (const ShellNote& note : finder.notes()) {
      if (note.rule == "SH004") return failure(note.message, place_text(finder.place(note.offset)));
    }
    if (text.find("launch_server") != std::string_view::npos || text.find("sglang serve") != std::string_view::npos) {
      return failure(
          "a launch is named here, and nothing runs it (a function that nobody calls, a text for another program, or "
          "what stands behind an exit)");
    }
    return failure(fmt::format("{}: expected `python -m sglang.launch_server …` or `sglang serve …`", kNoLaunch));
  }
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
