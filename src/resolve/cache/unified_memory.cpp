// The unified memory pool and its page-major layout: which backends and features they go with.
//
// Source: handle_unified_memory_pool and handle_page_major_kv_layout in arg_groups/kv_cache_hook.py (0.5.20 and later).
// Backends here are often NVIDIA's; on XPU triton is what remains. Those that no phase has any more when this runs
// (attention_checks.cpp refuses cutedsl_mla and trtllm_mha) stand in no list. Tested by tests/resolve_memory_test.cpp.
#include <set>

#include <fmt/format.h>

#include "src/resolve/cache/kv_cache.h"
#include "src/resolve/models/model_questions.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

using Names = std::set<std::string_view>;

constexpr std::string_view kPool = "handle_unified_memory_pool";

const Names& audited_for_mla() {
  static const Names kNames = {"triton", "trtllm_mla", "tokenspeed_mla", "flashmla", "flashinfer", "fa3"};
  return kNames;
}

const Names& audited_for_mha(const Resolution& r) {
  static const Names kNames = {"triton", "flashinfer", "fa3", "trtllm_mha"};
  static const Names kUpTo22 = {"triton", "flashinfer", "fa3"};
  return r.since(v0_5(23)) ? kNames : kUpTo22;
}

// The resolved backends of both phases are all in the set. None counts as `none_allowed`.
bool backends_within(const Resolution& r, const Names& allowed, bool none_allowed = true) {
  const AttentionBackends backends = attention_backends(r);
  const auto fits = [&](const Value& v) { return v.is_string() ? allowed.count(v.as_string()) > 0 : none_allowed; };
  return fits(backends.prefill) && fits(backends.decode);
}

void check_pd(Resolution& r) {
  if (r.is(Field::disaggregation_mode, "null")) return;
  r.require(RF::kOther, r.since(v0_5(18)), kPool, "--enable-unified-memory does not run in a PD deployment");
  const bool mooncake = r.is(Field::disaggregation_transfer_backend, "mooncake");
  r.require(RF::kOther, mooncake, kPool, "--enable-unified-memory in a PD deployment transfers through mooncake only");
  r.require(RF::kOther, r.integer(Field::pp_size) == 1, kPool,
            "--enable-unified-memory in a PD deployment needs --pp-size 1");
  r.require(RF::kOther, r.before(v0_5(21)) || r.none(Field::speculative_algorithm), kPool,
            "--enable-unified-memory with mooncake does not support speculative decoding");
  r.require(RF::kOther, !r.env_bool("SGLANG_DISABLE_LAZY_COMPACTION", false), kPool,
            "--enable-unified-memory in a PD deployment needs lazy compaction");
  r.require(RF::kOther, !r.on(Field::enable_hisparse), kPool,
            "--enable-unified-memory does not go with --enable-hisparse");
  if (r.before(v0_5(21))) return;
  if (r.on(Field::disaggregation_decode_enable_offload_kvcache)) {
    r.require(RF::kOther, r.is(Field::hicache_storage_backend, "file"), kPool,
              "decode offload from the unified pool needs --hicache-storage-backend file");
    r.require(RF::kOther, !use_mla(r), kPool, "decode offload from the unified pool does not support MLA models");
    r.require(RF::kOther, !is_mambaish(r.model()), kPool,
              "decode offload from the unified pool does not support Mamba hybrids");
    r.require(RF::kOther, !r.model().is_hybrid_swa, kPool,
              "decode offload from the unified pool does not support hybrid SWA");
  }
  if (r.is(Field::disaggregation_decode_retraction_backup, "host_pool")) {
    const bool first = r.before(v0_5(22));
    r.require(RF::kOther, !first || !r.on(Field::disaggregation_decode_enable_radix_cache), kPool,
              "host-pool retraction does not support a decode radix cache");
    r.require(RF::kOther, !is_mambaish(r.model()), kPool, "host-pool retraction does not support Mamba hybrids");
    r.require(RF::kOther, !first || !r.model().is_hybrid_swa, kPool,
              "host-pool retraction does not support hybrid SWA");
  }
}

void check_eagle(Resolution& r) {
  if (!r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3"})) return;
  r.require(RF::kOther, r.model().is_hybrid_swa || is_mambaish(r.model()), kPool,
            "EAGLE in the unified pool needs a hybrid SWA or Mamba hybrid target");
  const bool fits = backends_within(r, use_mla(r) ? audited_for_mla() : audited_for_mha(r), false);
  r.require(RF::kOther, fits, kPool, "EAGLE in the unified pool cannot verify on this attention backend; triton can");
  const Value draft = r[Field::speculative_draft_attention_backend];
  const bool draft_fits =
      draft.truthy() ? audited_for_mha(r).count(draft.as_string()) > 0 : backends_within(r, audited_for_mha(r));
  r.require(RF::kOther, draft_fits, kPool,
            "EAGLE in the unified pool cannot draft on this attention backend; triton can");
}

// _assert_spec_verify_backends. With --dcp-size above 1 no speculation comes this far (check_xpu_dcp).
void check_verify_backends(Resolution& r, const Names& allowed) {
  r.require(RF::kOther, backends_within(r, allowed), "_assert_spec_verify_backends",
            "speculative decoding in the unified pool cannot verify on this attention backend; triton can");
}

// Up to 0.5.21.
void check_dspark_alone(Resolution& r) {
  if (r.none(Field::speculative_algorithm)) return;
  r.require(RF::kOther, r.since(v0_5(18)), kPool, "--enable-unified-memory does not go with speculative decoding");
  r.require(RF::kOther, r.is(Field::speculative_algorithm, "DSPARK"), kPool,
            "--enable-unified-memory supports DSPARK only");
  const Value& topk = r[Field::speculative_eagle_topk];
  r.require(RF::kOther, topk.is_none() || topk == Value(1), kPool,
            "--enable-unified-memory needs --speculative-eagle-topk 1");
  r.require(RF::kOther, backends_within(r, {"triton", "trtllm_mla", "tokenspeed_mla"}), kPool,
            "DSPARK in the unified pool cannot verify on this attention backend; triton can");
}

void check_speculation(Resolution& r) {
  if (r.before(v0_5(22))) {
    check_dspark_alone(r);
    return;
  }
  r.require(RF::kOther,
            r.none(Field::speculative_algorithm) ||
                r.one_of(Field::speculative_algorithm, {"DSPARK", "EAGLE", "EAGLE3", "DFLASH"}),
            kPool, "--enable-unified-memory supports DSPARK, DFLASH, EAGLE and EAGLE3 only");
  const Value& topk = r[Field::speculative_eagle_topk];
  r.require(RF::kOther, topk.is_none() || topk == Value(1), kPool,
            "--enable-unified-memory needs --speculative-eagle-topk 1");
  check_eagle(r);
  if (r.is(Field::speculative_algorithm, "DSPARK")) {
    Names allowed = audited_for_mla();
    if (r.since(v0_5(23))) allowed.insert("fa4");
    check_verify_backends(r, allowed);
  }
  if (r.is(Field::speculative_algorithm, "DFLASH")) check_verify_backends(r, audited_for_mha(r));
}

void check_other_caches(Resolution& r) {
  r.require(RF::kOther, !r.on(Field::enable_two_batch_overlap), kPool,
            "--enable-unified-memory does not go with --enable-two-batch-overlap");
  r.require(RF::kOther, r.since(v0_5(21)) || !r.on(Field::enable_hierarchical_cache), kPool,
            "--enable-unified-memory does not go with --enable-hierarchical-cache");
  r.require(RF::kOther, !r.on(Field::enable_lmcache), kPool,
            "--enable-unified-memory does not go with --enable-lmcache");
  if (r.before(v0_5(22))) return;
  r.require(RF::kOther, !r.on(Field::enable_unified_cache_external_linker), kPool,
            "--enable-unified-memory does not go with --enable-unified-cache-external-linker");
  const bool eagle = r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3"});
  r.require(RF::kOther, !eagle || !r.is(Field::disaggregation_decode_retraction_backup, "host_pool"), kPool,
            "EAGLE in the unified pool has no host-pool retraction backup");
  r.require(RF::kOther, !eagle || !r.on(Field::enable_hierarchical_cache), kPool,
            "EAGLE in the unified pool does not go with --enable-hierarchical-cache");
}

void check_dcp(Resolution& r) {
  if (r.integer(Field::dcp_size) <= 1) return;
  r.require(RF::kOther, r.since(v0_5(20)), kPool,
            "--enable-unified-memory does not go with --dcp-size above 1 in this release");
  const std::string_view function = "_validate_unified_memory_dcp";
  r.require(RF::kOther, use_mla(r), function, "the unified pool with --dcp-size above 1 supports MLA models only");
  r.require(RF::kOther, !r.model().is_hybrid_swa, function,
            "the unified pool with --dcp-size above 1 does not support hybrid SWA");
  r.require(RF::kOther, r.is(Field::disaggregation_mode, "null"), function,
            "the unified pool with --dcp-size above 1 does not run in a PD deployment");
  r.require(RF::kOther, backends_within(r, {"flashinfer", "trtllm_mla", "tokenspeed_mla"}), function,
            "the unified pool with --dcp-size above 1 does not support this attention backend");
}

// Full prefill graphs exist for fa3 and fa4 only. Upstream edits the configuration that was declared last in place, so
// the change shows in that entry of the chain and makes none of its own.
void drop_full_prefill_graph(Resolution& r) {
  if (!graph_backend_is(r, kPrefill, "full") || backends_within(r, {"fa3", "fa4"})) return;
  const Value config = graph_with(r, kPrefill, {{"backend", "disabled"}});
  auto& chain = r.launch().chain;
  for (auto change = chain.rbegin(); change != chain.rend(); ++change) {
    bool declared = false;
    for (auto& [field, value] : change->fields) {
      if (field != Field::cuda_graph_config) continue;
      value = config;
      declared = true;
    }
    if (declared) break;
  }
  r.set_silently(Field::cuda_graph_config, config);
  r.warn(kPool, "full prefill graphs in the unified pool exist for fa3 and fa4 only; they are turned off");
}

Names page_major_backends(Resolution& r) {
  if (r.before(v0_5(19))) {
    if (r.before(v0_5(17)) || !r.on(Field::enable_unified_memory) || !use_mla(r)) return {"triton"};
    return {"triton", "fa3", "trtllm_mla", "flashinfer", "tokenspeed_mla"};
  }
  if (use_mla(r)) return {"triton", "fa3", "trtllm_mla", "flashinfer", "tokenspeed_mla", "flashmla"};
  if (has_asymmetric_kv(r.model())) return {"triton", "fa3", "fa4"};
  return {"triton", "fa3", "fa4", "flashinfer"};
}

void require_triton_states(Resolution& r, std::string_view function) {
  for (const Field field : {Field::linear_attn_backend, Field::linear_attn_decode_backend,
                            Field::linear_attn_prefill_backend, Field::mamba_backend}) {
    r.require(RF::kOther, r.none(field) || r.is(field, "triton"), function,
              "the page-major KV layout needs triton for linear attention and for Mamba");
  }
}

}  // namespace

void handle_page_major_kv_layout(Resolution& r) {
  const std::string_view function = "handle_page_major_kv_layout";
  if (r.on(Field::enable_unified_memory)) {
    r.declare("_handle_page_major_kv_layout", {{Field::enable_page_major_kv_layout, true}});
  }
  if (!r.on(Field::enable_page_major_kv_layout)) return;
  r.require(RF::kOther, r.before(v0_5(19)) || r.on(Field::enable_unified_memory), function,
            "--enable-page-major-kv-layout works with --enable-unified-memory only");
  r.require(RF::kOther, r.before(v0_5(19)) || r.since(v0_5(23)) || use_mla(r) || !has_asymmetric_kv(r.model()),
            function, "the unified pool does not hold keys and values of different widths");
  r.require(RF::kOther, backends_within(r, page_major_backends(r)), function,
            "the page-major KV layout does not support this attention backend; triton works");
  if (r.before(v0_5(17))) return require_triton_states(r, function);
  Names decode = {"triton", "flashinfer"};
  Names prefill = {"triton", "flashkda"};
  if (r.since(v0_5(23))) prefill.insert("flashinfer");
  if (use_mla(r)) {  // the hybrids with KDA layers are MLA models
    decode.insert("cutedsl");
    prefill.insert("cutedsl");
    if (r.since(v0_5(18))) {
      decode.insert("helion");
      prefill.insert("helion");
    }
  }
  const auto kernel_fits = [&](Field phase, const Names& allowed) {
    const Value& backend = r.on(phase) ? r[phase] : r[Field::linear_attn_backend];
    return !backend.is_string() || allowed.count(backend.as_string()) > 0;
  };
  r.require(RF::kOther, kernel_fits(Field::linear_attn_decode_backend, decode), function,
            "the page-major KV layout does not support this linear-attention decode backend");
  r.require(RF::kOther, kernel_fits(Field::linear_attn_prefill_backend, prefill), function,
            "the page-major KV layout does not support this linear-attention prefill backend");
  r.require(RF::kOther, r.none(Field::mamba_backend) || r.is(Field::mamba_backend, "triton"), function,
            "the page-major KV layout needs --mamba-backend triton");
}

void handle_unified_memory_pool(Resolution& r) {
  if (!r.on(Field::enable_unified_memory)) return;
  check_pd(r);
  check_speculation(r);
  check_other_caches(r);
  check_dcp(r);
  drop_full_prefill_graph(r);
}

}  // namespace preflight::resolve
