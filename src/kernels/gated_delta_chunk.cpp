// Launches ocl_kernels/gated_delta_chunk.cl: norms, intra-chunk system, states, outputs.
#include <algorithm>

#include <fmt/format.h>

#include "src/kernels/gated_delta.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/launchers.h"
#include "src/kernels/storage.h"
#include "src/sample/samples.h"

namespace preflight::gated_delta_chunk {
namespace {

std::string why_not(const KernelCase& c) {
  if (c.delta_chunk % 4 != 0 || c.delta_chunk > 64) {
    return fmt::format("chunks of {} tokens are not multiples of 4 up to 64", c.delta_chunk);
  }
  return delta::why_not(c);
}

std::string build_options(const KernelCase& c, const DeviceInfo& device) {
  return fmt::format("{} -DBT={}", delta::build_options(c, device), c.delta_chunk);
}

// Inverse norms of queries and keys.
std::int64_t workspace_bytes(const KernelCase& c) {
  return 2 * sample::delta_tokens(c) * c.num_q_heads * size_of(DType::kF32);
}

void launch(KernelRun& run, const SampleBatch& batch) {
  const KernelCase& c = batch.kernel_case;
  const delta::Tiles tiles = delta::choose_tiles(c, run.device());
  const std::int64_t tokens = sample::delta_tokens(c);
  const std::int64_t chunks = sample::delta_chunks(c);
  const std::int64_t heads = c.value_heads();
  const auto count = static_cast<std::int32_t>(tokens);
  if (tokens == 0) return;
  opencl::KernelObject norms = run.kernel("delta_norms");
  norms.args(run.buffer("q"), run.buffer("k"), run.workspace(), count);
  run.run(norms, {2 * tokens * c.num_q_heads, 1, 1}, {1, 1, 1});
  opencl::KernelObject intra = run.kernel("delta_intra");
  intra.args(run.buffer("k"), run.buffer("v"), run.buffer("g"), run.buffer("beta"), run.workspace(),
             run.buffer("cu_seqlens"), run.buffer("chunk_request"), run.buffer("chunk_start"), run.buffer("gate_sums"),
             run.buffer("a_inverse"), run.buffer("w"), run.buffer("u"), count);
  run.run(intra, {tiles.lanes, chunks, heads}, {tiles.lanes, 1, 1});
  opencl::KernelObject states = run.kernel("delta_state");
  states.args(run.buffer("k"), run.workspace(), run.buffer("gate_sums"), run.buffer("w"), run.buffer("u"),
              run.buffer("cu_seqlens"), run.buffer("chunk_offsets"), run.buffer("state_indices"), run.buffer("state"),
              run.buffer("h"), run.buffer("v_new"), count);
  const auto requests = static_cast<std::int64_t>(c.query_lens.size());
  run.run(states, {tiles.lanes * (c.value_dim() / tiles.rows), heads, requests}, {tiles.lanes, 1, 1});
  opencl::KernelObject output = run.kernel("delta_output");
  output.args(run.buffer("q"), run.buffer("k"), run.workspace(), run.buffer("gate_sums"), run.buffer("h"),
              run.buffer("v_new"), run.buffer("chunk_of"), run.buffer("chunk_start"), run.buffer("o"), count,
              static_cast<float>(delta::scale(c)));
  run.run(output, {tiles.lanes, tokens, heads}, {tiles.lanes, 1, 1});
}

Tolerance tolerance(const KernelCase& c, std::string_view output) {
  const std::int64_t steps = delta::remembered_steps(c);
  if (output == "o") return delta_tolerance(c.dtype, steps);
  if (output == "state") return delta_tolerance(DType::kF32, steps);
  return delta_part_tolerance(steps);
}

Work work(const KernelCase& c) { return delta::work(c); }

}  // namespace

const Kernel kKernel{
    .name = "gated_delta_chunk",
    .source = "gated_delta_chunk.cl",
    .why_not = why_not,
    .sample = sample::gated_delta_chunk,
    .sample_size = sample::gated_delta_chunk_size,
    .workspace_bytes = workspace_bytes,
    .build_options = build_options,
    .launch = launch,
    .reference = reference::gated_delta_chunk,
    .tolerance = tolerance,
    .work = work,
    .cases = "gated_delta_chunk.txt",
};

}  // namespace preflight::gated_delta_chunk
