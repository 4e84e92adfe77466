// Names of modules that a quantised checkpoint leaves plain: what the patterns mean, and what the weights come to.
#include "src/plan/plain_modules.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_tool.h"

namespace preflight::plan {
namespace {

TEST(NamePattern, MeansWhatPythonMeans) {
  struct Row {
    const char* pattern;
    const char* name;
    bool matches;
  };
  const Row rows[] = {{".*self_attn.*", "model.layers.3.self_attn.o_proj", true},
                      {"self_attn", "model.layers.3.self_attn.o_proj", false},  // from the beginning
                      {"model", "model.layers.3.self_attn.o_proj", true},       // not to the end
                      {"model$", "model.layers.3.self_attn.o_proj", false},
                      {R"(.*layers\.[0-9]\..*)", "model.layers.9.mlp.down_proj", true},
                      {R"(.*layers\.[0-9]\..*)", "model.layers.10.mlp.down_proj", false},
                      {R"(model\.layers\.(0|1|10)\.mlp.*)", "model.layers.10.mlp.down_proj", true},
                      {R"(model\.layers\.(0|1|10)\.mlp.*)", "model.layers.11.mlp.down_proj", false},
                      {R"(.*\.o_proj$)", "model.layers.3.self_attn.o_proj", true},
                      {R"(model\.layers\.\d+\.mlp.*)", "model.layers.37.mlp.experts", true},
                      {"lm_head|.*down_proj", "model.layers.3.mlp.down_proj", true},
                      {"[^m].*", "model", false},
                      {"mo?x?del", "model", true},
                      {".*experts?$", "model.layers.3.mlp.experts", true}};
  for (const Row& row : rows) {
    const NamePattern pattern(row.pattern);
    EXPECT_TRUE(pattern.understood()) << row.pattern;
    EXPECT_EQ(pattern.matches(row.name), row.matches) << row.pattern << " and " << row.name;
  }
  for (const char* pattern : {"(a+)+b", "a{2,3}", "(?!x).*", "(a", "[a", "a**", "(.)\\1"}) {
    EXPECT_FALSE(NamePattern(pattern).understood()) << pattern;
  }
}

// GiB of one rank. Beside them what the classes of SGLang 0.5.23 allocate on torch's meta device
// (tests/parity/weights.py).
TEST(PlainModules, AreCountedAsTheClassesAllocateThem) {
  struct Row {
    const char* quantization;
    double gib;
  };
  const std::string packed =
      R"("quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"],
         "weights": {"num_bits": 4, "type": "int", "symmetric": true, "group_size": 128, "strategy": "group"}}})";
  const std::string ignored = packed + R"(, "ignore": ["lm_head", "model.layers.0.mlp.down_proj", "re:.*self_attn.*"])";
  const Row rows[] = {{R"("quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm",
          "modules_to_not_convert": ["self_attn"])",
                       7.762},
                      {R"("quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": true,
          "dynamic": {"-:.*layers\\.[0-9]\\..*": {}})",
                       8.342},
                      {ignored.c_str(), 7.811},
                      {R"("quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
          "modules_to_not_convert": ["model.layers.0.mlp", "model.layers.1.mlp", "model.layers.2.mlp", "model.layers.3.mlp",
          "model.layers.4.mlp", "model.layers.5.mlp", "model.layers.6.mlp", "model.layers.7.mlp", "model.layers.8.mlp",
          "model.layers.9.mlp", "lm_head"])",
                       10.195}};
  for (const Row& row : rows) {
    const testing::TemporaryDirectory dir;
    dir.file("config.json",
             R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 128, "hidden_size": 4096,
                 "intermediate_size": 12288, "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8,
                 "vocab_size": 151936, "max_position_embeddings": 40960, "torch_dtype": "bfloat16",
                 "tie_word_embeddings": false, "quantization_config": {)" +
                 std::string(row.quantization) + "}}");
    const auto run = testing::run_tool({"memory", "--format", "json", "--device-profile", "b60", "--device-count", "1",
                                        "--", "--model-path", dir.path(), "--attention-backend", "triton"});
    const auto sheet = nlohmann::json::parse(run.out, nullptr, false);
    ASSERT_TRUE(sheet.is_object() && sheet.contains("weights_gib")) << run.out << run.err;
    EXPECT_NEAR(sheet["weights_gib"].get<double>(), row.gib, 0.005 * row.gib) << row.quantization;
    EXPECT_TRUE(sheet["weights_approximated"].get<bool>()) << row.quantization;
  }
}

// Beside towers the layers have another name, and parts may be of several forms. Figures: 0.5.23's own classes.
TEST(PlainModules, BesideTowersAreFoundUnderTheNamesOfTheCheckpoint) {
  const auto weights = [](const char* model) {
    const auto run = testing::run_tool({"memory", "--format", "json", "--", "--model-path", model});
    return nlohmann::json::parse(run.out)["weights_gib"].get<double>();
  };
  EXPECT_NEAR(weights("nvidia/Gemma-4-31B-IT-NVFP4"), 30.60, 0.03);  // attention stays as it is
  EXPECT_NEAR(weights("nvidia/Qwen3.6-27B-NVFP4"), 19.62, 0.05);     // attention in FP8, the rest in four bits
}

// Those of a model are kept: another one's, or another description of the same, are others.
TEST(PlainModules, AreKeptByWhatDescribesThem) {
  const auto model = [](const char* ignored, std::int64_t layers) {
    ModelFacts m;
    m.quantization = "fp8";
    m.num_hidden_layers = layers;
    m.hf_quant_config =
        *Value::parse_json(std::string(R"({"quant_method": "fp8", "ignored_layers": [")") + ignored + "\"]}");
    return m;
  };
  const ModelFacts first = model("model.layers.0.mlp", 2);
  EXPECT_TRUE(plain_modules_of(first)->in_layer(0).down);
  EXPECT_EQ(plain_modules_of(first), plain_modules_of(first));
  EXPECT_FALSE(plain_modules_of(model("model.layers.1.mlp", 2))->in_layer(0).down);
  EXPECT_TRUE(plain_modules_of(model("model.layers.1.mlp", 2))->in_layer(1).down);
  EXPECT_NE(plain_modules_of(model("model.layers.0.mlp", 3)), plain_modules_of(first));
  ModelFacts other = first;
  other.quantization = "compressed-tensors";  // by endings
  EXPECT_FALSE(plain_modules_of(other)->in_layer(0).down);
}

}  // namespace
}  // namespace preflight::plan
