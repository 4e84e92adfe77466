// Tested by tests/facts_model_test.cpp.
#include "src/facts/stored_as.h"

#include <string>
#include <utility>

namespace preflight::facts {
namespace {

// Without every note of a quantisation, in the parts of a model of several as well.
Value unquantized(const Value& config) {
  Value::Dict kept;
  for (const auto& [name, value] : config.as_dict()) {
    if (name == "quantization_config" || name == "compression_config") continue;
    kept.emplace_back(name, value.is_dict() ? unquantized(value) : value);
  }
  return Value::dict(std::move(kept));
}

}  // namespace

Value stored_as(const Value& config, std::string_view form) {
  if (!config.is_dict()) return config;
  Value out = unquantized(config);
  if (form != "fp8") return out;
  Value::Dict entries = out.as_dict();
  entries.emplace_back("quantization_config",
                       Value::dict({{"activation_scheme", "dynamic"},
                                    {"fmt", "e4m3"},
                                    {"quant_method", "fp8"},
                                    {"weight_block_size", Value::list({std::int64_t{128}, std::int64_t{128}})}}));
  return Value::dict(std::move(entries));
}

}  // namespace preflight::facts
