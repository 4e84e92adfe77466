// Tensor parallelism of decode attention: a rank's share of a sample batch, and the gathered output of all ranks.
//
// As SGLang shards it: query heads in equal blocks; KV heads in equal blocks, or, with fewer KV heads than ranks, every
// head replicated on tp / kv_heads neighbouring ranks; MLA's latent cache is whole on every rank. Tables and lengths
// are everybody's. Tested by tests/kernels/tensor_parallel_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "preflight/batch.h"

namespace preflight::tensor_parallel {

// "" when the heads divide, else why not, as a clause.
std::string why_not(const KernelCase& whole);
// The case that one rank runs; the whole one when tp is 1.
KernelCase rank_case(const KernelCase& whole);
SampleBatch shard(const SampleBatch& whole, std::int64_t rank, int defect = 0);
// Puts a rank's outputs where they belong in those of the whole batch; `gathered` is made by the first call.
void gather(const SampleBatch& whole, std::int64_t rank, const std::vector<Tensor>& part,
            std::vector<Tensor>& gathered);

}  // namespace preflight::tensor_parallel
