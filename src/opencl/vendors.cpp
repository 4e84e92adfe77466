// Reads the vendors' .icd files as the loader does (OCL_ICD_VENDORS, else /etc/OpenCL/vendors) and tries their
// libraries. Tested by tests/kernels/vendors_test.cpp.
#include "src/opencl/vendors.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "src/base/read_text.h"

namespace preflight::opencl {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> icd_files() {
  const char* given = std::getenv("OCL_ICD_VENDORS");
  const fs::path place = given != nullptr && *given != '\0' ? given : "/etc/OpenCL/vendors";
  std::error_code none;
  if (place.extension() == ".icd") return {place};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(place, none), end; !none && entry != end; entry.increment(none)) {
    if (entry->path().extension() == ".icd") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::string drivers_that_do_not_load() {
  std::string text;
  for (const fs::path& file : icd_files()) {
    std::string library;
    std::istringstream in(system_text(file));
    std::getline(in, library);
    library.erase(library.find_last_not_of(" \t\r") + 1);
    if (library.empty() || dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) continue;
    const char* words = dlerror();
    text += fmt::format("; {} names {}, which does not load: {}", file.filename().string(), library,
                        words == nullptr ? "no reason is given" : words);
  }
  return text;
}

}  // namespace preflight::opencl
