// What a model's architecture declares or refuses on an Intel GPU, and the radix cache of models with state.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/resolve/attention/deepseek_v4.h"
#include "src/resolve/attention/mamba.h"
#include "src/resolve/models/model_adjustments.h"
#include "src/resolve/models/model_path.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/models/model_queries.h"
#include "tests/support/midway.h"

namespace preflight::resolve {
namespace {

using preflight::testing::Midway;

constexpr Release kNew = v0_5(23);
constexpr Release kOld = v0_5(13, 1);

// A model whose configuration is this JSON, architecture first.
ModelFacts model_of(const std::string& config) {
  ModelFacts model;
  model.hf_config = *Value::parse_json(config);
  model.hf_text_config = model.hf_config;
  const Value architectures = model.root("architectures");
  model.architectures = {architectures.as_list().front().as_string()};
  const Value type = model.root("model_type");
  model.model_type = type.is_string() ? type.as_string() : "";
  const Value* quantization = model.hf_config.find("quantization_config");
  if (quantization != nullptr) model.quantization = quantization->find("quant_method")->as_string();
  return model;
}

ModelFacts named(const std::string& architecture) {
  return model_of("{\"architectures\": [\"" + architecture + "\"]}");
}

struct Row {
  Release release;
  ModelFacts model;
  std::vector<std::pair<Field, Value>> fields;
  std::string outcome;
  std::string chain;     // without the entry every launch has
  std::string warnings;  // logging functions, in order
};

void expect_rows(const std::vector<Row>& rows) {
  const std::string always = "_handle_model_specific_adjustments {\"uses_mamba_radix_cache\":false}\n";
  int line = 0;
  for (const Row& row : rows) {
    Midway m(row.release);
    m.facts(row.model);
    for (const auto& [field, value] : row.fields) m.set(field, value);
    EXPECT_EQ(m.run(handle_model_specific_adjustments), row.outcome) << "row " << line;
    if (row.outcome == "ok") {
      EXPECT_EQ(m.chain(), (row.release >= kNew ? always : "") + row.chain) << "row " << line;
    }
    EXPECT_EQ(m.warnings(), row.warnings) << "row " << line;
    ++line;
  }
}

TEST(Model, AttentionBackendsFollowTheArchitecture) {
  const std::string assigns = "_handle_model_specific_adjustments ";
  expect_rows({
      {kNew,
       named("Llama4ForCausalLM"),
       {},
       "ok",
       "_llama4_overrides {\"attention_backend\":\"intel_xpu\"}\n",
       "_llama4_overrides"},
      {kOld,
       named("Llama4ForCausalLM"),
       {},
       "ok",
       assigns + "{\"attention_backend\":\"intel_xpu\"}\n",
       "_handle_model_specific_adjustments"},
      {kNew,
       named("Llama4ForCausalLM"),
       {{Field::attention_backend, "flashinfer"}},
       "AssertionError in handle_model_specific_adjustments",
       "",
       ""},
      {kNew,
       named("GptOssForCausalLM"),
       {},
       "ok",
       "_gpt_oss_overrides {\"attention_backend\":\"intel_xpu\"}\n",
       "_gpt_oss_overrides"},
      {kNew,
       named("GptOssForCausalLM"),
       {{Field::dtype, "float16"}},
       "NotImplementedError in _gpt_oss_overrides",
       "",
       ""},
      {kOld,
       named("GptOssForCausalLM"),
       {{Field::dtype, "float16"}},
       "NotImplementedError in _handle_model_specific_adjustments",
       "",
       ""},
      {kNew, named("Gemma4ForCausalLM"), {}, "ok", "_gemma4_overrides {\"attention_backend\":\"triton\"}\n", ""},
      {kNew,
       named("MossVLForConditionalGeneration"),
       {{Field::attention_backend, "triton"}},
       "AssertionError in _moss_vl_overrides",
       "",
       ""},
      {kNew,
       named("Gemma3ForCausalLM"),
       {},
       "ok",
       "_gemma2_gemma3_overrides {\"disable_hybrid_swa_memory\":true}\n",
       "_gemma2_gemma3_overrides"},
      {kNew,
       model_of(R"({"architectures": ["Exaone4ForCausalLM"], "sliding_window_pattern": 4})"),
       {},
       "ok",
       "_exaone_overrides {\"disable_hybrid_swa_memory\":true,\"attention_backend\":\"triton\"}\n",
       "_exaone_overrides"},
      // A configuration class without the attribute: Python's accident.
      {kNew, named("Exaone4ForCausalLM"), {}, "AttributeError in _exaone_overrides", "", ""},
      {kNew,
       named("IQuestQ1ForCausalLM"),
       {{Field::attention_backend, "intel_xpu"}},
       "ValueError in _iquest_q1_overrides",
       "",
       ""},
  });
}

TEST(Model, SparseAttentionOnXpuHasPagesOf128AndItsOwnBackend) {
  const std::string config =
      R"({"architectures": ["DeepseekV32ForCausalLM"], "index_topk": 2048, "index_topk_freq": 2})";
  expect_rows({
      {kNew,
       model_of(config),
       {},
       "ok",
       "_deepseek_family_overrides {\"attention_backend\":\"dsa\",\"page_size\":128}\n"
       "_dsa_kv_cache_dtype_default {\"kv_cache_dtype\":\"bfloat16\"}\n"
       "_dsa_split_backend_resolution {\"dsa_prefill_backend\":\"intel_xpu\",\"dsa_decode_backend\":\"intel_xpu\"}\n",
       "_deepseek_family_overrides handle_model_specific_adjustments _dsa_kv_cache_dtype_default "
       "_dsa_split_backend_resolution"},
      {kOld,
       model_of(config),
       {},
       "ok",
       "_handle_model_specific_adjustments {\"attention_backend\":\"dsa\"}\n",
       "_handle_model_specific_adjustments"},
      {kNew,
       model_of(config),
       {{Field::enable_two_batch_overlap, true}},
       "ValueError in _validate_dsa_tbo_index_sharing",
       "",
       "_deepseek_family_overrides handle_model_specific_adjustments"},
      // Without index_topk the same architecture attends densely.
      {kNew, named("DeepseekV32ForCausalLM"), {}, "ok", "", ""},
  });
}

TEST(Model, StateKeepsTheRadixCacheToPagesOfOneToken) {
  const std::string resolved =
      "_mamba_radix_cache_resolution {\"uses_mamba_radix_cache\":true,\"mamba_radix_cache_strategy\":\"no_buffer\","
      "\"disable_overlap_schedule\":true}\n";
  expect_rows({
      {kNew, named("Qwen3NextForCausalLM"), {}, "ok", resolved, ""},
      {kNew,
       named("Qwen3NextForCausalLM"),
       {{Field::disable_radix_cache, true}, {Field::page_size, 128}},
       "ok",
       "",
       ""},
      {kNew,
       named("Qwen3NextForCausalLM"),
       {{Field::page_size, 64}},
       "AssertionError in validate_mamba_no_buffer",
       "",
       ""},
      {kNew,
       named("Qwen3NextForCausalLM"),
       {{Field::mamba_radix_cache_strategy, "extra_buffer"}},
       "AssertionError in validate_mamba_extra_buffer",
       "",
       ""},
      {kNew,
       named("LlamaForCausalLM"),
       {{Field::mamba_radix_cache_strategy, "extra_buffer"}},
       "ValueError in handle_mamba_radix_cache",
       "",
       ""},
      {kOld,
       named("Qwen3NextForCausalLM"),
       {{Field::page_size, 64}},
       "ok",
       "_handle_mamba_radix_cache {\"page_size\":1}\n_handle_mamba_radix_cache {\"disable_overlap_schedule\":true}\n",
       "_handle_mamba_radix_cache _handle_mamba_radix_cache"},
      {kOld,
       named("KimiLinearForCausalLM"),
       {},
       "ok",
       "_handle_mamba_radix_cache {\"disable_radix_cache\":true}\n",
       "_handle_mamba_radix_cache"},
      {kOld,
       named("FalconH1ForCausalLM"),
       {{Field::speculative_algorithm, "EAGLE"}},
       "ValueError in _handle_mamba_radix_cache",
       "",
       ""},
      {kNew,
       model_of(R"({"architectures": ["GraniteMoeHybridForCausalLM"], "layer_types": ["attention"]})"),
       {},
       "ok",
       "",
       ""},
  });
}

TEST(Model, NemotronQuantizationComesFromItsCheckpoint) {
  const std::string nvfp4 =
      R"({"architectures": ["NemotronHForCausalLM"], "mlp_hidden_act": "relu2",
          "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})";
  const std::string silu =
      R"({"architectures": ["NemotronHForCausalLM"], "mlp_hidden_act": "silu",
          "quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}})";
  Midway m(kNew);
  m.facts(model_of(nvfp4)).set(Field::disable_radix_cache, true);
  EXPECT_EQ(m.run(handle_model_specific_adjustments), "ok");
  EXPECT_EQ(m[Field::quantization], Value("modelopt_fp4"));
  EXPECT_EQ(m[Field::moe_runner_backend], Value("flashinfer_cutlass"));
  expect_rows({
      {kNew, model_of(silu), {}, "AssertionError in _nemotron_h_overrides", "", ""},
      {kOld, model_of(silu), {}, "AssertionError in apply_nemotron_h_defaults", "", ""},
      {kOld,
       named("NemotronHForCausalLM"),
       {{Field::attention_backend, "triton"}},
       "AssertionError in apply_nemotron_h_defaults",
       "",
       "_handle_mamba_radix_cache"},
  });
}

TEST(Model, NemotronsExpertsOfFourBitWeightsAloneRunOnMarlinFrom18On) {
  const std::string mixed =
      R"({"architectures": ["NemotronHForCausalLM"], "mlp_hidden_act": "relu2",
          "quantization_config": {"quant_method": "modelopt_mixed", "quantized_layers": {
            "backbone.layers.1.mixer.experts.0": {"quant_algo": "W4A16_NVFP4"}}}})";
  for (const auto& [release, runner] : {std::pair{v0_5(17), "flashinfer_cutlass"}, std::pair{v0_5(18), "marlin"}}) {
    Midway m(release);
    m.facts(model_of(mixed)).set(Field::disable_radix_cache, true);
    EXPECT_EQ(m.run(handle_model_specific_adjustments), "ok");
    EXPECT_EQ(m[Field::moe_runner_backend], Value(runner));
  }
}

TEST(Model, MambaBackendsThatNeedOtherDevicesAreRefused) {
  for (const auto& [field, value] : std::vector<std::pair<Field, Value>>{
           {Field::mamba_backend, "flashinfer"},
           {Field::mamba_cache_philox_rounds, -1},
           {Field::mamba_max_states_per_path, 0},
           {Field::enable_mamba_cache_stochastic_rounding, true},
       }) {
    Midway m(kNew);
    m.set(field, value);
    EXPECT_EQ(m.run(handle_mamba_backend), "ValueError in handle_mamba_backend");
  }
}

TEST(Model, AnEmbeddingGemmaEmbedsWholePromptsWithoutGraphs) {
  ModelFacts model = named("Gemma3TextModel");
  model.is_embedding_gemma = true;
  Midway m(kNew);
  m.facts(std::move(model));
  EXPECT_EQ(m.run(handle_model_capability_adjustments), "ok");
  EXPECT_EQ(m[Field::is_embedding], Value(true));
  EXPECT_EQ(m[Field::disable_radix_cache], Value(true));
  EXPECT_EQ(m[Field::chunked_prefill_size], Value(-1));
}

TEST(Model, ZeroDivisorsAreRefusedAsPythonDoesAndQuotientsRoundDown) {
  Launch launch;
  preflight::testing::ModelTexts models;
  Resolution r(launch, models);
  EXPECT_EQ(operators::floor_div(r, "f", 7, 2), 3);
  EXPECT_EQ(operators::floor_div(r, "f", -1, 2), -1);
  EXPECT_EQ(operators::modulo(r, "f", -1, 4), 3);
  EXPECT_EQ(operators::floor_div(r, "f", std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::max());  // no trap of the processor
  const auto refused = [&](const auto& act) {
    try {
      act();
    } catch (const RefusedByStep& e) {
      return e.refusal.exception;
    }
    return std::string("nothing");
  };
  EXPECT_EQ(refused([&] { operators::floor_div(r, "f", 1, 0); }), "ZeroDivisionError");
  EXPECT_EQ(refused([&] { operators::modulo(r, "f", 1, 0); }), "ZeroDivisionError");
  EXPECT_EQ(refused([&] { operators::divides(r, "f", Value(0), Value(4)); }), "ZeroDivisionError");
}

// Variables that later steps and processes read; what is set by hand stays.
TEST(Model, MuseSparkComesWithVariables) {
  class Muse : public facts::ModelSource {
    Result<std::shared_ptr<const Value>> config_of(const std::string& /*path*/) override {
      return std::make_shared<const Value>(
          Value::dict({{"architectures", Value::list({architecture})}, {"model_type", "qwen3"}}));
    }
    bool has_file(const std::string& /*path*/, const std::string& /*name*/) override { return false; }

   public:
    const char* architecture = "MuseSparkForConditionalGeneration";
  };
  const auto variables = [](const char* architecture, Environment env) {
    Launch launch;
    launch.args.release = kNew;
    launch.args.raw = LaunchFields(kNew);
    launch.args.raw.set(Field::model_path, "/models/some");
    launch.resolved = launch.args.raw;
    launch.env = std::move(env);
    Muse models;
    models.architecture = architecture;
    Resolution r(launch, models);
    apply_muse_spark_env_defaults(r);
    return launch.env;
  };
  const Environment expected = {{"SGLANG_ENABLE_CUDA_GRAPH_DEDUP", "True"},
                                {"SGLANG_ENABLE_GRAPH_POOL_BORROW", "0"},
                                {"SGLANG_ENABLE_GRAPH_POOL_PRECARVE", "True"},
                                {"SGLANG_ENABLE_POST_CAPTURE_KV_SIZING", "True"},
                                {"SGLANG_OPT_UNIFIED_CACHE_FREE_OUT_OF_WINDOW_SLOTS", "False"}};
  EXPECT_EQ(variables("MuseSparkForConditionalGeneration", {{"SGLANG_ENABLE_GRAPH_POOL_BORROW", "0"}}), expected);
  EXPECT_EQ(variables("MuseSparkForConditionalGeneration", {}).at("SGLANG_ENABLE_GRAPH_POOL_BORROW"), "True");
  EXPECT_TRUE(variables("LlamaForCausalLM", {}).empty());
}

}  // namespace
}  // namespace preflight::resolve
