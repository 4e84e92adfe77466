// Expressions of the rule language (config_rules.h), and what rules ask of them.
#pragma once

#include <string>
#include <string_view>

#include "src/facts/transformers/config_rules.h"

namespace preflight::facts::rules {

// The name of an expression's form, which is its first element; an expression that is no list is a constant.
std::string_view op_of(const Value& expression);
bool is_form(const Value& expression, std::string_view op);

Value value_of(RuleFrame& f, const Value& expression);
std::string text_of(RuleFrame& f, const Value& expression);  // as str() gives it
// A mapping as keyword arguments; TypeError for what is none.
Arguments to_arguments(RuleFrame& f, const Value& expression);

// Gives one name the item, or several names the items of it.
void bind(RuleFrame& f, const Value& names, const Value& item);

}  // namespace preflight::facts::rules
