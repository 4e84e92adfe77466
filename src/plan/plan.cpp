// derive_plan: shape, sizes, then each planner in turn. Tested by tests/plan_test.cpp.
#include "preflight/plan.h"

#include <algorithm>

#include "preflight/sizing.h"
#include "src/launch/workspace.h"
#include "src/plan/decode_shape.h"
#include "src/plan/planners.h"

namespace preflight {
namespace {

PlanSizes derive_sizes(const LaunchView& view, const plan::DecodeShape& shape) {
  const ModelFacts& model = view.model();
  PlanSizes sizes;
  sizes.batch = shape.batch;
  sizes.attention_tp = shape.attention_tp;
  sizes.num_q_heads = shape.num_q_heads;
  sizes.num_kv_heads = model.is_mla() ? 1 : shape.num_kv_heads;
  sizes.page_size = shape.page_size;
  sizes.max_seqlen = model.context_len;
  sizes.page_table_columns = sizing::page_table_columns(model.context_len, shape.page_size);
  sizes.padded_columns = sizes.page_table_columns;
  sizes.kv_bytes_per_token = plan::token_bytes_of_layer(view, shape);
  if (!model.is_mla()) return sizes;
  sizes.padded_columns = sizing::mla_padded_columns(sizes.page_table_columns, shape.page_size);
  if (const auto workspace = mla_workspace(view, shape.batch)) {
    sizes.batch = workspace->requests;
    sizes.workspace_bytes = workspace->bytes;
    sizes.kv_splits = workspace->kv_splits;
  }
  return sizes;
}

}  // namespace

std::vector<KernelCase> Plan::served_cases() const {
  std::vector<KernelCase> cases = all_cases();
  for (KernelCase& c : cases) {
    if (c.kernel == "paged_decode" || c.kernel == "mla_decode" || c.kernel == "local_decode") {
      std::ranges::replace(c.cache_seqlens, std::int64_t{0}, std::int64_t{1});
      if (decode_backend == "triton" && c.window > 0) --c.window;  // update_sliding_window_buffer counts the last
    }
    c.empty_zeros = c.kernel == "merge_state";
  }
  return cases;
}

std::vector<KernelCase> Plan::all_cases() const {
  std::vector<KernelCase> cases;
  for (const PlannedKernel& kernel : kernels) cases.insert(cases.end(), kernel.cases.begin(), kernel.cases.end());
  return cases;
}

Plan derive_plan(const Launch& launch) {
  Plan plan;
  const LaunchView view(launch);
  const plan::DecodeShape shape = plan::read_shape(view);
  plan.decode_backend = shape.decode_backend;
  plan.prefill_backend = shape.prefill_backend;
  if (!shape.why_unknown.empty()) {
    plan.skipped.push_back({"decode", shape.why_unknown});
    return plan;
  }
  plan.sizes = derive_sizes(view, shape);
  const plan::PlanContext context{view, *launch.model, shape};
  for (const auto planner : plan::kPlanners) planner(context, plan);
  return plan;
}

}  // namespace preflight
