// Tested by tests/certainty_test.cpp and, over every command, tests/report_schema.py.
#include "src/report/finding_json.h"

#include <nlohmann/json.hpp>

#include "src/report/json_dump.h"
#include "src/rules/certainty.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;

Json where_json(const SourceRange& where) {
  Json out = Json::object();
  if (where.argv_index >= 0) out = {{"argument", where.argv_index}, {"length", where.length}};
  if (where.line > 0) {
    out["line"] = where.line;
    out["column"] = where.column;
  }
  if (!where.file.empty()) out["file"] = where.file;
  return out.empty() ? Json(nullptr) : out;
}

std::string_view step_word(StepKind kind) {
  switch (kind) {
    case StepKind::kGive:
      return "give";
    case StepKind::kDrop:
      return "drop";
    case StepKind::kLower:
      return "lower";
    case StepKind::kRaise:
      return "raise";
    case StepKind::kSet:
      return "set";
    case StepKind::kUnset:
      break;
  }
  return "unset";
}

Json remedies_json(const std::vector<Remedy>& remedies) {
  Json out = Json::array();
  for (const Remedy& remedy : remedies) {
    Json steps = Json::array();
    for (const RemedyStep& s : remedy.steps) {
      steps.push_back({{"do", step_word(s.kind)}, {"name", s.name}, {"values", s.values}});
    }
    Json one = {{"steps", std::move(steps)}};
    if (!remedy.release.empty()) one["release"] = remedy.release;
    if (!remedy.stored_as.empty()) one["stored_as"] = remedy.stored_as;
    if (!remedy.device.empty()) one["device"] = remedy.device;
    if (!remedy.words.empty()) one["words"] = remedy.words;
    if (remedy.acts() || !remedy.tried) one["tried"] = remedy.tried;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Json finding_json(const Diagnostic& f) {
  return {{"rule", f.rule},
          {"refs", f.refs},
          {"severity", name_of(f.severity)},
          {"certainty", rules::certainty_of(f.rule)},
          {"field", f.field ? Json(field_name(*f.field)) : Json(nullptr)},
          {"message", f.message},
          {"why", f.why},
          {"fix", f.fix},
          {"remedies", remedies_json(f.remedies)},
          {"source", f.source},
          {"where", where_json(f.where)}};
}

Json findings_json(const std::vector<Diagnostic>& findings) {
  Json out = Json::array();
  for (const Diagnostic& f : findings) out.push_back(finding_json(f));
  return out;
}

Json ignored_json(const std::vector<Ignored>& ignored) {
  Json out = Json::array();
  for (const Ignored& i : ignored) {
    out.push_back(finding_json(i.finding));
    out.back()["ignored"] = {{"by", i.by}, {"reason", i.reason}};
  }
  return out;
}

std::string baseline_json(const std::vector<BaselineEntry>& entries) {
  Json findings = Json::array();
  for (const BaselineEntry& e : entries) {
    findings.push_back(
        {{"rule", e.rule}, {"file", e.file}, {"launch", e.launch}, {"message", e.message}, {"count", e.count}});
  }
  return json_dump(Json{{"baseline", kBaselineVersion}, {"findings", std::move(findings)}}) + "\n";
}

}  // namespace preflight::report
