#include "src/report/rules_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "preflight/report.h"
#include "src/report/json_dump.h"

namespace preflight::report {

std::vector<Release> releases_of(const Rule& rule) {
  std::vector<Release> out;
  for (const Release r : supported_releases()) {
    if (rule.holds_in(r)) out.push_back(r);
  }
  return out;
}

std::string refs_text(const Rule& rule) {
  std::string out;
  for (const auto ref : rule.refs) {
    if (!ref.empty()) out += (out.empty() ? "" : ", ") + std::string(ref);
  }
  return out;
}

std::string rules_text(const Style& style) {
  std::string out;
  for (const Rule& r : all_rules()) {
    if (releases_of(r).empty()) continue;
    out += fmt::format("{}  {}  {}\n", style.bold(r.id),
                       style.severity(r.severity, fmt::format("{:<7}", name_of(r.severity))), r.summary);
  }
  return out;
}

std::string rules_json() {
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
  return json_dump(rows) + "\n";
}

std::string releases_text(std::span<const Release> releases) {
  std::string out;
  for (const Release r : releases) out += r.text() + "\n";
  return out;
}

}  // namespace preflight::report
