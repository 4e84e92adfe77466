#pragma once

#include <span>

#include "preflight/rule.h"

namespace preflight::rules {

std::span<const Rule> stand_in_rules();  // MC  transformers' classes behind SGLang's layers

}  // namespace preflight::rules
