#include "tests/bench/device_peaks.h"

#include <fmt/format.h>

namespace preflight::bench {
namespace {

// A CPU item owns a core and its vectors; a GPU wants many narrow items whose accesses lie side by side.
constexpr const char* kSource = R"(
#if WIDTH == 1
typedef float vec_t;
#else
typedef float8 vec_t;
#endif

kernel void peak_fma(global float* out, float a, float b, int steps) {
  vec_t x[CHAINS];
#pragma unroll
  for (int j = 0; j < CHAINS; ++j) x[j] = (vec_t)(j + (float)get_global_id(0));
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int j = 0; j < CHAINS; ++j) x[j] = fma(x[j], (vec_t)(a), (vec_t)(b));
  }
  vec_t sum = x[0];
#pragma unroll
  for (int j = 1; j < CHAINS; ++j) sum += x[j];
#if WIDTH == 1
  out[get_global_id(0)] = sum;
#else
  float parts[8];
  vstore8(sum, 0, parts);
  out[get_global_id(0)] = parts[0] + parts[1] + parts[2] + parts[3] + parts[4] + parts[5] + parts[6] + parts[7];
#endif
}

// Element i of an item: get_global_id(0) * item_stride + i * step.
kernel void peak_read(global const uint8* from, global uint* out, int count, int item_stride, int step) {
  global const uint8* p = from + (size_t)get_global_id(0) * item_stride;
  uint8 a = 0;
  uint8 b = 0;
  uint8 c = 0;
  uint8 d = 0;
  for (int i = 0; i < count; i += 4) {
    a ^= p[(size_t)i * step];
    b ^= p[(size_t)(i + 1) * step];
    c ^= p[(size_t)(i + 2) * step];
    d ^= p[(size_t)(i + 3) * step];
  }
  a ^= b ^ c ^ d;
  out[get_global_id(0)] = a.s0 ^ a.s1 ^ a.s2 ^ a.s3 ^ a.s4 ^ a.s5 ^ a.s6 ^ a.s7;
}

kernel void peak_copy(global const uint4* from, global uint4* to, int count, int item_stride, int step) {
  const size_t first = (size_t)get_global_id(0) * item_stride;
#pragma unroll 4
  for (int i = 0; i < count; ++i) to[first + (size_t)i * step] = from[first + (size_t)i * step];
}
)";

struct Shape {
  std::int64_t items = 0;
  std::int64_t group = 0;
  int width = 0;
  int chains = 0;
  int steps = 0;
  std::int64_t bytes = 0;  // read or copied at a time: far more than caches hold
};

Shape shape_of(const DeviceInfo& device) {
  if (device.is_cpu) return {device.compute_units, 1, 8, 12, 200'000, std::int64_t{64} << 20};
  return {std::max<std::int64_t>(device.compute_units, 1) * 2048, 256, 1, 8, 4096, std::int64_t{1} << 30};
}

}  // namespace

DevicePeaks::DevicePeaks(opencl::Session& session) : session_(session) {
  const Shape shape = shape_of(session.info());
  from_ = session.allocate(shape.bytes);
  to_ = session.allocate(shape.bytes);
  sums_ = session.allocate(shape.items * 16);
  session.fill(from_, std::byte{1});
  session.fill(to_, std::byte{2});
  sample();  // compiles, and touches all memory
  flops_ = read_ = copy_ = {};
}

void DevicePeaks::take(Rate& rate, double work, const opencl::KernelObject& kernel, opencl::Grid items,
                       opencl::Grid group) {
  const Elapsed time = elapsed(session_.info().compute_units, [&] {
    session_.run(kernel, items, group);
    session_.finish();
  });
  rate.wall.push_back(work / time.wall);
  rate.busy.push_back(work / time.busy);
}

void DevicePeaks::sample() {
  const Shape shape = shape_of(session_.info());
  const bool is_cpu = session_.info().is_cpu;
  const std::string options = fmt::format("-cl-std=CL1.2 -DWIDTH={} -DCHAINS={}", shape.width, shape.chains);
  const opencl::Grid group{shape.group, 1, 1};

  opencl::KernelObject fma = session_.kernel(kSource, options, "peak_fma");
  fma.args(sums_, 0.999f, 0.001f, shape.steps);
  const double operations = 2.0 * shape.width * shape.chains * shape.steps * static_cast<double>(shape.items);
  take(flops_, operations, fma, {shape.items, 1, 1}, group);

  // Items in blocks on a CPU, item beside item on a GPU.
  const auto bytes = static_cast<double>(shape.bytes);
  const auto layout = [&](std::int64_t element, std::int64_t items) {
    const auto count = static_cast<std::int32_t>(shape.bytes / element / items);
    return std::array<std::int32_t, 3>{count, is_cpu ? count : 1, is_cpu ? 1 : static_cast<std::int32_t>(items)};
  };
  const std::int64_t items = is_cpu ? shape.items : std::int64_t{1} << 18;
  opencl::KernelObject read = session_.kernel(kSource, options, "peak_read");
  const auto [read_count, read_item, read_step] = layout(32, items);
  read.args(from_, sums_, read_count, read_item, read_step);
  take(read_, bytes, read, {items, 1, 1}, group);

  opencl::KernelObject copy = session_.kernel(kSource, options, "peak_copy");
  const auto [copy_count, copy_item, copy_step] = layout(16, items);
  copy.args(from_, to_, copy_count, copy_item, copy_step);
  take(copy_, 2.0 * bytes, copy, {items, 1, 1}, group);
}

}  // namespace preflight::bench
