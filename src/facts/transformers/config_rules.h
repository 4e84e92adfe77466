// Running the rules by which a configuration class derives attributes: a small language over Values and
// configuration objects (its forms are listed in config_rules.cpp).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/facts.h"
#include "src/facts/transformers/config_classes.h"

namespace preflight::facts {

using Attribute = HfConfig::Attribute;
using Arguments = std::vector<std::pair<std::string, Attribute>>;  // keyword arguments, in order

// While it lives, warnings that SGLang's configuration classes log go to `log`.
class WarningSink {
 public:
  explicit WarningSink(std::vector<LogLine>& log);
  WarningSink(const WarningSink&) = delete;
  WarningSink& operator=(const WarningSink&) = delete;
  ~WarningSink();

 private:
  std::vector<LogLine>* before_;
};

// A warning for the sink; none is listening outside of one.
void note_warning(std::string_view function, std::string message);

// What Python would raise for the value; the caller knows the function.
[[noreturn]] void rule_error(std::string exception, std::string_view frame, std::string message);

bool attribute_truthy(const Attribute& attribute);
Value attribute_value(const Attribute& attribute);  // a configuration object as its dict

struct RuleFrame {
  const ConfigTables& tables;
  const ConfigClass* owner;  // class whose rules run
  HfConfigPtr self;          // null in plain functions
  Arguments kwargs = {};
  Arguments locals = {};
  std::string_view function = {};  // innermost SGLang function, for errors
  bool returned = false;
  bool skipped = false;  // continue
  Attribute result = Value();
  const Value* asked = nullptr;  // the condition whose branch runs
};

void run_rules(RuleFrame& frame, const Value& rules);
Attribute evaluate(RuleFrame& frame, const Value& expression);

// A helper function of the tables, in the frame's object.
Attribute call_own(RuleFrame& frame, std::string_view key, const Arguments& given);

// What "super" in a rule means: the next class's fields and rules, down to PreTrainedConfig.
void run_post(const ConfigClass* config_class, const HfConfigPtr& self, Arguments kwargs, std::string_view function);
void run_init(const ConfigClass& config_class, const HfConfigPtr& self, Arguments kwargs, std::string_view function);
HfConfigPtr construct(const ConfigClass& config_class, Arguments arguments, std::string_view function);
// Legacy rotary keys in the arguments become rope_parameters; returns the arguments that are left.
Arguments convert_rope(const ConfigClass* config_class, const HfConfigPtr& self, Arguments kwargs,
                       std::string_view function);
void standardize_rope(Release release, const HfConfigPtr& self);
// One check of a made configuration; `config_class` null runs the check that every configuration has.
void run_validator(const ConfigClass* config_class, const HfConfigPtr& self, std::string_view name,
                   std::string_view function);
void validate(const ConfigClass& config_class, const HfConfigPtr& self, std::string_view function);
// Sets a field after its declared type has been checked.
// What layers have of their own is set, type and all, on a configuration of each layer.
void check_layer_types_of_fields(const HfConfigPtr& self, std::string_view function);
void set_checked(const HfConfigPtr& config, const std::string& name, Attribute value, std::string_view function);

}  // namespace preflight::facts
