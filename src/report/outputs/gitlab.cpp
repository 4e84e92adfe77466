// GitLab's code quality report: a list of issues. It has no place for what was ignored.
// Tested by tests/output_agreement.py and tests/output_consumers.py.
#include <map>

#include <nlohmann/json.hpp>

#include "src/report/json_dump.h"
#include "src/report/outputs/outputs.h"

namespace preflight::report {
namespace {

std::string_view severity_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "critical";
    case Severity::kWarning:
      return "major";
    case Severity::kChange:
      return "minor";
    case Severity::kInfo:
      return "info";
  }
  return "info";
}

// The report has no other place for how a launch ended.
std::string of_launch(const std::map<std::string, std::string>& verdicts, const Item& item) {
  const auto at = verdicts.find(item.launch);
  return at == verdicts.end() ? "" : " (The launch: " + at->second + ".)";
}

}  // namespace

std::string gitlab_text(const CheckRun& run) {
  auto out = nlohmann::ordered_json::array();
  std::map<std::string, std::string> verdicts;
  for (const CheckedLaunch& launch : run.launches) {
    if (launch.report) verdicts[launch.title] = launch.report->verdict_word();
  }
  for (const Item& item : items_of(run)) {
    if (!is_worth_telling(item)) continue;
    std::string path = item.file.empty() ? item.launch : item.file;
    if (path.starts_with("./")) path.erase(0, 2);  // GitLab knows no such path
    out.push_back(
        {{"description", told(item) + (item.fix.empty() ? "" : " Fix: " + item.fix) + of_launch(verdicts, item)},
         {"check_name", item.rule},
         {"fingerprint", item.fingerprint},
         {"severity", severity_of(item.severity)},
         {"location", {{"path", path}, {"lines", {{"begin", std::max(item.line, 1)}}}}}});
  }
  return json_dump(out) + "\n";
}

}  // namespace preflight::report
