// What serves a model's architecture in a release: a class of SGLang's own, transformers' class behind SGLang's layers,
// or nothing. Known for every release, from configs/sglang/model_classes.json (written by make_model_classes.py there).
// Source: srt/models/registry.py, srt/model_loader/utils.py (get_model_architecture, resolve_transformers_arch).
// Tested by tests/model_classes_test.cpp.
#pragma once

#include <optional>
#include <string>
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

// Whether transformers' AutoModel has a model for a configuration of this model type, as the release reads it. It looks
// models up by the name of the configuration's class, and SGLang has classes of names that transformers has not. True
// where the type is not known.
bool has_auto_model(std::string_view model_type, Release release);

// Whether the class that reads such a configuration is one of SGLang's, whatever its name.
bool has_class_of_sglang(std::string_view model_type, Release release);

// Whether SGLang reads such a configuration with a class of its list, also where the checkpoint brings one.
bool is_read_by_sglang(std::string_view model_type, Release release);

// The name under which configurations of this type keep an attribute that is asked of them (attribute_map).
std::string kept_as(std::string_view attribute, std::string_view model_type, Release release);

// The first release after `release` in which `served` holds of the architecture's class; nullopt: in none.
std::optional<Release> first_release_after(Release release, std::string_view architecture, bool (*served)(ModelClass));

}  // namespace preflight::facts
