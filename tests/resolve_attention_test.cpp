// Attention backends, page sizes, deterministic inference and linear attention. The expected values were read from the
// releases themselves.
#include <gtest/gtest.h>

#include "src/facts/kinds.h"
#include "src/resolve/attention/attention.h"
#include "src/resolve/graphs/cuda_graph.h"
#include "src/resolve/models/model_questions.h"
#include "src/resolve/core/platform.h"
#include "src/resolve/core/queries.h"
#include "tests/support/step_run.h"

namespace preflight::resolve {
namespace {

using testing::dense_model;
using testing::mla_model;
using testing::StepRun;
using Fields = StepRun::Fields;

constexpr Release k13 = v0_5(13, 1);
constexpr Release k23 = v0_5(23);

void prepare_graphs(Resolution& r) {
  if (r.since(v0_5(14))) handle_cuda_graph_config(r);
}

StepRun settle_backends(Release release, const Fields& given, ModelFacts model = dense_model(), bool has_fp64 = true) {
  StepRun run(release, given, std::move(model));
  run.launch.device.has_fp64 = has_fp64;
  run.run({prepare_graphs, handle_attention_backend_compatibility});
  return run;
}

TEST(AttentionBackend, ExtraBuffersAreNoneWithoutARadixCache) {
  const auto extra = [](const char* strategy, bool cached) {
    StepRun run(v0_5(14), {{Field::mamba_radix_cache_strategy, strategy}, {Field::disable_radix_cache, !cached}});
    return !run.run({+[](Resolution& r) {
      if (mamba_extra_buffer(r)) r.refuse(RF::kOther, "ValueError", "told", "");
    }});
  };
  EXPECT_TRUE(extra("extra_buffer", true));
  EXPECT_TRUE(extra("extra_buffer_lazy", true));
  EXPECT_FALSE(extra("no_buffer", true));
  EXPECT_FALSE(extra("extra_buffer", false));
}

TEST(AttentionBackend, DefaultsToTritonAndWhisperToFlashinfer) {
  EXPECT_EQ(settle_backends(k23, {})[Field::attention_backend], Value("triton"));
  EXPECT_EQ(settle_backends(k13, {}, mla_model())[Field::attention_backend], Value("triton"));
  ModelFacts whisper = dense_model();
  whisper.architectures = {"WhisperForConditionalGeneration"};
  whisper.is_encoder_decoder = true;
  const StepRun run = settle_backends(k23, {}, whisper);
  EXPECT_EQ(run[Field::attention_backend], Value("flashinfer"));
  EXPECT_EQ(run[Field::disable_radix_cache], Value(true));
}

TEST(AttentionBackend, EqualBackendsOfBothPhasesBecomeTheBackend) {
  const StepRun run = settle_backends(k23, {{Field::attention_backend, "triton"},
                                            {Field::prefill_attention_backend, "intel_xpu"},
                                            {Field::decode_attention_backend, "intel_xpu"},
                                            {Field::page_size, 64}});
  EXPECT_EQ(run[Field::attention_backend], Value("intel_xpu"));
}

TEST(IntelXpu, PageSizesOutsideTheKernelsBecome128) {
  struct Row {
    Release release;
    bool mla;
    Fields given;
    std::int64_t page, expected;
  };
  const Fields both = {{Field::attention_backend, "intel_xpu"}};
  const Fields decode = {{Field::decode_attention_backend, "intel_xpu"}};
  const Fields prefill = {{Field::prefill_attention_backend, "intel_xpu"}};
  const Row rows[] = {
      {k13, false, both, 32, 128},    {k13, false, both, 64, 64},
      {k13, true, decode, 16, 16},     // MLA decode has smaller pages
      {k13, false, prefill, 32, 32},   // 0.5.13 looks at decode only
      {k23, false, prefill, 32, 128},  // since 0.5.20 either phase counts
      {k23, true, both, 32, 32},      {k23, true, both, 48, 128},
  };
  for (const Row& row : rows) {
    Fields given = row.given;
    given.emplace_back(Field::page_size, row.page);
    const StepRun run = settle_backends(row.release, given, row.mla ? mla_model() : dense_model());
    EXPECT_EQ(run.refused_by(), "");
    EXPECT_EQ(run[Field::page_size], Value(row.expected)) << row.release.text() << " page " << row.page;
    const std::size_t warnings = row.page == row.expected ? 0 : 1;
    EXPECT_EQ(run.warned().size(), warnings);
  }
}

// What was not given is not said to be replaced.
TEST(IntelXpu, AWarningNamesTheValueThatWasGiven) {
  const auto warning = [](const Fields& given, const ModelFacts& model) {
    const StepRun run = settle_backends(k23, given, model);
    return run.launch.log.empty() ? std::string() : run.launch.log.back().message;
  };
  const std::pair<Field, Value> intel_xpu{Field::attention_backend, "intel_xpu"};
  const std::string told = "intel_xpu takes pages of 64 or 128 tokens; the page size becomes 128";
  EXPECT_EQ(warning({intel_xpu}, dense_model()), told);
  EXPECT_EQ(warning({intel_xpu, {Field::page_size, 32}}, dense_model()), told + " instead of 32");
  const std::pair<Field, Value> flashmla{Field::decode_attention_backend, "flashmla"};
  EXPECT_EQ(warning({flashmla}, mla_model()), "flashmla has page sizes of its own; the page size becomes 64");
  EXPECT_EQ(warning({flashmla, {Field::page_size, 16}}, mla_model()),
            "flashmla cannot run pages of 16 tokens; the page size becomes 64");
}

TEST(IntelXpu, MlaPrefillIsRefusedBefore20) {
  const Fields given = {{Field::attention_backend, "intel_xpu"}, {Field::page_size, 64}};
  EXPECT_EQ(settle_backends(k13, given, mla_model()).refused_by(),
            "ValueError _handle_attention_backend_compatibility");
  EXPECT_EQ(settle_backends(k23, given, mla_model()).refused_by(), "");
}

TEST(IntelXpu, ADeviceWithoutXmxFallsBackToTriton) {
  const StepRun run = settle_backends(k23, {{Field::attention_backend, "intel_xpu"}}, dense_model(), false);
  EXPECT_EQ(run[Field::attention_backend], Value("triton"));
  EXPECT_EQ(run.warned(), std::vector<std::string>{"_attention_backend_platform_fallbacks"});
}

TEST(AttentionBackend, BackendsOfOtherHardware) {
  struct Row {
    Release release;
    Fields given;
    const char* refused_by;
    Value page;
  };
  constexpr const char* kHandler23 = "ValueError handle_attention_backend_compatibility";
  const Row rows[] = {
      {k23, {{Field::attention_backend, "flashmla"}}, "", 64},
      {k13, {{Field::decode_attention_backend, "cutlass_mla"}}, "", 128},
      {k23, {{Field::attention_backend, "hpc_ops"}, {Field::page_size, 32}}, "", 64},
      {k23, {{Field::attention_backend, "trtllm_mla"}}, "ValueError _mla_kv_cache_dtype_checks", {}},
      {k23, {{Field::prefill_attention_backend, "trtllm_mla"}}, "", {}},  // only decode is checked
      {k23, {{Field::decode_attention_backend, "cutedsl_mla"}}, "ValueError _cutedsl_prefill_backend_fill", {}},
      {k23, {{Field::prefill_attention_backend, "cutedsl_mla"}}, "AssertionError _cutedsl_prefill_backend_fill", {}},
      {k23, {{Field::decode_attention_backend, "trtllm_mha"}}, kHandler23, {}},
      {k23, {{Field::speculative_draft_attention_backend, "trtllm_mha"}}, "", 64},
      {k13, {{Field::attention_backend, "tokenspeed_mla"}}, "ValueError _handle_attention_backend_compatibility", {}},
      {k23, {{Field::attention_backend, "fa3"}}, "", {}},
  };
  for (const Row& row : rows) {
    const StepRun run = settle_backends(row.release, row.given);
    EXPECT_EQ(run.refused_by(), row.refused_by) << row.given[0].second.repr();
    if (*row.refused_by != '\0') continue;
    EXPECT_EQ(run[Field::page_size], row.page) << row.given[0].second.repr();
  }
}

TEST(AttentionBackend, Fa3WithFp8E5m2BecomesTriton) {
  for (const Release release : {k13, k23}) {
    const StepRun run =
        settle_backends(release, {{Field::attention_backend, "fa3"}, {Field::kv_cache_dtype, "fp8_e5m2"}});
    EXPECT_EQ(run[Field::attention_backend], Value("triton"));
  }
}

TEST(AttentionBackend, FlexAttentionTurnsGraphsOffAndSpeculationDown) {
  const StepRun plain = settle_backends(k13, {{Field::attention_backend, "flex_attention"}});
  EXPECT_EQ(plain[Field::disable_cuda_graph], Value(true));
  const StepRun speculative =
      settle_backends(k23, {{Field::attention_backend, "flex_attention"}, {Field::speculative_algorithm, "NGRAM"}});
  EXPECT_EQ(speculative.refused_by(), "AssertionError handle_attention_backend_compatibility");
}

TEST(XpuDcp, EveryRequirementIsChecked) {
  struct Row {
    Fields given;
    ModelFacts model;
    bool accepted;
  };
  const ModelFacts many_heads = dense_model(1);  // 32 query heads to one KV head: groups of 32
  ModelFacts uneven = dense_model();
  uneven.v_head_dim = 64;
  const Fields good = {
      {Field::attention_backend, "intel_xpu"}, {Field::page_size, 64}, {Field::tp_size, 8}, {Field::dcp_size, 2}};
  const auto with = [&](Field field, Value value) {
    Fields given = good;
    given.emplace_back(field, std::move(value));
    return given;
  };
  const ModelFacts two_kv_heads = dense_model(2);
  const Row rows[] = {
      {good, two_kv_heads, true},
      {good, dense_model(), false},  // 8 KV heads over 8 ranks: a group would hold two
      {with(Field::decode_attention_backend, "triton"), two_kv_heads, false},
      {good, mla_model(), false},
      {good, uneven, false},
      {with(Field::tp_size, 7), two_kv_heads, false},
      {with(Field::tp_size, 2), many_heads, false},
      {with(Field::speculative_algorithm, "NGRAM"), two_kv_heads, false},
  };
  for (const Row& row : rows) {
    const StepRun run = settle_backends(k23, row.given, row.model);
    EXPECT_EQ(run.refused_by(), row.accepted ? "" : "ValueError _check_xpu_dcp");
  }
}

TEST(Deterministic, SelectsFa3WhenNothingIsGivenAndRefusesOthers) {
  struct Row {
    Release release;
    Value backend;
    const char* refused_by;
    bool keeps_radix_cache;
  };
  const Row rows[] = {
      {k13, {}, "", true},
      {k13, "intel_xpu", "ValueError _handle_deterministic_inference", true},
      {k23, "intel_xpu", "", false},
      {k23, "triton", "", true},
      {k23, "flashinfer", "", false},
      {k23, "flashmla", "ValueError _deterministic_attention_backend", true},
  };
  for (const Row& row : rows) {
    StepRun run(row.release, {{Field::enable_deterministic_inference, true}, {Field::attention_backend, row.backend}});
    run.run({handle_deterministic_inference});
    EXPECT_EQ(run.refused_by(), row.refused_by) << row.backend.repr();
    if (*row.refused_by != '\0') continue;
    EXPECT_EQ(run[Field::attention_backend], row.backend.is_none() ? Value("fa3") : row.backend);
    EXPECT_EQ(run[Field::sampling_backend], Value("pytorch"));
    EXPECT_EQ(run[Field::disable_radix_cache], Value(!row.keeps_radix_cache));
  }
}

TEST(Deterministic, TensorParallelismPinsTheAllReduce) {
  StepRun run(k23, {{Field::rl_on_policy_target, "fsdp"}, {Field::attention_backend, "triton"}, {Field::tp_size, 2}});
  ASSERT_TRUE(run.run({handle_deterministic_inference}));
  EXPECT_EQ(run[Field::enable_deterministic_inference], Value(true));
  EXPECT_EQ(run[Field::disable_custom_all_reduce], Value(true));
  EXPECT_EQ(run.launch.env.at("NCCL_ALGO"), "allreduce:tree");
}

TEST(MultiItemScoring, NeedsFlashinferAfterTurningCachesOff) {
  StepRun run(k23, {{Field::enable_mis, true}, {Field::attention_backend, "triton"}});
  run.run({prepare_graphs, handle_multi_item_scoring});
  EXPECT_EQ(run.refused_by(), "AssertionError handle_multi_item_scoring");
  EXPECT_EQ(run.warned().size(), 3U);  // graphs, radix cache, chunked prefill
  StepRun flashinfer(k23, {{Field::enable_mis, true}, {Field::attention_backend, "flashinfer"}});
  EXPECT_TRUE(flashinfer.run({prepare_graphs, handle_multi_item_scoring}));
  EXPECT_EQ(flashinfer[Field::chunked_prefill_size], Value(-1));
}

TEST(LinearAttention, FlashkdaOnlyPrefills) {
  StepRun inherited(k23, {{Field::linear_attn_backend, "flashkda"}});
  ASSERT_TRUE(inherited.run({handle_linear_attn_backend}));
  EXPECT_EQ(inherited[Field::linear_attn_decode_backend], Value("triton"));
  StepRun asked(k23, {{Field::linear_attn_decode_backend, "flashkda"}});
  asked.run({handle_linear_attn_backend});
  EXPECT_EQ(asked.refused_by(), "ValueError handle_linear_attn_backend");
}

TEST(LinearAttention, ReplaySsmForSpeculationWantsFloat32State) {
  StepRun run(k23, {{Field::enable_linear_replayssm_spec, true}});
  ASSERT_TRUE(run.run({handle_linear_attn_backend}));
  EXPECT_EQ(run[Field::mamba_ssm_dtype], Value("float32"));
  for (const auto& [dtype, warnings] : {std::pair("float32", 0U), std::pair("bfloat16", 1U)}) {
    StepRun given(k23, {{Field::enable_linear_replayssm_spec, true}, {Field::mamba_ssm_dtype, dtype}});
    ASSERT_TRUE(given.run({handle_linear_attn_backend}));
    EXPECT_EQ(given.warned().size(), warnings) << dtype;
  }
  StepRun ragged(k23, {{Field::enable_linear_replayssm_spec, true}});
  ragged.launch.env["SGLANG_RAGGED_VERIFY_MODE"] = "sideways";
  ragged.run({handle_linear_attn_backend});
  EXPECT_EQ(ragged.refused_by(), "ValueError read_ragged_verify_mode");
}

// 0.5.16 knows it for gated delta nets alone, and takes no other type.
TEST(LinearAttention, ReplaySsmOfGatedDeltaNetsTakesFloat32Alone) {
  for (const auto& [dtype, refused] : {std::pair("float32", ""), std::pair("bfloat16", "ValueError")}) {
    StepRun run(v0_5(16), {{Field::enable_gdn_replayssm_spec, true}, {Field::mamba_ssm_dtype, dtype}});
    run.run({handle_linear_attn_backend});
    EXPECT_EQ(run.refused_by().substr(0, run.refused_by().find(' ')), refused) << dtype << run.refused_by();
  }
}

TEST(Platform, WhatXpuTurnsOff) {
  StepRun run(k23, {{Field::enable_symm_mem, true}, {Field::pre_warm_nccl, true}});
  ASSERT_TRUE(run.run({prepare_graphs, handle_xpu_backends, handle_symm_mem_device_support, handle_nccl_pre_warm}));
  EXPECT_EQ(run[Field::sampling_backend], Value("intel_xpu"));
  EXPECT_EQ(run[Field::enable_symm_mem], Value(false));
  EXPECT_EQ(run[Field::pre_warm_nccl], Value(false));
  StepRun old(k13, {});
  ASSERT_TRUE(old.run({handle_xpu_backends}));
  EXPECT_EQ(old[Field::disable_piecewise_cuda_graph], Value(true));
  EXPECT_EQ(old.warned().size(), 1U);
}

TEST(ModelQuestions, HeadsAreCountedAsUpstreamCounts) {
  struct Row {
    const char* text;
    const char* root;
    std::int64_t expected;
  };
  const Row rows[] = {
      {R"({"num_key_value_heads": 8})", "{}", 8},
      {R"({"multi_query": true, "num_key_value_heads": 8})", "{}", 1},
      // ChatGLM, Step-3, and Falcon's two architectures.
      {R"({"multi_query_group_num": 2})", "{}", 2},
      {R"({"num_attention_groups": 1})", "{}", 1},
      {R"({"multi_query": true, "num_kv_heads": 71})", R"({"model_type": "falcon"})", 1},
      {R"({"multi_query": true, "num_kv_heads": 8})", R"({"model_type": "falcon", "new_decoder_architecture": true})",
       8},
      {"{}", R"({"model_type": "mpt", "attn_config": {"kv_n_heads": 4}})", 4},
      {"{}", R"({"model_type": "mpt", "attn_config": {}})", 32},
      {"{}", "{}", 8},
  };
  for (const Row& row : rows) {
    ModelFacts model = dense_model();
    model.hf_text_config = *Value::parse_json(row.text);
    model.hf_config = *Value::parse_json(row.root);
    EXPECT_EQ(total_kv_heads(model), row.expected) << row.text << row.root;
  }
  ModelFacts model = dense_model();
  model.hf_text_config = *Value::parse_json(R"({"num_attention_heads_per_layer": [8, 64]})");
  EXPECT_EQ(max_attention_heads(model), 64);
}

}  // namespace
}  // namespace preflight::resolve
