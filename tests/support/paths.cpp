#include "tests/support/paths.h"

#include <cstdlib>

namespace preflight::testing {

const std::string& source_directory() {
  static const std::string path = PREFLIGHT_SOURCE_DIR;
  return path;
}

const std::string& tool_path() {
  const char* const other = std::getenv("PREFLIGHT_TOOL");  // ./dev mutate: the one that is wrong somewhere
  static const std::string path = other == nullptr ? PREFLIGHT_BINARY : other;
  return path;
}

const std::string& fake_opencl_directory() {
  static const std::string path = PREFLIGHT_FAKE_OPENCL;
  return path;
}

}  // namespace preflight::testing
