// Tested by tests/policy_test.cpp.
#include "src/commands/policy/finding_filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

namespace preflight::commands {
namespace {

bool names(const std::vector<std::string>& rules, const Diagnostic& finding) {
  return std::ranges::any_of(rules, [&](const std::string& rule) { return finding.rule.starts_with(rule); });
}

bool has_expired(const IgnoreEntry& entry) {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return entry.until && std::chrono::sys_days(*entry.until) < today;
}

// Whether the comment stands on the lines of the launch or right above.
bool is_at(const InlineIgnore& ignore, const LaunchPlace& place) {
  return place.first_line > 0 && ignore.line >= first_line_of_comments(place.text, place.first_line) &&
         ignore.line <= std::max(place.first_line, place.last_line);
}

}  // namespace

Result<FindingFilter> FindingFilter::make(Options options) {
  for (const auto& [name, words] : {std::pair{"--select", &options.select}, std::pair{"--ignore", &options.ignore}}) {
    if (const auto known = known_rules(name, *words); !known) return tl::make_unexpected(known.error());
  }
  return FindingFilter(std::move(options));
}

void FindingFilter::set_severities(std::vector<Diagnostic>& findings) const {
  if (options_.policy.severities.empty()) return;
  for (Diagnostic& d : findings) {
    std::size_t best = 0;  // the entry that says most wins
    for (const auto& [rule, severity] : options_.policy.severities) {
      if (!d.rule.starts_with(rule) || rule.size() < best) continue;
      best = rule.size();
      d.severity = severity;
    }
  }
  std::ranges::stable_sort(findings, [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
}

bool FindingFilter::path_matches(const IgnoreEntry& entry, const LaunchPlace& place) const {
  if (entry.path.empty()) return true;
  if (place.file.empty()) return false;
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path base =
      fs::weakly_canonical(options_.policy.directory.empty() ? "." : options_.policy.directory, error);
  const std::string path = fs::weakly_canonical(place.file, error).lexically_relative(base).string();
  const std::string pattern = fs::path(entry.path).lexically_normal().string();
  if (pattern.ends_with('/')) return path.starts_with(pattern);
  return fnmatch(pattern.c_str(), path.c_str(), 0) == 0;
}

std::optional<Ignored> FindingFilter::by_policy(const Diagnostic& finding, const LaunchPlace& place) {
  for (std::size_t i = 0; i < options_.policy.ignores.size(); ++i) {
    const IgnoreEntry& entry = options_.policy.ignores[i];
    if (!finding.rule.starts_with(entry.rule) || has_expired(entry) || !path_matches(entry, place)) continue;
    used_.insert(i);
    return Ignored{finding, "policy", fmt::format("{} ({})", entry.reason, entry.place)};
  }
  return std::nullopt;
}

std::optional<Ignored> FindingFilter::reason_to_ignore(const Diagnostic& finding, const LaunchPlace& place,
                                                       std::vector<Comment>& comments) {
  const Policy& policy = options_.policy;
  const bool selected_here = !options_.select.empty();
  const auto& select = selected_here ? options_.select : policy.select;
  const std::string from = policy.file;
  if (!select.empty() && !names(select, finding)) {
    return Ignored{finding, "select", selected_here ? "not among --select" : "not among select in " + from};
  }
  if (names(options_.ignore, finding)) return Ignored{finding, "option", "--ignore"};
  if (names(policy.ignore, finding)) return Ignored{finding, "policy", "ignore in " + from};
  if (auto ignored = by_policy(finding, place)) return ignored;
  for (Comment& comment : comments) {
    if (!comment.ignore.fault.empty() || !names(comment.ignore.rules, finding) || !is_at(comment.ignore, place))
      continue;
    comment.used = true;
    return Ignored{finding, "inline", fmt::format("{} (line {})", comment.ignore.reason, comment.ignore.line)};
  }
  if (options_.into_baseline) {
    written_.add(finding, place.file, place.launch);
    return Ignored{finding, "baseline", "written to " + options_.baseline_file};
  }
  if (options_.baseline && options_.baseline->take(finding, place.file, place.launch)) {
    return Ignored{finding, "baseline", options_.baseline_file};
  }
  return std::nullopt;
}

std::vector<Ignored> FindingFilter::apply(std::vector<Diagnostic>& findings, const LaunchPlace& place) {
  set_severities(findings);
  const auto [known, is_new] = comments_.try_emplace(place.file);
  std::vector<Comment>& comments = known->second;
  if (is_new) {
    for (InlineIgnore& ignore : inline_ignores(place.text)) comments.push_back({.ignore = std::move(ignore)});
  }
  for (Comment& comment : comments) comment.at_launch = comment.at_launch || is_at(comment.ignore, place);
  for (std::size_t i = 0; i < options_.policy.ignores.size(); ++i) {
    if (path_matches(options_.policy.ignores[i], place)) reached_.insert(i);
  }
  std::vector<Ignored> out;
  std::erase_if(findings, [&](const Diagnostic& finding) {
    const auto ignored = reason_to_ignore(finding, place, comments);
    if (ignored) out.push_back(*ignored);
    return ignored.has_value();
  });
  return out;
}

std::vector<report::IgnoreNote> FindingFilter::notes() const {
  std::vector<report::IgnoreNote> out;
  for (std::size_t i = 0; i < options_.policy.ignores.size(); ++i) {
    const IgnoreEntry& entry = options_.policy.ignores[i];
    if (has_expired(entry)) {
      const auto d = *entry.until;
      out.push_back({entry.place, fmt::format("{} is no longer ignored: that was until {:04}-{:02}-{:02}", entry.rule,
                                              static_cast<int>(d.year()), static_cast<unsigned>(d.month()),
                                              static_cast<unsigned>(d.day()))});
    } else if (reached_.contains(i) && !used_.contains(i)) {
      out.push_back({entry.place, fmt::format("stale: {} is not found where it would be ignored", entry.rule)});
    }
  }
  for (const auto& [file, comments] : comments_) {
    for (const Comment& c : comments) {
      const std::string place = fmt::format("{}:{}", file.empty() ? "command" : file, c.ignore.line);
      if (!c.ignore.fault.empty()) {
        out.push_back({place, c.ignore.fault});
      } else if (!c.at_launch) {
        out.push_back({place, "this comment stands at no launch that was checked"});
      } else if (!c.used) {
        out.push_back({place, fmt::format("stale: {} is not found here", fmt::join(c.ignore.rules, ","))});
      }
    }
  }
  if (options_.baseline && options_.baseline->left() > 0) {
    out.push_back({options_.baseline_file,
                   fmt::format("stale: {} of its findings are gone; write it anew", options_.baseline->left())});
  }
  return out;
}

}  // namespace preflight::commands
