// build_model: what constructing SGLang's ModelConfig yields (srt/configs/model_config.py, __init__), in its order.
// Tested by tests/facts_model_test.cpp; compared with the real class over many configurations.
#include <algorithm>

#include <fmt/format.h>

#include "src/facts/gguf/gguf_file.h"
#include "src/facts/transformers/config_classes.h"
#include "src/facts/transformers/model_builder.h"
#include "src/facts/usual_architecture.h"
#include "src/base/text.h"
#include "src/python/integer.h"

namespace preflight::facts {

void raise(RF rule, std::string exception, std::string_view function, std::string message) {
  throw Raised{{std::move(exception), std::string(function), std::move(message), std::string(id_of(rule))}};
}

void ModelBuilder::set_architectures(std::vector<std::string> names) {
  Value::List list(names.begin(), names.end());
  hf->set("architectures", Value::list(std::move(list)));
  architectures = std::move(names);
}

bool ModelBuilder::is_arch(std::string_view name) const {
  return std::find(architectures.begin(), architectures.end(), name) != architectures.end();
}

bool ModelBuilder::first_arch(std::string_view name) const {
  return !architectures.empty() && architectures[0] == name;
}

Value ModelBuilder::need(const HfConfigPtr& config, std::string_view name, std::string_view function) {
  if (!config->has(name)) {
    raise(RF::kOther, "AttributeError", function, fmt::format("the model's configuration has no attribute {}", name));
  }
  return config->get(name);
}

std::int64_t ModelBuilder::need_int(const HfConfigPtr& config, std::string_view name, std::string_view function) {
  const Value value = need(config, name, function);
  if (value.is_none() || !value.is_number()) {
    raise(RF::kOther, "TypeError", function,
          fmt::format("{} of the model's configuration is {}, a number is needed", name, value.repr()));
  }
  return value.is_float() ? integer::bounded_whole(value.as_number()) : value.as_int();
}

namespace {

constexpr std::string_view kInit = "__init__";

bool truthy(const HfConfigPtr& config, std::string_view name) { return config->get(name).truthy(); }

void validate_quantize_and_serve(const ModelRequest& request) {
  if (!request.quantize_and_serve.truthy()) return;
  static constexpr std::string_view kFunction = "_validate_quantize_and_serve_config";
  const std::string method = request.quantization.is_string() ? request.quantization.as_string() : std::string();
  const bool modelopt = method == "modelopt" || method == "modelopt_fp8" || method == "modelopt_fp4" ||
                        method == "modelopt_mixed" || (method == "nvfp4_online" && request.release >= v0_5(14));
  if (!modelopt) {
    raise(RF::kOther, "ValueError", kFunction, "--quantize-and-serve needs a ModelOpt method in --quantization");
  }
  raise(RF::kOther, "NotImplementedError", kFunction,
        "--quantize-and-serve is switched off in this release; quantize first, then serve");
}

// The names in hf_config.architectures; a missing list fails where upstream first uses it. A text is a list of its
// letters, as Python takes it.
std::vector<std::string> architecture_names(const HfConfigPtr& config) {
  std::vector<std::string> names;
  const Value value = config->get("architectures");
  if (value.is_string()) {
    for (const char letter : value.as_string()) names.emplace_back(1, letter);
  }
  if (!value.is_list()) return names;
  for (const auto& item : value.as_list()) names.push_back(item.is_string() ? item.as_string() : item.repr());
  return names;
}

[[noreturn]] void raise_without_architecture(const ModelBuilder& b, std::string exception, std::string_view function,
                                             std::string message) {
  const Value type = b.hf->get("model_type");
  Refusal refusal{std::move(exception), std::string(function), std::move(message), std::string(id_of(RF::kOther))};
  if (type.is_string()) refusal.remedies = architecture_remedies(type.as_string(), b.request.override_args);
  throw Raised{std::move(refusal)};
}

bool enable_multimodal(const ModelBuilder& b) {
  if (!b.request.enable_multimodal.is_none()) return b.request.enable_multimodal.truthy();
  if (b.hf->is_none("architectures")) {
    raise_without_architecture(b, "TypeError", kInit,
                               "config.json names no architectures, and SGLang reads the first one");
  }
  const bool transformers = b.request.model_impl.is_string() && b.request.model_impl.as_string() == "transformers";
  if (has_trait(b.architectures[0], ArchTrait::kMultimodalOff, b.request.release) && !transformers) return false;
  if (b.since(v0_5(12)) && b.architectures[0] == "MiMoV2ForCausalLM" &&
      !(b.hf->has("vision_config") && b.hf->has("audio_config"))) {
    return false;
  }
  return true;
}

// Membership tests on None fail inside the helper that first makes one.
void require_architectures(const ModelBuilder& b, std::string_view function) {
  if (b.hf->is_none("architectures")) {
    raise_without_architecture(b, "TypeError", function,
                               "config.json names no architectures, and SGLang searches them");
  }
}

// JetNemotronForCausalLM reports the window of its "swa" layers since 0.5.22, and as what others report less one.
std::optional<std::int64_t> jet_nemotron_window(const ModelBuilder& b) {
  const Value types = b.text->get("layer_types");
  if (!b.since(v0_5(22)) || !types.is_list() ||
      std::ranges::find(types.as_list(), Value("swa")) == types.as_list().end())
    return std::nullopt;
  const Value efficient = b.text->get("efficient_attention_config");
  const Value* swa = efficient.find("swa");
  const Value* size = swa == nullptr ? nullptr : swa->find("window_size");
  if (size == nullptr || !size->is_int()) return std::nullopt;
  return size->as_int() + 1;
}

void derive_flags(ModelBuilder& b, bool multimodal) {
  ModelFacts& f = b.facts;
  f.attention_chunk_size = std::nullopt;
  if (const Value chunk = b.text->get("attention_chunk_size"); chunk.is_int()) f.attention_chunk_size = chunk.as_int();
  for (const char* key : {"sliding_window_size", "sliding_window", "window_size"}) {
    const Value value = b.text->get(key);
    if (value.is_none() || (key == std::string_view("window_size") && !b.since(v0_5(12)))) continue;
    if (value.is_number()) f.sliding_window_size = integer::bounded_whole(value.as_number());
    break;
  }
  if (b.is_arch("JetNemotronForCausalLM")) f.sliding_window_size = jet_nemotron_window(b);
  f.is_embedding_gemma = b.since(v0_5(17)) && b.text->get("model_type") == Value("gemma3_text") &&
                         truthy(b.text, "use_bidirectional_attention");
  if (!f.is_embedding_gemma) {
    require_architectures(b, "is_generation_model");
    f.is_generation = !b.arch_trait(ArchTrait::kNotGenerative) && !b.request.is_embedding.truthy();
  } else {
    f.is_generation = false;
  }
  const bool transformers = b.request.model_impl.is_string() && b.request.model_impl.as_string() == "transformers";
  const bool has_subconfig =
      b.hf != b.text || (transformers && (b.hf->has("vision_config") || b.hf->has("audio_config")));
  const bool dsv41_vision =
      b.hf->get("model_type") == Value("deepseek_v41") && ModelBuilder::need_int(b.hf, "vision_n_layers", kInit) > 0;
  const bool enabled = multimodal && !f.is_language_model_only;
  if (enabled) require_architectures(b, "<genexpr>");
  f.is_multimodal = enabled && (b.arch_trait(ArchTrait::kMultimodal) || has_subconfig || dsv41_vision);
  f.is_audio_model = multimodal && b.arch_trait(ArchTrait::kAudio);
  if (b.since(v0_5(19))) {
    f.is_image_understandable = f.is_multimodal && (dsv41_vision || !b.hf->is_none("vision_config"));
  } else if (b.since(v0_5(18))) {
    f.is_image_understandable = enabled && !b.hf->is_none("vision_config");
  } else {
    f.is_image_understandable = multimodal && b.hf->has("vision_config");
  }
  const HfConfigPtr thinker = b.hf->sub("thinker_config");
  f.is_audio_understandable = enabled && (b.hf->has("audio_config") || (thinker && thinker->has("audio_config")) ||
                                          !b.hf->is_none("sound_config") || b.arch_trait(ArchTrait::kAudio));
  f.is_multimodal_chunked_prefill_supported = multimodal && !b.arch_trait(ArchTrait::kNoChunkedPrefill);
  require_architectures(b, "<genexpr>");
  f.is_encoder_decoder = b.arch_trait(ArchTrait::kEncoderDecoder);
  f.is_local_attention_model = b.is_arch("Llama4ForConditionalGeneration");
  f.is_piecewise_graph_supported = multimodal && b.arch_trait(ArchTrait::kPiecewiseGraph);
  f.is_breakable_graph_supported = multimodal && b.arch_trait(ArchTrait::kBreakableGraph);
  f.is_piecewise_graph_disabled = b.arch_trait(ArchTrait::kNoPiecewiseGraph) ||
                                  (b.since(v0_5(14)) && f.is_multimodal && !b.arch_trait(ArchTrait::kPiecewiseGraph));
}

std::string torch_dtype_of(std::string_view name) {
  if (name == "half" || name == "float16") return "float16";
  if (name == "float" || name == "float32") return "float32";
  return name == "bfloat16" ? "bfloat16" : "";
}

// _get_and_verify_dtype: "auto" keeps the checkpoint's type, except that float32 is halved.
std::string derive_dtype(ModelBuilder& b) {
  const Value stored = b.text->get("dtype");
  const std::string config_dtype = stored.is_string() ? stored.as_string() : std::string("float32");
  std::string asked = b.request.dtype.is_string() ? b.request.dtype.as_string() : std::string("auto");
  asked = ascii_lower(std::move(asked));
  if (asked == "auto") {
    if (config_dtype != "float32") return config_dtype;
    const Value type = b.text->get("model_type");
    const bool gemma = type.is_string() && type.as_string().starts_with("gemma");
    return gemma ? "bfloat16" : "float16";
  }
  std::string dtype = torch_dtype_of(asked);
  if (dtype.empty())
    raise(RF::kOther, "ValueError", "_get_and_verify_dtype", fmt::format("--dtype {} is unknown", asked));
  if (!b.since(v0_5(13)) && dtype != config_dtype && dtype != "float32" && config_dtype != "float32") {
    b.warn("_get_and_verify_dtype", fmt::format("the checkpoint's {} becomes {}", config_dtype, dtype));
  }
  return dtype;
}

// generation_config.json is read beside the configuration. transformers takes a text that is no JSON for a missing
// file, and fails over JSON that is no object.
void read_generation_config(ModelBuilder& b) {
  constexpr const char* kFile = "generation_config.json";
  const bool there = b.source.has_file(b.request.path, kFile);
  const auto read = there ? b.source.json_file(b.request.path, kFile) : std::nullopt;
  if (read && !read->is_dict())
    raise(RF::kOther, "TypeError", "get_generation_config", fmt::format("{}/{} is no object", b.request.path, kFile));
  // Later releases log it at DEBUG.
  if (read || b.since(v0_5(17))) return;
  if (there)
    return b.warn("get_generation_config",
                  fmt::format("{}/{} is no JSON; SGLang goes on without it", b.request.path, kFile));
  // Of a model known by its id nobody has looked at the files.
  if (!b.source.has_file(b.request.path, "config.json") && !is_gguf_file(b.request.path)) return;
  b.warn("get_generation_config", fmt::format("{} has no {}; SGLang goes on without it", b.request.path, kFile));
}

// The sparse part of dual chunk attention lies in a file of its own, which is put into the configuration's dict.
void verify_dual_chunk_attention(const ModelBuilder& b) {
  if (!b.hf->has("dual_chunk_attention_config") || b.hf->get("dual_chunk_attention_config").is_dict()) return;
  const auto sparse = b.source.json_file(b.request.path, "sparse_attention_config.json");
  if (sparse && sparse->truthy()) {
    raise(RF::kOther, "TypeError", "_verify_dual_chunk_attention_config", "dual_chunk_attention_config is no object");
  }
}

// "mrope_section" in rope_scaling: a class without rotary positions keeps whatever is false as it was given.
bool names_mrope(const Value& rope) {
  if (rope.is_bool() || rope.is_number()) raise(RF::kOther, "TypeError", "__init__", "rope_scaling is no object");
  return rope.find("mrope_section") != nullptr;
}

void build(ModelBuilder& b) {
  ModelFacts& f = b.facts;
  validate_quantize_and_serve(b.request);
  b.hf = read_hf_config(b);
  b.text = hf_text_config(b.hf, "get_hf_text_config");
  b.architectures = architecture_names(b.hf);
  if (b.architectures.empty() && !b.hf->is_none("architectures")) {
    raise_without_architecture(b, "IndexError", "get_hf_text_config", "architectures in config.json is empty");
  }
  f.is_draft_model = b.request.is_draft;
  f.is_language_model_only =
      b.since(v0_5(18)) && (b.request.language_model_only.truthy() || truthy(b.hf, "language_model_only"));
  f.is_mrope = b.since(v0_5(16)) && !f.is_language_model_only && names_mrope(b.text->get("rope_parameters"));
  read_generation_config(b);
  const bool multimodal = enable_multimodal(b);
  configure_draft_model(b);
  f.hf_quant_config = b.hf->get("quantization_config");
  derive_flags(b, multimodal);
  f.dtype = derive_dtype(b);
  derive_context_length(b);
  derive_model_shapes(b);
  derive_hybrid_model(b);
  verify_quantization(b);
  verify_dual_chunk_attention(b);
  f.architectures = b.architectures;
  const Value type = b.hf->get("model_type");
  f.model_type = type.is_string() ? type.as_string() : std::string();
  f.hf_config = read_out(*b.hf);
  f.has_vision_config_dict = b.hf->get("vision_config").is_dict() && !b.hf->sub("vision_config");
  f.unread_algorithm = unread_quantization(b);
  f.described_beside = unasked_description(b);
  f.hf_text_config = b.text == b.hf ? f.hf_config : read_out(*b.text);
}

}  // namespace

namespace {

// Everything an outcome depends on, as a key.
std::string request_key(const ModelRequest& r) {
  std::string key = r.release.text() + '\n' + r.path + '\n' + (r.is_draft ? 'd' : 't');
  for (const Value* v :
       {&r.context_length, &r.dtype, &r.quantization, &r.override_args, &r.enable_multimodal, &r.is_embedding,
        &r.speculative_algorithm, &r.model_impl, &r.config_parser, &r.trust_remote_code, &r.disable_hybrid_swa_memory,
        &r.language_model_only, &r.quantize_and_serve}) {
    v->append_json(key);
    key += '\n';
  }
  for (const char* name : {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "SGLANG_IS_IN_CI"}) {
    if (const auto it = r.env.find(name); it != r.env.end()) key += name + ('=' + it->second);
  }
  return key;
}

}  // namespace

ModelOutcome build_model(ModelSource& source, const ModelRequest& request) {
  const std::string key = request_key(request);
  if (const ModelOutcome* known = source.memo().outcome(key)) return *known;
  auto facts = std::make_shared<ModelFacts>();
  facts->path = request.path;
  ModelOutcome outcome;
  try {
    ModelBuilder builder{source, request, *facts, outcome.log, nullptr, nullptr, {}};
    build(builder);
    outcome.result = std::shared_ptr<const ModelFacts>(std::move(facts));
  } catch (const Raised& raised) {
    outcome.result = raised.refusal;
  }
  return source.memo().remember(key, std::move(outcome));
}

}  // namespace preflight::facts
