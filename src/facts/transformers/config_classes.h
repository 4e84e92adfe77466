// Configuration classes: what transformers' and SGLang's classes fill in, for each release.
//
// The tables are generated from configs/transformers/<release>.json; a class is parsed when it is first needed. The
// rules a class has for deriving attributes are run by config_rules.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/release.h"
#include "preflight/value.h"
#include "src/facts/hf_config.h"

namespace preflight::facts {

class ConfigTables;

struct ConfigClass {
  std::string key;   // its name in the table
  std::string name;  // Python's class name
  std::string model_type;
  const ConfigClass* base = nullptr;                                   // null for PreTrainedConfig
  std::vector<std::string> bases;                                      // names of all base classes
  bool own = false;                                                    // defined by SGLang
  bool strict = false;                                                 // checks itself once it is made
  std::vector<std::pair<std::string, std::string>> aliases;            // attribute_map
  std::vector<std::pair<std::string, HfConfig::Attribute>> constants;  // class attributes, seen by getattr
  std::vector<std::pair<std::string, std::string>> properties;         // property -> function; empty when unknown
  Value fields;                                                        // declared fields with defaults
  Value checks;                                                        // their declared types
  Value subs;                                                          // sub-configuration -> class
  Value rope_labels;
  Value parameters;           // of a constructor of its own: [[name, default], …]
  std::optional<Value> init;  // rules of a constructor of its own
  std::optional<Value> post;  // rules after the fields are set
  std::optional<Value> rope;  // rules that convert rotary parameters, when not the usual ones
  Value readonly;             // properties that cannot be set
  Value validators;           // its own checks: name -> function
  std::string text;           // what its own get_text_config reads first; empty where it has none
  Value from_dict;            // [name, expression]: the file's content, changed before the constructor sees it
  const ConfigTables* tables = nullptr;
};

// The tables of one release, filled lazily; one object per process and release.
class ConfigTables {
 public:
  static const ConfigTables& of(Release release);

  [[nodiscard]] Release release() const { return release_; }
  // Class that AutoConfig uses for a model type; null when it is unknown.
  [[nodiscard]] const ConfigClass* type(std::string_view model_type) const;
  // Class with which SGLang reads the file again; null when it does not.
  [[nodiscard]] const ConfigClass* registered(std::string_view model_type) const;
  [[nodiscard]] const ConfigClass* find(std::string_view key) const;
  [[nodiscard]] const Value* function(std::string_view key) const;
  [[nodiscard]] bool is_generation_parameter(std::string_view name) const;
  [[nodiscard]] const Value& setting(std::string_view key) const;  // other lists of the release

 private:
  struct Store;
  explicit ConfigTables(Release release);
  Release release_;
  std::shared_ptr<Store> store_;
};

// cls(**arguments). Python exceptions are thrown as Raised; `frame` is the innermost SGLang function so far.
HfConfigPtr construct(const ConfigClass& config_class, const Value& arguments, std::string_view frame);
// What cls.from_dict hands to the constructor.
Value from_dict(const ConfigClass& config_class, Value dict, std::string_view frame);
// The value of a property of the class, None when it is not known.
HfConfig::Attribute property_value(const HfConfig& config, const std::string& function);
// to_value_with_properties() of a finished configuration, each property computed once.
Value read_out(const HfConfig& config);

}  // namespace preflight::facts
