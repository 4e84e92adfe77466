// KV-cache dtypes, and which caches go together.
//
// Sources: arg_groups/kv_cache_hook.py (0.5.20 and later), the ServerArgs methods of the same names before. The unified
// pool is in unified_memory.cpp, sharding in kv_shard.cpp. Tested by tests/resolve_memory_test.cpp.
#include "src/resolve/cache/kv_cache.h"

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

void check(Resolution& r, RF rule, std::string_view function, bool holds, std::string_view message,
           std::string_view exception = "ValueError") {
  if (!holds) r.refuse(rule, std::string(exception), std::string(function), std::string(message));
}

bool is_fp4_cache(const Resolution& r) {
  return r.one_of(Field::kv_cache_dtype, {"nvfp4", "fp4_mx_block16"}) ||
         (r.before(v0_5(16)) && r.is(Field::kv_cache_dtype, "fp4_e2m1"));
}

void check_host_pool_retraction(Resolution& r, std::string_view function) {
  if (!r.is(Field::disaggregation_decode_retraction_backup, "host_pool")) return;
  check(r, RF::kOther, function, r.is(Field::disaggregation_mode, "decode"),
        "--disaggregation-decode-retraction-backup host_pool is for PD decode servers");
  check(r, RF::kOther, function, r.integer(Field::dcp_size) <= 1,
        "--disaggregation-decode-retraction-backup host_pool does not support --dcp-size above 1");
  check(r, RF::kOther, function, !r.on(Field::enable_priority_scheduling) || r.on(Field::disable_priority_preemption),
        "--disaggregation-decode-retraction-backup host_pool with priorities needs --disable-priority-preemption");
}

void check_tlru(Resolution& r, std::string_view function) {
  if (!r.is(Field::radix_eviction_policy, "tlru")) return;
  const Value given = r[Field::radix_eviction_policy_config];
  const Value config = given.truthy() ? given : Value::dict({});
  check(r, RF::kOther, function, config.is_dict(), "--radix-eviction-policy-config must be a JSON object",
        "AttributeError");
  const auto entry = [&](std::string_view key) {
    const Value* v = config.find(key);
    return v == nullptr ? Value(0) : *v;
  };
  const Value threshold = entry("threshold");
  const Value estimate = entry("next_prompt_estimate");
  check(r, RF::kOther, function,
        !operators::less(r, function, threshold, 0) && !operators::less(r, function, estimate, 0),
        "tlru needs a threshold and a next_prompt_estimate that are not negative");
  check(r, RF::kOther, function, operators::less(r, function, estimate, threshold),
        "tlru needs a threshold above next_prompt_estimate in --radix-eviction-policy-config");
}

void check_decode_offload(Resolution& r, std::string_view function) {
  if (!r.on(Field::disaggregation_decode_enable_offload_kvcache)) return;
  check(r, RF::kOther, function, r.is(Field::disaggregation_mode, "decode"),
        "--disaggregation-decode-enable-offload-kvcache is for PD decode servers");
  check(r, RF::kOther, function, !r.none(Field::hicache_storage_backend),
        "--disaggregation-decode-enable-offload-kvcache needs --hicache-storage-backend");
  check(r, RF::kOther, function, !r.is(Field::disaggregation_decode_retraction_backup, "host_pool"),
        "--disaggregation-decode-enable-offload-kvcache and a host_pool retraction backup exclude each other");
}

void check_lmcache(Resolution& r, std::string_view function) {
  if (r.before(v0_5(21)) || !r.on(Field::enable_lmcache)) return;
  constexpr std::string_view kNotYet = "NotImplementedError";
  check(r, RF::kOther, function, !r.on(Field::enable_hierarchical_cache),
        "--enable-lmcache and --enable-hierarchical-cache exclude each other");
  check(r, RF::kOther, function, !r.on(Field::enable_unified_cache_external_linker),
        "--enable-lmcache and --enable-unified-cache-external-linker exclude each other");
  check(r, RF::kOther, function, !r.on(Field::disable_radix_cache), "--enable-lmcache needs the radix cache");
  const std::string algorithm = ascii_upper(r.text(Field::speculative_algorithm));
  check(r, RF::kOther, function, algorithm.empty() || algorithm == "NONE",
        "LMCache does not support speculative decoding", kNotYet);
  check(r, RF::kOther, function, !attn_dp_enabled(r), "LMCache does not support DP attention", kNotYet);
  check(r, RF::kOther, function, r.integer(Field::dcp_size) <= 1, "LMCache does not support --dcp-size above 1",
        kNotYet);
  check(r, RF::kOther, function, !r.on(Field::enable_streaming_session), "LMCache does not support streaming sessions",
        kNotYet);
  check(r, RF::kOther, function, !r.is(Field::hicache_host_memory_mode, "buffer_only"),
        "--hicache-host-memory-mode buffer_only is for the hierarchical cache");
  check(r, RF::kOther, function, r.is(Field::disaggregation_mode, "null"), "LMCache does not run in a PD deployment",
        kNotYet);
}

void check_swa_ratio(Resolution& r, std::string_view function) {
  if (r.since(v0_5(21)) && r.none(Field::_swa_full_tokens_ratio_explicitly_set)) {
    r.declare("_handle_cache_compatibility",
              {{Field::_swa_full_tokens_ratio_explicitly_set, !r.none(Field::swa_full_tokens_ratio)}});
  }
  const double ratio = effective_value(r, Field::swa_full_tokens_ratio).as_number();
  check(r, RF::kOther, function, 0 < ratio && ratio <= 1.0, "--swa-full-tokens-ratio must be above 0 and at most 1");
  const Value& tails = r[Field::swa_prefix_tails];
  check(r, RF::kOther, function, tails.is_none() || tails.as_int() >= 0, "--swa-prefix-tails must not be negative");
}

}  // namespace

void validate_prefill_only_disable_kv_cache_args(Resolution& r) {
  if (!r.on(Field::prefill_only_disable_kv_cache)) return;
  const std::string_view function = "_validate_prefill_only_disable_kv_cache_args";
  const auto needs = [&](bool holds, std::string_view what) {
    check(r, RF::kOther, function, holds, fmt::format("--prefill-only-disable-kv-cache {}", what));
  };
  needs(r.on(Field::is_embedding), "needs --is-embedding");
  needs(!is_fp4_cache(r), "does not support an FP4 KV cache");
  needs(!r.is(Field::kv_cache_dtype, "mxfp8"), "does not support an MXFP8 KV cache");
  needs(r[Field::chunked_prefill_size] == Value(-1), "needs --chunked-prefill-size -1");
  needs(r.on(Field::disable_radix_cache), "needs --disable-radix-cache");
  needs(r.integer(Field::attn_cp_size) <= 1, "does not support --attn-cp-size above 1");
  needs(!r.on(Field::enable_prefill_cp) && !r.on(Field::enable_prefill_context_parallel),
        "does not support prefill context parallelism");
  needs(!r.on(Field::enable_hisparse), "does not support --enable-hisparse");
}

void handle_nvfp4_prefill_kv_dequant_dtype(Resolution& r) {
  const std::string_view function = "handle_nvfp4_prefill_kv_dequant_dtype";
  Value dtype = r[Field::prefill_kv_cache_dequant_dtype];
  const bool automatic = is_text(dtype, "auto");
  if (!r.is(Field::kv_cache_dtype, "nvfp4")) {
    check(r, RF::kOther, function, automatic,
          "--prefill-kv-cache-dequant-dtype applies to --kv-cache-dtype nvfp4 only");
    return;
  }
  if (automatic) {
    const Value prefill = r[Field::prefill_attention_backend];
    const Value backend = prefill.truthy() ? prefill : r[Field::attention_backend];
    check(r, RF::kOther, function,
          backend.is_none() || is_text(backend, "flashinfer") || is_text(backend, "trtllm_mha"),
          "this attention backend cannot prefill from an NVFP4 cache");
    dtype = is_text(backend, "trtllm_mha") ? "nvfp4" : "fp8_e4m3";
  }
  check(r, RF::kOther, function, !is_text(dtype, "nvfp4"), "native NVFP4 prefill needs an NVIDIA GPU of SM100");
  const Value prefill = r[Field::prefill_attention_backend];
  check(r, RF::kOther, function, prefill.is_none() || is_text(prefill, "flashinfer"),
        "prefill from an NVFP4 cache through fp8_e4m3 runs on flashinfer only");
  const Value decode = r[Field::decode_attention_backend];
  check(r, RF::kOther, function, decode.is_none() || is_text(decode, "trtllm_mha"),
        "an NVFP4 cache decodes on trtllm_mha only");
  std::vector<FieldValue> fields = {{Field::prefill_attention_backend, "flashinfer"},
                                    {Field::decode_attention_backend, "trtllm_mha"}};
  if (automatic) fields.emplace_back(Field::prefill_kv_cache_dequant_dtype, dtype);
  r.declare("_handle_nvfp4_prefill_kv_dequant_dtype", std::move(fields));
}

void handle_kv4_compatibility(Resolution& r) {
  if (!is_fp4_cache(r)) return;
  use_mla(r);
  r.refuse(RF::kCacheForOthers, "RuntimeError", "_handle_kv4_compatibility",
           "an FP4 KV cache runs on NVIDIA GPUs only");
}

void handle_mxfp8_kv_cache_compatibility(Resolution& r) {
  check(r, RF::kCacheForOthers, "handle_mxfp8_kv_cache_compatibility", !r.is(Field::kv_cache_dtype, "mxfp8"),
        "an MXFP8 KV cache needs an NVIDIA GPU of SM100 or newer", "ValueError");
}

void handle_prefill_only_disable_kv_cache(Resolution& r) {
  if (!r.on(Field::prefill_only_disable_kv_cache)) return;
  const std::string_view function = "_handle_prefill_only_disable_kv_cache";
  r.require(RF::kOther, !r.none(Field::attention_backend), function, "the attention backend is not settled");
  const Value prefill = attention_backends(r).prefill;
  check(r, RF::kOther, function, is_text(prefill, "fa3") || is_text(prefill, "fa4"),
        "--prefill-only-disable-kv-cache prefills on fa3 or fa4 only");
}

void handle_cache_compatibility(Resolution& r) {
  const std::string_view function = "_handle_cache_compatibility";
  check_host_pool_retraction(r, function);
  check_tlru(r, function);
  check(r, RF::kHostCacheWithoutTree, function,
        !r.on(Field::enable_hierarchical_cache) || !r.on(Field::disable_radix_cache),
        "--enable-hierarchical-cache and --disable-radix-cache exclude each other", "ValueError");
  check_decode_offload(r, function);
  check(r, RF::kOther, function,
        r.since(v0_5(17)) || !r.on(Field::enable_session_radix_cache) || r.is(Field::radix_eviction_policy, "priority"),
        "--enable-session-radix-cache needs --radix-eviction-policy priority");
  check_swa_ratio(r, function);
  check_lmcache(r, function);
}

}  // namespace preflight::resolve
