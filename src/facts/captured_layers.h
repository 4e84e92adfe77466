// Which of SGLang's own classes hand the hidden states of chosen layers to a draft: set_eagle3_layers_to_capture,
// set_dflash_layers_to_capture and set_dspark_layers_to_capture in srt/models, inherited ones too. What a class of
// several models passes on counts, whatever the model inside makes of it. Tested by tests/model_methods_test.cpp, and
// tests/rules_by_hand_test.cpp (MC007).
#pragma once

#include <optional>
#include <string_view>

#include "preflight/release.h"

namespace preflight::facts {

// The first release in which the class does so for EAGLE3, DFLASH or DSPARK; nullopt: in none.
std::optional<Release> captures_since(std::string_view architecture, std::string_view algorithm);

}  // namespace preflight::facts
