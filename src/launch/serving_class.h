// Whose class serves a launch: SGLang's own, or transformers'. Tested by the examples of MC001, MC004 and MC008 and by
// tests/rules_by_hand_test.cpp.
#pragma once

#include <string_view>

#include "preflight/facts.h"
#include "preflight/release.h"
#include "src/launch/launch_view.h"

namespace preflight {

// The architecture of which SGLang takes its own class: the first that it has one for. Empty: none.
std::string_view own_architecture(const ModelFacts& model, Release release);
std::string_view own_architecture(const LaunchView& view);

// transformers' class serves: asked for, or for want of one of SGLang's own.
bool transformers_serves(const LaunchView& view);

}  // namespace preflight
