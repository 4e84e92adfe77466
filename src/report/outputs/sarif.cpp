// SARIF 2.1.0 (OASIS): one run, one result a finding; what was ignored is there with its suppression.
// Tested by tests/output_agreement.py and tests/output_consumers.py.
#include <map>

#include <nlohmann/json.hpp>

#include "src/report/json_dump.h"
#include "src/report/outputs/escapes.h"
#include "src/report/outputs/outputs.h"
#include "src/rules/remedy_words.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view level_of(Severity severity) {
  if (severity == Severity::kError) return "error";
  return severity == Severity::kWarning ? "warning" : "note";
}

Json rule_json(const std::string& id) {
  Json out = {{"id", id}, {"shortDescription", {{"text", std::string(summary_of(id))}}}};
  const Rule* rule = find_rule(id);
  if (rule == nullptr || rule->id != id) return out;
  if (!rule->why.empty()) out["fullDescription"] = {{"text", std::string(rule->why)}};
  if (const std::string fix = rules::fix_of(*rule); !fix.empty()) out["help"] = {{"text", fix}};
  out["defaultConfiguration"] = {{"level", level_of(rule->severity)}};
  return out;
}

Json location_json(const ItemPlace& at, int column) {
  Json out = Json::object();
  if (!at.file.empty()) {
    Json place = {{"artifactLocation", {{"uri", uri_of_path(at.file)}}}};
    if (at.line > 0) place["region"] = {{"startLine", at.line}};
    if (at.line > 0 && column > 0) place["region"]["startColumn"] = column;
    out["physicalLocation"] = std::move(place);
  }
  if (!at.launch.empty()) out["logicalLocations"] = Json::array({{{"fullyQualifiedName", at.launch}}});
  return out;
}

Json related_json(const Item& item) {
  Json out = Json::array();
  for (const ItemPlace& other : item.related) {
    out.push_back(location_json(other, 0));
    out.back()["id"] = out.size();
    out.back()["message"] = {{"text", other.launch}};
  }
  return out;
}

// What the results alone do not say: how each launch ended.
Json launches_json(const CheckRun& run) {
  Json out = Json::array();
  for (const CheckedLaunch& launch : run.launches) {
    Json one = {{"launch", launch.title}, {"exitStatus", launch.exit_status}};
    one["verdict"] = launch.report ? std::string(launch.report->verdict_word()) : std::string(kNotChecked);
    if (launch.report) one["facts"] = facts_json(launch.report->machine);
    if (launch.report) one["counts"] = counts_of_findings(*launch.report);
    if (launch.report && !launch.report->doubt().empty()) one["doubt"] = launch.report->doubt();
    out.push_back(std::move(one));
  }
  return out;
}

Json result_json(const Item& item, std::size_t rule_index) {
  std::string text = told(item);
  if (!item.why.empty()) text += "\n" + item.why;
  if (!item.fix.empty()) text += "\nFix: " + item.fix;
  Json out = {{"ruleId", item.rule},
              {"ruleIndex", rule_index},
              {"level", level_of(item.severity)},
              {"message", {{"text", text}}},
              {"locations", Json::array({location_json({item.file, item.line, item.launch}, item.column)})},
              {"partialFingerprints", {{"xpuPreflight/v1", item.fingerprint}}},
              {"properties", {{"severity", name_of(item.severity)}}}};
  if (Json related = related_json(item); !related.empty()) out["relatedLocations"] = std::move(related);
  if (item.ignored != nullptr) {
    const bool inside = item.ignored->by == "inline";
    out["suppressions"] =
        Json::array({{{"kind", inside ? "inSource" : "external"}, {"justification", item.ignored->reason}}});
  }
  return out;
}

}  // namespace

std::string sarif_text(const CheckRun& run) {
  std::map<std::string, std::size_t> index;
  Json rules = Json::array();
  Json results = Json::array();
  for (const Item& item : items_of(run)) {
    const auto [known, is_new] = index.try_emplace(item.rule, index.size());
    if (is_new) rules.push_back(rule_json(item.rule));
    results.push_back(result_json(item, known->second));
  }
  Json invocation = {{"executionSuccessful", true}, {"exitCode", run.exit_status}};
  for (const IgnoreNote& note : run.ignore_notes) {
    invocation["toolExecutionNotifications"].push_back(
        {{"level", "note"}, {"message", {{"text", note.place + ": " + note.text}}}});
  }
  const Json driver = {{"name", "xpu-preflight"}, {"version", PREFLIGHT_VERSION}, {"rules", std::move(rules)}};
  const Json out = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({{{"tool", {{"driver", driver}}},
                                           {"invocations", Json::array({std::move(invocation)})},
                                           {"results", std::move(results)},
                                           {"properties", {{"launches", launches_json(run)}}}}})}};
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
