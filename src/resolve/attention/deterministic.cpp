// Deterministic inference: the sampling and attention backends it needs, and what it turns off.
//
// Sources: handle_deterministic_inference in arg_groups/attention_hook.py with the _deterministic_* passes of
// arg_groups/overrides.py; ServerArgs._handle_deterministic_inference before 0.5.20.
// Tested by tests/resolve_attention_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/resolve/attention/attention.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

constexpr std::string_view kSource = "_handle_deterministic_inference";

// Name of a pass since 0.5.15, when the handler was cut up; the handler before.
std::string_view pass(const Resolution& r, std::string_view name) { return r.since(v0_5(15)) ? name : kSource; }

void enable_for_reinforcement_learning(Resolution& r) {
  if (r.none(Field::rl_on_policy_target)) return;
  r.warn(kSource, "--rl-on-policy-target turns deterministic inference on");
  r.change(kSource, Field::enable_deterministic_inference, true);
  r.env()["SGLANG_VLM_CACHE_SIZE_MB"] = "0";
  r.env()["SGLANG_ENABLE_DETERMINISTIC_INFERENCE"] = "True";
}

void disable_allreduce_fusion(Resolution& r) {
  if (r.on(Field::enable_aiter_allreduce_fusion)) {
    r.warn(kSource, "--enable-aiter-allreduce-fusion is not deterministic and is turned off");
    r.change(kSource, Field::enable_aiter_allreduce_fusion, false);
  }
  if (r.before(v0_5(12))) return;
  const std::string_view step = pass(r, "_deterministic_allreduce_fusion_disable");
  const std::string_view message = "FlashInfer's fused all-reduce is not deterministic and is turned off";
  if (field_exists(Field::flashinfer_allreduce_fusion_backend, r.release())) {
    if (r.none(Field::flashinfer_allreduce_fusion_backend)) return;
    r.warn(step, std::string(message));
    r.change(step, Field::flashinfer_allreduce_fusion_backend, {});
  } else if (r.on(Field::enable_flashinfer_allreduce_fusion)) {
    r.warn(step, std::string(message));
    r.change(step, Field::enable_flashinfer_allreduce_fusion, false);
  }
}

void force_pytorch_sampling(Resolution& r) {
  if (r.since(v0_5(13)) && r.is(Field::sampling_backend, "ascend")) return;
  const std::string_view step = pass(r, "_deterministic_sampling_backend");
  r.warn(step, "deterministic inference samples with the pytorch backend");
  r.change(step, Field::sampling_backend, "pytorch");
}

bool is_deepseek(Resolution& r) {
  if (model_is_remote_instance(r)) return false;
  const auto& architectures = r.model().architectures;
  if (architectures.empty()) return false;
  const std::string& arch = architectures.front();
  const auto is_any = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), arch) != names.end();
  };
  if (is_any({"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "MistralLarge3ForCausalLM",
              "PixtralForConditionalGeneration", "GlmMoeDsaForCausalLM"})) {
    return true;
  }
  return (r.since(v0_5(18)) && is_any({"Glm4MoeLiteForCausalLM"})) ||
         (r.since(v0_5(20)) && is_any({"Glm5NextForConditionalGeneration"}));
}

void check_attention_backend(Resolution& r) {
  const std::string_view step = pass(r, "_deterministic_attention_backend");
  if (r.none(Field::attention_backend)) {
    // Upstream assumes Hopper or older where it knows no newer NVIDIA GPU; fa3 then fails on XPU at start.
    r.warn(step, "deterministic inference selects fa3; on XPU give --attention-backend triton or intel_xpu");
    r.change(step, Field::attention_backend, "fa3");
    return;
  }
  const bool reproducible = r.one_of(Field::attention_backend, {"flashinfer", "fa3", "triton", "ascend"}) ||
                            (r.since(v0_5(16)) && r.is(Field::attention_backend, "fa4")) ||
                            (r.since(v0_5(19)) && r.is(Field::attention_backend, "intel_xpu"));
  if (!reproducible) {
    r.refuse(RF::kDeterministicBackend, "ValueError", std::string(step),
             fmt::format("attention backend {} is not deterministic", r.text(Field::attention_backend)));
  }
}

void check_deepseek_backend(Resolution& r) {
  const bool fits = r.one_of(Field::attention_backend, {"fa3", "triton"}) ||
                    (r.since(v0_5(17)) && r.is(Field::attention_backend, "ascend"));
  if (!fits) {
    r.refuse(RF::kDeterministicBackend, "ValueError", kSource,
             "deterministic inference of DeepSeek models needs --attention-backend triton (fa4 a Blackwell GPU)");
  }
}

}  // namespace

void handle_deterministic_inference(Resolution& r) {
  enable_for_reinforcement_learning(r);
  if (!r.on(Field::enable_deterministic_inference)) return;
  disable_allreduce_fusion(r);
  force_pytorch_sampling(r);
  const bool deepseek = is_deepseek(r);
  check_attention_backend(r);
  if (deepseek) check_deepseek_backend(r);
  const bool radix_supported = r.one_of(Field::attention_backend, {"fa3", "triton", "ascend"}) ||
                               (r.since(v0_5(16)) && r.is(Field::attention_backend, "fa4"));
  if (!radix_supported) {
    r.change(kSource, Field::disable_radix_cache, true);
    r.warn(kSource, fmt::format("the radix cache is turned off: {} is not deterministic with it",
                                r.text(Field::attention_backend)));
  }
  if (r.integer(Field::tp_size) <= 1) return;
  r.env()["NCCL_ALGO"] = "allreduce:tree";
  r.change(kSource, Field::disable_custom_all_reduce, true);
  if (r.since(v0_5(18))) r.change(kSource, Field::enable_torch_symm_mem, false);
  r.warn(kSource, "tensor parallelism runs tree all-reduce without the custom one, to stay deterministic");
}

void deterministic_enforces_no_allreduce_fusion(Resolution& r) {
  if (!r.on(Field::enable_deterministic_inference)) return;
  r.set("__post_init__", Field::enforce_disable_flashinfer_allreduce_fusion, true);
}

}  // namespace preflight::resolve
