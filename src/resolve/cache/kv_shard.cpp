// Logical-page KV cache sharding between the ranks of a PD prefill server.
//
// Source: arg_groups/kv_shard_hook.py (0.5.20 and later). The dsa and trtllm_mla backends, which it supports beside
// fa3, need CUDA. Runs twice: after the caches are settled and at the very end. Tested by
// tests/resolve_memory_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/resolve/cache/kv_cache.h"
#include "src/python/integer.h"
#include "src/resolve/models/model_questions.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kFunction = "handle_kv_cache_sharding";
constexpr std::string_view kTreeCore = "SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND";

void check(Resolution& r, bool holds, std::string_view message) {
  if (!holds) {
    r.refuse(RF::kOther, "ValueError", std::string(kFunction), fmt::format("--enable-kv-cache-sharding {}", message));
  }
}

void check_speculation(Resolution& r) {
  if (r.none(Field::speculative_algorithm)) return;
  check(r, r.since(v0_5(23)), "does not support speculative decoding");
  const ModelFacts& model = r.model();
  const bool glm_mtp = r.is(Field::speculative_algorithm, "EAGLE") &&
                       model.architectures.front() == "GlmMoeDsaForCausalLM" && model.num_nextn_predict_layers == 1 &&
                       r[Field::speculative_eagle_topk] == Value(1) && !r.on(Field::enable_multi_layer_eagle);
  check(r, glm_mtp, "supports no speculative decoding but the single MTP layer of GLM DSA models");
}

void check_tree_core(Resolution& r) {
  if (r.since(v0_5(23)) && r.env_text(kTreeCore) == nullptr) r.env()[std::string(kTreeCore)] = "python";
  const std::string* core = r.env_text(kTreeCore);
  check(r, r.on(Field::disable_radix_cache) || (core != nullptr && *core == "python"),
        "needs the radix tree in Python");
}

void check_other_features(Resolution& r) {
  check(r, r.is(Field::disaggregation_mode, "prefill"), "is for PD prefill servers");
  check_speculation(r);
  check(r, r.none(Field::dllm_algorithm), "does not support diffusion language models");
  check(r, r.none(Field::radix_cache_backend), "needs the built-in radix cache");
  check_tree_core(r);
  check(r, !r.on(Field::enable_unified_cache_external_linker), "does not support the external linker");
  check(r, !r.on(Field::enable_streaming_session), "does not support streaming sessions");
  check(r, !r.on(Field::enable_session_radix_cache), "does not support the session radix cache");
  check(r, !r.on(Field::enable_flexkv), "does not support --enable-flexkv");
  check(r, !r.on(Field::enable_unified_memory), "does not support --enable-unified-memory");
  check(r, r.integer(Field::dcp_size) <= 1, "does not go with --dcp-size above 1");
  const bool hierarchical = r.on(Field::enable_hierarchical_cache);
  check(r, !hierarchical || r.since(v0_5(23)), "does not support --enable-hierarchical-cache");
  check(r, !hierarchical || r.none(Field::hicache_storage_backend), "does not support --hicache-storage-backend");
  if (hierarchical && is_deepseek_dsa(r.model(), r.release())) {
    check(r, r.is(Field::hicache_host_memory_mode, "cache"), "with DSA needs --hicache-host-memory-mode cache");
    check(
        r,
        r.is(Field::hicache_io_backend, "kernel") && r.one_of(Field::hicache_mem_layout, {"layer_first", "page_first"}),
        "with DSA needs kernel I/O and the layer_first or page_first layout");
  }
  check(r, !r.on(Field::enable_lmcache), "does not support --enable-lmcache");
  check(r, !r.on(Field::enable_hisparse), "does not support --enable-hisparse");
  check(r, !r.on(Field::enable_dynamic_chunking) || r.integer(Field::pp_size) <= 1,
        "does not support --enable-dynamic-chunking with pipeline parallelism");
  check(r, !r.on(Field::enable_two_batch_overlap), "does not support --enable-two-batch-overlap");
  const ModelFacts& model = r.model();
  check(r, !model.is_encoder_decoder, "does not support encoder-decoder models");
  check(r, !model.attention_chunk_size.has_value(), "does not support chunked local attention");
}

// validate_kv_shard_attention_backend. On XPU fa3 is the only name that passes.
void check_backend(Resolution& r) {
  const Value prefill = attention_backends(r).prefill;
  const auto refuse = [&](std::string message) {
    r.refuse(RF::kOther, "ValueError", "validate_kv_shard_attention_backend", std::move(message));
  };
  const bool takes_dsa = r.since(v0_5(23));
  if (takes_dsa && is_text(prefill, "dsa")) {
    if (!r.is(Field::device, "cuda")) refuse("DSA KV sharding needs CUDA");
  }
  if (takes_dsa && is_deepseek_dsa(r.model(), r.release())) refuse("DSA KV sharding needs the dsa attention backend");
  if (is_text(prefill, "fa3")) return;
  if (!is_text(prefill, "trtllm_mla")) refuse("KV sharding prefills on fa3, or on trtllm_mla for MLA models");
  if (!use_mla(r)) refuse("KV sharding on trtllm_mla needs an MLA model");
  if (r.integer(Field::attn_cp_size) > 1) refuse("KV sharding on trtllm_mla does not support --attn-cp-size above 1");
  if (r.on(Field::disable_chunked_prefix_cache)) refuse("KV sharding on trtllm_mla needs the chunked prefix cache");
}

void check_topology(Resolution& r) {
  check(r, r.one_of(Field::disaggregation_transfer_backend, {"mooncake", "nixl"}),
        "transfers by mooncake or nixl only");
  check(r, !r.env_bool("SGLANG_DISAGG_STAGING_BUFFER", false), "does not go with SGLANG_DISAGG_STAGING_BUFFER");
  const bool shards_prefill_context = r.integer(Field::attn_cp_size) > 1;
  if (!use_mla(r)) {
    check(r, r.on(Field::enable_prefill_cp) && shards_prefill_context,
          "needs --enable-prefill-cp and --attn-cp-size above 1 for models without MLA");
    return;
  }
  check(r, r.since(v0_5(23)) || !is_deepseek_dsa(r.model(), r.release()), "does not support DSA models");
  if (!shards_prefill_context) {
    check(r, !attn_dp_enabled(r), "without prefill context parallelism needs --attn-dp-size 1");
    check(r, r.integer(Field::tp_size) > 1, "without prefill context parallelism needs --tp-size above 1");
  }
}

// Chunks end on pages. A larger chunk needs more activation memory, taken from an automatic memory fraction.
void round_chunk_to_pages(Resolution& r, std::vector<FieldValue>& fields) {
  const std::int64_t page = r.none(Field::page_size) ? 1 : r.integer(Field::page_size);
  check(r, page > 1, "needs --page-size above 1; 64 fits");
  const std::int64_t chunk = r.none(Field::chunked_prefill_size) ? 0 : r.integer(Field::chunked_prefill_size);
  check(r, chunk > 0, "needs --chunked-prefill-size above 0");
  if (chunk % page == 0) return;
  const std::int64_t rounded = integer::bounded_plus(chunk, page - 1) / page * page;
  fields.emplace_back(Field::chunked_prefill_size, rounded);
  const double more_mib =
      1.5 * static_cast<double>(std::max<std::int64_t>(rounded, 2048) - std::max<std::int64_t>(chunk, 2048));
  if (r.raw(Field::mem_fraction_static).is_none() && more_mib > 0) {
    const Value memory_mib = device_memory_mib(r);
    check(r, memory_mib.truthy() && !r.none(Field::mem_fraction_static),
          "cannot round the chunk size without knowing the device's memory");
    const double fraction = r.number(Field::mem_fraction_static) - more_mib / memory_mib.as_number();
    check(r, fraction > 0, "would leave no memory after rounding the chunk size up");
    fields.emplace_back(Field::mem_fraction_static, fraction);
  }
  r.warn(kFunction,
         fmt::format("--chunked-prefill-size {} is rounded up to {}, a multiple of the page size", chunk, rounded));
}

void disable_graphs(Resolution& r, std::vector<FieldValue>& fields) {
  const Value before = r[Field::cuda_graph_config];
  Value config = before;
  const auto disable = [&](std::string_view phase) {
    config = config.with(phase, config.find(phase)->with("backend", "disabled"));
  };
  if (!graph_backend_is(r, kPrefill, "disabled")) {
    r.warn(kFunction, "prefill graphs do not go with KV cache sharding and are turned off");
    disable(kPrefill);
  }
  if (!r.none(Field::speculative_algorithm)) disable(kDecode);
  if (config != before) fields.emplace_back(Field::cuda_graph_config, config);
}

}  // namespace

void handle_kv_cache_sharding(Resolution& r) {
  if (!r.on(Field::enable_kv_cache_sharding)) return;
  check_other_features(r);
  check_backend(r);
  check_topology(r);
  std::vector<FieldValue> fields;
  round_chunk_to_pages(r, fields);
  disable_graphs(r, fields);
  if (!fields.empty()) r.declare(kFunction, std::move(fields));
}

}  // namespace preflight::resolve
