// Records of findings that no check makes: about the input itself, and about the commands of several nodes.
#pragma once

#include <span>

#include "preflight/rule.h"

namespace preflight::rules {

std::span<const Rule> input_rules();  // MD model facts, SH pasted commands, RS resolvers, ND nodes, HO host

}  // namespace preflight::rules
