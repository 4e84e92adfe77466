// Recorded launches against the rules: those that fail late must be told with the right reference, those that work
// must meet no error. The files hold facts only: release, model, arguments, what is expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "preflight/rule.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"

namespace preflight {
namespace {

using testing::launch_of;
using testing::outcome_text;

std::vector<Value> lines_of(const std::string& name) {
  std::ifstream in(testing::source_directory() + "/tests/data/late/" + name);
  std::vector<Value> out;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) out.push_back(Value::parse_json(line).value());
  }
  return out;
}

std::vector<std::string> strings(const Value& item, std::string_view key) {
  std::vector<std::string> out;
  if (const Value* list = item.find(key); list != nullptr) {
    for (const Value& v : list->as_list()) out.push_back(v.as_string());
  }
  return out;
}

DeviceFacts device_in(const Value& item) {
  DeviceFacts device;
  if (const Value* d = item.find("device"); d != nullptr) {
    device.name = d->find("name")->as_string();
    device.memory_mib = d->find("memory_mib")->as_int();
    device.count = static_cast<int>(d->find("count")->as_int());
    device.has_fp64 = d->find("has_fp64")->as_bool();
  }
  return device;
}

Launch launch_in(const Value& item, Release release) {
  Environment env;
  if (const Value* e = item.find("env"); e != nullptr) {
    for (const auto& [name, value] : e->as_dict()) env[name] = value.as_string();
  }
  return launch_of(release, item.find("model")->as_string(), strings(item, "args"), device_in(item), env);
}

std::set<std::string> refs_from(const CheckResult& result, Severity at_least) {
  std::set<std::string> refs;
  for (const Diagnostic& d : result.diagnostics) {
    if (d.severity >= at_least) refs.insert(d.refs.begin(), d.refs.end());
  }
  return refs;
}

std::string errors_in(const CheckResult& result) {
  std::string out;
  for (const Diagnostic& d : result.diagnostics) {
    if (d.severity == Severity::kError) out += "\n    " + d.rule + ": " + d.message;
  }
  return out;
}

TEST(LateFailures, AreToldWithTheirReference) {
  int checked = 0;
  for (const Value& item : lines_of("late.jsonl")) {
    const Release release = parse_release(item.find("release")->as_string()).value();
    const auto expected = strings(item, "expect");
    if (!is_supported(release) || expected.empty()) continue;
    ++checked;
    const bool error = item.find("severity")->as_string() == "error";
    const Launch launch = launch_in(item, release);
    const auto refs = refs_from(check(launch), error ? Severity::kError : Severity::kWarning);
    for (const std::string& ref : expected) {
      EXPECT_TRUE(refs.contains(ref)) << item.find("id")->as_string() << " in " << release.text() << " misses " << ref
                                      << "; launch: " << outcome_text(launch);
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(LateFailures, LaunchesThatWorkMeetNoError) {
  int checked = 0;
  for (const Value& item : lines_of("late.jsonl")) {
    const Release release = parse_release(item.find("release")->as_string()).value();
    if (!is_supported(release) || !strings(item, "expect").empty()) continue;
    ++checked;
    const std::string errors = errors_in(check(launch_in(item, release)));
    EXPECT_TRUE(errors.empty()) << item.find("id")->as_string() << " in " << release.text() << errors;
  }
  EXPECT_GT(checked, 0);
}

// What SGLang's own tests and documents launch. `late` lists, per release, the failures that come after the arguments
// are accepted: the launch is written for another release.
TEST(UpstreamLaunches, MeetNoErrorBeyondTheKnownLateOnes) {
  for (const Value& item : lines_of("upstream.jsonl")) {
    for (const std::string& text : strings(item, "releases")) {
      const Release release = parse_release(text).value();
      if (!is_supported(release)) continue;
      const CheckResult result = check(launch_in(item, release));
      std::set<std::string> known;
      if (const Value* late = item.find("late"); late != nullptr) {
        for (const std::string& ref : strings(*late, text)) known.insert(ref);
      }
      const auto refs = refs_from(result, Severity::kError);
      EXPECT_EQ(refs, known) << item.find("id")->as_string() << " in " << text << errors_in(result);
    }
  }
}

}  // namespace
}  // namespace preflight
