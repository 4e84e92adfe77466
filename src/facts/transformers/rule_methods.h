// Methods of values in the rule language (config_rules.h), and storing what they change.
#pragma once

#include "src/facts/transformers/config_rules.h"

namespace preflight::facts::rules {

// ["m", name, object, argument…]: what the method gives; an object that it changes is stored where it came from.
Attribute method(RuleFrame& f, const Value& expression);

// Puts a changed container back: into a local, an attribute, the keyword arguments, or an item of such a one.
void store(RuleFrame& f, const Value& place, Attribute value);

// The attribute of a configuration or a class; `fallback` where there is none, else AttributeError.
Attribute get_attribute(const RuleFrame& f, const Attribute& object, std::string_view name, const Attribute* fallback);

// A class as a value: its key behind this mark.
inline constexpr std::string_view kClassValue = "class:";
const ConfigClass* class_value(const RuleFrame& f, const Attribute& attribute);  // null for other values

}  // namespace preflight::facts::rules
