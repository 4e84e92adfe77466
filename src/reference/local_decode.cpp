// Reference of local (chunked) attention, by the model's own rule: the current token i sees key j iff
// floor(j / chunk) = floor(i / chunk). Then as paged decode. The virtual batches that realise it: one request of the
// keys since the chunk began, in the pages that hold them. Checked in tests/kernels/reference_test.cpp against the
// virtual batches of sizing.h.
#include <algorithm>

#include "preflight/reference.h"
#include "src/reference/paged.h"

namespace preflight::reference {

std::vector<Expected> local_decode(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const auto chunk_start = [&](std::int64_t seqlen) {
    return seqlen == 0 ? 0 : (seqlen - 1) / kernel_case.chunk * kernel_case.chunk;
  };
  std::vector<Expected> expected = attend(batch, chunk_start);
  const Tensor& table = batch.input("page_table");
  const std::int64_t columns = table.shape[1];
  Expected pages{"local_page_table", {}};
  Expected seqlens{"local_seqlens", {}};
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    const std::int64_t seqlen = batch.input("cache_seqlens").get_int(b);
    const std::int64_t first = chunk_start(seqlen);
    seqlens.values.push_back(static_cast<double>(seqlen - first));
    for (std::int64_t i = 0; i < kernel_case.chunk / kernel_case.page_size; ++i) {
      const std::int64_t column = std::min(first / kernel_case.page_size + i, columns - 1);
      pages.values.push_back(table.get(b * columns + column));
    }
  }
  expected.push_back(std::move(pages));
  expected.push_back(std::move(seqlens));
  return expected;
}

}  // namespace preflight::reference
