// The limit of outputs that are sums of a few products, rounded once. Tested by tests/verdict_test.cpp.
#pragma once

#include "preflight/verdict.h"

namespace preflight {

// Value by value, too: a row of them may be thousands, in which one that is wrong is lost. No product is larger than
// `largest`.
Tolerance few_products_tolerance(DType out, double largest);

}  // namespace preflight
