// What serves a model's architecture in a release: a class of SGLang's own, transformers' class behind SGLang's layers,
// or nothing. Known for every release, from configs/sglang/model_classes.json (written by make_model_classes.py there).
// Source: srt/models/registry.py, srt/model_loader/utils.py (get_model_architecture, resolve_transformers_arch).
// Tested by tests/model_classes_test.cpp.
#pragma once

#include <optional>
#include <string_view>

#include "preflight/release.h"

namespace preflight::facts {

enum class ModelClass {
  kStages,        // SGLang's own; takes what another pipeline stage hands on
  kWhole,         // SGLang's own; does not
  kOwn,           // SGLang's own; which of the two is not known
  kTransformers,  // none of SGLang's own; transformers' class can stand behind SGLang's layers
  kRefused,       // none of SGLang's own; transformers' class says that it cannot
  kNone           // known to neither
};

// `architecture` as config.json names it.
ModelClass model_class(std::string_view architecture, Release release);

inline bool is_own(ModelClass c) {
  return c == ModelClass::kStages || c == ModelClass::kWhole || c == ModelClass::kOwn;
}

// The first release after `release` in which `served` holds of the architecture's class; nullopt: in none.
std::optional<Release> first_release_after(Release release, std::string_view architecture, bool (*served)(ModelClass));

}  // namespace preflight::facts
