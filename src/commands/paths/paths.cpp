// Tested by tests/launches_test.cpp.
#include "src/commands/paths/paths.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "src/base/files_read.h"
#include "src/base/glob_files.h"
#include "src/base/limits.h"
#include "src/sources/file_steps.h"
#include "src/base/read_text.h"
#include "src/commands/paths/called_scripts.h"
#include "src/commands/paths/settings.h"
#include "src/intake/conceal.h"
#include "src/intake/open_text.h"
#include "src/report/own_report.h"

namespace preflight::commands {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 60;  // of what is no path

bool may_hold_a_launch(const std::string& text) {
  // What an earlier run wrote: the launches in it are those of other files.
  if (report::is_own_report(text)) return false;
  return text.find("sglang") != std::string::npos || text.find("launch_server") != std::string::npos;
}

// Folders of tools: their own files and other people's packages. Other hidden folders (.github, .devcontainer, .vscode)
// hold launches as any other does.
bool is_left_out(const std::string& name) {
  constexpr std::array<std::string_view, 21> kNames = {
      "node_modules", "__pycache__", ".git",    ".hg",    ".svn",   ".jj",        ".venv",
      ".virtualenvs", ".direnv",     ".tox",    ".nox",   ".eggs",  ".npm",       ".yarn",
      ".pnpm",        ".cargo",      ".rustup", ".conda", ".local", ".terraform", ".ssh"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         (name.starts_with('.') && name.ends_with("cache"));
}

// A file that was come upon, and why it is not read; "" where it is. Its name begins lines of the report, and runners
// of CI take orders there: `::error::`, `##[error]`, `##vso[`.
ReadFile found_file(std::string name, std::string why_not = {}) {
  if (name.starts_with("::") || name.starts_with("##")) name.insert(0, "./");
  return {.name = std::move(name), .text = {}, .launches = {}, .why_none = std::move(why_not)};
}

// Looks for a launch in files that are longer than is read in a folder; those that hold other bytes than text have
// none.
class LongFiles {
 public:
  // Whether it may hold one: where nobody looked any more, it may.
  bool may_hold_a_launch(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string block(kBlock, '\0');
    std::string text;
    for (bool first = true; in.read(block.data(), static_cast<std::streamsize>(kBlock)) || in.gcount() > 0;
         first = false) {
      const auto bytes = static_cast<std::size_t>(in.gcount());
      if (first && block.substr(0, std::min(bytes, kBeginning)).find('\0') != std::string::npos) return false;
      if ((searched_ += bytes) > limits::kSearchedBytes) return true;
      text = text.substr(text.size() - std::min(text.size(), kOverlap)) + block.substr(0, bytes);
      if (commands::may_hold_a_launch(text)) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20U;
  static constexpr std::size_t kBeginning = 4'096;
  static constexpr std::size_t kOverlap = 32;  // longer than what is looked for
  std::size_t searched_ = 0;
};

// Whether files of this name are likely to hold launches.
bool is_named_as_if(const std::string& name) {
  constexpr std::array<std::string_view, 14> kEnds = {".sh",        ".bash", ".slurm", ".sbatch", ".yaml",
                                                      ".yml",       ".json", ".hcl",   ".md",     ".service",
                                                      ".container", ".mk",   ".py",    ".ipynb"};
  constexpr std::array<std::string_view, 4> kBeginnings = {"Dockerfile", "Containerfile", "Makefile", "Procfile"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); }) ||
         std::ranges::any_of(kBeginnings, [&](std::string_view begin) { return name.starts_with(begin); });
}

// What is no file and no folder, or a link to a folder elsewhere, which holds what this one does not: why it is left
// out; "" where nobody would look for a launch there.
std::string why_passed_over(const fs::directory_entry& entry, const fs::path& root) {
  std::error_code error;
  if (entry.is_directory(error)) {
    if (!entry.is_symlink(error)) return {};
    const fs::path target = fs::canonical(entry.path(), error);
    const bool within = std::mismatch(root.begin(), root.end(), target.begin(), target.end()).first == root.end();
    return error || within ? "" : "a link to another folder, which is not followed: name it to have it read";
  }
  if (entry.is_regular_file(error) || !is_named_as_if(entry.path().filename().string())) return {};
  return entry.exists(error) ? "no regular file" : "a link to nothing";
}

// Files below a directory, in order of their names; those that are not read, too, where they may hold a launch.
Result<std::vector<ReadFile>> below(const std::string& path) {
  if (access(path.c_str(), R_OK | X_OK) != 0) return failure("this folder cannot be read", path);
  std::vector<ReadFile> out;
  LongFiles long_files;
  std::error_code error;
  const fs::path root = fs::canonical(path, error);
  for (auto it = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool folder = it->is_directory(error);
    if (folder && is_left_out(name)) {
      it.disable_recursion_pending();
      continue;
    }
    if (folder && access(it->path().c_str(), R_OK | X_OK) != 0)
      out.push_back(found_file(it->path().string(), "this folder cannot be read"));
    if (std::string why = why_passed_over(*it, root); !why.empty()) {
      out.push_back(found_file(it->path().string(), std::move(why)));
      out.back().passed_over = true;
    }
    if (folder || !it->is_regular_file(error)) continue;
    if (it->file_size(error) <= limits::kFileBytes)
      out.push_back(found_file(it->path().string()));
    else if (long_files.may_hold_a_launch(it->path().string()))
      out.push_back(found_file(it->path().string(), "longer than is read in a folder, 1 MiB: name it to have it read"));
    if (out.size() > limits::kFiles)
      return failure(fmt::format("more than {} files: name the folders that hold launches", limits::kFiles), path);
  }
  if (error) return failure(error.message(), path);
  std::ranges::sort(out, {}, &ReadFile::name);
  return out;
}

// All files that one path names, unread.
Result<std::vector<ReadFile>> files_of(const std::string& path, std::size_t& entries_left) {
  std::error_code ignored;
  if (path != "-" && fs::is_directory(path, ignored)) {
    auto found = below(path);
    if (found && found->size() >= entries_left) return failure("more files than are looked at in one run", path);
    if (found) entries_left -= found->size();
    return found;
  }
  if (path == "-" || fs::exists(path, ignored)) {
    ReadFile file = found_file(path);
    file.named = true;
    return std::vector<ReadFile>{std::move(file)};
  }
  if (path.size() > PATH_MAX) return failure("longer than any path", path.substr(0, kShown) + "…");
  const auto names = glob_files(path, entries_left);
  if (entries_left == 0) return failure("this pattern goes through more files than are looked at", path);
  if (names.empty() || names.front() == path) return failure("there is no such file", path);  // a link to none
  std::vector<ReadFile> files;
  for (const std::string& name : names) {
    if (!fs::is_directory(name, ignored)) files.push_back(found_file(name));
  }
  return files;
}

// Its text; false where that is none of our business.
Result<bool> take_text(ReadFile& file) {
  auto text = read_text(file.name, true);
  if (!text && file.named) return tl::make_unexpected(text.error());
  if (!text) {
    file.why_none = text.error().message;
    return true;
  }
  file.text = std::move(*text);
  return file.named || may_hold_a_launch(*file.text);
}

// What its text starts.
void take_launches(ReadFile& file, const sources::Variables& variables) {
  const bool input = file.name == "-";
  if (input) file.name = "standard input";
  auto launches = sources::read_launches(*file.text, variables, input ? "" : file.name, &file.none);
  if (launches) {
    file.launches = std::move(*launches);
  } else {
    file.why_none = launches.error().text();
    if (!file.named) forget_read(file.name);
    hide_parts(file.why_none);  // it may quote the launch
    hide_literals(file.why_none);
  }
}

// What the files of a run have together, of launches or of tries: what one has, and one more for so many of their
// bytes.
std::size_t allowance(std::size_t of_a_file, std::size_t bytes) { return of_a_file + bytes / limits::kBytesOfALaunch; }

// The launches of a run's files together.
class RunLaunches {
 public:
  void add_text(std::size_t bytes) { bytes_ += bytes; }

  // A file with more than are left has none of its own: all of them are checked, or it is told that they are not. Nor
  // has any behind it, small as it may be: which ones were looked at would be nobody's guess.
  void take_from(ReadFile& file) {
    if (refused() ? !file.launches.empty() : file.launches.size() > most() - taken_) refuse(file);
    taken_ += file.launches.size();
  }

  void refuse(ReadFile& file) {
    if (!refused()) refused_at_ = most();
    file.launches.clear();
    file.none = sources::NoLaunch::kUnread;
    file.why_none = fmt::format("more than {} launches in these files: give them in several runs", *refused_at_);
  }

  // Whether a file had more than were left.
  [[nodiscard]] bool refused() const { return refused_at_.has_value(); }

 private:
  [[nodiscard]] std::size_t most() const { return allowance(limits::kLaunches, bytes_); }

  std::size_t bytes_ = 0;
  std::size_t taken_ = 0;
  std::optional<std::size_t> refused_at_;  // so many there might have been
};

// The files of a folder in which no launch is named, as long as a script is not found that they name and that holds
// one.
class QuietFiles {
 public:
  void add(ReadFile&& file) {
    forget_read(file.name);
    std::set<std::string> scripts = scripts_named_in(*file.text);
    file.text = {};
    if (!scripts.empty()) files_.emplace_back(std::move(file), std::move(scripts));
  }

  // Those that start the launches of these scripts join them, in order of their names, and those that may.
  void join(std::vector<ReadFile>& all, const sources::Variables& variables, const sources::RunSteps& steps,
            RunLaunches& launches) {
    for (std::size_t known = 0, before = all.size(); known < all.size(); before = all.size()) {
      std::set<std::string> holding;
      for (; known < before; ++known) holding.insert(fs::path(all[known].name).filename().string());
      for (auto& [file, scripts] : files_) {
        const bool names_one = std::ranges::any_of(scripts, [&](const auto& one) { return holding.contains(one); });
        if (!names_one) continue;
        scripts.clear();           // it is looked at once
        if (launches.refused()) {  // there is no room for those of others that it starts
          launches.refuse(file);
        } else {
          (void)take_text(file);
          take_launches(file, variables);
          launches.take_from(file);
        }
        if (!file.launches.empty() || launches.refused() || steps.cut_off()) all.push_back(std::move(file));
      }
    }
    std::ranges::stable_sort(all, {}, &ReadFile::place);
  }

 private:
  std::vector<std::pair<ReadFile, std::set<std::string>>> files_;
};

bool is_same(const sources::LaunchCommand& a, const sources::LaunchCommand& b) {
  return a.argv == b.argv && a.env == b.env && a.image == b.image && a.name == b.name;
}

// Whether the file that holds it is among these and says the same by itself.
bool is_told_elsewhere(const sources::LaunchCommand& launch, const std::vector<ReadFile>& files) {
  if (launch.file.empty()) return false;
  std::error_code ignored;
  const auto own = std::ranges::find_if(
      files, [&](const ReadFile& other) { return fs::equivalent(other.name, launch.file, ignored); });
  return own != files.end() && std::ranges::any_of(own->launches, [&](const sources::LaunchCommand& one) {
           return one.file.empty() && is_same(one, launch);
         });
}

// A launch of a file that another one includes is told once, where it stands; a file that only includes tells nothing.
void leave_out_included(std::vector<ReadFile>& files) {
  std::set<std::string> emptied;
  for (ReadFile& file : files) {
    std::vector<sources::LaunchCommand> kept;
    std::vector<sources::ShellNote> notes;
    for (const sources::LaunchCommand& launch : file.launches) {
      if (is_told_elsewhere(launch, files))
        notes.insert(notes.end(), launch.notes.begin(), launch.notes.end());
      else
        kept.push_back(launch);
    }
    if (kept.size() == file.launches.size()) continue;
    if (kept.empty()) emptied.insert(file.name);
    if (!kept.empty()) kept.back().notes.insert(kept.back().notes.end(), notes.begin(), notes.end());
    file.launches = std::move(kept);
  }
  std::erase_if(files, [&](const ReadFile& file) { return emptied.contains(file.name); });
}

// One file by several names, of links and of paths that are given twice, is one: its own name stays, or the first.
void leave_out_doubles(std::vector<ReadFile>& files) {
  std::map<std::string, std::size_t> seen;
  std::vector<ReadFile> out;
  for (ReadFile& file : files) {
    std::error_code error;
    const fs::path whole = fs::canonical(file.name, error);
    const auto [first, fresh] = seen.try_emplace(error ? file.name : whole.string(), out.size());
    if (fresh || file.name == "-") {
      out.push_back(std::move(file));
      continue;
    }
    ReadFile& known = out[first->second];
    const bool named = known.named || file.named;
    if (fs::is_symlink(known.name, error) && !fs::is_symlink(file.name, error)) known = std::move(file);
    known.named = named;
  }
  files = std::move(out);
}

std::vector<SettingsText> texts_of(const std::vector<ReadFile>& files) {
  std::vector<SettingsText> out;
  for (const ReadFile& file : files) out.push_back({*file.text, file.name == "standard input" ? "" : file.name});
  return out;
}

}  // namespace

Result<std::vector<ReadFile>> read_files(const std::vector<std::string>& paths, const sources::Variables& variables) {
  std::vector<ReadFile> files;
  std::size_t entries_left = limits::kGlobEntries;
  for (const std::string& path : paths) {
    auto found = files_of(path, entries_left);
    if (!found) return tl::make_unexpected(found.error());
    std::ranges::move(*found, std::back_inserter(files));
  }
  leave_out_doubles(files);
  if (files.size() > limits::kFiles)
    return failure(fmt::format("more than {} files: give them in several runs", limits::kFiles));
  std::vector<ReadFile> out;
  QuietFiles quiet;
  sources::RunSteps steps;
  RunLaunches launches;
  for (ReadFile& file : files) {
    file.place = static_cast<std::size_t>(&file - files.data());
    const bool read = file.why_none.empty();
    const auto taken = read ? take_text(file) : Result<bool>(true);
    if (!taken) return tl::make_unexpected(taken.error());
    steps.add_text((*file.text).size());
    launches.add_text((*file.text).size());
    if (*taken && read && file.why_none.empty()) take_launches(file, variables);
    launches.take_from(file);
    if (!file.launches.empty()) keep_secrets_of(*file.text);
    *taken ? out.push_back(std::move(file)) : quiet.add(std::move(file));
  }
  quiet.join(out, variables, steps, launches);
  leave_out_included(out);
  leave_out_called(out);
  tell_idle_settings(variables, texts_of(out));
  return out;
}

std::size_t tries_of(const std::vector<ReadFile>& files, std::size_t resolved_each) {
  std::size_t resolved = 0;
  std::size_t bytes = 0;
  for (const ReadFile& file : files) {
    bytes += (*file.text).size();
    resolved += file.launches.size() * resolved_each;
  }
  const std::size_t most = allowance(limits::kFileTries, bytes);
  return std::min(limits::kTries, most - std::min(most, resolved));
}

std::optional<Error> keep_chosen(const std::string& choice, std::vector<ReadFile>& files) {
  if (choice.empty()) return std::nullopt;
  std::size_t number = 0;
  std::string list;
  for (ReadFile& file : files) {
    std::vector<sources::LaunchCommand> kept;
    for (sources::LaunchCommand& launch : file.launches) {
      ++number;
      constexpr std::size_t kMostListed = 20;
      if (number <= kMostListed)
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", number, launch.name.empty() ? file.name : launch.name);
      if (choice == std::to_string(number) || choice == launch.name) kept.push_back(std::move(launch));
    }
    file.launches = std::move(kept);
  }
  std::erase_if(files, [](const ReadFile& file) { return file.launches.empty(); });
  if (!files.empty()) return std::nullopt;
  return Error{fmt::format("--launch {}: there is no such launch; there are {}", choice, list.empty() ? "none" : list)};
}

LaunchInput input_of(const LaunchInput& asked, const ReadFile& file, std::size_t index) {
  LaunchInput input = asked;
  input.launch_choice.clear();
  input.command = file.text;
  input.command_name = file.name;
  input.command_is_file = file.name != "standard input";
  input.found = &file.launches[index];
  return input;
}

}  // namespace preflight::commands
