#include "src/read_text.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace preflight {

Result<std::string> read_text(const std::string& path, bool allow_stdin) {
  if (allow_stdin && path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return failure("a directory, not a file", path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return failure("cannot be read", path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace preflight
