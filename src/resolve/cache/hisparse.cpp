// Upstream: arg_groups/hisparse_hook.py. Its backends are CUDA's and ROCm's; on XPU the CUDA tables apply.
// Tested by tests/resolve_validation_test.cpp and parity.
#include "src/resolve/cache/hisparse.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "src/facts/fp4_experts.h"
#include "src/resolve/models/model_questions.h"

namespace preflight::resolve {
namespace {

constexpr auto kFunction = "validate_hisparse";

bool among(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_minimax_sparse(const Resolution& r, const ModelFacts& model) {
  static constexpr std::string_view kNames[] = {"MiniMaxM3SparseForCausalLM",
                                                "MiniMaxM3SparseForConditionalGeneration"};
  return r.since(v0_5(21)) && !model.architectures.empty() && among(model.architectures.front(), kNames);
}

// Speculation and mixed chunks.
void check_features(Resolution& r) {
  if (r.before(v0_5(22))) return;
  if (r.on(Field::enable_mixed_chunk)) {
    r.refuse(RF::kOther, "ValueError", "validate_hisparse_feature_combos",
             "--enable-hisparse does not work with --enable-mixed-chunk; drop one of them.");
  }
  if (r.none(Field::speculative_algorithm) || r.is(Field::speculative_algorithm, "NONE")) return;
  const Value& topk = r[Field::speculative_eagle_topk];
  if (topk.truthy() && topk.as_int() != 1) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "--enable-hisparse speculates along one chain; use --speculative-eagle-topk 1.");
  }
  if (r.on(Field::speculative_adaptive)) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "--enable-hisparse sizes its state once; drop --speculative-adaptive.");
  }
}

void check_kv_cache_dtype(Resolution& r) {
  if (r.one_of(Field::kv_cache_dtype, {"bfloat16", "auto", "fp8_e4m3"})) return;
  r.refuse(RF::kOther, "ValueError", "validate_hisparse_kv_cache_dtype",
           fmt::format("--enable-hisparse keeps its cache in bfloat16 or fp8_e4m3, not in {}; set --kv-cache-dtype.",
                       r.text(Field::kv_cache_dtype)));
}

void check_backend(Resolution& r, Field field, std::string_view phase) {
  if (r.none(field)) return;
  std::vector<std::string_view> allowed;
  if (!r.is(Field::kv_cache_dtype, "fp8_e4m3")) allowed.emplace_back("flashmla_sparse");
  if (!r.is(Field::kv_cache_dtype, "bfloat16")) allowed.emplace_back("flashmla_kv");
  if (!r.is(Field::kv_cache_dtype, "bfloat16") && r.since(v0_5(18))) allowed.emplace_back("flashinfer_sparse_mla");
  if (among(r.text(field), allowed)) return;
  r.refuse(RF::kOther, "ValueError", "validate_hisparse_dsa_backend",
           fmt::format("--enable-hisparse with --kv-cache-dtype {} cannot use --dsa-{}-backend {}; leave it out.",
                       r.text(Field::kv_cache_dtype), phase, r.text(field)));
}

// 0.5.11: one backend and one type, in this order.
void check_first_form(Resolution& r) {
  const auto refuse = [&r](const char* message) { r.refuse(RF::kOther, "ValueError", kFunction, message); };
  for (const Field backend : {Field::nsa_prefill_backend, Field::nsa_decode_backend}) {
    if (!r.none(backend) && !r.is(backend, "flashmla_sparse")) {
      refuse("--enable-hisparse runs on flashmla_sparse alone; leave the NSA backends out.");
    }
  }
  if (!r.is(Field::kv_cache_dtype, "bfloat16")) refuse("--enable-hisparse needs --kv-cache-dtype bfloat16.");
}

}  // namespace

void validate_hisparse(Resolution& r) {
  if (!r.on(Field::enable_hisparse)) return;
  const ModelFacts& model = r.model();
  const bool v4 = is_deepseek_v4(model, r.release());
  r.require(RF::kOther, is_deepseek_dsa(model, r.release()) || v4 || is_minimax_sparse(r, model), kFunction,
            "--enable-hisparse needs a model with a token indexer (DeepSeek V3.2, GLM-5 and the like); drop it.");
  r.require(RF::kOther, r.on(Field::disable_radix_cache), kFunction, "--enable-hisparse needs --disable-radix-cache.");
  if (r.before(v0_5(12))) return check_first_form(r);
  check_features(r);
  // DeepSeek V4 pairs types and backends elsewhere; since 0.5.14 upstream leaves early for it on ROCm alone.
  if (r.before(v0_5(14)) && v4) return;
  if (is_minimax_sparse(r, model)) return;
  check_kv_cache_dtype(r);
  const bool dsa = r.since(v0_5(13));  // the options' names
  check_backend(r, dsa ? Field::dsa_prefill_backend : Field::nsa_prefill_backend, "prefill");
  check_backend(r, dsa ? Field::dsa_decode_backend : Field::nsa_decode_backend, "decode");
}

}  // namespace preflight::resolve
