// What a release makes of a model's configuration, as its own ModelConfig answered: tests/data/model_configs.jsonl, one
// configuration a line,
//
//   id, config, request      config.json and the arguments beside it
//   files                    {name: content of another JSON file of the directory}
//   releases                 {"11-14": {fact: value, …}, "15-23": {"error": [exception, function]}, …}
//
// recorded by tests/parity/record.py models with every release. A fact that is none or false there is left out, and
// rope_parameters where they are not what is asked. Only configurations are here that two releases answer differently.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/facts/model_source.h"
#include "tests/support/paths.h"

namespace preflight::facts {
namespace {

class OneConfig : public ModelSource {
 public:
  explicit OneConfig(Value config, const Value* files)
      : config_(std::move(config)), files_(files == nullptr ? Value::dict({}) : *files) {}
  Result<std::shared_ptr<const Value>> config_of(const std::string& /*path*/) override {
    return std::make_shared<const Value>(config_);
  }
  bool has_file(const std::string& /*path*/, const std::string& name) override {
    return name == "config.json" || name == "." || files_.find(name) != nullptr;
  }
  std::optional<Value> json_file(const std::string& /*path*/, const std::string& name) override {
    const Value* file = files_.find(name);
    return file == nullptr ? std::nullopt : std::optional(*file);
  }

 private:
  Value config_;
  Value files_;
};

Value ids(const std::vector<std::int64_t>& list) { return Value::list(Value::List(list.begin(), list.end())); }

Value number(std::int64_t value) { return value == 0 ? Value() : Value(value); }

template <typename T>
Value maybe(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

const char* name_of(AttentionArch arch) {
  return arch == AttentionArch::kMla ? "MLA" : arch == AttentionArch::kSsm ? "SSM" : "MHA";
}

using Fact = std::function<Value(const ModelFacts&)>;

const std::map<std::string, Fact>& facts_by_name() {
  static const std::map<std::string, Fact> kFacts = {
      {"context_len", [](const ModelFacts& m) { return number(m.context_len); }},
      {"head_dim", [](const ModelFacts& m) { return number(m.head_dim); }},
      {"v_head_dim", [](const ModelFacts& m) { return number(m.v_head_dim); }},
      {"swa_head_dim", [](const ModelFacts& m) { return number(m.swa_head_dim); }},
      {"swa_v_head_dim", [](const ModelFacts& m) { return number(m.swa_v_head_dim); }},
      {"scaling", [](const ModelFacts& m) { return m.scaling == 0 ? Value() : Value(m.scaling); }},
      {"kv_lora_rank", [](const ModelFacts& m) { return number(m.kv_lora_rank); }},
      {"qk_nope_head_dim", [](const ModelFacts& m) { return number(m.qk_nope_head_dim); }},
      {"qk_rope_head_dim", [](const ModelFacts& m) { return number(m.qk_rope_head_dim); }},
      {"index_head_dim", [](const ModelFacts& m) { return maybe(m.index_head_dim); }},
      {"num_attention_heads", [](const ModelFacts& m) { return number(m.num_attention_heads); }},
      {"num_key_value_heads", [](const ModelFacts& m) { return number(m.num_key_value_heads); }},
      {"hidden_size", [](const ModelFacts& m) { return number(m.hidden_size); }},
      {"spec_hidden_size", [](const ModelFacts& m) { return number(m.spec_hidden_size); }},
      {"num_hidden_layers", [](const ModelFacts& m) { return number(m.num_hidden_layers); }},
      {"num_attention_layers", [](const ModelFacts& m) { return number(m.num_attention_layers); }},
      {"num_nextn_predict_layers", [](const ModelFacts& m) { return maybe(m.num_nextn_predict_layers); }},
      {"vocab_size", [](const ModelFacts& m) { return number(m.vocab_size); }},
      {"is_hybrid_swa", [](const ModelFacts& m) { return Value(m.is_hybrid_swa); }},
      {"swa_attention_layer_ids", [](const ModelFacts& m) { return ids(m.swa_layer_ids); }},
      {"full_attention_layer_ids", [](const ModelFacts& m) { return ids(m.full_layer_ids); }},
      {"has_attention_sinks", [](const ModelFacts& m) { return Value(m.has_attention_sinks); }},
      {"is_hybrid_swa_compress", [](const ModelFacts& m) { return Value(m.is_hybrid_swa_compress); }},
      {"is_generation", [](const ModelFacts& m) { return Value(m.is_generation); }},
      {"is_multimodal", [](const ModelFacts& m) { return Value(m.is_multimodal); }},
      {"is_audio_model", [](const ModelFacts& m) { return Value(m.is_audio_model); }},
      {"is_image_understandable_model", [](const ModelFacts& m) { return Value(m.is_image_understandable); }},
      {"is_audio_understandable_model", [](const ModelFacts& m) { return Value(m.is_audio_understandable); }},
      {"is_multimodal_chunked_prefill_supported",
       [](const ModelFacts& m) { return Value(m.is_multimodal_chunked_prefill_supported); }},
      {"is_encoder_decoder", [](const ModelFacts& m) { return Value(m.is_encoder_decoder); }},
      {"is_local_attention_model", [](const ModelFacts& m) { return Value(m.is_local_attention_model); }},
      {"is_piecewise_cuda_graph_disabled_model",
       [](const ModelFacts& m) { return Value(m.is_piecewise_graph_disabled); }},
      {"is_embedding_gemma", [](const ModelFacts& m) { return Value(m.is_embedding_gemma); }},
      {"is_lm_only", [](const ModelFacts& m) { return Value(m.is_language_model_only); }},
      {"model_is_mrope", [](const ModelFacts& m) { return Value(m.is_mrope); }},
      {"sliding_window_size", [](const ModelFacts& m) { return maybe(m.sliding_window_size); }},
      {"attention_chunk_size", [](const ModelFacts& m) { return maybe(m.attention_chunk_size); }},
      {"quantization", [](const ModelFacts& m) { return maybe(m.quantization); }},
      {"dtype", [](const ModelFacts& m) { return Value(m.dtype); }},
      {"attention_arch", [](const ModelFacts& m) { return Value(name_of(m.attention_arch)); }},
      {"architectures",
       [](const ModelFacts& m) { return Value::list(Value::List(m.architectures.begin(), m.architectures.end())); }},
      {"rope_parameters", [](const ModelFacts& m) { return m.text("rope_parameters"); }},
  };
  return kFacts;
}

bool same(const Value& a, const Value& b) {
  if (!a.truthy() && !b.truthy()) return true;
  if (a.is_number() && b.is_number()) {
    return std::abs(a.as_number() - b.as_number()) <= 1e-9 * std::abs(b.as_number());
  }
  if (!a.is_dict() || !b.is_dict()) return a == b;
  if (a.as_dict().size() != b.as_dict().size()) return false;
  for (const auto& [key, value] : a.as_dict()) {
    const Value* other = b.find(key);
    if (other == nullptr || !same(value, *other)) return false;
  }
  return true;
}

ModelRequest request_of(Release release, const Value& given) {
  ModelRequest request;
  request.release = release;
  request.path = "/models/one";
  request.trust_remote_code = true;
  const auto take = [&](const char* name, Value& into) {
    if (const Value* v = given.find(name)) into = *v;
  };
  take("enable_multimodal", request.enable_multimodal);
  take("is_embedding", request.is_embedding);
  take("quantization", request.quantization);
  take("quantize_and_serve", request.quantize_and_serve);
  take("dtype", request.dtype);
  take("context_length", request.context_length);
  take("model_override_args", request.override_args);
  take("speculative_algorithm", request.speculative_algorithm);
  if (const Value* draft = given.find("is_draft_model")) request.is_draft = draft->truthy();
  if (const Value* named = given.find("is_draft_quantization_explicit")) {
    request.draft_quantization_explicit = named->truthy();
  }
  return request;
}

void expect_as_recorded(const std::string& id, const ModelOutcome& outcome, const Value& recorded) {
  if (const Value* error = recorded.find("error")) {
    const auto* refusal = std::get_if<Refusal>(&outcome.result);
    ASSERT_NE(refusal, nullptr) << id << " is accepted";
    EXPECT_EQ(refusal->exception, error->as_list()[0].as_string()) << id << ": " << refusal->message;
    EXPECT_EQ(refusal->function, error->as_list()[1].as_string()) << id << ": " << refusal->message;
    return;
  }
  const auto* facts = std::get_if<std::shared_ptr<const ModelFacts>>(&outcome.result);
  ASSERT_NE(facts, nullptr) << id << ": " << std::get<Refusal>(outcome.result).message;
  for (const auto& [name, ours] : facts_by_name()) {
    const Value* theirs = recorded.find(name);
    if (theirs == nullptr && name == "rope_parameters") continue;
    const Value predicted = ours(**facts);
    EXPECT_TRUE(same(predicted, theirs == nullptr ? Value() : *theirs))
        << id << ", " << name << ": " << predicted.repr() << " for " << (theirs == nullptr ? "none" : theirs->repr());
  }
}

TEST(ModelFacts, AreThoseOfEachReleasesModelConfig) {
  std::ifstream file(testing::source_directory() + "/tests/data/model_configs.jsonl");
  std::string line;
  int read = 0;
  while (std::getline(file, line)) {
    const Value row = Value::parse_json(line).value();
    OneConfig source(*row.find("config"), row.find("files"));
    const Value* given = row.find("request");
    for (const auto& [range, recorded] : row.find("releases")->as_dict()) {
      const auto dash = range.find('-');
      const int first = std::stoi(range);
      const int last = dash == range.npos ? first : std::stoi(range.substr(dash + 1));
      for (int patch = first; patch <= last; ++patch) {
        ++read;
        const Release release = v0_5(patch);
        const auto request = request_of(release, given == nullptr ? Value::dict({}) : *given);
        expect_as_recorded(row.find("id")->as_string() + " in 0.5." + std::to_string(patch),
                           build_model(source, request), recorded);
      }
    }
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace preflight::facts
