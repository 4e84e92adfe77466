// Which of SGLang's own classes say how many experts they have (get_model_config_for_expert_location in srt/models,
// inherited ones too), which the recorder of the experts' distribution asks, and which build none. Tested by
// tests/model_methods_test.cpp, and tests/rules_by_hand_test.cpp (MC016).
#pragma once

#include <optional>
#include <string_view>

#include "preflight/release.h"

namespace preflight::facts {

// The first release in which the class does so; nullopt: in none.
std::optional<Release> counts_experts_since(std::string_view architecture);

// It builds no experts in any release, whatever its configuration says of them.
bool builds_no_experts(std::string_view architecture);

}  // namespace preflight::facts
