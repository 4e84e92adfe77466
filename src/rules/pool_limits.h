// Sizes given by hand that leave the server no request, whatever the card holds. Tested by the examples of PL023.
#pragma once

#include <optional>

#include "src/rules/launch_facts.h"

namespace preflight::rules {

std::optional<Finding> no_request_by_limit(const LaunchFacts& f);

}  // namespace preflight::rules
