// Whether a GGUF file holds every tensor that its architecture's class fills.
#pragma once

#include <string>
#include <vector>

#include "src/facts/gguf/gguf_file.h"

namespace preflight::facts {

struct LackingTensors {
  std::vector<std::string> names;
  std::size_t of = 0;  // that the class fills; 0: this build does not know which
};

// A head of its own is none of them: without one the table's is taken.
LackingTensors lacking_tensors(const GgufFile& file);

}  // namespace preflight::facts
