// Oclgrind as the only device: what it says of each access, and the lines it is given. An instruction costs it a
// microsecond, so shapes are small; they have partly filled tiles, pages and splits, and empty requests. The tests of
// simulator_test.cpp run them on the sound kernels, the gate of tests/mutants on those with a mistake.
#pragma once

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "preflight/kernel_run.h"

namespace preflight {

// Where the simulator writes, "" where it is not the device.
inline std::string simulator_log() {
  const char* path = std::getenv("OCLGRIND_LOG");
  const auto devices = list_devices();
  const bool simulated = devices && !devices->empty() && devices->front().platform == "Oclgrind";
  return path != nullptr && simulated ? path : "";
}

// Of the last case: the log is begun anew by every context.
inline std::string simulator_said() {
  std::ifstream log(simulator_log());
  return {std::istreambuf_iterator<char>(log), {}};
}

// Each entry is of one kernel, which stands first.
inline constexpr std::array<std::string_view, 10> kSimulated{
    "mla_decode --heads {3|5} --latent 32 --rope 16 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,50\n"
    "mla_decode --dtype {fp16|fp32} --heads 2 --latent 32 --rope 16 --page 16 --cache-seqlens 33,1\n"
    "mla_decode --dtype fp32 --heads 9 --latent 256 --rope 32 --page 16 --cache-seqlens 17",
    "paged_decode --heads {6|14} --kv-heads 2 --head-dim 32 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,70\n"
    "paged_decode --heads 2 --kv-heads 2 --head-dim 48 --v-head-dim 32 --page 1 --window 9 --sinks "
    "--cache-seqlens 17,5\n"
    "paged_decode --heads 4 --kv-heads 1 --head-dim 32 --page 16 --softcap 2 --kv-dtype {fp8_e4m3|fp8_e5m2} "
    "--k-scale 0.5 --cache-seqlens 33,1\n"
    "paged_decode --dtype {fp16|fp32} --heads 2 --head-dim 32 --page 16 --cache-seqlens 33,1",
    "local_decode --heads 4 --kv-heads 2 --head-dim 32 --page 16 --chunk 32 --kv-splits 2 "
    "--cache-seqlens 33,20,0,64",
    "merge_state --dtype {bf16|fp16|fp32} --tokens 5 --heads 3 --head-dim 72",
    "gated_delta_step --heads 2 --v-heads 4 --head-dim 20 --v-head-dim 24 --l2norm --query-lens 3,1 --padded 1",
    "causal_conv1d --heads 2 --v-heads 4 --head-dim 20 --v-head-dim 24 --zero-state --query-lens 5,2,1 --padded 1",
    "gated_delta_chunk --heads 1 --v-heads 2 --head-dim 20 --v-head-dim 24 --chunk-size {8|64} --l2norm "
    "--query-lens 17,1",
    "mrope --tokens 5 --heads 3 --kv-heads 1 --head-dim 48 --rotary 32 --sections 6,5,5 {|--interleaved}",
    "page_table --page 16 --cache-seqlens 17,1,40",
    "kv_indices --page 16 --cache-seqlens 17,1,0,40"};

// In the forms of matrix engines: dims of one sub-group and of several, rows of one and of several.
inline constexpr std::array<std::string_view, 3> kSimulatedTiles{
    "mla_decode --heads 3 --latent 32 --rope 16 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,50\n"
    "mla_decode --dtype fp16 --heads 20 --latent 64 --rope 64 --page 16 --cache-seqlens 33,1",
    "paged_decode --heads 6 --kv-heads 2 --head-dim 32 --page 16 --kv-splits {1|3} --cache-seqlens 17,0,40\n"
    "paged_decode --heads 2 --kv-heads 2 --head-dim 48 --v-head-dim 32 --page 1 --window 9 --sinks "
    "--cache-seqlens 17,5\n"
    "paged_decode --dtype fp16 --heads 20 --head-dim 16 --page 16 --softcap 2 --cache-seqlens 33,1",
    "local_decode --heads 4 --kv-heads 2 --head-dim 32 --page 16 --chunk 32 --kv-splits 2 "
    "--cache-seqlens 33,20,0,64"};

}  // namespace preflight
