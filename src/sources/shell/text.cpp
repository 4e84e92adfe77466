// Pieces of text with their places. Tested by tests/shell_test.cpp.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/base/shell_words.h"
#include "src/sources/shell.h"
#include "src/sources/text_lines.h"

namespace preflight::sources {

const Unknown* ShellText::hole(std::size_t at) const {
  if (text[at] != kHole) return nullptr;
  const auto it =
      std::lower_bound(unknowns.begin(), unknowns.end(), at, [](const Unknown& u, std::size_t i) { return u.at < i; });
  return it != unknowns.end() && it->at == at ? &*it : nullptr;
}

ShellText tail(const ShellText& text, std::size_t from) {
  ShellText out;
  out.text = text.text.substr(from);
  out.defaults = text.defaults;
  if (!text.origin.empty()) {
    out.origin.assign(text.origin.begin() + static_cast<std::ptrdiff_t>(from), text.origin.end());
  }
  for (Unknown u : text.unknowns) {
    if (u.at < from) continue;
    u.at -= from;
    out.unknowns.push_back(std::move(u));
  }
  return out;
}

ShellText slice(const ShellText& text, std::size_t from, std::size_t to) {
  ShellText out;
  out.text = text.text.substr(from, to - from);
  out.defaults = text.defaults;
  if (!text.origin.empty()) {
    out.origin.assign(text.origin.begin() + static_cast<std::ptrdiff_t>(from),
                      text.origin.begin() + static_cast<std::ptrdiff_t>(to));
  }
  for (auto u = std::ranges::lower_bound(text.unknowns, from, {}, &Unknown::at); u != text.unknowns.end(); ++u) {
    if (u->at >= to) break;
    out.unknowns.push_back(*u);
    out.unknowns.back().at -= from;
  }
  return out;
}

void add_defaults(TakenDefaults& to, const TakenDefaults& more) {
  if (more == nullptr || to == more) return;
  if (to == nullptr) {
    to = more;
    return;
  }
  auto all = *to;
  for (auto one = more->begin(); one != more->end() && all.size() < limits::kShellDefaults; ++one) all.insert(*one);
  if (all.size() > to->size()) to = std::make_shared<const std::map<std::string, TakenDefault>>(std::move(all));
}

TakenDefaults taken_default(const std::string& name, std::optional<std::string> value, std::size_t offset,
                            TakenWhy why) {
  return std::make_shared<const std::map<std::string, TakenDefault>>(
      std::map<std::string, TakenDefault>{{name, {std::move(value), offset, why}}});
}

ShellText standing_in(ShellText text, const std::string& name, std::size_t offset) {
  add_defaults(text.defaults, taken_default(name, text.text, offset));
  return text;
}

void append(ShellText& text, const ShellText& more) {
  add_defaults(text.defaults, more.defaults);
  for (const Unknown& u : more.unknowns) {
    text.unknowns.push_back(u);
    text.unknowns.back().at += text.text.size();
  }
  text.text += more.text;
  text.origin.insert(text.origin.end(), more.origin.begin(), more.origin.end());
}

ShellText unknown_text(std::string message, std::size_t offset) {
  ShellText out;
  out.text = kHole;
  out.origin = {offset};
  out.unknowns = {{0, std::move(message), offset}};
  return out;
}

bool same_text(const ShellText& a, const ShellText& b) {
  return a.text == b.text && std::equal(a.unknowns.begin(), a.unknowns.end(), b.unknowns.begin(), b.unknowns.end(),
                                        [](const Unknown& x, const Unknown& y) {
                                          return x.at == y.at && x.message == y.message && x.offset == y.offset;
                                        });
}

// Variables that a shell or a cluster's launcher sets: a default behind :- says nothing about them.
bool set_where_it_runs(std::string_view name) {
  constexpr std::array<std::string_view, 26> kNames = {
      "HOME",    "PWD",          "OLDPWD",        "USER",    "LOGNAME",    "HOSTNAME", "PATH",     "SHELL",  "UID",
      "EUID",    "PPID",         "RANDOM",        "SECONDS", "LINENO",     "HOSTTYPE", "MACHTYPE", "OSTYPE", "IFS",
      "SRANDOM", "EPOCHSECONDS", "EPOCHREALTIME", "GROUPS",  "PIPESTATUS", "FUNCNAME", "DIRSTACK", "COLUMNS"};
  constexpr std::array<std::string_view, 22> kFamilies = {
      "CI_",  "GITHUB_", "GITLAB_",         "RUNNER_", "CIRCLE_", "SLURM_", "SLURMD_", "OMPI_",
      "PMI_", "DSTACK_", "SKYPILOT_",       "RBG_",    "PMIX_",   "LWS_",   "BASH",    "KUBERNETES_",
      "VK_",  "VC_",     "JOB_COMPLETION_", "JOBSET_", "GROVE_",  "NOMAD_"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kFamilies.begin(), kFamilies.end(), [&](std::string_view f) { return name.starts_with(f); });
}

std::string not_set_here(const std::string& name) {
  return fmt::format("the variable {} is not set here, only where this runs; give it with {}", name, how_to_set(name));
}

std::string how_to_set(const std::string& name) {
  const bool plain =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; });
  if (plain) return fmt::format("--set {}=VALUE", name);
  return "--set " + single_quoted(name + "=VALUE");
}

namespace {

// Whether `word` stands at `at` as a word where a command begins.
bool begins_command(std::string_view text, std::size_t at, std::string_view word) {
  if (!text.substr(at).starts_with(word)) return false;
  const std::size_t behind = at + word.size();
  if (behind < text.size() && std::string_view(" \t\n;)&|").find(text[behind]) == std::string_view::npos) return false;
  const std::size_t last = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t", at - 1);
  if (last == std::string_view::npos || std::string_view("(;&|\n{").find(text[last]) != std::string_view::npos)
    return true;
  const std::string_view before = text.substr(0, last + 1);
  return last + 1 < at && (before.ends_with(" do") || before.ends_with(" then") || before.ends_with(" else") ||
                           before.ends_with(" in") || before.ends_with("\ndo") || before.ends_with("\nthen") ||
                           before.ends_with("\nelse"));
}

// What commands between parentheses hold that is no syntax: comments, and here-documents behind their line.
class Beside {
 public:
  explicit Beside(std::string_view text) : text_(text) {}

  // The last index of what begins at `i`, in commands; `i` itself where nothing does.
  std::size_t last(std::size_t i) {
    const char c = text_[i];
    if (c == '\n' && !ends_.empty()) return behind_documents(i);
    if (c == '#' && std::string_view(" \t\n;(&|").find(text_[i - 1]) != std::string_view::npos)
      return std::min(text_.find('\n', i), text_.size()) - 1;
    const std::string_view rest = text_.substr(i);
    if (rest.starts_with("<<<")) return i + 2;
    return rest.starts_with("<<") ? behind_sign(i) : i;
  }

 private:
  std::size_t behind_sign(std::size_t i) {
    std::size_t at = i + 2;
    const bool tabs = at < text_.size() && text_[at] == '-';
    at = text_.find_first_not_of(" \t", at + (tabs ? 1 : 0));
    if (at == std::string_view::npos) return i + 1;
    const bool quoted = text_[at] == '\'' || text_[at] == '"';
    const std::size_t first = at + (quoted || text_[at] == '\\' ? 1 : 0);
    const std::size_t end = quoted ? text_.find(text_[at], first) : text_.find_first_of(" \t\n;&|<>()", first);
    if (end == std::string_view::npos || end == first) return i + 1;
    ends_.emplace_back(text_.substr(first, end - first), tabs);
    return quoted ? end : end - 1;
  }
  std::size_t behind_documents(std::size_t line_end) {
    for (const auto& [end, tabs] : std::exchange(ends_, {})) {
      for (bool closed = false; !closed && line_end < text_.size();) {
        const std::size_t from = line_end + 1;
        line_end = std::min(text_.find('\n', from), text_.size());
        std::string_view line = text_.substr(std::min(from, text_.size()), line_end - std::min(from, line_end));
        if (tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        closed = line == end;
        if (!line.starts_with(end) || !line.substr(end.size()).starts_with(')')) continue;
        return line_end - line.size() + end.size() - 1;  // bash takes END) for its end, too
      }
    }
    return line_end;
  }

  std::string_view text_;
  std::vector<std::pair<std::string_view, bool>> ends_ = {};  // of here-documents whose line is not over
};

}  // namespace

std::size_t behind_parenthesis(std::string_view text, std::size_t open) {
  std::string nested;              // what is open: ( ' ", and + for the parentheses of arithmetic
  std::vector<std::size_t> cases;  // how much was open where each case began: its patterns end in parentheses
  Beside beside(text);
  for (std::size_t i = open; i < text.size(); ++i) {
    if (!nested.empty() && nested.back() == '(') {
      if (const std::size_t last = beside.last(i); last > i) {
        i = last;
        continue;
      }
      if (begins_command(text, i, "case")) cases.push_back(nested.size());
      const bool ends = !cases.empty() && begins_command(text, i, "esac");
      if (ends) cases.pop_back();
    }
    const char c = text[i];
    const char inside = nested.empty() ? '\0' : nested.back();
    const bool called = i > 0 && text[i - 1] == '$';
    const bool opens =
        (c == '\'' && inside != '"') || (c == '"' && inside != '"') || (c == '(' && (inside != '"' || called));
    if (inside == '\'') {
      if (c == '\'') nested.pop_back();
    } else if (c == '\\') {
      ++i;
    } else if (c == '"' && inside == '"') {
      nested.pop_back();
    } else if (opens) {
      const bool doubled = c == '(' && i + 1 < text.size() && text[i + 1] == '(';
      nested += doubled || (c == '(' && inside == '+' && !called) ? '+' : c;
    } else if (c == ')' && inside == '(' && !cases.empty() && cases.back() == nested.size()) {
      continue;
    } else if (c == ')' && (inside == '(' || inside == '+')) {
      nested.pop_back();
      if (nested.empty()) return i + 1;
    }
  }
  return std::string_view::npos;
}

Result<std::pair<std::string, std::string>> variable_setting(std::string_view word) {
  std::size_t name_end = word.find('=');
  if (word.starts_with("$(")) {
    name_end = behind_parenthesis(word, 1);
  } else if (word.starts_with("${")) {
    name_end = word.find("}=");
    if (name_end != std::string_view::npos) ++name_end;
  } else if (word.starts_with('`')) {
    name_end = word.find("`=");
    if (name_end != std::string_view::npos) ++name_end;
  }
  if (name_end == std::string_view::npos || name_end == 0 || name_end >= word.size() || word[name_end] != '=') {
    // What stands behind the name may be a secret.
    const std::string_view shown = word.starts_with('=') ? "=" : word.substr(0, word.find_first_of(" \t:,="));
    return failure(fmt::format("--set {}…: expected NAME=VALUE", shown));
  }
  std::string name(word.substr(0, name_end));
  if (name.front() == '`') name = "$(" + name.substr(1, name.size() - 2) + ")";
  return std::pair{std::move(name), std::string(word.substr(name_end + 1))};
}

LineColumn line_column(std::string_view text, std::size_t offset) { return TextLines(text).at(offset); }

}  // namespace preflight::sources
