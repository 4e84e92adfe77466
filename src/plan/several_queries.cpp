// Names the decode steps that attend with several queries a request, for which there is no kernel here: the target's
// check of drafted tokens (speculative decoding) and the blocks of a diffusion model. SGLang runs both as an extension
// of the sequence, in place of the step with one query that the other planners take.
#include <string>

#include <fmt/format.h>

#include "src/plan/planners.h"

namespace preflight::plan {

void plan_several_queries(const PlanContext& context, Plan& plan) {
  const Launch& launch = context.view.launch();
  if (const std::string algorithm = context.view.algorithm(); !algorithm.empty()) {
    const Value& drafted = launch[Field::speculative_num_draft_tokens];
    plan.skipped.push_back(
        {"speculative verification",
         fmt::format("{} lets the model check {} of each request in one step; no kernel here takes several queries a "
                     "request. What ran is the step with one query{}",
                     algorithm,
                     drafted.is_int() ? fmt::format("{} drafted tokens", drafted.as_int()) : "the drafted tokens",
                     algorithm == "NGRAM" ? "" : "; the draft model's own attention did not run either")});
  }
  if (const Value& algorithm = launch[Field::dllm_algorithm]; algorithm.is_string()) {
    plan.skipped.push_back(
        {"diffusion decoding", fmt::format("{} decodes a block of tokens of each request in one step; no kernel here "
                                           "takes several queries a request",
                                           algorithm.as_string())});
  }
}

}  // namespace preflight::plan
