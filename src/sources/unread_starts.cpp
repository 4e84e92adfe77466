// Tested by tests/launches_test.cpp.
#include "src/sources/unread_starts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "src/sources/container_command.h"

namespace preflight::sources {
namespace {

using Words = std::vector<ShellWord>;

std::string shown(std::string text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "…";
  std::ranges::replace(text, kHole, '?');
  return text;
}

// Index of the first word of `verbs` behind words[at]; words.size() where none stands there.
template <std::size_t N>
std::size_t verb_behind(const Words& words, std::size_t at, const std::array<std::string_view, N>& verbs) {
  std::size_t i = at + 1;
  while (i < words.size() && std::ranges::find(verbs, std::string_view(words[i].text)) == verbs.end()) ++i;
  return i;
}

bool has(const Words& words, std::size_t at, std::string_view text) {
  return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(),
                     [&](const ShellWord& w) { return w.text == text; });
}

// Goals that make programs, and start none.
bool only_makes(std::string_view goal) {
  constexpr auto kGoals = std::to_array<std::string_view>(
      {"all", "build", "check", "clean", "deps", "distclean", "install", "lint", "setup", "test", "uninstall"});
  return std::ranges::find(kGoals, goal) != kGoals.end();
}

// `make serve`, `make -C dir`: a goal that may start something, or the first one of another folder's Makefile.
std::string recipes(const Words& words, std::size_t at) {
  constexpr auto kWithValue = std::to_array<std::string_view>(
      {"-C", "--directory", "-f", "--file", "--makefile", "-I", "-o", "-W", "-j", "-l"});
  std::string folder;
  std::string goal;
  bool any = false;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (std::ranges::find(kWithValue, std::string_view(w)) != kWithValue.end()) {
      const std::string next = i + 1 < words.size() ? words[i + 1].text : std::string();
      if (w == "-C" || w == "--directory") folder = next;
      const bool number = !next.empty() && next.find_first_not_of("0123456789") == std::string::npos;
      if (w != "-j" || number) ++i;
      continue;
    }
    if (w.starts_with("--directory=")) folder = w.substr(w.find('=') + 1);
    if (w.starts_with('-') || w.find('=') != std::string::npos) continue;
    any = true;
    if (!only_makes(w) && goal.empty()) goal = w;
  }
  if (goal.empty() && (any || folder.empty())) return {};
  const std::string where = folder.empty() ? "" : " -C " + shown(folder);
  return fmt::format("make{}{} runs recipes", where, goal.empty() ? "" : " " + shown(goal));
}

// `docker compose up`, `docker stack deploy`
std::string services(const Words& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  const bool joined = name == "docker-compose" || name == "podman-compose";
  constexpr auto kStacks = std::to_array<std::string_view>({"compose", "stack"});
  const std::size_t tool = joined ? at : verb_behind(words, at, kStacks);
  if (!joined && (!is_container_tool(name) || tool == words.size())) return {};
  constexpr auto kStarts = std::to_array<std::string_view>({"deploy", "restart", "start", "up"});
  const std::size_t verb = verb_behind(words, tool, kStarts);
  if (verb == words.size()) return {};
  return fmt::format("{}{} {} starts services", name, joined ? "" : " " + words[tool].text, words[verb].text);
}

std::string objects(const Words& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  constexpr auto kApplies = std::to_array<std::string_view>({"apply", "create", "replace"});
  constexpr auto kInstalls = std::to_array<std::string_view>({"install", "upgrade"});
  if (name == "helm" || name == "helmfile") {
    const std::size_t verb = name == "helm" ? verb_behind(words, at, kInstalls) : verb_behind(words, at, kApplies);
    return verb == words.size() ? "" : fmt::format("{} {} starts what a chart holds", name, words[verb].text);
  }
  if (name != "kubectl" && name != "oc") return {};
  const std::size_t verb = verb_behind(words, at, kApplies);
  const bool files =
      has(words, at, "-f") || has(words, at, "-k") || has(words, at, "--filename") || has(words, at, "--kustomize");
  return verb == words.size() || !files ? "" : fmt::format("{} {} starts what manifests hold", name, words[verb].text);
}

std::string units(const Words& words, std::size_t at) {
  constexpr auto kStarts = std::to_array<std::string_view>({"enable", "restart", "start"});
  const std::size_t verb = verb_behind(words, at, kStarts);
  if (verb + 1 >= words.size() || (words[verb].text == "enable" && !has(words, at, "--now"))) return {};
  return fmt::format("systemctl {} {} starts a unit", words[verb].text, shown(words.back().text));
}

std::string started(const Words& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  if (name == "make" || name == "gmake") return recipes(words, at);
  if (name == "systemctl") return units(words, at);
  if (is_container_tool(name)) return services(words, at);
  return objects(words, at);
}

}  // namespace

std::string starts_from_files(const Words& words, std::size_t at) {
  const std::string what = words[at].unknowns.empty() ? started(words, at) : std::string();
  return what.empty() ? what : what + ", which are not read: give those files, too";
}

}  // namespace preflight::sources
