#include "src/facts/oneapi_runtime.h"

#include <algorithm>
#include <system_error>

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;

bool holds_runtime(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("libsycl.so") || name.starts_with("libur_loader.so")) return true;
  }
  return false;
}

// /opt/intel/oneapi/compiler/2025.1/lib, whatever "latest" points at.
std::string release_of(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  std::string before;
  for (const fs::path& part : error ? folder : real) {
    if (before == "compiler" || before == "oneapi") {
      if (std::string release = oneapi_release(part.string()); !release.empty()) return release;
    }
    before = part.string();
  }
  return {};
}

}  // namespace

std::string oneapi_release(std::string_view version) {
  const auto dot = version.find('.');
  if (dot == std::string_view::npos) return {};
  const auto end = std::min(version.find('.', dot + 1), version.size());
  const std::string_view release = version.substr(0, end);
  const bool numbers = std::ranges::all_of(release, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return numbers && dot > 0 && dot + 1 < end ? std::string(release) : std::string();
}

std::vector<OneApiRuntime> oneapi_runtimes(std::string_view library_path, const fs::path& sysroot) {
  std::vector<OneApiRuntime> out;
  for (std::size_t from = 0; from < library_path.size();) {
    const std::size_t end = std::min(library_path.find(':', from), library_path.size());
    const fs::path named(library_path.substr(from, end - from));
    from = end + 1;
    if (!named.is_absolute()) continue;
    const fs::path folder = sysroot / named.relative_path();
    if (holds_runtime(folder)) out.push_back({named.string(), release_of(folder)});
  }
  return out;
}

}  // namespace preflight::facts
