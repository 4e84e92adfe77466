// Tested by tests/launches_test.cpp.
#include "src/commands/paths/settings.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/report/complaint.h"
#include "src/sources/file_steps.h"
#include "src/sources/launch_command.h"

namespace preflight::commands {
namespace {

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Other keys are substitutions as reports show them, "$@" and its kin.
bool is_plain(std::string_view name) { return std::ranges::all_of(name, is_name_letter); }

// Those of the settings that stand in the text as words of their own.
std::set<std::string_view> named_in(std::string_view text, const sources::Variables& variables) {
  std::set<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_name_letter(text[end])) ++end;
    if (const auto found = variables.find(std::string(text.substr(at, end - at))); found != variables.end())
      out.insert(found->first);
    at = end + 1;
  }
  return out;
}

struct ReadText {
  const SettingsText& source;
  std::set<std::string_view> names;
};

bool is_same(const sources::LaunchCommand& a, const sources::LaunchCommand& b) {
  const auto what = [](const auto& x, const auto& y) { return x.what == y.what; };
  const auto taken = [](const auto& x, const auto& y) { return x.name == y.name && x.value == y.value; };
  const auto note = [](const auto& x, const auto& y) { return x.message == y.message; };
  const auto told = [](const sources::LaunchCommand& l) {
    return std::tie(l.argv, l.env, l.name, l.when, l.image, l.release, l.program, l.elsewhere);
  };
  return told(a) == told(b) && std::ranges::equal(a.unknown, b.unknown, what) &&
         std::ranges::equal(a.defaults, b.defaults, taken) && std::ranges::equal(a.notes, b.notes, note);
}

bool says_the_same(const SettingsText& source, const sources::Variables& with, const sources::Variables& without) {
  const auto a = sources::read_launches(source.text, with, source.name);
  const auto b = sources::read_launches(source.text, without, source.name);
  if (!sources::FileSteps::take(1)) return false;  // cut short
  if (!a || !b) return !a && !b && a.error().text() == b.error().text();
  return std::ranges::equal(*a, *b, is_same);
}

// Without it, every text that may heed it says the same; false where that takes more readings than are left.
bool changes_nothing(const std::string& name, const sources::Variables& variables, const std::vector<ReadText>& texts,
                     int& readings) {
  sources::Variables without = variables;
  without.erase(name);
  const bool anywhere = !is_plain(name) || name == "HOME";  // ~ is the home directory
  return std::ranges::all_of(texts, [&](const ReadText& one) {
    if (!anywhere && !one.names.contains(name)) return true;
    return readings-- > 0 && says_the_same(one.source, variables, without);
  });
}

void tell(const std::vector<std::string>& which, std::string_view what) {
  if (!which.empty()) report::complain(fmt::format("--set {}: {}", fmt::join(which, ", "), what));
}

}  // namespace

void tell_idle_settings(const sources::Variables& variables, const std::vector<SettingsText>& texts) {
  constexpr std::size_t kReadAgain = std::size_t{4} << 20U;  // bytes: of more, no text is read again
  int readings = 64;
  std::size_t bytes = 0;
  if (texts.empty() || variables.empty()) return;
  std::vector<ReadText> read;
  for (const SettingsText& source : texts) {
    bytes += source.text.size();
    read.push_back({source, named_in(source.text, variables)});
  }
  const sources::FileSteps steps;  // all readings together take no more than one file does
  std::vector<std::string> unnamed;
  std::vector<std::string> idle;
  for (const auto& setting : variables) {
    const std::string& name = setting.first;
    const bool named = std::ranges::any_of(read, [&](const ReadText& one) { return one.names.contains(name); });
    if (is_plain(name) && name != "HOME" && !named)
      unnamed.push_back(name);
    else if (bytes <= kReadAgain && changes_nothing(name, variables, read, readings))
      idle.push_back(name);
  }
  tell(unnamed, "nothing that was read names it");
  tell(idle, "changes nothing: what was read sets it itself, or does not use it where it counts");
}

}  // namespace preflight::commands
