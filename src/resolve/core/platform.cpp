// What the device itself forces: XPU backends, runtime checks, communication pre-warm.
//
// Sources: arg_groups/platform_hook.py and kernel_plugins/*/binding.py (0.5.20 and later), ServerArgs._handle_* before.
// Tested by tests/resolve_attention_test.cpp.
#include "src/resolve/core/platform.h"

#include "src/facts/host_memory.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {

void handle_hardware_runtime_validation(Resolution& r) {
  if (r.env_bool("SGLANG_USE_MLX", false)) {
    r.refuse(RF::kOther, "RuntimeError", "_validate_runtime",
             "SGLANG_USE_MLX asks for the MLX runtime, which needs Apple silicon");
  }
}

namespace {

// Graph capture for decode is opt-in on an Intel GPU, and only whole-forward capture exists.
void limit_decode_graph(Resolution& r) {
  if (!graph_locked(r, kDecode, "backend")) {
    turn_graph_off(r, "_handle_xpu_backends", kDecode);
    return;
  }
  if (graph_backend_is(r, kDecode, "disabled") || graph_backend_is(r, kDecode, "full")) return;
  r.warn("handle_xpu_backends", "the decode graph backend is not available on XPU (only full is); it is turned off");
  turn_graph_off(r, "_handle_xpu_backends", kDecode);
}

// Up to 0.5.16 an explicit prefill backend falls here.
void limit_prefill_graph(Resolution& r) {
  if (graph_backend_is(r, kPrefill, "disabled") || graph_backend_is(r, kPrefill, "tc_piecewise")) return;
  r.warn("handle_xpu_backends", "the prefill graph backend is not available on XPU; it is turned off");
  turn_graph_off(r, "_handle_xpu_backends", kPrefill);
}

}  // namespace

void handle_xpu_backends(Resolution& r) {
  if (!r.is(Field::device, "xpu")) return;
  if (r.before(v0_5(14))) {
    if (!r.on(Field::disable_piecewise_cuda_graph)) {
      r.warn("_handle_xpu_backends", "piecewise graphs do not exist on XPU and are turned off");
    }
    r.set("_handle_xpu_backends", Field::disable_piecewise_cuda_graph, true);
    return;
  }
  if (r.before(v0_5(15))) {
    if (graph_backend_is(r, kPrefill, "disabled")) return;
    r.warn("_handle_xpu_backends", "prefill graphs do not exist on XPU and are turned off");
    turn_graph_off(r, "_handle_xpu_backends", kPrefill);
    return;
  }
  if (r.since(v0_5(21)) && r.none(Field::sampling_backend)) {
    r.declare("_handle_xpu_backends", {{Field::sampling_backend, "intel_xpu"}});
  }
  if (r.none(Field::enable_fused_qk_norm_rope)) {
    r.declare("_handle_xpu_backends", {{Field::enable_fused_qk_norm_rope, true}});
  }
  limit_decode_graph(r);
  if (r.before(v0_5(17))) limit_prefill_graph(r);
}

void handle_cpu_backends(Resolution& r) {
  if (!r.is(Field::device, "cpu")) return;
  if (r.none(Field::attention_backend)) r.change("_handle_cpu_backends", Field::attention_backend, "intel_amx");
  r.change("_handle_cpu_backends", Field::sampling_backend, "pytorch");  // an x86 host is assumed
}

void note_unknown_host_memory(Resolution& r) {
  const bool decided = !r.raw(Field::chunked_prefill_size).is_none() && !r.raw(Field::mem_fraction_static).is_none();
  if (r.is(Field::device, "cpu") && facts::host_memory_mib(r.device(), r.release()) <= 0 && !decided)
    r.unmodelled(Field::device);
}

void handle_symm_mem_device_support(Resolution& r) {
  if (!r.on(Field::enable_symm_mem)) return;
  r.warn("handle_symm_mem_device_support", "--enable-symm-mem needs NCCL symmetric memory and is turned off on XPU");
  r.declare("_handle_symm_mem_device_support", {{Field::enable_symm_mem, false}});
}

void handle_nccl_pre_warm(Resolution& r) {
  if (!r.on(Field::pre_warm_nccl)) return;
  r.warn("_handle_nccl_pre_warm", "--pre-warm-nccl has no effect on XPU and is turned off");
  r.change("_handle_nccl_pre_warm", Field::pre_warm_nccl, false);
}

void handle_kernel_plugins(Resolution& r) {
  if (r.on(Field::enable_nvidia_megakernel)) {
    r.refuse(RF::kOther, "ValueError", "handle_nvidia_megakernel",
             "--enable-nvidia-megakernel needs a plugin for NVIDIA GPUs");
  }
  if (r.on(Field::enable_amd_monokernel)) {
    r.model();
    r.refuse(RF::kOther, "ValueError", "handle_amd_monokernel", "--enable-amd-monokernel needs an AMD GPU");
  }
}

}  // namespace preflight::resolve
