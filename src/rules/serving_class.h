// Whose class serves a launch: SGLang's own, transformers', or one that the user brings. Tested by the examples of
// MC001 and MC008 and by tests/rules_by_hand_test.cpp.
#pragma once

#include <string_view>

#include "preflight/facts.h"
#include "preflight/release.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {

// A package of the user's may have classes in the place of SGLang's.
bool has_classes_of_its_own(const LaunchFacts& f);

// Classes from the checkpoint itself, which SGLang takes where it has none, or from such a package are not known here.
bool brings_its_own_class(const LaunchFacts& f);

// The architecture of which SGLang takes its own class: the first that it has one for. Empty: none.
std::string_view own_architecture(const ModelFacts& model, Release release);
std::string_view own_architecture(const LaunchFacts& f);

// The same, where it serves the launch: empty where --model-impl asks for others' classes.
std::string_view serving_class(const LaunchFacts& f);

// transformers' class serves: asked for, or for want of one of SGLang's own.
bool transformers_serves(const LaunchFacts& f);

}  // namespace preflight::rules
