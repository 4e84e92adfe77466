// Which options a mistyped one may have meant, for messages. Plays no part in parsing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preflight/release.h"

namespace preflight::args {

// Option names near `word` ("--page-szie", also "--page_size" or "page-size=64"), nearest first, at most three.
// Empty when nothing is near.
std::vector<std::string> closest_options(Release release, std::string_view word);

}  // namespace preflight::args
