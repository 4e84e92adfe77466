// What this build knows, as lists: rules and releases.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "preflight/rule.h"
#include "src/report/style.h"

namespace preflight::report {

// The part of the rule's range that this build can check; nothing when there is none.
std::vector<Release> releases_of(const Rule& rule);
// "K-6, K-7"
std::string refs_text(const Rule& rule);

// Rules of no release that this build checks are left out.
std::string rules_text(const Style& style);
std::string rules_json();
std::string releases_text(std::span<const Release> releases);

}  // namespace preflight::report
