// Which quantization the model runs with, and which requests SGLang refuses: ModelConfig._parse_quant_hf_config and
// _verify_quantization with the methods registered on xpu. Tested by tests/facts_model_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/facts/transformers/model_builder.h"
#include "src/facts/transformers/dict_fields.h"
#include "src/base/text.h"

namespace preflight::facts {
namespace {

constexpr Release kFirst = v0_5(11);
constexpr std::string_view kVerify = "_verify_quantization";

struct Method {
  std::string_view name;
  bool optimized = false;  // no speed warning
  bool registered = true;  // in QUANTIZATION_METHODS on xpu
  Release since = kFirst;
  Release until = kNoEnd;  // exclusive
};

constexpr Method kMethods[] = {
    {"fp8", true},
    {"mxfp8"},
    {"minimax_m3_nvfp4", true, true, v0_5(23)},
    {"blockwise_int8"},
    {"modelopt"},
    {"modelopt_fp8", true},
    {"modelopt_fp4", true},
    {"nvfp4_online", true, true, v0_5(14)},
    {"modelopt_mixed", true},
    {"w8a8_int8", true},
    {"w8a8_fp8", true},
    {"awq"},
    {"awq_marlin", true},
    {"bitsandbytes"},
    {"gguf"},
    {"gptq"},
    {"gptq_marlin", true},
    {"moe_wna16", true},
    {"compressed-tensors", true},
    {"qoq", true, true, kFirst, v0_5(16)},
    {"w4afp8", true},
    {"petit_nvfp4", true},
    {"fbgemm_fp8", true, true, kFirst, v0_5(16)},
    {"quark", true},
    {"quark_mxfp4", true, true, v0_5(13)},
    {"auto-round", false, true, kFirst, v0_5(18)},
    {"auto-round", true},
    {"auto-round-int8", false, true, v0_5(15)},
    {"modelslim", true},
    {"quark_int4fp8_moe"},
    {"humming", true, true, v0_5(16)},
    {"mxfp_w4a8", false, true, v0_5(15)},
    {"mxfp4", false, true, v0_5(20)},
};

const Method* find_method(std::string_view name, Release release) {
  for (const Method& m : kMethods) {
    if (m.name == name && m.since <= release && release < m.until) return m.registered ? &m : nullptr;
  }
  return nullptr;
}

constexpr const char* kParseModelOpt = "_parse_modelopt_quant_config";

bool has_nvfp4_layer(const Value& config) {
  const Value layers = field(config, "quantized_layers");
  if (layers.truthy() && !layers.is_dict())
    raise(RF::kOther, "AttributeError", kParseModelOpt, "quantized_layers is no object");
  if (!layers.is_dict()) return false;
  return std::any_of(layers.as_dict().begin(), layers.as_dict().end(), [](const Value::Item& item) {
    const std::string algo = ascii_upper(text_field(item.second, "quant_algo"));
    return algo == "NVFP4" || algo == "W4A16_NVFP4";
  });
}

// Python's "in": a part of a text, an element of a list, a key of an object.
bool names_within(const Value& algorithm, std::string_view name) {
  if (algorithm.is_string()) return contains(algorithm.as_string(), name);
  if (algorithm.is_list()) return std::ranges::find(algorithm.as_list(), Value(name)) != algorithm.as_list().end();
  return algorithm.is_dict() && algorithm.find(name) != nullptr;
}

// What a ModelOpt description means: the fields to merge into it; None when it says nothing known.
Value parse_modelopt(const ModelBuilder& b, const Value& config) {
  const Value given = field(config, "quant_algo");
  if (given.is_number() && given.truthy())
    raise(RF::kOther, "TypeError", kParseModelOpt, "quant_algo names no algorithm: " + given.repr());
  const std::string algo = text_field(config, "quant_algo");
  const auto named = [&](const char* method) { return Value::dict({{"quant_method", method}, {"quant_algo", given}}); };
  if (algo == "MIXED_PRECISION") {
    if (b.since(v0_5(15))) return named(has_nvfp4_layer(config) ? "modelopt_mixed" : "w4afp8");
    const bool nemotron = b.hf->get("model_type") == Value("nemotron_h") ||
                          std::any_of(b.architectures.begin(), b.architectures.end(),
                                      [](const std::string& a) { return a.starts_with("NemotronH"); });
    return named(nemotron ? "modelopt_mixed" : "w4afp8");
  }
  if (names_within(given, "FP4") || names_within(given, "NVFP4")) return named("modelopt_fp4");
  if (b.since(v0_5(18)) ? algo == "FP8" : names_within(given, "FP8")) return named("modelopt_fp8");
  if (algo != "MXFP8") return Value();
  const Value group = config.find("group_size") == nullptr ? Value(32) : field(config, "group_size");
  Value parsed = named("mxfp8")
                     .with("activation_scheme", "dynamic")
                     .with("weight_block_size", Value::list({1, group}))
                     .with("scale_fmt", "ue8m0");
  const Value ignored =
      config.find("exclude_modules") != nullptr ? field(config, "exclude_modules") : field(config, "ignore");
  if (!ignored.is_none()) parsed = parsed.with("modules_to_not_convert", ignored);
  Value kv_algo = field(config, "kv_cache_quant_algo");
  const Value scheme = field(config, "kv_cache_scheme");
  if (kv_algo.is_none() && text_field(scheme, "type") == "float" && field(scheme, "num_bits") == Value(8))
    kv_algo = "FP8";
  return kv_algo.is_none() ? parsed : parsed.with("kv_cache_quant_algo", kv_algo);
}

// Since 0.5.20 the description may lie one level deeper, or in the file itself.
Value unwrap_modelopt(const ModelBuilder& b, const Value& file) {
  const bool unwraps = b.since(v0_5(20));
  if (!file.is_dict()) {
    raise(RF::kOther, unwraps ? "AttributeError" : "TypeError",
          unwraps ? "unwrap_modelopt_quantization_config" : kParseModelOpt, "hf_quant_config.json holds no object");
  }
  const Value* inner = file.find("quantization");
  if (inner == nullptr) {
    if (!unwraps) raise(RF::kOther, "KeyError", kParseModelOpt, "hf_quant_config.json has no 'quantization'");
    return file;
  }
  if (!inner->is_dict()) {
    if (!unwraps)
      raise(RF::kOther, "AttributeError", kParseModelOpt, "'quantization' in hf_quant_config.json is no object");
    return Value();
  }
  if (!unwraps) return *inner;
  const Value* nested = inner->find("quantization");
  return nested != nullptr && nested->is_dict() ? *nested : *inner;
}

Value merged(Value dict, const Value& more) {
  if (more.is_dict()) {
    for (const auto& [key, value] : more.as_dict()) dict = std::move(dict).with(key, value);
  }
  return dict;
}

// A model of the hub, wherever it lies: its files are fetched one by one.
bool is_fetched(const ModelBuilder& b) { return !b.source.has_file(b.request.path, "."); }

constexpr const char* kModelOptFile = "hf_quant_config.json";

Value quantization_beside(const ModelBuilder& b) {
  const auto file = b.source.json_file(b.request.path, kModelOptFile);
  if (!file)
    raise(RF::kOther, "JSONDecodeError", "_parse_quant_hf_config", fmt::format("{} is no valid JSON", kModelOptFile));
  const Value inner = unwrap_modelopt(b, *file);
  // The file's own words stay beside what they mean: the type of the cache is read there.
  const Value parsed = inner.truthy() ? parse_modelopt(b, inner) : Value();
  return parsed.is_dict() && file->is_dict() ? merged(*file, parsed) : parsed;
}

Value checkpoint_quantization(ModelBuilder& b) {
  Value config = b.hf->get("quantization_config");
  if (config.is_dict()) {
    const Value* method = config.find("quant_method");
    if (method == nullptr || *method == Value("modelopt")) {
      const Value inner = unwrap_modelopt(b, Value::dict({{"quantization", config}}));
      if (inner.truthy()) config = merged(config, parse_modelopt(b, inner));
    }
    return config;
  }
  config = b.hf->get("compression_config");
  if (!config.is_none()) return config;
  if (!b.source.has_file(b.request.path, kModelOptFile)) return Value();
  if (!is_fetched(b)) return quantization_beside(b);
  try {
    return quantization_beside(b);
  } catch (const Raised& raised) {  // SGLang goes on without it
    b.warn("_parse_quant_hf_config", fmt::format("{} is not used: {}", kModelOptFile, raised.refusal.message));
    return Value();
  }
}

// ModelSlim's description, a file of its own, comes before what the configuration says. None where there is none.
Value modelslim_description(const ModelBuilder& b) {
  constexpr const char* kFile = "quant_model_description.json";
  constexpr const char* kFind = "_find_quant_modelslim_config";
  if (b.request.is_draft || is_fetched(b) || !b.source.has_file(b.request.path, kFile)) return Value();
  const auto file = b.source.json_file(b.request.path, kFile);
  if (!file) raise(RF::kOther, "JSONDecodeError", kFind, fmt::format("{} is no valid JSON", kFile));
  if (!file->is_dict()) raise(RF::kOther, "TypeError", kFind, fmt::format("{} holds no object", kFile));
  return file->with("quant_method", "modelslim");
}

// moe_wna16 takes GPTQ checkpoints of 4 or 8 bits without activation order; for AWQ it wants an NVIDIA GPU.
bool fits_moe_wna16(const Value& config) {
  const Value bits = field(config, "bits");
  return ascii_lower(text_field(config, "quant_method")) == "gptq" && !field(config, "desc_act").truthy() &&
         (bits == Value(4) || bits == Value(8));
}

// What "--quantization modelopt" means for an algorithm of ModelOpt; "" where nothing.
std::string modelopt_method(const ModelBuilder& b, const std::string& algo) {
  if (b.since(v0_5(18)) && algo == "MXFP8") return "mxfp8";
  if (b.since(v0_5(18)) ? algo == "FP8" : contains(algo, "FP8")) return "modelopt_fp8";
  if (!b.since(v0_5(19))) return contains(algo, "FP4") ? "modelopt_fp4" : "";
  return algo == "FP4" || algo == "NVFP4" || algo == "NVFP4_AWQ" || algo == "W4A16_NVFP4" ? "modelopt_fp4" : "";
}

// The first registered method that claims the checkpoint. Marlin's claims need an NVIDIA GPU.
std::string override_method(const ModelBuilder& b, const Value& config, const std::string& asked) {
  const std::string method = text_field(config, "quant_method");
  const bool requantizes = asked == "nvfp4_online" || asked == "quark_mxfp4";
  if (!b.since(v0_5(18)) || !requantizes) {
    if (const Value* algorithm = config.find("quant_algo"); algorithm != nullptr && !algorithm->is_string())
      raise(RF::kOther, "AttributeError", "_modelopt_override_quantization_method",
            "quant_algo is not a text: " + algorithm->repr().substr(0, 60));
    if (asked == "modelopt") {
      const std::string meant = modelopt_method(b, ascii_upper(text_field(config, "quant_algo")));
      if (!meant.empty()) return meant;
    }
    if (method == "modelopt_fp8" || method == "modelopt_fp4") return method;
  }
  if (method == "modelopt_mixed") return method;
  if (asked == "moe_wna16" && fits_moe_wna16(config)) return asked;
  if (b.since(v0_5(16)) && asked == "humming" && method != "mxfp4") return asked;
  return "";
}

bool compatible(const ModelBuilder& b, std::string_view asked, std::string_view stored) {
  const bool tensors = stored == "compressed-tensors" || stored == "compressed_tensors";
  if (asked == "modelopt_fp8" || asked == "modelopt_mixed" || asked == "petit_nvfp4") return stored == "modelopt";
  if (asked == "modelopt_fp4") return stored == "modelopt" || (stored == "fp8" && b.since(v0_5(18)));
  if (asked == "w8a8_int8" || asked == "w8a8_fp8") return tensors;
  if (asked == "nvfp4_online")
    return (stored == "fp8" && b.since(v0_5(14))) || (stored == "modelopt_fp8" && b.since(v0_5(18)));
  // minimax_m3_nvfp4 and auto-round-int8 came with the releases that know these methods.
  if (asked == "minimax_m3_nvfp4") return stored == "mxfp8";
  return asked == "auto-round-int8" && tensors;
}

void settle(ModelBuilder& b, const Value& config, std::optional<std::string>& chosen) {
  const Value* named = config.find("quant_method");
  if (named != nullptr && !named->is_string())
    raise(RF::kOther, "AttributeError", kVerify, "quant_method in config.json is not a text");
  std::string stored = ascii_lower(named != nullptr ? named->as_string() : chosen.value_or(""));
  const bool requantizes = b.since(v0_5(17)) && chosen == "quark_mxfp4";
  const bool keeps_request = requantizes && b.since(v0_5(18));  // before, the checkpoint's own method comes first
  const bool online_draft = b.since(v0_5(17)) && b.request.is_draft && chosen == "nvfp4_online" &&
                            (stored == "modelopt_fp4" || (stored == "modelopt_mixed" && b.since(v0_5(19))));
  if (!keeps_request && !online_draft) {
    if (std::string claimed = override_method(b, config, chosen.value_or("")); !claimed.empty())
      chosen = stored = claimed;
  }
  if (!chosen) {
    chosen = stored;
  } else if (*chosen != stored && !online_draft && !compatible(b, *chosen, stored)) {
    if (b.request.is_draft) {
      chosen = stored;
    } else if (!requantizes) {
      raise(RF::kQuantizationMismatch, "ValueError", kVerify,
            fmt::format("the checkpoint is quantized with {}, --quantization asks for {}", stored, *chosen));
    }
  }
}

}  // namespace

namespace {

// A file beside config.json that describes the weights of such a method; the loader reads it where config.json does
// not.
struct Beside {
  std::string_view method;
  const char* file;
};
constexpr std::array kBeside = {Beside{"awq", "quant_config.json"},
                                Beside{"awq", "quantize_config.json"},
                                Beside{"awq_marlin", "quantize_config.json"},
                                Beside{"gptq", "quantize_config.json"},
                                Beside{"gptq_marlin", "quantize_config.json"},
                                Beside{"moe_wna16", "quantize_config.json"},
                                Beside{"auto-round", "quantization_config.json"}};

Value read_beside(const ModelBuilder& b, const char* file) {
  if (!b.source.has_file(b.request.path, file)) return Value();
  const auto read = b.source.json_file(b.request.path, file);
  return read && read->is_dict() ? *read : Value();
}

// get_quant_config, once the model is loaded: what it makes of the weights, not which method is in force.
Value described_beside(const ModelBuilder& b, std::string_view method) {
  for (const Beside& row : kBeside) {
    if (row.method != method) continue;
    if (Value read = read_beside(b, row.file); read.is_dict()) return read;
  }
  return Value();
}

}  // namespace

std::optional<DescribedBeside> unasked_description(const ModelBuilder& b) {
  if (b.facts.quantization || !b.facts.quant_config.is_none()) return std::nullopt;
  for (const Beside& row : kBeside) {
    const Value read = read_beside(b, row.file);
    const bool packed = !field(read, "bits").is_none() || !field(read, "w_bit").is_none();
    if (!packed) continue;
    const std::string named = ascii_lower(text_field(read, "quant_method"));
    // The files of AWQ's own tools name no method, as those of GPTQ's first did not.
    const bool awq = !field(read, "w_bit").is_none() || !field(read, "q_group_size").is_none();
    return DescribedBeside{row.file, named.empty() ? (awq ? "awq" : "gptq") : named};
  }
  return std::nullopt;
}

std::optional<std::string> unread_quantization(ModelBuilder& b) {
  if (!b.facts.quant_config.is_none() || !b.source.has_file(b.request.path, kModelOptFile)) return std::nullopt;
  const auto file = b.source.json_file(b.request.path, kModelOptFile);
  try {
    return file ? std::optional(text_field(unwrap_modelopt(b, *file), "quant_algo")) : std::nullopt;
  } catch (const Raised&) {  // a fetched file that says nothing
    return std::nullopt;
  }
}

void verify_quantization(ModelBuilder& b) {
  std::optional<std::string> chosen;
  if (b.request.quantization.is_string()) chosen = ascii_lower(b.request.quantization.as_string());
  Value config = checkpoint_quantization(b);
  if (const Value described = modelslim_description(b); described.is_dict()) config = described;
  if (!config.is_none() && !config.is_dict()) {
    raise(RF::kOther, "AttributeError", kVerify, "compression_config in config.json is no object: " + config.repr());
  }
  if (config.is_dict()) settle(b, config, chosen);
  if (chosen) {
    const Method* method = find_method(*chosen, b.request.release);
    if (method == nullptr)
      raise(RF::kQuantizationMissing, "ValueError", kVerify,
            fmt::format("quantization {} is not available on xpu in this release", chosen->empty() ? "\"\"" : *chosen));
    if (!method->optimized)
      b.warn(kVerify, fmt::format("{} quantization is not fully optimized; it can be slower than the unquantized model",
                                  *chosen));
  }
  b.facts.quantization = chosen;
  b.facts.quant_config = config;
  if (!chosen || !config.is_none()) return;
  if (Value beside = described_beside(b, *chosen); beside.is_dict()) b.facts.hf_quant_config = std::move(beside);
}

}  // namespace preflight::facts
