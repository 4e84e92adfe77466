// What a field comes to on one node, and whether two nodes mean the same by it: paths, spellings and ways to read a
// checkpoint may differ from machine to machine, what the ranks hold may not.
#pragma once

#include <map>
#include <string>

#include "src/intake/launch_input.h"

namespace preflight::commands {

// `auto` is what the model makes of it.
Value node_value(const PreparedLaunch& prepared, Field field);

bool mean_the_same(Field field, const Value& a, const Value& b);

// Paths of one model on two machines: equal ids, or places whose last folder has the same name.
bool may_be_one_model(const std::string& a, const std::string& b);

// The entries of a JSON object given as an option's text; what is no object is one entry without a name.
std::map<std::string, Value> entries_of(const Value& option);

// The parts of one graph configuration that count beside another: where either has no graphs in a phase, sizes do not.
std::map<std::string, Value> graph_settings(const Value& config, const Value& other);

}  // namespace preflight::commands
