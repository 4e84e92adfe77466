// Kinds of models, from the table that rules and resolution share.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/facts/kinds.h"
#include "src/resolve/models/model_questions.h"

namespace preflight {
namespace {

ModelFacts model_of(const char* root, const char* text = nullptr, const char* more = nullptr) {
  ModelFacts m;
  m.hf_text_config = Value::dict({{"model_type", text == nullptr ? root : text}});
  m.hf_config = Value::dict({{"model_type", root}});
  if (more != nullptr) {
    const Value added = Value::parse_json(more).value();
    for (const auto& [key, value] : added.as_dict()) {
      m.hf_config = m.hf_config.with(key, value);
      m.hf_text_config = m.hf_text_config.with(key, value);
    }
  }
  return m;
}

// One key of the configuration alone, as different model families name the same thing.
ModelFacts with_key(const char* key, const char* more = "") {
  return model_of("any", nullptr, (std::string("{\"") + key + "\": 6" + more + "}").c_str());
}

TEST(Kinds, ANumberIsReadUnderEachNameThatFamiliesGiveIt) {
  for (const char* key :
       {"n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups"}) {
    ModelFacts m = with_key(key);
    m.num_attention_heads = 32;
    EXPECT_EQ(total_kv_heads(m), 6) << key;
  }
  for (const char* key : {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts", "moe_k"})
    EXPECT_EQ(experts(with_key(key, R"(, "num_experts": 64)")).per_token, 6) << key;
  for (const char* key : {"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"})
    EXPECT_EQ(routed_experts(with_key(key)), 6) << key;
  for (const char* key : {"mamba_num_heads", "mamba_n_heads"}) {
    ModelFacts m = with_key(key);
    m.hf_config = m.hf_config.with("model_type", "falcon_h1");
    m.hf_text_config = m.hf_text_config.with("model_type", "falcon_h1");
    EXPECT_EQ(linear_attention_heads(m), 6) << key;
  }
}

// SGLang's class for the text of dense Qwen3.5 gives it 512 experts, which no layer of it has.
// Registered by its configuration class alone; the layer that drafts attends like any other.
TEST(Kinds, GigaChatHasLayersWithAState) {
  ModelFacts m = model_of("gigachat3_5");
  EXPECT_TRUE(is_gdn(m));
  m.is_draft_model = true;
  EXPECT_FALSE(is_hybrid(m));
}

TEST(Kinds, TheTextOfADenseModelHasNoExpertsWhateverItsClassGivesIt) {
  EXPECT_EQ(routed_experts(model_of("minicpmv4_6", "qwen3_5_text", R"({"num_experts": 512})")), 0);
  EXPECT_EQ(routed_experts(model_of("qwen3_5_moe", "qwen3_5_moe_text", R"({"num_experts": 512})")), 512);
}

TEST(Kinds, HeadsThatAreNotRepeatedHaveToDivide) {
  ModelFacts m = with_key("num_key_value_heads");
  m.num_attention_heads = 12;
  EXPECT_TRUE(heads_divide(m, 12));
  m.architectures = {"ZayaForCausalLM"};
  EXPECT_FALSE(heads_divide(m, 12));
  EXPECT_TRUE(heads_divide(m, 3));
}

// Their class builds none; of several classes the first that is known is built.
TEST(Kinds, AClassWithoutExpertsHasNoneWhateverItsConfigurationSays) {
  ModelFacts m = with_key("num_local_experts");
  m.architectures = {"LlamaForCausalLM"};
  EXPECT_EQ(routed_experts(m), 0);
  m.architectures = {"LlamaForCausalLM", "MixtralForCausalLM"};
  EXPECT_EQ(routed_experts(m), 6);
  m.architectures = {"MixtralForCausalLM"};
  EXPECT_EQ(routed_experts(m), 6);
}

TEST(Kinds, TheActivationIsTheExpertsOwnBeforeTheRest) {
  EXPECT_EQ(activation(model_of("any", nullptr, R"({"hidden_act": "a"})")), "a");
  EXPECT_EQ(activation(model_of("any", nullptr, R"({"hidden_act": "a", "hidden_activation": "b"})")), "b");
  EXPECT_EQ(activation(model_of("any", nullptr, R"({"hidden_activation": "b", "mlp_hidden_act": "c"})")), "c");
}

TEST(Kinds, TheWidthOfDenseLayersIsNotReadWhereTheClassWorksItOut) {
  for (const char* name : {"PhiForCausalLM", "MellumForCausalLM", "QWenLMHeadModel"}) {
    ModelFacts m = with_key("intermediate_size");
    EXPECT_EQ(dense_width(m), 6);
    m.architectures = {name};
    EXPECT_EQ(dense_width(m), 0) << name;
  }
}

TEST(Kinds, Lfm2NarrowsTheWidthOfItsDenseLayers) {
  struct Row {
    const char* config;
    std::int64_t width;
  };
  const Row rows[] = {{R"({"intermediate_size": 12288})", 8192},  // two thirds, and a multiple of 256 already
                      {R"({"intermediate_size": 12290})", 8448},
                      {R"({"intermediate_size": 12290, "block_multiple_of": 1})", 8193},
                      {R"({"intermediate_size": 12288, "block_ffn_dim_multiplier": 1.5})", 12288},
                      {R"({"intermediate_size": 12290, "block_auto_adjust_ff_dim": false})", 12290},
                      {R"({"intermediate_size": 12290, "block_auto_adjust_ff_dim": true})", 8448}};
  for (const Row& row : rows) {
    ModelFacts m = model_of("lfm2", nullptr, row.config);
    m.architectures = {"Lfm2ForCausalLM"};
    EXPECT_EQ(dense_width(m), row.width) << row.config;
    m.architectures = {"Lfm2MoeForCausalLM"};
    EXPECT_EQ(lfm2_width(m), m.text("intermediate_size").as_int()) << row.config;
  }
}

TEST(Kinds, ATowersWidthIsItsEmbeddingsBeforeItsHiddenSize) {
  const auto head = [](const char* vision) {
    ModelFacts m = model_of("any");
    m.hf_config = m.hf_config.with("vision_config", Value::parse_json(vision).value());
    return vision_head_dim(m);
  };
  EXPECT_EQ(head(R"({"embed_dim": 64, "hidden_size": 4096, "num_heads": 4})"), 16);
  EXPECT_EQ(head(R"({"hidden_size": 64, "num_attention_heads": 4})"), 16);
  EXPECT_EQ(head(R"({"hidden_size": 64, "num_heads": 4, "head_dim": 7})"), 7);
  EXPECT_EQ(head(R"({"hidden_size": 64})"), 0);
}

ModelFacts windowed(std::string_view architecture, const char* text) {
  ModelFacts m = model_of("any", nullptr, text);
  m.architectures = {std::string(architecture)};
  return m;
}

TEST(Kinds, TheBackendsAreToldOneLessThanTheWindowOfClassesThatCountTheTokenItself) {
  constexpr const char* kClasses[] = {"AfmoeForCausalLM",           "DiffusionGemmaForBlockDiffusion",
                                      "EmbeddingGemmaModel",        "Exaone4ForCausalLM",
                                      "Gemma2ForCausalLM",          "Gemma3ForConditionalGeneration",
                                      "Gemma3nForCausalLM",         "Gemma4ForCausalLM",
                                      "Gemma4AssistantForCausalLM", "GptOssForCausalLM",
                                      "MellumForCausalLM",          "MuseGlimmerForConditionalGeneration",
                                      "Olmo2ForCausalLM",           "Spark2_5ForCausalLM"};
  for (const char* name : kClasses) {
    EXPECT_EQ(sliding_window(windowed(name, R"({"sliding_window": 512})")), 512) << name;
    EXPECT_EQ(told_window(windowed(name, R"({"sliding_window": 512})")), 511) << name;
    EXPECT_EQ(told_window(windowed(name, R"({"sliding_window": null})")), std::nullopt) << name;
  }
  for (const char* name : {"BeamForCausalLM", "MuseSparkForCausalLM"}) {
    EXPECT_EQ(told_window(windowed(name, R"({"sliding_window": 512, "layer_types": ["sliding_attention"]})")), 511)
        << name;
    EXPECT_EQ(told_window(windowed(name, R"({"sliding_window": 512, "layer_types": ["full_attention"]})")),
              std::nullopt)
        << name;
  }
  EXPECT_EQ(
      told_window(windowed("InklingForConditionalGeneration", R"({"sliding_window_size": 16, "sliding_window": 7})")),
      15);
}

TEST(Kinds, OtherClassesHaveTheWindowOfTheirPoolsOrTheLocalChunk) {
  ModelFacts m = windowed("MistralForCausalLM", R"({"sliding_window": 4096})");
  EXPECT_EQ(told_window(m), std::nullopt) << "a key that the class does not read";
  m.sliding_window_size = 4096;
  EXPECT_EQ(told_window(m), std::nullopt) << "no window pool";
  m.is_hybrid_swa = true;
  EXPECT_EQ(told_window(m), 4096);
  m.is_hybrid_swa = false;
  m.attention_chunk_size = 8192;
  EXPECT_EQ(told_window(m), 8192);
  EXPECT_EQ(runtime_window(m), 8192);
  for (const auto& [name, told] :
       {std::pair{"JetNemotronForCausalLM", 2048}, std::pair{"UnlimitedOCRForCausalLM", 2049}}) {
    ModelFacts own = windowed(name, "{}");
    EXPECT_EQ(told_window(own), std::nullopt) << name;
    own.sliding_window_size = 2049;
    EXPECT_EQ(sliding_window(own), 2049) << name;
    EXPECT_EQ(told_window(own), told) << name;
  }
}

TEST(Kinds, AStateIsToldByTheConfigurationsClassAsSglangDoes) {
  struct Row {
    ModelFacts model;
    RecurrentState want;
  };
  const Row rows[] = {
      {model_of("qwen3"), RecurrentState::kNone},
      {model_of("qwen3_next"), RecurrentState::kGatedDelta},
      {model_of("qwen3_5", "qwen3_5_text"), RecurrentState::kGatedDelta},
      {model_of("qwen4_exp", "qwen4_exp_text"), RecurrentState::kGatedDelta},
      {model_of("jet_vlm"), RecurrentState::kGatedDelta},
      {model_of("kimi_linear"), RecurrentState::kKimiDelta},
      {model_of("bailing_hybrid"), RecurrentState::kLightning},
      {model_of("bailing_hybrid", nullptr, R"({"use_kda":true})"), RecurrentState::kKimiDelta},
      {model_of("granitemoehybrid", nullptr, R"({"layer_types":["attention"]})"), RecurrentState::kNone},
      {model_of("granitemoehybrid", nullptr, R"({"layer_types":["attention","mamba"]})"), RecurrentState::kMamba2},
      {model_of("nemotron_h"), RecurrentState::kMamba2},
      {model_of("lfm2_moe"), RecurrentState::kShortConvolution},
      {model_of("zaya"), RecurrentState::kOther},
      {model_of("mamba2"), RecurrentState::kOnlyState},
      {model_of("mamba"), RecurrentState::kOnlyState},
      {model_of("falcon_mamba"), RecurrentState::kOnlyState},
      {model_of("nemotron_h_puzzle"), RecurrentState::kMamba2},
      {model_of("NemotronH_Nano_VL_V2"), RecurrentState::kMamba2},
      {model_of("NemotronH_Nano_Omni_Reasoning_V3"), RecurrentState::kMamba2},
      {model_of("nemotron_h_omni"), RecurrentState::kMamba2},
      {model_of("falcon_h1"), RecurrentState::kMamba2},
      {model_of("lfm2"), RecurrentState::kShortConvolution},
      {model_of("lfm2_vl"), RecurrentState::kShortConvolution},
      {model_of("inkling_model"), RecurrentState::kOther},
      {model_of("inkling_mm_model"), RecurrentState::kOther},
      {model_of("minicpm_sala", nullptr, R"({"mixer_types": ["attn", "lightning_attn"]})"), RecurrentState::kLightning},
      {model_of("minicpm_sala", nullptr, R"({"mixer_types": ["minicpm4"]})"), RecurrentState::kNone},
      {model_of("minicpm_sala"), RecurrentState::kNone},
      {model_of("glm5_next"), RecurrentState::kKimiDelta},
      {model_of("qwen3_5_moe", "qwen3_5_moe_text"), RecurrentState::kGatedDelta},
      {model_of("jet_nemotron"), RecurrentState::kGatedDelta},
  };
  for (const Row& row : rows) {
    const std::string name = row.model.root("model_type").as_string();
    EXPECT_EQ(recurrent_state(row.model), row.want) << name;
    // Resolution asks the same table; all Mamba is "mambaish" there and no hybrid here.
    EXPECT_EQ(resolve::is_mambaish(row.model), row.want != RecurrentState::kNone) << name;
    EXPECT_EQ(is_hybrid(row.model), row.want != RecurrentState::kNone && row.want != RecurrentState::kOnlyState)
        << name;
  }
  ModelFacts draft = model_of("nemotron_h", nullptr, R"({"mtp_hybrid_override_pattern":"*E"})");
  EXPECT_EQ(recurrent_state(draft), RecurrentState::kMamba2);
  draft.is_draft_model = true;
  EXPECT_EQ(recurrent_state(draft), RecurrentState::kNone);
}

TEST(Kinds, SparseAttentionNeedsAnArchitectureOfTheReleaseAndItsKey) {
  ModelFacts m = model_of("deepseek_v32", nullptr, R"({"index_topk":2048})");
  m.architectures = {"GlmMoeDsaForCausalLMNextN"};
  EXPECT_FALSE(is_deepseek_sparse(m, v0_5(15, 1)));
  EXPECT_TRUE(is_deepseek_sparse(m, v0_5(16)));
  EXPECT_TRUE(resolve::is_deepseek_dsa(m, v0_5(16)));
  m.hf_config = model_of("deepseek_v32").hf_config;
  EXPECT_FALSE(is_deepseek_sparse(m, v0_5(16)));
}

}  // namespace
}  // namespace preflight
