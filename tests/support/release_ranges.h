// Releases as the tables of tests/data write them.
#pragma once

#include <functional>
#include <string>

#include "preflight/release.h"

namespace preflight::testing {

// The supported releases in which something is there, "12-14,16", with how often where it is more than once:
// "14,15-19x2". Post-releases stand with the release before them; "none" where there is none.
std::string release_ranges(const std::function<long(Release)>& how_often);

}  // namespace preflight::testing
