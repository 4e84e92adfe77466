// Tested by tests/launch_command_test.cpp and tests/sources_test.cpp.
#include "src/sources/placeholders.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "src/base/ascii_case.h"

namespace preflight::sources {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// <name> or {name} as a whole part of a path or an address: none of a sentence, of JSON or of a tag that is closed.
std::string_view in_brackets(std::string_view value, std::string_view brackets) {
  constexpr std::string_view kAround = "/:,.=@-_";
  for (std::size_t from = value.find(brackets[0]); from != std::string_view::npos;
       from = value.find(brackets[0], from + 1)) {
    const std::size_t end = value.find_first_of(brackets, from + 1);
    if (end == std::string_view::npos || value[end] != brackets[1] || end < from + 2 || !is_name(value[from + 1]))
      continue;
    const std::string_view name = value.substr(from + 1, end - from - 1);
    if (brackets[0] == '{' && (!is_letter(name[0]) || name.find("..") != std::string_view::npos)) continue;
    const bool plain = std::ranges::all_of(
        name, [](char c) { return is_name(c) || std::string_view("_- ./").find(c) != std::string_view::npos; });
    const bool before = from == 0 || kAround.find(value[from - 1]) != std::string_view::npos;
    const bool behind = end + 1 == value.size() || kAround.find(value[end + 1]) != std::string_view::npos;
    if (plain && before && behind) return value.substr(from, end + 1 - from);
  }
  return {};
}

// Keys, passwords and the name that clients ask for: whatever they are, nothing that is judged depends on them.
bool decides_nothing(std::string_view option) {
  return option.ends_with("-key") || option.ends_with("-password") || option == "--served-model-name";
}

}  // namespace

std::string why_placeholder(std::string_view word, std::string_view before) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
  const bool joined = equals != std::string_view::npos;
  if (decides_nothing(joined ? word.substr(0, equals) : before)) return {};
  const std::string_view value = joined ? word.substr(equals + 1) : word;
  if (word == "..." || word == "…") return fmt::format("{} stands for arguments that are left out here", word);
  for (const std::string_view brackets : {"<>", "{}"}) {
    if (const std::string_view name = in_brackets(value, brackets); !name.empty())
      return fmt::format("{} is a placeholder: put the value in its place", name);
  }
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t end = std::min(value.find('/', from), value.size());
    const std::string_view part = value.substr(from, end - from);
    from = end + 1;
    constexpr std::size_t kHidden = 3;
    if (part.size() >= kHidden && part.find_first_not_of('*') == std::string_view::npos)
      return fmt::format("{} stands for what somebody hid: put the value in its place", part);
    const std::string small = ascii_lower(part.substr(0, 5));
    if (part.size() > 5 && (small == "your_" || small == "your-"))
      return fmt::format("{} is a placeholder: put the value in its place", part);
  }
  return {};
}

}  // namespace preflight::sources
