// Reading config.json into a configuration object, as SGLang's hf_transformers package does: AutoConfig, SGLang's own
// registry of classes, the repairs for some model families, --json-model-override-args. Tested by
// tests/facts_model_test.cpp.
#include "src/facts/read_config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "src/facts/transformers/config_rules.h"
#include "src/facts/gguf/gguf_config.h"
#include "src/facts/hub_name.h"
#include "src/facts/layer_shapes.h"
#include "src/facts/mistral_format.h"
#include "src/facts/remote_code.h"
#include "src/facts/transformers/dict_fields.h"
#include "src/base/text.h"

namespace preflight::facts {
namespace {

constexpr Release kNewer = v0_5(15);  // absent in 0.5.14, present in 0.5.15

std::string first_name(const Value& architectures) {
  if (!architectures.is_list() || architectures.as_list().empty()) return "";
  const Value& first = architectures.as_list()[0];
  return first.is_string() ? first.as_string() : std::string();
}

// transformers logs what it loaded as a dict. Of a type it takes what stands behind the dot of torch's name.
void require_type_name(const Value& type, std::string_view frame) {
  if (type.is_none() || type.is_dict() || type.is_string() || type.is_int() || type.is_bool()) return;
  if (type.repr().find('.') != std::string::npos) return;
  raise(RF::kOther, "IndexError", frame, "torch_dtype names no type: " + type.repr());
}

void require_type_names(const Value& dict, std::string_view frame) {
  if (const Value* type = dict.find("dtype")) require_type_name(*type, frame);
  for (const auto& [key, value] : dict.as_dict()) {
    if (value.is_dict()) require_type_names(value, frame);
  }
}

// Parts become dicts first, and a quantization that is no dict is taken for an object that becomes one.
void require_loggable(const HfConfig& config, std::string_view frame) {
  for (const auto& [name, attribute] : config.attributes()) {
    if (const auto* part = std::get_if<HfConfigPtr>(&attribute); part != nullptr && *part != nullptr) {
      require_loggable(**part, frame);
    }
  }
  const Value quantization = config.get("quantization_config");
  if (!quantization.is_none() && !quantization.is_dict()) {
    raise(RF::kOther, "AttributeError", frame, "quantization_config is no object: " + quantization.repr());
  }
  require_type_name(config.get("dtype"), frame);
  for (const auto& [name, attribute] : config.attributes()) {
    if (const auto* value = std::get_if<Value>(&attribute); value != nullptr && value->is_dict()) {
      require_type_names(*value, frame);
    }
  }
}

// The number that an object of one key stands for, where JSON has no word for it (PreTrainedConfig writes these).
std::optional<double> tagged_float(const Value& value) {
  const Value* tag = value.is_dict() && value.as_dict().size() == 1 ? value.find("__float__") : nullptr;
  if (tag == nullptr) return std::nullopt;
  if (*tag == Value("Infinity")) return std::numeric_limits<double>::infinity();
  if (*tag == Value("-Infinity")) return -std::numeric_limits<double>::infinity();
  return *tag == Value("NaN") ? std::optional(std::numeric_limits<double>::quiet_NaN()) : std::nullopt;
}

// As transformers reads such objects back, wherever they stand in the file.
Value with_floats_read(const Value& value) {
  if (const auto number = tagged_float(value)) return *number;
  if (value.is_list()) {
    Value::List items;
    for (const Value& item : value.as_list()) items.push_back(with_floats_read(item));
    return Value::list(std::move(items));
  }
  if (!value.is_dict()) return value;
  Value::Dict items;
  for (const auto& [key, item] : value.as_dict()) items.emplace_back(key, with_floats_read(item));
  return Value::dict(std::move(items));
}

bool holds_tagged_float(const Value& value) {
  if (value.is_list()) return std::ranges::any_of(value.as_list(), holds_tagged_float);
  return value.is_dict() && (tagged_float(value) || std::ranges::any_of(value.as_dict(), [](const Value::Item& item) {
                               return holds_tagged_float(item.second);
                             }));
}

class Reader {
 public:
  Reader(ModelSource& source, const ConfigRequest& request)
      : source_(source),
        tables_(ConfigTables::of(request.release)),
        release_(request.release),
        path_(request.path),
        trust_(request.trust_remote_code),
        parser_(request.config_parser.is_string() ? request.config_parser.as_string() : "auto") {}

  HfConfigPtr read() {
    mistral_ = parser_ == "auto" ? names_mistral_format(path_) : parser_ == "mistral";
    const GgufSource gguf = gguf_source(release_, path_);
    if (gguf != GgufSource::kNone) {
      if (parser_ != "auto" && parser_ != "hf") {
        raise(RF::kOther, "ValueError", "get_config", "--model-config-parser " + parser_ + " does not read GGUF files");
      }
      mistral_ = false;
    }
    if (gguf == GgufSource::kBeside) path_ = directory_of_gguf(path_);
    // A store that nothing was fetched from names a folder that is not there.
    if (is_remote_url(path_) && !is_azure_blob(release_, path_) && !is_object_store(path_)) refuse_address();
    if (parser_ != "auto" && parser_ != "hf" && parser_ != "mistral") {
      raise(RF::kOther, "ValueError", "get_model_config_parser",
            "--model-config-parser is none of auto, hf and mistral");
    }
    if (mistral_) return read_mistral();
    const std::string_view opens = tries_longcat() ? "_try_load_longcat_config" : parse();
    from_header_ = gguf == GgufSource::kHeader;
    if (gguf == GgufSource::kNative) return muse_glimmer();
    dict_ = from_header_ ? config_of_gguf(tables_, path_, opens) : stored(opens);
    HfConfigPtr config = load();
    repair_loaded(config);
    const HfConfigPtr text = hf_text_config(config, "get_hf_text_config");
    // The directory of a GGUF file is no str, and only of a str's configuration SGLang copies the text part.
    if (gguf == GgufSource::kNone) flatten(config, text);
    config = reload(config);
    finish(config, gguf == GgufSource::kNone);
    return config;
  }

 private:
  [[nodiscard]] bool newer() const { return release_ >= kNewer; }
  // Files that transformers does not read are tried first: LongCat's, and those of the original Mamba.
  [[nodiscard]] bool tries_longcat() const { return release_ >= v0_5(16); }
  [[nodiscard]] bool reads_state_space() const { return release_ >= v0_5(20); }
  [[nodiscard]] bool shapes_by_layer() const { return release_ >= v0_5(22); }

  // The function that reads the file: up to 0.5.11 there is one for all formats.
  [[nodiscard]] std::string_view parse() const { return release_ >= v0_5(12) ? "parse" : "get_config"; }

  // Read by SGLang itself; what the file says is not, since its class defaults to the one checkpoint there is.
  [[nodiscard]] HfConfigPtr muse_glimmer() const {
    const ConfigClass* own = tables_.registered("muse_glimmer");
    if (own == nullptr) own = tables_.type("muse_glimmer");
    return construct(*own, Value::dict({{"architectures", Value::list({"MuseGlimmerForCausalLM"})}}), "get_config");
  }

  [[nodiscard]] Value stored(std::string_view opens) const {
    const auto content = source_.config_of(path_);
    if (!content) raise(RF::kOther, "OSError", opens, content.error().text());
    if (!*content) raise_missing(opens);
    if (!(*content)->is_dict()) {
      // 0.5.22's transformers only look for names in it, which a list and a text take.
      const bool looks = release_ >= v0_5(22) && ((*content)->is_list() || (*content)->is_string());
      raise(RF::kOther, looks ? "AttributeError" : "TypeError", opens, "config.json holds no object");
    }
    return holds_tagged_float(**content) ? with_floats_read(**content) : **content;
  }

  // The file under the usual names, and both parts of an image model as objects. Nothing is repaired afterwards.
  HfConfigPtr read_mistral() {
    const auto params = source_.json_file(path_, "params.json");
    if (!params) raise_without_params();
    if (!params->is_dict())
      raise(RF::kOther, "AssertionError", "_download_mistral_config_file", "params.json holds no object");
    if (field(*params, "max_position_embeddings").is_none()) {
      note_warning("parse", "params.json names no max_position_embeddings; SGLang takes 128000");
    }
    dict_ = config_of_mistral_params(*params, path_);
    opens_ = "load_mistral_config";
    HfConfigPtr config = load();
    for (const char* name : {"text_config", "vision_config"}) {
      const Value part = config->get(name);
      if (config->sub(name) || !part.is_dict()) continue;
      const Value type = field(part, "model_type");
      const ConfigClass* known = type.is_string() ? tables_.type(type.as_string()) : nullptr;
      if (known == nullptr)
        raise(RF::kUnknownArchitecture, "ValueError", "_ensure_sub_configs",
              fmt::format("unknown model type {}", type.repr()));
      config->set(name, construct(*known, part, "_ensure_sub_configs"));
    }
    return config;
  }

  [[nodiscard]] RF rule_of_missing() const {
    return may_exist_elsewhere(release_, path_) || is_object_store(path_) ? RF::kOther : RF::kNoSuchModel;
  }

  [[noreturn]] void raise_without_params() const {
    if (source_.has_file(path_, "params.json")) {
      raise(RF::kOther, "JSONDecodeError", "get_hf_file_to_dict", "params.json is not valid JSON");
    }
    if (source_.has_file(path_, ".")) {
      raise(RF::kOther, "FileNotFoundError", "get_hf_file_to_dict", fmt::format("{} has no params.json", path_));
    }
    const std::string message = fmt::format("nothing is known of {}", path_);
    if (is_hub_name(path_)) raise(RF::kOther, "LocalEntryNotFoundError", "download_from_hf", message);
    if (release_ >= v0_5(23)) raise(rule_of_missing(), "OSError", "load_pointer_head", message);
    raise(rule_of_missing(), "HFValidationError", "download_from_hf", message);
  }

  // SGLang's connectors are chosen by what stands before "://", letter by letter; no network is asked until then.
  [[noreturn]] void refuse_address() const {
    const std::string_view type = connector_type(path_);
    if (type == "redis") {
      raise(RF::kNoSuchModel, "ModuleNotFoundError", "__init__",
            fmt::format("{} lies in a Redis store, which needs the Python package redis; give the model's id on the "
                        "hub or its directory",
                        path_));
    }
    if (type == "instance") {
      raise(RF::kNoSuchModel, "AttributeError", "__init__",
            fmt::format("{} names another server's weights, which tell no configuration; give the model's id on the "
                        "hub or its directory, and the server by --load-format remote_instance",
                        path_));
    }
    raise(RF::kNoSuchModel, "ValueError", "create_remote_connector",
          fmt::format("{} is an address of a kind that SGLang does not read; give the model's id on the hub or its "
                      "directory",
                      path_));
  }

  // A directory without config.json reads as an empty configuration; any other name is looked up on the hub, and
  // newer releases try a second file there when the name is one that the hub cannot have.
  [[noreturn]] void raise_missing(std::string_view opens) const {
    if (!path_.empty() && source_.has_file(path_, "."))
      raise(RF::kOther, "ValueError", parse(), fmt::format("{} has no config.json", path_));
    const bool second = release_ >= v0_5(23) && !is_hub_name(path_);
    const std::string message =
        may_exist_elsewhere(release_, path_)
            ? fmt::format("no configuration is known for {}", path_)
            : fmt::format("{} is no id that a hub can have, and no such directory exists", path_);
    raise(rule_of_missing(), "OSError", second ? "load_pointer_head" : opens, message);
  }
  [[nodiscard]] bool is_longcat(const Value& architectures) const {
    if (!architectures.is_list()) return false;
    return std::any_of(architectures.as_list().begin(), architectures.as_list().end(), [](const Value& a) {
      return a == Value("LongcatCausalLM") || a == Value("LongcatFlashForCausalLM") ||
             a == Value("LongcatFlashNgramForCausalLM");
    });
  }

  // 0.5.13 puts a legacy rope_theta next to the other rotary parameters before any class sees them.
  [[nodiscard]] Value prepared(Value dict) const {
    const Value scaling = field(dict, "rope_scaling");
    if (release_ >= v0_5(14) || !scaling.is_dict() || field(dict, "rope_theta").is_none() ||
        scaling.find("rope_theta") != nullptr)
      return dict;
    return dict.with("rope_scaling", scaling.with("rope_theta", field(dict, "rope_theta")));
  }

  HfConfigPtr make(const ConfigClass& config_class, const Value& dict, std::string_view function) const {
    const std::string_view frame = release_ >= v0_5(14) ? function : std::string_view("patched");
    HfConfigPtr made = construct(config_class, from_dict(config_class, prepared(dict), frame), frame);
    require_loggable(*made, frame);
    return made;
  }

  // With the way out that only this place knows.
  [[noreturn]] void raise_with(Remedy remedy, std::string exception, std::string message) const {
    throw Raised{{.exception = std::move(exception),
                  .function = std::string(opens_),
                  .message = std::move(message),
                  .rule = std::string(id_of(RF::kOther)),
                  .remedies = {std::move(remedy)}}};
  }

  // A directory that is here has to hold the code. Elsewhere (the hub, a configuration given by option) nobody looked.
  void require_own_code() const {
    const std::string file = own_code_file(dict_);
    if (file.empty() || !source_.has_file(path_, ".") || source_.has_file(path_, file)) return;
    raise_with({.words = file + " beside config.json"}, "OSError",
               fmt::format("the model's own configuration code, {}, is not in the directory", file));
  }

  // What auto_map names as the configuration's class. Python looks for the name in whatever stands there: as a part of
  // a text and as an item of a list, too, which then have no entry of that name.
  const Value* own_class() {
    const Value* map = dict_.find("auto_map");
    if (map == nullptr) return nullptr;
    if (map->is_dict()) return map->find("AutoConfig");
    const bool looks_there = map->is_string()
                                 ? contains(map->as_string(), "AutoConfig")
                                 : !map->is_list() || std::ranges::count(map->as_list(), Value("AutoConfig")) > 0;
    if (looks_there) raise(RF::kOther, "TypeError", opens_, "auto_map in config.json is no object: " + map->repr());
    return nullptr;
  }

  HfConfigPtr load() {
    const Value architectures = field(dict_, "architectures");
    if (tries_longcat() && architectures.is_number() && architectures.truthy()) {
      raise(RF::kOther, "TypeError", "_try_load_longcat_config", "architectures in config.json is no list");
    }
    if (tries_longcat() && is_longcat(architectures)) {
      return make(*tables_.registered("longcat_flash"), dict_, "_try_load_longcat_config");
    }
    if (reads_state_space() && !field(dict_, "model_type").truthy() && !architectures.truthy() &&
        dict_.find("d_model") != nullptr && dict_.find("ssm_cfg") != nullptr) {
      return raw_mamba();
    }
    const Value* named = dict_.find("model_type");
    const ConfigClass* known = named != nullptr && named->is_string() ? tables_.type(named->as_string()) : nullptr;
    const Value* code = own_class();
    // It is looked up in a table, which takes neither.
    if (named != nullptr && (named->is_list() || named->is_dict())) {
      raise(RF::kOther, "TypeError", opens_, "model_type in config.json is no text: " + named->repr());
    }
    if (code != nullptr && takes_own_class(*code, known) && known == nullptr)
      return made_by_own_code(code->as_string());
    if (named == nullptr) raise(RF::kOther, "ValueError", opens_, "config.json has no model_type");
    if (*named == Value("mistral") && dict_.find("layer_types") != nullptr) {
      known = tables_.type("ministral");
      dict_ = dict_.with("model_type", "ministral");
    }
    if (known == nullptr && release_ < v0_5(12) && named->is_string() && contains(named->as_string(), "deepseek_v32")) {
      // V3.2 reads as V3 there: the file is loaded once more under that name.
      dict_ = dict_.with("architectures", Value::list({"DeepseekV3ForCausalLM"})).with("model_type", "deepseek_v3");
      return make(*tables_.type("deepseek_v3"), dict_, "_load_deepseek_v32_model");
    }
    if (known == nullptr) {
      raise(RF::kUnknownArchitecture, "ValueError", opens_,
            fmt::format("this release's transformers does not know model type {}", named->repr()));
    }
    return release_ >= v0_5(12) ? make(*known, dict_, opens_) : made_by_either(*known, named->as_string());
  }

  // Whether the checkpoint's own code makes the configuration.
  bool takes_own_class(const Value& code, const ConfigClass* known) {
    if (code.is_none() || code.is_number()) {
      raise(RF::kOther, "TypeError", opens_, "AutoConfig of auto_map names no class: " + code.repr());
    }
    if (known == nullptr && !trust_)
      raise_with({.steps = {{.name = "--trust-remote-code"}}}, "ValueError",
                 "the model brings its own code; --trust-remote-code allows it");
    if (!runs_own_code(release_, dict_, trust_)) return false;
    if (!code.is_string())
      raise(RF::kOther, "AttributeError", opens_, "AutoConfig of auto_map is no text: " + code.repr());
    const std::string& reference = code.as_string();
    const std::size_t other = reference.find("--");
    if (std::count(reference.begin() + static_cast<std::ptrdiff_t>(other == std::string::npos ? 0 : other),
                   reference.end(), '.') != 1)
      raise(RF::kOther, "ValueError", opens_, "AutoConfig of auto_map is not FILE.CLASS: " + code.repr());
    require_own_code();
    return true;
  }

  // The code is not run: its class is one of what config.json says, and of what can be read of its constructor.
  HfConfigPtr made_by_own_code(const std::string& reference) {
    const std::string file = own_code_file(dict_);
    const ConfigClass* made = tables_.find("PreTrainedConfig");
    const auto text =
        file.empty() || !source_.has_file(path_, file) ? std::nullopt : source_.text_of(path_ + "/" + file);
    if (!text) return make(*made, dict_, opens_);
    const std::string name = reference.substr(reference.find('.') + 1);
    const OwnClass own = own_class_in(*text, name);
    if (!own.named) raise(RF::kOther, "AttributeError", opens_, fmt::format("{} has no {}", file, name));
    Value filled = dict_;
    for (const auto& [key, value] : own.defaults.as_dict()) {
      if (dict_.find(key) == nullptr) filled = std::move(filled).with(key, value);
    }
    if (const ConfigClass* base = tables_.find(own.base)) made = base;
    return make(*made, filled, opens_);
  }

  // Up to 0.5.11, where transformers' class stumbles over a missing key, by SGLang's own, where it has one.
  HfConfigPtr made_by_either(const ConfigClass& known, const std::string& type) {
    try {
      return make(known, dict_, opens_);
    } catch (const Raised& raised) {
      if (raised.refusal.exception != "KeyError") throw;
      note_warning("get_config", "transformers cannot read the configuration; SGLang tries its own class");
      const ConfigClass* own = tables_.registered(type);
      if (own == nullptr) throw;
      return make(*own, dict_, "get_config");
    }
  }

  // The original state-spaces checkpoints: no model type, Mamba's sizes under other names.
  HfConfigPtr raw_mamba() {
    const Value pad =
        dict_.find("pad_vocab_size_multiple") == nullptr ? Value(1) : field(dict_, "pad_vocab_size_multiple");
    Value vocab = dict_.find("vocab_size") == nullptr ? Value(50280) : field(dict_, "vocab_size");
    if (pad.is_int() && vocab.is_int() && pad.as_int() > 1)
      vocab = (vocab.as_int() + pad.as_int() - 1) / pad.as_int() * pad.as_int();
    const Value state = field(field(dict_, "ssm_cfg"), "d_state");
    if (dict_.find("n_layer") == nullptr)
      raise(RF::kOther, "KeyError", "_try_load_raw_mamba_config", "config.json lacks n_layer");
    const Value arguments = Value::dict({{"vocab_size", vocab},
                                         {"hidden_size", field(dict_, "d_model")},
                                         {"num_hidden_layers", field(dict_, "n_layer")},
                                         {"state_size", state.is_none() ? Value(16) : state},
                                         {"architectures", Value::list({"MambaForCausalLM"})}});
    return construct(*tables_.registered("mamba"), arguments, "_try_load_raw_mamba_config");
  }

  // Python's [0] of what is no list.
  void need_first(const Value& architectures) const {
    if (architectures.is_dict()) raise(RF::kOther, "KeyError", parse(), "architectures in config.json is an object");
    if (architectures.is_number()) raise(RF::kOther, "TypeError", parse(), "architectures in config.json is a number");
    if (architectures.is_string() && architectures.as_string().empty()) {
      raise(RF::kOther, "IndexError", parse(), "architectures in config.json is empty");
    }
  }

  void repair_loaded(const HfConfigPtr& config) const {
    need_first(config->get("architectures"));
    const Value names = config->get("architectures");
    const std::string first = first_name(names);
    if (names.is_list() && names.as_list().empty()) {
      raise(RF::kOther, "IndexError", parse(), "architectures in config.json is empty");
    }
    if (!newer() && release_ >= v0_5(13) && first == "GlmMoeDsaForCausalLM") {
      for (const char* key : {"qk_rope_head_dim", "index_topk_freq"}) {
        if (dict_.find(key) != nullptr) config->set(key, field(dict_, key));
      }
      if (config->has("qk_head_dim") && config->has("qk_nope_head_dim")) {
        config->set("qk_head_dim", config->get("qk_nope_head_dim").as_int() + config->get("qk_rope_head_dim").as_int());
      }
    }
    if (first == "Phi4MMForCausalLM") {
      config->set(
          "vision_config",
          construct(*tables_.type("siglip_vision_model"),
                    Value::dict({{"hidden_size", 1152}, {"image_size", 448}, {"num_hidden_layers", 26}}), parse()));
    }
    if (is_longcat(config->get("architectures")) && config->get("architectures").as_list().size() == 1) {
      config->set("model_type", "longcat_flash");
    }
  }

  void flatten(const HfConfigPtr& config, const HfConfigPtr& text) const {
    if (text == config) {
      // Attributes that differ by layer cannot be asked of the whole model, and SGLang asks here for each that it has.
      const auto by_layer = shapes_by_layer() ? attributes_by_layer(config) : std::set<std::string>();
      const auto differs = [&](const auto& own) { return by_layer.count(own.first) > 0; };
      if (!by_layer.empty() && std::ranges::any_of(config->attributes(), differs)) {
        raise(RF::kOther, "AmbiguousGlobalPerLayerAttributeError", parse(),
              "the configuration's shapes differ by layer");
      }
      return;
    }
    for (const auto& [key, attribute] : text->attributes()) {
      if (config->has(key)) continue;
      if (const auto* sub = std::get_if<HfConfigPtr>(&attribute)) {
        config->set(key, *sub);
      } else if (!std::get<Value>(attribute).is_none()) {
        config->set(key, std::get<Value>(attribute));
      }
    }
  }

  // A class attribute that is a text, or "".
  static std::string text_constant(const ConfigClass& config_class, std::string_view name) {
    for (const auto& [key, attribute] : config_class.constants) {
      const auto* value = std::get_if<Value>(&attribute);
      if (key == name && value != nullptr && value->is_string()) return value->as_string();
    }
    return {};
  }

  // from_pretrained of a class: the part that the class is named for, in it the one that names its model type, else
  // all.
  [[nodiscard]] Value part_for(const ConfigClass& config_class) const {
    const Value own = field(dict_, text_constant(config_class, "base_config_key"));
    const Value whole = own.is_dict() ? own : dict_;
    const std::string type = text_field(whole, "model_type");
    if (type.empty() || type == config_class.model_type) return whole;
    Value part = whole;
    for (const auto& item : whole.as_dict()) {
      if (item.second.is_dict() && text_field(item.second, "model_type") == config_class.model_type) part = item.second;
    }
    return part;
  }

  HfConfigPtr reload(const HfConfigPtr& config) const {
    const Value map = field(dict_, "auto_map");
    if (map.truthy() && !map.is_dict()) {
      raise(RF::kOther, "AttributeError", "_is_deepseek_ocr_model",
            "auto_map in config.json is no object: " + map.repr());
    }
    const std::string model = text_field(map, "AutoModel");
    const bool ocr = model == "modeling_deepseekocr.DeepseekOCRForCausalLM";
    const bool ocr2 = model == "modeling_deepseekocr2.DeepseekOCR2ForCausalLM";
    std::string type = config->get("model_type").is_string() ? config->get("model_type").as_string() : std::string();
    if (ocr2) widen_values(config);  // in vain, for it is read anew; but it is told twice
    if (ocr2 || (type == "deepseek_vl_v2" && ocr)) type = "deepseek-ocr";
    const ConfigClass* config_class = tables_.registered(type);
    if (config_class == nullptr || config->is_instance("DeepseekV41Config")) return config;
    const bool state_space = config->config_class() != nullptr && config->config_class()->own &&
                             (config->is_instance("Mamba2Config") || config->is_instance("MambaConfig") ||
                              config->is_instance("FalconMambaConfig"));
    // The class reads the directory once more, which has no config.json where the header was read: its defaults.
    const Value part = from_header_ ? Value::dict({}) : part_for(*config_class);
    HfConfigPtr loaded = reads_state_space() && state_space ? config : make(*config_class, part, parse());
    if (ocr || ocr2) {
      widen_values(loaded);
      loaded->set("architectures", Value::list({"DeepseekOCRForCausalLM"}));
    }
    return loaded;
  }

  // A DeepSeek-OCR file says that its heads hold no values; those of the class are 128 wide.
  static void widen_values(const HfConfigPtr& config) {
    bool widened = false;
    for (const char* name : {"text_config", "language_config"}) {
      if (const HfConfigPtr sub = config->sub(name)) {
        if (sub->get("v_head_dim") != Value(0)) continue;
        sub->set("v_head_dim", 128);
        widened = true;
      } else if (const Value part = config->get(name); part.is_dict() && field(part, "v_head_dim") == Value(0)) {
        config->set(name, part.with("v_head_dim", 128));
        widened = true;
      }
    }
    if (widened) note_warning("_override_v_head_dim_if_zero", "v_head_dim is 0 in the file; SGLang takes 128");
  }

  // Gemma 4 states the sliding layers' shapes first; SGLang wants those of the full-attention layers in front.
  void gemma4_shapes(const HfConfigPtr& config) const {
    const HfConfigPtr text = config->sub("text_config");
    if (!text)
      raise(RF::kOther, "AttributeError", shapes_by_layer() ? "_apply_gemma4_attention_overrides" : parse(),
            "config.json has no text_config");
    LayerShape full{text->get("head_dim"), text->get("num_key_value_heads")};
    LayerShape swa = full;
    if (shapes_by_layer()) {
      if (const Value layers = layer_overrides(text); layers.truthy()) {
        const auto shapes = shapes_by_type(layers, text->get("layer_types"), full);
        const auto last = shapes.find("full_attention");
        if (last == shapes.end()) {
          raise(RF::kOther, "KeyError", "_apply_gemma4_attention_overrides", "no layer has full attention");
        }
        full = last->second;
        const auto sliding = shapes.find("sliding_attention");
        swa = sliding == shapes.end() ? full : sliding->second;
      }
      text->set("per_layer_config", Value());
    } else {
      if (!text->is_none("global_head_dim")) full.head_dim = text->get("global_head_dim");
      if (!text->is_none("num_global_key_value_heads")) full.kv_heads = text->get("num_global_key_value_heads");
    }
    text->set("swa_head_dim", swa.head_dim);
    text->set("swa_v_head_dim", swa.head_dim);
    text->set("swa_num_key_value_heads", swa.kv_heads);
    text->set("head_dim", full.head_dim);
    text->set("num_key_value_heads", full.kv_heads);
    if (!text->has("v_head_dim")) text->set("v_head_dim", full.head_dim);
    if (!config->has("eoa_token_id") && config->has("eoa_token_index"))
      config->set("eoa_token_id", config->get("eoa_token_index"));
  }

  void finish(const HfConfigPtr& config, bool by_name) const {
    const std::string type =
        config->get("model_type").is_string() ? config->get("model_type").as_string() : std::string();
    if (by_name && type == "internvl_chat") {
      if (const HfConfigPtr llm = config->sub("llm_config")) {
        for (const auto& [key, attribute] : llm->attributes()) {
          if (!config->has(key) && std::holds_alternative<Value>(attribute))
            config->set(key, std::get<Value>(attribute));
        }
      }
    }
    if (type == "multi_modality") config->set("architectures", Value::list({"MultiModalityCausalLM"}));
    // In every release whose transformers knows the type; diffusion_gemma is one of 0.5.15.
    static constexpr std::string_view kGemma4[] = {"gemma4", "gemma4_assistant", "gemma4_unified",
                                                   "gemma4_unified_assistant", "embedding_gemma2"};
    const bool listed = std::ranges::find(kGemma4, type) != std::end(kGemma4);
    if (listed || (type == "diffusion_gemma" && release_ >= v0_5(21))) gemma4_shapes(config);
    if (type == "longcat_flash") config->set("architectures", Value::list({"LongcatFlashForCausalLM"}));
  }

  ModelSource& source_;
  const ConfigTables& tables_;
  Release release_;
  std::string path_;
  bool trust_;
  std::string parser_;  // --model-config-parser
  bool mistral_ = false;
  bool from_header_ = false;          // of a GGUF file
  std::string_view opens_ = parse();  // the function that hands the file to transformers
  Value dict_;
};

// Older code reads the rope type under "type": it is set beside "rope_type" in all parts of the configuration.
void name_rope_types(const HfConfigPtr& config) {
  const Value rope = config->get("rope_parameters");
  if (rope.is_dict() && rope.find("rope_type") != nullptr && rope.find("type") == nullptr) {
    config->set("rope_parameters", rope.with("type", *rope.find("rope_type")));
  }
  for (const char* name : {"text_config", "llm_config", "language_config", "vision_config", "thinker_config"}) {
    if (const HfConfigPtr sub = config->sub(name)) name_rope_types(sub);
  }
}

constexpr const char* kSharedWithText[] = {"pad_token_id", "bos_token_id", "eos_token_id", "tie_word_embeddings"};

// A part that is no object is the text part all the same, until it is to take what the whole has.
void require_text_object(const HfConfigPtr& config, const char* name) {
  if (config->sub(name) || config->is_none(name)) return;
  for (const char* key : kSharedWithText) {
    if (!config->has(key)) continue;
    raise(RF::kOther, "AttributeError", "_patch_text_config",
          fmt::format("{} of the model's configuration is no object, and takes no {}", name, key));
  }
}

HfConfigPtr converted(const Value& dict, const ConfigTables& tables) {
  const ConfigClass* plain = tables.find("PreTrainedConfig");
  return construct(*plain, dict, "get_hf_text_config");
}

}  // namespace

namespace {

// The parts that may be the language model have the whole's dtype where they say none.
void share_dtype(const HfConfigPtr& config, std::string_view function) {
  const Value dtype = config->get("dtype");
  for (const char* name : {"text_config", "llm_config", "language_config", "thinker_config"}) {
    HfConfigPtr sub = config->sub(name);
    if (!sub) {
      const Value dict = config->get(name);
      if (!dict.is_dict() && !dict.is_none() && !dtype.is_none()) {
        raise(RF::kOther, "AttributeError", function, fmt::format("{} is no object, and takes no dtype", name));
      }
      if (!dict.is_dict() || config->config_class() == nullptr) continue;
      sub = converted(dict, *config->config_class()->tables);
      set_checked(config, name, sub, function);
    }
    if (sub->is_none("dtype") && !dtype.is_none()) sub->set("dtype", dtype);
  }
}

HfConfigPtr part_with_heads(const HfConfigPtr& config, const char* name, std::string_view function) {
  HfConfigPtr text = config->sub(name);
  if (!text || !text->has("num_attention_heads")) {
    raise(RF::kOther, "AssertionError", function,
          fmt::format("{} of the model's configuration has no num_attention_heads", name));
  }
  return text;
}

// The part that is the language model, or null.
HfConfigPtr language_part(const HfConfigPtr& config, std::string_view function) {
  if (config->has("thinker_config")) {
    require_text_object(config, "thinker_config");
    HfConfigPtr text = config->sub("thinker_config");
    if (text && text->has("text_config")) {
      const Value thinker_dtype = text->get("dtype");
      text = text->sub("text_config");
      // Of a class that nobody knows it is a plain dict, or whatever else the file holds.
      if (!text) {
        raise(RF::kOther, "AttributeError", function, "text_config of thinker_config is no object, and takes no dtype");
      }
      text->set("dtype", thinker_dtype);
    }
    return text;
  }
  if (config->has("llm_config")) return part_with_heads(config, "llm_config", function);
  if (config->has("language_config")) {
    require_text_object(config, "language_config");
    return config->sub("language_config");
  }
  if (config->has("text_config")) return part_with_heads(config, "text_config", function);
  return nullptr;
}

}  // namespace

HfConfigPtr hf_text_config(const HfConfigPtr& config, std::string_view function) {
  const Value names = config->get("architectures");
  if (names.is_list() && !names.as_list().empty() && !names.as_list()[0].is_string()) {
    raise(RF::kOther, "AttributeError", function, "the first of the architectures in config.json is no text");
  }
  const std::string first = first_name(names);
  if (first.starts_with("Llava") && first.ends_with("ForCausalLM")) {
    config->set("dtype", "float16");
    return config;
  }
  share_dtype(config, function);
  const HfConfigPtr text = language_part(config, function);
  name_rope_types(config);
  if (!text) return config;
  for (const char* key : kSharedWithText) {
    if (config->has(key) && !text->has(key)) {
      text->set(key, config->get(key));
    } else if (text->has(key) && !config->has(key)) {
      config->set(key, text->get(key));
    }
  }
  return text;
}

HfConfigPtr read_config(ModelSource& source, const ConfigRequest& request) { return Reader(source, request).read(); }

void override_config(Release release, const HfConfigPtr& config, const Value& overrides) {
  if (!overrides.truthy()) return;
  if (!overrides.is_dict())
    raise(RF::kOther, "AttributeError", "get_config", "--json-model-override-args holds no object");
  for (const auto& [key, value] : overrides.as_dict()) {
    const HfConfigPtr sub = config->sub(key);
    if (release >= v0_5(17) && sub && value.is_dict()) {
      for (const auto& [name, inner] : value.as_dict()) set_checked(sub, name, inner, "get_config");
      continue;
    }
    const Value current = config->get(key);
    if (release >= v0_5(23) && (key == "rope_scaling" || key == "rope_parameters") && value.is_dict() &&
        current.is_dict()) {
      Value merged = current;
      for (const auto& [name, inner] : value.as_dict()) merged = std::move(merged).with(name, inner);
      config->set(key, merged);
    } else {
      set_checked(config, key, value, "get_config");
    }
  }
}

}  // namespace preflight::facts
