// Tested by tests/compare_test.cpp.
#include "src/report/comparison_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/counted.h"
#include "src/report/facts_text.h"
#include "src/report/finding_json.h"
#include "src/report/json_dump.h"
#include "src/report/launches_report.h"
#include "src/report/printable.h"
#include "src/report/report_json.h"
#include "src/report/style.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

std::string finding_entry(const Diagnostic& d, const Style& style) {
  std::string out = fmt::format(
      "{} {}\n", style.severity(d.severity, fmt::format("{}[{}]", name_of(d.severity), d.rule)), printable(d.message));
  if (!d.fix.empty()) out += "      fix: " + printable(d.fix) + "\n";
  return out;
}

std::string findings_list(const char* title, const std::vector<Diagnostic>& findings, const Style& style) {
  if (findings.empty()) return "";
  std::string out = style.bold(title) + "\n";
  for (const Diagnostic& d : findings) out += "  " + finding_entry(d, style);
  return out;
}

std::string all_findings(const Difference& d, const Style& style) {
  std::string out =
      findings_list("Findings that are gone", d.gone, style) + findings_list("New findings", d.added, style);
  if (!d.reweighed.empty()) out += style.bold("Findings of another severity") + "\n";
  for (const auto& [before, now] : d.reweighed)
    out += fmt::format("  {} → {}", name_of(before), finding_entry(now, style));
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

bool is_same(const Difference& d) {
  return !d.outcome_differs() && d.fields.empty() && d.defaults.empty() && d.gone.empty() && d.added.empty() &&
         d.reweighed.empty();
}

std::string verdict_of(const Difference& d, const Style& style) {
  return is_same(d)      ? style.green("the same in both")
         : d.worse       ? style.red("worse off")
         : d.still_fails ? style.red("still fails, otherwise")
                         : style.yellow("different");
}

std::string until_of(const Difference& d) {
  return d.compared_until.empty() ? "" : fmt::format(" (before {})", d.compared_until);
}

std::string counts_of(const Difference& d) {
  const auto fields = d.fields.size();
  const std::string compared =
      d.fields_compared ? fmt::format("{} field{}{}", fields, fields == 1 ? " differs" : "s differ", until_of(d))
                        : std::string("fields not compared");
  std::string gone = counted(d.gone.size(), "finding") + " gone";
  if (!d.gone_known)
    gone = d.gone.empty() ? "which findings are gone is not known" : gone + ", of others it is not known";
  std::string out = fmt::format("{}, {}, {} new", compared, gone, d.added.size());
  if (!d.reweighed.empty()) out += fmt::format(", {} of another severity", d.reweighed.size());
  return out;
}

Json reweighed_json(const std::vector<Difference::Reweighed>& findings) {
  Json out = Json::array();
  for (const auto& [before, now] : findings) out.push_back({{"before", name_of(before)}, {"now", finding_json(now)}});
  return out;
}

Json pairs_json(const std::vector<Difference::FieldPair>& pairs) {
  Json out = Json::object();
  for (const auto& f : pairs) out[f.name] = {{"before", f.before}, {"after", f.after}};
  return out;
}

// What a side is judged against, as text says it. Between releases all but the release is the same, and that the later
// one is not that of the image is what was asked for.
std::optional<MachineFacts> told_facts(const Difference& d, const std::optional<MachineFacts>& of_side) {
  if (!d.between_releases) return of_side;
  std::optional<MachineFacts> facts = d.facts_before;
  if (facts) facts->release = {};
  return facts;
}

// Facts of every side that has some, for as long as `sides` lives.
SharedFacts shared_of(const std::vector<std::optional<MachineFacts>>& sides) {
  std::vector<const MachineFacts*> known;
  for (const auto& side : sides) {
    if (side) known.push_back(&*side);
  }
  return SharedFacts(known);
}

Json difference_json(const Difference& d, const std::string& before, const std::string& after) {
  return {{"before", before},
          {"after", after},
          {"facts", {{"before", facts_json(d.facts_before)}, {"after", facts_json(d.facts_after)}}},
          {"outcome", {{"before", d.outcome_before}, {"after", d.outcome_after}, {"differs", d.outcome_differs()}}},
          {"compared_until", d.compared_until.empty() ? Json(nullptr) : Json(d.compared_until)},
          {"fields", d.fields_compared ? pairs_json(d.fields) : Json(nullptr)},
          {"defaults", d.fields_compared ? pairs_json(d.defaults) : Json(nullptr)},
          {"findings_gone", findings_json(d.gone)},
          {"findings_gone_known", d.gone_known},
          {"findings_new", findings_json(d.added)},
          {"findings_reweighed", reweighed_json(d.reweighed)},
          {"worse", d.worse},
          {"still_fails", d.still_fails}};
}

bool same_pair(const Difference::FieldPair& a, const Difference::FieldPair& b) {
  return a.name == b.name && a.before == b.before && a.after == b.after;
}

// Fields that differ in the same way in every launch, where there are several: told once.
std::vector<Difference::FieldPair> shared_fields(const std::vector<ComparedLaunch>& launches) {
  std::optional<std::vector<Difference::FieldPair>> out;
  std::size_t compared = 0;
  for (const ComparedLaunch& launch : launches) {
    if (!launch.difference) continue;
    ++compared;
    const auto& fields = launch.difference->fields;
    if (!out) out = fields;
    std::erase_if(*out, [&](const Difference::FieldPair& shared) {
      return std::ranges::none_of(fields, [&](const auto& field) { return same_pair(shared, field); });
    });
  }
  return compared < 2 ? std::vector<Difference::FieldPair>{} : *out;
}

// What the difference of one launch of many says: launches of which it says the same stand together.
std::string fleet_entry(const ComparedLaunch& launch, const std::vector<Difference::FieldPair>& shared,
                        const Style& style) {
  if (!launch.difference) return "  " + style.red("not compared") + ": " + printable(launch.why) + "\n";
  Difference d = *launch.difference;
  d.defaults.clear();  // told once, below
  std::erase_if(d.fields, [&](const Difference::FieldPair& field) {
    return std::ranges::any_of(shared, [&](const auto& one) { return same_pair(one, field); });
  });
  std::string out = fmt::format("  {} → {}: {}: {}\n", launch.before, launch.after,
                                verdict_of(*launch.difference, style), counts_of(*launch.difference));
  std::string body;
  if (d.outcome_differs())
    body += fmt::format("{}  {}\n{}  {}\n", launch.before, printable(d.outcome_before), launch.after,
                        printable(d.outcome_after));
  body += fields_list(d, until_of(d), style) + all_findings(d, style);
  for (std::size_t from = 0; from < body.size();) {
    const std::size_t end = std::min(body.find('\n', from), body.size());
    out += "  " + body.substr(from, end - from) + "\n";
    from = end + 1;
  }
  return out;
}

std::string fleet_summary(const FleetComparison& fleet) {
  const auto count = [&](const auto& wanted) { return std::ranges::count_if(fleet.launches, wanted); };
  const auto same = count([](const auto& l) { return l.difference && is_same(*l.difference); });
  const auto worse = count([](const auto& l) { return l.difference && l.difference->worse; });
  const auto fail = count([](const auto& l) { return l.difference && l.difference->still_fails; });
  const auto open = count([](const auto& l) { return !l.difference; });
  const auto all = static_cast<std::ptrdiff_t>(fleet.launches.size());
  return fmt::format("{}: {} worse off, {} still fail{}, {} different, {} the same, {} not compared\n",
                     counted(all, "launch"), worse, fail, fail == 1 ? "s" : "", all - same - worse - fail - open, same,
                     open);
}

}  // namespace

std::string fleet_text(const FleetComparison& fleet, bool colour) {
  const Style style(colour);
  const std::vector<Difference::FieldPair> shared = shared_fields(fleet.launches);
  std::vector<std::optional<MachineFacts>> facts;
  for (const ComparedLaunch& launch : fleet.launches)
    facts.push_back(launch.difference ? told_facts(*launch.difference, launch.difference->facts_after) : std::nullopt);
  const SharedFacts shared_facts = shared_of(facts);
  std::vector<std::pair<std::string, std::string>> entries;  // what is said, and of which launches
  std::map<std::string, std::size_t> defaults;               // and of how many launches
  for (std::size_t i = 0; i < fleet.launches.size(); ++i) {
    const ComparedLaunch& launch = fleet.launches[i];
    const std::string said = fleet_entry(launch, shared, style);
    const auto known = std::ranges::find(entries, said, &std::pair<std::string, std::string>::first);
    std::string& titles = known == entries.end() ? entries.emplace_back(said, "").second : known->second;
    titles += style.bold(printable(launch.title)) + "\n" + own_text(shared_facts, facts[i], style);
    if (!launch.difference) continue;
    for (const auto& f : launch.difference->defaults)
      ++defaults[fmt::format("{} {} → {}", f.name, printable(f.before), printable(f.after))];
  }
  std::string out = head_text(shared_facts.head(), style);
  for (const auto& [said, titles] : entries) out += titles + said;
  if (!shared.empty()) out += style.bold("Fields") + style.dim(" (the same in all of them)") + "\n";
  for (const auto& f : shared) out += fmt::format("  {} {} → {}\n", f.name, printable(f.before), printable(f.after));
  if (!defaults.empty())
    out += style.bold("Other defaults") + style.dim(" (of what these launches leave alone)") + "\n";
  for (const auto& [what, count] : defaults) {
    out += fmt::format("  {}", what);
    if (count != fleet.launches.size()) out += fmt::format(" ({} of them)", count);
    out += "\n";
  }
  for (const SkippedFile& file : fleet.skipped)
    out += fmt::format("not read: {}: {}\n", printable(file.file), printable(file.why));
  return out + fleet_summary(fleet);
}

std::string fleet_json(const FleetComparison& fleet) {
  Json launches = Json::array();
  for (const ComparedLaunch& launch : fleet.launches) {
    Json one = launch.difference ? difference_json(*launch.difference, launch.before, launch.after)
                                 : Json{{"not_compared", launch.why}};
    one["launch"] = read_launch_json(launch.read);
    launches.push_back(std::move(one));
  }
  Json skipped = Json::array();
  for (const SkippedFile& file : fleet.skipped) skipped.push_back({{"file", file.file}, {"why", file.why}});
  return json_dump(Json{{"format_version", kJsonFormatVersion},
                        {"launches", std::move(launches)},
                        {"skipped", std::move(skipped)}}) +
         "\n";
}

std::string comparison_text(const Difference& d, const std::string& before, const std::string& after, bool colour) {
  const Style style(colour);
  const std::vector<std::optional<MachineFacts>> sides = {told_facts(d, d.facts_before), told_facts(d, d.facts_after)};
  const SharedFacts shared = shared_of(sides);
  std::string out = head_text(shared.head(), style);
  out += fmt::format("{}  {}\n{}", style.bold(before), printable(d.outcome_before), own_text(shared, sides[0], style));
  out += fmt::format("{}  {}\n{}", style.bold(after), printable(d.outcome_after), own_text(shared, sides[1], style));
  out += fields_list(d, until_of(d), style) + all_findings(d, style);
  return out + verdict_of(d, style) + ": " + counts_of(d) + "\n";
}

std::string comparison_json(const Difference& d, const std::string& before, const std::string& after) {
  Json out = {{"format_version", kJsonFormatVersion}};
  out.update(difference_json(d, before, after));
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
