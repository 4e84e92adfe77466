// Whose class serves a launch, those that the user brings among them (src/launch/serving_class.h has the others).
// Tested by the examples of MC001 and MC008 and by tests/rules_by_hand_test.cpp.
#pragma once

#include <string_view>

#include "src/launch/serving_class.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

// A package of the user's may have classes in the place of SGLang's.
bool has_classes_of_its_own(const LaunchFacts& f);

// Classes from the checkpoint itself, which SGLang takes where it has none, or from such a package are not known here.
bool brings_its_own_class(const LaunchFacts& f);

// SGLang's own class, where it serves the launch: empty where --model-impl asks for others' classes.
std::string_view serving_class(const LaunchFacts& f);

}  // namespace preflight::rules
