// The planners: one per family of kernels. Each adds the kernels its family runs for this launch, or skips with a
// reason. derive_plan() calls them in the order of the list below.
#pragma once

#include <array>
#include <string_view>

#include "preflight/plan.h"
#include "src/plan/decode_shape.h"

namespace preflight::plan {

struct PlanContext {
  const LaunchView& view;
  const ModelFacts& model;
  const DecodeShape& shape;
};

// Why an embedding model or a classifier has no decode kernels.
inline constexpr std::string_view kNoDecodeStep = "the model generates nothing: its requests end with their prefill";

void plan_mla_decode(const PlanContext& context, Plan& plan);
void plan_paged_decode(const PlanContext& context, Plan& plan);
void plan_local_attention(const PlanContext& context, Plan& plan);
void plan_gated_delta(const PlanContext& context, Plan& plan);
void plan_mrope(const PlanContext& context, Plan& plan);
void plan_merge(const PlanContext& context, Plan& plan);
void plan_indices(const PlanContext& context, Plan& plan);
void plan_several_queries(const PlanContext& context, Plan& plan);

// In the order of a plan's kernels.
inline constexpr std::array kPlanners{plan_mla_decode, plan_paged_decode, plan_local_attention, plan_gated_delta,
                                      plan_mrope,      plan_merge,        plan_indices,         plan_several_queries};

// One paged case of the launch's full-attention layers.
KernelCase paged_case(const PlanContext& context);

// Sequence lengths around the edges of a page: one token, one short of a page, a page, one over, two pages with some;
// and, where pages are small, one that takes three steps through the cache.
std::vector<std::int64_t> edge_seqlens(std::int64_t page_size);

// Lengths that give a split several pages, or one, or none: nothing, a token, four pages and nine (five where they are
// large). Over three splits nine pages are 3, 3, 3 and four are 2, 2, 0; over eight they are 2, 2, 2, 2, 1, 0, 0, 0.
std::vector<std::int64_t> split_seqlens(std::int64_t page_size);

// The case in each input regime a decode kernel must survive, unsplit as SGLang runs it and in 2, 3, 4 and 8 splits.
std::vector<KernelCase> regime_cases(const KernelCase& base);

// What a launch runs of a kernel: of the shape's own lengths decode attention keeps those it has, all others get theirs
// here. No case of a kernel that is not known.
std::vector<KernelCase> planned_cases(const KernelCase& shape);

}  // namespace preflight::plan
