// Data, expert and pipeline parallelism, decode context parallelism. Upstream: arg_groups/parallel_hook.py; releases
// that assign: the ServerArgs methods of the same names. Tested by tests/resolve_parallel_test.cpp.
#include "src/resolve/parallel/parallel.h"

#include <algorithm>
#include <vector>

#include "src/python/integer.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

// The token counts a prefill graph is captured for, up to max_bs.
std::vector<Value> prefill_graph_sizes(std::int64_t max_bs) {
  struct Range {
    std::int64_t first, last, step;
  };
  std::vector<Value> sizes;
  for (const auto& [first, last, step] : {Range{4, 32, 4}, Range{48, 256, 16}, Range{288, 512, 32},
                                          Range{576, 1024, 64}, Range{1280, 4096, 256}, Range{4608, max_bs, 512}}) {
    for (std::int64_t size = first; size <= std::min(last, max_bs); size += step) sizes.emplace_back(size);
  }
  return sizes;
}

// The prefill graph was sized before the chunk was divided among the attention-DP groups.
void fit_prefill_graph(Resolution& r) {
  const Value max_bs = graph_setting(r, kPrefill, "max_bs");
  const Value& chunk = r[Field::chunked_prefill_size];
  if (graph_backend_is(r, kPrefill, "disabled") || max_bs.is_none() || max_bs.as_int() <= chunk.as_int() ||
      graph_locked(r, kPrefill, "max_bs")) {
    return;
  }
  Value config = graph_with(r, kPrefill, {{"max_bs", chunk}});
  if (!graph_locked(r, kPrefill, "bs")) {
    config = graph_with(r, kPrefill, {{"max_bs", chunk}, {"bs", Value::list(prefill_graph_sizes(chunk.as_int()))}});
  }
  r.declare("_handle_data_parallelism", {{Field::cuda_graph_config, config}});
}

void split_among_attention_groups(Resolution& r, std::string_view function, Field group_count) {
  constexpr std::string_view kSource = "_handle_data_parallelism";
  r.change(kSource, Field::schedule_conservativeness, r.number(Field::schedule_conservativeness) * 0.3);
  if (r.since(v0_5(23)) && r.env_bool("SGLANG_RUST_SERVER", false)) {
    r.declare(kSource, {{Field::enable_dp_attention_local_control_broadcast, true}});
  }
  const Value groups = r[group_count];
  r.require(RF::kOther, operators::divides(r, function, groups, r[Field::tp_size]), function,
            "the attention data-parallel groups do not divide --tp-size");
  const Value chunk = operators::floor_div(r, function, r[Field::chunked_prefill_size], groups);
  r.change(kSource, Field::chunked_prefill_size, chunk);
  r.warn(function, "attention data parallelism divides the prefill chunk: it becomes " + chunk.repr());
  if (r.since(v0_5(16))) fit_prefill_graph(r);
}

void default_tp_lm_head(Resolution& r) {
  if (r.before(v0_5(18)) || !r.none(Field::enable_tp_lm_head_all_to_all)) return;
  const bool pure_dp_decode = r.is(Field::disaggregation_mode, "decode") && r.integer(Field::attn_dp_size) > 1 &&
                              r[Field::tp_size] == r[Field::attn_dp_size] && r[Field::attn_cp_size] == Value(1) &&
                              !r.on(Field::enable_dp_lm_head);
  r.declare("_tp_lm_head_all_to_all_default", {{Field::enable_tp_lm_head_all_to_all, pure_dp_decode}});
}

void validate_lm_head(Resolution& r) {
  constexpr std::string_view kPass = "_dp_lm_head_validation";
  if (r.on(Field::enable_dp_lm_head)) {
    r.require(RF::kOther, attn_dp_enabled(r), kPass,
              "--enable-dp-lm-head needs attention data parallelism (--attn-dp-size)");
  }
  if (!r.on(Field::enable_tp_lm_head_all_to_all)) return;
  r.require(RF::kOther, attn_dp_enabled(r), kPass,
            "--enable-tp-lm-head-all-to-all needs attention data parallelism (--attn-dp-size)");
  r.require(RF::kOther, !r.on(Field::enable_dp_lm_head), kPass,
            "--enable-tp-lm-head-all-to-all does not go with --enable-dp-lm-head");
  r.require(RF::kOther, r[Field::tp_size] == r[Field::attn_dp_size], kPass,
            "--enable-tp-lm-head-all-to-all needs --attn-dp-size equal to --tp-size");
  r.require(RF::kOther, r[Field::attn_cp_size] == Value(1), kPass,
            "--enable-tp-lm-head-all-to-all needs --attn-cp-size 1");
}

// Whether a graph captures what may hang with registered buffers: since 0.5.23 any collective.
bool graphs_may_hang(const Resolution& r) {
  if (r.before(v0_5(23))) {
    return r.on(Field::enable_tp_lm_head_all_to_all) || (r.since(v0_5(22)) && r.on(Field::enable_memory_saver) &&
                                                         r.env_bool("SGLANG_MEMORY_SAVER_CUDA_GRAPH", false));
  }
  if (std::max({r.integer(Field::tp_size), r.integer(Field::ep_size), r.integer(Field::dp_size)}) <= 1) return false;
  return r.none(Field::cuda_graph_config) || !graph_backend_is(r, kDecode, "disabled") ||
         !graph_backend_is(r, kPrefill, "disabled");
}

// Collectives captured in a graph must not register their buffers; an explicit setting wins, with a warning.
void forbid_graph_buffer_registration(Resolution& r) {
  if (!graphs_may_hang(r)) return;
  const auto [variable, inserted] = r.env().try_emplace("NCCL_GRAPH_REGISTER", "0");
  if (variable->second != "0") {
    r.warn("_disable_nccl_graph_buffer_registration", "NCCL_GRAPH_REGISTER is set by hand; graphs may hang with it");
  }
}

void assign_data_parallelism(Resolution& r) {
  constexpr const char* kFunction = "_handle_data_parallelism";
  if (r[Field::dp_size] == Value(1)) {
    r.set(kFunction, Field::enable_dp_attention, false);
    r.set(kFunction, Field::enable_dp_lm_head, false);
  }
  if (r.on(Field::enable_dp_attention)) split_among_attention_groups(r, kFunction, Field::dp_size);
  if (r.on(Field::enable_dp_lm_head)) {
    r.require(RF::kOther, r.on(Field::enable_dp_attention), kFunction,
              "--enable-dp-lm-head needs --enable-dp-attention");
  }
}

}  // namespace

void handle_deprecated_dp_attention(Resolution& r) {
  if (!r.on(Field::enable_dp_attention)) return;
  constexpr std::string_view kSource = "_handle_deprecated_dp_attention";
  if (r[Field::attn_dp_size] == Value(1)) {
    r.declare(kSource, {{Field::attn_dp_size, r[Field::dp_size]}, {Field::dp_size, 1}});
  }
  r.declare(kSource, {{Field::enable_dp_attention, false}});
}

// Only Moore Threads devices refuse here.
void validate_prefill_cp_platform(Resolution& /*r*/) {}

// 0.5.15 alone asks for the backend as it was given, before what the model's family asks for.
bool runs_sparse_attention(const Resolution& r) {
  if (r.before(v0_5(15)) || r.since(v0_5(15, 1))) return r.one_of(Field::attention_backend, {"dsa", "dsv4"});
  const Value& given = r.raw(Field::attention_backend);
  if (!given.is_string()) return false;
  const std::string& name = given.as_string();
  return name == "dsa" || name == "dsv4" || name == "compressed";  // the last was renamed already
}

// 0.5.19 carries the older prefill options and their successors over to each other.
void handle_legacy_cp_arguments(Resolution& r) {
  constexpr std::string_view kStep = "_handle_legacy_cp_arguments";
  const auto declare = [&](Field field, Value value) { r.declare(kStep, {{field, std::move(value)}}); };
  const auto strategy_of = [&](Field mode) { return r.is(mode, "in-seq-split") ? "zigzag" : "interleave"; };
  const bool plain = r.on(Field::enable_prefill_context_parallel);
  const bool sparse = r.on(Field::enable_dsa_prefill_context_parallel);
  if (plain || sparse) declare(Field::enable_prefill_cp, true);
  if (plain && r.none(Field::cp_strategy)) declare(Field::cp_strategy, strategy_of(Field::prefill_cp_mode));
  if (sparse && r.none(Field::cp_strategy)) declare(Field::cp_strategy, strategy_of(Field::dsa_prefill_cp_mode));
  if ((plain && sparse) || !r.on(Field::enable_prefill_cp) || r.none(Field::cp_strategy)) return;
  const char* mode = r.is(Field::cp_strategy, "zigzag") ? "in-seq-split" : "round-robin-split";
  if (sparse || runs_sparse_attention(r)) {
    declare(Field::enable_dsa_prefill_context_parallel, true);
    declare(Field::enable_prefill_context_parallel, false);
  } else {
    declare(Field::enable_prefill_context_parallel, true);
  }
  declare(Field::dsa_prefill_cp_mode, mode);
  declare(Field::prefill_cp_mode, mode);
}

void handle_decode_context_parallelism(Resolution& r) {
  if (r.since(v0_5(20)) && r.none(Field::dcp_comm_backend)) {
    const bool gathers = r.integer(Field::dcp_size) <= 1 || r.before(v0_5(22));
    r.declare("_dcp_comm_backend_default", {{Field::dcp_comm_backend, gathers ? "ag_rs" : "a2a"}});
  }
  const auto refuse = [&](RF rule, const char* message) {
    r.refuse(rule, "ValueError", "handle_decode_context_parallelism", message);
  };
  const std::int64_t dcp_size = r.integer(Field::dcp_size);
  const bool all_to_all = r.is(Field::dcp_comm_backend, "a2a");
  if (dcp_size < 1) refuse(RF::kOther, "--dcp-size is below 1");
  if (dcp_size > 1 && r.before(v0_5(17))) refuse(RF::kOther, "--dcp-size above 1 needs AMD devices");
  if (dcp_size > 1 && r.on(Field::enable_prefill_cp) && r.since(v0_5(22)))
    refuse(RF::kContextParallelDecode, "--dcp-size does not go with --enable-prefill-cp");
  if (all_to_all && dcp_size <= 1) refuse(RF::kOther, "--dcp-comm-backend a2a has a use with --dcp-size above 1 only");
  if (r.is(Field::dcp_comm_backend, "fi_a2a"))
    refuse(RF::kOther, "--dcp-comm-backend fi_a2a needs NVIDIA devices; use a2a");
  if (r.on(Field::dcp_replicate_q_proj)) {
    if (dcp_size <= 1) refuse(RF::kOther, "--dcp-replicate-q-proj needs --dcp-size above 1");
    if (!all_to_all) refuse(RF::kOther, "--dcp-replicate-q-proj needs --dcp-comm-backend a2a");
  }
}

void handle_dwdp(Resolution& r) {
  const Value size = r[Field::dwdp_size];
  if (size.as_int() <= 1) return;
  constexpr std::string_view kFunction = "handle_dwdp";
  r.require(RF::kOther, size == r[Field::tp_size], kFunction, "--dwdp-size differs from --tp-size");
  r.require(RF::kOther, r.one_of(Field::disaggregation_mode, {"null", "prefill"}), kFunction,
            "--dwdp-size has no use on a decode server");
  r.require(RF::kOther, !r.on(Field::enable_eplb), kFunction, "--dwdp-size does not go with --enable-eplb");
  r.require(RF::kOther, r.none(Field::speculative_algorithm), kFunction,
            "--dwdp-size does not go with speculative decoding");
  r.require(RF::kOther, r[Field::pp_size] == Value(1), kFunction, "--dwdp-size needs --pp-size 1");
  r.require(RF::kOther, !r.on(Field::enable_two_batch_overlap), kFunction,
            "--dwdp-size does not go with --enable-two-batch-overlap");
  if (r.is(Field::disaggregation_mode, "null")) {
    r.warn(kFunction, "--dwdp-size without disaggregation fetches remote experts in every decode step, which is slow");
  }
  constexpr std::string_view kSource = "_handle_dwdp";
  if (r.since(v0_5(22))) {
    r.declare(kSource, {{Field::attn_dp_size, size}, {Field::dp_size, 1}});
  } else {
    r.declare(kSource, {{Field::dp_size, size}});
    r.declare(kSource, {{Field::enable_dp_attention, true}});
  }
  r.declare(kSource, {{Field::enable_dp_attention_local_control_broadcast, true}});
  r.declare(kSource, {{Field::enable_dp_lm_head, true}});
  r.declare(kSource, {{Field::moe_dense_tp_size, 1}});
  r.declare(kSource, {{Field::ep_size, size}});
  r.declare(kSource, {{Field::moe_dp_size, 1}});
  r.declare(kSource, {{Field::moe_a2a_backend, "none"}});
  r.env()["SGLANG_SCHEDULER_SKIP_ALL_GATHER"] = "True";
  r.declare(kSource, {{Field::disable_cuda_graph, true}});
}

namespace {

void default_attention_groups(Resolution& r, std::string_view function) {
  if (r.integer(Field::attn_dp_size) < 1)
    r.refuse(RF::kOther, "ValueError", function, "--attn-dp-size is not positive");
  if (r.integer(Field::attn_dp_size) > 1 && r.integer(Field::dp_size) > 1) {
    r.refuse(RF::kOther, "ValueError", function, "--dp-size replicas do not go with --attn-dp-size");
  }
  if (integer::bounded_times(r.integer(Field::dp_size), r.integer(Field::attn_dp_size)) == 1 &&
      !r.is(Field::ep_join_mode, "scale")) {
    r.declare("_data_parallelism_defaults", {{Field::enable_dp_lm_head, false}});
  }
}

}  // namespace

void handle_data_parallelism(Resolution& r) {
  if (r.before(v0_5(15))) {
    assign_data_parallelism(r);
    return;
  }
  const std::string_view function = "_handle_data_parallelism";
  if (r.before(v0_5(22))) {
    if (r[Field::dp_size] == Value(1) && !r.is(Field::ep_join_mode, "scale")) {
      r.declare("_data_parallelism_defaults", {{Field::enable_dp_attention, false}, {Field::enable_dp_lm_head, false}});
    }
  } else {
    default_attention_groups(r, function);
  }
  if (r.since(v0_5(17)) && r.on(Field::mm_enable_dp_encoder) && r[Field::tp_size] == Value(1)) {
    r.warn(function, "--mm-enable-dp-encoder has nothing to distribute with --tp-size 1");
  }
  if (attn_dp_enabled(r)) split_among_attention_groups(r, function, Field::attn_dp_size);
  default_tp_lm_head(r);
  validate_lm_head(r);
  forbid_graph_buffer_registration(r);
}

void handle_shared_experts_tp(Resolution& r) {
  if (r.none(Field::shared_experts_tp_size)) return;
  constexpr const char* kFunction = "handle_shared_experts_tp";
  const auto refuse = [&](const char* message) { r.refuse(RF::kOther, "ValueError", kFunction, message); };
  const std::int64_t size = r.integer(Field::shared_experts_tp_size);
  const std::int64_t attn_tp_size = attention_tp_size(r, "derive_attn_tp_size");
  if (size < 1 || operators::modulo(r, kFunction, attn_tp_size, size) != 0) {
    refuse("--shared-experts-tp-size is not a divisor of the attention TP size");
  }
  if (model_is_remote_instance(r)) refuse("--shared-experts-tp-size needs the configuration of a Kimi K3 model");
  if (first_architecture(r, kFunction) != "KimiK3ForConditionalGeneration") {
    refuse("--shared-experts-tp-size is for Kimi K3 only");
  }
  if (!r.one_of(Field::moe_a2a_backend, {"deepep", "mooncake", "ascend_fuseep", "mori"})) {
    refuse("--shared-experts-tp-size needs an all-to-all backend (--moe-a2a-backend)");
  }
}

void handle_eplb_and_dispatch(Resolution& r) {
  const std::string_view function = "_handle_eplb_and_dispatch";
  constexpr std::string_view kSource = "_handle_eplb_and_dispatch";
  const bool balances = r.on(Field::enable_eplb);
  if (balances && r.none(Field::expert_distribution_recorder_mode)) {
    r.change(kSource, Field::expert_distribution_recorder_mode, "stat");
    r.warn(function, "--enable-eplb records the distribution of experts (mode stat)");
  }
  // Without all-to-all every rank computes the same tokens, so the chosen replica must agree between ranks.
  const bool same_on_all_ranks = r.since(v0_5(17)) && r.is(Field::moe_a2a_backend, "none");
  if ((balances || !r.is(Field::init_expert_location, "trivial")) && r.none(Field::ep_dispatch_algorithm)) {
    r.change(kSource, Field::ep_dispatch_algorithm, same_on_all_ranks ? "dynamic" : "static");
  }
  if (same_on_all_ranks && r.one_of(Field::ep_dispatch_algorithm, {"static", "lp"})) {
    r.refuse(RF::kOther, "ValueError", function, "without --moe-a2a-backend use --ep-dispatch-algorithm dynamic");
  }
  const bool joins_by_scaling = r.since(v0_5(15)) && r.is(Field::ep_join_mode, "scale");
  if (balances && !joins_by_scaling) {
    r.require(RF::kOther, r.integer(Field::ep_size) > 1, function, "--enable-eplb needs --ep-size above 1");
  }
}

void handle_expert_distribution_metrics(Resolution& r) {
  constexpr std::string_view kSource = "_handle_expert_distribution_metrics";
  if (r.since(v0_5(18)) && r.before(v0_5(21)) && r.env_text("SGLANG_ENABLE_EPLB_BALANCEDNESS_METRIC") != nullptr) {
    r.refuse(RF::kOther, "ValueError", "_handle_expert_distribution_metrics",
             "SGLANG_ENABLE_EPLB_BALANCEDNESS_METRIC is gone; use --expert-balancedness-report-mode");
  }
  const bool reports = r.since(v0_5(18)) ? !r.is(Field::expert_balancedness_report_mode, "off")
                                         : r.on(Field::enable_expert_distribution_metrics);
  if (reports && r.none(Field::expert_distribution_recorder_mode)) {
    r.change(kSource, Field::expert_distribution_recorder_mode, "stat");
  }
  if (!r.none(Field::expert_distribution_recorder_buffer_size)) return;
  if (!r.none(Field::eplb_rebalance_num_iterations)) {
    r.change(kSource, Field::expert_distribution_recorder_buffer_size, r[Field::eplb_rebalance_num_iterations]);
  } else if (!r.none(Field::expert_distribution_recorder_mode)) {
    r.change(kSource, Field::expert_distribution_recorder_buffer_size, 1000);
  }
}

void pipeline_parallel_overlap_disable(Resolution& r) {
  if (r.integer(Field::pp_size) <= 1) return;
  const char* message = "the overlap schedule is off: pipeline parallelism excludes it";
  if (r.before(v0_5(15))) {
    r.set("_handle_pipeline_parallelism", Field::disable_overlap_schedule, true);
    r.warn("_handle_pipeline_parallelism", message);
    return;
  }
  r.warn("_pipeline_parallel_overlap_disable", message);
  r.declare("_pipeline_parallel_overlap_disable", {{Field::disable_overlap_schedule, true}});
}

}  // namespace preflight::resolve
