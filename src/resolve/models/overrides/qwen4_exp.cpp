// Qwen4-Exp: compressed sparse attention owns the page size.
#include "src/resolve/models/overrides/model_overrides.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kProvider = "_qwen4_exp_overrides";

// True when the configuration describes a compressed indexer; a malformed one refuses.
bool has_compressed_indexer(Resolution& r, const Value& text_config) {
  const auto get = [&](std::string_view key) {
    const Value* v = text_config.find(key);
    return v == nullptr ? Value() : *v;
  };
  if (get("indexer_n_heads").is_none()) return false;
  bool positive = true;
  for (const std::string_view key :
       {"indexer_n_heads", "indexer_kv_heads", "indexer_head_dim", "indexer_budget", "indexer_compress_ratio"}) {
    if (get(key).is_none()) {
      r.refuse(RF::kOther, "ValueError", "_require_fields",
               "the sparse indexer's configuration lacks " + std::string(key));
    }
    positive = positive && get(key).is_number() && get(key).as_number() > 0;
  }
  const auto refuse = [&](const char* message) { r.refuse(RF::kOther, "ValueError", "_parse_compressed", message); };
  if (!positive) refuse("the sparse indexer's sizes must be positive");
  if (get("indexer_kv_heads") != Value(1)) refuse("the sparse indexer needs indexer_kv_heads 1");
  const auto ratio = static_cast<std::int64_t>(get("indexer_compress_ratio").as_number());
  const auto budget = static_cast<std::int64_t>(get("indexer_budget").as_number());
  if (ratio < 2) refuse("the sparse indexer needs indexer_compress_ratio of at least 2");
  if (budget % ratio != 0) refuse("indexer_budget must be a multiple of indexer_compress_ratio");
  if (budget / ratio != 512 && budget / ratio != 2048) {
    refuse("indexer_budget over indexer_compress_ratio must be 512 or 2048");
  }
  return true;
}

}  // namespace

Overrides qwen4_exp_overrides(Resolution& r, const ModelFacts& model) {
  if (!r.is(Field::disaggregation_mode, "null") && r.is(Field::disaggregation_transfer_backend, "mori") &&
      r.integer(Field::pp_size) > 1) {
    r.refuse(RF::kOther, "ValueError", kProvider, "Qwen4-Exp with disaggregation over mori needs --pp-size 1");
  }
  if (r.on(Field::enable_unified_memory)) {
    r.refuse(RF::kOther, "ValueError", kProvider, "Qwen4-Exp does not go with --enable-unified-memory");
  }
  Overrides overrides;
  if (r.none(Field::ple_offload_embedding)) overrides.set(Field::ple_offload_embedding, false);
  const Value nested = model.root("text_config");
  const Value& text_config = nested.is_dict() ? nested : model.hf_config;
  const Value* experts = text_config.find("num_experts");
  if (experts != nullptr && !experts->is_none() && r[Field::moe_dense_tp_size] == Value(1)) {
    overrides.set(Field::moe_dense_tp_size, nullptr);
  }
  const bool compressed = has_compressed_indexer(r, text_config);
  if (r.is(Field::qsa_indexer_dtype, "fp8_e4m3")) {
    r.refuse(RF::kOther, "ValueError", kProvider, "--qsa-indexer-dtype fp8_e4m3 needs an NVIDIA SM90 or SM100 device");
  }
  if (compressed) overrides.set(Field::page_size, 64);
  return overrides;
}

}  // namespace preflight::resolve
