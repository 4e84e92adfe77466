// check() for a caller that knows the launch's draft model, too: its weights count beside the model's.
#pragma once

#include "preflight/rule.h"

namespace preflight::rules {

// `draft`: nullptr where there is none, or it is not known.
CheckResult check_drafted(const Launch& launch, const ModelFacts* draft, const CheckOptions& options);

}  // namespace preflight::rules
