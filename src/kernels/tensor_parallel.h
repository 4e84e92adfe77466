// Tensor parallelism of attention and of linear layers: a rank's share of a sample batch, and the gathered output of
// all ranks.
//
// As SGLang shards it: query heads in equal blocks; KV heads in equal blocks, or, with fewer KV heads than ranks, every
// head replicated on tp / kv_heads neighbouring ranks; MLA's latent cache is whole on every rank. Of the gated delta
// rule the key heads and the value heads in equal blocks, with the gates and the state of each value head; none is
// replicated. Tables, lengths and slots are everybody's. Tested by tests/kernels/tensor_parallel_test.cpp.
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
// Puts a rank's outputs and the pools it updated where they belong in those of the whole batch; `gathered` is made by
// the first call.
void gather(const SampleBatch& whole, std::int64_t rank, const std::vector<Tensor>& part, std::vector<Tensor>& gathered,
            int defect = 0);

}  // namespace preflight::tensor_parallel
