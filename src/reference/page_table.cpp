// Reference of the page-table builder: column c of request b is the page of the token c * page_size in its pool row,
// whatever the row holds there (floor division, as torch's //). Checked in tests/kernels/reference_test.cpp against the
// pages that the sample handed out.
#include <cmath>

#include "preflight/reference.h"
#include "src/reference/results.h"

namespace preflight::reference {

std::vector<Expected> page_table(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const Tensor& req_to_token = batch.input("req_to_token");
  const Tensor& rows = batch.input("req_pool_indices");
  const std::int64_t width = req_to_token.shape[1];
  const std::int64_t columns = kernel_case.columns();  // looks at all requests
  Expected table{"page_table", {}};
  table.values.reserve(static_cast<std::size_t>(kernel_case.num_requests() * columns));
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const double slot = req_to_token.get(rows.get_int(b) * width + c * kernel_case.page_size);
      table.values.push_back(std::floor(slot / static_cast<double>(kernel_case.page_size)));
    }
  }
  return handed_over(std::move(table));
}

}  // namespace preflight::reference
