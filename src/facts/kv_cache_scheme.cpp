#include "src/facts/kv_cache_scheme.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "src/base/ascii_case.h"
#include "src/facts/transformers/dict_fields.h"

namespace preflight::facts {
namespace {

// Descriptions in config.json ("flat") may name the algorithm instead of a scheme.
constexpr Release kFlatAlgorithm = v0_5(15);
constexpr Release kFp8Method = v0_5(18);          // Fp8Config, of which mxfp8 is a kind
constexpr Release kCompressedTensors = v0_5(19);  // before, its scales were loaded into a cache of the model's type

// Classes that build their layers from the quantisation object and do not keep it: asked for it, the model has none,
// and the cache has the model's type. They are so in every release that has them.
constexpr auto kKeepNoScheme = std::to_array<std::string_view>({"CLIPModel",
                                                                "Cohere2VisionForConditionalGeneration",
                                                                "Contriever",
                                                                "DeciLMForCausalLM",
                                                                "DeepseekOCRForCausalLM",
                                                                "DeepseekVL2ForCausalLM",
                                                                "DotsOCRForCausalLM",
                                                                "DotsVLMForCausalLM",
                                                                "EmbeddingGemma2Model",
                                                                "Ernie4_5_VLMoeForConditionalGeneration",
                                                                "Glm4vForConditionalGeneration",
                                                                "GlmAsrForConditionalGeneration",
                                                                "GlmImageForConditionalGeneration",
                                                                "GlmOcrForConditionalGeneration",
                                                                "HunYuanDenseV1ForCausalLM",
                                                                "HunYuanMoEV1ForCausalLM",
                                                                "JetVLMForConditionalGeneration",
                                                                "LagunaForCausalLM",
                                                                "LightOnOCRForConditionalGeneration",
                                                                "LlamaEmbeddingModel",
                                                                "LlavaForConditionalGeneration",
                                                                "LlavaLlamaForCausalLM",
                                                                "LlavaMistralForCausalLM",
                                                                "LlavaQwenForCausalLM",
                                                                "LlavaVidForCausalLM",
                                                                "MiniCPMO",
                                                                "MiniCPMV",
                                                                "MiniCPMV4_6ForConditionalGeneration",
                                                                "MiniCPMV4_7ForConditionalGeneration",
                                                                "Mistral3ForConditionalGeneration",
                                                                "MistralModel",
                                                                "MultiModalityCausalLM",
                                                                "NVILAForConditionalGeneration",
                                                                "NVILALiteForConditionalGeneration",
                                                                "NemotronH_Nano_Omni_Reasoning_V3",
                                                                "NemotronH_Nano_VL_V2",
                                                                "NemotronH_Omni_Reasoning_V3",
                                                                "Olmo2ForCausalLM",
                                                                "OlmoForCausalLM",
                                                                "Phi4MMForCausalLM",
                                                                "PixtralForConditionalGeneration",
                                                                "QWenLMHeadModel",
                                                                "Qwen2AudioForConditionalGeneration",
                                                                "Qwen2VLForConditionalGeneration",
                                                                "Qwen2_5_VLForConditionalGeneration",
                                                                "Qwen3ASRForConditionalGeneration",
                                                                "Qwen3OmniMoeForConditionalGeneration",
                                                                "Sarashina2VisionForCausalLM",
                                                                "Starcoder2ForCausalLM",
                                                                "Step3p7ForConditionalGeneration",
                                                                "StepVLForConditionalGeneration",
                                                                "UnlimitedOCRForCausalLM",
                                                                "VoxtralForConditionalGeneration",
                                                                "WhisperForConditionalGeneration",
                                                                "YiVLForCausalLM"});

bool keeps_scheme(const ModelFacts& model) {
  return model.architectures.empty() ||
         std::ranges::find(kKeepNoScheme, model.architectures.front()) == kKeepNoScheme.end();
}

bool is_fp8(const Value& algorithm) { return algorithm.is_string() && ascii_upper(algorithm.as_string()) == "FP8"; }

bool is_float8(const Value& scheme) {
  return text_field(scheme, "type") == "float" && field(scheme, "num_bits") == Value(8);
}

bool modelopt_wants_fp8(std::string_view method, const Value& config, Release release) {
  if (const Value nested = field(config, "quantization"); nested.is_dict()) {  // hf_quant_config.json
    return is_fp8(field(nested, "kv_cache_quant_algo"));
  }
  const Value scheme = field(config, "kv_cache_scheme");
  if (scheme.is_dict()) return is_float8(scheme);
  if (scheme.is_string() && method == "modelopt_fp4") {
    const std::string name = ascii_upper(scheme.as_string());
    return name == "FP8" || name == "FLOAT8";
  }
  return release >= kFlatAlgorithm && is_fp8(field(config, "kv_cache_quant_algo"));
}

// Static scales, one a tensor: what the cache's own methods can represent.
bool compressed_tensors_wants_fp8(const Value& config) {
  const Value scheme = field(config, "kv_cache_scheme");
  if (!scheme.is_dict() || !is_float8(scheme) || text_field(scheme, "strategy") != "tensor") return false;
  const Value* symmetric = scheme.find("symmetric");
  return (symmetric == nullptr || symmetric->truthy()) && !field(scheme, "dynamic").truthy();
}

}  // namespace

bool checkpoint_wants_fp8_cache(const ModelFacts& model, Release release, bool by_transformers) {
  if (!model.quantization || !model.quant_config.is_dict()) return false;
  if (!by_transformers && !keeps_scheme(model)) return false;
  const std::string_view method = *model.quantization;
  const Value& config = model.quant_config;
  if (method == "modelopt" || method == "modelopt_fp8" || method == "modelopt_fp4" || method == "modelopt_mixed") {
    return modelopt_wants_fp8(method, config, release);
  }
  if (method == "petit_nvfp4") return is_fp8(field(field(config, "quantization"), "kv_cache_quant_algo"));
  if (method == "fp8" || method == "mxfp8") {
    return release >= kFp8Method && is_fp8(field(config, "kv_cache_quant_algo"));
  }
  if (method == "compressed-tensors") return release >= kCompressedTensors && compressed_tensors_wants_fp8(config);
  return false;
}

}  // namespace preflight::facts
