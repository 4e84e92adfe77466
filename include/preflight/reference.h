// Stage 6: the host references: the kernels' meaning, in double, as plain loops.
//
// A reference reads the sample batch (already rounded inputs) and returns the exact result of every output, unrounded.
// It shares nothing with the kernel but batch.h. Each is checked against a second formulation in tests/kernels.
#pragma once

#include <string>
#include <vector>

#include "preflight/batch.h"

namespace preflight {

struct Expected {
  std::string name;            // an output of the batch
  std::vector<double> values;  // same count and order
};

namespace reference {

// out [B, H, latent], lse [B, H] (natural log; -inf for an empty request, whose output is 0).
std::vector<Expected> mla_decode(const SampleBatch& batch);
// out [B, Hq, Dv], lse [B, Hq]. A sink counts in the denominator of out, and so in lse.
std::vector<Expected> paged_decode(const SampleBatch& batch);
// As paged_decode within the current chunk; then local_page_table [B, chunk / page_size] and local_seqlens [B].
std::vector<Expected> local_decode(const SampleBatch& batch);
// out [T, H, D], lse [T, H].
std::vector<Expected> merge_state(const SampleBatch& batch);
// o [N, HV, V] and the state pool after the last token.
std::vector<Expected> gated_delta_step(const SampleBatch& batch);
// The same, and the chunks' parts: gate_sums, a_inverse, w, u, h, v_new (ocl_kernels/gated_delta_chunk.cl).
std::vector<Expected> gated_delta_chunk(const SampleBatch& batch);
// query and key after the rotation.
std::vector<Expected> mrope(const SampleBatch& batch);
// y [N, channels], NaN (unwritten) in rows of padded requests, and the state pool.
std::vector<Expected> causal_conv1d(const SampleBatch& batch);
// page_table [B, columns], entries past a request's pages included.
std::vector<Expected> page_table(const SampleBatch& batch);
// kv_indptr [B + 1], kv_indices [capacity], kv_last_page_len [B], tiles [B, n, 2], covered [B].
std::vector<Expected> kv_indices(const SampleBatch& batch);

}  // namespace reference
}  // namespace preflight
