// The header of one safetensors file: its tensors, and everything the safetensors library refuses in it.
//
// The library reads the whole header before the first tensor and refuses what is not exactly laid out: a dtype it does
// not know, a shape that does not fill its bytes, tensors that overlap or leave a gap. Tested by weight_files_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace preflight::facts {

struct StoredTensor {
  std::string name;
  std::string dtype;  // "BF16", "F8_E4M3", "I32", …
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // in the order of the header
  std::uint64_t data_bytes = 0;       // what has to follow the header, to the byte
};

// The error is the end of a sentence that begins with the file's name.
tl::expected<SafetensorsHeader, std::string> read_safetensors_header(std::string_view text);

}  // namespace preflight::facts
