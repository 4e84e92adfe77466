// The header of a GGUF file: its metadata, and what its tensors are called and stored in. No weights are read.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "preflight/value.h"

namespace preflight::facts {

struct GgufFile {
  Value metadata;  // key -> value, in the file's order; arrays of texts are in `texts` alone
  std::map<std::string, std::uint64_t> texts;  // array of texts -> its length
  std::vector<std::string> tensors;            // by name
  std::set<std::string> quantised;             // the types of tensors that are no plain numbers: "Q4_K"
  std::string repeated;                        // a key that stands there twice, which only the package minds
  std::string damage;                          // so is data that the tensors tell of and the file does not hold
};

// What Python raises over an unusable file.
struct GgufFault {
  std::string exception;
  std::string message;
};

// Two readers: the gguf package's, which transformers uses, and from 5.19 on one of transformers' own in front of it.
enum class GgufReaders { kPackage, kBoth };

// A regular file whose name ends in .gguf or that begins with the letters GGUF. A slash at the end counts for nothing.
bool is_gguf_file(const std::string& path);
std::string without_end_slashes(std::string path);
// A header is read once for all who ask for it: a search resolves a launch many times.
using ReadGguf = tl::expected<std::shared_ptr<const GgufFile>, GgufFault>;
ReadGguf read_gguf(const std::string& path, GgufReaders readers);

}  // namespace preflight::facts
