// Why an installed driver is not among the platforms: the OpenCL loader passes over one that does not load in silence.
#pragma once

#include <string>

namespace preflight::opencl {

// "; NAME.icd names LIBRARY, which does not load: WORDS OF THE DYNAMIC LOADER", one after the other; "" when all load.
std::string drivers_that_do_not_load();

}  // namespace preflight::opencl
