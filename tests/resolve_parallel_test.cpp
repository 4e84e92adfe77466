// Data, context, expert and pipeline parallelism, and mixture-of-experts backends: what each combination changes,
// warns of or refuses.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "src/resolve/parallel/moe.h"
#include "src/resolve/parallel/parallel.h"
#include "tests/support/midway.h"
#include "tests/support/release_ranges.h"

namespace preflight::resolve {
namespace {

using preflight::testing::Midway;

struct Row {
  Step step;
  Release release;
  std::vector<std::pair<Field, Value>> fields;
  std::string outcome;
  std::string chain;
};

void expect_rows(const std::vector<Row>& rows, const std::string& architecture) {
  int line = 0;
  for (const Row& row : rows) {
    Midway m(row.release);
    m.architecture(architecture).set(Field::chunked_prefill_size, 2048);
    for (const auto& [field, value] : row.fields) m.set(field, value);
    EXPECT_EQ(m.run(row.step), row.outcome) << "row " << line;
    if (row.outcome == "ok") {
      EXPECT_EQ(m.chain(), row.chain) << "row " << line;
    }
    ++line;
  }
}

constexpr Release kNew = v0_5(23);
constexpr Release kOld = v0_5(13, 1);

ModelFacts glm() {
  ModelFacts model;
  model.architectures = {"Glm5NextForConditionalGeneration"};
  model.hf_config = Value::dict({{"model_type", "glm5_next"}});
  model.hf_text_config = Value::dict(
      {{"num_attention_heads", 8}, {"linear_attn_config", Value::dict({{"num_heads", 8}})}, {"index_n_heads", 8}});
  return model;
}

// Its sequence collectives have sizes that depend on the batch in 0.5.22, and not since.
TEST(Parallel, ASharedContextGroupTakesGlmsPrefillGraphIn0522Only) {
  for (const int patch : {22, 23}) {
    Midway m(preflight::testing::newest_of(patch));
    m.facts(glm()).set(Field::tp_size, 2).set(Field::attn_cp_size, 2).set(Field::enable_prefill_cp, true);
    m.set(Field::cp_strategy, "interleave");
    m.run(handle_context_parallelism);
    EXPECT_NE(m.chain().find("\"enable_cp_tp_group_sharing\":true"), std::string::npos) << m.chain();
    EXPECT_EQ(m.chain().find("cuda_graph_config") != std::string::npos, patch == 22) << m.chain();
  }
}

// Beside a shared context group GLM drafts with its own layers, by either name of the algorithm.
TEST(Parallel, ASharedContextGroupDraftsWithTheModelsOwnLayers) {
  const std::pair<const char*, const char*> rows[] = {
      {"EAGLE", "ok"}, {"NEXTN", "ok"}, {"NGRAM", "ValueError in resolve_cp_tp_group_sharing"}};
  for (const auto& [algorithm, result] : rows) {
    Midway m(v0_5(23));
    m.facts(glm()).set(Field::tp_size, 2).set(Field::attn_cp_size, 2).set(Field::enable_prefill_cp, true);
    m.set(Field::cp_strategy, "interleave").set(Field::speculative_algorithm, algorithm);
    EXPECT_EQ(m.run(handle_context_parallelism), result) << algorithm;
  }
}

// A replica of several attention ranks scales as a whole since 0.5.23; before, every rank is a group of its own.
TEST(Parallel, ScalingTakesWholeReplicasSince0523) {
  for (const int patch : {22, 23}) {
    for (const int groups : {2, 4}) {
      Midway m(preflight::testing::newest_of(patch));
      m.architecture("Qwen3MoeForCausalLM").set(Field::tp_size, 4).set(Field::ep_size, 4).set(Field::max_ep_size, 8);
      m.set(Field::attn_dp_size, groups).set(Field::moe_dense_tp_size, 1).set(Field::enable_dp_lm_head, true);
      m.set(Field::elastic_ep_backend, "mooncake").set(Field::moe_a2a_backend, "nixl");
      m.set(Field::load_balance_method, "round_robin");
      m.set(Field::cuda_graph_config, Value::parse_json(R"({"decode": {"backend": "disabled"},
                                                            "prefill": {"backend": "disabled"}})")
                                          .value());
      EXPECT_EQ(m.run(handle_elastic_ep), patch == 22 && groups == 2 ? "AssertionError in handle_elastic_ep" : "ok");
    }
  }
}

TEST(Parallel, AttentionGroupsDivideTheChunkAndTheTensorRanks) {
  expect_rows(
      {
          // The old spelling counts attention groups with dp_size.
          {handle_deprecated_dp_attention,
           kNew,
           {{Field::enable_dp_attention, true}, {Field::dp_size, 4}},
           "ok",
           "_handle_deprecated_dp_attention {\"attn_dp_size\":4,\"dp_size\":1}\n"
           "_handle_deprecated_dp_attention {\"enable_dp_attention\":false}\n"},
          {handle_data_parallelism,
           kNew,
           {{Field::tp_size, 4}, {Field::attn_dp_size, 4}},
           "ok",
           "_handle_data_parallelism {\"schedule_conservativeness\":0.3}\n"
           "_handle_data_parallelism {\"chunked_prefill_size\":512}\n"
           "_tp_lm_head_all_to_all_default {\"enable_tp_lm_head_all_to_all\":false}\n"},
          {handle_data_parallelism,
           kOld,
           {{Field::tp_size, 4}, {Field::dp_size, 2}, {Field::enable_dp_attention, true}},
           "ok",
           "_handle_data_parallelism {\"schedule_conservativeness\":0.3}\n"
           "_handle_data_parallelism {\"chunked_prefill_size\":1024}\n"},
          // -1 turns chunks off; Python's -1 // 2 is -1.
          {handle_data_parallelism,
           kOld,
           {{Field::tp_size, 2},
            {Field::dp_size, 2},
            {Field::enable_dp_attention, true},
            {Field::chunked_prefill_size, -1}},
           "ok",
           "_handle_data_parallelism {\"schedule_conservativeness\":0.3}\n"},
          {handle_data_parallelism,
           kNew,
           {{Field::tp_size, 3}, {Field::attn_dp_size, 2}},
           "AssertionError in handle_data_parallelism",
           ""},
          {handle_data_parallelism, kNew, {{Field::attn_dp_size, 0}}, "ValueError in handle_data_parallelism", ""},
          {handle_data_parallelism,
           kOld,
           {{Field::dp_size, 0}, {Field::enable_dp_attention, true}},
           "ZeroDivisionError in _handle_data_parallelism",
           ""},
          {handle_data_parallelism,
           kNew,
           {{Field::dp_size, 2}, {Field::enable_dp_lm_head, true}},
           "AssertionError in _dp_lm_head_validation",
           ""},
      },
      "LlamaForCausalLM");
}

TEST(Parallel, ContextParallelSizesMustFitTheTensorRanks) {
  expect_rows(
      {
          {handle_context_parallelism, kNew, {}, "ok", "boundary_parallelism {}\n"},
          {handle_context_parallelism,
           kNew,
           {{Field::enable_prefill_cp, true}},
           "ValueError in handle_context_parallelism",
           ""},
          {handle_context_parallelism,
           kOld,
           {{Field::tp_size, 3}, {Field::attn_cp_size, 2}},
           "AssertionError in _handle_context_parallelism",
           ""},
          {handle_context_parallelism,
           kOld,
           {{Field::enable_prefill_context_parallel, true}, {Field::enable_dsa_prefill_context_parallel, true}},
           "ValueError in _handle_context_parallelism",
           ""},
          {handle_context_parallelism,
           kNew,
           {{Field::tp_size, 4}, {Field::moe_dp_size, 4}, {Field::attn_cp_size, 2}},
           "AssertionError in handle_context_parallelism",
           ""},
      },
      "LlamaForCausalLM");
}

TEST(Parallel, DecodeContextParallelismTalksAllToAllOnXpu) {
  expect_rows(
      {
          {handle_decode_context_parallelism,
           kNew,
           {},
           "ok",
           "_dcp_comm_backend_default {\"dcp_comm_backend\":\"ag_rs\"}\n"},
          {handle_decode_context_parallelism,
           kNew,
           {{Field::dcp_size, 2}},
           "ok",
           "_dcp_comm_backend_default {\"dcp_comm_backend\":\"a2a\"}\n"},
          {handle_decode_context_parallelism,
           kNew,
           {{Field::dcp_comm_backend, "a2a"}},
           "ValueError in handle_decode_context_parallelism",
           ""},
          {handle_decode_context_parallelism,
           kNew,
           {{Field::dcp_size, 2}, {Field::dcp_comm_backend, "fi_a2a"}},
           "ValueError in handle_decode_context_parallelism",
           ""},
      },
      "LlamaForCausalLM");
}

TEST(Parallel, MovingExpertsNeedsSeveralExpertRanks) {
  expect_rows(
      {
          {handle_eplb_and_dispatch,
           kNew,
           {{Field::enable_eplb, true}, {Field::ep_size, 2}},
           "ok",
           "_handle_eplb_and_dispatch {\"expert_distribution_recorder_mode\":\"stat\"}\n"
           "_handle_eplb_and_dispatch {\"ep_dispatch_algorithm\":\"dynamic\"}\n"},
          {handle_eplb_and_dispatch,
           kOld,
           {{Field::init_expert_location, "x"}},
           "ok",
           "_handle_eplb_and_dispatch {\"ep_dispatch_algorithm\":\"static\"}\n"},
          {handle_eplb_and_dispatch,
           kNew,
           {{Field::enable_eplb, true}},
           "AssertionError in handle_eplb_and_dispatch",
           ""},
          {handle_eplb_and_dispatch,
           kNew,
           {{Field::ep_dispatch_algorithm, "lp"}},
           "ValueError in handle_eplb_and_dispatch",
           ""},
          {handle_elastic_ep, kNew, {{Field::elastic_ep_initial_size, 8}}, "AssertionError in handle_elastic_ep", ""},
          {handle_elastic_ep, kOld, {{Field::elastic_ep_rejoin, true}}, "AssertionError in _handle_elastic_ep", ""},
          {pipeline_parallel_overlap_disable,
           kNew,
           {{Field::pp_size, 2}},
           "ok",
           "_pipeline_parallel_overlap_disable {\"disable_overlap_schedule\":true}\n"},
      },
      "Qwen3MoeForCausalLM");
}

TEST(Parallel, WideExpertDispatchSpansTheTensorRanks) {
  expect_rows(
      {
          {handle_a2a_moe,
           kNew,
           {{Field::moe_a2a_backend, "deepep"}, {Field::tp_size, 4}},
           "ok",
           "_a2a_ep_size {\"ep_size\":4}\n"},
          {handle_a2a_moe,
           kOld,
           {{Field::moe_a2a_backend, "mori"}, {Field::tp_size, 4}},
           "ok",
           "_handle_a2a_moe {\"ep_size\":4}\n_handle_a2a_moe {\"deepep_mode\":\"normal\"}\n"},
          {handle_a2a_moe,
           kNew,
           {{Field::enable_waterfill, true}},
           "ok",
           "_a2a_backend_overrides {\"moe_a2a_backend\":\"deepep\"}\n_a2a_ep_size {\"ep_size\":1}\n"
           "_handle_a2a_moe {\"enforce_shared_experts_fusion\":true}\n"},
          {handle_a2a_moe, kNew, {{Field::moe_a2a_backend, "flashinfer"}}, "AssertionError in handle_a2a_moe", ""},
          {handle_a2a_moe, kNew, {{Field::moe_a2a_backend, "pplx"}}, "AssertionError in handle_a2a_moe", ""},
          {handle_a2a_moe,
           kNew,
           {{Field::moe_a2a_backend, "flashinfer_megamoe"}},
           "ValueError in validate_flashinfer_megamoe_model",
           ""},
          {handle_mega_moe, kNew, {{Field::moe_runner_backend, "megamoe"}}, "ValueError in check_mega_moe_compat", ""},
          {validate_deepep_v2,
           kNew,
           {{Field::moe_a2a_backend, "deepep_v2"}},
           "ValueError in validate_deepep_v2_dispatch_token_budget",
           ""},
      },
      "Qwen3MoeForCausalLM");
}

TEST(Parallel, MoeRunnersKnowTheirQuantizations) {
  expect_rows(
      {
          {handle_moe_kernel_config,
           kNew,
           {{Field::quantization, "mxfp8"}},
           "ok",
           "_moe_runner_backend_quant_constraints {\"moe_runner_backend\":\"flashinfer_trtllm\"}\n"
           "_moe_runner_fusion_disable {\"disable_shared_experts_fusion\":true}\n"},
          {handle_moe_kernel_config,
           kOld,
           {{Field::quantization, "mxfp8"}, {Field::moe_runner_backend, "triton"}},
           "ok",
           "_handle_moe_kernel_config {\"moe_runner_backend\":\"flashinfer_trtllm\"}\n"
           "_handle_moe_kernel_config {\"disable_shared_experts_fusion\":true}\n"},
          {handle_moe_kernel_config,
           kNew,
           {{Field::quantization, "nvfp4_online"}},
           "ValueError in _moe_runner_backend_quant_constraints",
           ""},
          {handle_moe_kernel_config,
           kNew,
           {{Field::moe_runner_backend, "flashinfer_cutlass"}, {Field::quantization, "fp8"}},
           "AssertionError in handle_moe_kernel_config",
           ""},
          {handle_moe_kernel_config,
           kOld,
           {{Field::moe_runner_backend, "cutlass"}, {Field::quantization, "fp8"}, {Field::ep_size, 2}},
           "AssertionError in _handle_moe_kernel_config",
           ""},
      },
      "Qwen3MoeForCausalLM");
}

TEST(Parallel, ModelsNameTheCollectiveBetweenTheirLayers) {
  struct Case {
    std::string config;
    std::string target;
  };
  for (const auto& [config, target] : std::vector<Case>{
           {R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"})", "ar"},
           {R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})", "rs+rsv"},
           {R"({"architectures": ["LongcatFlashForCausalLM"]})", "rsv"},
           // A wrapper is judged by the language model inside.
           {R"({"architectures": ["X"], "text_config": {"model_type": "qwen3_vl_text"}})", "ar"},
           {R"({"architectures": ["X"], "llm_config": {"architectures": ["Qwen3ForCausalLM"]}})", "ar"},
           {R"({"model_type": "qwen3_asr", "thinker_config": {"text_config": {"model_type": "qwen3"}}})", "ar"},
           {R"({"model_type": "qwen3_asr",
                "thinker_config": {"model_type": "qwen3_asr", "text_config": {"model_type": "qwen3"}}})",
            "ar"},
           {R"({"model_type": "other", "thinker_config": {"text_config": {"model_type": "qwen3"}}})", "rs+rsv"},
       }) {
    Midway m(kNew);
    ModelFacts model;
    model.hf_config = *Value::parse_json(config);
    m.facts(std::move(model));
    EXPECT_EQ(m.run(resolve_boundary_reduction), "ok");
    EXPECT_EQ(m[Field::boundary_reduction], Value(target)) << config;
    EXPECT_EQ(m[Field::speculative_boundary_reduction], Value(target)) << config;
  }
}

TEST(Parallel, SequenceParallelLayersAreForQwen3AndMuseSpark) {
  expect_rows(
      {
          {handle_layernorm_sp, kNew, {{Field::enable_layernorm_sp, true}, {Field::tp_size, 2}}, "ok", ""},
          {handle_layernorm_sp, kNew, {{Field::enable_layernorm_sp, true}}, "ValueError in validate_layernorm_sp", ""},
          {handle_layernorm_sp,
           kNew,
           {{Field::enable_megamoe_for_layernorm_sp, true}},
           "ValueError in handle_layernorm_sp",
           ""},
      },
      "Qwen3ForCausalLM");
}

}  // namespace
}  // namespace preflight::resolve
