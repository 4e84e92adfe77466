// JUnit's XML as Jenkins, GitLab and others read it: a suite a launch, a case a question. What did not run is skipped,
// never passed. Tested by tests/output_agreement.py and tests/output_consumers.py.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/report/outputs/escapes.h"
#include "src/report/outputs/outputs.h"

namespace preflight::report {
namespace {

struct Suite {
  std::string properties = {};
  std::string cases = {};
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
};

void add_case(Suite& suite, const std::string& suite_name, std::string_view name, const std::string& inside) {
  ++suite.tests;
  suite.cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", markup_text(suite_name), markup_text(name));
  suite.cases += inside.empty() ? "/>\n" : ">\n" + inside + "    </testcase>\n";
}

std::string details(const Item& item) {
  std::string out = markup_text(told(item));
  if (!item.why.empty()) out += "\nwhy: " + markup_text(item.why);
  if (!item.fix.empty()) out += "\nfix: " + markup_text(item.fix);
  if (!item.file.empty()) out += fmt::format("\nat: {}:{}", markup_text(item.file), item.line);
  for (const ItemPlace& other : item.related)
    out += fmt::format("\nat: {}",
                       markup_text(other.file.empty() ? other.launch : fmt::format("{}:{}", other.file, other.line)));
  return out;
}

void add_item(Suite& suite, const Item& item, std::string_view where) {
  const std::string name = fmt::format("{}: {}", item.rule, item.message);
  if (item.ignored != nullptr) {
    ++suite.skipped;
    const std::string why = fmt::format("ignored ({}): {}", item.ignored->by, item.ignored->reason);
    return add_case(suite, std::string(where), name,
                    fmt::format("      <skipped message=\"{}\"/>\n", markup_text(why)));
  }
  if (is_verdict(item)) {  // neither passed nor failed: nobody wants to hear of it
    ++suite.skipped;
    return add_case(suite, std::string(where), fmt::format("the launch is not {}", item.rule),
                    fmt::format("      <skipped message=\"{}\"/>\n", markup_text(item.message)));
  }
  const bool error = item.rule == kNotChecked || item.rule == kSkippedFile;
  if (!item.failing) {
    return add_case(suite, std::string(where), name, fmt::format("      <system-out>{}</system-out>\n", details(item)));
  }
  ++(error ? suite.errors : suite.failures);
  const char* element = error ? "error" : "failure";
  add_case(suite, std::string(where), name,
           fmt::format("      <{0} message=\"{1}\" type=\"{2}\">{3}</{0}>\n", element, markup_text(told(item)),
                       markup_text(item.rule), details(item)));
}

void add_kernel(Suite& suite, const Report& report, const std::string& title) {
  const KernelOutcome outcome = report.kernel_outcome();
  if (outcome == KernelOutcome::kRight) return add_case(suite, title, "decode kernel", "");
  if (outcome != KernelOutcome::kUnproven) return;  // told as an item
  ++suite.skipped;
  add_case(suite, title, "decode kernel",
           fmt::format("      <skipped message=\"{}\"/>\n", markup_text(kernel_words(report))));
}

// Passed where nothing is wrong and nothing open; what does not fail and is neither, is skipped.
void add_verdict(Suite& suite, const Report& report, const std::string& title) {
  const std::string name = fmt::format("SGLang {} and the rules", report.launch.release().text());
  if (is_good(report)) return add_case(suite, title, name, "");
  ++suite.skipped;
  add_case(suite, title, name, fmt::format("      <skipped message=\"{}\"/>\n", markup_text(counts_text(report))));
}

Suite suite_of(const CheckedLaunch& launch) {
  Suite suite;
  bool failed = false;
  for (const Item& item : items_of(launch)) {
    failed = failed || item.failing;
    if (item.ignored != nullptr || is_worth_telling(item)) add_item(suite, item, launch.title);
  }
  if (!launch.report) return suite;
  if (!failed) add_verdict(suite, *launch.report, launch.title);
  const auto& machine = launch.report->machine;
  const std::array<std::pair<std::string_view, std::string>, 4> words{
      {{"facts", machine ? one_line(SharedFacts({&*machine}).head()) : ""},
       {"verdict", std::string(launch.report->verdict_word())},
       {"counts", counts_of_findings(*launch.report)},
       {"doubt", launch.report->doubt()}}};
  for (const auto& [name, value] : words) {
    if (value.empty()) continue;
    suite.properties += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, markup_text(value));
  }
  add_kernel(suite, *launch.report, launch.title);
  return suite;
}

std::string suite_xml(const std::string& name, const Suite& s) {
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}{}  </testsuite>\n",
      markup_text(name), s.tests, s.failures, s.errors, s.skipped,
      s.properties.empty() ? "" : "    <properties>\n" + s.properties + "    </properties>\n", s.cases);
}

// What no launch alone is answerable for: nodes that do not fit together, files that were skipped.
Suite rest_of(const CheckRun& run) {
  Suite suite;
  for (const Item& item : items_beside_launches(run)) add_item(suite, item, "files");
  return suite;
}

}  // namespace

std::string junit_text(const CheckRun& run) {
  Suite total;
  std::string suites;
  const auto add = [&](const std::string& name, const Suite& suite) {
    suites += suite_xml(name, suite);
    total.tests += suite.tests;
    total.failures += suite.failures;
    total.errors += suite.errors;
  };
  for (const CheckedLaunch& launch : run.launches) add(launch.title, suite_of(launch));
  if (const Suite rest = rest_of(run); rest.tests > 0) add("files", rest);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"xpu-preflight\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\">\n{}</testsuites>\n",
      total.tests, total.failures, total.errors, suites);
}

}  // namespace preflight::report
