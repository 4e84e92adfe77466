// `releases`, `rules`: what the tool knows, printed from the same records that it checks with.
#include <iostream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "preflight/report.h"
#include "src/report/json_dump.h"
#include "src/commands/commands.h"
#include "src/report/style.h"

namespace preflight::commands {
namespace {

std::string refs_text(const Rule& rule) {
  std::string out;
  for (const auto ref : rule.refs) {
    if (!ref.empty()) out += (out.empty() ? "" : ", ") + std::string(ref);
  }
  return out;
}

// The part of the rule's range that this build can check; nothing when there is none.
std::vector<Release> releases_of(const Rule& rule) {
  std::vector<Release> out;
  for (const Release r : supported_releases()) {
    if (rule.holds_in(r)) out.push_back(r);
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
      const std::vector<Release> in = releases_of(r);
      if (in.empty()) continue;
      rows.push_back({{"rule", r.id},
                      {"refs", refs_text(r)},
                      {"severity", name_of(r.severity)},
                      {"summary", r.summary},
                      {"since", in.front().text()},
                      {"until", in.back() == supported_releases().back() ? "" : r.until.text()}});
    }
    std::cout << report::json_dump(rows) << '\n';
    return kOk;
  }
  const report::Style style(output.colour);
  for (const Rule& r : all_rules()) {
    if (releases_of(r).empty()) continue;
    std::cout << fmt::format("{}  {}  {}\n", style.bold(r.id),
                             style.severity(r.severity, fmt::format("{:<7}", name_of(r.severity))), r.summary);
  }
  return kOk;
}

}  // namespace preflight::commands
