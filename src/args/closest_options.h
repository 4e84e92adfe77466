// Which options a mistyped one may have meant, for messages. Plays no part in parsing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/release.h"

namespace preflight::args {

// Option names near `word` ("--page-szie", also "--page_size" or "page-size=64"), nearest first, at most three.
// Empty when nothing is near.
std::vector<std::string> closest_options(Release release, std::string_view word);

// The one of `choices` that a wrong value may have meant: nearest when dashes and underscores do not count, a common
// other name ("bf16"), or the only one with the value as a part ("xpu" in "intel_xpu"). Empty when none is near.
std::string_view closest_choice(std::string_view value, std::span<const std::string_view> choices);

}  // namespace preflight::args
