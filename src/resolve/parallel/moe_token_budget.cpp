// Whether the all-to-all buffers hold the largest forward pass; runs when draft token counts are final. Upstream:
// arg_groups/moe_hook.py and mega_moe_hook.py; up to 0.5.18 ServerArgs._validate_cutedsl_a2a_token_budget.
// Tested by tests/resolve_parallel_test.cpp.
#include <algorithm>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/resolve/parallel/moe.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/speculative/speculative.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

// Tokens of the largest decode or verification graph on one attention-DP rank; 0 without a decode graph.
std::int64_t decode_graph_tokens(Resolution& r) {
  if (r.is(Field::disaggregation_mode, "prefill") || r.none(Field::cuda_graph_config) ||
      graph_backend_is(r, kDecode, "disabled")) {
    return 0;
  }
  const Value max_bs = graph_setting(r, kDecode, "max_bs");
  std::int64_t requests = max_bs.is_none() ? 0 : max_bs.as_int();
  if (!r.none(Field::max_running_requests)) {
    const std::int64_t per_rank =
        operators::floor_div(r, "_decode_graph_dispatch_tokens_per_rank", r.integer(Field::max_running_requests),
                             r.integer(Field::attn_dp_size));
    requests = std::min(requests, std::max<std::int64_t>(1, per_rank));
  }
  const Value drafted = r.on(Field::speculative_algorithm) ? max_speculative_num_draft_tokens(r) : Value();
  return integer::bounded_times(requests, drafted.truthy() ? drafted.as_int() : 1);
}

void validate_flashinfer(Resolution& r) {
  constexpr const char* kFunction = "validate_flashinfer_a2a_token_budget";
  const bool prefills = !r.is(Field::disaggregation_mode, "decode");
  if (prefills && r.integer(Field::chunked_prefill_size) <= 0) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "--moe-a2a-backend flashinfer needs a positive --chunked-prefill-size");
  }
  const std::int64_t prefill = max_prefill_buffer_tokens(r);
  std::int64_t required = decode_graph_tokens(r);
  if (prefills) {
    required = std::max(required, prefill);
    const Value max_bs = graph_setting(r, kPrefill, "max_bs");
    const bool graph = !r.none(Field::cuda_graph_config) && !graph_backend_is(r, kPrefill, "disabled");
    if (graph && !max_bs.is_none()) required = std::max(required, max_bs.as_int());
  }
  const std::int64_t capacity =
      r.env_int("SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK", std::max<std::int64_t>(prefill, 4096));
  if (required > capacity) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "the largest forward pass is above SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK");
  }
}

// CuteDSL experts behind FlashInfer's all-to-all, up to 0.5.21.
void validate_cutedsl(Resolution& r) {
  if (!r.is(Field::moe_a2a_backend, "flashinfer") || !r.is(Field::moe_runner_backend, "flashinfer_cutedsl") ||
      r.integer(Field::max_prefill_tokens) <= 0 || r.is(Field::disaggregation_mode, "decode")) {
    return;
  }
  const auto or_zero = [&](Field f) { return r.none(f) ? 0 : r.integer(f); };
  const bool by_config = r.since(v0_5(14));
  const auto setting = [&](std::string_view phase, std::string_view key) {
    const Value& v = graph_setting(r, phase, key);
    return v.is_none() ? 0 : v.as_int();
  };
  std::int64_t required = r.integer(Field::max_prefill_tokens);
  if (by_config) {
    if (graph_backend_is(r, kPrefill, "tc_piecewise")) required = std::max(required, setting(kPrefill, "max_bs"));
  } else if (!r.on(Field::disable_piecewise_cuda_graph)) {
    required = std::max(required, or_zero(Field::piecewise_cuda_graph_max_tokens));
  }
  const bool drafts = r.on(Field::speculative_algorithm) && r.on(Field::speculative_num_draft_tokens);
  const std::int64_t per_request = drafts ? r.integer(Field::speculative_num_draft_tokens) : 1;
  required =
      std::max(required, (by_config ? setting(kDecode, "max_bs") : or_zero(Field::cuda_graph_max_bs)) * per_request);
  std::int64_t per_rank = r.env_int("SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 1024);
  if (per_rank == 0 && r.since(v0_5(17))) per_rank = 1024;  // "or 1024"
  if (per_rank * r.integer(Field::ep_size) < required) {
    r.refuse(RF::kOther, "ValueError", "validate_cutedsl_a2a_token_budget",
             "the largest forward pass is above SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK times --ep-size");
  }
}

}  // namespace

void validate_flashinfer_a2a_token_budget(Resolution& r) {
  if (r.before(v0_5(22))) {
    validate_cutedsl(r);
  } else if (r.is(Field::moe_a2a_backend, "flashinfer")) {
    validate_flashinfer(r);
  }
}

// MegaMoE is refused on XPU long before (handle_mega_moe).
void validate_mega_moe_token_budget_for_model(Resolution& /*r*/) {}

void validate_deepep_v2(Resolution& r) {
  Value draft = r[Field::speculative_moe_a2a_backend];
  if (draft.is_none() && r.on(Field::speculative_algorithm) &&
      ascii_upper(r.text(Field::speculative_algorithm)) != "NGRAM") {
    draft = r[Field::moe_a2a_backend];
  }
  if (is_text(draft, "deepep_v2")) {
    r.refuse(RF::kOther, "ValueError", "validate_deepep_v2_speculative_draft",
             "a draft model does not run with deepep_v2");
  }
  if (!r.is(Field::moe_a2a_backend, "deepep_v2")) return;
  constexpr const char* kFunction = "validate_deepep_v2_dispatch_token_budget";
  const std::int64_t capacity = r.env_int("SGLANG_DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 128);
  if (!r.is(Field::disaggregation_mode, "decode")) {
    std::int64_t ceiling = max_prefill_buffer_tokens(r);
    if (ceiling == 0 && !r.none(Field::max_prefill_tokens)) ceiling = r.integer(Field::max_prefill_tokens);
    const std::int64_t ranks =
        r.before(v0_5(22)) ? 1
                           : std::max<std::int64_t>(1, operators::floor_div(r, kFunction, r.integer(Field::tp_size),
                                                                            r.integer(Field::attn_dp_size)));
    if (-operators::floor_div(r, kFunction, -ceiling, ranks) > capacity) {
      r.refuse(RF::kOther, "ValueError", kFunction,
               "a prefill chunk is above SGLANG_DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK per rank");
    }
  }
  if (decode_graph_tokens(r) > capacity) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "the decode graph is above SGLANG_DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK per rank");
  }
}

}  // namespace preflight::resolve
