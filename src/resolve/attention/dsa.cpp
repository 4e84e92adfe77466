// DeepSeek sparse attention (DSA) on XPU. Upstream: the DSA branch of model_hook.py and its passes in overrides.py; in
// releases that assign, the same branch of _handle_model_specific_adjustments. Tested by tests/resolve_model_test.cpp.
#include "src/resolve/attention/dsa.h"

#include <algorithm>

#include "src/resolve/models/model_queries.h"

namespace preflight::resolve {
namespace {

constexpr const char* kStep = "_handle_model_specific_adjustments";

void set_dense_threshold(Resolution& r, const ModelFacts& model) {
  const std::string variable = std::string(r.since(v0_5(13)) ? "SGLANG_DSA" : "SGLANG_NSA") +  // the older name
                               "_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD";
  if (r.env_text(variable) != nullptr) {
    r.warn(kStep, variable + " is set by hand; above the model's index_topk it costs speed");
    return;
  }
  r.env()[variable] = model.root("index_topk").repr();
  r.warn(kStep, "prompts shorter than the model's index_topk attend densely");
}

bool shares_topk_between_layers(Resolution& r, const ModelFacts& model) {
  Value frequency = has_attribute(model, "index_topk_freq") ? model.root("index_topk_freq") : Value(1);
  if (r.since(v0_5(14)) && !frequency.truthy()) frequency = 1;
  if (!frequency.is_number()) {
    r.refuse(RF::kOther, "TypeError", "_validate_dsa_tbo_index_sharing",
             "index_topk_freq of the configuration is not a number");
  }
  if (frequency.as_number() > 1) return true;
  const Value pattern = model.root("index_topk_pattern");
  if (pattern.is_string() && pattern.as_string().find('S') != std::string::npos) return true;
  if (pattern.is_list()) {
    for (const Value& layer : pattern.as_list()) {
      if (is_text(layer, "S")) return true;
    }
  }
  if (r.before(v0_5(20))) return false;
  const Value types = model.root("indexer_types");
  return types.is_list() &&
         std::find(types.as_list().begin(), types.as_list().end(), Value("shared")) != types.as_list().end();
}

void refuse_two_batch_overlap(Resolution& r, const ModelFacts& model) {
  if (!r.on(Field::enable_two_batch_overlap) || !shares_topk_between_layers(r, model)) return;
  r.refuse(
      RF::kOther, "ValueError", "_validate_dsa_tbo_index_sharing",
      "--enable-two-batch-overlap does not pass the top-k indices between layers that this model shares them with");
}

void default_kv_cache_dtype(Resolution& r) {
  if (!r.is(Field::kv_cache_dtype, "auto")) return;
  r.warn("_dsa_kv_cache_dtype_default", "the KV cache of sparse attention on XPU is bfloat16");
  r.declare("_dsa_kv_cache_dtype_default", {{Field::kv_cache_dtype, "bfloat16"}});
}

void default_split_backends(Resolution& r) {
  std::vector<FieldValue> declared;
  for (const Field backend : {Field::dsa_prefill_backend, Field::dsa_decode_backend}) {
    if (r.none(backend)) declared.emplace_back(backend, "intel_xpu");
  }
  if (r.before(v0_5(22)) && r.is(Field::dsa_topk_backend, "sgl-kernel")) {
    declared.emplace_back(Field::dsa_topk_backend, "torch");
  }
  r.warn("_dsa_split_backend_resolution", "sparse attention on XPU runs on intel_xpu unless told otherwise");
  if (!declared.empty()) r.declare("_dsa_split_backend_resolution", std::move(declared));
}

// The fused and the JIT top-k kernels exist for CUDA only.
void disable_unported_topk(Resolution& r) {
  if (r.env_text("SGLANG_DSA_FUSE_TOPK") != nullptr && r.env_bool("SGLANG_DSA_FUSE_TOPK", true)) {
    r.warn(kStep, "SGLANG_DSA_FUSE_TOPK is turned off: XPU has no fused top-k kernel");
  }
  r.env()["SGLANG_DSA_FUSE_TOPK"] = "False";
  r.env()["SGLANG_OPT_USE_TOPK_V2"] = "False";
}

void check_cache_layer_split(Resolution& r) {
  if (!r.on(Field::enable_dsa_cache_layer_split)) return;
  const auto refuse = [&](const char* message) { r.refuse(RF::kOther, "ValueError", kStep, message); };
  if (!r.is(Field::disaggregation_mode, "prefill")) {
    refuse("--enable-dsa-cache-layer-split is for prefill servers of a disaggregated deployment only");
  }
  if (!r.on(Field::enable_prefill_cp) || !r.is(Field::cp_strategy, "interleave")) {
    refuse("--enable-dsa-cache-layer-split needs --enable-prefill-cp and --cp-strategy interleave");
  }
  if (!r.is(Field::disaggregation_transfer_backend, "mooncake")) {
    refuse("--enable-dsa-cache-layer-split needs --disaggregation-transfer-backend mooncake");
  }
  if (r.integer(Field::pp_size) > 1) refuse("--enable-dsa-cache-layer-split does not go with --pp-size above 1");
}

// 0.5.11 takes every device but Ascend's for CUDA here, and torch refuses: sparse attention never starts. What is
// assigned on the way is lost.
[[noreturn]] void ask_for_cuda(Resolution& r) {
  const char* step = kStep;
  if (r.on(Field::enable_nsa_prefill_context_parallel)) {
    r.warn(step, "prefill context parallelism was tried on Hopper only");
    if (r.is(Field::nsa_prefill_cp_mode, "in-seq-split")) {
      r.warn(step, "in-seq-split sets --moe-dense-tp-size 1, --moe-a2a-backend deepep and --ep-size to --tp-size");
    } else {
      r.require(RF::kOther, r[Field::dp_size] == Value(1), step, "round-robin-split needs --dp-size 1");
    }
    r.require(RF::kOther, r[Field::tp_size] == Value(8), step, "prefill context parallelism needs --tp-size 8");
    r.warn(step, "prefill context parallelism of sparse attention is on");
  } else if (r.integer(Field::dp_size) < r.integer(Field::tp_size)) {
    r.warn(step, "attention weights of this model are spread over the ranks of --tp-size");
  }
  r.warn(step, "the page size of sparse attention is 64");
  constexpr const char* kTorch = "no_cuda";  // the name that describing an Intel GPU gives torch's own refusal
  r.refuse(RF::kSparseOnCudaOnly, "AssertionError", kTorch,
           "SGLang 0.5.11 asks torch for a CUDA device for this model; 0.5.12 does not");
}

}  // namespace

void adjust_for_sparse_attention(Resolution& r, const ModelFacts& model) {
  set_dense_threshold(r, model);
  if (r.before(v0_5(15)) && is_attention_backend_not_set(r)) {
    r.set(kStep, Field::attention_backend, r.since(v0_5(13)) ? "dsa" : "nsa");
  }
  if (r.before(v0_5(12))) ask_for_cuda(r);
  if (r.since(v0_5(13))) refuse_two_batch_overlap(r, model);
  if (r.since(v0_5(20))) {
    default_kv_cache_dtype(r);
    default_split_backends(r);
    disable_unported_topk(r);
  }
  const Field prefill_cp = r.since(v0_5(14))   ? Field::enable_prefill_cp
                           : r.since(v0_5(13)) ? Field::enable_dsa_prefill_context_parallel
                                               : Field::enable_nsa_prefill_context_parallel;
  if (r.on(prefill_cp)) {
    r.require(RF::kOther, !r.is(Field::disaggregation_mode, "decode"), kStep,
              "prefill context parallelism has no use on a decode server of a disaggregated deployment");
  }
  if (r.since(v0_5(15))) check_cache_layer_split(r);
}

}  // namespace preflight::resolve
