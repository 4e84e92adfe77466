// Tested by tests/policy_test.cpp.
#include "src/commands/policy/finding_filter.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

namespace preflight::commands {
namespace {

namespace fs = std::filesystem;

bool names(const std::vector<std::string>& rules, const Diagnostic& finding) {
  return std::ranges::any_of(rules, [&](const std::string& rule) { return finding.rule.starts_with(rule); });
}

bool has_expired(const IgnoreEntry& entry) {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return entry.until && std::chrono::sys_days(*entry.until) < today;
}

// Where the policy's paths start.
fs::path base_of(const Policy& policy) {
  std::error_code error;
  return fs::weakly_canonical(policy.directory.empty() ? "." : policy.directory, error);
}

// The file's path from there.
std::string path_for(const Policy& policy, const std::string& file) {
  if (file.empty()) return {};
  std::error_code error;
  return fs::weakly_canonical(file, error).lexically_relative(base_of(policy)).string();
}

std::string normal_pattern(const std::string& path) { return fs::path(path).lexically_normal().string(); }

// Whether no file is there that a path of the policy could mean. Folders are gone through as far as that is quick.
bool means_no_file(const Policy& policy, const std::string& path) {
  constexpr std::size_t kMostEntries = 2'000;
  const std::string pattern = normal_pattern(path);
  const fs::path base = base_of(policy);
  const std::size_t sign = pattern.find_first_of("*?");
  std::error_code error;
  if (sign == std::string::npos) return !fs::exists(base / pattern, error) && !error;
  const fs::path folder = base / pattern.substr(0, pattern.rfind('/', sign) + 1);
  if (!fs::exists(folder, error)) return !error;
  std::size_t left = kMostEntries;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (left-- == 0 || matches_pattern(at->path().lexically_relative(base).string(), pattern)) return false;
  }
  return !error;
}

bool path_matches(const IgnoreEntry& entry, const std::string& path) {
  if (entry.path.empty()) return true;
  if (path.empty()) return false;
  const std::string pattern = normal_pattern(entry.path);
  return pattern.ends_with('/') ? path.starts_with(pattern) : matches_pattern(path, pattern);
}

}  // namespace

bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;  // of the text, behind the last star
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

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

std::optional<Ignored> FindingFilter::by_policy(const Diagnostic& finding, const Candidates& here, bool counts) {
  for (const std::size_t i : here.entries) {
    const IgnoreEntry& entry = options_.policy.ignores[i];
    if (!finding.rule.starts_with(entry.rule)) continue;
    if (counts) used_.insert(i);
    return Ignored{finding, "policy", fmt::format("{} ({})", entry.reason, entry.place)};
  }
  return std::nullopt;
}

std::optional<Ignored> FindingFilter::lasting_reason(const Diagnostic& finding, const Candidates& here, bool counts) {
  const Policy& policy = options_.policy;
  const bool selected_here = !options_.select.empty();
  const auto& select = selected_here ? options_.select : policy.select;
  const std::string from = policy.file;
  if (!select.empty() && !names(select, finding)) {
    return Ignored{finding, "select", selected_here ? "not among --select" : "not among select in " + from};
  }
  if (names(options_.ignore, finding)) return Ignored{finding, "option", "--ignore"};
  if (names(policy.ignore, finding)) return Ignored{finding, "policy", "ignore in " + from};
  if (auto ignored = by_policy(finding, here, counts)) return ignored;
  for (Comment* comment : here.comments) {
    if (!comment->ignore.fault.empty() || !names(comment->ignore.rules, finding)) continue;
    comment->used = comment->used || counts;
    return Ignored{finding, "inline", fmt::format("{} (line {})", comment->ignore.reason, comment->ignore.line)};
  }
  return std::nullopt;
}

std::optional<Ignored> FindingFilter::reason_to_ignore(const Diagnostic& finding, const Candidates& here) {
  if (auto ignored = lasting_reason(finding, here, true)) return ignored;
  const LaunchPlace& place = here.place;
  if (options_.into_baseline) {
    written_.add(finding, place.file, place.launch);
    return Ignored{finding, "baseline", "written to " + options_.baseline_file};
  }
  if (options_.baseline && options_.baseline->take(finding, place.file, place.launch)) {
    return Ignored{finding, "baseline", options_.baseline_file};
  }
  return std::nullopt;
}

FindingFilter::Candidates FindingFilter::candidates(const LaunchPlace& place) {
  Candidates out{.place = place};
  const auto [known, is_new] = comments_.try_emplace(place.name);
  if (is_new) {
    for (InlineIgnore& ignore : inline_ignores(place.text)) known->second.push_back({.ignore = std::move(ignore)});
  }
  if (!known->second.empty() && place.first_line > 0) {
    const int from = first_line_of_comments(place.text, place.first_line);
    for (Comment& comment : known->second) {
      if (comment.ignore.line < from || comment.ignore.line > std::max(place.first_line, place.last_line)) continue;
      comment.at_launch = true;
      out.comments.push_back(&comment);
    }
  }
  const auto& entries = options_.policy.ignores;
  const std::string path = entries.empty() ? "" : path_for(options_.policy, place.file);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (has_expired(entries[i]) || !path_matches(entries[i], path)) continue;
    reached_.insert(i);
    out.entries.push_back(i);
  }
  return out;
}

std::vector<Ignored> FindingFilter::apply(std::vector<Diagnostic>& findings, const LaunchPlace& place) {
  set_severities(findings);
  const Candidates here = candidates(place);
  if (options_.baseline) options_.baseline->look_at(place.file);
  std::vector<Ignored> out;
  std::erase_if(findings, [&](const Diagnostic& finding) {
    const auto ignored = reason_to_ignore(finding, here);
    if (ignored) out.push_back(*ignored);
    return ignored.has_value();
  });
  return out;
}

void FindingFilter::apply_to_trial(std::vector<Diagnostic>& findings, const LaunchPlace& place) {
  set_severities(findings);
  const Candidates here = candidates(place);
  std::erase_if(findings, [&](const Diagnostic& finding) { return lasting_reason(finding, here, false).has_value(); });
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
    } else if (!reached_.contains(i) && !entry.path.empty() && means_no_file(options_.policy, entry.path)) {
      out.push_back(
          {entry.place, fmt::format("stale: {} is ignored in {}, and no such file is here", entry.rule, entry.path)});
    }
  }
  for (const auto& [name, comments] : comments_) {
    for (const Comment& c : comments) {
      const std::string place = fmt::format("{}:{}", name, c.ignore.line);
      if (!c.ignore.fault.empty()) {
        out.push_back({place, c.ignore.fault});
      } else if (!c.at_launch) {
        out.push_back({place, "this comment stands at no launch that was checked"});
      } else if (!c.used) {
        out.push_back({place, fmt::format("stale: {} is not found here", fmt::join(c.ignore.rules, ","))});
      }
    }
  }
  if (!options_.baseline) return out;
  if (const auto left = options_.baseline->left(); left > 0)
    out.push_back({options_.baseline_file, fmt::format("stale: {} of its findings are gone; write it anew", left)});
  for (const std::string& file : options_.baseline->files_gone())
    out.push_back(
        {options_.baseline_file, fmt::format("stale: it has findings of {}, and no such file is here", file)});
  return out;
}

}  // namespace preflight::commands
