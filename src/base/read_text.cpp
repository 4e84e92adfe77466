#include "src/base/read_text.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "src/base/limits.h"

namespace preflight {

Result<std::string> read_whole(std::istream& in, const std::string& name) {
  std::string text;
  std::array<char, 1U << 12U> block{};
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > limits::kTextBytes)
      return failure(fmt::format("longer than {} MiB", limits::kTextBytes >> 20U), name);
  }
  if (in.bad()) return failure("cannot be read", name);
  return text;
}

Result<std::string> read_text(const std::string& path, bool allow_stdin) {
  if (allow_stdin && path == "-") return read_whole(std::cin, "standard input");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return failure("a directory, not a file", path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure("cannot be read", path);
  return read_whole(in, path);
}

}  // namespace preflight
