// Variables of a launch, SGLang's own and others, that change what is found here.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace preflight::facts {

// Which cards a launch sees.
inline constexpr std::array<std::string_view, 3> kCardVariables = {"ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR",
                                                                   "ZE_FLAT_DEVICE_HIERARCHY"};

// How its ranks talk to one another.
inline constexpr std::array<std::string_view, 2> kCollectiveVariables = {"CCL_ALLREDUCE", "CCL_ZE_IPC_EXCHANGE"};

// Where its model is looked for. A model id names the same model in every cache.
inline constexpr std::array<std::string_view, 9> kModelPlaceVariables = {
    "HF_HUB_CACHE",          "HUGGINGFACE_HUB_CACHE", "HF_HOME",        "XDG_CACHE_HOME",      "HOME",
    "SGLANG_USE_MODELSCOPE", "MODELSCOPE_CACHE",      "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"};

// Whether it may ask for a model that is not there: with either, it is refused.
inline constexpr std::array<std::string_view, 2> kOfflineVariables = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"};

// SGLang's to read; the old beginning is rewritten by every release.
inline bool is_sglang_name(std::string_view variable) {
  return variable.starts_with("SGLANG_") || variable.starts_with("SGL_");
}

// A launch is judged by the value of this one: without it, it is not judged.
inline bool judges_by(std::string_view variable) {
  return is_sglang_name(variable) || std::ranges::find(kCardVariables, variable) != kCardVariables.end() ||
         std::ranges::find(kOfflineVariables, variable) != kOfflineVariables.end() ||
         std::ranges::find(kCollectiveVariables, variable) != kCollectiveVariables.end();
}

inline bool names_model_place(std::string_view variable) {
  return !judges_by(variable) && std::ranges::find(kModelPlaceVariables, variable) != kModelPlaceVariables.end();
}

}  // namespace preflight::facts
