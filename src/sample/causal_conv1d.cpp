// Sample batches of the causal convolution. Tested by tests/sample_test.cpp.
//
// Requests own shuffled slots of the state pool; the others are NaN, and must stay so bit by bit. With --zero-state
// every second request, the first one too, has nothing before it: what its slot holds is another's, and NaN.
#include "preflight/sizing.h"
#include "src/sample/convolution.h"
#include "src/sample/random.h"
#include "src/sample/sample_size.h"
#include "src/sample/samples.h"

namespace preflight::sample {
namespace {

constexpr std::int64_t kSpareSlots = 2;

Tensor drawn(const KernelCase& kernel_case, const char* name, std::vector<std::int64_t> shape, double gain) {
  Tensor tensor(name, kernel_case.dtype, std::move(shape));
  const Random random(kernel_case.seed, name);
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, gain * random.normal(i));
  return tensor;
}

}  // namespace

std::int64_t convolution_channels(const KernelCase& kernel_case) {
  return 2 * kernel_case.num_q_heads * kernel_case.head_dim + kernel_case.value_heads() * kernel_case.value_dim();
}

std::int64_t convolution_window(const KernelCase& kernel_case) {
  constexpr std::int64_t kUsual = 3;
  return kernel_case.window < 0 ? kUsual : kernel_case.window;
}

Result<SampleBatch> causal_conv1d(const KernelCase& kernel_case) {
  constexpr double kPeakedGain = 100.0;
  if (kernel_case.query_lens.empty()) return failure("--query-lens names no request");
  const auto requests = static_cast<std::int64_t>(kernel_case.query_lens.size());
  if (kernel_case.padded > requests) return failure("--padded counts more requests than there are");
  const std::int64_t channels = convolution_channels(kernel_case);
  const std::int64_t before = convolution_window(kernel_case);
  const double gain = kernel_case.inputs == Inputs::kPeaked ? kPeakedGain : 1.0;
  SampleBatch batch{.kernel_case = kernel_case};
  batch.inputs.push_back(drawn(kernel_case, "x", {delta_tokens(kernel_case), channels}, gain));
  batch.inputs.push_back(drawn(kernel_case, "weight", {channels, before + 1}, 1.0));
  batch.inputs.push_back(drawn(kernel_case, "bias", {channels}, 1.0));
  Tensor state("state", kernel_case.dtype, {requests + kSpareSlots, channels, before});
  Tensor indices("state_indices", DType::kI32, {requests});
  Tensor has_state("has_state", DType::kI32, {requests});
  Tensor starts("cu_seqlens", DType::kI32, {requests + 1});
  const Random random(kernel_case.seed, "state");
  starts.set_int(0, 0);
  for (std::int64_t r = 0; r < requests; ++r) {
    const bool known = !kernel_case.zero_state || r % 2 == 1;
    starts.set_int(r + 1, starts.get_int(r) + kernel_case.query_lens[static_cast<std::size_t>(r)]);
    has_state.set_int(r, known ? 1 : 0);
    const std::int64_t slot = state_slot(kernel_case, r);
    indices.set_int(r, slot);
    if (slot < 0) continue;
    const std::int64_t first = slot * channels * before;
    for (std::int64_t i = first; known && i < first + channels * before; ++i) state.set(i, gain * random.normal(i));
  }
  batch.inputs.push_back(std::move(state));
  batch.inputs.push_back(std::move(indices));
  batch.inputs.push_back(std::move(has_state));
  batch.inputs.push_back(std::move(starts));
  batch.outputs = {{"y", kernel_case.dtype, {delta_tokens(kernel_case), channels}}};
  batch.in_place = {"state"};
  return batch;
}

SampleSize causal_conv1d_size(const KernelCase& c) {
  const double tokens = new_tokens(c);
  const double before = real(convolution_window(c));
  const double states = before * delta_requests(c);
  const double channels = linear_channels(c);
  return {.bytes = channels * (2.0 * tokens + states + before + 1.0) * real(size_of(c.dtype)),
          .numbers = channels * (5.0 * tokens + 2.0 * states),
          .kept = channels * (tokens + states),
          .products = 2.0 * channels * tokens * (before + 1.0)};
}

}  // namespace preflight::sample
