// Classes whose parameters on a rank were recorded (tests/parity/weights) and are counted to half a percent. What is
// counted of others is an approximation, however much of it is known.
#pragma once

#include "preflight/facts.h"

namespace preflight::plan {

bool is_counted(const ModelFacts& model);

}  // namespace preflight::plan
