// --device mps, hpu, npu, musa on a host with an Intel GPU. (cpu is a working device: platform.cpp.)
#include "src/resolve/core/other_devices.h"

#include <string>

namespace preflight::resolve {

// Runs on the raw argument: the index is not cut off yet.
void validate_mps_runtime(Resolution& r) {
  const std::string device = r.text(Field::device);
  if (device.substr(0, device.find(':')) != "mps") return;
  r.refuse(RF::kOther, "RuntimeError", "validate_mps_runtime", "--device mps needs an Apple GPU");
}

void handle_hpu_backends(Resolution& r) {
  if (!r.is(Field::device, "hpu")) return;
  r.change("_handle_hpu_backends", Field::attention_backend, "torch_native");
  r.change("_handle_hpu_backends", Field::sampling_backend, "pytorch");
}

void handle_npu_backends(Resolution& r) {
  if (!r.is(Field::device, "npu")) return;
  r.refuse(RF::kOther, "ImportError", "get_npu_memory_capacity", "--device npu needs torch_npu and an Ascend device");
}

void handle_mps_backends(Resolution& r) {
  if (r.is(Field::device, "mps")) r.change("_handle_mps_backends", Field::disable_overlap_schedule, true);
}

void require_device_tools(Resolution& r) {
  if (r.is(Field::device, "hpu")) {
    r.refuse(RF::kOther, "RuntimeError", "get_hpu_memory_capacity", "--device hpu needs hl-smi and a Habana device");
  }
  if (r.is(Field::device, "musa")) {
    r.refuse(RF::kOther, "ValueError", "get_mtgpu_memory_capacity", "--device musa needs a Moore Threads GPU");
  }
}

}  // namespace preflight::resolve
