// `pages`: the table over page sizes and backends, the recommendation, and the picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "src/report/page_picture.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json rows_for(const std::vector<std::string>& launch, const std::string& release = "0.5.23") {
  std::vector<std::string> words = {"pages", "--no-kernel", "--format", "json", "--sglang-version", release, "--"};
  words.insert(words.end(), launch.begin(), launch.end());
  const ToolRun run = run_tool(words);
  EXPECT_THAT(run.err, ::testing::IsEmpty());
  return nlohmann::json::parse(run.out);
}

nlohmann::json row(const nlohmann::json& all, const std::string& backend, int page) {
  for (const auto& r : all["rows"]) {
    if (r["backend"] == backend && r["page_size"] == page) return r;
  }
  return {};
}

// The table tries no remedies: whatever acts says so, and no card is named that is no profile.
TEST(Pages, SaysThatItsRemediesWereNotTried) {
  int acting = 0;
  for (const std::string model : {"Qwen/Qwen3-0.6B", "Qwen/Qwen3-32B", "deepseek-ai/DeepSeek-V3"}) {
    const auto all = rows_for({"--model-path", model});
    for (const auto& r : all["rows"]) {
      for (const char* kind : {"errors", "warnings"}) {
        for (const auto& finding : r[kind]) {
          for (const auto& remedy : finding["remedies"]) {
            EXPECT_FALSE(remedy.value("device", "").starts_with("another")) << finding;
            if (remedy["steps"].empty() && remedy.size() <= 2 && !remedy.contains("device")) continue;
            ++acting;
            EXPECT_FALSE(remedy.at("tried")) << finding;
          }
        }
      }
    }
  }
  EXPECT_GT(acting, 0);
}

// A backend that no other row has is a row of its own: sparse attention, which a model gets where none is named.
TEST(Pages, TheLaunchsOwnAttentionIsAmongTheRows) {
  const std::vector<std::string> sparse = {
      "--model-path", source_directory() + "/tests/data/models/deepseek-v3.2", "--tp", "16", "--moe-runner-backend",
      "triton"};
  const auto later = rows_for(sparse);
  EXPECT_EQ(row(later, "as given", 128)["resolved_backend"], "dsa");
  EXPECT_EQ(row(later, "as given", 64)["verdict"], "changed");
  EXPECT_EQ(row(later, "triton", 128)["resolved_backend"], "triton");
  const auto before = rows_for(sparse, "0.5.19");
  EXPECT_THAT(row(before, "as given", 64)["errors"].dump(), HasSubstr("BK027"));
  EXPECT_THAT(row(before, "triton", 64)["errors"].dump(), Not(HasSubstr("QN010")));
  EXPECT_THAT(row(before, "triton", 128)["errors"].dump(), HasSubstr("QN010"));
  const auto plain = rows_for({"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton"});
  EXPECT_TRUE(row(plain, "as given", 64).is_null());
  const auto flex = rows_for({"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "flex_attention"});
  EXPECT_EQ(row(flex, "as given", 64)["resolved_backend"], "flex_attention");
}

// The line is taken as it stands: its options are given, those that it leaves out are not.
TEST(Pages, WhatIsRecommendedHolds) {
  using Words = std::vector<std::string>;
  const Words launches[] = {
      {"--model-path", "Qwen/Qwen3.5-9B", "--tp", "4", "--decode-attention-backend", "intel_xpu"},
      {"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size", "32"},
      {"--model-path", "Qwen/Qwen3-0.6B", "--prefill-attention-backend", "torch_native"},
      {"--model-path", "deepseek-ai/DeepSeek-V2-Lite", "--tp", "2", "--attention-backend", "intel_xpu"}};
  for (const char* release : {"0.5.13", "0.5.23"}) {
    for (const Words& launch : launches) {
      const auto advice = rows_for(launch, release)["recommended"];
      ASSERT_TRUE(advice.is_object());
      const std::string backend = advice["backend"];
      Words words = {"check", "--no-kernel", "--format", "json", "--sglang-version", release, "--"};
      for (std::size_t i = 0; i < launch.size(); i += 2) {
        const auto& without = advice["without"];
        if (std::find(without.begin(), without.end(), launch[i]) != without.end() || launch[i] == "--page-size")
          continue;
        words.insert(words.end(), {launch[i], launch[i + 1]});
      }
      words.insert(words.end(), {"--page-size", std::to_string(advice["page_size"].get<int>())});
      if (backend == "split") words.insert(words.end(), {"--decode-attention-backend", "intel_xpu"});
      if (backend.find(' ') == std::string::npos && backend != "split")
        words.insert(words.end(), {"--attention-backend", backend});
      const auto report = nlohmann::json::parse(run_tool(words).out);
      for (const auto& finding : report["findings"]) EXPECT_NE(finding["severity"], "error") << finding << advice;
      EXPECT_EQ(report["resolved"]["page_size"]["value"], advice["page_size"]) << advice;
    }
  }
}

TEST(Pages, TellsWhatBecomesOfEveryPageSize) {
  const auto gqa = rows_for({"--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_EQ(gqa["rows"].size(), 27U);
  EXPECT_EQ(row(gqa, "intel_xpu", 64)["verdict"], "ok");
  EXPECT_EQ(row(gqa, "intel_xpu", 32)["verdict"], "changed");
  EXPECT_EQ(row(gqa, "intel_xpu", 32)["resolved_page_size"], 128);
  EXPECT_EQ(row(gqa, "triton", 32)["verdict"], "ok");
  EXPECT_EQ(row(gqa, "triton", 32)["page_table_columns"], 1280);
  EXPECT_EQ(gqa["recommended"]["backend"], "intel_xpu");
  EXPECT_EQ(gqa["recommended"]["page_size"], 64);

  // MLA: the kernel's table width fails for pages below 128 (K-6), and the recommendation avoids them.
  const auto mla = rows_for({"--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--trust-remote-code", "--tp", "4"});
  EXPECT_EQ(row(mla, "intel_xpu", 64)["verdict"], "fails");
  EXPECT_THAT(row(mla, "intel_xpu", 64)["errors"].dump(), HasSubstr("K-6"));
  EXPECT_NE(mla["recommended"]["page_size"], 64) << mla["recommended"];
}

// What `check` warns of in one row and not in the others is no "ok" there.
TEST(Pages, SaysOfARowWhatCheckWarnsOf) {
  const ToolRun run = run_tool({"pages", "--no-kernel", "--format", "json", "--device-profile", "max1550", "--",
                                "--model-path", "Qwen/Qwen3-0.6B"});
  const auto all = nlohmann::json::parse(run.out);
  EXPECT_EQ(row(all, "intel_xpu", 64)["verdict"], "warned");
  EXPECT_THAT(row(all, "intel_xpu", 64)["warnings"].dump(), HasSubstr("BK002"));
  EXPECT_EQ(row(all, "intel_xpu", 32)["verdict"], "changed");
  EXPECT_EQ(row(all, "triton", 64)["verdict"], "ok");
  const ToolRun text =
      run_tool({"pages", "--no-kernel", "--device-profile", "max1550", "--", "--model-path", "Qwen/Qwen3-0.6B"});
  EXPECT_THAT(text.out, HasSubstr("BK002 "));
}

TEST(Pages, DrawsThePageTable) {
  const TemporaryDirectory dir;
  const std::string svg = dir.path() + "/pages.svg";
  const ToolRun run = run_tool({"pages", "--no-kernel", "--svg", svg, "--", "--model-path", "Qwen/Qwen3-0.6B",
                                "--attention-backend", "intel_xpu", "--page-size", "64"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("recommended:"));
  EXPECT_THAT(run.out, HasSubstr("page table"));
  const std::string text = read_file(svg);
  EXPECT_THAT(text, HasSubstr("<svg"));
  EXPECT_THAT(text, HasSubstr("</svg>"));
  EXPECT_THAT(text, HasSubstr("stroke-dasharray"));
}

// Backends of one phase stay as given in rows of their own.
TEST(Pages, KeepsTheBackendsOfThePhases) {
  const auto split = rows_for({"--model-path", "Qwen/Qwen3-0.6B", "--prefill-attention-backend", "intel_xpu",
                               "--decode-attention-backend", "triton"});
  EXPECT_EQ(split["rows"].size(), 36U);
  const auto given = row(split, "as given", 64);
  EXPECT_EQ(given["resolved_prefill_backend"], "intel_xpu") << given;
  EXPECT_EQ(given["resolved_backend"], "triton") << given;
  EXPECT_NE(given["verdict"], "refused") << given;
}

// Where intel_xpu may decode an MLA model but not prefill it, that is a choice of its own, and the one that is near.
TEST(Pages, SplitsThePhasesOfMlaModelsBefore0520) {
  const std::vector<std::string> launch = {
      "--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--trust-remote-code", "--tp", "2", "--attention-backend",
      "intel_xpu"};
  for (const char* release : {"0.5.13", "0.5.19"}) {
    SCOPED_TRACE(release);
    const auto old = rows_for(launch, release);
    EXPECT_EQ(row(old, "intel_xpu", 128)["verdict"], "refused");
    EXPECT_EQ(row(old, "split", 128)["verdict"], "ok");
    EXPECT_EQ(row(old, "split", 128)["resolved_prefill_backend"], "triton");
    EXPECT_EQ(row(old, "split", 128)["resolved_backend"], "intel_xpu");
    EXPECT_EQ(old["recommended"]["backend"], "split");
  }
  EXPECT_TRUE(row(rows_for(launch, "0.5.20"), "split", 128).is_null());
}

// No kernel of intel_xpu runs on a Data Center GPU Max: a warning there, and none of triton.
// What `check` warns of is no row without a fault.
TEST(Pages, AreWarnedOfWhereACheckWarns) {
  const ToolRun run = run_tool({"pages", "--no-kernel", "--no-fp64", "--format", "json", "--", "--model-path",
                                "Qwen/Qwen3-0.6B", "--decode-attention-backend", "intel_xpu", "--page-size", "64"});
  const auto pages = nlohmann::json::parse(run.out);
  EXPECT_EQ(row(pages, "as given", 64)["verdict"], "warned");
  EXPECT_EQ(row(pages, "as given", 64)["warnings"][0]["rule"], "BK002");
  EXPECT_EQ(row(pages, "triton", 64)["verdict"], "ok");
}

TEST(Pages, RecommendTheFewestWarnings) {
  const ToolRun run = run_tool({"pages", "--no-kernel", "--format", "json", "--device-profile", "max1100", "--",
                                "--model-path", "Qwen/Qwen3-0.6B", "--device", "xpu"});
  EXPECT_EQ(nlohmann::json::parse(run.out)["recommended"]["backend"], "triton");
}

// The picture is that of the launch, also in figures; where nothing works there is none.
TEST(Pages, DrawsTheLaunchItself) {
  const auto one = rows_for({"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "triton", "--page-size", "1"});
  EXPECT_EQ(one["picture"]["of"], "launch");
  EXPECT_EQ(one["picture"]["page_size"], 1);
  EXPECT_EQ(one["picture"]["backends"], "triton");
  const auto brief = rows_for({"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size",
                               "64", "--context-length", "100"});
  EXPECT_EQ(brief["picture"]["tokens"], 100);
  EXPECT_EQ(brief["picture"]["page_table"].size(), 2U);

  const TemporaryDirectory dir;
  const std::string svg = dir.path() + "/none.svg";
  const ToolRun none = run_tool(
      {"pages", "--no-kernel", "--svg", svg, "--", "--model-path", "Qwen/Qwen3-0.6B", "--context-length", "many"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.out, Not(HasSubstr("page table")));
  EXPECT_THAT(none.err, HasSubstr("no picture"));
}

TEST(Pages, ReasonsAreToldWhole) {
  const ToolRun run = run_tool({"pages", "--no-kernel", "--", "--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat",
                                "--trust-remote-code", "--tp", "4"});
  EXPECT_THAT(run.out, Not(HasSubstr("…"))) << run.out;
}

TEST(PagePicture, WorksOutTheSlotOfAToken) {
  const auto p = report::example_picture(64);
  EXPECT_EQ(p.tokens, 160);
  EXPECT_EQ(p.token, 80);
  EXPECT_EQ(p.column(), 1);
  EXPECT_EQ(p.page(), 2);
  EXPECT_EQ(p.slot(), 2 * 64 + 16);
  const std::string text = report::page_picture_text(p, report::Style(false));
  EXPECT_THAT(text, HasSubstr("slot = 2 × 64 + 16 = 144"));
  EXPECT_THAT(text, HasSubstr("slot 144 for a page number would read slots 9216 to 9279"));
  // Pages of one token cannot be mistaken.
  const auto one = report::example_picture(1);
  EXPECT_THAT(report::page_picture_svg(one, "t"), Not(HasSubstr("stroke-dasharray")));
}

// What this launch does to its pages, and what that breaks; red is for what goes wrong in it.
TEST(PagePicture, TellsThisLaunchesChangeAndFault) {
  const auto changed =
      rows_for({"--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu", "--page-size", "32"})["picture"];
  ASSERT_EQ(changed["remarks"].size(), 1U);
  EXPECT_THAT(changed["remarks"][0].get<std::string>(), HasSubstr("32 (given) → 128 (_intel_xpu_page_constraint)"));
  EXPECT_TRUE(changed["faults"].empty());
  const auto narrow = rows_for({"--model-path", "deepseek-ai/DeepSeek-V2-Lite-Chat", "--decode-attention-backend",
                                "intel_xpu", "--page-size", "64", "--tp", "2"})["picture"];
  ASSERT_EQ(narrow["faults"].size(), 1U);
  EXPECT_THAT(narrow["faults"][0].get<std::string>(), HasSubstr("PG002"));
  const auto one = report::page_picture_text(report::example_picture(1), report::Style(false));
  EXPECT_THAT(one, Not(HasSubstr("wrong")));
  EXPECT_THAT(report::page_picture_svg(report::example_picture(1), "t"), Not(HasSubstr("wrong")));
  auto faulty = report::example_picture(64);
  faulty.faults = {"PG002 its fault"};
  EXPECT_THAT(report::page_picture_svg(faulty, "t"), HasSubstr("wrong: PG002 its fault"));
}

TEST(PagesCommand, EndsWithTheFaultOfADeviceThatFails) {
  const auto pages = [](const std::string& fault) {
    return run_tool({"pages", "--format", "json", "--", "--model-path", "Qwen/Qwen3-0.6B"}, {},
                    {"LD_LIBRARY_PATH=" + fake_opencl_directory(), "FAKE_OPENCL=" + fault});
  };
  const ToolRun memory = pages("out-of-memory");
  EXPECT_EQ(memory.status, 6) << memory.err;
  EXPECT_THAT(memory.out, HasSubstr("\"kernel\": \"out-of-memory\""));
  EXPECT_EQ(pages("no-platform").status, 0);
  // No kernel of ours runs for torch_native: it is what is left where ours are wrong.
  const ToolRun wrong = pages("wrong-results");
  EXPECT_EQ(wrong.status, 0);
  EXPECT_EQ(nlohmann::json::parse(wrong.out)["recommended"]["backend"], "torch_native");
}

}  // namespace
}  // namespace preflight::testing
