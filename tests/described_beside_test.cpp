// How packed weights are described by a file beside config.json: the loader reads it when --quantization names the
// method, and not unasked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"
#include "tests/support/run_tool.h"

namespace preflight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What `check` says of a Qwen3-8B whose folder holds that file, too.
std::string checked(const std::string& file, const std::string& text, const std::vector<std::string>& more = {}) {
  const TemporaryDirectory root;
  root.file("m/config.json", read_file(source_directory() + "/tests/data/models/qwen3-8b/config.json"));
  if (!file.empty()) root.file("m/" + file, text);
  std::vector<std::string> words = {
      "check",        "--no-kernel",      "--device-profile", "b60", "--device-count", "1", "--",
      "--model-path", root.path() + "/m", "--device",         "xpu"};
  words.insert(words.end(), more.begin(), more.end());
  return run_tool(words).out;
}

constexpr const char* kFour = R"({"bits": 4, "group_size": 128, "desc_act": false})";
constexpr const char* kEight = R"({"bits": 8, "group_size": 128, "desc_act": false})";
constexpr const char* kAwq = R"({"w_bit": 4, "q_group_size": 128, "zero_point": true})";

TEST(DescribedBeside, AMethodThatIsAskedForReadsTheFile) {
  const std::string told = checked("quantize_config.json", kFour, {"--quantization", "gptq"});
  EXPECT_THAT(told, Not(HasSubstr("QN011")));
  EXPECT_THAT(told, HasSubstr("about 5.68 of"));
  EXPECT_THAT(checked("quantize_config.json", kEight, {"--quantization", "gptq"}), HasSubstr("QN006]: GPTQ with 8"));
  EXPECT_THAT(checked("quant_config.json", kAwq, {"--quantization", "awq"}), Not(HasSubstr("QN011")));
  EXPECT_THAT(checked("quant_config.json", kAwq, {"--quantization", "gptq"}), HasSubstr("QN011"));
  EXPECT_THAT(checked("", "", {"--quantization", "gptq"}), HasSubstr("QN011"));
}

TEST(DescribedBeside, UnaskedItIsNotRead) {
  const std::string told = checked("quantize_config.json", kFour);
  EXPECT_THAT(told, HasSubstr("warning[QN027]: quantize_config.json describes packed weights (gptq)"));
  EXPECT_THAT(told, HasSubstr("fix: --quantization gptq"));
  EXPECT_THAT(checked("quant_config.json", kAwq), HasSubstr("fix: --quantization awq"));
  for (const char* other : {"[]", "{}", "no JSON", R"({"bits": null})"})
    EXPECT_THAT(checked("quantize_config.json", other), Not(HasSubstr("QN027"))) << other;
  EXPECT_THAT(checked("", ""), Not(HasSubstr("QN027")));
}

// Whatever names its keys have, a configuration says nothing of the files beside it.
TEST(DescribedBeside, AConfigurationCannotSpeakForTheFilesBesideIt) {
  const TemporaryDirectory root;
  std::string config = read_file(source_directory() + "/tests/data/models/qwen3-8b/config.json");
  config.insert(
      config.find('{') + 1,
      R"("hf_quant_config.json is not read": 5, "described beside config.json": ["quantize_config.json", 5],)");
  root.file("m/config.json", config);
  const auto run =
      run_tool({"check", "--no-kernel", "--device-profile", "b60", "--", "--model-path", root.path() + "/m"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, Not(::testing::ContainsRegex("QN018|QN027")));
}

// GPTQ's tensors of one product, and 16-bit ones, of a small Llama.
void add_packed(WeightFiles& files, const std::string& name, std::int64_t out, std::int64_t in) {
  const auto add_as = [&](const char* dtype, const char* part, std::vector<std::int64_t> shape, std::int64_t size) {
    StoredTensor t{.name = name + part, .dtype = dtype, .shape = std::move(shape), .bytes = size};
    for (const std::int64_t n : t.shape) t.bytes *= n;
    files.bytes += t.bytes;
    files.tensors.push_back(std::move(t));
  };
  add_as("I32", ".qweight", {in / 8, out}, 4);
  add_as("I32", ".qzeros", {in / 128, out / 8}, 4);
  add_as("F16", ".scales", {in / 128, out}, 2);
  add_as("I32", ".g_idx", {in}, 4);
}

WeightFiles packed_llama() {
  WeightFiles files;
  add(files, "model.embed_tokens.weight", {256, 256});
  add(files, "lm_head.weight", {256, 256});
  add(files, "model.norm.weight", {256});
  const std::string layer = "model.layers.0.";
  for (const char* part : {"q_proj", "k_proj", "v_proj", "o_proj"})
    add_packed(files, layer + "self_attn." + part, 256, 256);
  for (const char* part : {"gate_proj", "up_proj"}) add_packed(files, layer + "mlp." + part, 512, 256);
  add_packed(files, layer + "mlp.down_proj", 256, 512);
  for (const char* part : {"input_layernorm.weight", "post_attention_layernorm.weight"})
    add(files, layer + part, {256});
  return files;
}

TEST(DescribedBeside, WeightsThatDoNotFitUnpackedAreMendedByTheMethod) {
  const TemporaryDirectory dir;
  dir.file("config.json",
           R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,
    "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
    "head_dim": 128, "vocab_size": 256, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
    "torch_dtype": "float16", "tie_word_embeddings": false})");
  dir.file("quantize_config.json", R"({"bits": 4, "group_size": 128, "desc_act": false, "sym": true})");
  dir.file("tokenizer_config.json", "{}");
  dir.file("model.safetensors", safetensors_of(packed_llama()));
  const std::vector<std::string> words = {"check", "--no-kernel", "--device-profile", "b60",      "--device-count",
                                          "1",     "--",          "--model-path",     dir.path(), "--device",
                                          "xpu"};
  const std::string told = run_tool(words).out;
  const auto at = told.find("error[MD006]");
  ASSERT_NE(at, std::string::npos) << told;
  const auto fix = told.find("fix: ", at);
  EXPECT_THAT(told.substr(fix, 40), HasSubstr("fix: --quantization gptq")) << told;
  EXPECT_THAT(told, Not(HasSubstr("no single change")));
}

}  // namespace
}  // namespace preflight::testing
