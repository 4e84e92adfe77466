// What a launch's report says of it in each release: tests/data/launch_releases.txt, written down once more, so that a
// release condition of the plan, the memory sheet, the view or a reason that moves by one release is seen. Lines are
//
//   > MODEL DEVICE [NAME=VALUE…] -- ARGUMENTS     a launch; add one, write the file, read what it says
//   RELEASES | WHAT | VALUE                       what holds of it in those releases ("12-14,16",
//                                                 tests/support/release_ranges.h)
//
// PREFLIGHT_WRITE_LAUNCH_RELEASES=FILE writes what the program does; read every line that changed before you keep it.
// PREFLIGHT_ONLY_LAUNCHES=FILE looks at the launches that FILE names alone, a line each as here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "preflight/fields.h"
#include "preflight/report.h"
#include "preflight/rule.h"
#include "src/args/option_index.h"
#include "src/launch/launch_view.h"
#include "tests/support/example_launch.h"
#include "tests/support/launch_said.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

// A remedy names options of its release only, and gives values to those that take some.
void expect_well_formed(const Diagnostic& d, Release release) {
  const auto& options = args::OptionIndex::of(release);
  for (const Remedy& remedy : d.remedies) {
    for (const RemedyStep& step : remedy.steps) {
      if (!remedy.release.empty() || step.kind == StepKind::kSet || step.kind == StepKind::kUnset) continue;
      const args::Option* option = options.find(step.name);
      if (step.kind == StepKind::kDrop && option == nullptr) continue;  // the way out of a word that nothing takes
      ASSERT_NE(option, nullptr) << d.rule << " in " << release.text() << ": " << step.name;
      if (step.kind != StepKind::kGive) continue;
      if (option->arity == args::Arity::kNone) {
        EXPECT_TRUE(step.values.empty()) << d.rule << " in " << release.text() << ": " << d.fix;
      }
    }
  }
}

using testing::Said;
using testing::Teller;

// Every word of a report that a release may decide. LG001 repeats SGLang's log, which recorded launches compare.
Said said_of(const Launch& launch) {
  Teller teller;
  teller.say("outcome", testing::outcome_text(launch));
  for (const Diagnostic& d : check(launch).diagnostics) {
    if (d.rule == "LG001") continue;
    expect_well_formed(d, launch.release());
    teller.say(d.rule, d.message);
    const Rule* rule = find_rule(d.rule);
    if (rule != nullptr && rule->severity != d.severity) teller.say(d.rule + " is", name_of(d.severity));
    teller.say_if_any(d.rule + (d.field ? fmt::format(" {}", field_name(*d.field)) : "") + " fix", d.fix);
    if (d.rule.starts_with("CH"))
      teller.say(fmt::format("{} {} why", d.rule, d.field ? field_name(*d.field) : ""), d.why);
  }
  if (launch.accepted()) {
    testing::tell_view(LaunchView(launch), teller);
    if (!launch.model) return teller.take();
    testing::tell_plan(launch, teller);
    testing::tell_sheet(launch, teller);
  }
  return teller.take();
}

// "> MODEL DEVICE [NAME=VALUE…] -- ARGUMENTS" in one release.
Launch launch_of_line(Release release, const std::string& line) {
  const auto split = line.find(" -- ");
  std::istringstream head(line.substr(2, split - 2));
  std::string model;
  std::string device;
  head >> model >> device;
  Environment env;
  for (std::string word; head >> word;) env[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  DeviceFacts cards = testing::device_of(device);
  cards.host_memory_mib = 131072;  // not this machine's
  return testing::launch_of(release, model, testing::split_words(line.substr(split + 4)), cards, env);
}

std::vector<std::string> said_in_releases(const std::string& line) {
  std::map<Release, Said> by_release;
  Said ever;
  for (const Release release : supported_releases()) {
    by_release[release] = said_of(launch_of_line(release, line));
    ever.merge(Said(by_release[release]));
  }
  std::vector<std::string> lines;
  for (const std::string& said : ever) {
    const auto holds = [&](Release release) { return by_release[release].contains(said) ? 1 : 0; };
    lines.push_back(fmt::format("{} | {}", testing::release_ranges(holds), said));
  }
  return lines;
}

// Whether a launch is to be looked at.
bool is_wanted(const std::string& launch) {
  static const char* const kPath = std::getenv("PREFLIGHT_ONLY_LAUNCHES");
  if (kPath == nullptr) return true;
  std::ifstream file(kPath);
  for (std::string line; std::getline(file, line);) {
    if (line == launch) return true;
  }
  return false;
}

TEST(LaunchReleases, SayWhatIsWrittenDown) {
  std::ifstream file(testing::source_directory() + "/tests/data/launch_releases.txt");
  std::vector<std::pair<std::string, std::vector<std::string>>> written;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("> ")) {
      written.emplace_back(line, std::vector<std::string>());
    } else if (!line.empty() && !line.starts_with("#")) {
      written.back().second.push_back(line);
    }
  }
  ASSERT_GT(written.size(), 50U);
  std::string now;
  for (const auto& [launch, lines] : written) {
    if (!is_wanted(launch)) continue;
    const auto said = said_in_releases(launch);
    for (const std::string& line : said)
      EXPECT_TRUE(std::ranges::find(lines, line) != lines.end()) << launch << "\n  is not written down: " << line;
    for (const std::string& line : lines)
      EXPECT_TRUE(std::ranges::find(said, line) != said.end()) << launch << "\n  no longer said: " << line;
    EXPECT_EQ(said.size(), lines.size()) << launch;
    now += "\n" + launch + "\n" + fmt::format("{}\n", fmt::join(said, "\n"));
  }
  if (const char* path = std::getenv("PREFLIGHT_WRITE_LAUNCH_RELEASES")) {
    std::ofstream(path) << "# What the report of a launch says in each release. The format, and how to write it: "
                           "tests/launch_releases_test.cpp.\n"
                        << now;
  }
}

}  // namespace
}  // namespace preflight
