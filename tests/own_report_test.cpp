// A run that judges nothing leaves no report of an earlier run standing where --output json=FILE asks for one.
#include "src/report/own_report.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

const std::vector<std::string> kLaunch = {"--", "--model-path", "Qwen/Qwen3-0.6B"};

ToolRun check(std::vector<std::string> words) {
  words.insert(words.begin(), {"check", "--no-kernel"});
  words.insert(words.end(), kLaunch.begin(), kLaunch.end());
  return run_tool(words);
}

TEST(OwnReport, OfARunThatJudgesNothingStandsInTheFileThatIsAskedFor) {
  const TemporaryDirectory folder;
  const std::string file = folder.path() + "/report.json";
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"--output", "json=" + file}, {"--output=json=" + file}}) {
    ASSERT_EQ(check(asked).status, 0);
    EXPECT_EQ(nlohmann::json::parse(read_file(file))["exit_status"], 0);
    std::vector<std::string> wrong = asked;
    wrong.emplace_back("--bogus");
    ASSERT_EQ(check(wrong).status, 2);
    const auto told = nlohmann::json::parse(read_file(file));
    EXPECT_EQ(told["exit_status"], 2);
    EXPECT_NE(told["error"]["message"].get<std::string>().find("--bogus"), std::string::npos);
    std::filesystem::remove(file);
    ASSERT_EQ(check(wrong).status, 2);
    EXPECT_EQ(nlohmann::json::parse(read_file(file))["exit_status"], 2);
  }
}

TEST(OwnReport, NeverTakesThePlaceOfAnythingElse) {
  const TemporaryDirectory folder;
  const std::string script = folder.file("serve.sh", "python -m sglang.launch_server --model-path m\n");
  EXPECT_EQ(check({"--output", "json=" + script, "--bogus"}).status, 2);
  EXPECT_EQ(read_file(script), "python -m sglang.launch_server --model-path m\n");
  const std::string empty = folder.file("empty", "");
  EXPECT_EQ(check({"--output", "json=" + empty, "--bogus"}).status, 2);
  EXPECT_EQ(read_file(empty), "");
  const std::string folder_inside = folder.path() + "/d";
  std::filesystem::create_directory(folder_inside);
  EXPECT_EQ(check({"--output", "json=" + folder_inside, "--bogus"}).status, 2);
  EXPECT_TRUE(std::filesystem::is_empty(folder_inside));
  // Behind -- it is no option of ours.
  const std::string absent = folder.path() + "/absent.json";
  EXPECT_EQ(run_tool({"check", "--no-kernel", "--bogus", "--", "--output", "json=" + absent}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(absent));
}

TEST(OwnReport, IsNotAskedForByAnOptionThatMerelyBeginsSo) {
  const TemporaryDirectory folder;
  const std::string absent = folder.path() + "/absent.json";
  EXPECT_EQ(check({"--outputjson=" + absent}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(absent));
  EXPECT_EQ(check({"--formatjson"}).out, "");
}

TEST(OwnReport, IsKnownByItsBeginning) {
  EXPECT_TRUE(report::is_own_report("{\n  \"format_version\": 1,\n  \"tool\": {\n    \"name\": \"xpu-preflight\""));
  EXPECT_FALSE(report::is_own_report("{\"tool\": {\"name\": \"other\"}}"));
  EXPECT_FALSE(report::is_own_report("x {\"tool\": {\"name\": \"xpu-preflight\"}}"));
  EXPECT_FALSE(report::is_own_report(std::string(1'100, ' ') + "<title>xpu-preflight</title>"));
  EXPECT_FALSE(report::is_own_report(""));
}

}  // namespace
}  // namespace preflight::testing
