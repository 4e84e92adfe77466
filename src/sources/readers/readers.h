// What a file is, and one reader for each kind: it hands the launches' commands to the finder. A reader that does not
// understand a part says so; a file that is none of these kinds is shell text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/launch_finder.h"

namespace preflight::sources {

struct StartPlace;

enum class FileKind {
  kShell,
  kManifest,  // compose, Kubernetes, workflows, SkyPilot: YAML with commands
  kDockerfile,
  kUnit,  // systemd, quadlet
  kMakefile,
  kMarkdown,
  kWords,     // a list of words: JSON, Python, /proc/PID/cmdline
  kLog,       // server_args=ServerArgs(…)
  kConfig,    // options of --config
  kTemplate,  // Helm, Jinja: not yet a manifest
  kProcfile,  // NAME: COMMAND
  kJustfile,
  kRestructured,
  kNotebook,  // Jupyter: code cells, lines for a shell among them
  kOther,     // a language that is not read here, by the file's name
};
FileKind kind_of(std::string_view text, std::string_view name);
std::string_view name_of(FileKind kind);

struct SourceText {
  std::string_view text;
  const Variables& given;
  std::string_view name;  // of the file; may be empty
  const Values* environment =
      nullptr;  // that a program is started with, where that is known; its places are the text's
  const std::function<int(std::size_t)>* line = nullptr;  // of a place, where the text was made of another one
  const StartPlace* start = nullptr;                      // where a command is started, if that is known
};

Result<bool> read_as(FileKind kind, const SourceText& source, LaunchFinder& finder);
// A text inside `source` (a code block, a cell, a file that is written), with its places there; `name` is for launches
// that have none of their own. Values of the source's environment are told at the beginning of the part.
Result<bool> read_part(const ShellText& part, FileKind kind, const std::string& name, const SourceText& source,
                       LaunchFinder& finder);

Result<bool> read_manifest(const SourceText& source, LaunchFinder& finder);
Result<bool> read_dockerfile(const SourceText& source, LaunchFinder& finder);
Result<bool> read_unit(const SourceText& source, LaunchFinder& finder);
Result<bool> read_makefile(const SourceText& source, LaunchFinder& finder);
Result<bool> read_markdown(const SourceText& source, LaunchFinder& finder);
Result<bool> read_restructured(const SourceText& source, LaunchFinder& finder);
Result<bool> read_program(const SourceText& source, LaunchFinder& finder);  // of Python
Result<bool> read_words(const SourceText& source, LaunchFinder& finder);
Result<bool> read_log(const SourceText& source, LaunchFinder& finder);
Result<bool> read_config(const SourceText& source, LaunchFinder& finder);

Result<bool> read_justfile(const SourceText& source, LaunchFinder& finder);
Result<bool> read_procfile(const SourceText& source, LaunchFinder& finder);
Result<bool> read_notebook(const SourceText& source, LaunchFinder& finder);

// What the image of a Dockerfile starts, where both parts are written out: all of it is told at one place.
struct ImageStart {
  std::vector<ShellWord> entrypoint = {};
  std::vector<ShellWord> command = {};
  bool takes_words = true;  // a shell as the entry point takes none of those that a container is given
  Values env = {};
  std::string base = {};
  std::vector<LaunchUnknown> unknown = {};
};
std::optional<ImageStart> image_start(const SourceText& dockerfile, std::size_t place, std::string_view target = {});

// True when `text` is a file of supervisor that holds programs, or names files that do.
bool is_of_supervisor(std::string_view text);
// True when `text` is a whole compose file or Kubernetes object rather than a script.
bool is_manifest(std::string_view text);
// The words of a JSON list of texts at `from` (a Dockerfile's exec form); nullopt where it is none.
std::optional<std::vector<ShellWord>> json_words(std::string_view text, std::size_t from, std::size_t to);
// Words of a text without a shell: quotes and backslashes, nothing expanded.
std::vector<ShellWord> plain_words(const ShellText& text);
// JSON as editors write it: comments and tabs blanked, so that every place stays.
std::string plain_json(std::string_view text);
// What is filled in later, from `open` to `close`: `value` gives the text in the place of each, from the expression
// with its marks and its place in the file; none leaves it as it stands.
using FilledIn = std::function<std::optional<ShellText>(const std::string& expression, std::size_t offset)>;
ShellText filled_expressions(const ShellText& text, std::string_view open, std::string_view close,
                             const FilledIn& value);
// Text from `from` to `to` of `text`, with places.
ShellText piece(std::string_view text, std::size_t from, std::size_t to);

}  // namespace preflight::sources
