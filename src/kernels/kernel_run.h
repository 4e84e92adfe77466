// KernelRun: one invocation on a device: its buffers with guard bands, its program, its results.
//
// Every buffer lies between two guard bands. Outputs, workspace and all guards start as 0xFF bytes (NaN), outputs of
// integers as what no index is, so that a read past an end and an element never written both show; after the run guards
// are checked, and inputs for what was given. Local memory is filled likewise before each kernel, until the run is
// timed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/kernel.h"
#include "src/kernels/program.h"
#include "src/opencl/opencl.h"

namespace preflight {

class KernelRun {
 public:
  KernelRun(opencl::Session& session, const Kernel& kernel, const SampleBatch& batch, const RunOptions& options);

  // For launchers.
  [[nodiscard]] const SampleBatch& batch() const { return batch_; }
  [[nodiscard]] const DeviceInfo& device() const { return device_; }
  [[nodiscard]] const opencl::Buffer& buffer(std::string_view name) const;  // an input or output of the batch
  [[nodiscard]] const opencl::Buffer& workspace() const { return buffer(kWorkspace); }
  opencl::KernelObject kernel(const std::string& function);
  void run(const opencl::KernelObject& kernel, opencl::Grid items, opencl::Grid group);

  // For the runner.
  void finish() { session_.finish(); }
  void leave_local_memory_alone() { spoils_local_memory_ = false; }
  [[nodiscard]] std::vector<Tensor> outputs();
  [[nodiscard]] std::vector<std::string> broken_canaries();
  [[nodiscard]] std::vector<std::string> changed_inputs();  // less those that are updated in place

  // Wide, so that an overrun hits the guard and not the memory of the driver.
  static constexpr std::int64_t kGuardBytes = 16 * opencl::Session::kViewAlignment;
  static constexpr std::string_view kWorkspace = "workspace";

 private:
  struct Guarded {
    std::string name;
    std::int64_t bytes = 0;
    opencl::Buffer whole;
    opencl::Buffer inner;
    std::int64_t in_front = 0;
  };
  void add(std::string name, std::int64_t bytes, const std::vector<std::byte>* content, std::int64_t in_front = 0);
  void add_output(const OutputSpec& output);
  [[nodiscard]] bool is_as_given(const Tensor& input);
  [[nodiscard]] const Guarded& find(std::string_view name) const;
  void spoil_local_memory(std::int64_t bytes);

  opencl::Session& session_;
  const SampleBatch& batch_;
  std::int64_t guard_bytes_;  // 0 under a simulator, which watches every buffer's own ends
  bool spoils_local_memory_;
  DeviceInfo device_;  // what tiles are chosen for
  Program program_;
  std::map<std::string, opencl::KernelObject> kernels_;  // by function; the session knows them by all their source
  std::vector<Guarded> buffers_;
};

}  // namespace preflight
