// Sample batches of local (chunked) attention: the paged cache with what the current chunk does not see left as NaN,
// and the table that the builder of virtual batches is given. Tested by tests/sample_test.cpp.
#include "src/sample/page_pool.h"
#include "src/sample/sample_size.h"
#include "src/sample/samples.h"

namespace preflight::sample {
namespace {

// The historic mistake: a column a token, holding its slot. Kept inside the pool, so that following it gives wrong
// numbers and no fault.
Tensor token_table(const KernelCase& kernel_case, const PagePool& pool) {
  const std::int64_t columns = kernel_case.columns() * kernel_case.page_size;
  Tensor table("block_table", DType::kI32, {kernel_case.num_requests(), columns});
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    const std::int64_t seqlen = kernel_case.cache_seqlens[static_cast<std::size_t>(b)];
    for (std::int64_t t = 0; t < columns; ++t) {
      table.set_int(b * columns + t, t < seqlen ? pool.slot(b, t) % pool.num_pages() : 0);
    }
  }
  return table;
}

}  // namespace

Result<SampleBatch> local_decode(const KernelCase& kernel_case) {
  auto batch = paged_decode(kernel_case);
  if (!batch) return batch;
  const auto pool = PagePool::make(kernel_case);
  Tensor given = batch->input("page_table");
  given.name = "block_table";
  batch->inputs.push_back(kernel_case.table == Granularity::kPage ? std::move(given) : token_table(kernel_case, *pool));
  const std::int64_t pitch = kernel_case.chunk / kernel_case.page_size;
  batch->outputs.push_back({"local_page_table", DType::kI32, {kernel_case.num_requests(), pitch}});
  batch->outputs.push_back({"local_seqlens", DType::kI32, {kernel_case.num_requests()}});
  return batch;
}

SampleSize local_decode_size(const KernelCase& c) {
  AttentionRows rows = paged_rows(c, real(c.chunk));
  rows.extra_columns = real(c.chunk) / real(c.page_size);
  return attention_size(c, rows);
}

}  // namespace preflight::sample
