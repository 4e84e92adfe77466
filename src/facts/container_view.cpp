#include "src/facts/container_view.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;

// "/models/" and "/models/." as "/models".
fs::path plain(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

// The steps from `top` down to `path`; nullopt: it lies elsewhere.
std::optional<fs::path> below(const fs::path& top, const fs::path& path) {
  const auto [at, rest] = std::mismatch(top.begin(), top.end(), path.begin(), path.end());
  if (at != top.end()) return std::nullopt;
  fs::path out;
  for (auto step = rest; step != path.end(); ++step) out /= *step;
  return out;
}

}  // namespace

std::optional<std::string> host_path(const std::vector<Mount>& mounts, const std::string& inside) {
  if (!inside.starts_with('/')) return std::nullopt;
  const fs::path path = plain(inside);
  std::size_t deepest = 0;
  std::optional<std::string> out;
  for (const Mount& mount : mounts) {
    const fs::path top = plain(mount.inside);
    const auto rest = below(top, path);
    const auto depth = static_cast<std::size_t>(std::distance(top.begin(), top.end()));
    if (!rest || depth < deepest) continue;
    deepest = depth;
    out = rest->empty() ? mount.host : (fs::path(mount.host) / *rest).string();
  }
  return out;
}

}  // namespace preflight::facts
