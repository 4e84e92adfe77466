// --prompt-tokens-buckets and --generation-tokens-buckets: rules for metric histograms.
#pragma once

#include <string_view>

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void validate_buckets_rule(Resolution& r, Field field, std::string_view option);

}  // namespace preflight::resolve
