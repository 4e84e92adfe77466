// Programs compiled in earlier runs, kept in files: most of a warm run would go into the driver's front end otherwise.
//
// $XPU_PREFLIGHT_CACHE_DIR, else xpu-preflight in $XDG_CACHE_HOME or ~/.cache; empty: no cache. A file holds all that
// the program was made from, which is compared as a whole, and a checksum of the binary. Whatever is wrong with the
// cache costs time alone: the program is then built from its source.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "preflight/kernel_run.h"

namespace preflight::opencl {

class ProgramCache {
 public:
  ProgramCache() = default;  // keeps nothing
  explicit ProgramCache(std::filesystem::path directory) : directory_(std::move(directory)) {}
  // As the environment says.
  static ProgramCache of_user();

  // Everything that the compiler's output depends on.
  static std::string key(const DeviceInfo& device, std::string_view options, std::string_view source);

  [[nodiscard]] bool is_on() const { return !directory_.empty(); }
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
  void store(std::string_view key, std::string_view binary) const;

  static constexpr std::size_t kMostFiles = 256;  // the oldest go first

 private:
  [[nodiscard]] std::filesystem::path file_of(std::string_view key) const;

  std::filesystem::path directory_;  // empty: nothing is kept
};

}  // namespace preflight::opencl
