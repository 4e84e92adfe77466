// Model facts from config.json: what SGLang's ModelConfig derives, refuses and warns of. Every row was compared with
// the real class of its release.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/facts/kinds.h"
#include "src/facts/model_files.h"
#include "src/facts/model_source.h"
#include "src/facts/stored_as.h"
#include "src/facts/transformers/config_classes.h"
#include "src/facts/transformers/config_tables.h"
#include "tests/support/paths.h"
#include "tests/support/release_ranges.h"
#include "tests/support/run_tool.h"

namespace preflight::facts {
namespace {

// One model directory that holds a config.json and nothing else.
class OneModel : public ModelSource {
 public:
  explicit OneModel(std::string_view config) : config_(Value::parse_json(config).value()) {}
  Result<std::shared_ptr<const Value>> config_of(const std::string& /*path*/) override {
    return std::make_shared<const Value>(config_);
  }
  bool has_file(const std::string& /*path*/, const std::string& name) override { return name == "config.json"; }

 private:
  Value config_;
};

ModelOutcome outcome_of(std::string_view config, Release release,
                        const std::function<void(ModelRequest&)>& change = {}) {
  OneModel source(config);
  ModelRequest request;
  request.release = release;
  request.path = "/models/one";
  if (change) change(request);
  return build_model(source, request);
}

std::shared_ptr<const ModelFacts> facts_of(const ModelOutcome& outcome) {
  const auto* facts = std::get_if<std::shared_ptr<const ModelFacts>>(&outcome.result);
  return facts == nullptr ? nullptr : *facts;
}

std::string refusal_of(const ModelOutcome& outcome) {
  const auto* refusal = std::get_if<Refusal>(&outcome.result);
  return refusal == nullptr ? "" : refusal->exception + " " + refusal->function;
}

std::string log_of(const ModelOutcome& outcome) {
  std::string text;
  for (const auto& line : outcome.log) text += line.function + " ";
  return text;
}

constexpr Release kOld = v0_5(13, 1);
constexpr Release kNew = v0_5(23);

// The window of layers is what the model's class reports, and the classes report it in some releases only.
TEST(ModelFacts, AWindowIsToldFromTheReleaseWhoseClassReportsIt) {
  struct Row {
    const char* config;
    Release release;
    std::int64_t window;  // 0: none
  };
  constexpr const char* kJet =
      R"({"model_type":"jet_nemotron","architectures":["JetNemotronForCausalLM"],"layer_types":["jet","swa"],
          "num_hidden_layers":2,"hidden_size":64,"num_attention_heads":2,"num_key_value_heads":2,"vocab_size":99,
          "max_position_embeddings":64,"efficient_attention_config":{"swa":{"window_size":2048}}})";
  constexpr const char* kJetWithoutWindow =
      R"({"model_type":"jet_nemotron","architectures":["JetNemotronForCausalLM"],"layer_types":["jet","attn"],
          "num_hidden_layers":2,"hidden_size":64,"num_attention_heads":2,"num_key_value_heads":2,"vocab_size":99,
          "max_position_embeddings":64,"efficient_attention_config":{"swa":{"window_size":2048}}})";
  constexpr const char* kSpark =
      R"({"model_type":"spark2_5","architectures":["Spark2_5ForCausalLM"],"sliding_window":512})";
  constexpr const char* kMistral =
      R"({"model_type":"mistral","architectures":["MistralForCausalLM"],"sliding_window":4096})";
  const Row rows[] = {{kJet, v0_5(21), 0},
                      {kJet, v0_5(22), 2049},
                      {kJetWithoutWindow, v0_5(22), 0},
                      {kSpark, v0_5(19), 512},
                      {kMistral, kNew, 0}};
  for (const Row& row : rows) {
    const auto facts = facts_of(outcome_of(row.config, row.release));
    ASSERT_TRUE(facts) << refusal_of(outcome_of(row.config, row.release)) << row.config;
    EXPECT_EQ(sliding_window(*facts).value_or(0), row.window) << row.config;
  }
}

struct ShapeRow {
  std::string_view config;
  Release release;
  AttentionArch arch;
  std::int64_t heads, kv_heads, head_dim, layers, context_len;
  std::string dtype;
  bool multimodal;
};

// Rows are looked for by halves: one that stands out of order would be a class that nobody knows.
TEST(ModelFacts, KnowEveryClassThatARowOfTheTablesNames) {
  std::size_t seen = 0;
  for (const ReleaseTables& tables : release_tables()) {
    const ConfigTables& classes = ConfigTables::of(tables.release);
    for (const TextRow& row : tables.types) EXPECT_NE(classes.type(text_at(row.key)), nullptr) << text_at(row.key);
    for (const TextRow& row : tables.registry)
      EXPECT_NE(classes.registered(text_at(row.key)), nullptr) << text_at(row.key);
    for (const TextRow& row : tables.classes) EXPECT_NE(classes.find(text_at(row.key)), nullptr) << text_at(row.key);
    for (const TextRow& row : tables.functions)
      EXPECT_NE(classes.function(text_at(row.key)), nullptr) << text_at(row.key);
    for (const TextRow& row : tables.settings)
      EXPECT_FALSE(classes.setting(text_at(row.key)).is_none()) << text_at(row.key);
    seen += tables.types.size();
  }
  EXPECT_GT(seen, 1000U);
}

TEST(ModelFacts, TakesShapesFromTheFileAndFillsTheRestFromTheClass) {
  const ShapeRow rows[] = {
      // nothing but a type: every size is the class's default
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"]})", kNew, AttentionArch::kMha, 32, 32, 128, 32,
       32768, "float16", false},
      {R"({"model_type":"phi3","architectures":["Phi3ForCausalLM"],"torch_dtype":"bfloat16"})", kNew,
       AttentionArch::kMha, 32, 32, 96, 32, 4096, "bfloat16", false},
      // an attribute map: GPT-2's own names
      {R"({"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_embd":512,"n_head":8,"n_layer":4,"n_positions":256})",
       kNew, AttentionArch::kMha, 8, 8, 64, 4, 256, "float16", false},
      // null means: derive it
      {R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"hidden_size":1024,"num_attention_heads":8,"num_key_value_heads":null,"head_dim":null,"torch_dtype":"float16"})",
       kNew, AttentionArch::kMha, 8, 8, 128, 32, 2048, "float16", false},
      // multi-head latent attention works with 256 wide heads
      {R"({"model_type":"deepseek_v2","architectures":["DeepseekV2ForCausalLM"],"torch_dtype":"bfloat16"})", kNew,
       AttentionArch::kMla, 32, 32, 256, 32, 2048, "bfloat16", false},
      // a text model inside an image model, and its dtype from the top
      {R"({"model_type":"qwen2_5_vl","architectures":["Qwen2_5_VLForConditionalGeneration"],"torch_dtype":"bfloat16"})",
       kNew, AttentionArch::kMha, 64, 8, 128, 80, 32768, "bfloat16", true},
      // multimodal on request only
      {R"({"model_type":"gemma3","architectures":["Gemma3ForConditionalGeneration"],"torch_dtype":"bfloat16"})", kNew,
       AttentionArch::kMha, 8, 4, 256, 26, 131072, "bfloat16", false},
      // state spaces have no heads; releases before knew no such models
      {R"({"model_type":"mamba","architectures":["MambaForCausalLM"]})", kNew, AttentionArch::kSsm, 0, 0, 0, 32, 2048,
       "float16", false},
  };
  for (const auto& row : rows) {
    const auto outcome = outcome_of(row.config, row.release);
    const auto facts = facts_of(outcome);
    ASSERT_TRUE(facts) << row.config << " " << refusal_of(outcome);
    EXPECT_EQ(facts->attention_arch, row.arch) << row.config;
    EXPECT_EQ(facts->num_attention_heads, row.heads) << row.config;
    EXPECT_EQ(facts->num_key_value_heads, row.kv_heads) << row.config;
    EXPECT_EQ(facts->head_dim, row.head_dim) << row.config;
    EXPECT_EQ(facts->num_hidden_layers, row.layers) << row.config;
    EXPECT_EQ(facts->context_len, row.context_len) << row.config;
    EXPECT_EQ(facts->dtype, row.dtype) << row.config;
    EXPECT_EQ(facts->is_multimodal, row.multimodal) << row.config;
  }
}

struct RefusalRow {
  std::string_view config;
  Release release;
  std::string refusal;
};

TEST(ModelFacts, RefuseWhatPythonCannotRead) {
  const RefusalRow rows[] = {
      {R"({"model_type":"frobnicate","architectures":["X"]})", kNew, "ValueError parse"},
      {R"({"architectures":["X"]})", kNew, "ValueError parse"},
      // newer transformers know MiniCPM3
      {R"({"model_type":"minicpm3","architectures":["MiniCPM3ForCausalLM"]})", kOld, "ValueError parse"},
      // what is no dict is asked for one by its class
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":"fp8"})", kNew,
       "AttributeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":5})", kOld,
       "AttributeError patched"},
      // and so is what stands in a part, and a type in whatever dict, once all is logged
      {R"({"model_type":"llava","architectures":["LlavaForConditionalGeneration"],"text_config":{"model_type":"llama","quantization_config":0}})",
       kOld, "AttributeError patched"},
      {R"({"model_type":"llava","architectures":["LlavaForConditionalGeneration"],"text_config":{"model_type":"llama","quantization_config":"fp8"}})",
       kNew, "AttributeError parse"},
      {R"({"model_type":"llava","architectures":["LlavaForConditionalGeneration"],"text_config":{"model_type":"llama","dtype":["bfloat16"]}})",
       kNew, "IndexError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"fp8","activation_scheme":"dynamic","a":{"dtype":[1]}}})",
       kNew, "IndexError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"fp8","activation_scheme":"dynamic","a":{"dtype":["torch.bfloat16"]}}})",
       kNew, ""},
      // what no table of types takes, also where the checkpoint brings code of its own
      {R"({"model_type":{"a":1},"architectures":["X"],"auto_map":{"AutoConfig":"a.B"}})", kNew, "TypeError parse"},
      {R"({"model_type":["qwen3"],"architectures":["X"]})", kOld, "TypeError parse"},
      // layers are walked over, whatever their types stand in; newer transformers renames them first
      {R"({"model_type":"llama","architectures":["X"],"num_hidden_layers":1,"layer_types":5})", kOld,
       "StrictDataclassClassValidationError patched"},
      {R"({"model_type":"llama","architectures":["X"],"num_hidden_layers":1,"layer_types":true})", v0_5(21),
       "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"llama","architectures":["X"],"num_hidden_layers":1,"layer_types":5})", v0_5(22),
       "TypeError parse"},
      {R"({"model_type":"llama","architectures":["X"],"num_hidden_layers":14,"layer_types":"full_attention"})",
       v0_5(21), "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"llama","architectures":["X"],"num_hidden_layers":1,"layer_types":{"full_attention":1}})",
       v0_5(21), ""},
      {R"({"model_type":"llama","architectures":["X"],"num_hidden_layers":1,"layer_types":{}})", v0_5(21),
       "StrictDataclassClassValidationError parse"},
      // heads are multiplied, whatever they are
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_heads":[1,2],"embed_dim":96})", kNew,
       "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_heads":null,"embed_dim":96})", kOld,
       "StrictDataclassClassValidationError patched"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"head_dim":2,"num_heads":[1,2],"embed_dim":[1,2,1,2]})",
       kNew, ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"head_dim":2,"num_heads":[1,2],"embed_dim":[1,2,2,1]})",
       kNew, "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"head_dim":128,"num_heads":3,"embed_dim":384})",
       kNew, ""},
      // a text part that is no object takes nothing of what the whole has, a thinker's no type
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"language_config":-1})", v0_5(11),
       "AttributeError _patch_text_config"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"language_config":[]})", kNew,
       "AttributeError _patch_text_config"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"thinker_config":"None"})", kNew,
       "AttributeError _patch_text_config"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"language_config":null})", kNew, ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"thinker_config":{"text_config":{"hidden_size":8}}})",
       kNew, "AttributeError get_hf_text_config"},
      // the other name of a quantisation, which nothing looks at before
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"compression_config":"fp8"})", v0_5(11),
       "AttributeError _verify_quantization"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"compression_config":0})", kNew,
       "AttributeError _verify_quantization"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"compression_config":null})", kNew, ""},
      // a file that holds no object
      {"[]", v0_5(22), "AttributeError _try_load_longcat_config"},
      {"\"x\"", v0_5(22), "AttributeError _try_load_longcat_config"},
      {"1", v0_5(22), "TypeError _try_load_longcat_config"},
      {"[]", v0_5(21), "TypeError _try_load_longcat_config"},
      // ModelOpt's algorithm is a text whatever the method: any release makes capitals of it
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"fp8","quant_algo":null}})",
       kNew, "AttributeError _modelopt_override_quantization_method"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"fp8","quant_algo":""}})",
       kNew, ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"modelopt","quant_algo":["NVFP4"]}})",
       v0_5(11), "AttributeError _modelopt_override_quantization_method"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"modelopt","quant_algo":{"FP8":1}}})",
       v0_5(18), "AttributeError _modelopt_override_quantization_method"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"modelopt","quant_algo":7}})",
       kNew, "TypeError _parse_modelopt_quant_config"},
      // layers are looked through as of 0.5.15
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":["a"]}})",
       v0_5(15), "AttributeError _parse_modelopt_quant_config"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":["a"]}})",
       v0_5(14), ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"quantization_config":{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":[]}})",
       v0_5(15), ""},
      // parts that a helper of the constructor makes
      {R"({"model_type":"esmfold2","architectures":["X"]})", v0_5(22), "AttributeError _derive_model_shapes"},
      // a number has no kinds of layers
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_parameters":5})", kNew,
       "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_parameters":"yarn"})", kNew, "AttributeError parse"},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_parameters":5})", v0_5(22),
       "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_parameters":5})", v0_5(21), "AttributeError parse"},
      // layers of one kind that are not turned
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_hidden_layers":1,"layer_types":["full_attention"],"rope_parameters":{"full_attention":null}})",
       v0_5(22), ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_hidden_layers":1,"layer_types":["full_attention"],"rope_parameters":{"full_attention":null}})",
       v0_5(21), ""},
      // the old name of rotary parameters sets the new one, where the class does not take it up itself
      {R"({"model_type":"cohere_compass_text","architectures":["X"],"rope_scaling":5})", kNew,
       "StrictDataclassFieldValidationError parse"},
      {R"({"model_type":"laguna","architectures":["LagunaForCausalLM"],"rope_scaling":"yarn"})", kNew,
       "StrictDataclassFieldValidationError parse"},
      // a class without rotary positions keeps whatever is given, and it is asked for a key
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_scaling":0})", v0_5(16), "TypeError __init__"},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_scaling":0})", v0_5(15, 1), ""},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_scaling":[]})", v0_5(16), ""},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_scaling":0})", kNew, "TypeError __init__"},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_scaling":0,"language_model_only":true})", v0_5(16),
       "TypeError __init__"},
      {R"({"model_type":"bert","architectures":["BertModel"],"rope_scaling":0,"language_model_only":true})", v0_5(19),
       ""},
      // a text in the place of a list is a list of letters
      {R"({"model_type":"llama","architectures":"LlamaForCausalLM"})", kNew, ""},
      // no architectures: SGLang reads the first one
      {R"({"model_type":"gemma3_text"})", kNew, "TypeError __init__"},
      // 0.5.13 loads configurations through a wrapper of its own
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_hidden_layers":2,"layer_types":["full_attention"]})",
       kOld, "StrictDataclassClassValidationError patched"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_hidden_layers":2,"layer_types":["full_attention"]})",
       kNew, "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"hidden_size":"big"})", kNew,
       "StrictDataclassFieldValidationError parse"},
      // labels are counted by whole numbers, and their keys are read as such
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_labels":"two"})", kNew, "TypeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_labels":null})", kOld, "TypeError patched"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_labels":2.0})", kNew, "TypeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_labels":"one","id2label":{"0":"a"}})", kNew,
       "TypeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_labels":1.0,"id2label":{"0":"a"}})", kNew,
       ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"num_labels":true})", kNew, ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":{"first":"a"}})", kNew,
       "ValueError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":{"1_0":"a"," 2 ":"b"}})", kNew, ""},
      // what is no map of labels has no entries, and a number no length; transformers before 0.5.22's ask for its type
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":[1]})", v0_5(22),
       "AttributeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":[1],"num_labels":2})", v0_5(22),
       "AttributeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":1.5,"num_labels":2})", v0_5(22),
       "TypeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":1.5,"num_labels":null})", v0_5(22),
       "AttributeError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":null})", v0_5(22), ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"id2label":[1]})", v0_5(21),
       "StrictDataclassFieldValidationError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"rope_scaling":{"type":"yarn"}})", kNew,
       "KeyError parse"},
      // rotary checks compare and divide; what is no number fails them
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"rope_scaling":{"type":"yarn","factor":4,"original_max_position_embeddings":null}})",
       kNew, "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"rope_scaling":{"type":"llama3","factor":8,"low_freq_factor":null,"high_freq_factor":4,"original_max_position_embeddings":8192}})",
       kNew, "StrictDataclassClassValidationError parse"},
      // 0.5.13's transformers check yarn for all layers at once, also where each layer type has settings of its own
      {R"({"model_type":"gemma3_text","architectures":["Gemma3ForCausalLM"],"rope_scaling":{"rope_type":"yarn","factor":4,"original_max_position_embeddings":32768}})",
       kOld, "KeyError patched"},
      {R"({"model_type":"gemma3_text","architectures":["Gemma3ForCausalLM"],"rope_scaling":{"rope_type":"yarn","factor":4,"original_max_position_embeddings":32768}})",
       kNew, ""},
      // a head rotated whole has to be even, as of 0.5.22's transformers; half of it may be odd
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"head_dim":21})", kNew,
       "StrictDataclassClassValidationError parse"},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"head_dim":21})", kOld, ""},
      {R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"head_dim":21,"partial_rotary_factor":0.5})", kNew,
       ""},
  };
  for (const auto& row : rows) EXPECT_EQ(refusal_of(outcome_of(row.config, row.release)), row.refusal) << row.config;
}

// Zaya's class has its own share of a head before the parameters are standardised: transformers 5.12.1, up to 0.5.21,
// puts it in the place of the parameters' own, 5.19.0 leaves them alone.
TEST(ModelFacts, AShareOfAHeadStandsInTheRotaryParameters) {
  constexpr std::string_view kZaya = R"({"model_type":"zaya","architectures":["ZayaForCausalLM"],
    "rope_parameters":{"rope_type":"default","rope_theta":10000.0,"partial_rotary_factor":0.3},
    "partial_rotary_factor":0.75})";
  for (const auto& [patch, share] : {std::pair{21, 0.75}, std::pair{22, 0.3}}) {
    const auto facts = facts_of(outcome_of(kZaya, testing::newest_of(patch)));
    ASSERT_TRUE(facts) << patch;
    const Value rope = facts->text("rope_parameters");
    const Value* part = rope.find("partial_rotary_factor");
    ASSERT_NE(part, nullptr) << patch;
    EXPECT_EQ(*part, Value(share)) << patch;
  }
}

// A class of transformers that stumbles over a missing key: 0.5.11, where it was recorded, warns and looks for its own.
TEST(ModelFacts, ASecondClassIsTriedIn0511Alone) {
  constexpr std::string_view kNoFactor =
      R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"rope_scaling":{"rope_type":"yarn"}})";
  for (const int patch : {11, 12}) {
    const auto outcome = outcome_of(kNoFactor, testing::newest_of(patch));
    EXPECT_EQ(refusal_of(outcome), "KeyError patched") << patch;
    EXPECT_EQ(log_of(outcome), patch == 11 ? "get_config " : "") << patch;
  }
}

// A configuration class raises where a condition of its own holds: what the condition asks for is what to look at.
TEST(ModelFacts, ARefusalOfTheClassNamesWhatItLookedAt) {
  const auto outcome = outcome_of(
      R"({"model_type":"granitemoehybrid","architectures":["GraniteMoeHybridForCausalLM"],"mamba_n_heads":7})", kNew);
  const auto* refusal = std::get_if<Refusal>(&outcome.result);
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(refusal->message, "the configuration class refuses mamba_n_heads");
}

// huggingface_hub takes a tuple alone for a declared one, which no file has: a list is one of whole numbers, or
// refused.
TEST(ModelFacts, AListIsNoTuple) {
  const auto tower = [](const std::string& size) {
    return refusal_of(outcome_of(
        R"({"model_type":"llava","architectures":["LlavaForConditionalGeneration"],"text_config":{"model_type":"mistral"},
            "vision_config":{"model_type":"pixtral","image_size":)" +
            size + "}}",
        kNew));
  };
  for (const char* taken : {"1024", "[]", "[1024, 1024]", "[1, 2, 3]"}) EXPECT_EQ(tower(taken), "") << taken;
  for (const char* refused : {R"(["full_attention"])", "[1.5]", "[[1]]", "[true]"}) {
    EXPECT_EQ(tower(refused), "StrictDataclassFieldValidationError parse") << refused;
  }
}

// transformers writes infinities and what is no number as objects, and reads them back before any class looks.
TEST(ModelFacts, FloatsWithoutAWordInJsonAreReadBack) {
  const auto limit = [](const std::string& upper) {
    return refusal_of(
        outcome_of(R"({"model_type":"nemotron_h","architectures":["NemotronHForCausalLM"],"time_step_limit":[0.0, )" +
                       upper + "]}",
                   kNew));
  };
  for (const char* taken : {"1.0", R"({"__float__": "Infinity"})", R"({"__float__": "NaN"})"}) {
    EXPECT_EQ(limit(taken), "") << taken;
  }
  for (const char* refused : {R"({"__float__": "inf"})", R"({"__float__": "Infinity", "more": 1})", "\"Infinity\""}) {
    EXPECT_EQ(limit(refused), "StrictDataclassFieldValidationError parse") << refused;
  }
}

// nano_nemotron_vl.py makes an object of what tells of the sounds.
TEST(ModelFacts, ASoundTowerIsHeardOf) {
  const std::string model =
      R"({"model_type":"NemotronH_Nano_VL_V2","architectures":["NemotronH_Nano_VL_V2"],
          "vision_config":{"patch_size":16,"image_size":512},
          "llm_config":{"model_type":"nemotron_h","hybrid_override_pattern":"M*-","num_hidden_layers":3})";
  for (const Release release : {kOld, kNew}) {
    const auto hears = [&](const std::string& more) {
      const auto facts = facts_of(outcome_of(model + more + "}", release));
      return facts == nullptr ? "refused" : facts->is_audio_understandable ? "hears" : "does not";
    };
    EXPECT_STREQ(hears(R"(,"sound_config":{"hidden_size":8})"), "hears");
    EXPECT_STREQ(hears(""), "does not");
  }
}

// More layers than any model has are told as the file has them, also where no integer holds them.
TEST(ModelFacts, LayersBeyondTheLimitStandAsTheyWereWritten) {
  for (const std::string layers : {"1025", "1000000000000000000000000000000"}) {
    const auto outcome = outcome_of(
        R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":)" + layers + "}", kNew);
    const auto* refusal = std::get_if<Refusal>(&outcome.result);
    ASSERT_NE(refusal, nullptr);
    EXPECT_EQ(refusal->message, "num_hidden_layers is " + layers + ", and no model has more than 1024");
  }
}

constexpr std::string_view kFp8 =
    R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"torch_dtype":"bfloat16","quantization_config":{"quant_method":"fp8"}})";
constexpr std::string_view kMxfp4 =
    R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"torch_dtype":"bfloat16","quantization_config":{"quant_method":"mxfp4"}})";
constexpr std::string_view kPlain =
    R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"torch_dtype":"bfloat16"})";

// A head that the checkpoint brings is served since 0.5.16, not yet in 0.5.15.post1.
TEST(ModelFacts, ACheckpointsOwnDsparkHeadIsItsDraft) {
  const std::string config =
      testing::read_file(testing::source_directory() + "/tests/data/models/deepseek-v4-flash/config.json");
  const std::string bundled = "{\"dspark_block_size\": 5, " + config.substr(config.find('{') + 1);
  const auto draft = [&](Release release) {
    const auto outcome = outcome_of(bundled, release, [](ModelRequest& r) { r.is_draft = true; });
    const auto facts = facts_of(outcome);
    return facts ? facts->architectures.front() : refusal_of(outcome);
  };
  EXPECT_EQ(draft(v0_5(15, 1)), "DeepseekV4ForCausalLMNextN");
  EXPECT_EQ(draft(v0_5(16)), "DeepseekV4ForCausalLMDSpark");
}

struct QuantizationRow {
  std::string_view config;
  Release release;
  Value asked;
  bool draft;
  std::string method, refusal, log;  // 0.5.13 also logs the missing generation config
};

TEST(ModelFacts, QuantizationComesFromTheCheckpointAndMustAgreeWithTheArgument) {
  const QuantizationRow rows[] = {
      {kFp8, kNew, Value(), false, "fp8", "", ""},
      {kFp8, kNew, "awq", false, "", "ValueError _verify_quantization", ""},
      {kFp8, kNew, "awq", true, "fp8", "", ""},                     // a draft follows its checkpoint
      {kFp8, kNew, "modelopt_fp4", false, "modelopt_fp4", "", ""},  // requantized at load
      {kFp8, kOld, "modelopt_fp4", false, "", "ValueError _verify_quantization", "get_generation_config "},
      {kMxfp4, kNew, Value(), false, "mxfp4", "", "_verify_quantization "},
      {kMxfp4, kOld, Value(), false, "", "ValueError _verify_quantization",
       "get_generation_config "},  // not on xpu yet
      {kPlain, kNew, "AWQ", false, "awq", "", "_verify_quantization "},
      {kPlain, kNew, "nonsense", false, "", "ValueError _verify_quantization", ""},
  };
  for (const auto& row : rows) {
    const auto outcome = outcome_of(row.config, row.release, [&](ModelRequest& r) {
      r.quantization = row.asked;
      r.is_draft = row.draft;
    });
    EXPECT_EQ(refusal_of(outcome), row.refusal) << row.asked.repr() << row.config;
    EXPECT_EQ(log_of(outcome), row.log) << row.asked.repr() << row.config;
    if (const auto facts = facts_of(outcome)) {
      EXPECT_EQ(facts->quantization.value_or(""), row.method) << row.asked.repr();
    }
  }
}

TEST(ModelFacts, AContextLongerThanTheModelsNeedsAnEnvironmentVariable) {
  const auto ask = [](std::int64_t length, bool allowed) {
    return outcome_of(kPlain, kNew, [&](ModelRequest& r) {
      r.context_length = length;
      if (allowed) r.env["SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"] = "1";
    });
  };
  EXPECT_EQ(facts_of(ask(4096, false))->context_len, 4096);
  EXPECT_EQ(refusal_of(ask(40960, false)), "ValueError _derive_context_length");
  const auto allowed = ask(40960, true);
  EXPECT_EQ(facts_of(allowed)->context_len, 40960);
  EXPECT_EQ(log_of(allowed), "_derive_context_length ");
}

TEST(ModelFacts, ADraftRunsUnderItsOwnArchitecture) {
  const auto outcome =
      outcome_of(R"({"model_type":"deepseek_v3","architectures":["DeepseekV3ForCausalLM"],"torch_dtype":"bfloat16"})",
                 kNew, [](ModelRequest& r) { r.is_draft = true; });
  ASSERT_TRUE(facts_of(outcome));
  EXPECT_EQ(facts_of(outcome)->architectures, std::vector<std::string>{"DeepseekV3ForCausalLMNextN"});
  EXPECT_TRUE(facts_of(outcome)->is_mla());
}

TEST(ModelFacts, Gemma4TakesTheSlidingShapeFromTheFullLayersWhenNoLayerSlides) {
  struct Row {
    std::string_view types;
    std::int64_t head_dim, swa_head_dim;
  };
  const Row rows[] = {
      {R"(["full_attention","full_attention"])", 512, 512},
      {R"(["sliding_attention","full_attention"])", 512, 256},
      {R"(["sliding_attention","full_attention"],"per_layer_config":{"01":{"head_dim":128}})", 128, 256}};
  for (const auto& row : rows) {
    const std::string config =
        R"({"model_type":"gemma4","architectures":["Gemma4ForConditionalGeneration"],"text_config":{"num_hidden_layers":2,"layer_types":)" +
        std::string(row.types) + "}}";
    const auto facts = facts_of(outcome_of(config, kNew));
    ASSERT_TRUE(facts) << refusal_of(outcome_of(config, kNew));
    EXPECT_EQ(facts->head_dim, row.head_dim) << row.types;
    EXPECT_EQ(facts->swa_head_dim, row.swa_head_dim) << row.types;
  }
}

TEST(ModelFacts, OverrideArgumentsAreParsedBeforeTheFileIsRead) {
  const auto broken = [](ModelRequest& r) { r.override_args = "{"; };
  for (const Release release : {kOld, kNew}) {
    EXPECT_EQ(refusal_of(outcome_of(R"({"model_type":"frobnicate"})", release, broken)), "JSONDecodeError __init__");
  }
}

TEST(ModelFacts, OverrideArgumentsReplaceAttributesAndReachIntoTheTextPart) {
  const auto text = [](const char* overrides, Release release) {
    return outcome_of(
        R"({"model_type":"qwen2_5_vl","architectures":["Qwen2_5_VLForConditionalGeneration"],"torch_dtype":"bfloat16"})",
        release, [&](ModelRequest& r) { r.override_args = overrides; });
  };
  EXPECT_EQ(facts_of(text(R"({"text_config":{"num_hidden_layers":3}})", kNew))->num_hidden_layers, 3);
  EXPECT_EQ(refusal_of(text("{", kNew)), "JSONDecodeError __init__");
}

TEST(ModelFiles, KnowsPublishedModelsOnlyWhenAsked) {
  ModelFiles with(KnownModels::kYes);
  ModelFiles without;
  const auto known = with.config_of("Qwen/Qwen3-8B");
  ASSERT_TRUE(known && *known);
  EXPECT_EQ((*known)->find("model_type")->as_string(), "qwen3");
  const auto unknown = without.config_of("Qwen/Qwen3-8B");
  ASSERT_TRUE(unknown);
  EXPECT_EQ(*unknown, nullptr);
  EXPECT_EQ(*with.config_of("nobody/no-such-model"), nullptr);
}

TEST(StoredAs, ReplacesEveryNoteOfAQuantisation) {
  const Value awq = Value::parse_json(R"({"model_type": "qwen3_moe", "quantization_config": {"quant_method": "awq"},
      "text_config": {"hidden_size": 8, "quantization_config": {}}})")
                        .value();
  EXPECT_EQ(stored_as(awq, "unquantized").json(), R"({"model_type":"qwen3_moe","text_config":{"hidden_size":8}})");
  const Value fp8 = stored_as(awq, "fp8");
  ASSERT_NE(fp8.find("quantization_config"), nullptr);
  EXPECT_EQ(fp8.find("quantization_config")->json(),
            R"({"activation_scheme":"dynamic","fmt":"e4m3","quant_method":"fp8","weight_block_size":[128,128]})");
}

TEST(Architecture, IsAdvisedWhereTheConfigurationNamesNone) {
  struct Row {
    const char* config;
    const char* overrides;
    std::string advised;  // for --json-model-override-args; "": nothing
  };
  const Row rows[] = {
      {R"({"model_type": "qwen3", "num_attention_heads": 8, "hidden_size": 64})", "{}",
       R"({"architectures":["Qwen3ForCausalLM"]})"},
      {R"({"model_type": "qwen3", "num_attention_heads": 8, "hidden_size": 64})", R"({"num_hidden_layers": 2})",
       R"({"num_hidden_layers":2,"architectures":["Qwen3ForCausalLM"]})"},
      {R"({"model_type": "fsmt", "num_attention_heads": 8, "hidden_size": 64})", "{}", ""},  // served as no text model
  };
  for (const Row& row : rows) {
    for (const Release release : {kOld, kNew}) {
      const auto outcome = outcome_of(row.config, release, [&](ModelRequest& r) { r.override_args = row.overrides; });
      const auto* refusal = std::get_if<Refusal>(&outcome.result);
      ASSERT_NE(refusal, nullptr) << row.config;
      std::vector<Remedy> remedies;
      if (!row.advised.empty())
        remedies = {{.steps = {{.name = "--json-model-override-args", .values = {row.advised}}}}};
      EXPECT_EQ(refusal->remedies, remedies) << row.config;
    }
  }
}

TEST(ModelFacts, AConfigurationThatIsNoObjectRefuses) {
  EXPECT_EQ(refusal_of(outcome_of("[1]", kNew)), "AttributeError _try_load_longcat_config");
  EXPECT_EQ(refusal_of(outcome_of("[1]", kOld)), "TypeError parse");
}

// A part that the file leaves to its class has the class's model type, which steps read.
TEST(ModelFacts, APartWithoutATypeHasThatOfItsClass) {
  const auto facts = facts_of(outcome_of(
      R"({"model_type":"qwen3_vl","architectures":["Qwen3VLForConditionalGeneration"],"text_config":{}})", kNew));
  ASSERT_NE(facts, nullptr);
  const Value* part = facts->hf_config.find("text_config");
  ASSERT_NE(part, nullptr);
  ASSERT_NE(part->find("model_type"), nullptr);
  EXPECT_EQ(*part->find("model_type"), Value("qwen3_vl_text"));
}

TEST(ModelFacts, ADamagedQuantizationFileRefuses) {
  struct Row {
    const char* text;
    Release release;
    const char* refusal;
  };
  for (const Row& row :
       {Row{"{", kNew, "JSONDecodeError _parse_quant_hf_config"},
        Row{"[]", v0_5(19), "TypeError _parse_modelopt_quant_config"},
        Row{"[]", v0_5(20), "AttributeError unwrap_modelopt_quantization_config"},
        Row{"null", v0_5(11), "TypeError _parse_modelopt_quant_config"},
        Row{"{}", v0_5(19), "KeyError _parse_modelopt_quant_config"}, Row{"{}", v0_5(20), ""},
        Row{R"({"quantization": []})", v0_5(19), "AttributeError _parse_modelopt_quant_config"},
        Row{R"({"quantization": []})", v0_5(20), ""},
        Row{R"({"quantization": {"quant_algo": 1}})", v0_5(11), "TypeError _parse_modelopt_quant_config"},
        Row{R"({"quantization": {"quant_algo": true}})", kNew, "TypeError _parse_modelopt_quant_config"},
        Row{R"({"quantization": {"quant_algo": 0}})", kNew, ""}}) {
    const testing::TemporaryDirectory dir;
    dir.file("m/config.json", kPlain.data());
    dir.file("m/hf_quant_config.json", row.text);
    ModelFiles models(KnownModels::kNo);
    ModelRequest request;
    request.release = row.release;
    request.path = dir.path() + "/m";
    EXPECT_EQ(refusal_of(build_model(models, request)), row.refusal) << row.text << row.release.text();
  }
}

// Of a model of the hub SGLang fetches that file alone, warns of what goes wrong, and does not look for ModelSlim's.
TEST(ModelFacts, ADamagedQuantizationFileOfTheHubIsWarnedOf) {
  for (const char* text : {"{", "[]", R"({"quantization": {"quant_algo": 1}})"}) {
    const testing::TemporaryDirectory dir;
    const std::string model = "hub/models--acme--tiny/";
    dir.file(model + "refs/main", "c0ffee");
    dir.file(model + "snapshots/c0ffee/config.json", kPlain.data());
    dir.file(model + "snapshots/c0ffee/hf_quant_config.json", text);
    dir.file(model + "snapshots/c0ffee/quant_model_description.json", "{broken");
    for (const Release release : {kOld, kNew}) {
      ModelFiles models(KnownModels::kYes);
      models.look_in({.env = {{"HF_HUB_CACHE", dir.path() + "/hub"}}});
      ModelRequest request;
      request.release = release;
      request.path = "acme/tiny";
      const auto outcome = build_model(models, request);
      ASSERT_NE(facts_of(outcome), nullptr) << text << refusal_of(outcome);
      EXPECT_EQ(facts_of(outcome)->quantization.value_or("none"), "none") << text;
      EXPECT_THAT(log_of(outcome), ::testing::HasSubstr("_parse_quant_hf_config")) << text;
    }
  }
}

// The file of ModelSlim is read whatever config.json says, and a draft's is not.
TEST(ModelFacts, ADamagedDescriptionOfModelSlimRefuses) {
  const testing::TemporaryDirectory dir;
  dir.file("broken/config.json", kPlain.data());
  dir.file("broken/quant_model_description.json", "{broken");
  dir.file("list/config.json", kPlain.data());
  dir.file("list/quant_model_description.json", "[1]");
  ModelFiles models(KnownModels::kNo);
  for (const Release release : {kOld, kNew}) {
    ModelRequest request;
    request.release = release;
    request.path = dir.path() + "/broken";
    EXPECT_EQ(refusal_of(build_model(models, request)), "JSONDecodeError _find_quant_modelslim_config");
    request.is_draft = true;
    EXPECT_NE(facts_of(build_model(models, request)), nullptr);
    request.is_draft = false;
    request.path = dir.path() + "/list";
    EXPECT_EQ(refusal_of(build_model(models, request)), "TypeError _find_quant_modelslim_config");
  }
}

TEST(ModelFacts, ALengthBeyondSixtyFourBitsIsTheLongestThereIs) {
  const auto facts = facts_of(outcome_of(
      R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"max_position_embeddings":100000000000000000000})",
      kNew, [](ModelRequest& request) { request.context_length = 4096; }));
  ASSERT_NE(facts, nullptr);
  EXPECT_EQ(facts->context_len, 4096);
}

TEST(ModelFiles, TakesTheConfigurationItselfAsWellAsItsDirectory) {
  const testing::TemporaryDirectory dir;
  const std::string file = dir.file("m/config.json", R"({"model_type":"qwen3"})");
  ModelFiles models(KnownModels::kNo);
  for (const std::string& path : {dir.path() + "/m", file}) {
    const auto config = models.config_of(path);
    ASSERT_TRUE(config && *config != nullptr) << path;
    EXPECT_EQ((*config)->find("model_type")->as_string(), "qwen3");
  }
}

// As the real releases tell it: each reading overrides what it finds, DeepSeek-OCR-2's twice; 0.5.23 reads it two
// times.
TEST(DeepseekOcr, TellsThatItsHeadsAreGivenAValueWidth) {
  const auto told = [](const char* release, const char* code) {
    const testing::TemporaryDirectory folder;
    folder.file("config.json",
                fmt::format(R"({{"architectures": ["DeepseekOCRForCausalLM"], "model_type": "deepseek_vl_v2",
        "auto_map": {{"AutoModel": "{}"}}, "vision_config": {{"model_type": "vision"}}, "projector_config": {{}},
        "language_config": {{"architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2", "hidden_size": 1280,
          "num_hidden_layers": 2, "num_attention_heads": 10, "num_key_value_heads": 10, "intermediate_size": 6848,
          "vocab_size": 129280, "max_position_embeddings": 8192, "use_mla": false, "v_head_dim": 0,
          "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "kv_lora_rank": null, "q_lora_rank": null}}}})",
                            code));
    const auto report = nlohmann::json::parse(testing::run_tool({"resolve", "--format", "json", "--sglang-version",
                                                                 release, "--", "--model-path", folder.path()})
                                                  .out);
    int count = 0;
    for (const auto& warning : report.at("warnings")) {
      if (warning.at(1) == "_override_v_head_dim_if_zero") ++count;
    }
    return count;
  };
  const char* first = "modeling_deepseekocr.DeepseekOCRForCausalLM";
  const char* second = "modeling_deepseekocr2.DeepseekOCR2ForCausalLM";
  EXPECT_EQ(told("0.5.19", first), 1);
  EXPECT_EQ(told("0.5.19", second), 2);
  EXPECT_EQ(told("0.5.23", first), 2);
  EXPECT_EQ(told("0.5.23", second), 4);
  EXPECT_EQ(told("0.5.23", "modeling_other.Other"), 0);
}

}  // namespace
}  // namespace preflight::facts
