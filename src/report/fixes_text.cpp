// Tested by tests/fix_search_test.cpp.
#include "src/report/fixes_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/report/printable.h"
#include "src/base/shell_words.h"

namespace preflight::report {
namespace {

using Kind = ArgumentChange::Kind;

// A file's own words for an option: "--page-size 64" stands there as "page-size: 64".
std::string place(const ArgumentChange& c) {
  return c.where.file.empty() ? std::string() : fmt::format("   ({}:{})", printable(c.where.file), c.where.line);
}

bool leaves(const CheckedFix& fix, std::string_view rule) {
  return std::ranges::find(fix.leaves, rule) != fix.leaves.end();
}

// "a warning: PL002", "warnings: PL002, SP004 and a change: CH001"; "": nothing is left.
std::string words_of(std::vector<std::string> rules) {
  const bool changes = std::erase(rules, "CH001") > 0;
  std::string text =
      rules.empty() ? "" : fmt::format("{}: {}", rules.size() == 1 ? "a warning" : "warnings", fmt::join(rules, ", "));
  if (changes) text += fmt::format("{}a change: CH001", text.empty() ? "" : " and ");
  return text;
}

}  // namespace

std::string short_fix(const CheckedFix& fix) {
  std::string out;
  for (const ArgumentChange& c : fix.changes) {
    if (!out.empty()) out += ", ";
    if (c.kind == Kind::kReplace && !fix.stored_as.empty() && c.after.back().ends_with("-CHECKPOINT")) {
      out += fmt::format("another checkpoint of the model, stored as {}", fix.stored_as);
      continue;
    }
    switch (c.kind) {
      case Kind::kReplace:
        out += fmt::format("{} becomes {}", shell_words(c.before), shell_words(c.after));
        break;
      case Kind::kDrop:
        out += fmt::format("{} is dropped", shell_words(c.before));
        break;
      case Kind::kAdd:
        out += fmt::format("{} is added", shell_words(c.after));
        break;
      case Kind::kUnset:
        out += fmt::format("the variable {} is not set", c.before.front());
        break;
      case Kind::kAssign:
        out += fmt::format("{} is set in the environment", shell_words(c.after));
    }
  }
  return out;
}

std::vector<std::string> diff_lines(const CheckedFix& fix) {
  std::vector<std::string> out;
  for (const ArgumentChange& c : fix.changes) {
    const std::string_view what = c.kind == Kind::kUnset || c.kind == Kind::kAssign ? "environment " : "";
    if (!c.before.empty()) out.push_back(fmt::format("- {}{}{}", what, shell_words(c.before), place(c)));
    if (!c.after.empty()) out.push_back(fmt::format("+ {}{}", what, shell_words(c.after)));
  }
  return out;
}

using Rules = std::vector<std::string> CheckedFix::*;

// Rules that every fix has in such a list.
static std::vector<std::string> in_all(const FixSearch& search, Rules of) {
  std::vector<std::string> rules = search.fixes.empty() ? std::vector<std::string>() : search.fixes.front().*of;
  for (const CheckedFix& fix : search.fixes) {
    std::erase_if(rules, [&](const auto& rule) { return std::ranges::find(fix.*of, rule) == (fix.*of).end(); });
  }
  return rules;
}

// Of one fix, what is not told of all.
static std::vector<std::string> more_than_all(const CheckedFix& fix, const FixSearch& search, Rules of) {
  const std::vector<std::string> told = in_all(search, of);
  std::vector<std::string> more = fix.*of;
  std::erase_if(more, [&](const auto& rule) { return std::ranges::find(told, rule) != told.end(); });
  return more;
}

std::vector<std::string> left_by_all(const FixSearch& search) { return in_all(search, &CheckedFix::leaves); }

std::string how_checked(const FixSearch& search) {
  if (search.up_to_unknown_model) return "no errors up to the unknown model; what comes behind it is not checked";
  const std::string left = words_of(left_by_all(search));
  const std::vector<std::string> stays = in_all(search, &CheckedFix::stays);
  return "resolved and checked again: no errors" + (left.empty() ? "" : ", but " + left) +
         (stays.empty() ? "" : fmt::format("; {} {}", fmt::join(stays, ", "), stays.size() == 1 ? "stays" : "stay"));
}

std::string what_more_it_leaves(const CheckedFix& fix, const FixSearch& search) {
  const std::vector<std::string> stays = more_than_all(fix, search, &CheckedFix::stays);
  std::string text = words_of(more_than_all(fix, search, &CheckedFix::leaves));
  if (!stays.empty()) text += fmt::format("{}{} as it was", text.empty() ? "" : ", and ", fmt::join(stays, ", "));
  return text;
}

bool mends(const FixSearch& search, std::string_view rule) {
  return !search.fixes.empty() && !leaves(search.fixes.front(), rule);
}

std::string fixes_text(const FixSearch& search, const Style& style) {
  if (search.attempts == 0) return "";
  if (search.fixes.empty() && !search.elsewhere.empty()) {
    return style.bold("Fix") + style.dim(" (resolved and checked again: no errors; nothing else was found)") + "\n  " +
           style.green(printable(search.elsewhere)) + "\n\n";
  }
  if (search.fixes.empty()) {
    return style.bold("Fix") + "\n  " + style.yellow("none found: ") + printable(search.none_because) + "\n\n";
  }
  std::string out = style.bold("Fix") + style.dim(fmt::format(" ({})", how_checked(search))) + "\n";
  if (!search.elsewhere.empty())
    out += "  " + style.green(printable(search.elsewhere)) + "\n" + style.dim("  or") + "\n";
  for (std::size_t i = 0; i < search.fixes.size(); ++i) {
    if (i > 0) out += style.dim("  or") + "\n";
    for (const std::string& line : diff_lines(search.fixes[i])) {
      const std::string shown = printable(line);
      out += "  " + (line.front() == '-' ? style.red(shown) : style.green(shown)) + "\n";
    }
    out += "  " + printable(launch_command(search.fixes[i].arguments, search.fixes[i].env)) + "\n";
    if (const std::string more = what_more_it_leaves(search.fixes[i], search); !more.empty())
      out += style.dim("  which leaves " + more) + "\n";
    if (const std::string& form = search.fixes[i].stored_as; !form.empty()) {
      out += style.dim(fmt::format("  needs another checkpoint of this model; checked as with --stored-as {}", form)) +
             "\n";
    }
  }
  return out + "\n";
}

}  // namespace preflight::report
