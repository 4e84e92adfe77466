// Case lines of --batch as other programs may write them: what is read, what is refused and how.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;

TEST(CaseFile, AKeyOfTheWrongTypeIsOneLineThatNamesLineAndKey) {
  struct Row {
    std::string line;
    std::string expected;
  };
  const std::vector<Row> rows = {
      {R"({"id":"a","args":"--tp 2"})", "\"args\": expected a list of texts"},
      {R"({"id":"a","args":[1,2]})", "\"args\": expected a list of texts"},
      {R"({"id":"a","args":null})", "\"args\": expected a list of texts"},
      {R"({"id":"a"})", "\"args\" is missing"},
      {R"({"args":["--tp","2"],"config":"tp: 3"})",
       "\"config\" is there, and no word of \"args\" is {config}, which stands for it"},
      {R"({"id":["a"],"args":[]})", "\"id\": expected text"},
      {R"({"id":"a","args":[],"args":["--tp","2"]})", "\"args\" stands there twice"},
      {R"({"id":"a","args":[],"env":{"A":"1","A":"2"}})", "\"A\" stands there twice"},
      {R"({"id":"a","args":[],"env":3})", "\"env\": expected an object of single values"},
      {R"({"id":"a","args":[],"env":{"A":[1]}})", "\"env\": expected an object of single values"},
      {R"({"id":"a","args":[],"model":7})", "\"model\": expected text"},
      {R"({"id":"a","args":[],"config":{}})", "\"config\": expected text"},
      {R"({"id":"a","args":[],"device":8})", "\"device\": expected an object"},
      {R"({"id":"a","args":[],"device":{"count":"a"}})", "\"device.count\": expected a whole number"},
      {R"({"id":"a","args":[],"device":{"count":-1}})", "\"device.count\": expected a whole number"},
      {R"({"id":"a","args":[],"device":{"count":4097}})", "\"device.count\": expected a whole number, 0 to 4,096"},
      {R"({"id":"a","args":[],"device":{"memory_mib":-1}})", "\"device.memory_mib\": expected a whole number, 0 to"},
      {R"({"id":"a","args":[],"device":{"memory_mib":9223372036854775807}})", "\"device.memory_mib\": expected"},
      {R"({"id":"a","args":[],"device":{"memory_mib":99999999999999999999}})", "\"device.memory_mib\": expected"},
      {R"({"id":"a","args":[],"device":{"host_memory_mib":1000000001}})", "\"device.host_memory_mib\": expected"},
      {R"({"id":"a","args":[],"device":{"has_fp64":1}})", "\"device.has_fp64\": expected true or false"},
  };
  const TemporaryDirectory dir;
  const std::string good = R"({"id":"first","args":["--model-path","m"],"env":null,"device":null})";
  for (const Row& row : rows) {
    dir.file("cases.jsonl", good + "\n" + row.line + "\n");
    const ToolRun run = run_tool({"resolve", "--batch", dir.path() + "/cases.jsonl"});
    EXPECT_EQ(run.status, 2) << row.line;
    EXPECT_THAT(run.err, HasSubstr("cases.jsonl:2: " + row.expected)) << row.line;
  }
}

TEST(CaseFile, ACardThatIsNamedHasItsOwnMemory) {
  const std::string line =
      R"({"args":["--model-path","Qwen/Qwen3-0.6B"],"device":{"name":"Intel Data Center GPU Max 1550"}})";
  EXPECT_THAT(run_tool({"check", "--batch", "-"}, line + "\n").out, HasSubstr("\"memory_mib\":65520"));
}

// Remarks may stand in a case, and so may what its author took for a key of it.
TEST(CaseFile, KeysThatAreNothingHereAreToldOnce) {
  const std::string line =
      R"({"id":"a","args":["--model-path","Qwen/Qwen3-0.6B"],"sglang_version":"0.5.14","environment":{}})";
  for (const char* command : {"check", "resolve"}) {
    const ToolRun run = run_tool({command, "--batch", "-"}, line + "\n" + line + "\n");
    EXPECT_EQ(run.status, 0) << run.err;
    const std::string told = "count: environment, sglang_version\n";
    EXPECT_THAT(run.err, HasSubstr(told)) << command;
    EXPECT_EQ(run.err.find(told), run.err.rfind(told)) << command;
    EXPECT_EQ(run_tool({command, "--batch", "-"}, R"({"id":"a","args":[]})").err, "") << command;
  }
}

TEST(CaseFile, AnIdComesBackAsItWas) {
  const TemporaryDirectory dir;
  dir.file("cases.jsonl", "{\"id\":5,\"args\":[\"--model-path\",\"m\"]}\n{\"id\":\"5\",\"args\":[]}\n");
  const ToolRun resolved = run_tool({"resolve", "--batch", dir.path() + "/cases.jsonl"});
  EXPECT_EQ(resolved.status, 0) << resolved.err;
  EXPECT_THAT(resolved.out, HasSubstr("{\"id\":5,"));
  EXPECT_THAT(resolved.out, HasSubstr("{\"id\":\"5\","));
  const ToolRun checked = run_tool({"check", "--batch", dir.path() + "/cases.jsonl"});
  EXPECT_THAT(checked.out, HasSubstr("{\"id\":5,"));
}

// A model known by its id is known in each command; beside --models none but those below it is.
TEST(CaseFile, ABatchKnowsTheModelsThatASingleLaunchKnows) {
  const std::string known = R"({"id":"a","args":["--model-path","Qwen/Qwen3-8B"]})";
  EXPECT_THAT(run_tool({"resolve", "--batch", "-"}, known).out, HasSubstr(R"("outcome":"ok")"));
  const std::string unknown = R"({"id":"a","args":["--model-path","nobody/knows-this"]})";
  EXPECT_THAT(run_tool({"resolve", "--batch", "-"}, unknown).out, HasSubstr(R"("unknown_model":"nobody/knows-this")"));
  const TemporaryDirectory dir;
  EXPECT_THAT(run_tool({"resolve", "--models", dir.path(), "--batch", "-"}, known).out,
              HasSubstr(R"("outcome":"error")"));
}

// Launches of a batch are resolved several at a time, whatever their ends.
TEST(CaseFile, ALaunchDoesNotDependOnItsNeighbours) {
  const TemporaryDirectory dir;
  const std::vector<std::string> kinds = {
      R"("args":["--model-path","dummy","--page-size","64"])",
      R"("args":["--model-path","dummy","--tp","x"])",
      R"("args":["--page-size","64"])",
      R"("args":["--model-path","dummy","--attention-backend","intel_xpu"],"env":{"SGLANG_ENABLE_DETERMINISTIC_INFERENCE":"1"})",
      R"("args":["--model-path","dummy","--config","{config}"],"config":"tp-size: 2\npage-size: 32\n")",
      R"("args":["--model-path","dummy","--config","{config}"],"config":"tp-size: [")",
      R"("args":["--model-path","dummy","--dp-size","3","--tp-size","2","--enable-dp-attention"])",
      R"("args":["--model-path","nobody/knows-this"])"};
  const auto answers = [&](const std::vector<std::size_t>& order) {
    std::string lines;
    for (const std::size_t i : order) lines += fmt::format("{{\"id\":\"{}\",{}}}\n", i, kinds[i % kinds.size()]);
    dir.file("cases.jsonl", lines);
    const ToolRun run = run_tool({"resolve", "--batch", dir.path() + "/cases.jsonl"});
    EXPECT_EQ(run.status, 0) << run.err;
    std::map<std::string, std::string> by_id;
    std::istringstream out(run.out);
    for (std::string line; std::getline(out, line);) by_id[line.substr(0, line.find(','))] = line;
    return by_id;
  };
  std::vector<std::size_t> order(70);
  std::iota(order.begin(), order.end(), 0U);
  const auto forward = answers(order);
  ASSERT_EQ(forward.size(), order.size());
  std::reverse(order.begin(), order.end());
  EXPECT_EQ(answers(order), forward);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto alone = answers({i});
    EXPECT_EQ(alone.begin()->second, forward.at(alone.begin()->first));
  }
}

TEST(CaseFile, BlankLinesAndAByteOrderMarkAreNoCases) {
  const TemporaryDirectory dir;
  dir.file("cases.jsonl",
           "\xEF\xBB\xBF{\"id\":\"a\",\"args\":[]}\r\n\r\n  \t\n{\"id\":\"b\",\"args\":[]}\r\nno case\n");
  const ToolRun run = run_tool({"resolve", "--batch", dir.path() + "/cases.jsonl"});
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 2);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("cases.jsonl:5: "));
}

// A program that waits for each answer before it writes the next case.
TEST(CaseFile, AnAnswerComesBeforeTheNextCaseIsWaitedFor) {
  const TemporaryDirectory dir;
  const std::string script = fmt::format(
      R"(cd '{}'; mkfifo cases; '{}' resolve --batch cases > answers & exec 3> cases
echo '{{"id":"first","args":[]}}' >&3
for i in $(seq 300); do [ -s answers ] && break; sleep 0.1; done
grep -c first answers; exec 3>&-; wait)",
      dir.path(), tool_path());
  dir.file("talk.sh", script);
  // Where the program does not start, the shell would wait for it for ever.
  FILE* talk = popen(("timeout 60 bash " + dir.path() + "/talk.sh").c_str(), "r");
  ASSERT_NE(talk, nullptr);
  std::array<char, 16> text{};
  EXPECT_NE(std::fgets(text.data(), text.size(), talk), nullptr);
  EXPECT_EQ(pclose(talk), 0);
  EXPECT_STREQ(text.data(), "1\n");
}

TEST(CaseFile, AnEmptyFileHoldsNoCases) {
  const TemporaryDirectory dir;
  dir.file("empty.jsonl", "");
  const ToolRun run = run_tool({"resolve", "--batch", dir.path() + "/empty.jsonl"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run_tool({"resolve", "--batch", dir.path()}).status, 2);  // a directory
}

// An option that would change nothing is refused, or changes every case.
TEST(CaseFile, OptionsBesideABatchApplyToEveryCaseOrAreRefused) {
  const std::string cases = R"({"id": 1, "args": ["--model-path", "Qwen/Qwen3-8B", "--device", "xpu"]})"
                            "\n"
                            R"({"id": 2, "args": ["--model-path", "Qwen/Qwen3-14B", "--device", "xpu"]})"
                            "\n";
  const std::string bare = run_tool({"check", "--batch", "-"}, cases).out;
  const std::string fp8 = run_tool({"check", "--stored-as", "fp8", "--batch", "-"}, cases).out;
  std::istringstream bare_lines(bare);
  std::istringstream fp8_lines(fp8);
  for (int i = 0; i < 2; ++i) {
    std::string a;
    std::string b;
    ASSERT_TRUE(std::getline(bare_lines, a) && std::getline(fp8_lines, b)) << fp8;
    EXPECT_NE(a, b);
  }
  const std::vector<std::vector<std::string>> refused = {{"--model-config", "config.json"},
                                                         {"--draft-model-config", "config.json"},
                                                         {"--fact", "layers=4"},
                                                         {"--mla"},
                                                         {"--no-mla"},
                                                         {"--command", "sglang serve"},
                                                         {"--set", "A=1"},
                                                         {"--resolver", "python"}};
  for (const auto& option : refused) {
    for (const char* command : {"check", "resolve"}) {
      std::vector<std::string> words = {command, "--batch", "-"};
      words.insert(words.end(), option.begin(), option.end());
      const ToolRun run = run_tool(words, cases);
      EXPECT_EQ(run.status, 2) << command << ' ' << option[0] << run.out;
      EXPECT_THAT(run.err, HasSubstr(option[0] + " describes one launch"));
    }
  }
  EXPECT_EQ(run_tool({"check", "--fix", "--batch", "-"}, cases).status, 2);
}

}  // namespace
}  // namespace preflight::testing
