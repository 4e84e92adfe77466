// The search for corrected arguments: what it finds is small, and good when resolved and checked again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/args/argument_groups.h"
#include "src/fix/compared.h"
#include "src/fix/search.h"
#include "src/report/fixes_text.h"
#include "src/resolve/core/parsed_launch.h"
#include "tests/support/example_launch.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;
using testing::launch_of;
using testing::split_words;

std::vector<Diagnostic> errors_of(const Launch& launch) {
  std::vector<Diagnostic> errors;
  for (Diagnostic& d : check(launch, {.changes = false, .log_lines = false}).diagnostics) {
    if (d.severity == Severity::kError) errors.push_back(std::move(d));
  }
  return errors;
}

FixSearch search(Release release, const RuleExample& example, Environment env = {}) {
  const DeviceFacts device = testing::device_of(example.device);
  std::vector<std::string> words = {"--model-path", testing::models_root() + "/" + std::string(example.model)};
  for (std::string& w : split_words(example.args)) {
    if (const auto at = w.find("{models}"); at != std::string::npos) w.replace(at, 8, testing::models_root());
    words.push_back(std::move(w));
  }
  for (const std::string& entry : split_words(example.env)) {
    env[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  }
  const auto attempt = [&](const fix::Attempt& tried) {
    static facts::ModelFiles models;
    const auto other = tried.stored_as.empty() ? nullptr : models.with_stored_as(words[1], tried.stored_as);
    ParseOutcome parsed = args::parse(release, tried.words);
    fix::Trial trial;
    if (auto* given = std::get_if<ServerArgs>(&parsed)) {
      trial.launch = resolve::resolve({std::move(*given), other ? *other : models, device, tried.env});
    } else {
      trial.launch = resolve::refused_by_parser(release, std::move(parsed));
    }
    trial.errors = errors_of(trial.launch);
    return trial;
  };
  std::vector<SourceRange> where(words.size());
  for (std::size_t i = 0; i < where.size(); ++i) where[i].argv_index = static_cast<int>(i);
  return fix::find_fixes({release, words, where, env}, attempt);
}

TEST(FixSearch, FindsTheSmallestChangeThatHelps) {
  struct Row {
    const char* model;
    const char* args;
    const char* expected;  // part of the first fix
    const char* device = "b60";
  };
  const Row rows[] = {
      // the parser's complaints
      {"qwen3-0.6b", "--page-szie 64", "--page-szie 64 becomes --page-size 64"},
      {"qwen3-0.6b", "--max-model-len 4096", "becomes --context-length 4096"},
      {"qwen3-0.6b", "--attention-backend torch_sdpa", "becomes --attention-backend torch_native"},
      {"qwen3-0.6b", "--attention-backend=torch_sdpa", "becomes --attention-backend=torch_native"},
      {"qwen3-0.6b", "--page-size x", "--page-size x is dropped"},
      {"qwen3-8b", "--context-length 32k-tokens", "becomes --context-length 32768"},
      {"qwen3-8b", "--device xpu --quantization mlx_q4", "--quantization mlx_q4 is dropped"},
      {"qwen3-0.6b", "stray", "stray is dropped"},
      {"qwen3-0.6b", "--device xpu --pp 2", "--pp 2 becomes --pp-size 2"},
      {"qwen3-0.6b", "--device xpu --context 8192", "--context 8192 becomes --context-length 8192"},
      {"qwen3-0.6b", "--device xpu --quant fp8", "--quant fp8 becomes --quantization fp8"},
      // refusals
      {"qwen3-8b", "--device xpu --page-size 64 --chunked-prefill-size 1000", "--chunked-prefill-size"},
      {"qwen3-0.6b", "--device xpu --context-length 1000000", "--context-length"},
      {"qwen3-0.6b", "--device xpu --enable-hierarchical-cache --disable-radix-cache", "is dropped"},
      // rules
      {"qwen2.5-7b-instruct", "--device xpu --tp-size 8", "becomes --tp-size 4"},
      {"llama-3.2-1b-instruct", "--device xpu --attention-backend fa3", "becomes --attention-backend triton"},
      {"llama-3.1-70b-instruct", "--device xpu --tp-size 2", "becomes --tp-size"},
      {"qwen3-0.6b", "--device xpu --tp-size 8", "becomes --tp-size", "b60x4"},
      // several at once
      {"qwen2.5-7b-instruct", "--device xpu --tp-size 8 --attention-backend fa3 --page-szie 64", "--page-size 64"},
  };
  const Release release = v0_5(23);
  for (const Row& row : rows) {
    const FixSearch found = search(release, {.model = row.model, .args = row.args, .device = row.device});
    ASSERT_FALSE(found.fixes.empty()) << row.model << " " << row.args << ": " << found.none_because;
    EXPECT_THAT(report::short_fix(found.fixes.front()), HasSubstr(row.expected)) << row.args;
    EXPECT_LE(found.fixes.front().changes.size(), 3U) << row.args;
  }
}

// Two findings that a variable each cures; where an option cures one, no variable is set for it.
TEST(FixSearch, SetsVariablesWhereNoOptionHelps) {
  const auto fix_in = [](Release release, const char* args, const Environment& env = {}) {
    const FixSearch found = search(release, {.model = "deepseek-v4-flash", .args = args, .device = "b70x8"}, env);
    EXPECT_FALSE(found.fixes.empty()) << found.none_because;
    return found.fixes.empty() ? CheckedFix{} : found.fixes.front();
  };
  const CheckedFix both = fix_in(v0_5(18), "--device xpu --tp-size 8");
  EXPECT_THAT(report::diff_lines(both), ::testing::IsSupersetOf({"+ environment SGLANG_USE_SGL_XPU=1",
                                                                 "+ environment SGLANG_OPT_FP8_WO_A_GEMM=false"}));
  EXPECT_THAT(report::short_fix(both), HasSubstr("SGLANG_USE_SGL_XPU=1 is set in the environment"));
  EXPECT_EQ(both.env.at("SGLANG_USE_SGL_XPU"), "1");
  // What the launch sets already is no change of it, and what it sets otherwise is one.
  const CheckedFix rest = fix_in(v0_5(18), "--device xpu --tp-size 8", {{"SGLANG_USE_SGL_XPU", "1"}});
  EXPECT_THAT(report::short_fix(rest), ::testing::Not(HasSubstr("SGLANG_USE_SGL_XPU")));
  const CheckedFix other = fix_in(v0_5(18), "--device xpu --tp-size 8", {{"SGLANG_USE_SGL_XPU", "0"}});
  EXPECT_THAT(report::diff_lines(other),
              ::testing::IsSupersetOf({"- environment SGLANG_USE_SGL_XPU=0", "+ environment SGLANG_USE_SGL_XPU=1"}));
  EXPECT_THAT(fix::remedy_of(other)->steps,
              ::testing::Contains(RemedyStep{StepKind::kSet, "SGLANG_USE_SGL_XPU", {"1"}}));
}

TEST(FixSearch, LeavesAGoodLaunchAlone) {
  const FixSearch found = search(v0_5(23), {.model = "qwen3-0.6b", .args = "--device xpu"});
  EXPECT_TRUE(found.fixes.empty());
  EXPECT_EQ(found.attempts, 0);
}

TEST(FixSearch, NeverChangesTheModelOrTheDevice) {
  const FixSearch found = search(v0_5(23), {.model = "qwen2.5-7b-instruct", .args = "--device xpu --tp-size 8"});
  ASSERT_FALSE(found.fixes.empty());
  for (const CheckedFix& f : found.fixes) {
    EXPECT_EQ(f.arguments[0], "--model-path");
    EXPECT_THAT(f.arguments[1], HasSubstr("qwen2.5-7b-instruct"));
    EXPECT_THAT(f.arguments, ::testing::Contains("xpu"));
  }
}

// The server of a tower, or one half of a disaggregated pair, is no fix of a server.
TEST(FixSearch, StartsTheSameKindOfServer) {
  const FixSearch found = search(
      v0_5(23), {.model = "qwen3-vl-2b-thinking", .args = "--device xpu", .env = "SGLANG_USE_CUDA_IPC_TRANSPORT=1"});
  ASSERT_FALSE(found.fixes.empty()) << found.none_because;
  EXPECT_THAT(report::short_fix(found.fixes.front()), HasSubstr("SGLANG_USE_CUDA_IPC_TRANSPORT is not set"));
  for (const CheckedFix& f : found.fixes) {
    for (const char* other : {"--encoder-only", "--language-only", "--disaggregation-mode", "--is-embedding"})
      EXPECT_THAT(f.arguments, ::testing::Not(::testing::Contains(other)));
  }
}

// Weights that leave nothing for the cache are an error with a margin and a warning without: going from one to the
// other is no cure.
TEST(FixSearch, TradesNoErrorForADoubt) {
  const FixSearch found =
      search(v0_5(23), {.model = "qwen3.5-9b", .args = "--device xpu --trust-remote-code --attention-backend triton"});
  ASSERT_FALSE(found.fixes.empty());
  for (const CheckedFix& f : found.fixes) {
    std::string words;
    for (const std::string& w : f.arguments) words += w + ' ';
    EXPECT_THAT(words, ::testing::Not(HasSubstr("--chunked-prefill-size"))) << words;
  }
}

// A method that only NVIDIA GPUs have, or more host memory than the weights take, cures nothing.
TEST(FixSearch, OffersNoNumberOrMethodThatNothingNames) {
  const FixSearch found = search(v0_5(23), {.model = "qwen3-30b-a3b", .args = "--device xpu", .device = "b60"});
  for (const CheckedFix& f : found.fixes) {
    for (const ArgumentChange& c : f.changes) {
      EXPECT_THAT(c.after, ::testing::Not(::testing::Contains("humming")));
      EXPECT_THAT(c.after, ::testing::Not(::testing::Contains("4096")));
    }
  }
  ASSERT_FALSE(found.fixes.empty());
}

// No option mends experts in a form that has no kernel. The fix says which form would do, and was checked with it.
TEST(FixSearch, NamesTheFormOfAnotherCheckpointWhenNoOptionHelps) {
  const FixSearch found =
      search(v0_5(23), {.model = "deepseek-r1-awq", .args = "--device xpu --tp-size 16", .device = "max1550x16"});
  ASSERT_FALSE(found.fixes.empty()) << found.none_because;
  EXPECT_EQ(found.fixes.front().stored_as, "fp8");
  EXPECT_EQ(found.fixes.front().arguments[1], "FP8-CHECKPOINT");
  EXPECT_THAT(report::short_fix(found.fixes.front()), HasSubstr("another checkpoint of the model, stored as fp8"));
  EXPECT_THAT(report::fixes_text(found, report::Style(false)), HasSubstr("--stored-as fp8"));
}

TEST(FixSearch, KeepsTheCheckpointWhereAnOptionHelps) {
  const FixSearch found =
      search(v0_5(23), {.model = "qwen3-8b-fp8", .args = "--device xpu --quantization awq", .device = "b60"});
  ASSERT_FALSE(found.fixes.empty()) << found.none_because;
  EXPECT_EQ(found.fixes.front().stored_as, "");
}

// --attn-cp-size is spelt like it, and another feature.
TEST(FixSearch, AnOptionOfAnotherReleaseIsNoSlipOfThePen) {
  const FixSearch found =
      search(v0_5(20), {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 4 --attn-dp-size 4"});
  ASSERT_FALSE(found.fixes.empty()) << found.none_because;
  for (const auto& fix : found.fixes) EXPECT_THAT(fix.arguments, ::testing::Not(::testing::Contains("--attn-cp-size")));
  for (const char* beside : {"", " --enable-dp-attention"}) {
    const FixSearch groups = search(
        v0_5(13),
        {.model = "deepseek-v2-lite-chat", .args = std::string("--device xpu --tp-size 2 --attn-dp-size 2") + beside});
    ASSERT_EQ(groups.fixes.size(), 1U) << groups.none_because;
    EXPECT_THAT(groups.fixes.front().arguments, ::testing::IsSupersetOf({"--dp-size", "--enable-dp-attention"}));
  }
  const FixSearch successor = search(v0_5(22), {.model = "qwen3.5-9b",
                                                .args = "--device xpu --tp-size 2 "
                                                        "--mamba-scheduler-strategy auto"});
  ASSERT_FALSE(successor.fixes.empty()) << successor.none_because;
  EXPECT_THAT(successor.fixes.front().arguments, ::testing::Contains("--mamba-radix-cache-strategy"));
}

// The way out in words is for people; what is tried comes from remedies.
TEST(FixSearch, ReadsNoAdviceBackFromItsWords) {
  const auto attempt = [](const fix::Attempt& tried) {
    EXPECT_EQ(std::ranges::count(tried.words, "77"), 0);
    fix::Trial trial;
    trial.errors = {Diagnostic{.rule = "XX001", .message = "it does not fit", .fix = "--page-size 77"}};
    return trial;
  };
  const FixSearch found = fix::find_fixes({v0_5(23), {"--model-path", "m"}, std::vector<SourceRange>(2), {}}, attempt);
  EXPECT_TRUE(found.fixes.empty());
}

TEST(FixSearch, SaysWhyThereIsNone) {
  // The option must be given and nothing tells its value.
  const FixSearch found = search(v0_5(23), {.model = "no-such-model", .args = "--device xpu"});
  EXPECT_TRUE(found.fixes.empty());
  EXPECT_FALSE(found.none_because.empty());
  EXPECT_LE(found.attempts, 260);
}

// Every error that a rule finds on its own example can be cured by arguments, or else what stays names no option: a
// checkpoint whose format has no kernel on these devices.
TEST(FixSearch, EveryErrorRuleHasAFixForItsExamples) {
  const Release release = v0_5(23);
  for (const Rule& r : all_rules()) {
    if (r.severity != Severity::kError || !r.holds_in(release) || r.id == "QN002") continue;
    if (r.id == "RF018") continue;  // what the model is called nobody but its owner knows
    for (const RuleExample& e : r.fires_on) {
      if (e.model.empty() || release < e.since || release >= e.until) continue;
      const FixSearch found = search(release, e);
      const bool options_cannot_help =
          !found.remaining.empty() && std::ranges::none_of(found.remaining, [](const Diagnostic& d) {
            return d.fix.find("--") != std::string::npos;
          });
      EXPECT_TRUE(!found.fixes.empty() || found.attempts == 0 || options_cannot_help)
          << r.id << ": " << e.model << " " << e.args << ": " << found.none_because << " (" << found.attempts << ")";
    }
  }
}

// As argparse takes them: of options that it has, with a sign of equality.
TEST(ArgumentGroups, ABlankMakesAWordOfAnOptionThatIsNone) {
  const std::vector<std::string> words = {"--tp=2 3", "--trust-remote-cod=a b", "--nonsense=2 3", "--tp 2"};
  const auto groups = fix::group_arguments(v0_5(23), words, {});
  EXPECT_EQ(fix::words_of(groups), words);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].values(), std::vector<std::string>{"2 3"});
  EXPECT_TRUE(groups[1].is_option());
  EXPECT_FALSE(groups[2].is_option());
  EXPECT_FALSE(groups[3].is_option());
}

TEST(ArgumentGroups, KeepEveryWordAsTyped) {
  const std::vector<std::string> words = {
      "--tp=2", "--cuda-graph-bs-decode", "1", "2", "stray", "--page-size", "-1", "--nonsense",
      "a",      "--trust-remote-code"};
  const auto groups = fix::group_arguments(v0_5(23), words, {});
  EXPECT_EQ(fix::words_of(groups), words);
  ASSERT_EQ(groups.size(), 5U);
  EXPECT_EQ(groups[0].values(), std::vector<std::string>{"2"});
  EXPECT_EQ(groups[1].words.size(), 4U);  // the option takes every value
  EXPECT_EQ(groups[2].values(), std::vector<std::string>{"-1"});
  EXPECT_EQ(groups[3].option, nullptr);
  EXPECT_EQ(fix::with_values(groups[0], "--tp", {"4"}), std::vector<std::string>{"--tp=4"});
}

}  // namespace
}  // namespace preflight
