// oneAPI's own SYCL runtime in LD_LIBRARY_PATH, where setvars.sh puts it: it is loaded before the one that torch came
// with.
//
// Source: the layout of oneAPI (compiler/2025.1/lib); ld.so(8). Tested by doctor_test.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::facts {

struct OneApiRuntime {
  std::string directory;  // as LD_LIBRARY_PATH names it
  std::string release;    // "2025.1"; "" where its path does not tell
};

// In their order.
std::vector<OneApiRuntime> oneapi_runtimes(std::string_view library_path, const std::filesystem::path& sysroot);

// "2025.1" of "2025.1.3": the releases that their libraries agree within.
std::string oneapi_release(std::string_view version);

}  // namespace preflight::facts
