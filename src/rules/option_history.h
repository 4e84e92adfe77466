// Which SGLang releases have an option: from the tables of all releases, also those this tool cannot resolve.
#pragma once

#include <optional>
#include <string_view>

#include "preflight/release.h"

namespace preflight::rules {

struct ReleaseSpan {
  Release first;
  Release last;
};

// The releases whose option tables were read.
ReleaseSpan known_releases();
// Nothing for an option that no release has. `option` with its dashes.
std::optional<ReleaseSpan> releases_of_option(std::string_view option);

}  // namespace preflight::rules
