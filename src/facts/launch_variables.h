// Variables of a launch, SGLang's own and others, that change what is found here; and the text of those that say where
// models lie, as Python expands it (posixpath, huggingface_hub/constants.py). Tested by model_cache_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/facts.h"
#include "src/base/ascii_case.h"
#include "src/python/environment.h"

namespace preflight::facts {

// Which cards a launch sees.
inline constexpr std::array<std::string_view, 4> kCardVariables = {
    "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_PCI_ID_DEVICE_ORDER"};

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

// One $NAME or ${NAME} of a text.
struct VariableReference {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view name;
};

// The next one from there on.
inline std::optional<VariableReference> next_reference(std::string_view text, std::size_t from) {
  const auto is_of_word = [](char c) {
    return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_';
  };
  for (std::size_t at = text.find('$', from); at != std::string_view::npos; at = text.find('$', at + 1)) {
    const bool braced = text.substr(at + 1).starts_with('{');
    const std::size_t begin = at + (braced ? 2 : 1);
    std::size_t end = begin;
    if (braced) {
      end = text.find('}', begin);
    } else {
      while (end < text.size() && is_of_word(text[end])) ++end;
    }
    if (end == std::string_view::npos || (!braced && end == begin)) continue;
    return VariableReference{at, end + (braced ? 1 : 0), text.substr(begin, end - begin)};
  }
  return std::nullopt;
}

inline std::vector<std::string> variables_named_in(std::string_view text) {
  std::vector<std::string> out;
  for (auto r = next_reference(text, 0); r; r = next_reference(text, r->end)) out.emplace_back(r->name);
  return out;
}

// os.path.expandvars: what is not set stays as it is written.
inline std::string with_variables(const Environment& env, std::string_view text) {
  std::string out;
  std::size_t told = 0;
  for (auto r = next_reference(text, 0); r; r = next_reference(text, r->end)) {
    const auto value = env.find(r->name);
    if (value == env.end()) continue;
    out += text.substr(told, r->begin - told);
    out += value->second;
    told = r->end;
  }
  out += text.substr(told);
  return out;
}

// os.path.expanduser, but for another user's home.
inline std::string with_home(const Environment& env, const std::string& text) {
  const auto home = env.find("HOME");
  if (home == env.end() || (text != "~" && !text.starts_with("~/"))) return text;
  return home->second.substr(0, home->second.find_last_not_of('/') + 1) + text.substr(1);
}

// The folder of huggingface_hub's cache, by variables that count where they are set, empty or not; "." is the one that
// the server is started in, "" is not known.
inline std::string hub_cache(const Environment& env) {
  const auto expanded = [&](const std::string& text) { return with_variables(env, with_home(env, text)); };
  const auto below = [](std::string folder, std::string_view name) {
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    return folder.append(name);
  };
  for (const std::string_view name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string* set = python::environment_text(env, name))
      return expanded(*set).empty() ? "." : expanded(*set);
  }
  if (const std::string* home = python::environment_text(env, "HF_HOME")) return below(expanded(*home), "hub");
  if (const std::string* xdg = python::environment_text(env, "XDG_CACHE_HOME"))
    return below(expanded(*xdg), "huggingface/hub");
  const std::string* home = python::environment_text(env, "HOME");
  return home == nullptr || home->empty() ? std::string() : below(*home, ".cache/huggingface/hub");
}

inline bool asks_modelscope(const Environment& env) { return python::environment_bool(env, "SGLANG_USE_MODELSCOPE"); }

// ~ alone is expanded here, and an empty value is the folder that the server is started in. `otherwise`: below the
// home.
inline std::string modelscope_cache(const Environment& env, std::string_view otherwise) {
  if (const std::string* set = python::environment_text(env, "MODELSCOPE_CACHE")) return with_home(env, *set);
  const std::string* home = python::environment_text(env, "HOME");
  return (home == nullptr ? std::string() : *home + "/").append(otherwise);
}

// Whether huggingface_hub is forbidden to ask the hub for what is not here: of its two variables the first that holds
// anything decides, whatever it says.
inline bool asks_no_hub(const Environment& env) {
  constexpr std::array<std::string_view, 4> kTrue{"1", "ON", "YES", "TRUE"};
  const auto told = std::ranges::find_if(kOfflineVariables, [&](std::string_view name) {
    const auto it = env.find(name);
    return it != env.end() && !it->second.empty();
  });
  return told != kOfflineVariables.end() &&
         std::ranges::find(kTrue, ascii_upper(env.find(*told)->second)) != kTrue.end();
}

}  // namespace preflight::facts
