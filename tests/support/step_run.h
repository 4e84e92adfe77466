// Runs resolution steps on a launch described by a few fields: everything else has the release's default.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve::testing {

class NoModels : public facts::ModelSource {
 public:
  Result<std::shared_ptr<const Value>> config_of(const std::string& /*path*/) override { return nullptr; }
  bool has_file(const std::string& /*path*/, const std::string& /*name*/) override { return false; }
};

inline ModelFacts dense_model(std::int64_t kv_heads = 8) {
  ModelFacts model;
  model.architectures = {"LlamaForCausalLM"};
  model.num_attention_heads = 32;
  model.num_key_value_heads = kv_heads;
  model.hf_text_config = Value::dict({{"num_key_value_heads", kv_heads}});
  model.head_dim = 128;
  model.v_head_dim = 128;
  model.context_len = 8192;
  return model;
}

inline ModelFacts mla_model() {
  ModelFacts model = dense_model();
  model.architectures = {"DeepseekV2ForCausalLM"};
  model.attention_arch = AttentionArch::kMla;
  return model;
}

struct StepRun {
  using Fields = std::vector<FieldValue>;

  StepRun(Release release, const Fields& given, ModelFacts model = dense_model()) {
    launch.args.release = release;
    launch.args.raw = LaunchFields(release);
    launch.args.raw.set(Field::device, "xpu");
    launch.args.raw.set(Field::model_path, "/models/some");
    for (const auto& [field, value] : given) launch.args.raw.set(field, value);
    launch.resolved = launch.args.raw;
    launch.model = std::make_shared<const ModelFacts>(std::move(model));
  }

  // Runs steps in order; false when one refused.
  bool run(std::initializer_list<Step> steps) {
    Resolution r(launch, models);
    try {
      for (const Step step : steps) step(r);
    } catch (RefusedByStep& refused) {
      refusal = std::move(refused.refusal);
    }
    return !refusal.has_value();
  }

  // "ValueError handle_x", or "" when nothing refused.
  [[nodiscard]] std::string refused_by() const {
    return refusal ? refusal->exception + ' ' + refusal->function : std::string();
  }
  [[nodiscard]] std::vector<std::string> warned() const {
    std::vector<std::string> functions;
    for (const LogLine& line : launch.log) functions.push_back(line.function);
    return functions;
  }
  const Value& operator[](Field f) const { return launch[f]; }

  Launch launch;
  std::optional<Refusal> refusal;
  NoModels models;
};

}  // namespace preflight::resolve::testing
