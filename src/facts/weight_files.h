// The weight files of a checkpoint, from their headers alone: what is stored, and whether all of it is there.
//
// Sources: the safetensors format (8 bytes of header length, JSON, data); srt/model_loader/weight_utils.py (the index
// names the shards, else every *.safetensors counts). A shard that is missing or cut short ends a real launch minutes
// after its start. Tested by weight_files_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/facts/safetensors_header.h"

namespace preflight::facts {

struct WeightFiles {
  std::vector<StoredTensor> tensors;
  std::int64_t bytes = 0;
  std::size_t files = 0;
  std::string unstored;             // what the index names and no shard holds; "" = nothing
  std::vector<std::string> faults;  // one line each: what is missing, cut short or no safetensors file
  bool only_absent = false;         // the faults are files that are not there, and nothing else
  std::uint64_t id = 0;             // of what was read, no other reading's; 0: nothing was
};

// nullopt: the directory holds no safetensors.
std::optional<WeightFiles> read_weight_files(const std::string& directory);

// How many files the index of such a directory names; 0: it has no index either.
std::size_t files_named_by_index(const std::string& directory);

}  // namespace preflight::facts
