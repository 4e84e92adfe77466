// What a model's architecture declares: one small provider per model family, collected before any is applied.
//
// Upstream: arg_groups/model_overrides/*.py and the registry in arg_groups/overrides.py (releases that declare). Each
// provider reads the fields as they were before the others declared. Providers that act only on NVIDIA or AMD devices
// are left out: bailing_moe_v3, beam, cohere2_moe, falcon_h1, granitemoehybrid (but for its accident), lfm2, minicpmv,
// muse_glimmer, qwen3_5, qwen3_moe, qwen3_vl. Tested by tests/resolve_model_test.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// The fields one provider declares; setting a field twice keeps the last value, as a Python dict does.
class Overrides {
 public:
  void set(Field field, Value value) {
    for (auto& [known, old] : fields_) {
      if (known == field) {
        old = std::move(value);
        return;
      }
    }
    fields_.emplace_back(field, std::move(value));
  }
  [[nodiscard]] bool empty() const { return fields_.empty(); }
  // The value declared here, or else the field's present value.
  [[nodiscard]] const Value& or_current(const Resolution& r, Field field) const {
    for (const auto& [known, value] : fields_) {
      if (known == field) return value;
    }
    return r[field];
  }
  std::vector<FieldValue> take() && { return std::move(fields_); }

 private:
  std::vector<FieldValue> fields_;
};

// Declares everything the providers of the model's architecture ask for.
void declare_model_overrides(Resolution& r);

// Parts that releases which assign use as well (src/resolve/models/model_adjustments_assigned.cpp).
bool is_modelopt(const ModelFacts& model);
// What a ModelOpt checkpoint of Nemotron-H is loaded as; asserts its activation.
Value nemotron_modelopt_quantization(Resolution& r, const ModelFacts& model, std::string_view function);
// gpt-oss on XPU computes in bfloat16: warns at "auto", refuses anything else.
void require_gpt_oss_dtype(Resolution& r, std::string_view function);
// EXAONE: True when sliding_window_pattern is set.
bool exaone_uses_sliding_window(Resolution& r, const ModelFacts& model, std::string_view function);

// Providers, by family.
Overrides deepseek_family_overrides(Resolution& r, const ModelFacts& model);
Overrides deepseek_v4_overrides(Resolution& r, const ModelFacts& model);
Overrides embedding_gemma2_overrides(Resolution& r, const ModelFacts& model);
Overrides ernie45_vl_overrides(Resolution& r, const ModelFacts& model);
Overrides exaone_overrides(Resolution& r, const ModelFacts& model);
Overrides gemma2_gemma3_overrides(Resolution& r, const ModelFacts& model);
Overrides gemma4_overrides(Resolution& r, const ModelFacts& model);
Overrides gigachat35_overrides(Resolution& r, const ModelFacts& model);
Overrides glm4_moe_overrides(Resolution& r, const ModelFacts& model);
Overrides gpt_oss_overrides(Resolution& r, const ModelFacts& model);
Overrides granite_hybrid_overrides(Resolution& r, const ModelFacts& model);
Overrides inkling_overrides(Resolution& r, const ModelFacts& model);
Overrides interns2_mobius_overrides(Resolution& r, const ModelFacts& model);
Overrides iquest_q1_overrides(Resolution& r, const ModelFacts& model);
Overrides kimi_k3_overrides(Resolution& r, const ModelFacts& model);
Overrides llama4_overrides(Resolution& r, const ModelFacts& model);
Overrides mimo_v2_overrides(Resolution& r, const ModelFacts& model);
Overrides minicpm_sala_overrides(Resolution& r, const ModelFacts& model);
Overrides minimax_m2_overrides(Resolution& r, const ModelFacts& model);
Overrides minimax_m3_overrides(Resolution& r, const ModelFacts& model);
Overrides mistral_large_overrides(Resolution& r, const ModelFacts& model);
Overrides moss_vl_overrides(Resolution& r, const ModelFacts& model);
Overrides muse_spark_overrides(Resolution& r, const ModelFacts& model);
Overrides nemotron_h_overrides(Resolution& r, const ModelFacts& model);
Overrides olmo2_overrides(Resolution& r, const ModelFacts& model);
Overrides qwen4_exp_overrides(Resolution& r, const ModelFacts& model);
Overrides step3p_overrides(Resolution& r, const ModelFacts& model);

}  // namespace preflight::resolve
