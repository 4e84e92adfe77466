// One reader for each kind of file, and texts inside others: they are read by the reader of their own kind, and what it
// finds is told with its place in the file. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/workflow_condition.h"
#include "src/sources/readers/started_program.h"
#include "src/sources/shell/bash_only.h"
#include "src/sources/slurm_job.h"
#include "src/sources/started_command.h"

namespace preflight::sources {

namespace {

void start_in(const StartPlace& start, RunContext& context) {
  context.folder = start.folder;
  if (start.environment == nullptr) return;
  context.is_here = context.arguments_known = true;
  for (const auto& [name, value] : *start.environment) context.env.emplace(name, ShellText{value});
}

// bash takes the CR of a line that ends with CR LF as a part of its last word. What is pasted lost its file's line
// ends.
Result<bool> read_script(const SourceText& source, LaunchFinder& finder) {
  RunContext context;
  context.file = source.name;
  take_job_lines(source.text, context.host);
  if (source.start != nullptr) start_in(*source.start, context);
  if (source.text.starts_with("\xEF\xBB\xBF"))
    finder.note(
        {"SH004",
         "this script begins with a byte-order mark, which the shell takes as a part of its first word: write it "
         "without",
         0});
  if (const auto at = source.text.find("\r\n"); at != std::string_view::npos && !source.name.empty()) {
    context.unknown.push_back(
        {"lines of this script end with CR LF, and the shell takes the CR as a part of their last "
         "words: write it with LF alone (dos2unix)",
         at,
         {}});
  }
  const ShellText script{std::string(source.text)};
  if (begins_for_sh(source.text)) ask_of_sh(script, context.unknown);
  return finder.script(script, context);
}

// What to paste of a file that is not read.
std::string_view what_to_give(std::string_view name) {
  struct Instead {
    std::string_view part;  // of the name
    std::string_view words;
  };
  constexpr auto kInstead = std::to_array<Instead>({
      {".tf", "give the script or the object that it hands over, as `terraform console` or `terraform plan` prints it"},
      {"Jenkinsfile", "give the text of the `sh` step as a script"},
      {".groovy", "give the text of the `sh` step as a script"},
      {"tox.ini", "give the command as tox prints it, and what setenv sets"},
      {"docker-bake.hcl", "give the Dockerfile that it builds, or what `docker buildx bake --print` prints of it"},
      {"crontab", "give the command of the line, without its times and its user"},
      {"sonnet", "give the objects that `jsonnet` makes of it"},
      {".cue", "give the objects that `cue export` makes of it"},
      {".plist", "give its ProgramArguments as a command"},
      {".config.js", "give the launch in it as a command, with what env sets"},
  });
  for (const Instead& one : kInstead) {
    if (name.find(one.part) != std::string_view::npos) return one.words;
  }
  return "give the launch in it as a command";
}

}  // namespace

ShellText filled_expressions(const ShellText& text, std::string_view open, std::string_view close,
                             const FilledIn& value) {
  ShellText out;
  std::size_t from = 0;
  for (auto at = text.text.find(open); at != std::string::npos; at = text.text.find(open, from)) {
    const auto end = open == "${{" ? end_of_workflow_expression(text.text, at + open.size())
                                   : text.text.find(close, at + open.size());
    if (end == std::string::npos) break;
    append(out, slice(text, from, at));
    from = end + close.size();
    const auto filled = value(text.text.substr(at, from - at), text.origin.empty() ? at : text.origin[at]);
    if (filled && out.text.size() + filled->text.size() > limits::kVariableBytes)
      append(out, unknown_text("this would be longer than is followed: its expressions come to more than 1 MiB",
                               text.origin.empty() ? at : text.origin[at]));
    else
      append(out, filled ? *filled : slice(text, at, from));
  }
  append(out, slice(text, from, text.text.size()));
  return out;
}

Result<bool> read_as(FileKind kind, const SourceText& source, LaunchFinder& finder) {
  switch (kind) {
    case FileKind::kManifest: {
      auto done = read_manifest(source, finder);
      if (done || is_manifest(source.text) || source.text.find("{{") != std::string_view::npos) return done;
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
    case FileKind::kJustfile:
      return read_justfile(source, finder);
    case FileKind::kProcfile:
      return read_procfile(source, finder);
    case FileKind::kRestructured:
      return read_restructured(source, finder);
    case FileKind::kNotebook:
      return read_notebook(source, finder);
    case FileKind::kOther:
      if (source.text.find("sglang") == std::string_view::npos) return true;
      if (source.text.find("[watcher:") != std::string_view::npos)
        return failure("files of circus are not read: give the command of the watcher, its cmd with its args");
      return failure(
          fmt::format("files like {} are not read: {}", base_name(source.name), what_to_give(base_name(source.name))));
    case FileKind::kShell:
      break;
  }
  return read_script(source, finder);
}

namespace {

using Reads = std::function<Result<bool>(const SourceText& source, LaunchFinder& finder)>;

// What was made outside of a text stands at its beginning.
void place_at(ShellText& text, std::size_t at) {
  text.origin.assign(text.text.size(), at);
  for (Unknown& unknown : text.unknowns) unknown.offset = at;
}

// A text of which `lines` line ends stand in front, so that its lines are those of a file.
Result<bool> read_inside(const ShellText& part, std::size_t lines, const std::string& name, const SourceText& source,
                         LaunchFinder& finder, const Reads& reads) {
  if (part.text.empty()) return true;
  const std::string text = std::string(lines, '\n') + part.text;
  LaunchFinder inner(text, source.given);
  if (!finder.descend(inner, text.size()))
    return failure("this holds more texts inside texts than are followed; give the launch as a command");
  Values environment;
  if (source.environment != nullptr) environment = *source.environment;
  for (auto& [variable, value] : environment) place_at(value, lines);
  auto done = reads({text, source.given, source.name, &environment}, inner);
  const auto place = [&](std::size_t at) {
    return at < lines ? part.origin.front() : part.origin[std::min(at - lines, part.origin.size() - 1)];
  };
  finder.adopt(inner, place, [&](std::size_t) { return name; });
  return done;
}

}  // namespace

// Line ends in front of the part make its lines those of the file, in whatever is told of it.
Result<bool> read_part(const ShellText& part, FileKind kind, const std::string& name, const SourceText& source,
                       LaunchFinder& finder) {
  if (part.text.empty()) return true;
  const auto lines = static_cast<std::size_t>(finder.place(part.origin.front()).line) - 1;
  return read_inside(part, lines, name, {source.text, source.given, {}, source.environment}, finder,
                     [&](const SourceText& inside, LaunchFinder& inner) { return read_as(kind, inside, inner); });
}

Result<bool> read_started(const ShellText& program, const ProgramStart& start, const SourceText& source,
                          LaunchFinder& finder) {
  if (program.text.empty()) return true;
  const bool own = !start.file.empty();
  const auto lines = own ? 0 : static_cast<std::size_t>(finder.place(program.origin.front()).line) - 1;
  ProgramStart placed = start;
  for (ShellWord& word : placed.arguments) {
    place_at(word, lines);
    word.begin = word.end = lines;
  }
  return read_inside(program, lines, {}, {source.text, source.given, start.file, source.environment}, finder,
                     [&](const SourceText& inside, LaunchFinder& inner) {
                       auto done = read_program(inside, inner, &placed);
                       if (own) inner.stands_through(start.file);
                       return done;
                     });
}

}  // namespace preflight::sources
