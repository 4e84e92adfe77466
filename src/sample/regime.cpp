#include "src/sample/regime.h"

#include <algorithm>
#include <cmath>

namespace preflight::sample {
namespace {

// Of one token among as many others: four fifths of all weight, of which the others share the rest, each of them
// little. What splits hold of them is light beside the one with the token, and still counts.
double sharing_lift(std::int64_t seqlen) { return std::log(static_cast<double>(seqlen)) + 2.0; }
// More than that of any sequence.
constexpr double kMostLift = 20.0;
constexpr double kDriftLift = 20.0;
// Who takes a number for the maximum of nothing loses all weights when it is so much larger than every score that 2 to
// the power of the difference is 0 in fp32: 149 with its denormal numbers. So are 0, -64, -100 and -150.
constexpr double kDriftFloor = -250.0;
// MLA models scale by the head dims before absorption: 128 without position, plus the rotary ones.
constexpr std::int64_t kMlaNopeDim = 128;

bool is_mla(const KernelCase& kernel_case) { return kernel_case.kernel == "mla_decode"; }

// A sink would outweigh all of it, and a cap makes one value of it.
double drift_floor(const KernelCase& kernel_case) {
  return kernel_case.sinks || kernel_case.softcap > 0.0 ? 0.0 : kDriftFloor;
}

}  // namespace

Regime::Regime(Inputs inputs) : inputs_(inputs) {
  if (inputs == Inputs::kPeaked) query_gain = 100.0;
  if (inputs == Inputs::kFlat) query_gain = key_gain = 0.1;
  steered = inputs == Inputs::kDrift || inputs == Inputs::kLast || inputs == Inputs::kPage || inputs == Inputs::kEdge;
}

double Regime::lift(const KernelCase& kernel_case, std::int64_t t, std::int64_t seqlen) const {
  const std::int64_t last = seqlen - 1;
  switch (inputs_) {
    case Inputs::kDrift:
      return drift_floor(kernel_case) + kDriftLift * static_cast<double>(t + 1) / static_cast<double>(seqlen);
    case Inputs::kLast:
      return t == last ? sharing_lift(seqlen) : 0.0;
    case Inputs::kPage:
      return t == last / kernel_case.page_size * kernel_case.page_size ? sharing_lift(seqlen) : 0.0;
    case Inputs::kEdge:
      return t == first_visible(kernel_case, seqlen) ? sharing_lift(seqlen) : 0.0;
    case Inputs::kMid:
    case Inputs::kPeaked:
    case Inputs::kFlat:
      break;
  }
  return 0.0;
}

std::int64_t first_visible(const KernelCase& kernel_case, std::int64_t seqlen) {
  const std::int64_t last = std::max<std::int64_t>(0, seqlen - 1);
  if (kernel_case.kernel == "local_decode") return last / kernel_case.chunk * kernel_case.chunk;
  return kernel_case.window < 0 ? 0 : std::max<std::int64_t>(0, last - kernel_case.window);
}

double score_bound(const KernelCase& kernel_case) {
  const Regime regime(kernel_case.inputs);
  const auto dims = static_cast<double>(is_mla(kernel_case) ? kernel_case.kv_lora_rank + kernel_case.qk_rope_head_dim
                                                            : kernel_case.head_dim);
  constexpr double kSigmas = 6.0;
  // q·k of `dims` independent products has standard deviation sqrt(dims); u adds its own noise and the lift.
  const double deviation =
      query_size(kernel_case) * regime.query_gain * regime.key_gain * std::sqrt(dims) * softmax_scale(kernel_case);
  const double floor = kernel_case.inputs == Inputs::kDrift ? -drift_floor(kernel_case) : 0.0;
  return kSigmas * (regime.steered ? 2.0 : 1.0) * deviation + (regime.steered ? (kMostLift + floor) * 1.5 : 0.0);
}

double query_size(const KernelCase& kernel_case) {
  if (kernel_case.softmax_scale == 0.0 || is_mla(kernel_case)) return 1.0;
  return 1.0 / (kernel_case.softmax_scale * std::sqrt(static_cast<double>(kernel_case.head_dim)));
}

double softmax_scale(const KernelCase& kernel_case) {
  if (kernel_case.softmax_scale > 0.0) return kernel_case.softmax_scale;
  const std::int64_t dims = is_mla(kernel_case) ? kMlaNopeDim + kernel_case.qk_rope_head_dim : kernel_case.head_dim;
  return 1.0 / std::sqrt(static_cast<double>(dims));
}

}  // namespace preflight::sample
