// Finds kernel sources, embedded or in a given folder, and pastes what they include (the device has no file system).
#include "src/kernels/sources.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "src/base/embedded.h"
#include "src/opencl/opencl.h"

namespace preflight {
namespace {

std::string read_source(std::string_view file, const std::string& kernel_dir) {
  if (kernel_dir.empty()) {
    const auto files = embedded::kernel_sources();
    const auto found = std::ranges::find(files, file, &embedded::EmbeddedFile::name);
    if (found != files.end()) return std::string(found->text);
  } else if (std::ifstream in(fmt::format("{}/{}", kernel_dir, file), std::ios::binary); in) {
    return {std::istreambuf_iterator<char>(in), {}};
  }
  throw opencl::Failure({DeviceErrorKind::kBuildFailure,
                         fmt::format("no kernel source {}{}", file, kernel_dir.empty() ? "" : " in " + kernel_dir),
                         {}});
}

}  // namespace

std::string kernel_source(std::string_view file, const std::string& kernel_dir) {
  constexpr std::string_view kInclude = "#include \"";
  std::string source = read_source(file, kernel_dir);
  for (std::size_t at = source.find(kInclude); at != std::string::npos; at = source.find(kInclude, at)) {
    const std::size_t name = at + kInclude.size();
    const std::size_t quote = source.find('"', name);
    source.replace(at, quote + 1 - at, read_source(source.substr(name, quote - name), kernel_dir));
  }
  return source;
}

}  // namespace preflight
