// What the releases make of values that are none of a variable's kind.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "preflight/rule.h"
#include "src/rules/environment_names.h"
#include "src/rules/environment_words.h"
#include "tests/support/example_launch.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using ::testing::HasSubstr;

// "RULE message | fix" of the two rules, "" where neither tells.
std::string told(int patch, const Environment& env, std::vector<std::string> args = {"--device", "xpu"},
                 const char* model = "qwen3-0.6b") {
  const Launch launch = testing::launch_of(testing::newest_of(patch), model, args, DeviceFacts{}, env);
  std::string out;
  for (const Diagnostic& d : check(launch).diagnostics) {
    if (d.rule == "EN004" || d.rule == "EN005") out += d.rule + " " + d.message + " | " + d.fix + "\n";
  }
  return out;
}

TEST(EnvironmentValues, AreReadByTheReaderOfTheirRelease) {
  using rules::value_reading;
  using rules::ValueKind;
  struct Row {
    int patch;
    const char* name;
    ValueKind kind;
    const char* fallback;
  };
  for (const Row& row : {
           Row{23, "SGLANG_LOG_GC", ValueKind::kBool, "False"},
           Row{23, "SGL_LOG_GC", ValueKind::kBool, "False"},
           Row{11, "SGLANG_RETRACT_DECODE_STEPS", ValueKind::kInt, "20"},
           Row{23, "SGLANG_MAX_KV_CHUNK_CAPACITY", ValueKind::kInt, "131072"},
           Row{23, "SGLANG_INVARIANT_CHECK", ValueKind::kInt, "0"},
           Row{23, "SGLANG_INIT_NEW_TOKEN_RATIO", ValueKind::kFloat, "0.7"},
           Row{23, "SGLANG_DP_USE_REDUCE_SCATTER", ValueKind::kBool, ""},
           Row{23, "SGLANG_DP_USE_GATHERV", ValueKind::kOne, "false"},
           Row{23, "SGLANG_USE_MODELSCOPE", ValueKind::kBoth, "False"},
           Row{23, "SGLANG_TRACE_LEVEL", ValueKind::kNumber, "3"},
           Row{23, "SGLANG_HEALTH_CHECK_TIMEOUT", ValueKind::kRaises, "20"},
           Row{11, "SGLANG_ENCODER_IMAGE_PROCESSOR_USE_GPU", ValueKind::kRaises, "0"},
           Row{14, "SGLANG_ENCODER_IMAGE_PROCESSOR_USE_GPU", ValueKind::kBool, "False"},
       }) {
    const auto how = value_reading(testing::newest_of(row.patch), row.name);
    ASSERT_TRUE(how) << row.name;
    EXPECT_EQ(how->kind, row.kind) << row.name;
    EXPECT_EQ(how->fallback, row.fallback) << row.name;
  }
  EXPECT_FALSE(value_reading(v0_5(23), "SGLANG_PLATFORM"));         // text
  EXPECT_FALSE(value_reading(v0_5(11), "SGLANG_INVARIANT_CHECK"));  // comes later
  EXPECT_FALSE(value_reading(v0_5(23), "SGLANG_NO_SUCH_NAME"));
}

TEST(EnvironmentValues, ThatAreNoneAreToldWithWhatTakesTheirPlace) {
  struct Row {
    Environment env;
    const char* words;
  };
  for (const Row& row : {
           Row{{{"SGLANG_LOG_GC", "on"}},
               "EN004 SGLANG_LOG_GC=on is no boolean: the default, False, is taken | SGLANG_LOG_GC=1 in the "
               "environment\n"},
           Row{{{"SGLANG_LOG_GC", "maybe"}},
               "EN004 SGLANG_LOG_GC=maybe is no boolean: the default, False, is taken | unset SGLANG_LOG_GC\n"},
           Row{{{"SGLANG_RETRACT_DECODE_STEPS", "1e2"}},
               "EN004 SGLANG_RETRACT_DECODE_STEPS=1e2 is no integer: the default, 20, is taken | "
               "SGLANG_RETRACT_DECODE_STEPS=100 in the environment\n"},
           Row{{{"SGLANG_INIT_NEW_TOKEN_RATIO", "70%"}},
               "EN004 SGLANG_INIT_NEW_TOKEN_RATIO=70% is no number: the default, 0.7, is taken | "
               "unset SGLANG_INIT_NEW_TOKEN_RATIO\n"},
           Row{{{"SGLANG_DP_USE_GATHERV", "yes"}},
               "EN004 SGLANG_DP_USE_GATHERV=yes counts as false: 1 or true is true | SGLANG_DP_USE_GATHERV=1 in the "
               "environment\n"},
           Row{{{"SGLANG_USE_MODELSCOPE", "Y"}},
               "EN004 SGLANG_USE_MODELSCOPE=Y counts as true in one place and as false in another | "
               "SGLANG_USE_MODELSCOPE=1 in the environment\n"},
           Row{{{"SGLANG_DETOKENIZER_MAX_STATES", "64k"}},
               "EN005 SGLANG_DETOKENIZER_MAX_STATES=64k is no integer (managers/detokenizer_manager.py) | "
               "unset SGLANG_DETOKENIZER_MAX_STATES\n"},
           Row{{{"SGLANG_LOG_GC", ""}, {"SGLANG_DP_USE_GATHERV", "off"}, {"SGLANG_RETRACT_DECODE_STEPS", " 1_0 "}}, ""},
           Row{{{"SGLANG_LOG_GC", "YES"}, {"SGLANG_INIT_NEW_TOKEN_RATIO", "1e-1"}, {"SGLANG_PLUGINS", "maybe"}}, ""},
       }) {
    EXPECT_EQ(told(23, row.env), row.words);
  }
}

TEST(EnvironmentValues, EndTheServerWhereTheReleaseReadsThemBare) {
  const auto ends = [](int patch, const char* name, const char* value, std::vector<std::string> more = {}) {
    std::vector<std::string> args{"--device", "xpu"};
    args.insert(args.end(), more.begin(), more.end());
    return told(patch, {{name, value}}, args).starts_with("EN005");
  };
  EXPECT_TRUE(ends(11, "SGLANG_QUEUED_TIMEOUT_MS", "5s"));
  EXPECT_FALSE(ends(11, "SGLANG_QUEUED_TIMEOUT_MS", "5.5"));
  EXPECT_TRUE(ends(20, "SGLANG_QUEUED_TIMEOUT_MS", "5s"));
  EXPECT_FALSE(ends(21, "SGLANG_QUEUED_TIMEOUT_MS", "5s"));
  EXPECT_TRUE(ends(11, "SGLANG_HEALTH_CHECK_TIMEOUT", ""));
  EXPECT_TRUE(ends(20, "SGLANG_FORWARD_TIMEOUT_MS", "5s"));
  EXPECT_FALSE(ends(21, "SGLANG_FORWARD_TIMEOUT_MS", "5s"));
  EXPECT_TRUE(ends(11, "SGLANG_FORWARD_TIMEOUT_MS", "5s"));
  EXPECT_TRUE(ends(11, "SGLANG_OPERATIONS_ENABLE_PROFILE", "true"));
  EXPECT_TRUE(ends(13, "SGLANG_OPERATIONS_ENABLE_PROFILE", "true"));
  EXPECT_FALSE(ends(14, "SGLANG_OPERATIONS_ENABLE_PROFILE", "true"));
  EXPECT_TRUE(ends(23, "SGLANG_HEALTH_CHECK_TIMEOUT", ""));
  EXPECT_FALSE(ends(23, "SGLANG_HEALTH_CHECK_TIMEOUT", "", {"--encoder-only"}));
  EXPECT_TRUE(ends(23, "SGLANG_DP_RANK", "zero"));
  EXPECT_FALSE(ends(23, "SGLANG_DP_RANK", "zero", {"--dp-size", "2"}));
  // Groups of data-parallel attention have a controller, too: a size of their own since 0.5.22.
  EXPECT_FALSE(ends(22, "SGLANG_DP_RANK", "zero", {"--tp-size", "2", "--attn-dp-size", "2"}));
  EXPECT_TRUE(ends(22, "SGLANG_DP_RANK", "zero", {"--tp-size", "2", "--attn-dp-size", "1"}));
  EXPECT_FALSE(ends(21, "SGLANG_DP_RANK", "zero", {"--tp-size", "2", "--dp-size", "2", "--enable-dp-attention"}));
}

TEST(EnvironmentValues, ThatAreNoneOfAVariablesWordsAreTold) {
  EXPECT_EQ(told(23, {{"SGLANG_MAMBA_SSM_DTYPE", "bf16"}}),
            "EN004 SGLANG_MAMBA_SSM_DTYPE=bf16 is none of float32, bfloat16, float16: the model's own type is taken, "
            "float32 where it names none | unset SGLANG_MAMBA_SSM_DTYPE\n");
  EXPECT_EQ(told(11, {{"SGLANG_MAMBA_CONV_DTYPE", "Float16"}}),
            "EN004 SGLANG_MAMBA_CONV_DTYPE=Float16 is none of float32, bfloat16, float16: bfloat16 is taken | "
            "SGLANG_MAMBA_CONV_DTYPE=float16 in the environment\n");
  EXPECT_EQ(told(23, {{"SGLANG_HUGEPAGE_SIZE", "2M"}}),
            "EN004 SGLANG_HUGEPAGE_SIZE=2M is none of 2MB, 1GB: pages of the usual size are taken | "
            "unset SGLANG_HUGEPAGE_SIZE\n");
  EXPECT_EQ(told(23, {{"SGLANG_HUGEPAGE_SIZE", " 2mb "}, {"SGLANG_MOONCAKE_CUSTOM_MEM_POOL", "TRUE"}}), "");
  EXPECT_EQ(told(18, {{"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND", "cpp"}}), "");
  EXPECT_EQ(told(19, {{"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND", "cpp"}}),
            "EN004 SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND=cpp is none of python, rust: ValueError unless an installed "
            "plugin registers it | unset SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND\n");
}

// Each list as it is told, and each of its words as one that is taken.
TEST(EnvironmentValues, WordsAreThoseOfTheSources) {
  const std::pair<const char*, std::vector<std::string>> rows[] = {
      {"SGLANG_MAMBA_CONV_DTYPE", {"float32", "bfloat16", "float16"}},
      {"SGLANG_MAMBA_SSM_DTYPE", {"float32", "bfloat16", "float16"}},
      {"SGLANG_MOONCAKE_CUSTOM_MEM_POOL", {"NVLINK", "BAREX", "INTRA_NODE_NVLINK", "true"}},
      {"SGLANG_RESIZE_RESAMPLE", {"NEAREST", "BOX", "BILINEAR", "HAMMING", "BICUBIC", "LANCZOS"}},
      {"SGLANG_HUGEPAGE_SIZE", {"2MB", "1GB"}},
      {"SGLANG_EXA_SEARCH_TYPE", {"instant", "fast", "auto", "deep-lite", "deep", "deep-reasoning"}},
      {"SGLANG_PREFILL_TILE_BUDGET_MODE", {"legacy", "compact"}},
      {"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND", {"python", "rust"}},
  };
  for (const auto& [name, words] : rows) {
    const std::string told = rules::word_not_taken(v0_5(23), name, "other");
    EXPECT_TRUE(told.starts_with(fmt::format("is none of {}: ", fmt::join(words, ", ")))) << name << ' ' << told;
    for (const std::string& word : words) EXPECT_EQ(rules::word_not_taken(v0_5(23), name, word), "") << word;
  }
  const auto ends = [](const char* name) { return told(23, {{name, "other"}}); };
  EXPECT_THAT(ends("SGLANG_ROLE_NAMESPACES"), HasSubstr("is none of off, record, enforce ("));
  EXPECT_THAT(ends("SGLANG_FORCE_FUSED_OP_BACKEND"),
              HasSubstr("is none of torch, torch_compile, triton, jit, aot, cute_dsl, flashinfer, deepgemm, aiter, "
                        "torch_npu, flydsl, KDA, helion, cake, plugin ("));
}

// What a boolean may be, and what people mean who write another word.
TEST(EnvironmentValues, WordsOfABooleanAndTheirNeighbours) {
  for (const char* word : {"true", "1", "yes", "y", "false", "0", "no", "n", "True", "N"})
    EXPECT_EQ(told(23, {{"SGLANG_LOG_GC", word}}), "") << word;
  for (const char* word : {"on", "t", "enable", "enabled", "ok"})
    EXPECT_THAT(told(23, {{"SGLANG_LOG_GC", word}}), HasSubstr("| SGLANG_LOG_GC=1 in the environment")) << word;
  for (const char* word : {"off", "f", "disable", "disabled", "none", "null"})
    EXPECT_THAT(told(23, {{"SGLANG_LOG_GC", word}}), HasSubstr("| SGLANG_LOG_GC=0 in the environment")) << word;
}

TEST(EnvironmentValues, WordsEndTheServerWhereTheLaunchReadsThem) {
  const auto ends = [](int patch, Environment env, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"--device", "xpu"};
    args.insert(args.end(), more.begin(), more.end());
    return told(patch, env, args).starts_with("EN005");
  };
  EXPECT_FALSE(ends(16, {{"SGLANG_ROLE_NAMESPACES", "audit"}}));
  EXPECT_TRUE(ends(17, {{"SGLANG_ROLE_NAMESPACES", "audit"}}));
  EXPECT_TRUE(ends(23, {{"SGLANG_ROLE_NAMESPACES", ""}}));
  EXPECT_FALSE(ends(23, {{"SGLANG_ROLE_NAMESPACES", " Record"}}));
  EXPECT_FALSE(ends(17, {{"SGLANG_FORCE_FUSED_OP_BACKEND", "xpu"}}));
  EXPECT_TRUE(ends(18, {{"SGLANG_FORCE_FUSED_OP_BACKEND", "xpu"}}));
  EXPECT_TRUE(ends(22, {{"SGLANG_FORCE_FUSED_OP_BACKEND", "helion"}}));
  EXPECT_FALSE(ends(23, {{"SGLANG_FORCE_FUSED_OP_BACKEND", "helion"}}));
  EXPECT_FALSE(ends(23, {{"SGLANG_ENCODER_MM_RECEIVER_MODE", "GRPC"}}));
  EXPECT_TRUE(ends(23, {{"SGLANG_LOG_SCHEDULER_STATUS_TARGET", "stdout"}}));
  EXPECT_FALSE(ends(23, {{"SGLANG_LOG_SCHEDULER_STATUS_TARGET", "stdout"}}, {"--enable-metrics"}));
  const std::vector<std::string> prefill{"--disaggregation-mode", "prefill", "--disaggregation-transfer-backend",
                                         "nixl"};
  EXPECT_TRUE(ends(23, {{"SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS", R"({"num_threads": 4})"}}, prefill));
  EXPECT_TRUE(ends(23, {{"SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS", "num_threads=4"}}, prefill));
  EXPECT_FALSE(ends(23, {{"SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS", R"({"num_threads": "4"})"}}, prefill));
  EXPECT_FALSE(ends(23, {{"SGLANG_DISAGGREGATION_NIXL_BACKEND_PARAMS", "num_threads=4"}}));
  EXPECT_FALSE(ends(23, {{"SGLANG_SIMULATE_ACC_METHOD", "mean"}, {"SGLANG_SIMULATE_ACC_LEN", "2"}}));
}

// The first release that reads a variable's words, by the sources of the releases.
TEST(EnvironmentValues, WordsCountFromTheReleaseThatReadsThem) {
  struct Row {
    const char* name;
    int first;
  };
  for (const Row& row :
       {Row{"SGLANG_HUGEPAGE_SIZE", 13}, Row{"SGLANG_EXA_SEARCH_TYPE", 15}, Row{"SGLANG_PREFILL_TILE_BUDGET_MODE", 18},
        Row{"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND", 19}}) {
    EXPECT_EQ(rules::word_not_taken(testing::newest_of(row.first - 1), row.name, "other"), "") << row.name;
    EXPECT_NE(rules::word_not_taken(v0_5(row.first), row.name, "other"), "") << row.name;
  }
  for (const char* name : {"SGLANG_MAMBA_CONV_DTYPE", "SGLANG_MAMBA_SSM_DTYPE", "SGLANG_MOONCAKE_CUSTOM_MEM_POOL",
                           "SGLANG_RESIZE_RESAMPLE"})
    EXPECT_NE(rules::word_not_taken(v0_5(11), name, "other"), "") << name;
}

TEST(EnvironmentValues, BackendsOfFusedOperationsAreThoseOfTheRelease) {
  struct Row {
    const char* word;
    int first;  // that knows it
  };
  for (const Row& row : {Row{"flydsl", 19}, Row{"KDA", 20}, Row{"helion", 23}, Row{"cake", 23}}) {
    const Environment env{{"SGLANG_FORCE_FUSED_OP_BACKEND", row.word}};
    EXPECT_NE(told(row.first - 1, env), "") << row.word;
    EXPECT_EQ(told(row.first, env), "") << row.word;
  }
}

TEST(EnvironmentValues, WordsNameTheFileThatReadsThem) {
  const std::vector<std::string> apart{"--device", "xpu", "--language-only", "--encoder-urls",
                                       "http://127.0.0.1:30001"};
  const auto receiver = [&](int patch) {
    return told(patch, {{"SGLANG_ENCODER_MM_RECEIVER_MODE", "zmq"}}, apart, "qwen3-vl-8b-instruct");
  };
  EXPECT_THAT(receiver(11), HasSubstr("(disaggregation/encode_receiver.py)"));
  EXPECT_THAT(receiver(18), HasSubstr("(disaggregation/encode_receiver.py)"));
  EXPECT_THAT(receiver(19), HasSubstr("(disaggregation/encoder/receiver.py)"));
  const std::vector<std::string> drafts{"--device",
                                        "xpu",
                                        "--speculative-algorithm",
                                        "EAGLE3",
                                        "--speculative-draft-model-path",
                                        "{models}/llama-3.1-8b-eagle3"};
  const auto simulated = [&](int patch, const char* name) {
    return told(patch, {{name, "other"}, {"SGLANG_SIMULATE_ACC_LEN", "2"}}, drafts, "llama-3.1-8b-instruct");
  };
  EXPECT_EQ(simulated(14, "SGLANG_SIMULATE_ACC_TOKEN_MODE"), "");
  EXPECT_THAT(simulated(15, "SGLANG_SIMULATE_ACC_TOKEN_MODE"), HasSubstr("(speculative/eagle_utils.py)"));
  EXPECT_THAT(simulated(11, "SGLANG_SIMULATE_ACC_METHOD"), HasSubstr("(speculative/spec_utils.py)"));
}

}  // namespace
}  // namespace preflight
