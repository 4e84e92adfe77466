// Tested by tests/doctor_test.cpp.
#include "src/report/doctor_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "preflight/report.h"
#include "preflight/rule.h"
#include "src/report/facts_text.h"
#include "src/report/json_dump.h"
#include "src/report/printable.h"

namespace preflight::report {
namespace {

using Json = nlohmann::ordered_json;
using Finding = Examined::Finding;

std::string word_of(const Examined& e, const Rule& rule, const Style& style) {
  if (e.finding == Finding::kFault) return style.severity(rule.severity, name_of(rule.severity));
  return e.finding == Finding::kOk ? style.green("ok") : style.dim("not checked");
}

}  // namespace

std::string doctor_text(const std::vector<Examined>& examined, const MachineFacts& facts, const Style& style) {
  std::string out = facts_head(facts, style);
  for (const Examined& e : examined) {
    const Rule& rule = *find_rule(e.rule);
    out += fmt::format("{}[{}]: {}\n", word_of(e, rule, style), e.rule, printable(e.message));
    if (e.finding != Finding::kFault) continue;
    out += fmt::format("    {} {}\n    {} {}\n", style.bold("why:"), rule.why, style.bold("fix:"), rule.fix);
  }
  return out;
}

std::string doctor_json(const std::vector<Examined>& examined, const MachineFacts& facts) {
  Json list = Json::array();
  for (const Examined& e : examined) {
    const Rule& rule = *find_rule(e.rule);
    const bool wrong = e.finding == Finding::kFault;
    list.push_back({{"rule", e.rule},
                    {"what", rule.summary},
                    {"checked", e.finding != Finding::kUnknown},
                    {"severity", wrong ? Json(name_of(rule.severity)) : Json(nullptr)},
                    {"message", e.message},
                    {"fix", wrong ? Json(rule.fix) : Json(nullptr)}});
  }
  return json_dump(Json{{"facts", facts_json(facts)}, {"examined", std::move(list)}}) + "\n";
}

}  // namespace preflight::report
