// Diffusion language models. Expected results are those of the real releases.
#include <gtest/gtest.h>

#include "src/resolve/serving/dllm.h"
#include "tests/support/midway.h"

namespace preflight::resolve {
namespace {

using testing::Midway;

constexpr Release kOld = v0_5(13, 1);
constexpr Release kNew = v0_5(23);

std::string diffusion_model(const std::string& architecture) {
  return R"({"model_type": "qwen3", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
    "head_dim": 64, "num_hidden_layers": 2, "vocab_size": 1000, "max_position_embeddings": 4096,
    "dtype": "bfloat16", "architectures": [")" +
         architecture + "\"]}";
}

Midway diffusing(Release release, const char* algorithm, const char* architecture = "SDARForCausalLM") {
  Midway m(release);
  m.model("target", diffusion_model(architecture)).set(Field::dllm_algorithm, algorithm);
  m.set(Field::attention_backend, "triton").set(Field::page_size, 64);
  m.set(Field::disable_cuda_graph, true);
  const Value off = Value::dict({{"backend", "disabled"}});
  if (release >= v0_5(19)) m.set(Field::cuda_graph_config, Value::dict({{"decode", off}, {"prefill", off}}));
  return m;
}

TEST(Dllm, UnknownNamesAreRefused) {
  const struct {
    Release release;
    const char* algorithm;
    const char* architecture;
    const char* result;
  } kRows[] = {
      {kNew, "LowConfidence", "SDARForCausalLM", "ok"},
      {kNew, "Guess", "SDARForCausalLM", "RuntimeError in get_algorithm_cls"},
      {kOld, "Guess", "SDARForCausalLM", "ok"},  // looked up later, when the server runs
      {kNew, "LowConfidence", "Qwen3ForCausalLM", "RuntimeError in from_server_args"},
      {kOld, "LowConfidence", "Qwen3ForCausalLM", "RuntimeError in from_server_args"},
      {kNew, "Gemma4Renoise", "SDARForCausalLM", "ValueError in configure_server_args"},     // CUDA only
      {kNew, "JointThresholdInDel", "SDARForCausalLM", "RuntimeError in from_server_args"},  // no edit tokens
  };
  for (const auto& row : kRows) {
    Midway m = diffusing(row.release, row.algorithm, row.architecture);
    EXPECT_EQ(m.run(handle_dllm_inference), row.result) << row.algorithm << " " << row.architecture;
  }
}

TEST(Dllm, APageFitsTheBlock) {
  const struct {
    Release release;
    int page_size;
    bool radix;
    int result;
  } kRows[] = {
      {kOld, 6, true, 4},    // not a multiple of the block
      {kOld, 64, true, 64},  // a multiple may be larger
      {kNew, 64, true, 4},   // later releases cut it to the block
      {kNew, 2, false, 2},  {kNew, 1, true, 4},
  };
  for (const auto& row : kRows) {
    Midway m = diffusing(row.release, "LowConfidence");
    m.set(Field::page_size, row.page_size).set(Field::disable_radix_cache, !row.radix);
    EXPECT_EQ(m.run(handle_dllm_inference), "ok");
    EXPECT_EQ(m[Field::page_size], Value(row.result)) << row.page_size;
  }
}

TEST(Dllm, TheAlgorithmsFileMaySetTheBlock) {
  const struct {
    const char* text;
    const char* result;
    int page_size;
  } kRows[] = {
      {"block_size: 16\n", "ok", 16},
      {"threshold: 0.9\n", "ok", 4},
      {"", "ok", 4},
      {"- 1\n", "ValueError in from_server_args", 0},
      {"block_size: large\n", "TypeError in _dllm_page_size", 0},
      {"block_size: 0\n", "ZeroDivisionError in _dllm_page_size", 0},
      {"a: b: c\n", "ScannerError in from_server_args", 0},
      {nullptr, "FileNotFoundError in from_server_args", 0},
  };
  for (const auto& row : kRows) {
    Midway m = diffusing(kNew, "LowConfidence");
    m.set(Field::dllm_algorithm_config, "settings.yaml");
    if (row.text != nullptr) m.file("settings.yaml", row.text);
    const std::string result = m.run(handle_dllm_inference);
    EXPECT_EQ(result, row.result) << (row.text == nullptr ? "no file" : row.text);
    if (result == "ok") {
      EXPECT_EQ(m[Field::page_size], Value(row.page_size));
    }
  }
}

// Recorded with 0.5.20 and 0.5.21: up to then what is no mapping has no get(), whatever it is.
TEST(Dllm, SettingsThatAreNoMappingEndOtherwiseUpTo0520) {
  const auto result = [](Release release, const char* text) {
    Midway m = diffusing(release, "LowConfidence");
    m.set(Field::dllm_algorithm_config, "settings.yaml").file("settings.yaml", text);
    return m.run(handle_dllm_inference);
  };
  for (const char* text : {"- a\n- b\n", "abc\n", ""}) {
    EXPECT_EQ(result(v0_5(20), text), "AttributeError in from_server_args") << text;
  }
  EXPECT_EQ(result(v0_5(21), "- a\n- b\n"), "ValueError in from_server_args");
  EXPECT_EQ(result(v0_5(21), "abc\n"), "ValueError in from_server_args");
  EXPECT_EQ(result(v0_5(21), ""), "ok");
}

TEST(Dllm, OtherFeaturesAreTurnedOff) {
  Midway m = diffusing(kNew, "LowConfidence");
  m.set(Field::page_size, 4).set(Field::enable_hierarchical_cache, true).set(Field::pp_size, 2);
  m.set(Field::enable_lora, true).set(Field::disaggregation_mode, "decode").set(Field::enable_mixed_chunk, true);
  EXPECT_EQ(m.run(handle_dllm_inference), "ok");
  EXPECT_EQ(m.chain(),
            "_dllm_overlap_disable {\"disable_overlap_schedule\":true}\n"
            "_handle_dllm_inference {\"enable_hierarchical_cache\":false}\n"
            "_handle_dllm_inference {\"pp_size\":1}\n"
            "_handle_dllm_inference {\"enable_lora\":false}\n"
            "_handle_dllm_inference {\"disaggregation_mode\":\"null\"}\n"
            "_handle_dllm_inference {\"enable_mixed_chunk\":false}\n");
}

TEST(Dllm, OldReleasesWarnOfPipelinesWhereThereAreNone) {
  Midway single = diffusing(kOld, "LowConfidence");
  single.set(Field::disable_overlap_schedule, true).run(handle_dllm_inference);
  EXPECT_NE(single.warnings().find("_handle_dllm_inference"), std::string::npos);
  Midway pipelined = diffusing(kOld, "LowConfidence");
  pipelined.set(Field::disable_overlap_schedule, true).set(Field::pp_size, 2).run(handle_dllm_inference);
  EXPECT_EQ(pipelined[Field::pp_size], Value(2));
}

TEST(Dllm, DecodeGraphsTakeFlashinfer) {
  Midway m = diffusing(kNew, "LowConfidence");
  const Value full = Value::dict({{"backend", "full"}});
  m.set(Field::cuda_graph_config, Value::dict({{"decode", full}, {"prefill", full}})).run(handle_dllm_inference);
  EXPECT_EQ(m[Field::attention_backend], Value("flashinfer"));
  Midway given = diffusing(kNew, "LowConfidence");  // nothing is said where it is there already
  given.set(Field::cuda_graph_config, Value::dict({{"decode", full}, {"prefill", full}}));
  given.set(Field::attention_backend, "flashinfer").run(handle_dllm_inference);
  EXPECT_EQ(given.warnings().find("_dllm_attention_backend"), std::string::npos) << given.warnings();
  Midway old = diffusing(kOld, "LowConfidence");
  old.set(Field::disable_cuda_graph, false).run(handle_dllm_inference);
  EXPECT_EQ(old[Field::attention_backend], Value("flashinfer"));
}

TEST(Dllm, From0514OnTheGraphsOwnFieldDecides) {
  const Value off = Value::dict({{"backend", "disabled"}});
  const Value full = Value::dict({{"backend", "full"}});
  Midway captured = diffusing(v0_5(14), "LowConfidence");
  captured.set(Field::cuda_graph_config, Value::dict({{"decode", full}, {"prefill", off}})).run(handle_dllm_inference);
  EXPECT_EQ(captured[Field::attention_backend], Value("flashinfer"));
  Midway eager = diffusing(v0_5(14), "LowConfidence");
  eager.set(Field::disable_cuda_graph, false)
      .set(Field::cuda_graph_config, Value::dict({{"decode", off}, {"prefill", off}}));
  eager.run(handle_dllm_inference);
  EXPECT_EQ(eager[Field::attention_backend], Value("triton"));
}

}  // namespace
}  // namespace preflight::resolve
