// Sequence parallelism between layers (--enable-layernorm-sp). Upstream: arg_groups/layernorm_sp_hook.py.
// Tested by tests/resolve_parallel_test.cpp.
#include "src/resolve/models/model_queries.h"
#include "src/resolve/parallel/parallel.h"

namespace preflight::resolve {
namespace {

constexpr const char* kStep = "handle_layernorm_sp";

void validate_muse_spark(Resolution& r, bool mega_moe) {
  const auto refuse = [&](const char* message) {
    r.refuse(RF::kOther, "ValueError", "validate_layernorm_sp", message);
  };
  const std::int64_t tp = r.integer(Field::tp_size);
  if (r[Field::ep_size] != Value(tp) || (tp != 4 && tp != 8)) {
    refuse("Muse Spark with --enable-layernorm-sp needs --tp-size and --ep-size both 4 or both 8");
  }
  const bool bf16_experts = r.none(Field::quantization) && mega_moe;
  if (!r.is(Field::quantization, "modelopt_fp4") && !bf16_experts) {
    refuse("Muse Spark with --enable-layernorm-sp needs --quantization modelopt_fp4");
  }
  if (mega_moe && !r.one_of(Field::moe_a2a_backend, {"none", "flashinfer"})) {
    refuse("--enable-megamoe-for-layernorm-sp needs --moe-a2a-backend none or flashinfer");
  }
  if (!mega_moe && !r.is(Field::moe_a2a_backend, "flashinfer")) {
    refuse("Muse Spark with --enable-layernorm-sp needs --moe-a2a-backend flashinfer");
  }
  if (!r.is(Field::moe_runner_backend, "flashinfer_trtllm")) {
    refuse("Muse Spark with --enable-layernorm-sp needs --moe-runner-backend flashinfer_trtllm");
  }
}

void validate(Resolution& r, const std::string& arch, bool mega_moe) {
  const auto refuse = [&](const char* message) {
    r.refuse(RF::kOther, "ValueError", "validate_layernorm_sp", message);
  };
  const bool muse = r.since(v0_5(23)) && arch == "MuseSparkForConditionalGeneration";
  if (mega_moe && !muse) refuse("--enable-megamoe-for-layernorm-sp is for Muse Spark only");
  if (!muse && arch != "Qwen3ForCausalLM") refuse("--enable-layernorm-sp is for Qwen3 and Muse Spark only");
  if (r.integer(Field::tp_size) <= 1) refuse("--enable-layernorm-sp needs --tp-size above 1");
  if (muse) validate_muse_spark(r, mega_moe);
  if (attn_dp_enabled(r)) refuse("--enable-layernorm-sp does not go with attention data parallelism");
  if (!r.none(Field::speculative_algorithm) && !(muse && r.is(Field::speculative_algorithm, "DFLASH"))) {
    refuse("--enable-layernorm-sp does not go with this speculative algorithm");
  }
  if (r.since(v0_5(22)) && r.integer(Field::pp_size) > 1)
    refuse("--enable-layernorm-sp does not go with pipeline parallelism");
}

void check_mega_moe_budget(Resolution& r) {
  const std::int64_t chunk = r.integer(Field::chunked_prefill_size);
  const std::int64_t budget = chunk > 0 ? chunk : r.integer(Field::max_prefill_tokens);
  const std::int64_t capacity = r.env_int("SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK", 8192);
  const auto refuse = [&](const char* message) {
    r.refuse(RF::kOther, "ValueError", "validate_muse_megamoe_token_budget", message);
  };
  if (capacity <= 0 || budget <= 0) refuse("MegaMoE of Muse Spark needs positive token budgets");
  const std::int64_t tp = r.integer(Field::tp_size);
  if ((budget + tp - 1) / tp > capacity) {
    refuse("a prefill chunk is above SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK per rank");
  }
}

void run_mega_moe(Resolution& r) {
  const auto refuse = [&](const char* message) { r.refuse(RF::kOther, "ValueError", kStep, message); };
  if (r.on(Field::enable_mixed_chunk)) refuse("--enable-megamoe-for-layernorm-sp excludes --enable-mixed-chunk");
  check_mega_moe_budget(r);
  if (r[Field::pp_size] != Value(1)) refuse("--enable-megamoe-for-layernorm-sp needs --pp-size 1");
  const bool breakable = graph_backend_is(r, kPrefill, "breakable");
  if (breakable) {
    const std::int64_t chunk = r.integer(Field::chunked_prefill_size);
    if (chunk <= 0) refuse("the breakable prefill graph of Muse Spark needs a positive --chunked-prefill-size");
    const Value sizes = graph_setting(r, kPrefill, "bs");
    std::int64_t largest = 0;
    if (sizes.is_list()) {
      for (const Value& size : sizes.as_list()) largest = std::max(largest, size.as_int());
    }
    if (largest < chunk) refuse("the largest prefill graph is smaller than --chunked-prefill-size");
  }
  r.declare(kStep,
            {{Field::cuda_graph_config, graph_with(r, kPrefill, {{"backend", breakable ? "breakable" : "disabled"}})}});
}

}  // namespace

void handle_layernorm_sp(Resolution& r) {
  const bool mega_moe = r.on(Field::enable_megamoe_for_layernorm_sp);
  if (!r.on(Field::enable_layernorm_sp)) {
    if (mega_moe) {
      r.refuse(RF::kOther, "ValueError", kStep, "--enable-megamoe-for-layernorm-sp needs --enable-layernorm-sp");
    }
    return;
  }
  const ModelFacts& model = r.model();
  const std::string arch = model.architectures.empty() ? std::string() : model.architectures.front();
  validate(r, arch, mega_moe);
  if (arch != "MuseSparkForConditionalGeneration") return;
  if (mega_moe) {
    run_mega_moe(r);
  } else if (r.env_bool("SGLANG_MOE_NVFP4_DISPATCH", false)) {
    r.refuse(RF::kOther, "ValueError", kStep,
             "Muse Spark with --enable-layernorm-sp needs SGLANG_MOE_NVFP4_DISPATCH=0");
  }
}

}  // namespace preflight::resolve
