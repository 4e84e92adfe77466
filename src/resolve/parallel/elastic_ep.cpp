// Elastic expert parallelism: joining, scaling at run time. Upstream: arg_groups/parallel_hook.py (handle_elastic_ep);
// up to 0.5.18 ServerArgs._handle_elastic_ep. Tested by tests/resolve_parallel_test.cpp.
#include "src/resolve/parallel/ib_devices.h"
#include "src/python/integer.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/parallel/parallel.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kSource = "_handle_elastic_ep";

// An assertion of the step itself.
class Check {
 public:
  explicit Check(Resolution& r) : r_(r), function_("_handle_elastic_ep") {}
  void operator()(bool condition, const char* message) const { r_.require(RF::kOther, condition, function_, message); }
  [[nodiscard]] std::string_view function() const { return function_; }

 private:
  Resolution& r_;
  std::string function_;
};

void check_backend(Resolution& r, const Check& check) {
  if (r.none(Field::elastic_ep_backend)) return;
  if (r.on(Field::enable_eplb)) {
    if (r.is(Field::eplb_algorithm, "auto")) r.change(kSource, Field::eplb_algorithm, "elasticity_aware");
    check(r.one_of(Field::eplb_algorithm, {"elasticity_aware", "elasticity_aware_hierarchical"}),
          "--elastic-ep-backend needs --eplb-algorithm auto or elasticity_aware");
  }
  check(r[Field::pp_size] == Value(1), "--elastic-ep-backend needs --pp-size 1");
  if (r.is(Field::elastic_ep_backend, "mooncake")) {
    r.change(kSource, Field::mooncake_ib_device, validated_ib_devices(r, Field::mooncake_ib_device));
  }
}

void check_joining(Resolution& r, const Check& check) {
  const bool scales = r.is(Field::ep_join_mode, "scale");
  const std::int64_t offset = r.integer(Field::ep_join_rank_offset);
  if (!r.none(Field::ep_join_mode)) {
    check(!r.none(Field::elastic_ep_backend), "--elastic-ep-join-mode needs --elastic-ep-backend");
    if (scales) {
      check(r[Field::node_rank] == Value(1), "--elastic-ep-join-mode scale joins with --node-rank 1");
      check(offset > 0, "--elastic-ep-join-mode scale needs --elastic-ep-join-rank-offset");
    }
  }
  if (offset != 0) {
    check(scales, "--elastic-ep-join-rank-offset needs --elastic-ep-join-mode scale");  // so that it is positive
  }
  if (!r.none(Field::max_ep_size)) {
    check(!r.none(Field::elastic_ep_backend), "--max-ep-size needs --elastic-ep-backend");
    check(r.integer(Field::max_ep_size) > 0, "--max-ep-size is not positive");
  }
}

// The expert groups are made of whole attention replicas. Returns the attention TP size.
std::int64_t check_topology(Resolution& r, const Check& check) {
  const std::int64_t tp = r.integer(Field::tp_size);
  const std::int64_t groups = r.integer(Field::attn_dp_size);
  const std::int64_t cp = r.integer(Field::attn_cp_size);
  check(tp > 0 && groups > 0 && cp > 0 && tp % integer::bounded_times(groups, cp) == 0,
        "the attention data- and context-parallel sizes do not divide --tp-size");
  const std::int64_t attn_tp_size = attention_tp_size(r, "derive_attn_tp_size");
  const std::int64_t replica = integer::bounded_times(attn_tp_size, cp);
  const auto whole_replicas = [&](std::int64_t ep_size) {
    check(ep_size > 0 && ep_size % replica == 0,
          "an expert-parallel size is not a multiple of the ranks of an attention replica");
  };
  whole_replicas(r.integer(Field::max_ep_size));
  whole_replicas(r.on(Field::elastic_ep_initial_size) ? r.integer(Field::elastic_ep_initial_size) : tp);
  if (r.is(Field::ep_join_mode, "scale")) whole_replicas(r.integer(Field::ep_join_rank_offset));
  return attn_tp_size;
}

void check_group_sizes(Resolution& r, const Check& check) {
  if (r.is(Field::ep_join_mode, "scale")) {
    check(!r.none(Field::elastic_ep_initial_size), "--elastic-ep-join-mode scale needs --elastic-ep-initial-size");
    const std::int64_t offset = r.integer(Field::ep_join_rank_offset);
    check(r.integer(Field::elastic_ep_initial_size) <= offset,
          "--elastic-ep-initial-size is above --elastic-ep-join-rank-offset");
    check(offset + r.integer(Field::tp_size) <= r.integer(Field::max_ep_size),
          "the joining group goes beyond --max-ep-size");
    if (r[Field::tp_size] == Value(1)) {
      check(r[Field::moe_dense_tp_size] == Value(1), "a joining group of one rank needs --moe-dense-tp-size 1");
    }
  } else {
    if (r.none(Field::elastic_ep_initial_size)) {
      r.declare(kSource, {{Field::elastic_ep_initial_size, r[Field::tp_size]}});
    }
    check(r[Field::elastic_ep_initial_size] == r[Field::tp_size],
          "--elastic-ep-initial-size of the primary group is not its --tp-size");
  }
  check(r.integer(Field::elastic_ep_initial_size) > 0, "--elastic-ep-initial-size is not positive");
}

void check_graphs(Resolution& r, const Check& check) {
  const bool full = graph_backend_is(r, kDecode, "full");
  if (r.before(v0_5(21))) {
    check(graph_backend_is(r, kDecode, "disabled") && graph_backend_is(r, kPrefill, "disabled"),
          "scaling needs the decode and prefill graphs disabled");
    return;
  }
  check(full || graph_backend_is(r, kDecode, "disabled"), "scaling needs the decode graph full or disabled");
  check(graph_backend_is(r, kPrefill, "disabled"), "scaling needs the prefill graph disabled");
  if (full) check(r.is(Field::device, "cuda"), "scaling captures decode graphs again on NVIDIA devices only");
  if (!full) return;
  check(r.none(Field::speculative_algorithm), "scaling with decode graphs excludes speculative decoding");
  check(!r.on(Field::is_embedding), "scaling with decode graphs excludes embedding models");
  check(r.none(Field::dllm_algorithm), "scaling with decode graphs excludes diffusion models");
  check(!r.on(Field::encoder_only), "scaling with decode graphs excludes --encoder-only");
  check(!r.on(Field::forward_hooks), "scaling with decode graphs excludes forward hooks");
  check(!r.on(Field::enable_pdmux), "scaling with decode graphs excludes --enable-pdmux");
}

void check_scaling(Resolution& r, const Check& check) {
  const bool whole_replicas = r.since(v0_5(23));
  const std::int64_t attn_tp_size = whole_replicas ? check_topology(r, check) : 1;
  if (attn_tp_size > 1) {
    check(r[Field::moe_dense_tp_size] == Value(1), "scaling with attention TP above 1 needs --moe-dense-tp-size 1");
  }
  check(r.number(Field::elastic_ep_scale_timeout) > 0, "--elastic-ep-scale-timeout is not positive");
  check(r[Field::tokenizer_worker_num] == Value(1), "scaling needs --tokenizer-worker-num 1");
  check(!r.on(Field::use_ray), "scaling does not go with --use-ray");
  check(!r.on(Field::enable_elastic_expert_backup), "scaling does not go with --enable-elastic-expert-backup");
  r.declare(kSource, {{Field::enable_dp_attention_local_control_broadcast, true}});
  check_group_sizes(r, check);
  check(r.is(Field::load_balance_method, "round_robin"), "scaling needs --load-balance-method round_robin");
  check(r.is(Field::elastic_ep_backend, "mooncake"), "scaling needs --elastic-ep-backend mooncake");
  check(r[Field::pp_size] == Value(1), "scaling needs --pp-size 1");
  check(!whole_replicas || operators::modulo(r, check.function(), attn_tp_size, r.integer(Field::dcp_size)) == 0,
        "--dcp-size does not divide the attention TP size");
  check_graphs(r, check);
  check(attn_dp_enabled(r), "scaling needs attention data parallelism (--attn-dp-size)");
  check(r.on(Field::enable_dp_lm_head), "scaling needs --enable-dp-lm-head");
  check(r[Field::attn_cp_size] == Value(1), "scaling needs --attn-cp-size 1");
  check(r[Field::moe_dp_size] == Value(1), "scaling needs --moe-dp-size 1");
  check(r[Field::ep_size] == r[Field::tp_size], "scaling needs --ep-size equal to --tp-size");
  check(whole_replicas || r[Field::attn_dp_size] == r[Field::tp_size],
        "scaling needs --attn-dp-size equal to --tp-size");
  check(r.is(Field::moe_a2a_backend, "nixl"), "scaling needs --moe-a2a-backend nixl");
}

}  // namespace

void handle_elastic_ep(Resolution& r) {
  const Check check(r);
  if (r.since(v0_5(16)) && r.on(Field::elastic_ep_rejoin)) {  // an old option, gone in 0.5.21
    check(r.none(Field::ep_join_mode) || r.is(Field::ep_join_mode, "recover"),
          "--elastic-ep-rejoin contradicts --elastic-ep-join-mode");
    if (r.none(Field::ep_join_mode)) {
      r.warn(check.function(), "--elastic-ep-rejoin is old; --elastic-ep-join-mode recover replaces it");
      r.declare(kSource, {{Field::ep_join_mode, "recover"}});
    }
  }
  check_backend(r, check);
  if (r.before(v0_5(16))) {
    if (r.on(Field::elastic_ep_rejoin)) {
      check(!r.none(Field::elastic_ep_backend), "--elastic-ep-rejoin needs --elastic-ep-backend");
    }
    return;
  }
  check_joining(r, check);
  const bool scaling = !r.none(Field::elastic_ep_backend) && !r.none(Field::max_ep_size) &&
                       r.integer(Field::max_ep_size) > r.integer(Field::tp_size);
  if (!r.none(Field::elastic_ep_initial_size)) {
    check(scaling, "--elastic-ep-initial-size has a use with --max-ep-size above --tp-size only");
  }
  if (scaling) check_scaling(r, check);
}

}  // namespace preflight::resolve
