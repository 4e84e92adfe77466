// What Python's operators and built-in functions give for values, and keyword arguments in their order: the part of the
// rule language (config_rules.h) that evaluates nothing itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/facts/transformers/config_rules.h"

namespace preflight::facts::rules {

const Attribute* find(const Arguments& arguments, std::string_view name);  // null where there is none
void put(Arguments& arguments, std::string_view name, Attribute value);
void drop(Arguments& arguments, std::string_view name);
Value to_dict(const Arguments& arguments);

std::string python_str(const Value& v);
// What iterating over a value gives: keys of a dict, letters of a text; nothing for a number.
Value::List items_of(const Value& v);
// The same where a class iterates over it: TypeError for what Python cannot iterate over.
Value::List iterated(const RuleFrame& f, const Value& v);

// + - * / // % ** |, also of lists, texts, dicts and sets, which are lists here.
Value arithmetic(const RuleFrame& f, std::string_view op, const Value& a, const Value& b);
// == != < <= > >= is isnot in notin
Value compare(const RuleFrame& f, std::string_view op, const Attribute& a, const Attribute& b);
bool is_arithmetic(std::string_view op);
bool is_comparison(std::string_view op);

// Where a list has the item of that number; a negative one counts from its end. IndexError beyond it.
std::size_t position_in(const RuleFrame& f, const Value::List& list, const Value& key);
Value index(const RuleFrame& f, const Value& container, const Value& key);
Value slice(const Value& v, const Value& low, const Value& high);

// A built-in function by its name.
Value builtin(const RuleFrame& f, std::string_view name, const std::vector<Value>& arguments);

}  // namespace preflight::facts::rules
