// Where the ranks of a launch stand: how many run on one machine, and the GPU that each of them is given.
//
// A node starts whole pipeline stages, or an even part of one stage; data-parallel replicas stand one after the other.
// Source: DataParallelController and Engine._launch_scheduler_processes() (0.5.11 to 0.5.23). Tested by
// tests/launch_view_test.cpp, the examples of PL001, and tests/doctor_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "src/launch/launch_view.h"

namespace preflight {

struct NodeRanks {
  std::int64_t tp = 1, pp = 1;  // of the launch
  std::int64_t nodes = 1;       // --nnodes
  std::int64_t replicas = 1;    // that share nothing
  std::int64_t base = 0;        // --base-gpu-id
  std::int64_t step = 1;        // --gpu-id-step

  [[nodiscard]] std::int64_t stages() const;           // pipeline stages here, of each replica
  [[nodiscard]] std::int64_t nodes_per_stage() const;  // that share one stage
  [[nodiscard]] std::int64_t width() const;            // tensor ranks here, of each stage
  [[nodiscard]] std::int64_t of_replica() const;       // ranks here, of each replica: those that exchange handles
  [[nodiscard]] std::int64_t count() const;            // ranks here
  [[nodiscard]] std::int64_t gpu(std::int64_t replica, std::int64_t stage, std::int64_t rank) const;
  [[nodiscard]] std::int64_t highest_gpu() const;
  // GPUs of the first replica's ranks, in their order, as far as they are below `devices`.
  [[nodiscard]] std::vector<std::int64_t> gpus(std::int64_t devices) const;
};

// Of a launch that was resolved; sizes are those that SGLang runs with.
NodeRanks node_ranks(const LaunchView& view);
// Of any launch: where one is refused, as far as it was resolved or its options say.
NodeRanks told_ranks(const Launch& launch);

}  // namespace preflight
