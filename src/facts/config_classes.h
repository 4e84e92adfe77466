// ConfigClass: what one configuration class of transformers (or SGLang) gives to every object of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/release.h"
#include "src/facts/hf_config.h"

namespace preflight::facts {

struct ConfigClass {
  std::string name;  // Python's class name
  std::string model_type;
  std::vector<std::string> bases;                                      // names of its base classes, nearest first
  std::vector<std::pair<std::string, std::string>> aliases;            // attribute_map: old name -> name
  std::vector<std::pair<std::string, HfConfig::Attribute>> constants;  // class attributes, seen by getattr
};

}  // namespace preflight::facts
