// Checkpoints that have a params.json instead of a config.json. Every row was compared with the real class.
#include <gtest/gtest.h>

#include "src/facts/model_files.h"
#include "src/facts/model_source.h"
#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

constexpr std::string_view kBody =
    R"("dim":4096,"n_layers":36,"head_dim":128,"hidden_dim":12288,"n_heads":32,"n_kv_heads":8,"norm_eps":1e-5,"rope_theta":1e8,"vocab_size":131072,"max_position_embeddings":131072)";
constexpr std::string_view kLatent =
    R"("q_lora_rank":1536,"kv_lora_rank":512,"qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128)";
constexpr std::string_view kExperts =
    R"("moe":{"num_experts":128,"num_experts_per_tok":4,"num_shared_experts":1,"expert_hidden_dim":4096,"first_k_dense_replace":3,"num_expert_groups":1,"num_expert_groups_per_tok":1,"routed_scale":1.0,"route_every_n":1})";
constexpr std::string_view kScaling = R"("llama_4_scaling":{"original_max_position_embeddings":8192,"beta":0.1})";

std::string object(std::initializer_list<std::string_view> parts) {
  std::string text = "{";
  for (const auto part : parts) text += (text.size() > 1 ? "," : "") + std::string(part);
  return text + "}";
}

ModelOutcome outcome_of(const std::string& directory, const std::string& params, Release release = v0_5(23)) {
  const testing::TemporaryDirectory root;
  root.file(directory + "/params.json", params);
  ModelFiles files;
  ModelRequest request;
  request.release = release;
  request.path = root.path() + "/" + directory;
  return build_model(files, request);
}

// Recorded with 0.5.23: the name decides only where --model-config-parser leaves it open.
TEST(MistralFormat, AParserGivenByHandCountsMoreThanTheName) {
  const testing::TemporaryDirectory root;
  const std::string body = object({kBody});
  root.file("plain/params.json", body);
  root.file("mistral-small-4/params.json", body);
  root.file("both/params.json", body);
  root.file("both/config.json",
            R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 4})");
  root.file("broken/params.json", "{");
  root.file("config/config.json", "{}");
  ModelFiles files(KnownModels::kNo);
  const auto told = [&](const std::string& directory, const char* parser, Release release = v0_5(23)) {
    ModelRequest request;
    request.release = release;
    request.path = root.path() + "/" + directory;
    request.config_parser = parser;
    const auto outcome = build_model(files, request);
    if (const auto* refusal = std::get_if<Refusal>(&outcome.result))
      return refusal->exception + " " + refusal->function;
    return std::get<std::shared_ptr<const ModelFacts>>(outcome.result)->model_type;
  };
  EXPECT_EQ(told("plain", "mistral"), "mistral");
  EXPECT_EQ(told("plain", "mistral", v0_5(13, 1)), "mistral");
  EXPECT_EQ(told("plain", "auto"), "ValueError parse");
  EXPECT_EQ(told("mistral-small-4", "auto"), "mistral");
  EXPECT_EQ(told("mistral-small-4", "hf"), "ValueError parse");
  EXPECT_EQ(told("both", "auto"), "qwen3");
  EXPECT_EQ(told("both", "mistral"), "mistral");
  EXPECT_EQ(told("both", "hf"), "qwen3");
  EXPECT_EQ(told("broken", "mistral"), "JSONDecodeError get_hf_file_to_dict");
  EXPECT_EQ(told("config", "mistral"), "FileNotFoundError get_hf_file_to_dict");
  EXPECT_EQ(told("absent", "mistral"), "OSError load_pointer_head");
  EXPECT_EQ(told("absent", "mistral", v0_5(22)), "HFValidationError download_from_hf");
  EXPECT_EQ(told("absent", "hf"), "OSError load_pointer_head");
  EXPECT_EQ(told("absent", "hf", v0_5(22)), "OSError _try_load_longcat_config");
  for (const char* unknown : {"none", "", "Mistral", " hf"}) {
    EXPECT_EQ(told("both", unknown), "ValueError get_model_config_parser") << unknown;
  }
}

TEST(MistralFormat, MapsTheNamesOfParamsJson) {
  struct Row {
    std::string directory, params, architecture, model_type;
    bool mla;
    std::optional<std::string> quantization;
  };
  const Row rows[] = {
      {"mistral-large-3", object({kBody, kLatent, kExperts, kScaling}), "MistralLarge3ForCausalLM", "deepseek_v3", true,
       std::nullopt},
      {"mistral-large-3-fp8",
       object({kBody, kLatent, kExperts, kScaling, R"("quantization":{"qformat_weight":"fp8_e4m3"})"}),
       "MistralLarge3ForCausalLM", "deepseek_v3", true, "fp8"},
      // drafts: latent attention without experts, or a Llama-like body
      {"mistral-small-4-eagle", object({kBody, kLatent}), "MistralLarge3ForCausalLMEagle", "deepseek_v3", true,
       std::nullopt},
      {"mistral-medium-eagle", object({kBody, R"("q_lora_rank":null,"v_head_dim":null)"}), "MistralForCausalLMEagle",
       "mistral", false, std::nullopt},
  };
  for (const auto& row : rows) {
    const auto outcome = outcome_of(row.directory, row.params);
    const auto* facts = std::get_if<std::shared_ptr<const ModelFacts>>(&outcome.result);
    ASSERT_NE(facts, nullptr) << row.directory << std::get<Refusal>(outcome.result).message;
    EXPECT_EQ((*facts)->architectures, std::vector<std::string>{row.architecture}) << row.directory;
    EXPECT_EQ((*facts)->model_type, row.model_type) << row.directory;
    EXPECT_EQ((*facts)->is_mla(), row.mla) << row.directory;
    EXPECT_EQ((*facts)->quantization, row.quantization) << row.directory;
    EXPECT_EQ((*facts)->num_hidden_layers, 36) << row.directory;
    // max_seq_len, which has a default there, goes before max_position_embeddings
    EXPECT_EQ((*facts)->context_len, 128000) << row.directory;
  }
}

TEST(MistralFormat, RefusesWhatSglangCannotMap) {
  struct Row {
    std::string params, refusal;
  };
  const Row rows[] = {
      {object({kBody, kLatent, kExperts}), "AssertionError adapt_config_dict"},  // no llama_4_scaling
      {object({kBody, R"("quantization":{"qformat_weight":"int4"})"}), "ValueError _remap_mistral_quantization_args"},
      {object({kBody, R"("yarn":{"factor":4,"what":1})"}), "AssertionError _remap_mistral_yarn_args"},
      // experts without a shared one keep a model type that transformers does not know
      {object({kBody, R"("moe":{"num_experts":8,"num_experts_per_tok":2})"}), "ValueError load_mistral_config"},
      {object({kBody, R"("sliding_window":[32768,null])"}), "StrictDataclassFieldValidationError load_mistral_config"},
  };
  for (const auto& row : rows) {
    const auto outcome = outcome_of("mistral-large-3", row.params);
    const auto* refusal = std::get_if<Refusal>(&outcome.result);
    ASSERT_NE(refusal, nullptr) << row.params;
    EXPECT_EQ(refusal->exception + " " + refusal->function, row.refusal) << row.params;
  }
}

TEST(MistralFormat, TakesALengthOf128000WhereNoneIsNamedAndSaysSo) {
  const auto outcome = outcome_of("mistral-large-3", R"({"dim":512,"n_layers":2,"n_heads":4,"vocab_size":32})");
  const auto* facts = std::get_if<std::shared_ptr<const ModelFacts>>(&outcome.result);
  ASSERT_NE(facts, nullptr) << std::get<Refusal>(outcome.result).message;
  EXPECT_EQ((*facts)->context_len, 128000);
  ASSERT_EQ(outcome.log.size(), 1U);
  EXPECT_EQ(outcome.log[0].function, "parse");
}

}  // namespace
}  // namespace preflight::facts
