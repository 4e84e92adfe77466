// See ranks.h. Products are bounded: SGLang takes any integer for these options.
#include "src/launch/ranks.h"

#include <algorithm>

#include "src/python/integer.h"

namespace preflight {

using integer::bounded_plus;
using integer::bounded_times;

std::int64_t NodeRanks::stages() const { return std::max<std::int64_t>(1, pp / nodes); }

std::int64_t NodeRanks::nodes_per_stage() const { return std::max<std::int64_t>(1, nodes / pp); }

std::int64_t NodeRanks::width() const { return std::max<std::int64_t>(1, tp / nodes_per_stage()); }

std::int64_t NodeRanks::of_replica() const { return bounded_times(stages(), width()); }

std::int64_t NodeRanks::count() const { return bounded_times(replicas, of_replica()); }

std::int64_t NodeRanks::gpu(std::int64_t replica, std::int64_t stage, std::int64_t rank) const {
  const std::int64_t replicas_before = bounded_times(bounded_times(bounded_times(replica, tp), pp), step);
  // A stage begins where the one before has as many ranks, whatever the step.
  const std::int64_t in_replica = bounded_plus(bounded_times(stage, width()), bounded_times(rank, step));
  return bounded_plus(bounded_plus(base, replicas_before), in_replica);
}

std::int64_t NodeRanks::highest_gpu() const { return gpu(replicas - 1, stages() - 1, width() - 1); }

std::vector<std::int64_t> NodeRanks::gpus(std::int64_t devices) const {
  std::vector<std::int64_t> out;
  for (std::int64_t stage = 0; stage < stages() && gpu(0, stage, 0) < devices; ++stage) {
    for (std::int64_t rank = 0; rank < width() && gpu(0, stage, rank) < devices; ++rank) {
      out.push_back(gpu(0, stage, rank));
    }
  }
  return out;
}

NodeRanks node_ranks(const LaunchView& view) {
  return {.tp = view.tp(),
          .pp = view.pp(),
          .nodes = std::max<std::int64_t>(1, view.integer(Field::nnodes, 1)),
          .replicas = view.ordinary_dp(),
          .base = std::max<std::int64_t>(0, view.integer(Field::base_gpu_id, 0)),
          .step = std::max<std::int64_t>(1, view.integer(Field::gpu_id_step, 1))};
}

NodeRanks told_ranks(const Launch& launch) {
  if (!launch.resolved.empty()) return node_ranks(LaunchView(launch));
  const auto given = [&](Field field, std::int64_t least) {
    const Value value = launch.args.raw.empty() ? Value() : launch.args[field];  // the parser's own refusal: none
    return std::max(least, value.is_int() ? value.as_int() : least);
  };
  return {.tp = given(Field::tp_size, 1),
          .pp = given(Field::pp_size, 1),
          .nodes = given(Field::nnodes, 1),
          .base = given(Field::base_gpu_id, 0),
          .step = given(Field::gpu_id_step, 1)};
}

}  // namespace preflight
