// A parse outcome, whichever of its three ends, as a launch; and the end of one that is refused.
#pragma once

#include "preflight/launch.h"

namespace preflight::resolve {

// For UsageError and ParseRefusal: the launch that ended in the parser. ServerArgs are resolve()'s business.
Launch refused_by_parser(Release release, ParseOutcome parsed);

// Ends the launch. The message was written where it was refused; the options in it become data here, so that nobody has
// to read it again.
void refuse_launch(Launch& launch, Refusal refusal);

}  // namespace preflight::resolve
