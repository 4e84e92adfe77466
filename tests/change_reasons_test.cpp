// Why a step changed a value: which launch gets which reason, and which changes are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "preflight/rule.h"
#include "src/rules/change_reasons.h"
#include "tests/support/example_launch.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using rules::ChangeReason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Case {
  int patch;
  const char* model;
  const char* args;
  const char* device = "b60";
};

Launch launch_of(const Case& c) {
  return testing::launch_of(testing::newest_of(c.patch), c.model,
                            testing::split_words(std::string("--device xpu ") + c.args), testing::device_of(c.device),
                            {});
}

std::string why(const Launch& launch, Field field) {
  return rules::reasons_text(rules::changes_of(LaunchView(launch), field));
}

// A launch that gets the reason, and a near one that does not.
struct Row {
  Field field;
  const char* reason;
  Case gets;
  Case gets_not;
};

const Row kRows[] = {
    {Field::page_size,
     "takes pages of 64 or 128 tokens",
     {23, "qwen3-0.6b", "--attention-backend intel_xpu --page-size 32"},
     {23, "qwen3-0.6b", "--attention-backend intel_xpu --page-size 64"}},
    {Field::page_size,
     "takes pages of 64 or 128 tokens",
     {11, "qwen3-0.6b", "--attention-backend intel_xpu --page-size 32"},
     {11, "deepseek-v2-lite-chat", "--decode-attention-backend intel_xpu --page-size 1"}},
    {Field::page_size,
     "16, 32, 64 or 128 tokens for this model's MLA",
     {23, "deepseek-v2-lite-chat", "--attention-backend intel_xpu --page-size 1"},
     {23, "deepseek-v2-lite-chat", "--attention-backend intel_xpu --page-size 16"}},
    {Field::page_size,
     "(no_buffer) takes pages of 1 token",
     {11, "qwen3-next-80b-a3b", "--page-size 64 --tp-size 8"},
     {11, "qwen3-0.6b", "--page-size 64"}},
    {Field::page_size, "SGLang's default", {23, "qwen3-0.6b", ""}, {23, "qwen3-0.6b", "--attention-backend intel_xpu"}},
    {Field::page_size,
     "Sparse attention (DSA) on an Intel GPU works on pages of 128",
     {20, "deepseek-v3.2", "--tp-size 8"},
     {19, "deepseek-v3.2", "--tp-size 8"}},
    {Field::page_size,
     "cutlass_mla works on pages of 128",
     {11, "deepseek-v2-lite-chat", "--attention-backend cutlass_mla --page-size 32"},
     {11, "deepseek-v2-lite-chat", "--decode-attention-backend intel_xpu --page-size 1"}},
    {Field::attention_backend,
     "needs XMX units",
     {23, "qwen3-0.6b", "--attention-backend intel_xpu", "a770"},
     {23, "qwen3-0.6b", "--attention-backend intel_xpu"}},
    {Field::attention_backend,
     "needs XMX units",
     {11, "qwen3-0.6b", "--attention-backend intel_xpu", "a770"},
     {11, "qwen3-0.6b", "", "a770"}},
    {Field::attention_backend,
     "Prefill and decode name the same backend",
     {11, "qwen3-0.6b", "--prefill-attention-backend intel_xpu --decode-attention-backend intel_xpu"},
     {11, "qwen3-0.6b", "--decode-attention-backend intel_xpu"}},
    {Field::attention_backend,
     "triton is the default where FlashInfer is not installed",
     {14, "qwen3-0.6b", ""},
     {14, "llama-4-scout-17b-16e", "--tp-size 4"}},
    {Field::attention_backend,
     "default for Llama 4 on an Intel GPU",
     {14, "llama-4-scout-17b-16e", "--tp-size 4"},
     {14, "gpt-oss-20b", ""}},
    {Field::attention_backend, "default for gpt-oss", {20, "gpt-oss-20b", ""}, {20, "qwen3-0.6b", ""}},
    {Field::attention_backend, "default for Gemma 4", {20, "gemma-4-26b-a4b-it", ""}, {20, "gemma-2-9b-it", ""}},
    {Field::attention_backend,
     "Deterministic inference takes fa3",
     {23, "qwen3-0.6b", "--enable-deterministic-inference"},
     {23, "qwen3-0.6b", ""}},
    {Field::attention_backend,
     "fa3 reads an FP8 cache",
     {14, "qwen3-0.6b", "--attention-backend fa3 --kv-cache-dtype fp8_e5m2"},
     {14, "qwen3-0.6b", "--attention-backend fa3"}},
    {Field::enable_dp_attention,
     "--dp-size is 1",
     {13, "qwen3-0.6b", "--enable-dp-attention"},
     {13, "qwen3-0.6b", "--enable-dp-attention --dp-size 2 --tp-size 2"}},
    {Field::enable_dp_attention,
     "--dp-size is 1",
     {23, "qwen3-0.6b", "--enable-dp-attention"},
     {23, "qwen3-0.6b", "--enable-dp-attention --dp-size 2 --tp-size 2"}},
    {Field::dp_size,
     "--attn-dp-size counts them",
     {22, "qwen3-0.6b", "--enable-dp-attention --dp-size 2 --tp-size 2"},
     {21, "qwen3-0.6b", "--enable-dp-attention --dp-size 2 --tp-size 2"}},
    {Field::enable_dp_lm_head,
     "--dp-size is 1, so there are no attention groups",
     {21, "qwen3-0.6b", "--enable-dp-attention --enable-dp-lm-head"},
     {22, "qwen3-0.6b", "--enable-dp-attention --enable-dp-lm-head"}},
    {Field::enable_dp_lm_head,
     "--dp-size and --attn-dp-size are 1",
     {22, "qwen3-0.6b", "--enable-dp-attention --enable-dp-lm-head"},
     {21, "qwen3-0.6b", "--enable-dp-attention --enable-dp-lm-head"}},
    {Field::dp_size,
     "--dwdp-size counts the attention groups",
     {21, "qwen3-30b-a3b", "--dwdp-size 2 --tp-size 2"},
     {22, "qwen3-30b-a3b", "--dwdp-size 2 --tp-size 2 --dp-size 2"}},
    {Field::dp_size,
     "counts attention groups, not replicas",
     {22, "qwen3-30b-a3b", "--dwdp-size 2 --tp-size 2 --dp-size 2"},
     {21, "qwen3-30b-a3b", "--dwdp-size 2 --tp-size 2"}},
    {Field::chunked_prefill_size,
     "divides the prefill chunk",
     {23, "qwen3-0.6b", "--attn-dp-size 2 --tp-size 2 --chunked-prefill-size 4096"},
     {23, "qwen3-0.6b", "--tp-size 2 --chunked-prefill-size 4096"}},
    {Field::chunked_prefill_size, "2048 tokens below 20 GiB", {20, "qwen3-0.6b", ""}, {19, "qwen3-0.6b", ""}},
    {Field::chunked_prefill_size, "2048 tokens below 35 GiB", {19, "qwen3-0.6b", ""}, {20, "qwen3-0.6b", ""}},
    {Field::disable_overlap_schedule,
     "(no_buffer) excludes the overlap schedule",
     {23, "qwen3.5-9b", ""},
     {23, "qwen3.5-9b", "--disable-radix-cache"}},
    {Field::disable_overlap_schedule,
     "Pipeline parallelism excludes",
     {23, "qwen3-0.6b", "--pp-size 2"},
     {23, "qwen3-0.6b", "--tp-size 2"}},
    {Field::disable_overlap_schedule,
     "A tree of drafts",
     {12, "llama-3.1-8b-instruct",
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
      "--speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8 --page-size 1"},
     {12, "llama-3.1-8b-instruct", ""}},
    {Field::disable_radix_cache,
     "A decode server receives",
     {13, "qwen3-0.6b", "--disaggregation-mode decode"},
     {13, "qwen3-0.6b", "--disaggregation-mode prefill"}},
    {Field::speculative_num_draft_tokens,
     "No sizes were given",
     {20, "llama-3.1-8b-instruct",
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3"},
     {20, "llama-3.1-8b-instruct",
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
      "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 8"}},
    {Field::speculative_num_draft_tokens,
     "one token more than it has steps",
     {20, "llama-3.1-8b-instruct",
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
      "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 8"},
     {20, "llama-3.1-8b-instruct",
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3"}},
    {Field::speculative_adaptive,
     "needs --speculative-eagle-topk 1",
     {20, "llama-3.1-8b-instruct",
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
      "--speculative-num-steps 3 --speculative-eagle-topk 2 --speculative-num-draft-tokens 4 --speculative-adaptive"},
     {20, "llama-3.1-8b-instruct", "--speculative-adaptive"}},
    {Field::speculative_adaptive,
     "works with EAGLE and EAGLE3 only",
     {23, "llama-3.1-8b-instruct", "--speculative-algorithm NGRAM --page-size 1 --speculative-adaptive"},
     {23, "llama-3.1-8b-instruct",
      "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/llama-3.1-8b-eagle3 "
      "--speculative-num-steps 3 --speculative-eagle-topk 2 --speculative-num-draft-tokens 4 --speculative-adaptive"}},
    {Field::device, "The card's number is cut off", {23, "qwen3-0.6b", "--device xpu:1"}, {23, "qwen3-0.6b", ""}},
    {Field::load_format,
     "need its address and port",
     {23, "qwen3-0.6b", "--load-format remote_instance"},
     {23, "qwen3-0.6b",
      "--load-format remote_instance --remote-instance-weight-loader-seed-instance-ip 10.0.0.1 "
      "--remote-instance-weight-loader-seed-instance-service-port 80"}},
    {Field::cuda_graph_max_bs,
     "The largest size of --cuda-graph-bs",
     {12, "qwen3-0.6b", "--cuda-graph-bs 1 16 --cuda-graph-max-bs 4"},
     {12, "qwen3-0.6b", ""}},
};

std::string told(const Case& c) {
  return "0.5." + std::to_string(c.patch) + " " + c.model + " " + c.args + " on " + c.device;
}

TEST(ChangeReasons, EachIsOfTheLaunchThatMeetsItsCondition) {
  for (const Row& row : kRows) {
    const std::string reason = why(launch_of(row.gets), row.field);
    EXPECT_THAT(reason, HasSubstr(row.reason)) << told(row.gets);
    EXPECT_THAT(why(launch_of(row.gets_not), row.field), Not(HasSubstr(row.reason))) << told(row.gets_not);
  }
}

TEST(ChangeReasons, AWayOfSeveralStepsGivesEachOfThem) {
  const Launch launch =
      launch_of({11, "qwen3-next-80b-a3b", "--attention-backend intel_xpu --page-size 16 --tp-size 8"});
  EXPECT_THAT(why(launch, Field::page_size), ::testing::ContainsRegex("pages of 1 token only. Then: intel_xpu takes"));
}

// No step of these launches is without its reason, whatever field it sets.
TEST(ChangeReasons, EveryStepOfUsualLaunchesHasOne) {
  const std::pair<const char*, const char*> launches[] = {
      {"qwen3-0.6b", ""},
      {"qwen3-0.6b", "--attention-backend intel_xpu --page-size 32"},
      {"qwen3-0.6b", "--enable-deterministic-inference --attention-backend triton --tp-size 2"},
      {"qwen3-0.6b", "--disaggregation-mode decode --quantization unquant"},
      {"deepseek-v2-lite-chat", "--attention-backend intel_xpu --tp-size 2 --dp-size 2 --enable-dp-attention"},
      {"deepseek-v3.2", "--tp-size 8"},
      {"qwen3.5-9b", ""},
      {"qwen3-next-80b-a3b", "--tp-size 4 --disable-radix-cache"},
      {"llama-4-scout-17b-16e", "--tp-size 4"},
      {"gpt-oss-20b", "--attention-backend triton"},
      {"gemma-3-27b-it", "--pp-size 2"},
      {"gemma-4-26b-a4b-it", ""},
      {"qwen3-vl-8b-instruct", "--device cpu"},
      {"qwen3-30b-a3b", "--moe-a2a-backend deepep --tp-size 2"},
      {"llama-3.1-8b-instruct",
       "--speculative-algorithm NEXTN --speculative-draft-model-path {models}/llama-3.1-8b-eagle"}};
  for (const Release release : supported_releases()) {
    for (const auto& [model, args] : launches) {
      const Launch launch = testing::launch_of(
          release, model, testing::split_words(std::string("--device xpu ") + args), testing::device_of("b60x8"), {});
      for (const Field field : fields_of(release)) {
        if (field_name(field).starts_with('_')) continue;  // SGLang's notes to itself
        for (const auto& change : rules::changes_of(LaunchView(launch), field)) {
          EXPECT_FALSE(change.reason.empty())
              << release.text() << " " << model << " " << args << ": " << field_name(field) << " by " << change.step;
        }
      }
    }
  }
}

// A finding says the reason, and not what the rule says of all launches.
TEST(ChangeReasons, FindingsGiveThem) {
  for (const Release release : supported_releases()) {
    const Launch launch = testing::launch_of(
        release, "qwen3-0.6b", testing::split_words("--device xpu --attention-backend intel_xpu --page-size 32"),
        testing::device_of("b60"), {});
    const CheckResult result = check(launch);
    const auto at = std::find_if(result.diagnostics.begin(), result.diagnostics.end(),
                                 [](const Diagnostic& d) { return d.rule == "CH001"; });
    ASSERT_NE(at, result.diagnostics.end()) << release.text();
    EXPECT_EQ(at->why, "intel_xpu takes pages of 64 or 128 tokens; any other page size, or none, becomes 128.");
  }
}

// The option's own field keeps what was given: what it ends with is a part of another.
TEST(ChangeReasons, AGraphBackendThatIsTakenBackIsAChange) {
  const auto told = [](const char* arguments) {
    const Launch launch =
        testing::launch_of(v0_5(23), "qwen3-0.6b", testing::split_words(arguments), testing::device_of("b60"), {});
    std::string text;
    for (const Diagnostic& d : check(launch).diagnostics) {
      if (d.rule == "CH001") text += d.message + "; " + d.fix;
    }
    return text;
  };
  EXPECT_EQ(told("--device xpu --cuda-graph-backend-decode breakable"),
            "--cuda-graph-backend-decode: breakable -> disabled (_handle_xpu_backends); "
            "--cuda-graph-backend-decode disabled, or drop --cuda-graph-backend-decode");
  EXPECT_EQ(told("--device xpu --cuda-graph-backend-decode full --cuda-graph-backend-prefill disabled"), "");
  EXPECT_EQ(told("--device xpu --cuda-graph-backend-decode disabled"), "");
}

// ---- values that mean the same ----

struct Meaning {
  Field field;
  const char* given;
  bool same;
  int patch = 23;
};

constexpr const char* kEagle = "--speculative-draft-model-path {models}/llama-3.1-8b-eagle ";

const Meaning kMeanings[] = {
    {Field::speculative_algorithm, "--speculative-algorithm NEXTN", true},
    {Field::speculative_algorithm, "--speculative-algorithm eagle", true},
    {Field::device, "--device xpu:0", true},
    {Field::device, "--device xpu:1", false},
    {Field::load_balance_method, "--load-balance-method auto", true},
    {Field::mamba_scheduler_strategy, "--mamba-scheduler-strategy auto", true, 13},
    {Field::tool_call_parser, "--tool-call-parser qwen25", true},
    {Field::tool_call_parser, "--tool-call-parser glm45", true},
    {Field::quantization, "--quantization unquant", true},
    {Field::attention_backend, "--attention-backend compressed", true},
    {Field::disaggregation_transfer_backend,
     "--disaggregation-mode prefill --disaggregation-transfer-backend mooncake_tcp", true},
    {Field::allowed_media_domains, "--allowed-media-domains b.example A.example", true},
    {Field::cuda_graph_config, R"(--cuda-graph-config '{"decode":{"backend":"disabled"}}')", true},
    {Field::cuda_graph_config, R"(--cuda-graph-config '{"decode":{"backend":"breakable"}}')", false},
    {Field::lora_paths, "--enable-lora --lora-paths a=/x --max-lora-rank 8 --lora-target-modules all", true},
    {Field::page_size, "--attention-backend intel_xpu --page-size 32", false},
    {Field::page_size, "--attention-backend intel_xpu --page-size 64", true},
    {Field::enable_dp_attention, "--enable-dp-attention --dp-size 2 --tp-size 2", true},
    {Field::enable_dp_attention, "--enable-dp-attention", false},
    {Field::pre_warm_nccl, "--pre-warm-nccl", false},
};

TEST(ChangeReasons, WhatMeansTheSameIsNoChange) {
  for (const Meaning& m : kMeanings) {
    std::string args = m.given;
    if (m.field == Field::speculative_algorithm) args = std::string(kEagle) + args;
    const Launch launch = testing::launch_of(v0_5(m.patch), "llama-3.1-8b-instruct", testing::split_words(args),
                                             testing::device_of("b60x4"), {});
    ASSERT_FALSE(launch.resolved.empty()) << m.given;
    EXPECT_EQ(!rules::same_meaning(LaunchView(launch), m.field).empty(), m.same) << m.given;
    const CheckResult result = check(launch);
    const bool told_of = std::any_of(result.diagnostics.begin(), result.diagnostics.end(),
                                     [&](const Diagnostic& d) { return d.rule == "CH001" && d.field == m.field; });
    EXPECT_EQ(told_of, !m.same) << m.given;
  }
}

// ---- the table ----

std::vector<ChangeReason> all_reasons() {
  std::vector<ChangeReason> all;
  for (const auto rows : {rules::attention_reasons(), rules::cache_reasons(), rules::model_reasons(),
                          rules::parallel_reasons(), rules::speculative_reasons(), rules::serving_reasons()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(ChangeReasons, AreShortSentences) {
  for (const ChangeReason& reason : all_reasons()) {
    EXPECT_TRUE(reason.text.ends_with('.')) << reason.text;
    EXPECT_LT(reason.text.size(), 190U) << reason.text;
    EXPECT_FALSE(reason.step.name.starts_with('_')) << reason.step.name;
    EXPECT_EQ(reason.text.find("  "), std::string_view::npos) << reason.text;
  }
}

// Methods whose parts have the rows, and a name that every declaration had once.
const std::set<std::string_view> kFoundByParts = {"handle_speculative_decoding", "validate_deepseek_v4_cp",
                                                  "apply_fields", "override"};

// Recorded launches know which step sets which field in which release; a step without a row gives no reason.
TEST(ChangeReasons, EveryRecordedStepHasOne) {
  std::set<std::pair<std::string, std::string>> known;
  for (const ChangeReason& reason : all_reasons()) {
    for (const std::string_view step : {reason.step.name, reason.step.earlier})
      known.emplace(step, field_name(reason.field));
  }
  std::ifstream file(testing::source_directory() + "/tests/data/recorded_steps.txt");
  int steps = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto space = line.rfind(' ');
    ++steps;
    const std::string step = line.substr(0, space);
    if (kFoundByParts.contains(step)) continue;
    EXPECT_TRUE(known.contains({step, line.substr(space + 1)})) << line;
  }
  EXPECT_GT(steps, 100);
}

// A row behind one of the same step and field that holds always is never told.
TEST(ChangeReasons, NoRowHidesAnother) {
  const auto all = all_reasons();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].holds != nullptr) continue;
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const bool hidden = all[j].field == all[i].field && all[j].step.name == all[i].step.name;
      EXPECT_FALSE(hidden) << all[i].step.name << ": " << all[j].text;
    }
  }
}

}  // namespace
}  // namespace preflight
