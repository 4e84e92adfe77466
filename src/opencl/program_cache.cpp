// Tested by tests/kernels/program_cache_test.cpp.
#include "src/opencl/program_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "src/base/read_text.h"

namespace preflight::opencl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "xpu-preflight program 1\n";
constexpr std::string_view kExtension = ".program";

// FNV-1a. It names files and finds torn ones; that two keys share a value is no harm, since keys are compared.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return value;
}

std::string header_of(std::string_view key, std::string_view binary) {
  return fmt::format("{}{} {} {:016x}\n{}", kMagic, key.size(), binary.size(), checksum(binary), key);
}

// A file of ours: named as file_of() names, whatever it holds. Nothing else in the directory is touched.
bool is_program_file(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::size_t kDigits = 16;
  if (name.size() <= kDigits || name.find_first_not_of("0123456789abcdef") != kDigits) return false;
  std::ifstream in(path, std::ios::binary);
  std::string head(kMagic.size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return path.extension() == kExtension && in && head == kMagic;
}

// Ours alone to write: what is read from here runs as this user's code.
bool is_private(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void remove_oldest(const fs::path& directory) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code ignored;  // another process may be doing the same
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (is_program_file(entry.path())) files.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  if (files.size() <= ProgramCache::kMostFiles) return;
  std::ranges::sort(files);
  files.resize(files.size() - ProgramCache::kMostFiles / 2);
  for (const auto& [time, path] : files) fs::remove(path, ignored);
}

}  // namespace

ProgramCache ProgramCache::of_user() {
  if (const char* own = std::getenv("XPU_PREFLIGHT_CACHE_DIR"); own != nullptr) return ProgramCache(own);
  // As the base directory specification has it: a relative path does not count.
  if (const char* shared = std::getenv("XDG_CACHE_HOME"); shared != nullptr && *shared == '/') {
    return ProgramCache(fs::path(shared) / "xpu-preflight");
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return ProgramCache(fs::path(home) / ".cache" / "xpu-preflight");
}

std::string ProgramCache::key(const DeviceInfo& device, std::string_view options, std::string_view source) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", device.platform, device.version, device.name, device.driver,
                     device.extensions, options, source);
}

fs::path ProgramCache::file_of(std::string_view key) const {
  return directory_ / fmt::format("{:016x}{}", checksum(key), kExtension);
}

std::optional<std::string> ProgramCache::find(std::string_view key) const {
  if (!is_on() || !is_private(directory_) || !is_private(file_of(key))) return std::nullopt;
  auto text = read_text(file_of(key).string());
  if (!text) return std::nullopt;
  // The header says how long the binary is and what it adds up to: it must be the one of what follows it.
  const std::size_t at = text->find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::string binary = text->substr(at + key.size());
  if (text->substr(0, at + key.size()) != header_of(key, binary)) return std::nullopt;
  return binary;
}

void ProgramCache::store(std::string_view key, std::string_view binary) const {
  if (!is_on() || binary.empty()) return;
  std::error_code status;
  // A directory that we make is the user's alone; one that is there stays as it is, and is used when nobody else can
  // write to it.
  if (fs::create_directories(directory_, status)) fs::permissions(directory_, fs::perms::owner_all, status);
  if (status || !is_private(directory_)) return;
  const fs::path target = file_of(key);
  const fs::path temporary = fmt::format("{}.{}", target.string(), getpid());
  bool written = false;
  {
    std::ofstream out(temporary, std::ios::binary);
    out << header_of(key, binary) << binary;
    out.close();
    written = static_cast<bool>(out);
  }
  if (written) fs::rename(temporary, target, status);
  if (!written || status) fs::remove(temporary, status);
  remove_oldest(directory_);
}

}  // namespace preflight::opencl
