// Parameter counts against the published ones, bytes by quantisation, and the share of one rank.
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/plan/counted_classes.h"
#include "src/plan/memory_sheet.h"
#include "src/plan/weights.h"
#include "tests/support/example_launch.h"
#include "tests/support/run_tool.h"

namespace preflight {
namespace {

std::shared_ptr<const ModelFacts> facts_of(std::string_view model) {
  const RuleExample example{.model = model, .args = "--device xpu --disable-radix-cache --trust-remote-code"};
  return testing::launch_of(supported_releases().back(), example).model;
}

TEST(Weights, ParametersAreThePublishedOnes) {
  struct Row {
    const char* model;
    double billions;
    double tolerance;
  };
  const Row rows[] = {
      {"llama-3.1-8b-instruct", 8.030, 0.001},               // plain, separate head
      {"llama-3.2-1b-instruct", 1.236, 0.001},               // shared head
      {"qwen2.5-7b-instruct", 7.616, 0.001},                 // biases are too few to count
      {"qwen3-8b", 8.191, 0.001},                            // head size not hidden / heads
      {"gemma-2-9b-it", 9.242, 0.001},                       // head shared by the class default
      {"deepseek-v2-lite-chat", 15.71, 0.002},               // MLA without a query rank, experts from layer 1 on
      {"deepseek-v3", 671.0, 0.002},                         // MLA with a query rank, the draft layer not counted
      {"qwen3-30b-a3b", 30.53, 0.002},                       // experts in every layer
      {"qwen3-next-80b-a3b", 79.7, 0.01},                    // gated delta rule, shared expert
      {"qwen3.5-9b", 9.0, 0.12},                             // dense hybrid with a vision tower
      {"nvidia-nemotron-3-nano-30b-a3b-bf16", 31.58, 0.01},  // Mamba-2, attention and experts by letter
      {"gpt-oss-20b", 20.9, 0.01},
      {"kimi-linear-48b-a3b-instruct", 49.12, 0.001},  // Kimi delta attention and MLA
      {"minicpm3-4b", 4.074, 0.001},                   // MLA that is sized by its rotary part alone
      {"mamba-130m-hf", 0.1291, 0.006},                // no attention and no MLP; decays are counted as two
      {"lfm2-1.2b", 1.170, 0.002},                     // short convolutions, a narrowed MLP
      {"llama-4-scout-17b-16e", 107.77, 0.001},        // its text part: images are off unless asked for
  };
  for (const Row& row : rows) {
    const auto model = facts_of(row.model);
    ASSERT_NE(model, nullptr) << row.model;
    const auto weights = plan::estimate_weights(*model);
    ASSERT_TRUE(weights) << row.model;
    const double billions = static_cast<double>(weights->parameters) / 1e9;
    EXPECT_LT(std::abs(billions / row.billions - 1), row.tolerance) << row.model << ": " << billions;
  }
}

// GiB of a model whose checkpoint says that; `method` alone: it says nothing, and the launch asks for that.
double gib_stored_as(const char* model, const char* method, const Value& config = Value()) {
  ModelFacts m = *facts_of(model);
  m.quantization = method;
  m.hf_quant_config = m.quant_config = config;
  return static_cast<double>(plan::estimate_weights(m)->total_bytes) / (1 << 30);
}

TEST(Weights, OfFourBitFormsTakeHalfAByteAndTheirScales) {
  const Value bits4 = Value::dict({{"bits", 4}, {"group_size", 128}});
  const double packed = gib_stored_as("qwen3-8b", "gptq", bits4);
  const double experts = gib_stored_as("qwen3-30b-a3b", "gptq", bits4);
  EXPECT_NEAR(packed, 5.68, 0.01);
  EXPECT_NEAR(experts, 15.65, 0.05);
  const Value nf4 = Value::dict({{"load_in_4bit", true}});
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "bitsandbytes", nf4), packed, 0.03);
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "bitsandbytes"), packed, 0.03);
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "bitsandbytes", Value::dict({{"load_in_8bit", true}})), 8.79, 0.02);
  const auto quark = [](const char* type) {
    const Value weight = Value::dict({{"dtype", type}, {"group_size", 32}});
    return Value::dict({{"global_quant_config", Value::dict({{"weight", weight}})}});
  };
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "quark", quark("fp4")), packed, 0.1);
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "quark", quark("fp8_e4m3")), 8.79, 0.02);
  // Its other layers have a byte an element, its experts scales of 32 bits: as 0.5.23 allocates them.
  EXPECT_NEAR(gib_stored_as("qwen3-30b-a3b", "w4afp8", Value::dict({{"quant_method", "w4afp8"}})), 16.371, 0.002);
  EXPECT_DOUBLE_EQ(gib_stored_as("qwen3-30b-a3b", "moe_wna16", bits4), experts);
}

// What the classes of 0.5.23 allocate on torch's meta device, where the row has no other remark.
TEST(Weights, OfModelOptFollowTheAlgorithmAndTheNamesLeftOut) {
  const auto described = [](const char* algorithm, const std::vector<const char*>& ignored,
                            const char* key = "ignore") {
    Value::List names;
    for (const char* name : ignored) names.emplace_back(name);
    return Value::dict({{"quant_algo", algorithm}, {"group_size", 16}, {key, Value::list(std::move(names))}});
  };
  const auto modelopt = [&](const char* model, const Value& config) {
    return gib_stored_as(model, "modelopt_fp4", config);
  };
  EXPECT_NEAR(modelopt("qwen3-8b", described("NVFP4", {"lm_head"})), 5.958, 0.002);
  EXPECT_NEAR(modelopt("qwen3-8b", described("NVFP4", {})), 5.124, 0.002);  // the head, too
  EXPECT_NEAR(modelopt("qwen3-8b", described("NVFP4", {"lm_head", "model.layers.*.self_attn*"})), 7.979, 0.002);
  EXPECT_NEAR(modelopt("qwen3-8b", described("NVFP4", {"lm_head", "self_at*"})), 7.979, 0.002);  // one part of the name
  EXPECT_NEAR(modelopt("qwen3-8b", described("NVFP4", {"lm_head", "self_at"})), 5.958, 0.002);
  const Value latent = described("FP8", {"lm_head", "model.layers.*.self_attn*"});
  EXPECT_NEAR(gib_stored_as("deepseek-v2-lite-chat", "modelopt_fp8", latent), 15.368, 0.002);
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "mxfp8", described("MXFP8", {"lm_head"})), 8.990, 0.002);
  // Its method has no experts, by the source.
  const double experts = 48.0 * 128 * 3 * 2048 * 768;
  EXPECT_NEAR(gib_stored_as("qwen3-30b-a3b", "petit_nvfp4", described("NVFP4", {"lm_head"})) -
                  modelopt("qwen3-30b-a3b", described("NVFP4", {"lm_head"})),
              experts * (2 - 0.5625) / (1 << 30), 0.01);
  // From hf_quant_config.json alone: two modules of two layers are plain.
  ModelFacts m = *facts_of("qwen3-8b");
  m.quantization = "modelopt_fp4";
  m.quant_config = Value::dict(
      {{"quant_method", "modelopt_fp4"},
       {"quantization", described("NVFP4", {"lm_head", "model.layers.1.self_attn*", "model.layers.2.mlp.down_proj"},
                                  "exclude_modules")}});
  EXPECT_NEAR(static_cast<double>(plan::estimate_weights(m)->total_bytes) / (1 << 30), 6.081, 0.002);
}

// By the source: attention in FP8 beside experts in NVFP4.
TEST(Weights, OfMixedAlgorithmsFollowTheirModules) {
  const auto algorithm = [](const char* name) { return Value::dict({{"quant_algo", name}}); };
  const Value mixed =
      Value::dict({{"quant_algo", "MIXED_PRECISION"},
                   {"quantized_layers", Value::dict({{"model.layers.0.self_attn.q_proj", algorithm("FP8")},
                                                     {"model.layers.0.mlp.experts", algorithm("NVFP4")}})}});
  const Value one = Value::dict({{"quant_algo", "FP8"}, {"ignore", Value::list({"lm_head"})}});
  const double experts = 48.0 * 128 * 3 * 2048 * 768;
  EXPECT_NEAR(
      gib_stored_as("qwen3-30b-a3b", "modelopt_fp8", one) - gib_stored_as("qwen3-30b-a3b", "modelopt_mixed", mixed),
      experts * (1 - 0.5625) / (1 << 30), 0.01);
}

// compressed-tensors in 4-bit floats, by the source: no class of it is built for an Intel GPU.
TEST(Weights, OfPackedFloatsHaveScalesOfOneByte) {
  const auto packed = [](std::int64_t group) {
    const Value weights = Value::dict({{"num_bits", 4}, {"type", "float"}, {"group_size", group}, {"symmetric", true}});
    return Value::dict({{"config_groups", Value::dict({{"group_0", Value::dict({{"weights", weights}})}})}});
  };
  const Value nvfp4 = Value::dict({{"quant_algo", "NVFP4"}, {"ignore", Value::list({"lm_head"})}});
  EXPECT_DOUBLE_EQ(gib_stored_as("qwen3-8b", "compressed-tensors", packed(16)),
                   gib_stored_as("qwen3-8b", "modelopt_fp4", nvfp4));
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "compressed-tensors", packed(32)), 5.754, 0.002);
}

TEST(Weights, ThatNothingQuantisesStayAsTheyAre) {
  EXPECT_NEAR(gib_stored_as("qwen3-8b", "modelopt_fp4"), 15.26, 0.01);
  // 48 layers of 128 experts with three sides of 2048 by 768.
  const double experts = 48.0 * 128 * 3 * 2048 * 768;
  const double plain = static_cast<double>(plan::estimate_weights(*facts_of("qwen3-30b-a3b"))->total_bytes);
  EXPECT_NEAR(gib_stored_as("qwen3-30b-a3b", "modelopt_fp4"), (plain - experts * (2 - 0.5625)) / (1 << 30), 0.01);
}

TEST(Weights, OfGptqFollowItsWordsForSomeOfTheLayers) {
  const auto gptq = [](const char* key, const Value& value) {
    return gib_stored_as("qwen3-8b", "gptq", Value::dict({{"bits", 4}, {"group_size", 128}, {key, value}}));
  };
  const double packed = gptq("lm_head", false);
  // 151936 rows of 4096 in half a byte in place of two.
  EXPECT_NEAR(packed - gptq("lm_head", true), 151936.0 * 4096 * (2 - 0.5195) / (1 << 30), 0.01);
  // 36 layers of 12288 by 4096 in one byte in place of a half.
  const Value eight = Value::dict({{"bits", 8}});
  const double more = 36.0 * 12288 * 4096 * 0.504 / (1 << 30);
  EXPECT_NEAR(gptq("dynamic", Value::dict({{"+:.*down_proj.*", eight}})) - packed, more, 0.01);
  EXPECT_NEAR(gptq("dynamic", Value::dict({{".*down_proj.*", eight}})) - packed, more, 0.01);
  EXPECT_DOUBLE_EQ(gptq("dynamic", Value::dict({{"+:.*no_such_layer.*", eight}})), packed);
}

std::shared_ptr<const ModelFacts> facts_of_id(const std::string& id) {
  facts::ModelFiles models(facts::KnownModels::kYes);
  auto parsed = args::parse(supported_releases().back(), {"--model-path", id, "--trust-remote-code"});
  auto* given = std::get_if<ServerArgs>(&parsed);
  return given ? resolve::resolve({std::move(*given), models, testing::device_of("b60"), {}}).model : nullptr;
}

TEST(Weights, OfPublishedCheckpointsAreAsManyAsTheyAreSaidToHave) {
  struct Row {
    const char* id;
    double billions;
    double tolerance;
  };
  const Row rows[] = {
      {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120.6, 0.02},   // experts between two projections
      {"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 550.0, 0.03},  //
      {"moonshotai/Kimi-K3", 2800.0, 0.03},                            // the same, under another name
      {"Qwen/Qwen-7B-Chat", 7.721, 0.002},                             // one width for gate and up together
      {"microsoft/Phi-3-small-8k-instruct", 7.39, 0.06},  // a width under a name of its own; its code shares the head
      {"tiiuae/falcon-40b", 41.84, 0.02}};                // two matrices a layer
  for (const Row& row : rows) {
    const auto model = facts_of_id(row.id);
    ASSERT_NE(model, nullptr) << row.id;
    const auto weights = plan::estimate_weights(*model);
    ASSERT_TRUE(weights) << row.id;
    const double billions = static_cast<double>(weights->parameters) / 1e9;
    EXPECT_LT(std::abs(billions / row.billions - 1), row.tolerance) << row.id << ": " << billions;
  }
}

// A width that is not told is no width of 0: Nemotron's layers differ one by one, MPT's own class fills its width in.
TEST(Weights, AreNotCountedWhereTheWidthIsNotTold) {
  for (const char* id : {"nvidia/Llama-3_3-Nemotron-Super-49B-v1", "mosaicml/mpt-7b"}) {
    const auto model = facts_of_id(id);
    ASSERT_NE(model, nullptr) << id;
    EXPECT_FALSE(plan::estimate_weights(*model)) << id;
  }
}

TEST(Weights, BytesFollowTheQuantisation) {
  struct Row {
    const char* model;
    double gigabytes;
  };
  const Row rows[] = {
      {"qwen3-8b", 16.381},  // two bytes each
      {"deepseek-v2-lite-chat", 31.413},
      {"qwen3-8b-fp8", 9.44},   // embeddings and head stay at two
      {"qwen3-8b-awq", 6.1},    // four bits, a scale and a zero point for 128
      {"gpt-oss-20b", 13.761},  // MXFP4 experts only
  };
  for (const Row& row : rows) {
    const auto weights = plan::estimate_weights(*facts_of(row.model));
    ASSERT_TRUE(weights) << row.model;
    EXPECT_NEAR(static_cast<double>(weights->total_bytes) / 1e9 / row.gigabytes, 1.0, 0.01) << row.model;
  }
}

TEST(Weights, RanksShareWhatTensorParallelismCuts) {
  const auto model = facts_of("llama-3.1-8b-instruct");
  const auto whole = plan::estimate_weights(*model);
  const auto half = plan::estimate_weights(*model, {.tp = 2, .attention_tp = 2, .moe_tp = 2});
  EXPECT_EQ(whole->total_bytes, whole->per_rank_bytes);
  EXPECT_NEAR(static_cast<double>(half->per_rank_bytes), static_cast<double>(whole->total_bytes) / 2, 1e6);
  // Attention data parallelism: Llama's class cuts its attention all the same, table and head too.
  const auto replicated = plan::estimate_weights(*model, {.tp = 2, .attention_tp = 1, .moe_tp = 2});
  EXPECT_EQ(replicated->per_rank_bytes, half->per_rank_bytes);
  // Experts over expert parallelism alone.
  const auto experts = facts_of("qwen3-30b-a3b");
  const auto spread = plan::estimate_weights(*experts, {.tp = 4, .attention_tp = 4, .moe_tp = 1, .ep = 4});
  const auto cut = plan::estimate_weights(*experts, {.tp = 4, .attention_tp = 4, .moe_tp = 4, .ep = 1});
  EXPECT_EQ(spread->per_rank_bytes, cut->per_rank_bytes);
}

// Qwen3-8B: a layer has 41,943,040 parameters of attention and 150,994,944 of the MLP, a table 151,936 x 4,096.
constexpr std::int64_t kAttention = 41'943'040;
constexpr std::int64_t kMlp = 150'994'944;
constexpr std::int64_t kTable = 151'936LL * 4096;

TEST(Weights, AStageHoldsTheTableOrTheHead) {
  const auto model = facts_of("qwen3-8b");
  const auto two = plan::estimate_weights(*model, {.pp = 2});
  EXPECT_EQ(two->per_rank_bytes, 2 * (18 * (kAttention + kMlp) + kTable));
  // 36 layers on five stages: 7, 7, 7, 7 and 8; the last one has the head.
  const auto five = plan::estimate_weights(*model, {.pp = 5});
  EXPECT_EQ(five->per_rank_bytes, 2 * (8 * (kAttention + kMlp) + kTable));
  const auto given = plan::estimate_weights(*model, {.pp = 2, .stages = {20, 16}});
  EXPECT_EQ(given->per_rank_bytes, 2 * (20 * (kAttention + kMlp) + kTable));
  // A tied head cannot be shared between stages.
  const auto tied = facts_of("qwen3-0.6b");
  const auto one_stage = plan::estimate_weights(*tied);
  const auto stages = plan::estimate_weights(*tied, {.pp = 2});
  EXPECT_EQ(stages->parameters, one_stage->parameters);
  EXPECT_EQ(stages->total_bytes, one_stage->total_bytes + 2 * 151'936LL * 1024);
}

// Recorded of 0.5.23: Qwen2's class keeps the table alone for attention's ranks, Mixtral's has a head on every stage.
TEST(Weights, AClassDecidesWhatAttentionDataParallelismCopies) {
  const auto qwen2 =
      plan::estimate_weights(*facts_of("qwen2.5-7b-instruct"), {.tp = 4, .attention_tp = 1, .moe_tp = 4});
  EXPECT_NEAR(static_cast<double>(qwen2->per_rank_bytes), 4625610752.0, 5e6);
  const auto mixtral = plan::estimate_weights(*facts_of_id("mistralai/Mixtral-8x7B-Instruct-v0.1"), {.pp = 2});
  EXPECT_NEAR(static_cast<double>(mixtral->per_rank_bytes), 46964932608.0, 5e6);
}

// Recorded of 0.5.23, the fuller of two stages: each has the tower and a head, the first the table besides.
TEST(Weights, OfATextThatAnotherClassBuildsAreSharedByItsStages) {
  struct Row {
    const char* id;
    double recorded;
  };
  for (const Row& row : {Row{"Qwen/Qwen2-VL-7B-Instruct", 10057125888.0},
                         Row{"mistralai/Devstral-Small-2-24B-Instruct-2512", 14677587200.0},
                         Row{"mistralai/Voxtral-Mini-3B-2507", 6143791104.0}}) {
    facts::ModelFiles models(facts::KnownModels::kYes);
    auto parsed = args::parse(v0_5(23), {"--model-path", row.id, "--trust-remote-code", "--pp-size", "2"});
    auto* given = std::get_if<ServerArgs>(&parsed);
    ASSERT_NE(given, nullptr);
    const Launch launch = resolve::resolve({std::move(*given), models, testing::device_of("b60"), {}});
    ASSERT_NE(launch.model, nullptr);
    const auto counted = plan::estimate_weights(*launch.model, plan::weight_split(launch));
    ASSERT_TRUE(counted);
    EXPECT_NEAR(static_cast<double>(counted->per_rank_bytes), row.recorded, 0.005 * row.recorded) << row.id;
  }
}

// Recorded of 0.5.23: under attention data parallelism Qwen2-VL's tower is whole in its attention, cut in its MLP.
TEST(Weights, TheFirstQwenVlCutsTheRestOfItsTowerOverAllRanks) {
  const auto counted = plan::estimate_weights(*facts_of_id("Qwen/Qwen2-VL-7B-Instruct"),
                                              {.tp = 4, .attention_tp = 1, .moe_tp = 4, .head_over_attention = true});
  EXPECT_NEAR(static_cast<double>(counted->per_rank_bytes), 5280883200.0, 0.005 * 5280883200.0);
}

// By the source: transformers' encoder, which nothing cuts, and one matrix to the text's width.
TEST(Weights, Qwen2AudioHears) {
  const auto model = [](const char* more) {
    facts::ModelFiles models;
    const testing::TemporaryDirectory dir;
    dir.file("config.json",
             std::string(R"({"architectures":["Qwen2AudioForConditionalGeneration"],"model_type":"qwen2_audio",
        "audio_config":{"d_model":1280,"encoder_layers":32,"encoder_ffn_dim":5120,"encoder_attention_heads":20},
        "text_config":{"model_type":"qwen2","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
        "num_key_value_heads":32,"intermediate_size":11008,"vocab_size":156032},"torch_dtype":"bfloat16"})") +
                 more);
    auto parsed = args::parse(supported_releases().back(), {"--model-path", dir.path()});
    auto* given = std::get_if<ServerArgs>(&parsed);
    return resolve::resolve({std::move(*given), models, testing::device_of("b60"), {}}).model;
  };
  constexpr std::int64_t kText = 32LL * (4 * 4096 * 4096 + 3LL * 4096 * 11008) + 2LL * 156032 * 4096;
  constexpr std::int64_t kEars =
      32LL * (4 * 1280 * 1280 + 2 * 1280 * 5120) + 3LL * 1280 * (128 + 1280) + 1500LL * 1280 + 1280LL * 4096;
  for (const std::int64_t tp : {1, 4}) {
    const auto counted = plan::estimate_weights(*model(""), {.tp = tp, .attention_tp = tp, .moe_tp = tp});
    EXPECT_EQ(counted->per_rank_bytes, 2 * (kText / tp + kEars)) << tp;
  }
}

TEST(Weights, AttentionDataParallelismCutsTheHeadUnlessToldOtherwise) {
  const auto model = facts_of("qwen3-8b");
  const std::int64_t layers = 36 * (kAttention + kMlp / 8);
  const auto plain = plan::estimate_weights(*model, {.tp = 8, .attention_tp = 1, .moe_tp = 8});
  EXPECT_EQ(plain->per_rank_bytes, 2 * (layers + kTable + kTable / 8));
  const auto whole =
      plan::estimate_weights(*model, {.tp = 8, .attention_tp = 1, .moe_tp = 8, .head_over_attention = true});
  EXPECT_EQ(whole->per_rank_bytes, 2 * (layers + 2 * kTable));
}

TEST(Weights, AVisionTowerIsCutUnlessItIsReplicated) {
  // GLM-4.1V: 24 blocks of 4 x 1536^2 and 3 x 1536 x 4096, a merger of 3 x 4096 x 13696; whole: 4096^2 and a
  // convolution of 1536 x 4096 x 4.
  constexpr std::int64_t kCut = 24 * (4 * 1536LL * 1536 + 3 * 1536LL * 4096) + 3 * 4096LL * 13696;
  constexpr std::int64_t kWhole = 4096LL * 4096 + 4 * 1536LL * 4096;
  // Two heads of keys and values on four ranks: each is held twice.
  constexpr std::int64_t kLayer = 2 * 4096LL * 4096 + 2 * 2 * 4096LL * 256 + 3 * 4096LL * 13696;
  constexpr std::int64_t kText = (40 * kLayer + 2 * 151'552LL * 4096) / 4;
  const auto model = facts_of("glm-4.1v-9b-thinking");
  const auto cut = plan::estimate_weights(*model, {.tp = 4, .attention_tp = 4, .moe_tp = 4});
  EXPECT_EQ(cut->per_rank_bytes, 2 * (kText + kCut / 4 + kWhole));
  const auto whole = plan::estimate_weights(*model, {.tp = 4, .attention_tp = 4, .moe_tp = 4, .whole_encoder = true});
  EXPECT_EQ(whole->per_rank_bytes, 2 * (kText + kCut + kWhole));
}

// Of a block of these towers attention alone is cut by attention's ranks, the MLP, and Qwen's merger, by all.
TEST(Weights, TheMlpOfAnEarlyVisionTowerIsCutOverAllRanks) {
  struct Row {
    const char* architecture;
    Value vision;
    double attention;
    double over_all;
  };
  const Value siglip = Value::dict({{"hidden_size", 8}, {"num_hidden_layers", 3}, {"intermediate_size", 20}});
  const Value qwen =
      Value::dict({{"hidden_size", 8}, {"depth", 3}, {"intermediate_size", 20}, {"out_hidden_size", 16}});
  constexpr double kBlocks = 3 * 4 * 8 * 8;
  constexpr double kInner = 3 * 2 * 8 * 20;
  constexpr double kMerger = 32 * 32 + 32 * 16;
  const Row rows[] = {{"Gemma3ForConditionalGeneration", siglip, kBlocks, kInner},
                      {"Llama4ForConditionalGeneration", siglip, kBlocks, kInner},
                      {"Qwen2VLForConditionalGeneration", qwen, kBlocks, kInner + kMerger},
                      {"Qwen2_5_VLForConditionalGeneration", qwen, kBlocks, kInner * 1.5 + kMerger},
                      {"Qwen3VLForConditionalGeneration", qwen, kBlocks + kInner + kMerger, 0}};
  for (const Row& row : rows) {
    ModelFacts m;
    m.architectures = {row.architecture};
    m.is_multimodal = true;
    m.hf_config = Value::dict({{"vision_config", row.vision}});
    const plan::VisionWeights vision = plan::vision_weights(m);
    EXPECT_EQ(vision.cut, row.attention) << row.architecture;
    EXPECT_EQ(vision.over_all, row.over_all) << row.architecture;
  }
}

TEST(Weights, GlmAsrHearsByAnEncoderThatNothingCuts) {
  ModelFacts m;
  m.architectures = {"GlmAsrForConditionalGeneration"};
  m.hidden_size = 6;
  m.hf_config = Value::dict(
      {{"audio_config",
        Value::dict({{"hidden_size", 8}, {"num_hidden_layers", 3}, {"intermediate_size", 20}, {"num_mel_bins", 5}})}});
  const plan::VisionWeights audio = plan::vision_weights(m);
  EXPECT_EQ(audio.whole, 3 * 8 * (5 + 8) + 3 * (4 * 8 * 8 + 2 * 8 * 20) + 20 * 12 + 12 * 6);
  EXPECT_EQ(audio.cut + audio.over_all, 0);
}

TEST(Weights, QwenGatesTheOutputOfItsFullAttention) {
  // Queries twice (4096 x 16 x 256), four heads of keys and values, the output, the MLP.
  constexpr std::int64_t kLayer = 4096LL * 4096 * 3 + 2 * 4096LL * 1024 + 3 * 4096LL * 12288;
  EXPECT_EQ(plan::estimate_weights(*facts_of("qwen3.5-9b"))->layer_bytes, 2 * kLayer);
}

// What was counted is kept; whatever it was counted by makes another count.
TEST(Weights, AreKeptByWhatTheyAreCountedBy) {
  struct Row {
    const char* model;
    void (*change)(ModelFacts&);
  };
  const Row rows[] = {
      {"qwen3-8b", [](ModelFacts& m) { m.head_dim = 64; }},
      {"qwen3-8b", [](ModelFacts& m) { m.v_head_dim = 64; }},
      {"qwen3-8b", [](ModelFacts& m) { m.dtype = "float32"; }},
      {"qwen3-8b", [](ModelFacts& m) { m.quantization = "fp8"; }},
      {"qwen3-8b", [](ModelFacts& m) { m.attention_arch = AttentionArch::kMla; }},
      {"qwen3-8b", [](ModelFacts& m) { m.hf_text_config = *Value::parse_json(R"({"intermediate_size": 1024})"); }},
      {"gemma-4-31b-it", [](ModelFacts& m) { m.swa_head_dim = 64; }},
      {"gemma-4-31b-it", [](ModelFacts& m) { m.swa_v_head_dim = 64; }},
      {"gemma-4-31b-it", [](ModelFacts& m) { m.swa_layer_ids.pop_back(); }},
      {"deepseek-v2-lite-chat", [](ModelFacts& m) { m.kv_lora_rank = 64; }},
      {"deepseek-v2-lite-chat", [](ModelFacts& m) { m.qk_nope_head_dim = 64; }},
      {"deepseek-v2-lite-chat", [](ModelFacts& m) { m.qk_rope_head_dim = 128; }},
  };
  for (const Row& row : rows) {
    const auto model = facts_of(row.model);
    const auto before = plan::estimate_weights(*model);
    ASSERT_TRUE(before) << row.model;
    ModelFacts other = *model;
    row.change(other);
    EXPECT_NE(plan::estimate_weights(other)->total_bytes, before->total_bytes) << &row - rows;
    EXPECT_EQ(plan::estimate_weights(*model)->total_bytes, before->total_bytes) << &row - rows;
    EXPECT_GT(before->per_rank_bytes, plan::estimate_weights(*model, {.tp = 2, .attention_tp = 2})->per_rank_bytes);
  }
}

TEST(Weights, LayersWithAWindowHaveHeadsOfTheirOwn) {
  // Gemma 4 31B: 50 layers of 32 and 16 heads of 256, 10 of 32 and 4 heads of 512.
  constexpr std::int64_t kSliding = 5376LL * 256 * (2 * 32 + 2 * 16);
  constexpr std::int64_t kFull = 5376LL * 512 * (2 * 32 + 2 * 4);
  constexpr std::int64_t kMlps = 60 * 3 * 5376LL * 21504;
  constexpr std::int64_t kVision = 27 * (4 * 1152LL * 1152 + 3 * 1152LL * 4304) + 1152LL * (5376 + 2 * 10240);
  const auto weights = plan::estimate_weights(*facts_of("gemma-4-31b-it"));
  EXPECT_EQ(weights->parameters, 50 * kSliding + 10 * kFull + kMlps + 262'144LL * 5376 + kVision);
}

// Seen of the classes of 0.5.23.
TEST(Weights, SomeClassesBuildWhatTheirNumbersDoNotSay) {
  const auto bytes = [](const char* architecture, const Value::Dict& keys) {
    ModelFacts m = *facts_of("llama-3.1-8b-instruct");
    m.architectures = {architecture};
    for (const auto& [key, value] : keys) m.hf_config = m.hf_text_config = m.hf_text_config.with(key, value);
    return plan::estimate_weights(m)->total_bytes;
  };
  // HRM: two stacks, gone through 2 * (3 + 1) times, which are 32 layers; each gates its attention.
  const auto hrm = [&](const Value::Dict& keys) { return bytes("HrmTextForCausalLM", keys); };
  const std::int64_t layer = (hrm({{"num_layers_per_stack", 5}}) - hrm({{"num_layers_per_stack", 4}})) / 2;
  EXPECT_EQ(hrm({{"H_cycles", 2}, {"L_cycles", 3}}), hrm({{"num_layers_per_stack", 4}}));
  EXPECT_EQ(hrm({{"num_layers_per_stack", 16}}) - bytes("LlamaForCausalLM", {}), 32LL * 4096 * 4096 * 2);
  EXPECT_GT(layer, 0);
  // OPT: a table, and a head, that are narrower than its layers.
  const std::int64_t narrower = bytes("OPTForCausalLM", {{"word_embed_proj_dim", 4096}}) -
                                bytes("OPTForCausalLM", {{"word_embed_proj_dim", 512}});
  EXPECT_EQ(narrower, 2LL * 128256 * (4096 - 512) * 2);
  // A classifier has no head.
  EXPECT_EQ(bytes("LlamaForCausalLM", {}) - bytes("LlamaForClassification", {}), 128256LL * 4096 * 2);
}

// 0.5.23's class: an expert has a width of its own, by layer or for all, those shared the dense layers', where they are
// mixed in.
TEST(Weights, HunYuanSharesExpertsAsWideAsItsLayers) {
  ModelFacts m = *facts_of("llama-3.1-8b-instruct");
  m.architectures = {"HunYuanMoEV1ForCausalLM"};
  const auto facts = [&](const Value::Dict& keys) {
    ModelFacts with = m;
    for (const auto& [key, value] : keys) with.hf_config = with.hf_text_config = with.hf_text_config.with(key, value);
    return with;
  };
  const auto bytes = [&](const Value::Dict& keys) { return plan::estimate_weights(facts(keys))->total_bytes; };
  m = facts(
      {{"num_experts", 4}, {"moe_intermediate_size", 1024}, {"n_shared_experts", 8}, {"use_mixed_mlp_moe", true}});
  constexpr std::int64_t kShared = 32LL * 3 * 4096 * 14336 * 2;
  EXPECT_EQ(bytes({{"num_shared_expert", 2}}) - bytes({{"num_shared_expert", 2}, {"use_mixed_mlp_moe", false}}),
            2 * kShared);
  EXPECT_EQ(bytes({{"num_shared_expert", Value::list({3, 3})}}) - bytes({}), 3 * kShared);
  EXPECT_EQ(bytes({{"moe_intermediate_size", Value::list({1024, 1024})}}), bytes({}));
  EXPECT_TRUE(plan::is_counted(facts({{"moe_intermediate_size", Value::list({1024, 1024})}})));
  EXPECT_FALSE(plan::is_counted(facts({{"moe_intermediate_size", Value::list({1024, 512})}})));
  EXPECT_FALSE(plan::is_counted(facts({{"use_cla", true}, {"cla_share_factor", 2}})));
}

TEST(Weights, KimiLinearAsksForItsOwnListAlone) {
  ModelFacts m = *facts_of("kimi-linear-48b-a3b-instruct");
  const auto bytes = [&](const Value& types) {
    m.hf_text_config = m.hf_text_config.with("linear_attn_config", Value()).with("layer_types", types);
    return plan::estimate_weights(m)->total_bytes;
  };
  EXPECT_EQ(bytes(Value::list({"linear_attention", "linear_attention"})), bytes(Value()));
}

// What 0.5.23's own classes allocate (tests/parity/weights.py), with what every rank holds whole.
TEST(Weights, OfLayersThatAreNoOrdinaryOnesAreThoseOfTheirClasses) {
  constexpr const char* kLing26 =
      R"({"architectures": ["BailingMoeV2_5ForCausalLM"], "model_type": "bailing_hybrid", "hidden_size": 2048,
      "num_hidden_layers": 20, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 5120,
      "vocab_size": 157184, "torch_dtype": "bfloat16", "tie_word_embeddings": false, "embedding_dropout": 0.0,
      "first_k_dense_replace": 1, "head_dim": 128, "moe_intermediate_size": 512, "num_experts": 256,
      "num_experts_per_tok": 8, "num_shared_experts": 1, "n_group": 8, "topk_group": 4, "norm_topk_prob": true,
      "partial_rotary_factor": 0.5, "routed_scaling_factor": 2.5, "score_function": "sigmoid", "use_bias": false,
      "use_qk_norm": true, "use_qkv_bias": false, "moe_router_enable_expert_bias": true, "use_rmsnorm": true,
      "layer_group_size": 5, "group_norm_size": 4, "linear_silu": false, "kv_lora_rank": 512, "q_lora_rank": null,
      "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "rope_interleave": true, "topk_method":
      "noaux_tc"})";
  constexpr const char* kJetNemotron2b =
      R"({"architectures": ["JetNemotronForCausalLM"], "model_type": "jet_nemotron", "hidden_size": 1536,
      "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960,
      "vocab_size": 151936, "torch_dtype": "bfloat16", "tie_word_embeddings": true, "layer_types": ["jet", "jet",
      "jet", "jet", "jet", "swa", "jet", "jet", "jet", "jet", "jet", "jet", "jet", "jet", "jet", "attn", "jet",
      "jet", "jet", "jet", "jet", "attn", "swa", "jet", "jet", "jet", "jet", "jet"], "efficient_attention_config":
      {"swa": {"window_size": 1152}, "jet": {"mode": "chunk", "expand_v": 2.0, "num_heads": 6, "head_dim": 96,
      "norm_eps": 1e-05, "conv_size": 4, "dconv_generator_reduction": 8, "dconv_implementation": "triton"}},
      "use_sliding_window": false, "sliding_window": null, "max_window_layers": 28, "use_cache": true})";
  constexpr const char* kKimiVlA3b =
      R"({"architectures": ["KimiVLForConditionalGeneration"], "model_type": "kimi_vl", "vision_config":
      {"model_type": "moonvit", "patch_size": 14, "num_attention_heads": 16, "num_hidden_layers": 27,
      "hidden_size": 1152, "intermediate_size": 4304, "init_pos_emb_height": 64, "init_pos_emb_width": 64,
      "merge_kernel_size": [2, 2]}, "text_config": {"architectures": ["DeepseekV3ForCausalLM"], "model_type":
      "deepseek_v3", "hidden_size": 2048, "num_hidden_layers": 27, "num_attention_heads": 16,
      "num_key_value_heads": 16, "intermediate_size": 11264, "vocab_size": 163840, "tie_word_embeddings": false,
      "first_k_dense_replace": 1, "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
      "num_experts_per_tok": 6, "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "n_group": 1, "topk_group": 1, "moe_layer_freq": 1,
      "scoring_func": "sigmoid", "topk_method": "noaux_tc", "routed_scaling_factor": 2.446, "norm_topk_prob":
      true}, "media_placeholder_token_id": 163605, "ignore_index": -100, "pad_token_id": 0, "vocab_size": 163840,
      "torch_dtype": "bfloat16"})";
  constexpr const char* kFalconMamba7b =
      R"({"architectures": ["FalconMambaForCausalLM"], "model_type": "falcon_mamba", "hidden_size": 4096,
      "intermediate_size": 8192, "num_hidden_layers": 64, "state_size": 16, "conv_kernel": 4, "expand": 16,
      "time_step_rank": 256, "use_bias": false, "use_conv_bias": true, "vocab_size": 65024, "layer_norm_epsilon":
      1e-05, "residual_in_fp32": true, "torch_dtype": "bfloat16", "tie_word_embeddings": false})";
  constexpr const char* kLfm2Vl450m =
      R"({"architectures": ["Lfm2VlForConditionalGeneration"], "model_type": "lfm2_vl", "vision_config":
      {"model_type": "siglip2_vision_model", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers":
      12, "num_attention_heads": 12, "num_channels": 3, "patch_size": 16, "num_patches": 256, "vision_use_head":
      false}, "text_config": {"architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2", "hidden_size": 1024,
      "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 6656,
      "block_ff_dim": 6656, "block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1.0,
      "block_multiple_of": 256, "conv_L_cache": 3, "conv_bias": false, "conv_dim": 1024, "full_attn_idxs": [2, 5,
      8, 10, 12, 14], "layer_types": ["conv", "conv", "full_attention", "conv", "conv", "full_attention", "conv",
      "conv", "full_attention", "conv", "full_attention", "conv", "full_attention", "conv", "full_attention",
      "conv"], "vocab_size": 65536, "tie_embedding": true}, "image_token_id": 396, "projector_bias": true,
      "projector_hidden_act": "gelu", "projector_hidden_size": 2560, "downsample_factor": 2,
      "vision_feature_layer": -1, "max_num_patches": 1024, "tile_size": 512, "do_image_splitting": true,
      "torch_dtype": "bfloat16"})";
  struct Row {
    const char* config;
    std::int64_t tp;
    double bytes;
  };
  const Row rows[] = {
      {kLing26, 1, 33536871424},        {kLing26, 2, 16793177088},       {kJetNemotron2b, 1, 3206411104},
      {kJetNemotron2b, 2, 1603298144},  {kKimiVlA3b, 1, 32815315424},    {kKimiVlA3b, 2, 16479311728},
      {kFalconMamba7b, 1, 14562107392}, {kFalconMamba7b, 2, 7281319936}, {kLfm2Vl450m, 1, 1035863040},
      {kLfm2Vl450m, 2, 518817280},
  };
  for (const Row& row : rows) {
    const testing::TemporaryDirectory dir;
    dir.file("config.json", row.config);
    const std::string words = "--device xpu --disable-radix-cache --trust-remote-code --model-path " + dir.path();
    const RuleExample example{.args = words};
    const auto model = testing::launch_of(supported_releases().back(), example).model;
    ASSERT_NE(model, nullptr) << row.config;
    const auto weights = plan::estimate_weights(*model, {.tp = row.tp, .attention_tp = row.tp, .moe_tp = row.tp});
    ASSERT_TRUE(weights) << row.config;
    EXPECT_NEAR(static_cast<double>(weights->per_rank_bytes) / row.bytes, 1.0, 0.0015) << row.tp << row.config;
  }
}

// Layers told apart by keys that nothing reads are not guessed at (Jamba).
TEST(Weights, NothingIsSaidOfShapesNotModelled) {
  EXPECT_FALSE(plan::estimate_weights(ModelFacts{}));
  ModelFacts model = *facts_of("qwen3-8b");
  ASSERT_TRUE(plan::estimate_weights(model));
  model.hf_text_config = model.hf_text_config.with("attn_layer_period", 8);
  EXPECT_FALSE(plan::estimate_weights(model));
}

// qwen3_vl.py builds the text of what stands beside the two parts, where something does.
TEST(Weights, QwensPictureModelReadsTheWholeConfiguration) {
  ModelFacts model = *facts_of("qwen3-vl-8b-instruct");
  const std::int64_t layer = plan::estimate_weights(model)->layer_bytes;
  model.hf_text_config = model.hf_text_config.with("intermediate_size", 1);
  EXPECT_EQ(plan::estimate_weights(model)->layer_bytes, layer);
}

// What 0.5.23's own classes allocate (tests/parity/weights.py): a tower's attention is cut over attention's ranks, its
// MLP over all; Voxtral's encoder, and the language models of both, over all. A language model that takes stages is
// shared out over them, though the class around it takes none and the launch fails behind the weights.
TEST(Weights, TowersAndTheirLanguageModelsAreCutAsTheirClassesCutThem) {
  struct Row {
    const char* model;
    const char* split;
    double bytes;
  };
  const Row rows[] = {{"OpenGVLab/InternVL2_5-2B", "--tp-size 4", 1124808704},
                      {"OpenGVLab/InternVL2_5-2B", "--tp-size 4 --dp-size 4 --enable-dp-attention", 1275914240},
                      {"OpenGVLab/InternVL3-8B", "--tp-size 4", 4016601088},
                      {"OpenGVLab/InternVL3-8B", "--tp-size 4 --dp-size 4 --enable-dp-attention", 4983138304},
                      {"OpenGVLab/InternVL3-8B", "--pp-size 2", 8275973120},  // Qwen2's layers are shared out
                      {"OpenGVLab/InternVL3-8B", "--tp-size 2 --pp-size 2", 4167481344},
                      {"OpenGVLab/InternVL3-8B", "--pp-size 4", 5013164032},
                      {"OpenGVLab/InternVL2_5-2B", "--pp-size 2", 4411959296},  // InternLM2's are not
                      {"Qwen/Qwen3-Omni-30B-A3B-Instruct", "--tp-size 1", 63438410976},
                      {"Qwen/Qwen3-Omni-30B-A3B-Instruct", "--tp-size 4", 15909528888},
                      {"Qwen/Qwen3-Omni-30B-A3B-Instruct", "--pp-size 4", 17950866656},
                      {"mistralai/Voxtral-Mini-3B-2507", "--tp-size 1", 9352624128},
                      {"mistralai/Voxtral-Mini-3B-2507", "--tp-size 4", 2387552256},
                      {"mistralai/Voxtral-Mini-3B-2507", "--tp-size 4 --dp-size 2 --enable-dp-attention", 2387552256}};
  for (const Row& row : rows) {
    std::vector<std::string> words = {"memory", "--format", "json", "--sglang-version", "0.5.23", "--"};
    for (const std::string& word : testing::split_words(std::string("--trust-remote-code --model-path ") + row.model +
                                                        " --attention-backend triton " + row.split))
      words.push_back(word);
    const auto sheet = nlohmann::json::parse(testing::run_tool(words).out, nullptr, false);
    ASSERT_TRUE(sheet.is_object()) << row.model;
    EXPECT_NEAR(sheet["weights_gib"].get<double>() * (1 << 30) / row.bytes, 1.0, 0.005) << row.model << row.split;
  }
}

// What 0.5.23's own classes allocate for the fuller of two stages: of these classes each stage builds the head.
TEST(Weights, EachStageOfSomeClassesHasTheHead) {
  const std::pair<const char*, double> rows[] = {{"openai/gpt-oss-20b", 8038896384.0},
                                                 {"LGAI-EXAONE/EXAONE-4.0-32B", 33051787264.0}};
  for (const auto& [model, bytes] : rows) {
    const auto run = testing::run_tool(
        {"memory", "--format", "json", "--sglang-version", "0.5.23", "--", "--model-path", model, "--pp-size", "2"});
    const auto sheet = nlohmann::json::parse(run.out, nullptr, false);
    ASSERT_TRUE(sheet.is_object()) << model;
    EXPECT_NEAR(sheet["weights_gib"].get<double>() * (1 << 30) / bytes, 1.0, 0.005) << model;
  }
}

// Beside them each stage has the whole tower, which LLaVA fetches when it loads.
TEST(Weights, StagesOfLlavaShareItsLanguageModel) {
  std::ifstream file(testing::source_directory() + "/configs/models/llava-v1.5-7b.json");
  nlohmann::json config = nlohmann::json::parse(file)["config"];
  const testing::TemporaryDirectory dir;
  for (const char* name : {"LlavaLlamaForCausalLM", "LlavaQwenForCausalLM", "LlavaMistralForCausalLM"}) {
    config["architectures"] = {name};
    const std::string path = dir.file(std::string(name) + "/config.json", config.dump());
    const auto gib = [&](const char* stages) {
      const auto run = testing::run_tool({"memory", "--format", "json", "--sglang-version", "0.5.23", "--",
                                          "--model-path", path.substr(0, path.rfind('/')), "--pp-size", stages});
      return nlohmann::json::parse(run.out, nullptr, false).value("weights_gib", 0.0);
    };
    EXPECT_GT(gib("1"), 13.0) << name;
    EXPECT_LT(gib("2"), 7.3) << name;
  }
}

// GiB on the fullest rank of a model with this configuration in 0.5.23.
double gib_of(const nlohmann::json& config, const std::vector<std::string>& words) {
  const testing::TemporaryDirectory dir;
  const std::string path = dir.file("m/config.json", config.dump());
  std::vector<std::string> all{"memory", "--format", "json",         "--sglang-version",
                               "0.5.23", "--",       "--model-path", path.substr(0, path.rfind('/'))};
  all.insert(all.end(), words.begin(), words.end());
  return nlohmann::json::parse(testing::run_tool(all).out, nullptr, false).value("weights_gib", 0.0);
}

// Recorded of 0.5.23: these hand their attention no quantisation.
TEST(Weights, AttentionOfSomeClassesIsNeverQuantised) {
  const nlohmann::json channels = {
      {"quant_method", "compressed-tensors"},
      {"format", "float-quantized"},
      {"ignore", {"lm_head"}},
      {"config_groups",
       {{"group_0",
         {{"targets", {"Linear"}},
          {"weights", {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}, {"symmetric", true}}}}}}}};
  nlohmann::json config = {{"architectures", {"StableLmForCausalLM"}},
                           {"model_type", "stablelm"},
                           {"hidden_size", 2560},
                           {"intermediate_size", 6912},
                           {"max_position_embeddings", 4096},
                           {"num_attention_heads", 32},
                           {"num_hidden_layers", 32},
                           {"num_key_value_heads", 32},
                           {"tie_word_embeddings", false},
                           {"torch_dtype", "bfloat16"},
                           {"vocab_size", 50304},
                           {"quantization_config", channels}};
  EXPECT_NEAR(gib_of(config, {}) * (1 << 30) / 3894290432.0, 1.0, 0.005);
  // By the source of olmo.py: two bytes for what attends, one for the MLP, two for table and head.
  config.update({{"architectures", {"OlmoForCausalLM"}},
                 {"model_type", "olmo"},
                 {"hidden_size", 2048},
                 {"intermediate_size", 8192},
                 {"num_attention_heads", 16},
                 {"num_key_value_heads", 16},
                 {"num_hidden_layers", 16}});
  const double olmo = 16.0 * (2 * 4 * 2048 * 2048 + 3 * 2048 * 8192) + 2.0 * 2 * 50304 * 2048;
  EXPECT_NEAR(gib_of(config, {}) * (1 << 30) / olmo, 1.0, 0.005);
}

// Recorded of 0.5.23. A class that pools has all of its layers on each stage, or leaves them to a body that shares
// them.
TEST(Weights, StagesOfAClassThatPoolsShareWhatItsBodyShares) {
  const std::pair<const char*, double> whole[] = {
      {"bge-small-zh-v1.5", 47504384.0}, {"bge-small-en-v1.5", 66477568.0}, {"embeddinggemma-300m", 605726208.0}};
  for (const auto& [model, bytes] : whole) {
    std::ifstream file(testing::source_directory() + "/configs/models/" + model + ".json");
    const double gib = gib_of(nlohmann::json::parse(file)["config"], {"--pp-size", "2", "--trust-remote-code"});
    EXPECT_NEAR(gib * (1 << 30) / bytes, 1.0, 0.02) << model;
  }
  const nlohmann::json small = {
      {"hidden_size", 512},  {"num_attention_heads", 8},  {"num_key_value_heads", 4},        {"num_hidden_layers", 6},
      {"vocab_size", 32000}, {"intermediate_size", 1024}, {"max_position_embeddings", 4096}, {"head_dim", 64}};
  const std::tuple<const char*, const char*, double> shared[] = {
      {"LlamaEmbeddingModel", "llama", 46929920.0},
      {"MistralModel", "llama", 46929920.0},
      {"LlamaForSequenceClassification", "llama", 46931968.0},
      {"LlamaForSequenceClassificationWithNormal_Weights", "llama", 47983618.0},
      {"Qwen2ForSequenceClassification", "qwen2", 46938116.0},
      {"Qwen2ForRewardModel", "qwen2", 47462402.0},
      {"Qwen3ForSequenceClassification", "qwen3", 46932740.0},
      {"Qwen3ForRewardModel", "qwen3", 47457026.0},
      {"Qwen3Model", "qwen3", 46930688.0}};
  for (const auto& [name, type, bytes] : shared) {
    nlohmann::json config = small;
    config["architectures"] = {name};
    config["model_type"] = type;
    EXPECT_NEAR(gib_of(config, {"--pp-size", "2", "--is-embedding"}) * (1 << 30) / bytes, 1.0, 0.05) << name;
  }
}

}  // namespace
}  // namespace preflight
