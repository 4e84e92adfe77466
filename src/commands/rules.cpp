// `releases`, `rules`, `explain`: what the tool knows, printed from the same records that it checks with.
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "preflight/report.h"
#include "src/commands/commands.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

std::string range_text(const Rule& rule) {
  if (rule.until == kNotFixed) return fmt::format("since {}", rule.since.text());
  return fmt::format("{} up to, not including, {}", rule.since.text(), rule.until.text());
}

std::string refs_text(const Rule& rule) {
  std::string out;
  for (const auto ref : rule.refs) {
    if (!ref.empty()) out += (out.empty() ? "" : ", ") + std::string(ref);
  }
  return out;
}

}  // namespace

int releases() {
  for (const Release r : supported_releases()) std::cout << r.text() << '\n';
  return kOk;
}

int list_rules(const OutputOptions& output) {
  if (output.format == Format::kJson) {
    auto rows = nlohmann::ordered_json::array();
    for (const Rule& r : all_rules()) {
      rows.push_back({{"rule", r.id},
                      {"refs", refs_text(r)},
                      {"severity", name_of(r.severity)},
                      {"summary", r.summary},
                      {"since", r.since.text()},
                      {"until", r.until == kNotFixed ? "" : r.until.text()}});
    }
    std::cout << rows.dump(2) << '\n';
    return kOk;
  }
  const report::Style style(output.colour);
  for (const Rule& r : all_rules()) {
    std::cout << fmt::format("{}  {}  {}\n", style.bold(r.id),
                             style.severity(r.severity, fmt::format("{:<7}", name_of(r.severity))), r.summary);
  }
  return kOk;
}

int explain(const std::string& what, const OutputOptions& output) {
  const Rule* rule = find_rule(what);
  if (rule == nullptr) {
    std::cerr << fmt::format("xpu-preflight: no rule {}; `xpu-preflight rules` lists them\n", what);
    return kBadInput;
  }
  const report::Style style(output.colour);
  std::cout << fmt::format("{} {}: {}\n\n", style.bold(rule->id),
                           style.severity(rule->severity, name_of(rule->severity)), rule->summary);
  std::cout << fmt::format("{}  {}\n{}  {}\n{}  {}\n{}  {}", style.bold("why    "), rule->why, style.bold("fix    "),
                           rule->fix, style.bold("since  "), range_text(*rule), style.bold("source "), rule->source);
  if (const std::string refs = refs_text(*rule); !refs.empty()) std::cout << " [" << refs << "]";
  std::cout << '\n';
  for (const auto& example : rule->fires_on) {
    if (!example.model.empty()) {
      std::cout << fmt::format("{}  {} {}\n", style.bold("fires  "), example.model, example.args);
    }
  }
  for (const auto& example : rule->quiet_on) {
    if (!example.model.empty()) {
      std::cout << fmt::format("{}  {} {}\n", style.bold("quiet  "), example.model, example.args);
    }
  }
  return kOk;
}

}  // namespace preflight::commands
