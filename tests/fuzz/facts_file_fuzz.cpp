// What is known of another machine: any bytes as a facts file, and as what a tree of its files tells of its memory.
// Facts are within their bounds, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "preflight/release.h"
#include "src/facts/host_memory.h"
#include "src/intake/facts_file.h"
#include "tests/fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace preflight;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string& folder = fuzz::scratch_directory();
  fuzz::write_scratch("facts.json", text);
  const auto read = commands::read_facts(folder + "/facts.json");
  if (!read && read.error().text().empty()) __builtin_trap();
  if (read && (read->facts.device.count < 0 || read->facts.device.memory_mib < 0)) __builtin_trap();
  std::filesystem::create_directories(folder + "/tree/proc");
  fuzz::write_scratch("tree/proc/meminfo", text);
  for (const Release release : {v0_5(20), supported_releases().back()}) {
    if (facts::read_host_memory_mib(release, folder + "/tree") < 0) __builtin_trap();
  }
  return 0;
}
