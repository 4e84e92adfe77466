// Reference of the rotary embedding with a position per axis: every pair is a complex number, multiplied by the unit
// number of its angle. The axis of a pair is dealt out section by section, or in turn (interleaved) while an axis has
// pairs left, axis 0 taking the rest. Checked in tests/kernels/reference_test.cpp by rotation matrices and by counting.
#include <complex>

#include "preflight/reference.h"

namespace preflight::reference {
namespace {

std::vector<std::int64_t> axes_of_pairs(const KernelCase& kernel_case, std::int64_t pairs) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(pairs), 0);
  if (kernel_case.sections.empty()) return axes;
  if (kernel_case.interleaved) {
    for (const std::int64_t axis : {1, 2}) {
      const std::int64_t end = 3 * kernel_case.sections[static_cast<std::size_t>(axis)];
      for (std::int64_t j = axis; j < end && j < pairs; j += 3) axes[static_cast<std::size_t>(j)] = axis;
    }
    return axes;
  }
  std::size_t j = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::int64_t i = 0; i < kernel_case.sections[axis]; ++i) axes[j++] = static_cast<std::int64_t>(axis);
  }
  return axes;
}

}  // namespace

std::vector<Expected> mrope(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const Tensor& cos_sin = batch.input("cos_sin");
  const Tensor& positions = batch.input("positions");
  const std::int64_t rotary = cos_sin.shape[1];
  const std::int64_t pairs = rotary / 2;
  const auto axes = axes_of_pairs(kernel_case, pairs);
  std::vector<Expected> expected;
  for (const char* name : {"query", "key"}) {
    const Tensor& input = batch.input(name);
    Expected turned{name, input.to_doubles()};
    for (std::int64_t head = 0; head < input.count() / kernel_case.head_dim; ++head) {
      const std::int64_t token = head / input.shape[1];
      for (std::int64_t j = 0; j < pairs; ++j) {
        const std::int64_t axis = axes[static_cast<std::size_t>(j)];
        const std::int64_t row = positions.get_int(axis * kernel_case.tokens + token) * rotary;
        const std::complex<double> angle(cos_sin.get(row + j), cos_sin.get(row + pairs + j));
        const std::int64_t re = head * kernel_case.head_dim + (kernel_case.adjacent_pairs ? 2 * j : j);
        const std::int64_t im = kernel_case.adjacent_pairs ? re + 1 : re + pairs;
        const std::complex<double> product = std::complex<double>(input.get(re), input.get(im)) * angle;
        turned.values[static_cast<std::size_t>(re)] = product.real();
        turned.values[static_cast<std::size_t>(im)] = product.imag();
      }
    }
    expected.push_back(std::move(turned));
  }
  return expected;
}

}  // namespace preflight::reference
