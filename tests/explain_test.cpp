// `explain` of rules, fields, options, vLLM's names, and of one field in one launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;

TEST(Explain, KnowsRulesFieldsAndOptions) {
  struct Row {
    std::vector<std::string> what;
    const char* expected;
    int status = 0;
  };
  const Row rows[] = {
      {{"explain", "PG002"}, "K-6"},
      {{"explain", "MD001"}, "--model-config"},  // made from the input, not by a check
      {{"explain", "page_size"}, "--page-size"},
      {{"explain", "--page-size"}, "a whole number"},
      {{"explain", "attention-backend"}, "intel_xpu"},
      {{"explain", "--max-model-len"}, "--context-length"},
      {{"explain", "--enforce-eager"}, "drop it"},
      {{"explain", "page_size", "--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu",
        "--page-size", "32"},
       "32 (given) → 128 (_intel_xpu_page_constraint)"},
      {{"explain", "PL003", "--", "--model-path", "Qwen/Qwen3-8B", "--tp", "3"}, "32 attention heads do not divide"},
      {{"explain", "TP-1", "--", "--model-path", "Qwen/Qwen3-8B", "--tp", "4"}, "silent: does not apply"},
      {{"explain", "RF002", "--", "--model-path", "Qwen/Qwen3-8B"}, "silent: not in SGLang 0.5.23"},
      {{"explain", "KR004", "--", "--model-path", "Qwen/Qwen3-8B"}, "silent: not checked"},
  };
  for (const Row& row : rows) {
    const ToolRun run = run_tool(row.what);
    EXPECT_EQ(run.status, row.status) << row.what[1] << run.err;
    EXPECT_THAT(run.out, HasSubstr(row.expected)) << row.what[1];
  }
}

TEST(Explain, SaysWhatAnUnknownNameMayHaveMeant) {
  const ToolRun option = run_tool({"explain", "--page-szie"});
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.err, HasSubstr("--page-size"));
  const ToolRun rule = run_tool({"explain", "PG999"});
  EXPECT_EQ(rule.status, 2);
  EXPECT_THAT(rule.err, HasSubstr("PG001"));
}

}  // namespace
}  // namespace preflight::testing
