// The planners: one per family of kernels. Each adds the kernels its family runs for this launch, or skips with a
// reason. derive_plan() calls them in order; a new kernel is a new planner in the list of plan.cpp.
#pragma once

#include "preflight/plan.h"
#include "src/plan/decode_shape.h"

namespace preflight::plan {

struct PlanContext {
  const LaunchView& view;
  const ModelFacts& model;
  const DecodeShape& shape;
};

using Planner = void (*)(const PlanContext&, Plan&);

void plan_mla_decode(const PlanContext& context, Plan& plan);
void plan_paged_decode(const PlanContext& context, Plan& plan);
void plan_local_attention(const PlanContext& context, Plan& plan);
void plan_gated_delta(const PlanContext& context, Plan& plan);
void plan_mrope(const PlanContext& context, Plan& plan);
void plan_merge(const PlanContext& context, Plan& plan);
void plan_indices(const PlanContext& context, Plan& plan);
void plan_several_queries(const PlanContext& context, Plan& plan);

// One paged case of the launch's full-attention layers.
KernelCase paged_case(const PlanContext& context);

// Sequence lengths around the edges of a page: one token, one short of a page, a page, one over, and two pages with
// some.
std::vector<std::int64_t> edge_seqlens(std::int64_t page_size);

// The case in each input regime a decode kernel must survive; `splits` are tried beside the launch's own.
std::vector<KernelCase> regime_cases(const KernelCase& base, std::int64_t other_splits);

}  // namespace preflight::plan
