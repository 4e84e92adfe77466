// Launches written down from the rules' conditions alone, just inside and just outside of each, with other models and
// devices than the rules' own examples: what fires must fire in each release named, the rest must be silent.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "preflight/report.h"
#include "preflight/rule.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"

namespace preflight {
namespace {

using testing::outcome_text;

std::vector<std::string> strings(const Value& item, std::string_view key) {
  std::vector<std::string> out;
  if (const Value* list = item.find(key); list != nullptr) {
    for (const Value& v : list->as_list()) out.push_back(v.as_string());
  }
  return out;
}

const Diagnostic* with_ref(const CheckResult& result, const std::string& ref) {
  const auto at = std::find_if(result.diagnostics.begin(), result.diagnostics.end(), [&](const Diagnostic& d) {
    return std::find(d.refs.begin(), d.refs.end(), ref) != d.refs.end();
  });
  return at == result.diagnostics.end() ? nullptr : &*at;
}

TEST(RulesAside, FireInsideTheirConditionsAndNotBeside) {
  std::ifstream in(testing::source_directory() + "/tests/data/late/aside.jsonl");
  int launches = 0;
  for (std::string line; std::getline(in, line);) {
    const Value item = Value::parse_json(line).value();
    const std::string id = item.find("id")->as_string();
    const Value* profile = item.find("device");
    const DeviceFacts device = testing::device_of(profile != nullptr ? profile->as_string() : "b60");
    for (const std::string& release_text : strings(item, "releases")) {
      const Release release = parse_release(release_text).value();
      if (!is_supported(release)) continue;
      ++launches;
      const Launch launch = testing::launch_of(release, item.find("model")->as_string(), strings(item, "args"), device);
      const CheckResult result = check(launch);
      const std::string where = id + " in " + release_text + " (" + outcome_text(launch) + ")";
      for (const std::string& ref : strings(item, "fires")) {
        const Diagnostic* d = with_ref(result, ref);
        EXPECT_NE(d, nullptr) << where << " misses " << ref;
        if (d == nullptr) continue;
        EXPECT_EQ(name_of(d->severity), item.find("severity")->as_string()) << where << " " << ref;
      }
      for (const std::string& ref : strings(item, "quiet")) {
        const Diagnostic* d = with_ref(result, ref);
        EXPECT_EQ(d, nullptr) << where << ": " << d->message;
      }
      if (item.find("clean") == nullptr) continue;
      EXPECT_TRUE(launch.accepted()) << where;
      for (const Diagnostic& d : result.diagnostics) {
        EXPECT_NE(d.severity, Severity::kError) << where << ": " << d.rule << " " << d.message;
      }
    }
  }
  EXPECT_GE(launches, 300);
}

}  // namespace
}  // namespace preflight
