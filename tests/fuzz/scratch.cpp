#include "tests/fuzz/scratch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace preflight::fuzz {

const std::string& scratch_directory() {
  // Its destructor removes the folder: a function registered with atexit would find the name destroyed.
  struct Scratch {
    std::string path;
    Scratch() : path(std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") {
      path += "/preflight-fuzz-XXXXXX";
      if (mkdtemp(path.data()) == nullptr) std::abort();
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Scratch scratch;
  return scratch.path;
}

void write_scratch(const std::string& name, const std::string& text) {
  std::ofstream(scratch_directory() + "/" + name, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace preflight::fuzz
