// What config.json of another checkpoint of the same model would say: the same model, stored otherwise.
#pragma once

#include <array>
#include <string_view>

#include "preflight/value.h"

namespace preflight::facts {

// "fp8": FP8 in blocks of 128 by 128 with dynamic activations, as large models are published. "unquantized": none.
inline constexpr std::array<std::string_view, 2> kStoredForms = {"fp8", "unquantized"};

Value stored_as(const Value& config, std::string_view form);

}  // namespace preflight::facts
