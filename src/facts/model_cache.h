// Where a model id lies on this machine: a folder of models, huggingface_hub's cache, ModelScope's.
//
// Sources: huggingface_hub/constants.py and file_download.py (HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME;
// models--ORG--NAME/refs/REVISION → snapshots/COMMIT/config.json → blobs/…), sglang/srt/utils/hf_transformers_utils.py
// (SGLANG_USE_MODELSCOPE), modelscope/hub (MODELSCOPE_CACHE). Nothing is written. Tested by model_cache_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/facts.h"
#include "preflight/result.h"
#include "src/facts/container_view.h"

namespace preflight::facts {

// What the look-up depends on. Variables: the launch's, else this process's.
struct ModelPlaces {
  Environment env = {};
  std::vector<Mount> mounts = {};  // of the launch's container
  Environment inside = {};         // its variables
  std::string models_dir = {};     // --models-dir; "" = none
  std::string download_dir = {};   // the launch's --download-dir; "" = none
  std::string revision = {};       // the launch's --revision; "" = main
};

// Its models are completed by the hub's downloader when a server starts.
inline constexpr const char* kHubCache = "Hugging Face cache";
// Of a container that no mount brings it to: the model is known by it, and its files are not those that are loaded.
inline constexpr const char* kHostsHubCache = "Hugging Face cache of the host";

struct CachedModel {
  std::string directory;  // holds config.json, or would
  std::string kind;       // "--models-dir", "Hugging Face cache", "ModelScope cache"
};

// Errors: a place that holds the model and cannot be used: unreadable, a link into nothing, half a download.
// nullopt: it is nowhere. An id is ORG/NAME or NAME, never a path.
Result<std::optional<CachedModel>> find_cached_model(const std::string& id, const ModelPlaces& places);

// The variables that decide where models are looked for.
std::vector<std::string_view> model_place_variables();

}  // namespace preflight::facts
