// `explain` of rules, fields, options, vLLM's names, and of one field in one launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "preflight/rule.h"
#include "src/rules/field_notes.h"
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
      {{"explain", "--color", "never", "--page-size"}, "a whole number"},
      {{"explain", "attention-backend"}, "intel_xpu"},
      {{"explain", "attention-backend"}, "not in 0.5.23: cutlass_mla"},
      {{"explain", "kv-cache-dtype"}, "fp4_mx_block16 (since 0.5.16)"},
      {{"explain", "VI002"}, "--mm-attention-backend xpu_attn (since 0.5.13)"},
      {{"explain", "GR005"}, "--cuda-graph-backend-decode full (since 0.5.14)"},
      {{"explain", "--max-model-len"}, "--context-length"},
      {{"explain", "--enforce-eager"}, "drop it"},
      {{"explain", "DET-2"}, "BK001"},  // a reference that some findings of a rule carry
      {{"explain", "tensor_parallel_size"}, "--tp-size"},
      {{"explain", "gpu_memory_utilization"}, "SGLang calls it --mem-fraction-static"},
      {{"explain", "page_size"}, "Tokens per page of the KV cache"},
      {{"explain", "page_size", "--", "--model-path", "Qwen/Qwen3-0.6B", "--attention-backend", "intel_xpu",
        "--page-size", "32"},
       "32 (given) → 128 (_intel_xpu_page_constraint)"},
      {{"explain", "enable_dp_attention", "--sglang-version", "0.5.23", "--", "--model-path", "Qwen/Qwen3-8B", "--tp",
        "2", "--dp-size", "2", "--enable-dp-attention"},
       "→ True (derived)"},
      {{"explain", "page_size", "--", "--model-path", "Qwen/Qwen3-8B", "--speculative-algorithm", "EAGLE",
        "--speculative-draft-model-path", "foo/bar"},
       "nothing is known about the draft model foo/bar; values that depend"},
      {{"explain", "page_size", "--", "--model-path", "foo/bar"}, "nothing is known about the model foo/bar; values"},
      {{"explain", "page_size", "--", "--model-path", "Qwen/Qwen3-8B", "--page-size", "64",
        "--schedule-conservativeness", "-1"},
       "64 (given)\n  then    SGLang refuses the launch: "},
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

TEST(Explain, KnowsTheTileOfTheDecodeKernel) {
  const auto run = run_tool({"explain", "BV"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("at most 16"));
}

TEST(Explain, SaysWhatAnUnknownNameMayHaveMeant) {
  const ToolRun option = run_tool({"explain", "--page-szie"});
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.err, HasSubstr("--page-size"));
  const ToolRun rule = run_tool({"explain", "PG999"});
  EXPECT_EQ(rule.status, 2);
  EXPECT_THAT(rule.err, HasSubstr("PG001"));
}

// The fields that launches on Intel GPUs are tuned by, and those that the documentation of SGLang begins with.
// An operator pastes the one word that a driver said.
TEST(Explain, KnowsAWordThatIsAllOfAMessage) {
  EXPECT_THAT(run_tool({"explain", "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"}).out, HasSubstr("PL007 warning"));
  EXPECT_THAT(run_tool({"explain", "UR_RESULT_ERROR_UNKNOWN"}).out, HasSubstr("KI011 info"));
  for (const char* name : {"attention", "frobnicate", "tp-sizes"}) {
    const ToolRun run = run_tool({"explain", name});
    EXPECT_EQ(run.status, 2) << name;
    EXPECT_THAT(run.err, HasSubstr("is no rule, field or option")) << name;
  }
}

// What `check` tells with a launch's values is not said to lie behind what it looks at.
TEST(Explain, SaysWhichRefusalsCheckTells) {
  EXPECT_THAT(run_tool({"explain", "RuntimeError: Unknown diffusion LLM algorithm: mine"}).out, HasSubstr("RF001"));
  EXPECT_THAT(run_tool({"explain", "AssertionError: _init_unified_swa_pools called on a"}).out,
              HasSubstr("after the arguments were resolved"));
}

TEST(Explain, SaysWhatTheFieldsOfTuningAre) {
  for (const char* field : {"model_path",
                            "tokenizer_path",
                            "device",
                            "dtype",
                            "quantization",
                            "kv_cache_dtype",
                            "context_length",
                            "trust_remote_code",
                            "load_format",
                            "mem_fraction_static",
                            "max_total_tokens",
                            "max_running_requests",
                            "max_queued_requests",
                            "max_prefill_tokens",
                            "chunked_prefill_size",
                            "enable_mixed_chunk",
                            "page_size",
                            "attention_backend",
                            "prefill_attention_backend",
                            "decode_attention_backend",
                            "mm_attention_backend",
                            "linear_attn_backend",
                            "sampling_backend",
                            "grammar_backend",
                            "schedule_policy",
                            "schedule_conservativeness",
                            "disable_radix_cache",
                            "disable_overlap_schedule",
                            "enable_hierarchical_cache",
                            "hicache_ratio",
                            "hicache_size",
                            "tp_size",
                            "pp_size",
                            "dp_size",
                            "ep_size",
                            "attn_cp_size",
                            "dcp_size",
                            "enable_dp_attention",
                            "enable_dp_lm_head",
                            "moe_runner_backend",
                            "moe_a2a_backend",
                            "ep_num_redundant_experts",
                            "enable_eplb",
                            "nnodes",
                            "node_rank",
                            "dist_init_addr",
                            "base_gpu_id",
                            "disable_cuda_graph",
                            "cuda_graph_max_bs_decode",
                            "cuda_graph_bs_decode",
                            "cuda_graph_config",
                            "enable_torch_compile",
                            "speculative_algorithm",
                            "speculative_draft_model_path",
                            "speculative_num_steps",
                            "speculative_eagle_topk",
                            "speculative_num_draft_tokens",
                            "enable_lora",
                            "lora_paths",
                            "max_loras_per_batch",
                            "max_lora_rank",
                            "cpu_offload_gb",
                            "disaggregation_mode",
                            "disaggregation_transfer_backend",
                            "host",
                            "port",
                            "api_key",
                            "served_model_name",
                            "chat_template",
                            "tool_call_parser",
                            "reasoning_parser",
                            "random_seed",
                            "enable_metrics",
                            "watchdog_timeout",
                            "json_model_override_args",
                            "is_embedding",
                            "enable_multimodal",
                            "enable_deterministic_inference",
                            "mamba_full_memory_ratio",
                            "max_mamba_cache_size",
                            "swa_full_tokens_ratio"}) {
    EXPECT_FALSE(rules::field_note(field).empty()) << field;
  }
}

// What no supported release can show is not listed, and ranges are those of the supported releases.
TEST(Explain, RangesAreThoseOfTheSupportedReleases) {
  const std::string oldest = supported_releases().front().text();
  const ToolRun rules = run_tool({"rules", "--format", "json"});
  const auto rows = nlohmann::json::parse(rules.out);
  for (const auto& row : rows) {
    const auto since = parse_release(row["since"].get<std::string>());
    ASSERT_TRUE(since) << row;
    EXPECT_TRUE(is_supported(*since)) << row;
  }
  for (const Rule& rule : all_rules()) {
    bool checked = false;
    for (const Release r : supported_releases()) checked = checked || rule.holds_in(r);
    const bool listed = std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row["rule"] == rule.id; });
    EXPECT_EQ(listed, checked) << rule.id;
  }
  EXPECT_THAT(run_tool({"explain", "PL003"}).out, HasSubstr("all supported releases"));
  EXPECT_THAT(run_tool({"explain", "MD020"}).out, HasSubstr(" 0.5.15; not in 0.5.15.post1"));
}

}  // namespace
}  // namespace preflight::testing
