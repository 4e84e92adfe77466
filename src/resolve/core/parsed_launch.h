// A parse outcome, whichever of its three ends, as a launch.
#pragma once

#include "preflight/launch.h"

namespace preflight::resolve {

// For UsageError and ParseRefusal: the launch that ended in the parser. ServerArgs are resolve()'s business.
Launch refused_by_parser(Release release, ParseOutcome parsed);

}  // namespace preflight::resolve
