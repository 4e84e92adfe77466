#include "src/commands/policy/policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "preflight/release.h"
#include "preflight/report.h"
#include "preflight/rule.h"
#include "src/args/closest_options.h"
#include "src/base/limits.h"
#include "src/base/read_text.h"
#include "src/facts/device_profiles.h"
#include "src/sources/yaml_tree.h"

namespace preflight::commands {
namespace {

namespace fs = std::filesystem;
using python::YamlNode;

constexpr std::string_view kName = ".xpu-preflight.yaml";
constexpr std::array<std::string_view, 10> kKeys = {"release", "facts",      "device-profile", "device-count",
                                                    "fail-on", "severities", "select",         "ignore",
                                                    "ignores", "version"};
constexpr std::array<std::string_view, 4> kEntryKeys = {"rule", "path", "reason", "until"};
constexpr std::array<std::string_view, 5> kLevels = {"error", "warning", "change", "info", "never"};

std::string meant(std::string_view word, std::span<const std::string_view> choices) {
  const std::string_view near = args::closest_choice(word, choices);
  return near.empty() ? fmt::format("; known are {}", fmt::join(choices, ", "))
                      : fmt::format("; did you mean {}?", near);
}

bool is_rule(std::string_view word) {
  return !word.empty() && std::ranges::any_of(all_rules(), [&](const Rule& rule) { return rule.id.starts_with(word); });
}

std::string unknown_rule(std::string_view word) {
  std::vector<std::string_view> ids;
  for (const Rule& rule : all_rules()) ids.push_back(rule.id);
  const std::string_view near = args::closest_choice(word, ids);
  return fmt::format("no rule is called {}, and none begins so{}", word,
                     near.empty() ? "; `rules` lists them" : fmt::format("; did you mean {}?", near));
}

// Reads one file; what is wrong first is told with its place.
class Reader {
 public:
  explicit Reader(Policy& policy) : policy_(policy) {}

  std::optional<Error> read(const YamlNode& root) {
    if (root.kind != YamlNode::kMapping) return fault(root, "expected keys such as release or ignores");
    if (auto error = repeated(root)) return error;
    for (const auto& [key, value] : root.pairs) {
      if (auto error = entry(*key, *value)) return error;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string place(const YamlNode& node) const {
    return fmt::format("{}:{}", policy_.file, node.mark.line + 1);
  }
  [[nodiscard]] Error fault(const YamlNode& node, std::string message) const {
    return {std::move(message), place(node)};
  }

  // One of the two would count, and its author may have meant the other.
  [[nodiscard]] std::optional<Error> repeated(const YamlNode& map) const {
    std::set<std::string_view> seen;
    for (const auto& [key, value] : map.pairs) {
      if (!seen.insert(key->text).second) return fault(*key, key->text + " stands there twice");
    }
    return std::nullopt;
  }

  std::optional<Error> entry(const YamlNode& key, const YamlNode& value) {
    const std::string_view name = key.text;
    if (name == "severities") return severities(value);
    if (name == "select") return rules(value, policy_.select);
    if (name == "ignore") return rules(value, policy_.ignore);
    if (name == "ignores") return ignores(value);
    if (std::ranges::find(kKeys, name) == kKeys.end())
      return fault(key, "no key is called " + key.text + meant(name, kKeys));
    if (value.kind != YamlNode::kScalar || value.text.empty()) return fault(value, key.text + ": expected one value");
    return scalar(name, value);
  }

  std::optional<Error> scalar(std::string_view name, const YamlNode& value) {
    if (name == "version") {
      return value.text == "1" ? std::nullopt : std::optional(fault(value, "version: this build reads version 1"));
    }
    if (name == "facts") policy_.facts = (fs::path(policy_.directory) / value.text).string();
    if (name == "release") {
      const auto release = parse_release(value.text);
      if (!release || !is_supported(*release)) {
        return fault(value, fmt::format("release {}: not a supported release; `releases` lists them", value.text));
      }
      policy_.release = release->text();
    }
    if (name == "device-profile") {
      if (!facts::find_device_profile(value.text)) {
        std::vector<std::string_view> ids;
        for (const auto& p : facts::device_profiles()) ids.push_back(p.id);
        const bool several = !facts::profiles_meant(value.text).empty();
        return fault(value,
                     fmt::format("device-profile {}: {}", value.text,
                                 several ? facts::why_no_profile(value.text) : "not known" + meant(value.text, ids)));
      }
      policy_.device_profile = value.text;
    }
    if (name == "device-count") {
      const char* end = value.text.data() + value.text.size();
      const auto [stop, error] = std::from_chars(value.text.data(), end, policy_.device_count);
      if (error != std::errc{} || stop != end || policy_.device_count < 1 || policy_.device_count > limits::kCards)
        return fault(value, fmt::format("device-count {}: expected 1 to {}", value.text, limits::kCards));
    }
    if (name == "fail-on") {
      if (std::ranges::find(kLevels, value.text) == kLevels.end()) {
        return fault(value, fmt::format("fail-on {}: no such level{}", value.text, meant(value.text, kLevels)));
      }
      policy_.fail_on = value.text;
    }
    return std::nullopt;
  }

  std::optional<Error> severities(const YamlNode& map) {
    if (map.kind != YamlNode::kMapping) return fault(map, "severities: expected RULE: LEVEL");
    if (auto error = repeated(map)) return error;
    for (const auto& [rule, level] : map.pairs) {
      if (!is_rule(rule->text)) return fault(*rule, unknown_rule(rule->text));
      const auto severity = severity_named(level->text);
      if (!severity) {
        return fault(*level, fmt::format("severity {}: no such level{}", level->text,
                                         meant(level->text, std::span(kLevels).first(kLevels.size() - 1))));
      }
      policy_.severities[rule->text] = *severity;
    }
    return std::nullopt;
  }

  std::optional<Error> rules(const YamlNode& list, std::vector<std::string>& out) {
    const auto add = [&](const YamlNode& node) -> std::optional<Error> {
      if (node.kind != YamlNode::kScalar) return fault(node, "expected a rule");
      if (!is_rule(node.text)) return fault(node, unknown_rule(node.text));
      if (std::ranges::find(out, node.text) == out.end()) out.push_back(node.text);
      return std::nullopt;
    };
    if (list.kind != YamlNode::kSequence) return add(list);
    for (const YamlNode* node : list.items) {
      if (auto error = add(*node)) return error;
    }
    return std::nullopt;
  }

  std::optional<Error> ignores(const YamlNode& list) {
    if (list.kind != YamlNode::kSequence) return fault(list, "ignores: expected a list of rule, path, reason, until");
    for (const YamlNode* node : list.items) {
      if (auto error = ignored(*node)) return error;
    }
    return std::nullopt;
  }

  std::optional<Error> ignored(const YamlNode& map) {
    if (map.kind != YamlNode::kMapping) return fault(map, "ignores: expected rule, path, reason, until");
    if (auto error = repeated(map)) return error;
    IgnoreEntry out;
    out.place = place(map);
    for (const auto& [key, value] : map.pairs) {
      if (std::ranges::find(kEntryKeys, key->text) == kEntryKeys.end()) {
        return fault(*key, "no key is called " + key->text + meant(key->text, kEntryKeys));
      }
      if (value->kind != YamlNode::kScalar) return fault(*value, key->text + ": expected one value");
      if (key->text == "rule") out.rule = value->text;
      if (key->text == "path") out.path = value->text;
      if (key->text == "reason") out.reason = value->text;
      if (key->text != "until") continue;
      out.until = parse_date(value->text);
      if (!out.until) return fault(*value, fmt::format("until {}: expected YYYY-MM-DD", value->text));
    }
    if (!is_rule(out.rule))
      return fault(map, out.rule.empty() ? "rule: which one is ignored?" : unknown_rule(out.rule));
    if (out.reason.empty()) return fault(map, fmt::format("reason: why is {} ignored?", out.rule));
    policy_.ignores.push_back(std::move(out));
    return std::nullopt;
  }

  Policy& policy_;
};

// From the working directory upwards, to the root of its repository, the user's home or the root.
std::string found_above() {
  std::error_code error;
  fs::path directory = fs::current_path(error);
  if (error) return {};
  const char* home = std::getenv("HOME");
  for (;; directory = directory.parent_path()) {
    const fs::path file = directory / kName;
    // Whatever stands there is meant as one: what cannot be read is told, and never taken for none.
    if (fs::exists(fs::symlink_status(file, error))) return file.string();
    const bool last = fs::exists(directory / ".git", error) || (home != nullptr && directory == home);
    if (last || directory == directory.parent_path()) return {};
  }
}

}  // namespace

std::optional<Severity> severity_named(std::string_view name) {
  for (const Severity s : {Severity::kError, Severity::kWarning, Severity::kChange, Severity::kInfo}) {
    if (name_of(s) == name) return s;
  }
  return std::nullopt;
}

Result<bool> known_rules(std::string_view words_of, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!is_rule(word)) return failure(fmt::format("{}: {}", words_of, unknown_rule(word)));
  }
  return true;
}

Result<Policy> read_policy(std::string_view text, const std::string& file) {
  Policy policy;
  policy.file = file;
  policy.directory = fs::path(file).parent_path().string();
  const auto tree = sources::YamlTree::read(text);
  if (!tree) return failure(tree.error().text(), file);
  if (tree->documents().empty() || tree->documents().front() == nullptr) return policy;
  if (tree->documents().size() > 1) return failure("one document was expected, not several", file);
  if (auto error = Reader(policy).read(*tree->documents().front())) return tl::make_unexpected(std::move(*error));
  return policy;
}

Result<Policy> find_policy(const std::string& file) {
  const std::string path = file.empty() ? found_above() : file;
  if (path.empty()) return Policy{};
  const auto text = read_text(path);
  if (!text) return tl::make_unexpected(text.error());
  return read_policy(*text, path);
}

}  // namespace preflight::commands
