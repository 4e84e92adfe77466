#include "tests/support/paths.h"

namespace preflight::testing {

const std::string& source_directory() {
  static const std::string path = PREFLIGHT_SOURCE_DIR;
  return path;
}

const std::string& tool_path() {
  static const std::string path = PREFLIGHT_BINARY;
  return path;
}

const std::string& fake_opencl_directory() {
  static const std::string path = PREFLIGHT_FAKE_OPENCL;
  return path;
}

}  // namespace preflight::testing
