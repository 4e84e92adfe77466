// Where the build put things. The paths are compiled into one file only, so that objects do not depend on the folder
// of the checkout and a compiler cache can share them.
#pragma once

#include <string>

namespace preflight::testing {

const std::string& source_directory();
const std::string& tool_path();              // the built program
const std::string& fake_opencl_directory();  // holds a libOpenCL that fails on demand

}  // namespace preflight::testing
