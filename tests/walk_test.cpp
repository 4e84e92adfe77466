// Launches walked through every class of model, every option and value, every variable and what a configuration can
// say: tests/data/walks/{family}_{name}.txt, written down once more, so that a list that loses a name, or a condition
// that moves by one release, is seen without a launch of its own. Lines are
//
//   > MODEL DEVICE -- ARGUMENTS    the launch of the file
//   = VARIATION…                   variations of it that SGLang treats alike:
//                                    -                 the launch as it is
//                                    ClassForCausalLM  the checkpoint has this class
//                                    --option=value    what is given beside
//                                    NAME=value        a variable of the environment
//                                    {"key":value}     --json-model-override-args
//   RELEASES | WHAT | VALUE        what they have and the launch as it is has not, in those releases
//   RELEASES | no WHAT             the other way round
//
// A variation is written in an "=" line of one file of a family, and is walked in all of them. UPDATE_GOLDEN=1 writes
// what the program does; read what changed before you keep it.
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
#include "preflight/report.h"
#include "preflight/rule.h"
#include "src/args/option_index.h"
#include "src/base/embedded.h"
#include "src/base/replaced.h"
#include "src/facts/model_classes.h"
#include "src/launch/launch_view.h"
#include "tests/support/example_launch.h"
#include "tests/support/launch_said.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using testing::Said;
using Names = std::vector<std::string>;
using Lines = std::vector<std::string>;

constexpr std::string_view kAsItIs = "-";

// A launch and its groups of variations, as a file has them.
struct Walk {
  std::filesystem::path file;
  std::string launch;
  std::vector<std::pair<Names, Lines>> groups;

  [[nodiscard]] std::string name() const { return file.stem().string(); }
  [[nodiscard]] std::string family() const { return name().substr(0, name().find('_')); }
};

Walk written_walk(const std::filesystem::path& path) {
  std::ifstream file(path);
  Walk walk{path, {}, {}};
  bool names = false;  // whether the line before named variations
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

const std::vector<Walk>& walks() {
  static const std::vector<Walk> written = [] {
    std::vector<Walk> out;
    for (const auto& entry : std::filesystem::directory_iterator(testing::source_directory() + "/tests/data/walks"))
      out.push_back(written_walk(entry.path()));
    std::ranges::sort(out, {}, &Walk::file);
    return out;
  }();
  return written;
}

Names variations_in(const Walk& walk) {
  Names out;
  for (const auto& [names, lines] : walk.groups) out.insert(out.end(), names.begin(), names.end());
  return out;
}

std::set<std::string> variations_of(std::string_view family) {
  std::set<std::string> out;
  for (const Walk& walk : walks()) {
    if (walk.family() != family) continue;
    const Names names = variations_in(walk);
    out.insert(names.begin(), names.end());
  }
  return out;
}

struct Words {
  std::string model;
  DeviceFacts cards;
  std::vector<std::string> argv;
};

Words words_of(const std::string& line) {
  const auto split = line.find(" -- ");
  std::istringstream head(line.substr(2, split - 2));
  Words out;
  std::string device;
  head >> out.model >> device;
  out.cards = testing::device_of(device);
  out.cards.host_memory_mib = 131072;  // not this machine's
  out.argv = testing::split_words(line.substr(split + 4));
  return out;
}

Launch varied_launch(Release release, Words words, const std::string& variation) {
  Environment env;
  const auto equals = variation.find('=');
  if (variation.starts_with("{")) {
    words.argv.insert(words.argv.end(), {"--json-model-override-args", variation});
  } else if (variation.starts_with("--")) {
    words.argv.push_back(variation);
  } else if (equals != std::string::npos) {
    env[variation.substr(0, equals)] = variation.substr(equals + 1);
  } else if (variation != kAsItIs) {
    words.argv.insert(words.argv.end(),
                      {"--json-model-override-args", fmt::format(R"({{"architectures": ["{}"]}})", variation)});
  }
  return testing::launch_of(release, words.model, words.argv, words.cards, env);
}

// What names of fields and rules can tell; sentences, changes and log lines are held by launches of their own. Fields
// that are as they were given, or not given, say nothing.
Said said_of(const Launch& launch) {
  testing::Teller teller;
  if (!launch.accepted()) {
    teller.say("outcome", launch.usage ? "usage" : launch.refusal->exception + " in " + launch.refusal->function);
    return teller.take();
  }
  for (const Diagnostic& d : check(launch, {.log_lines = false}).diagnostics) {
    if (d.rule.starts_with("CH")) {
      teller.say(fmt::format("{} {} why", d.rule, d.field ? field_name(*d.field) : ""), d.why);
    } else {
      teller.say(d.rule, name_of(d.severity));
    }
  }
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto field = static_cast<Field>(i);
    if (launch.resolved[field] == launch.args.raw[field]) continue;
    teller.say(field_name(field), replaced(launch.resolved[field].repr(), testing::source_directory() + "/", ""));
  }
  testing::tell_view(LaunchView(launch), teller);
  if (!launch.model) return teller.take();
  testing::tell_plan(launch, teller);
  testing::tell_sheet(launch, teller);
  return teller.take();
}

using Launches = std::map<Release, Said>;

Launches launches_of(const Words& words, const std::string& variation) {
  Launches said;
  for (const Release release : testing::releases_looked_at())
    said[release] = said_of(varied_launch(release, words, variation));
  return said;
}

std::string what_of(const std::string& said) { return said.substr(0, said.find(" | ")); }

// What a launch has that another has not, and what it lacks altogether.
Said differences(const Said& here, const Said& there) {
  Said out;
  std::set<std::string> whats;
  for (const std::string& said : here) {
    whats.insert(what_of(said));
    if (!there.contains(said)) out.insert(said);
  }
  if (whats.contains("outcome")) return out;  // of a refused launch nothing else is known
  for (const std::string& said : there) {
    if (!whats.contains(what_of(said))) out.insert("no " + what_of(said));
  }
  return out;
}

Lines lines_of(const Launches& launches, const Launches& as_it_is) {
  std::map<std::string, std::set<Release>> differing;
  for (const auto& [release, here] : launches) {
    const auto there = as_it_is.find(release);
    for (const std::string& said : differences(here, there == as_it_is.end() ? Said() : there->second))
      differing[said].insert(release);
  }
  Lines lines;
  for (const auto& [said, releases] : differing) {
    const auto holds = [&in = releases](Release release) { return in.contains(release) ? 1 : 0; };
    lines.push_back(fmt::format("{} | {}", testing::release_ranges(holds), said));
  }
  std::ranges::sort(lines);
  return lines;
}

std::string text_of_group(const Names& names, const Lines& lines) {
  std::string text = "\n";
  std::string row = "=";
  for (const std::string& name : names) {
    if (row.size() > 1 && row.size() + name.size() > 99) text += std::exchange(row, "=") + "\n";
    row += " " + name;
  }
  text += row + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string only_in(const Lines& these, const Lines& those) {
  Lines only;
  std::ranges::set_difference(these, those, std::back_inserter(only));
  return fmt::format("{}", fmt::join(only, "\n"));
}

class Walks : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Walks, SayWhatIsWrittenDown) {
  const Walk& walk = walks()[GetParam()];
  std::map<std::string, Lines> written;
  for (const auto& [names, lines] : walk.groups) {
    Lines looked_at = testing::of_those_looked_at(lines);
    std::ranges::sort(looked_at);
    for (const std::string& name : names) written[name] = looked_at;
  }
  const Words words = words_of(walk.launch);
  const Launches as_it_is = launches_of(words, std::string(kAsItIs));
  std::map<Lines, Names> groups;
  for (const std::string& variation : variations_of(walk.family())) {
    const Lines lines =
        variation == kAsItIs ? lines_of(as_it_is, {}) : lines_of(launches_of(words, variation), as_it_is);
    groups[lines].push_back(variation);
    EXPECT_EQ(only_in(written[variation], lines), "") << "no longer said of " << variation;
    EXPECT_EQ(only_in(lines, written[variation]), "") << "not written down of " << variation;
  }
  if (std::getenv("UPDATE_GOLDEN") == nullptr) return;
  std::ofstream file(walk.file);
  file << walk.launch << "\n";
  for (const auto& [lines, names] : groups) file << text_of_group(names, lines);
}

std::string name_of_walk(const ::testing::TestParamInfo<std::size_t>& walk) { return walks()[walk.param].name(); }

INSTANTIATE_TEST_SUITE_P(Each, Walks, ::testing::Range<std::size_t>(0, walks().size()), name_of_walk);

TEST(WalksOf, AFamilyVaryAllAlike) {
  for (const Walk& walk : walks()) {
    const Names names = variations_in(walk);
    EXPECT_EQ(std::set(names.begin(), names.end()), variations_of(walk.family())) << walk.file;
    EXPECT_EQ(names.size(), variations_of(walk.family()).size()) << "a variation stands twice in " << walk.file;
  }
}

TEST(WalksOf, EveryClassOfSglangsOwn) {
  const auto walked = variations_of("classes");
  for (const auto& row : nlohmann::json::parse(embedded::model_classes().front().text)) {
    const auto name = row.at("name").get<std::string>();
    for (const Release release : supported_releases()) {
      if (facts::is_own(facts::model_class(name, release))) {
        EXPECT_TRUE(walked.contains(name)) << name << " of " << release.text() << " is not walked";
      }
    }
  }
}

TEST(WalksOf, EveryOption) {
  std::set<std::string> walked;
  for (const std::string& variation : variations_of("options")) walked.insert(variation.substr(0, variation.find('=')));
  for (const Release release : supported_releases()) {
    for (const args::Option& option : args::OptionIndex::of(release).options()) {
      const std::string name(option.names.front());
      if (name == "--model-path" || name == "--json-model-override-args" || option.action == args::ActionKind::kHelp)
        continue;
      EXPECT_TRUE(walked.contains(name) || name == "--config") << name << " of " << release.text();
    }
  }
}

}  // namespace
}  // namespace preflight
