// Any bytes as a file of recorded cases (`resolve --batch`, `check --batch`): each line an outcome or the file refused.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/whole_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using preflight::fuzz::scratch_directory;
  const std::string text(reinterpret_cast<const char*>(data), size);
  preflight::fuzz::write_scratch("cases", text);
  const std::string cases = scratch_directory() + "/cases";
  // Paths of a case are other people's files.
  if (text.find('/') != std::string::npos && text.find("//") != std::string::npos) return -1;
  if (size % 2 == 0) {
    preflight::fuzz::run_and_judge({"resolve", "--models", scratch_directory(), "--batch", cases});
  } else {
    preflight::fuzz::run_and_judge({"check", "--no-kernel", "--models", scratch_directory(), "--batch", cases});
  }
  return 0;
}
