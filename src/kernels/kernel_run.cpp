// Buffers with guard bands, program, results of one kernel invocation. Tested by tests/kernels/runner_test.cpp.
#include "src/kernels/kernel_run.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/kernels/defects.h"
#include "src/kernels/launchers.h"
#include "src/kernels/tiles.h"

namespace preflight {
namespace {

constexpr std::byte kUnwritten{0xFF};

// A GPU as OpenCL guarantees it at least in practice: many items, 64 KiB of local memory, and no engine but one that is
// asked for (on Intel's runtime for CPUs, which has sub-groups, too, the compiler refuses the options that go with
// them). A simulator, which says it is both, is a CPU until it is asked to be a GPU.
DeviceInfo tile_device(const opencl::Session& session, const RunOptions& options) {
  constexpr std::int64_t kGpuLocalBytes = 65536;
  DeviceInfo device = session.info();
  if (!options.as_gpu) {
    device.is_cpu = device.is_cpu || session.is_simulator();
    return device;
  }
  device = tiles::without_engine(std::move(device));
  device.is_cpu = false;
  device.is_gpu = true;
  if (options.plain_tiles) device.extensions += " " + std::string(tiles::kPlainTiles);
  if (options.emulated_lanes > 0) {
    const bool own = session.info().extensions.find("cl_intel_subgroup_local_block_io") != std::string::npos;
    device.extensions +=
        fmt::format(" {}{}", own ? tiles::kEmulatedProducts : tiles::kEmulatedSubGroup, options.emulated_lanes);
  }
  device.local_memory_bytes = std::min(device.local_memory_bytes, kGpuLocalBytes);
  return device;
}

}  // namespace

KernelRun::KernelRun(opencl::Session& session, const Kernel& kernel, const SampleBatch& batch,
                     const RunOptions& options)
    : session_(session),
      batch_(batch),
      guard_bytes_(session.is_simulator() ? 0 : kGuardBytes),
      spoils_local_memory_(!session.is_simulator()),
      device_(tile_device(session, options)),
      program_(program_of(kernel, batch.kernel_case, device_, options)) {
  for (const Tensor& input : batch.inputs) {
    const auto front = batch.in_front.find(input.name);
    const std::int64_t in_front = front == batch.in_front.end() ? 0 : front->second;
    add(input.name, in_front + static_cast<std::int64_t>(input.bytes.size()), &input.bytes, in_front);
  }
  for (const OutputSpec& output : batch.outputs) add_output(output);
  const KernelCase sized_for = defects::workspace_case(batch.kernel_case, options.defect);
  add(std::string(kWorkspace), kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(sized_for), nullptr);
}

// What is in front of the content stays as the device gives it: it is not touched, and may be larger than memory.
void KernelRun::add(std::string name, std::int64_t bytes, const std::vector<std::byte>* content,
                    std::int64_t in_front) {
  if (guard_bytes_ == 0) {
    const opencl::Buffer whole = session_.allocate(std::max<std::int64_t>(bytes, 1));
    session_.fill(whole, kUnwritten, in_front);
    if (content != nullptr) session_.write(whole, *content, in_front);
    buffers_.push_back({std::move(name), bytes, whole, whole, in_front});
    return;
  }
  // Bytes up to the alignment of the view belong to the guard behind.
  Guarded guarded{
      std::move(name), bytes, session_.allocate(2 * kGuardBytes + sizing::align_up(bytes, kGuardBytes)), {}, in_front};
  if (content == nullptr || in_front > 0) {
    session_.fill(guarded.whole, kUnwritten, in_front);
  } else {  // what is written next is not filled before: caches are most of a sample's bytes
    static const std::vector<std::byte> guard(kGuardBytes, kUnwritten);
    session_.write(guarded.whole, guard, 0);
    session_.fill(guarded.whole, kUnwritten, kGuardBytes + bytes);
  }
  if (content != nullptr) session_.write(guarded.whole, *content, kGuardBytes + in_front);
  guarded.inner = session_.view(guarded.whole, kGuardBytes, std::max<std::int64_t>(bytes, 1));
  buffers_.push_back(std::move(guarded));
}

void KernelRun::add_output(const OutputSpec& output) {
  const std::int64_t bytes = Tensor(output.name, output.dtype, output.shape).count() * size_of(output.dtype);
  add(output.name, bytes, nullptr);
  const bool is_integer = output.dtype == DType::kI32 || output.dtype == DType::kI64;
  if (!is_integer || bytes == 0) return;
  const opencl::Buffer& whole = buffers_.back().whole;
  session_.fill(whole, kUnwrittenByte, guard_bytes_);
  if (guard_bytes_ > 0) session_.fill(whole, kUnwritten, guard_bytes_ + bytes);
}

const KernelRun::Guarded& KernelRun::find(std::string_view name) const {
  const auto found = std::ranges::find(buffers_, name, &Guarded::name);
  assert(found != buffers_.end());
  return *found;
}

const opencl::Buffer& KernelRun::buffer(std::string_view name) const { return find(name).inner; }

opencl::KernelObject KernelRun::kernel(const std::string& function) {
  const auto known = kernels_.find(function);
  if (known != kernels_.end()) return known->second;
  return kernels_.emplace(function, session_.kernel(program_.source, program_.options, function)).first->second;
}

void KernelRun::run(const opencl::KernelObject& kernel, opencl::Grid items, opencl::Grid group) {
  if (spoils_local_memory_ && kernel.local_bytes() > 0) spoil_local_memory(kernel.local_bytes());
  session_.run(kernel, items, group);
}

void KernelRun::spoil_local_memory(std::int64_t bytes) {
  constexpr std::int64_t kPadding = 1024;  // of what a driver puts between arrays
  constexpr std::int64_t kGroupsPerUnit = 2;
  const std::int64_t most = session_.info().local_memory_bytes;
  const opencl::LocalMemory memory{std::min(bytes + kPadding, most)};
  const Program program = leftovers_program(session_.info());
  opencl::KernelObject leave_no_zeros = session_.kernel(program.source, program.options, "leave_no_zeros");
  leave_no_zeros.args(memory, static_cast<std::int32_t>(memory.bytes / size_of(DType::kI32)));
  session_.run(leave_no_zeros, {kGroupsPerUnit * std::max<std::int64_t>(1, session_.info().compute_units), 1, 1},
               {1, 1, 1});
}

void run_merge(KernelRun& run, const opencl::KernelObject& merge, std::int64_t width, std::int64_t rows) {
  const DeviceInfo& device = run.device();
  const std::int64_t items = width / merge_width(device);
  run.run(merge, {items, rows, 1}, {device.is_cpu ? 1 : items, 1, 1});
}

std::vector<Tensor> KernelRun::outputs() {
  std::vector<Tensor> results;
  for (const OutputSpec& output : batch_.outputs) results.emplace_back(output.name, output.dtype, output.shape);
  for (const std::string& name : batch_.in_place) {
    const Tensor& input = batch_.input(name);
    results.emplace_back(name, input.dtype, input.shape);
  }
  for (Tensor& result : results) session_.read(find(result.name).whole, result.bytes, guard_bytes_);
  return results;
}

bool KernelRun::is_as_given(const Tensor& input) {
  const Guarded& guarded = find(input.name);
  return session_.holds(guarded.whole, input.bytes, guard_bytes_ + guarded.in_front);
}

std::vector<std::string> KernelRun::changed_inputs() {
  std::vector<std::string> changed;
  for (const Tensor& input : batch_.inputs) {
    const bool in_place = std::ranges::find(batch_.in_place, input.name) != batch_.in_place.end();
    if (!in_place && !is_as_given(input)) changed.push_back(input.name);
  }
  return changed;
}

std::vector<std::string> KernelRun::broken_canaries() {
  std::vector<std::string> broken;
  if (guard_bytes_ == 0) return broken;
  std::vector<std::byte> guard;
  const auto intact = [&](const Guarded& guarded, std::int64_t offset, std::int64_t bytes) {
    guard.resize(static_cast<std::size_t>(bytes));
    session_.read(guarded.whole, guard, offset);
    // All bytes are the first one: each equals the one before.
    return guard.front() == kUnwritten && std::memcmp(guard.data(), guard.data() + 1, guard.size() - 1) == 0;
  };
  for (const Guarded& guarded : buffers_) {
    const std::int64_t behind = kGuardBytes + guarded.bytes;
    const bool has_front = guarded.in_front == 0;
    if ((has_front && !intact(guarded, 0, kGuardBytes)) || !intact(guarded, behind, guarded.whole.bytes() - behind)) {
      broken.push_back(guarded.name);
    }
  }
  return broken;
}

}  // namespace preflight
