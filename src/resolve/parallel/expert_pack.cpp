// --load-format expert_pack: experts in one packed file beside a GGUF model. All faults are reported together.
//
// Upstream: arg_groups/expert_pack_hook.py, model_loader/expert_pack_config.py (known for 0.5.23). A raw GGUF file as
// the model path is unpacked by upstream at this point; that is not modelled.
// Tested by parity with recorded launches (tests/parity).
#include <filesystem>

#include <fmt/format.h>

#include "src/resolve/models/model_path.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

constexpr auto kStep = "handle_expert_pack";
constexpr std::string_view kDeepseek = "deepseek_v4";
constexpr std::string_view kKimi = "kimi_linear";

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::string expanded(Resolution& r, const std::string& path) {
  const std::string* home = r.env_text("HOME");
  return home != nullptr && (path == "~" || path.starts_with("~/")) ? *home + path.substr(1) : path;
}

// The faults found so far.
class Faults {
 public:
  void add(std::string fault) { list_ += (list_.empty() ? "" : "; ") + std::move(fault); }
  [[nodiscard]] bool any() const { return !list_.empty(); }
  [[nodiscard]] const std::string& list() const { return list_; }

 private:
  std::string list_;
};

void check_parallelism(const Resolution& r, Faults& faults) {
  constexpr std::pair<Field, std::string_view> kSizes[] = {{Field::tp_size, "--tp-size"},
                                                           {Field::dp_size, "--dp-size"},
                                                           {Field::attn_dp_size, "--attn-dp-size"},
                                                           {Field::ep_size, "--ep-size"}};
  for (const auto& [field, option] : kSizes) {
    if (r[field] != Value(1)) faults.add(fmt::format("{} has to be 1", option));
  }
  if (r.on(Field::enforce_shared_experts_fusion)) faults.add("drop --enforce-shared-experts-fusion");
  if (r.on(Field::enable_waterfill)) faults.add("drop --enable-waterfill");
}

void check_graphs(Resolution& r, Faults& faults) {
  constexpr std::pair<std::string_view, Field> kPhases[] = {{kDecode, Field::cuda_graph_backend_decode},
                                                            {kPrefill, Field::cuda_graph_backend_prefill}};
  for (const auto& [phase, field] : kPhases) {
    const Value* settings = r[Field::cuda_graph_config].find(phase);
    if (settings != nullptr && !settings->is_dict()) {
      r.refuse(RF::kOther, "AttributeError", kStep,
               fmt::format("--cuda-graph-config \"{}\" has to be an object.", phase));
    }
    const Value* given = settings == nullptr ? nullptr : settings->find("backend");
    const Value backend = given == nullptr ? r[field] : *given;
    if (!backend.is_none() && !is_text(backend, "disabled")) faults.add(fmt::format("disable {} graphs", phase));
  }
}

Value loader_config(const Resolution& r, Faults& faults) {
  Value config = r[Field::model_loader_extra_config];
  if (config.is_string() && config.truthy()) {
    auto parsed = Value::parse_json(config.as_string());
    if (!parsed) {
      faults.add("--model-loader-extra-config is no JSON");
      return Value::dict({});
    }
    config = std::move(*parsed);
  } else if (!config.truthy()) {
    return Value::dict({});
  }
  if (config.is_dict()) return config;
  faults.add("--model-loader-extra-config is no JSON object");
  return Value::dict({});
}

// A path setting of the loader; None and "" count as not given.
Value path_setting(const Value& config, std::string_view name, Faults& faults) {
  const Value* value = config.find(name);
  if (value == nullptr || !value->truthy()) return {};
  if (value->is_string()) return *value;
  faults.add(fmt::format("{} is no path", name));
  return {};
}

void check_kimi(const ModelFacts& model, Faults& faults) {
  const std::pair<std::string_view, Value> required[] = {
      {"num_hidden_layers", 93},           {"num_experts", 896},
      {"num_experts_per_token", 16},       {"first_k_dense_replace", 1},
      {"routed_expert_hidden_size", 3584}, {"moe_intermediate_size", 3072},
      {"num_shared_experts", 2},           {"hidden_act", "situ"},
      {"activation_situ_beta", 4.0},       {"activation_situ_linear_beta", 25.0}};
  for (const auto& [key, value] : required) {
    if (model.root(key) != value) faults.add(fmt::format("{} of Kimi-K3 is {}", key, value.repr()));
  }
}

// The model type, "" when it cannot be packed.
std::string check_model(Resolution& r, Faults& faults) {
  const std::string path = expanded(r, r.text(Field::model_path));
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    faults.add("--model-path has to be a local GGUF shard or a directory with config.json");
    return {};
  }
  try {
    const ModelFacts& model = r.model();
    const Value type = model.root("model_type");
    if (is_text(type, kDeepseek)) return std::string(kDeepseek);
    if (is_text(type, kKimi)) {
      check_kimi(model, faults);
      return std::string(kKimi);
    }
    faults.add(fmt::format("model_type is {}, and only deepseek_v4 and kimi_linear can be packed", type.repr()));
  } catch (const RefusedByStep& refused) {  // upstream reports it as one fault of several
    r.launch().refused_by_model = false;
    faults.add("the model cannot be read: " + refused.refusal.message);
  }
  return {};
}

Value pack_path(Resolution& r, const Value& config, Faults& faults) {
  Value path = path_setting(config, "pack_path", faults);
  const Value* given = config.find("pack_path");
  const std::string* variable = r.env_text("SGLANG_EXPERT_PACK_PATH");
  if ((given == nullptr || !given->truthy()) && variable != nullptr && !variable->empty()) path = *variable;
  if (path.is_none()) {
    faults.add("pack_path is missing in --model-loader-extra-config");
  } else if (!is_file(expanded(r, path.as_string()))) {
    faults.add("there is no pack " + path.as_string());
  }
  return path;
}

void check_companions(Resolution& r, const Value& config, const std::string& kind, const Value& pack, Faults& faults) {
  const Value* named = config.find("manifest_path");
  const bool given = named != nullptr && named->truthy();
  Value manifest = path_setting(config, "manifest_path", faults);
  if (kind == kKimi && !given) faults.add("Kimi-K3 needs manifest_path");
  if (!given && kind == kDeepseek && !pack.is_none()) manifest = pack.as_string() + ".manifest.json";
  if (!manifest.is_none() && !is_file(expanded(r, manifest.as_string()))) {
    faults.add("there is no manifest " + manifest.as_string());
  }
  if (kind != kDeepseek) return;
  for (const std::string_view name : {"source_path", "source_sha256", "model_identity_sha256", "config_sha256"}) {
    const Value* value = config.find(name);
    if (value == nullptr || !value->truthy()) faults.add(fmt::format("{} is missing", name));
  }
  const Value source = path_setting(config, "source_path", faults);
  if (!source.is_none() && !is_file(expanded(r, source.as_string()))) {
    faults.add("there is no source file " + source.as_string());
  }
}

}  // namespace

void handle_expert_pack(Resolution& r) {
  if (!r.is(Field::load_format, "expert_pack")) return;
  Faults faults;
  check_parallelism(r, faults);
  check_graphs(r, faults);
  const Value config = loader_config(r, faults);
  if (!faults.any() && is_file(expanded(r, r.text(Field::model_path)))) {
    r.unmodelled(Field::load_format);
    return;
  }
  const Value pack = pack_path(r, config, faults);
  const std::string kind = check_model(r, faults);
  check_companions(r, config, kind, pack, faults);
  if (faults.any()) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("--load-format expert_pack cannot be used: {}.", faults.list()));
  }
  r.declare(kStep, {{Field::disable_cuda_graph, true}, {Field::disable_shared_experts_fusion, true}});
  if (kind == kDeepseek) r.env()["SGLANG_OPT_FP8_WO_A_GEMM"] = "False";
}

}  // namespace preflight::resolve
