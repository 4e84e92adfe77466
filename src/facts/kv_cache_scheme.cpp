#include "src/facts/kv_cache_scheme.h"

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

bool checkpoint_wants_fp8_cache(const ModelFacts& model, Release release) {
  if (!model.quantization || !model.quant_config.is_dict()) return false;
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
