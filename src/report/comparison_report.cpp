// Tested by tests/compare_test.cpp.
#include "src/report/comparison_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/report/finding_json.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"
#include "src/report/report_json.h"
#include "src/report/style.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

std::string findings_list(const char* title, const std::vector<Diagnostic>& findings, const Style& style) {
  if (findings.empty()) return "";
  std::string out = style.bold(title) + "\n";
  for (const Diagnostic& d : findings) {
    out += fmt::format("  {} {}\n", style.severity(d.severity, fmt::format("{}[{}]", name_of(d.severity), d.rule)),
                       printable(d.message));
    if (!d.fix.empty()) out += "      fix: " + printable(d.fix) + "\n";
  }
  return out;
}

std::string fields_list(const Difference& d, const std::string& until, const Style& style) {
  std::string out;
  std::size_t width = 0;
  for (const auto& f : d.fields) width = std::max(width, f.name.size());
  if (!d.fields.empty()) out += style.bold("Fields") + style.dim(until) + "\n";
  for (const auto& f : d.fields) {
    out += fmt::format("  {:<{}}  {} → {}\n", f.name, width, printable(f.before), printable(f.after));
  }
  if (d.defaults.empty()) return out;
  out += style.bold("Other defaults") + style.dim(" (of what this launch leaves alone)") + "\n";
  for (const auto& f : d.defaults) {
    out += fmt::format("  {} {} → {}\n", f.name, printable(f.before), printable(f.after));
  }
  return out;
}

}  // namespace

std::string comparison_text(const Difference& d, const std::string& before, const std::string& after, bool colour) {
  const Style style(colour);
  const std::string until = d.compared_until.empty() ? "" : fmt::format(" (before {})", d.compared_until);
  std::string out = fmt::format("{}  {}\n{}  {}\n", style.bold(before), printable(d.outcome_before), style.bold(after),
                                printable(d.outcome_after));
  out += fields_list(d, until, style);
  out += findings_list("Findings that are gone", d.gone, style) + findings_list("New findings", d.added, style);
  const bool same = !d.outcome_differs() && d.fields.empty() && d.defaults.empty() && d.gone.empty() && d.added.empty();
  out += same            ? style.green("the same in both")
         : d.worse       ? style.red("worse off")
         : d.still_fails ? style.red("still fails, otherwise")
                         : style.yellow("different");
  const auto fields = d.fields.size();
  out += ": " + (d.fields_compared ? fmt::format("{} field{}{}", fields, fields == 1 ? " differs" : "s differ", until)
                                   : std::string("fields not compared"));
  return out +
         fmt::format(", {} finding{} gone, {} new\n", d.gone.size(), d.gone.size() == 1 ? "" : "s", d.added.size());
}

std::string comparison_json(const Difference& d, const std::string& before, const std::string& after) {
  Json fields = Json::object();
  for (const auto& f : d.fields) fields[f.name] = {{"before", f.before}, {"after", f.after}};
  Json defaults = Json::object();
  for (const auto& f : d.defaults) defaults[f.name] = {{"before", f.before}, {"after", f.after}};
  const Json out = {
      {"format_version", kJsonFormatVersion},
      {"before", before},
      {"after", after},
      {"outcome", {{"before", d.outcome_before}, {"after", d.outcome_after}, {"differs", d.outcome_differs()}}},
      {"compared_until", d.compared_until.empty() ? Json(nullptr) : Json(d.compared_until)},
      {"fields", d.fields_compared ? std::move(fields) : Json(nullptr)},
      {"defaults", d.fields_compared ? std::move(defaults) : Json(nullptr)},
      {"findings_gone", findings_json(d.gone)},
      {"findings_new", findings_json(d.added)},
      {"worse", d.worse},
      {"still_fails", d.still_fails}};
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
