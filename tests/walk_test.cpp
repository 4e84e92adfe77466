// Every class that SGLang treats by its name, walked through a few launches in each release: tests/data/classes/*.txt,
// written down once more, so that a list of classes that loses one, or gains one in another release, is seen. A
// launch's checkpoint is that of the model but for the class. Lines are
//
//   > MODEL DEVICE -- ARGUMENTS    the launch of the file
//   = CLASS…                       classes that it treats alike
//   RELEASES | WHAT | VALUE        what their launch has and that of kUsual has not, in those releases
//   RELEASES | no WHAT             the other way round
//
// kUsual stands by itself with all that its launch has. A class that is new to SGLang is written in an "=" line of any
// file. UPDATE_GOLDEN=1 writes what the program does; read what changed before you keep it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "preflight/fields.h"
#include "preflight/rule.h"
#include "src/base/embedded.h"
#include "src/facts/model_classes.h"
#include "src/launch/launch_view.h"
#include "tests/support/example_launch.h"
#include "tests/support/launch_said.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using testing::Said;
using Classes = std::vector<std::string>;

constexpr std::string_view kUsual = "LlamaForCausalLM";

// A launch and its groups of classes, as a file has them.
struct Walk {
  std::string file;
  std::string launch;
  std::vector<std::pair<Classes, std::vector<std::string>>> groups;
};

Walk written_walk(const std::filesystem::path& path) {
  std::ifstream file(path);
  Walk walk{path.string(), {}, {}};
  bool names = false;  // whether the line before named classes
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("> ")) {
      walk.launch = line;
    } else if (line.starts_with("= ")) {
      if (!names) walk.groups.emplace_back();
      std::istringstream words(line.substr(2));
      for (std::string name; words >> name;) walk.groups.back().first.push_back(name);
    } else if (!line.empty()) {
      walk.groups.back().second.push_back(line);
    }
    names = line.starts_with("= ");
  }
  return walk;
}

std::vector<Walk> written_walks() {
  std::vector<Walk> walks;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_directory() + "/tests/data/classes"))
    walks.push_back(written_walk(entry.path()));
  std::ranges::sort(walks, {}, &Walk::file);
  return walks;
}

const std::vector<Walk>& walks() {
  static const std::vector<Walk> written = written_walks();
  return written;
}

Classes classes_of(const Walk& walk) {
  Classes classes;
  for (const auto& [names, lines] : walk.groups) classes.insert(classes.end(), names.begin(), names.end());
  return classes;
}

std::set<std::string> all_classes() {
  std::set<std::string> classes;
  for (const Walk& walk : walks()) {
    for (const std::string& name : classes_of(walk)) classes.insert(name);
  }
  return classes;
}

// Names in a message would part what is alike.
std::string without(std::string text, const std::string& name, std::string_view instead) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) text.replace(at, name.size(), instead);
  return text;
}

// What names of fields and rules can tell; changes and log lines are held by launches of their own. Fields that have
// the default say nothing.
Said said_of(const Launch& launch, const std::string& name) {
  const auto general = [&](const std::string& message) {
    return without(without(message, launch.release().text(), "RELEASE"), name, "CLASS");
  };
  testing::Teller teller;
  if (!launch.accepted()) {
    teller.say("outcome", general(testing::outcome_text(launch)));
    return teller.take();
  }
  for (const Diagnostic& d : check(launch, {.changes = false, .log_lines = false}).diagnostics) {
    teller.say(fmt::format("{}{}", d.rule, d.severity == Severity::kError ? ", an error" : ""), general(d.message));
  }
  const LaunchFields defaults(launch.release());
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto field = static_cast<Field>(i);
    if (field == Field::json_model_override_args || field == Field::model_path) continue;
    if (launch.resolved[field] != defaults[field]) teller.say(field_name(field), launch.resolved[field].repr());
  }
  testing::tell_view(LaunchView(launch), teller);
  if (launch.model) testing::tell_sheet(launch, teller);
  return teller.take();
}

using Launches = std::map<Release, Said>;

Launches launches_of_class(const std::string& line, const std::string& name) {
  const auto split = line.find(" -- ");
  std::istringstream head(line.substr(2, split - 2));
  std::string model;
  std::string device;
  head >> model >> device;
  DeviceFacts cards = testing::device_of(device);
  cards.host_memory_mib = 131072;  // not this machine's
  auto words = testing::split_words(line.substr(split + 4));
  words.insert(words.end(), {"--json-model-override-args", fmt::format(R"({{"architectures": ["{}"]}})", name)});
  Launches said;
  for (const Release release : supported_releases()) {
    said[release] = said_of(testing::launch_of(release, model, words, cards), name);
  }
  return said;
}

std::string what_of(const std::string& said) { return said.substr(0, said.find(" | ")); }

// What the launches have that the usual ones have not, and what they lack altogether.
std::vector<std::string> lines_of(const Launches& launches, const Launches& usual) {
  std::map<std::string, std::set<Release>> differing;
  const auto lines_in = [&](Release release) {
    const Said& here = launches.at(release);
    const Said& there = usual.at(release);
    std::set<std::string> whats;
    for (const std::string& said : here) {
      whats.insert(what_of(said));
      if (!there.contains(said)) differing[said].insert(release);
    }
    if (whats.contains("outcome")) return;  // of a refused launch nothing else is known
    for (const std::string& said : there) {
      if (!whats.contains(what_of(said))) differing["no " + what_of(said)].insert(release);
    }
  };
  for (const Release release : supported_releases()) lines_in(release);
  std::vector<std::string> lines;
  for (const auto& [said, releases] : differing) {
    const auto holds = [&releases = releases](Release release) { return releases.contains(release) ? 1 : 0; };
    lines.push_back(fmt::format("{} | {}", testing::release_ranges(holds), said));
  }
  std::ranges::sort(lines);
  return lines;
}

std::string text_of_group(const Classes& classes, const std::vector<std::string>& lines) {
  std::string text = "\n";
  std::string row = "=";
  for (const std::string& name : classes) {
    if (row.size() + name.size() > 99) text += std::exchange(row, "=") + "\n";
    row += " " + name;
  }
  text += row + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string difference(const std::vector<std::string>& from, const std::vector<std::string>& lines) {
  std::vector<std::string> only;
  std::ranges::set_difference(from, lines, std::back_inserter(only));
  return fmt::format("{}", fmt::join(only, "\n"));
}

class ClassWalk : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ClassWalk, SaysWhatIsWrittenDown) {
  const Walk& walk = walks()[GetParam()];
  std::map<std::string, std::vector<std::string>> written;
  for (const auto& [classes, lines] : walk.groups) {
    for (const std::string& name : classes) written[name] = lines;
  }
  Launches nothing;
  for (const Release release : supported_releases()) nothing[release] = {};
  const Launches usual = launches_of_class(walk.launch, std::string(kUsual));
  std::map<std::vector<std::string>, Classes> groups;
  for (const std::string& name : all_classes()) {
    const auto lines =
        name == kUsual ? lines_of(usual, nothing) : lines_of(launches_of_class(walk.launch, name), usual);
    groups[lines].push_back(name);
    EXPECT_EQ(difference(written[name], lines), "") << "no longer said of " << name;
    EXPECT_EQ(difference(lines, written[name]), "") << "not written down of " << name;
  }
  if (std::getenv("UPDATE_GOLDEN") == nullptr) return;
  std::ofstream file(walk.file);
  file << walk.launch << "\n";
  for (const auto& [lines, classes] : groups) file << text_of_group(classes, lines);
}

std::string name_of_walk(const ::testing::TestParamInfo<std::size_t>& walk) {
  return std::filesystem::path(walks()[walk.param].file).stem().string();
}

INSTANTIATE_TEST_SUITE_P(Each, ClassWalk, ::testing::Range<std::size_t>(0, walks().size()), name_of_walk);

TEST(ClassWalkOf, EveryClassOfSglangsOwn) {
  const auto all = all_classes();
  EXPECT_GT(all.size(), 300U);
  for (const Walk& walk : walks()) {
    const Classes classes = classes_of(walk);
    EXPECT_EQ(std::set(classes.begin(), classes.end()), all) << walk.file;
    EXPECT_EQ(classes.size(), all.size()) << "a class stands twice in " << walk.file;
  }
  for (const auto& row : nlohmann::json::parse(embedded::model_classes().front().text)) {
    const auto name = row.at("name").get<std::string>();
    for (const Release release : supported_releases()) {
      if (facts::is_own(facts::model_class(name, release))) {
        EXPECT_TRUE(all.contains(name)) << name << " of " << release.text() << " is not walked";
      }
    }
  }
}

}  // namespace
}  // namespace preflight
