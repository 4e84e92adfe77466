// Tested by tests/launch_command_test.cpp and tests/sources_test.cpp.
#include "src/sources/launch_command.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/file_steps.h"
#include "src/sources/image_tag.h"
#include "src/sources/launch_finder.h"
#include "src/sources/mentions.h"
#include "src/sources/readers/python_tokens.h"
#include "src/sources/readers/readers.h"
#include "src/sources/started_command.h"

namespace preflight::sources {
namespace {

std::string place_text(LineColumn at) { return fmt::format("{}:{}", at.line, at.column); }

// Why a text gives no launch.
Error nothing_found(std::string_view text, FileKind kind, const LaunchFinder& finder, NoLaunch& none) {
  const auto meant = meant_mentions(text, kind);
  const bool replaced =
      kind == FileKind::kUnit && !meant.empty() && !finder.notes().empty() &&
      std::all_of(meant.begin(), meant.end(), [&](std::size_t at) { return finder.accounts_for(at); });
  if (replaced) {  // another file of the unit starts something else
    none = NoLaunch::kUnrelated;
    return {finder.notes().back().message, place_text(finder.place(meant.front()))};
  }
  if (!meant.empty()) none = NoLaunch::kNamed;
  if (!meant.empty() && kind == FileKind::kWords) {
    return {"a text here names a launch, and what is made of it is not followed: give the command that it runs",
            place_text(finder.place(meant.front()))};
  }
  if (!meant.empty()) {
    return {
        "a launch is named here, and nothing runs it (a function that nobody calls, a text for another program, "
        "what stands behind an exit, or deeper or farther down than is followed)",
        place_text(finder.place(meant.front()))};
  }
  if (kind == FileKind::kWords && python_tokens(text).size() >= limits::kPythonTokens)
    return {
        fmt::format("this text is longer than is followed: {} words and signs of a program", limits::kPythonTokens)};
  if (mentions_launch(text) && !finder.unread_starts().empty()) {  // it may be written into what is run
    const ShellNote& start = finder.unread_starts().front();
    return {start.message, place_text(finder.place(start.offset))};
  }
  none = NoLaunch::kUnrelated;
  if (const auto& program = finder.unread_program())
    return {fmt::format("no SGLang launch in this command: {}", program->message),
            place_text(finder.place(program->offset))};
  const auto& notes = finder.notes();
  const auto unread = std::ranges::find(notes, "SH002", &ShellNote::rule);
  // It may stand in a file that this one includes.
  if (kind == FileKind::kManifest && unread != notes.end() && !mentions_launch(text))
    return {fmt::format("no SGLang launch in this command: {}", unread->message),
            place_text(finder.place(unread->offset))};
  return {fmt::format("no SGLang launch in this command: {}",
                      mentions_launch(text)
                          ? "it is named only in comments, in prose or for programs like grep and pkill"
                          : "expected `python -m sglang.launch_server …` or `sglang serve …`")};
}

// Which places stand in the text of a Makefile's variable that the file uses: what becomes of them is followed there.
class UsedByMake {
 public:
  explicit UsedByMake(std::string_view text) : text_(text) {
    for (std::size_t line = 0; line < text.size();) {
      const std::string_view rest = text.substr(line);
      if (line == 0 || !continues(line)) lines_.push_back(line);
      if (rest.starts_with("define ")) defines_.push_back(line);
      if (rest.starts_with("endef")) ends_.push_back(line);
      line = std::min(text.find('\n', line), text.size() - 1) + 1;
    }
  }

  bool operator()(std::size_t at) {
    const std::string_view name = variable_at(at);
    if (name.empty()) return false;
    const auto [known, is_new] = used_.try_emplace(name, false);
    if (is_new) {
      for (const std::string& use :
           {fmt::format("$({})", name), fmt::format("${{{}}}", name), fmt::format("call {}", name)})
        known->second = known->second || text_.find(use) != std::string_view::npos;
    }
    return known->second;
  }

 private:
  bool continues(std::size_t line) const { return line > 1 && text_[line - 2] == '\\'; }

  // The last of them that is not behind a place; npos where none is.
  static std::size_t last_before(const std::vector<std::size_t>& places, std::size_t at) {
    const auto behind = std::ranges::upper_bound(places, at);
    return behind == places.begin() ? std::string_view::npos : *std::prev(behind);
  }

  std::string_view name_from(std::size_t from) const {
    return text_.substr(from, text_.find_first_of(" \t\r\n:?+!=", from) - from);
  }

  // Of the variable; "" elsewhere.
  std::string_view variable_at(std::size_t at) const {
    const std::size_t line = last_before(lines_, at);
    const std::string_view front = text_.substr(line, at - line);
    if (!front.starts_with('\t') && front.find('=') != std::string_view::npos) {
      constexpr std::string_view kExport = "export ";
      return name_from(line + (front.starts_with(kExport) ? kExport.size() : 0));
    }
    const std::size_t define = last_before(defines_, line);
    const std::size_t end = last_before(ends_, line);
    const bool inside = define != std::string_view::npos && (end == std::string_view::npos || end < define);
    return inside ? name_from(define + std::string_view("define ").size()) : std::string_view();
  }

  std::string_view text_;
  std::vector<std::size_t> lines_;    // where lines begin, those that a \ joins as one
  std::vector<std::size_t> defines_;  // of variables of several lines
  std::vector<std::size_t> ends_;
  std::map<std::string_view, bool> used_;
};

// Texts that name a launch and that no reader took for anything. A shell's are followed as they stand; a notebook's
// prose is not told from what runs.
void tell_others(std::string_view text, FileKind kind, const LaunchFinder& finder, LaunchCommand& last) {
  constexpr std::array kKinds = {FileKind::kManifest, FileKind::kDockerfile, FileKind::kUnit,     FileKind::kMarkdown,
                                 FileKind::kWords,    FileKind::kProcfile,   FileKind::kMakefile, FileKind::kJustfile};
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return;
  constexpr std::size_t kMostTold = 20;
  std::size_t told = 0;
  UsedByMake used(kind == FileKind::kMakefile ? text : std::string_view());
  std::set<int> noted;  // lines
  for (const ShellNote& note : last.notes) {
    if (note.rule == "SH004") noted.insert(finder.place(note.offset).line);
  }
  for (const std::size_t at : meant_mentions(text, kind)) {
    if (told == kMostTold) break;
    if (noted.contains(finder.place(at).line) || finder.accounts_for(at) || (kind == FileKind::kMakefile && used(at)))
      continue;
    ++told;
    noted.insert(finder.place(at).line);
    last.notes.push_back({"SH004", "a launch is named here, and it is not read: give the command that it runs", at});
  }
}

// What the file installs is the release of what it starts there, and of the image that it is.
void take_pin(const std::string& release, FileKind kind, std::vector<LaunchCommand>& found) {
  for (LaunchCommand& launch : found) {
    const bool inside =
        kind == FileKind::kDockerfile || (launch.image.empty() && !(launch.elsewhere && kind == FileKind::kShell));
    if (!inside || !launch.release.empty()) continue;
    launch.release = release;
    launch.pinned = true;
  }
}

Result<std::vector<LaunchCommand>> read_all(const SourceText& source, FileKind kind, NoLaunch& why_none) {
  const std::string_view text = source.text;
  why_none = NoLaunch::kUnread;
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return failure("this file is UTF-16, which is not read here: save it as UTF-8", "1:1");
  const FileSteps steps;
  LaunchFinder finder(text, source.given);
  auto done = read_as(kind, source, finder);
  if (!done) return tl::make_unexpected(done.error());
  if (finder.error()) return tl::make_unexpected(*finder.error());
  if (FileSteps::spent()) return failure(FileSteps::kNoMore);
  const auto unknown_program = finder.unknown_program();
  if (kind == FileKind::kShell && finder.found_any()) finder.tell_what_is_left();
  if (finder.found_any()) finder.tell_unread_starts();
  auto found = finder.take();
  if (found.empty()) {
    if (text.find('\0') != std::string_view::npos) return failure("the command holds a NUL byte", "1:1");
    why_none = NoLaunch::kNamed;
    for (const ShellNote& note : finder.notes()) {  // one of the same line knows why
      const bool there = unknown_program && note.rule == "SH004" && kind == FileKind::kShell &&
                         finder.place(note.offset).line == finder.place(unknown_program->offset).line;
      if (there) return failure(note.message, place_text(finder.place(note.offset)));
    }
    if (unknown_program) return failure(unknown_program->message, place_text(finder.place(unknown_program->offset)));
    for (const ShellNote& note : finder.notes()) {
      if (note.rule == "SH004" || note.why_unread) return failure(note.message, place_text(finder.place(note.offset)));
    }
    why_none = NoLaunch::kUnread;
    return tl::make_unexpected(nothing_found(text, kind, finder, why_none));
  }
  tell_others(text, kind, finder, found.back());
  const std::string pin = pinned_release(finder.installs() + std::string(text));
  if (!pin.empty()) take_pin(pin, kind, found);
  return found;
}

}  // namespace

Result<std::vector<LaunchCommand>> read_launches(std::string_view text, const Variables& variables,
                                                 std::string_view name, NoLaunch* none) {
  NoLaunch ignored = {};
  return read_all({text, variables, name}, kind_of(text, name), none == nullptr ? ignored : *none);
}

Result<std::vector<LaunchCommand>> read_command(std::string_view text, const Variables& given,
                                                const StartPlace& start) {
  NoLaunch ignored = {};
  const FileKind kind = start.environment != nullptr ? FileKind::kShell : kind_of(text, {});
  return read_all({.text = text, .given = given, .name = {}, .start = &start}, kind, ignored);
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
