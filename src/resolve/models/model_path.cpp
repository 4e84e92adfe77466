// Where the weights come from, and the load format that follows from it.
//
// Upstream: arg_groups/model_path_hook.py, muse_spark_hook.py. No hub is asked and nothing is downloaded: a path that
// only a hub could resolve is marked as not modelled. expert_pack is in expert_pack.cpp.
// Tested by parity with recorded launches (tests/parity).
#include "src/resolve/models/model_path.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/facts/gguf/gguf_config.h"
#include "src/facts/gguf/gguf_file.h"
#include "src/facts/hub_name.h"
#include "src/facts/launch_variables.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

namespace fs = std::filesystem;
constexpr auto kLoadFormat = "_handle_load_format";

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_object_store(const Value& path) { return path.is_string() && facts::is_object_store(path.as_string()); }

// A directory is told by what is remembered of it, without asking the disk.
bool is_gguf(Resolution& r, const std::string& path) {
  return !r.models().has_file(path, ".") && facts::is_gguf_file(path);
}

// ObjectStorageModel.download_and_get_path: needs a package that an XPU installation does not have.
void download_from_object_store(Resolution& r, const Value& path) {
  if (!is_object_store(path)) return;
  r.refuse(
      RF::kOther, "ModuleNotFoundError", "__init__",
      fmt::format("{} lies in an object store, which needs the Python package runai_model_streamer", path.as_string()),
      {{.words = "install runai_model_streamer, or give a local directory"}});
}

// Mistral's own weight files without Hugging Face ones, or a family that is only loaded from them. Of a model by its id
// the hub is asked, which has what its snapshot here has; where it cannot be asked, the snapshot is only since 0.5.22.
bool is_mistral_native(Resolution& r) {
  const std::string& path = r.text(Field::model_path);
  if (!r.models().has_file(path, ".") && r.before(v0_5(22)) && facts::asks_no_hub(r.env())) return false;
  const std::string lower = ascii_lower(path);
  const bool named = lower.find("mistral-large-3") != std::string::npos ||
                     lower.find("mistral-small-4") != std::string::npos || lower.find("leanstral") != std::string::npos;
  const bool params = r.models().has_file(path, "params.json");
  if (r.before(v0_5(12))) return params && (named || !r.models().has_file(path, "config.json"));
  if (named && params) return true;
  // The prefix lost its dash after 0.5.13; known for 0.5.23.
  return r.models().has_file(path, "consolidated*.safetensors") &&
         !r.models().has_file(path, r.since(v0_5(18)) ? "model*.safetensors" : "model-*.safetensors");
}

// validate_transfer_engine: mooncake is no part of an XPU installation.
bool transfer_engine_available(Resolution& r) {
  r.warn("validate_transfer_engine", "The Python package mooncake is missing, so TransferEngine cannot move weights.");
  return false;
}

// Up to 0.5.12 modelexpress needs a url.
bool names_modelexpress_url(Resolution& r) {
  if (!r.on(Field::modelexpress_config)) return false;
  const auto config = Value::parse_json(r.text(Field::modelexpress_config));
  if (!config) {
    r.refuse(RF::kOther, "JSONDecodeError", "_parsed_modelexpress_config", "--modelexpress-config is no JSON");
  }
  const Value* url = config->find("url");
  return url != nullptr && !url->is_none();
}

void check_remote_instance(Resolution& r, std::string_view function) {
  if (!r.is(Field::load_format, "remote_instance")) return;
  constexpr Field kBackend = Field::remote_instance_weight_loader_backend;
  const auto fall_back = [&](std::string_view why) {
    r.warn(function, fmt::format("--load-format remote_instance becomes auto: {}.", why));
    r.change(kLoadFormat, Field::load_format, "auto");
  };
  const bool no_seed = r.none(Field::remote_instance_weight_loader_seed_instance_ip) ||
                       r.none(Field::remote_instance_weight_loader_seed_instance_service_port);
  if (r.before(v0_5(13)) && r.is(kBackend, "modelexpress")) {
    if (!names_modelexpress_url(r)) {
      fall_back("--modelexpress-config names no url");
    } else if (!transfer_engine_available(r)) {
      fall_back("TransferEngine, which modelexpress needs, cannot be used");
    }
  } else if (!r.is(kBackend, "modelexpress") && no_seed) {
    fall_back("the seed instance's address and port are not given");
  } else if (r.none(Field::remote_instance_weight_loader_send_weights_group_ports) && r.is(kBackend, "nccl")) {
    fall_back("NCCL's group ports are not given");
  } else if (r.is(kBackend, "transfer_engine") && !transfer_engine_available(r)) {
    fall_back("TransferEngine cannot be used");
  }
}

void resolve_format_of_path(Resolution& r) {
  const std::string& path = r.text(Field::model_path);
  if (r.one_of(Field::load_format, {"auto", "gguf"}) && is_gguf(r, path)) {
    r.change("_gguf_quantization", Field::quantization, "gguf");
    r.change(kLoadFormat, Field::load_format, "gguf");
    if (facts::gguf_source(r.release(), path) == facts::GgufSource::kNative) r.unmodelled(Field::model_path);
  }
  if (r.is(Field::load_format, "auto") && is_mistral_native(r)) r.change(kLoadFormat, Field::load_format, "mistral");
  if (facts::is_object_store(path)) {
    r.change(kLoadFormat, Field::load_format, "runai_streamer");
  } else if (facts::is_remote_url(path)) {
    r.change(kLoadFormat, Field::load_format, "remote");
  }
}

}  // namespace

void maybe_download_model_for_runai(Resolution& r) {
  download_from_object_store(r, r[Field::model_path]);
  download_from_object_store(r, r[Field::tokenizer_path]);
}

void handle_model_source_paths(Resolution& r) {
  for (const Field field : {Field::model_path, Field::speculative_draft_model_path}) {
    // OWNER/REPO alone counts as a model directory of the hub: upstream's search for a single .gguf in it gives up
    // silently without a network.
    if (facts::names_gguf_of_hub(r.release(), r.text(field)) && !exists(r.text(field))) r.unmodelled(field);
  }
  download_from_object_store(r, r[Field::model_path]);
  download_from_object_store(r, r[Field::tokenizer_path]);
  if (r.since(v0_5(17))) download_from_object_store(r, r[Field::speculative_draft_model_path]);
}

void handle_modelscope_paths(Resolution& r) {
  for (const Field field : {Field::model_path, Field::tokenizer_path, Field::speculative_draft_model_path}) {
    const bool draft = field == Field::speculative_draft_model_path;
    if (draft && !r.on(field)) continue;
    if (r.on(field) && !exists(r.text(field))) r.unmodelled(field);  // ModelScope's cache or hub would say
    r.change("_handle_modelscope_paths", field, Value(r[field]));
  }
}

void handle_load_format(Resolution& r) {
  const std::string_view function = kLoadFormat;
  resolve_format_of_path(r);
  constexpr Field kDraftFormat = Field::speculative_draft_load_format;
  if (r.since(v0_5(17)) && is_object_store(r[Field::speculative_draft_model_path]) && r.none(kDraftFormat)) {
    r.change(kLoadFormat, kDraftFormat, "runai_streamer");
  }
  if (r.none(Field::custom_weight_loader)) r.change(kLoadFormat, Field::custom_weight_loader, Value::list({}));
  check_remote_instance(r, function);
  constexpr Field kSeed = Field::remote_instance_weight_loader_start_seed_via_transfer_engine;
  if (r.on(kSeed)) r.change(kLoadFormat, kSeed, transfer_engine_available(r));
  // Options of later releases, known for 0.5.23.
  if (r.is(Field::load_format, "ipc_cache")) {
    r.refuse(RF::kOther, "ValueError", function, "--load-format ipc_cache is internal; use --weight-cache-mode.");
  }
  const bool cached = !r.none(Field::weight_cache_mode) && !r.is(Field::weight_cache_mode, "off");
  if (cached && !r.none(Field::speculative_algorithm)) {
    r.refuse(RF::kOther, "ValueError", function,
             "--weight-cache-mode does not hold draft models; turn it off or drop --speculative-algorithm.");
  }
}

// Reads config.json for the first time, so a model that cannot be read is refused here (0.5.23).
void apply_muse_spark_env_defaults(Resolution& r) {
  if (model_is_remote_instance(r)) return;
  facts::ConfigRequest request;
  request.path = r.text(Field::model_path);
  request.trust_remote_code = r.on(Field::trust_remote_code);
  request.config_parser = r[Field::model_config_parser];
  const auto outcome = r.load_config(std::move(request));
  if (const auto* refused = std::get_if<Refusal>(&outcome)) {
    r.launch().refused_by_model = true;
    throw RefusedByStep{*refused};
  }
  const Value* architectures = std::get<Value>(outcome).find("architectures");
  const bool listed = architectures != nullptr && architectures->is_list() && !architectures->as_list().empty();
  if (!listed || !is_text(architectures->as_list().front(), "MuseSparkForConditionalGeneration")) return;
  constexpr std::pair<const char*, const char*> kDefaults[] = {
      {"SGLANG_ENABLE_CUDA_GRAPH_DEDUP", "True"},
      {"SGLANG_ENABLE_GRAPH_POOL_BORROW", "True"},
      {"SGLANG_ENABLE_GRAPH_POOL_PRECARVE", "True"},
      {"SGLANG_ENABLE_POST_CAPTURE_KV_SIZING", "True"},
      {"SGLANG_OPT_UNIFIED_CACHE_FREE_OUT_OF_WINDOW_SLOTS", "False"}};
  for (const auto& [name, value] : kDefaults) r.env().try_emplace(name, value);
  if (r.is(Field::quantization, "modelopt_fp4")) {
    r.env().try_emplace("SGLANG_FLASHINFER_NVFP4_PER_TOKEN_ACTIVATION", "True");
  }
}

}  // namespace preflight::resolve
