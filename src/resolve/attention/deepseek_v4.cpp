// DeepSeek V4 and V4.1. Upstream: arg_groups/deepseek_v4_hook.py. Tested by tests/resolve_model_test.cpp.
#include "src/resolve/attention/deepseek_v4.h"

#include <utility>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/parallel/parallel.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

constexpr const char* kDefaults = "apply_deepseek_v4_defaults";
constexpr const char* kContext = "validate_deepseek_v4_cp";
constexpr const char* kFeatures = "validate_deepseek_v41_features";

bool is_v41(Resolution& r) { return r.model().model_type == "deepseek_v41"; }

void resolve_kv_cache_dtype(Resolution& r) {
  constexpr const char* kPass = "_deepseek_v4_kv_cache_dtype";
  Value dtype = r[Field::kv_cache_dtype];
  if (is_text(dtype, "auto")) {
    dtype = "fp8_e4m3";
    r.warn(kPass, "the KV cache of DeepSeek V4 is fp8_e4m3");
  }
  r.require(RF::kOther, is_text(dtype, "fp8_e4m3") || is_text(dtype, "bfloat16"), kPass,
            "the KV cache of DeepSeek V4 is fp8_e4m3 or bfloat16");
  if (dtype != r[Field::kv_cache_dtype]) r.declare(kPass, {{Field::kv_cache_dtype, dtype}});
}

void default_request_limit(Resolution& r) {
  if (!r.none(Field::max_running_requests)) return;
  r.change(kDefaults, Field::max_running_requests, 256);
  r.warn(kDefaults, "DeepSeek V4 runs 256 requests at a time unless told otherwise");
}

void check_drafting(Resolution& r) {
  if (r.none(Field::speculative_algorithm)) return;
  const bool known = r.is(Field::speculative_algorithm, "EAGLE") ||
                     (r.since(v0_5(16)) && r.is(Field::speculative_algorithm, "DSPARK"));
  r.require(RF::kOther, known, kDefaults, "DeepSeek V4 drafts with EAGLE (or, later, DSPARK) only");
  if (r.is(Field::speculative_algorithm, "EAGLE")) {
    r.require(RF::kOther, r[Field::speculative_eagle_topk] == Value(1), kDefaults,
              "DeepSeek V4 drafts with --speculative-eagle-topk 1 only");
  }
}

void assign_defaults(Resolution& r) {
  r.set(kDefaults, Field::attention_backend, "dsv4");
  r.set(kDefaults, Field::page_size, 256);
  const bool later = r.since(v0_5(14));
  if (!later) default_request_limit(r);
  if (r.is(Field::kv_cache_dtype, "auto")) {
    r.set(kDefaults, Field::kv_cache_dtype, "fp8_e4m3");
    r.warn(kDefaults, "the KV cache of DeepSeek V4 is fp8_e4m3");
  }
  r.require(RF::kOther, r.is(Field::kv_cache_dtype, "fp8_e4m3") || (later && r.is(Field::kv_cache_dtype, "bfloat16")),
            kDefaults,
            "this release does not keep DeepSeek V4's KV cache in the given type; fp8_e4m3 is its own choice");
  if (later) default_request_limit(r);
  check_drafting(r);
  if (!later && !r.none(Field::speculative_algorithm) && !r.env_bool("SGLANG_ENABLE_SPEC_V2", true)) {
    r.env()["SGLANG_ENABLE_SPEC_V2"] = "True";
    r.warn(kDefaults, "the second version of speculative decoding is turned on");
  }
  if (r[Field::swa_full_tokens_ratio] == field_default(Field::swa_full_tokens_ratio, r.release())) {
    r.set(kDefaults, Field::swa_full_tokens_ratio, 0.1);
  }
  if (r.before(v0_5(12, 1)) && !r.is(Field::disaggregation_mode, "null") && r.integer(Field::pp_size) > 1) {
    r.refuse(RF::kOther, "ValueError", kDefaults, "DeepSeek V4 under disaggregation needs --pp-size 1 in this release");
  }
  if (later && r.is(Field::moe_runner_backend, "auto") && has_hybrid_nvfp4_experts(r.model())) {
    r.set(kDefaults, Field::moe_runner_backend, "flashinfer_trtllm_routed");
  }
}

void check_exchange(Resolution& r) {
  const bool mori = r.since(v0_5(19));
  if (r.before(v0_5(17)) || r.one_of(Field::moe_a2a_backend, {"none", "deepep", "megamoe"})) return;
  if (mori && r.is(Field::moe_a2a_backend, "mori")) return;
  r.refuse(RF::kOther, "ValueError", kContext,
           fmt::format("context parallelism of DeepSeek V4 needs --moe-a2a-backend {}",
                       mori ? "none, deepep, megamoe or mori" : "none, deepep or megamoe"));
}

void turn_sparse_prefill_off(Resolution& r) {
  r.warn(kContext, "sparse prefill of FlashMLA is turned off under context parallelism");
  r.env()["SGLANG_OPT_FLASHMLA_SPARSE_PREFILL"] = "False";
}

void assign_context_parallelism(Resolution& r) {
  if (r.before(v0_5(14))) {
    const bool dsa = r.since(v0_5(13));
    if (!r.on(dsa ? Field::enable_dsa_prefill_context_parallel : Field::enable_nsa_prefill_context_parallel)) return;
    if (!r.is(dsa ? Field::dsa_prefill_cp_mode : Field::nsa_prefill_cp_mode, "round-robin-split")) {
      r.refuse(RF::kOther, "ValueError", kContext, "DeepSeek V4 splits prefill in the mode round-robin-split only");
    }
  } else {
    if (!r.on(Field::enable_prefill_cp)) return;
    if (!r.is(Field::cp_strategy, "interleave")) {
      r.refuse(RF::kOther, "ValueError", kContext, "DeepSeek V4 splits prefill with --cp-strategy interleave only");
    }
    r.set(kContext, Field::enable_dsa_prefill_context_parallel, true);
    if (r.since(v0_5(18))) r.set(kContext, Field::enable_prefill_context_parallel, false);
    r.set(kContext, Field::dsa_prefill_cp_mode, "round-robin-split");
  }
  r.set(kContext, Field::enable_dp_attention, true);
  r.set(kContext, Field::moe_dense_tp_size, 1);
  r.set(kContext, Field::attn_cp_size,
        operators::floor_div(r, kContext, r.integer(Field::tp_size), r.integer(Field::dp_size)));
  r.require(RF::kOther, r[Field::dp_size] == Value(1), kContext, "round-robin-split needs --dp-size 1");
  r.require(RF::kOther, r.integer(Field::tp_size) <= 8, kContext,
            "prefill context parallelism needs one machine (--tp-size 8)");
  check_exchange(r);
  if (r.since(v0_5(15))) turn_sparse_prefill_off(r);
  r.warn(kContext, "context parallelism of DeepSeek V4 is on");
}

bool prefill_graph_unbounded(const Resolution& r) {
  const Value backend = graph_setting(r, "prefill", "backend");
  return !is_text(backend, "disabled") && (r.before(v0_5(22)) || !is_text(backend, "breakable"));
}

void check_v41_drafting_with_disaggregation(Resolution& r) {
  if (r.is(Field::disaggregation_mode, "null") || r.none(Field::speculative_algorithm)) return;
  const bool interleaved_prefill = r.is(Field::disaggregation_mode, "prefill") && r.on(Field::enable_prefill_cp) &&
                                   r.is(Field::cp_strategy, "interleave");
  const bool context_parallel = r.on(Field::enable_prefill_cp) || r[Field::attn_cp_size] != Value(1);
  const bool narrow = r.before(v0_5(22));  // mooncake alone, without data or context parallelism
  const bool transfers = narrow ? r.is(Field::disaggregation_transfer_backend, "mooncake")
                                : r.one_of(Field::disaggregation_transfer_backend, {"mooncake", "nixl"});
  const bool parallel =
      r[Field::dp_size] != Value(1) || r.on(Field::enable_dp_attention) || r[Field::attn_cp_size] != Value(1);
  if (ragged_verify_mode(r) != RaggedVerify::kStatic || !transfers || (narrow && parallel) ||
      (!narrow && context_parallel && !interleaved_prefill) || r[Field::dcp_size] != Value(1)) {
    r.refuse(
        RF::kOther, "ValueError", kFeatures,
        "DeepSeek V4.1 drafts under disaggregation only with static verification, mooncake or nixl, and no context "
        "parallelism but an interleaved one on prefill servers");
  }
}

void refuse_unsupported(Resolution& r, std::initializer_list<std::pair<bool, const char*>> uses, const char* with) {
  for (const auto& [used, what] : uses) {
    if (used) r.refuse(RF::kOther, "ValueError", kFeatures, std::string(with) + " does not go with " + what);
  }
}

// Up to 0.5.22: graphs for long contexts cost too much memory.
void bound_prefill_graph(Resolution& r) {
  const bool interleaved = r.since(v0_5(22)) && r.on(Field::enable_prefill_cp) &&
                           r.is(Field::cp_strategy, "interleave") && r.integer(Field::tp_size) > 1 &&
                           graph_backend_is(r, kPrefill, "breakable");
  if (graph_backend_is(r, kPrefill, "disabled") || interleaved) return;
  if (!graph_setting(r, kPrefill, "max_seq_len").is_none()) return;
  r.declare(kFeatures, {{Field::cuda_graph_config, graph_with(r, kPrefill, {{"max_seq_len", 16 * 1024}})}});
  r.warn(kFeatures, "prefill graphs of DeepSeek V4.1 serve contexts up to 16384 tokens");
}

}  // namespace

void apply_deepseek_v4_defaults(Resolution& r) {
  if (r.before(v0_5(15))) {
    assign_defaults(r);
    return;
  }
  resolve_kv_cache_dtype(r);
  if (r.since(v0_5(23)) && r.is(Field::dsv4_attn_backend, "auto"))
    r.declare(kDefaults, {{Field::dsv4_attn_backend, "flashmla"}});
  r.require(RF::kOther, !r.one_of(Field::dsv4_attn_backend, {"flashmla_mega", "trtllm"}), kDefaults,
            "--dsv4-attn-backend flashmla_mega and trtllm need an NVIDIA SM100 device");
  default_request_limit(r);
  check_drafting(r);
}

void validate_deepseek_v4_cp(Resolution& r) {
  if (r.before(v0_5(19))) {
    assign_context_parallelism(r);
    return;
  }
  if (!r.on(Field::enable_prefill_cp)) return;
  if (!r.is(Field::cp_strategy, "interleave")) {
    r.refuse(RF::kOther, "ValueError", kContext,
             "DeepSeek V4 splits prefill with --cp-strategy interleave; zigzag is for Ascend");
  }
  const bool groups = r.since(v0_5(22));  // before, --dp-size counts them
  const std::int64_t attn_dp_size = groups ? context_parallel_attn_dp_size(r) : r.integer(Field::dp_size);
  if (r.before(v0_5(20))) {
    r.declare(kContext, {{Field::enable_dsa_prefill_context_parallel, true}});
    r.declare(kContext, {{Field::enable_prefill_context_parallel, false}});
    r.declare(kContext, {{Field::dsa_prefill_cp_mode, "round-robin-split"}});
  }
  if (groups) {
    r.declare(kContext, {{Field::attn_dp_size, attn_dp_size}, {Field::dp_size, 1}});
  } else {
    r.declare(kContext, {{Field::enable_dp_attention, true}});
  }
  r.declare(kContext, {{Field::moe_dense_tp_size, 1}});
  r.declare(kContext,
            {{Field::attn_cp_size, operators::floor_div(r, kContext, r.integer(Field::tp_size), attn_dp_size)}});
  r.require(RF::kOther, attn_dp_size == 1, kContext,
            "interleaved context parallelism needs one attention data-parallel group");
  r.require(RF::kOther, r.integer(Field::tp_size) <= 8, kContext,
            "prefill context parallelism needs one machine (--tp-size 8)");
  check_exchange(r);
  if (!is_v41(r)) turn_sparse_prefill_off(r);
  r.warn(kContext, "context parallelism of DeepSeek V4 is on");
}

void validate_deepseek_v41_encoder_replay_budget(Resolution& r) {
  if (!r.on(Field::enable_encoder_swa_bounded_replay)) return;
  const std::int64_t page = r.on(Field::page_size) ? r.integer(Field::page_size) : 1;
  const bool requests_bounded = !r.none(Field::max_running_requests) && r.integer(Field::max_running_requests) > 0;
  if (!requests_bounded || !r.on(Field::chunked_prefill_size) ||
      r.integer(Field::chunked_prefill_size) < integer::bounded_plus(page, 128)) {
    r.refuse(
        RF::kOther, "ValueError", "validate_deepseek_v41_encoder_replay_budget",
        "--enable-encoder-swa-bounded-replay needs --max-running-requests and prefill chunks of 128 tokens and one "
        "page at least");
  }
}

void validate_deepseek_v41_features(Resolution& r) {
  if (!is_v41(r)) {
    if (r.on(Field::enable_encoder_swa_bounded_replay)) {
      r.refuse(RF::kOther, "ValueError", kFeatures, "--enable-encoder-swa-bounded-replay is for DeepSeek V4.1 only");
    }
    return;
  }
  if (r.on(Field::enable_encoder_swa_bounded_replay)) {
    r.refuse(RF::kOther, "ValueError", kFeatures, "--enable-encoder-swa-bounded-replay needs an NVIDIA or AMD device");
  }
  const bool drafts_otherwise =
      !r.none(Field::speculative_algorithm) && ascii_upper(r.text(Field::speculative_algorithm)) != "DSPARK";
  refuse_unsupported(r,
                     {{drafts_otherwise, "a speculative algorithm other than DSPARK"},
                      {r.on(Field::enable_hisparse), "--enable-hisparse"},
                      {r.on(Field::enable_two_batch_overlap), "--enable-two-batch-overlap"},
                      {r.integer(Field::pp_size) > 1, "pipeline parallelism"}},
                     "DeepSeek V4.1");
  check_v41_drafting_with_disaggregation(r);
  // Attention data parallelism with bounded replay needs NVIDIA or AMD devices as well.
  if (r.before(v0_5(23))) bound_prefill_graph(r);
  const bool graph = prefill_graph_unbounded(r);
  if (r.on(Field::enable_decoder_swa_bounded_replay)) {
    refuse_unsupported(r, {{graph, "the prefill graph"}, {attn_dp_enabled(r), "attention data parallelism"}},
                       "--enable-decoder-swa-bounded-replay");
    return;
  }
  if (r.before(v0_5(23)) || r[Field::enable_decoder_swa_bounded_replay] == Value(false)) return;
  r.declare(kFeatures, {{Field::enable_decoder_swa_bounded_replay, false}});
}

}  // namespace preflight::resolve
