// Tested by tests/launches_test.cpp.
#include "src/commands/paths/paths.h"

#include <glob.h>
#include <limits.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/read_text.h"

namespace preflight::commands {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 60;  // of what is no path

bool may_hold_a_launch(const std::string& text) {
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

// Files below a directory, in order of their names.
Result<std::vector<std::string>> below(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool folder = it->is_directory(error);
    if (folder && is_left_out(name)) {
      it.disable_recursion_pending();
      continue;
    }
    if (folder || !it->is_regular_file(error) || it->file_size(error) > limits::kFileBytes) continue;
    out.push_back(it->path().string());
    if (out.size() > limits::kFiles)
      return failure(fmt::format("more than {} files: name the folders that hold launches", limits::kFiles), path);
  }
  if (error) return failure(error.message(), path);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return out;
}

}  // namespace

Result<std::vector<ReadFile>> read_files(const std::vector<std::string>& paths, const sources::Variables& variables) {
  std::vector<ReadFile> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path == "-" || fs::is_regular_file(path, ignored) || fs::exists(path, ignored)) {
      if (path == "-" || !fs::is_directory(path, ignored)) {
        files.push_back({.name = path, .named = true, .text = {}, .launches = {}, .why_none = {}});
        continue;
      }
      auto found = below(path);
      if (!found) return tl::make_unexpected(found.error());
      for (std::string& name : *found)
        files.push_back({.name = std::move(name), .text = {}, .launches = {}, .why_none = {}});
      continue;
    }
    if (path.size() > PATH_MAX) return failure("longer than any path", path.substr(0, kShown) + "…");
    const auto found = matching(path);
    if (found.empty()) return failure("there is no such file", path);
    for (const std::string& name : found) {
      if (!fs::is_directory(name, ignored)) files.push_back({.name = name, .text = {}, .launches = {}, .why_none = {}});
    }
  }
  if (files.size() > limits::kFiles)
    return failure(fmt::format("more than {} files: give them in several runs", limits::kFiles));
  std::vector<ReadFile> out;
  for (ReadFile& file : files) {
    auto text = read_text(file.name, true);
    if (!text && file.named) return tl::make_unexpected(text.error());
    if (!text || (!file.named && !may_hold_a_launch(*text))) continue;
    file.text = std::move(*text);
    const bool input = file.name == "-";
    if (input) file.name = "standard input";
    auto launches = sources::read_launches(file.text, variables, input ? "" : file.name, &file.unrelated);
    if (launches) {
      file.launches = std::move(*launches);
    } else {
      file.why_none = launches.error().text();
    }
    out.push_back(std::move(file));
  }
  return out;
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
