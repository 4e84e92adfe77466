// Where neighbouring releases decide differently: the same launch on both sides of a change. Facts from the releases'
// own outcomes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/example_launch.h"
#include "tests/support/release_ranges.h"

namespace preflight {
namespace {

using testing::launch_of;
using testing::outcome_text;

Launch launched(int patch, std::string_view model, std::string_view args) {
  return launch_of(testing::newest_of(patch), model, testing::split_words(args), testing::device_of("b60x8"));
}

// Recorded with numbers that no server has: Python's integers have no limit.
TEST(LongIntegers, GoThroughResolutionExactly) {
  const struct {
    std::string_view args;
    Field field;
    std::string_view expected;
  } rows[] = {
      {"--port 99999999999999999999", Field::port, "99999999999999999999"},
      {"--speculative-algorithm NGRAM --speculative-num-draft-tokens 10000000000000000000000000",
       Field::speculative_num_steps, "1000000000000000000000000"},
      {"--max-total-tokens -99999999999999999999", Field::max_total_tokens, "-99999999999999999999"},
      {"--chunked-prefill-size 1000000000000000000000000000000 --cuda-graph-max-bs-prefill 8 --page-size 64",
       Field::mem_fraction_static, "-6.127450980392158e+25"},
      {"--tp 18446744073709551616 --attn-dp-size 2", Field::tp_size, "18446744073709551616"},
  };
  for (const auto& row : rows) {
    const Launch launch = launched(23, "qwen3-8b", row.args);
    ASSERT_TRUE(launch.accepted()) << row.args << ": " << outcome_text(launch);
    EXPECT_EQ(launch[row.field].repr(), row.expected) << row.args;
  }
  const std::pair<std::string_view, std::string_view> refused[] = {
      {"--cuda-graph-max-bs-decode 9223372036854775808", "MemoryError"},
      {"--cuda-graph-max-bs-decode 1000000000000000000000000000000", "OverflowError"},
      {"--cuda-graph-prefill-max-context 9223372036854775808", "ValueError"},
  };
  for (const auto& [args, exception] : refused) {
    const Launch launch = launched(23, "qwen3-8b", args);
    ASSERT_TRUE(launch.refusal.has_value()) << args;
    EXPECT_EQ(launch.refusal->exception, exception) << args;
  }
}

TEST(NeighbourReleases, SetFieldsDifferently) {
  const struct {
    int patch;
    std::string_view model, args;
    Field field;
    Value expected;
  } rows[] = {
      // several tokenizer workers serve tokens given as numbers since 0.5.16
      {15, "qwen3-8b", "--skip-tokenizer-init --tokenizer-worker-num 2", Field::tokenizer_worker_num, 1},
      {16, "qwen3-8b", "--skip-tokenizer-init --tokenizer-worker-num 2", Field::tokenizer_worker_num, 2},
      // XPU keeps memory for oneDNN, and mid-size devices get larger chunks, since 0.5.20
      {19, "qwen3-8b", "", Field::chunked_prefill_size, 2048},
      {20, "qwen3-8b", "", Field::chunked_prefill_size, 4096},
      {19, "qwen3-8b", "--chunked-prefill-size 2048", Field::mem_fraction_static, 0.848},
      {20, "qwen3-8b", "--chunked-prefill-size 2048", Field::mem_fraction_static, 0.765},
      // pages of sparse attention, and the second state buffer of hybrid models, which XPU has no kernels for
      {19, "deepseek-v3.2", "", Field::page_size, 1},
      {20, "deepseek-v3.2", "", Field::page_size, 128},
      {19, "nvidia-nemotron-3-nano-30b-a3b-bf16", "", Field::mamba_radix_cache_strategy, "extra_buffer"},
      {20, "nvidia-nemotron-3-nano-30b-a3b-bf16", "", Field::mamba_radix_cache_strategy, "no_buffer"},
      // 0.5.19 keeps the older options of prefill context parallelism in step with the new ones
      {19, "qwen3-8b", "--enable-prefill-context-parallel", Field::cp_strategy, "zigzag"},
      // XPU has its own sampler since 0.5.21
      {20, "qwen3-8b", "", Field::sampling_backend, "pytorch"},
      {21, "qwen3-8b", "", Field::sampling_backend, "intel_xpu"},
      // attention groups: --dp-size counts them until they get an option of their own
      {21, "qwen3-8b", "--tp 4 --dp 4 --enable-dp-attention", Field::dp_size, 4},
      {21, "qwen3-8b", "--tp 4 --dp 4 --enable-dp-attention", Field::enable_dp_attention, true},
      {22, "qwen3-8b", "--tp 4 --dp 4 --enable-dp-attention", Field::dp_size, 1},
      {22, "qwen3-8b", "--tp 4 --dp 4 --enable-dp-attention", Field::attn_dp_size, 4},
      // sparse attention names its top-k kernel itself up to 0.5.21
      {21, "deepseek-v3.2", "", Field::dsa_topk_backend, "torch"},
      {22, "deepseek-v3.2", "", Field::dsa_topk_backend, "sgl-kernel"},
      // the old name of cutedsl_mla
      {23, "qwen3-8b", "--prefill-attention-backend tokenspeed_mla", Field::prefill_attention_backend, "trtllm_mla"},
      {22, "qwen3-8b", "--prefill-attention-backend tokenspeed_mla", Field::prefill_attention_backend,
       "tokenspeed_mla"},
      {22, "qwen3-8b", "", Field::enable_fused_qk_norm_rope, false},
      {23, "qwen3-8b", "", Field::enable_fused_qk_norm_rope, true},
  };
  for (const auto& row : rows) {
    const Launch launch = launched(row.patch, row.model, row.args);
    ASSERT_TRUE(launch.accepted()) << row.patch << " " << row.args << ": " << outcome_text(launch);
    EXPECT_EQ(launch[row.field], row.expected) << row.patch << " " << row.model << " " << row.args;
  }
}

TEST(NeighbourReleases, CaptureOtherPrefillGraphsOfMlaModels) {
  for (const auto& [patch, most] : {std::pair{22, 2048}, std::pair{23, 4096}}) {
    const Launch launch = launched(patch, "deepseek-v2-lite-chat", "");
    ASSERT_TRUE(launch.accepted()) << outcome_text(launch);
    const Value* prefill = launch[Field::cuda_graph_config].find("prefill");
    ASSERT_NE(prefill, nullptr);
    EXPECT_EQ(*prefill->find("max_bs"), Value(most)) << patch;
  }
}

TEST(NeighbourReleases, LimitPrefillGraphsToAGivenContextUpTo16) {
  for (const auto& [patch, most] : {std::pair{16, 1024}, std::pair{17, 2048}}) {
    const Launch launch = launched(patch, "qwen3-8b", "--context-length 1024");
    ASSERT_TRUE(launch.accepted()) << outcome_text(launch);
    const Value* prefill = launch[Field::cuda_graph_config].find("prefill");
    ASSERT_NE(prefill, nullptr);
    EXPECT_EQ(*prefill->find("max_bs"), Value(most)) << patch;
  }
}

// A threshold given by hand is left as it is, under the name that the release reads.
TEST(NeighbourReleases, ReadTheDenseThresholdUnderItsNameThen) {
  constexpr const char* kNames[] = {"SGLANG_NSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD",
                                    "SGLANG_DSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD"};
  for (const int patch : {12, 13}) {
    const std::string read = kNames[patch - 12];
    const std::string other = kNames[13 - patch];
    const auto warns_when_set = [&](const std::string& name) {
      const Launch launch = launch_of(testing::newest_of(patch), "deepseek-v3.2", {"--trust-remote-code"},
                                      testing::device_of("b60x8"), {{name, "7"}});
      return std::any_of(launch.log.begin(), launch.log.end(),
                         [&](const LogLine& line) { return line.message.starts_with(name + " is set by hand"); });
    };
    EXPECT_TRUE(warns_when_set(read)) << patch;
    EXPECT_FALSE(warns_when_set(other)) << patch;
  }
}

TEST(NeighbourReleases, RefuseDifferently) {
  const struct {
    int patch;
    std::string_view model, args, refused_by;  // "": accepted
  } rows[] = {
      // the second state buffer of hybrid models: chosen for XPU and refused there, up to 0.5.17
      {15, "kimi-linear-48b-a3b-instruct", "", ""},
      {16, "kimi-linear-48b-a3b-instruct", "", "_validate_mamba_extra_buffer"},
      {17, "nvidia-nemotron-3-nano-30b-a3b-bf16", "", "_validate_mamba_extra_buffer"},
      {18, "nvidia-nemotron-3-nano-30b-a3b-bf16", "", ""},
      {18, "nvidia-nemotron-3-nano-30b-a3b-bf16", "--attention-backend triton", "_handle_model_specific_adjustments"},
      {19, "nvidia-nemotron-3-nano-30b-a3b-bf16", "--attention-backend triton", ""},
      // devices by GPU came with 0.5.13; before, the text is a device's name
      {12, "qwen3-8b", "{ib} '{x'", ""},
      {13, "qwen3-8b", "{ib} '{x'", "parse_ib_device_config"},
      {12, "qwen3-8b", "{ib} no-such.json", ""},
      {13, "qwen3-8b", "{ib} no-such.json", "parse_ib_device_config"},
      {12, "qwen3-8b", "{ib} ,", "_validate_ib_devices"},
      {13, "qwen3-8b", "{ib} ,", "_normalize_device_group"},
      {16, "qwen3-8b", "--tp 4 --dcp-size 2", "_handle_dcp_validation"},
      {17, "qwen3-8b", "--tp 4 --dcp-size 2", ""},
      {20, "qwen3-8b", "--speculative-algorithm NGRAM", "_handle_ngram"},
      {21, "qwen3-8b", "--speculative-algorithm NGRAM", ""},
      {20, "qwen3-30b-a3b", "--tp 4 --moe-a2a-backend megamoe", ""},
      {21, "qwen3-30b-a3b", "--tp 4 --moe-a2a-backend megamoe", "check_mega_moe_compat"},
      {20, "qwen3-8b", "--mamba-radix-cache-strategy extra_buffer", ""},
      {21, "qwen3-8b", "--mamba-radix-cache-strategy extra_buffer", "handle_mamba_radix_cache"},
      {21, "qwen3-8b", "--tp 4 --dcp-size 2 --attention-backend triton", ""},
      {22, "qwen3-8b", "--tp 4 --dcp-size 2 --attention-backend triton", "_check_xpu_dcp"},
      {22, "qwen3-8b", "--decode-attention-backend tokenspeed_mla", "_mla_kv_cache_dtype_checks"},
      {23, "qwen3-8b", "--decode-attention-backend tokenspeed_mla", "_cutedsl_prefill_backend_fill"},
      {21, "minicpm3-4b", "", "parse"},
      {22, "minicpm3-4b", "", ""},
      {20, "qwen3-8b", "--model-config-parser none", "get_model_config_parser"},
      {23, "qwen3-8b", "--model-config-parser none", "get_model_config_parser"},
  };
  for (const auto& row : rows) {
    std::string args(row.args);
    if (args.starts_with("{ib}"))
      args.replace(
          0, 4, "--disaggregation-mode prefill --disaggregation-transfer-backend mooncake --disaggregation-ib-device");
    const Launch launch = launched(row.patch, row.model, args);
    const std::string function = launch.refusal ? launch.refusal->function : "";
    EXPECT_EQ(function, row.refused_by) << row.patch << " " << row.args << ": " << outcome_text(launch);
  }
}

}  // namespace
}  // namespace preflight
