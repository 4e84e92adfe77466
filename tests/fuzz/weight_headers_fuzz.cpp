// Headers of weight files: the first byte picks safetensors, the index of its shards, or GGUF. Sizes are told or a
// fault is, and nothing that a header claims is taken before it is there.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "src/facts/gguf/gguf_file.h"
#include "src/facts/weight_files.h"
#include "tests/fuzz/scratch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace facts = preflight::facts;
  if (size == 0) return -1;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string& folder = preflight::fuzz::scratch_directory();
  const char* names[] = {"model.safetensors", "model.safetensors.index.json", "model.gguf"};
  const std::size_t pick = data[0] % 3;
  preflight::fuzz::write_scratch(names[pick], bytes);
  if (pick == 2) {
    static_cast<void>(facts::read_gguf(folder + "/model.gguf", facts::GgufReaders::kBoth));
    static_cast<void>(facts::read_gguf(folder + "/model.gguf", facts::GgufReaders::kPackage));
  } else if (const auto files = facts::read_weight_files(folder)) {
    std::int64_t sum = 0;
    for (const facts::StoredTensor& tensor : files->tensors) {
      if (tensor.bytes < 0) __builtin_trap();
      sum += tensor.bytes;
    }
    if (files->faults.empty() && files->bytes != sum) __builtin_trap();
  }
  std::filesystem::remove(folder + "/" + names[pick]);
  return 0;
}
