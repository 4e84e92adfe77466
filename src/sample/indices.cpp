// Sample batches of the builders of page tables and token indices. Tested by tests/sample_test.cpp.
//
// A request's row of req_to_token is not its position in the batch; past its length the row holds absurd slots, below
// and above all there are, as do the rows of nobody.
#include <algorithm>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/sample/page_pool.h"
#include "src/sample/sample_size.h"
#include "src/sample/samples.h"

namespace preflight::sample {
namespace {

constexpr std::int64_t kSpareRows = 2;
constexpr std::int64_t kTileTokens = 128;

// Above all slots, just below them, and below by whole pages: rounded towards zero, these end up in other pages. In
// turn from page to page, whatever the page's size, because a table reads one slot of each.
std::int64_t absurd_slot(std::int64_t i, std::int64_t page_size) {
  const std::int64_t kind = i / page_size % 3;
  return kind == 0 ? kUnusedPage : kind == 1 ? -1 : -2 * page_size;
}

Result<SampleBatch> request_rows(const KernelCase& kernel_case, std::int64_t width) {
  const auto pool = PagePool::make(kernel_case);
  if (!pool) return tl::make_unexpected(pool.error());
  const std::int64_t first_slot = kernel_case.first_page * kernel_case.page_size;
  if (first_slot + pool->num_pages() * kernel_case.page_size > kUnusedPage) {
    return failure(fmt::format("slots from page {} on do not fit int32", kernel_case.first_page));
  }
  const std::int64_t requests = kernel_case.num_requests();
  Tensor req_to_token("req_to_token", DType::kI32, {requests + kSpareRows, width});
  Tensor req_pool_indices("req_pool_indices", DType::kI64, {requests});
  for (std::int64_t i = 0; i < req_to_token.count(); ++i)
    req_to_token.set_int(i, absurd_slot(i, kernel_case.page_size));
  for (std::int64_t b = 0; b < requests; ++b) {
    const std::int64_t row = requests - b;
    req_pool_indices.set_int(b, row);
    const std::int64_t seqlen = kernel_case.cache_seqlens[static_cast<std::size_t>(b)];
    for (std::int64_t t = 0; t < seqlen; ++t) req_to_token.set_int(row * width + t, first_slot + pool->slot(b, t));
  }
  SampleBatch batch{.kernel_case = kernel_case};
  batch.inputs.push_back(std::move(req_to_token));
  batch.inputs.push_back(std::move(req_pool_indices));
  batch.inputs.push_back(pool->cache_seqlens());
  return batch;
}

}  // namespace

std::int64_t index_capacity(const KernelCase& kernel_case) {
  const std::int64_t requests = std::max(kernel_case.max_batch, kernel_case.num_requests());
  const std::int64_t context = std::max(kernel_case.context, kernel_case.max_seqlen());
  return kernel_case.sizing == Granularity::kToken
             ? sizing::kv_indices_needed(requests, sizing::align_up(context, kernel_case.page_size))
             : sizing::kv_indices_reserved_by_page(requests, context, kernel_case.page_size);
}

std::int64_t most_tiles(const KernelCase& kernel_case) {
  return std::max<std::int64_t>(1, sizing::ceil_div(kernel_case.max_seqlen(), kTileTokens));
}

Result<SampleBatch> page_table(const KernelCase& kernel_case) {
  const std::int64_t columns = kernel_case.columns();
  auto batch = request_rows(kernel_case, std::max(kernel_case.context, columns * kernel_case.page_size));
  if (batch) batch->outputs = {{"page_table", DType::kI32, {kernel_case.num_requests(), columns}}};
  return batch;
}

Result<SampleBatch> kv_indices(const KernelCase& kernel_case) {
  const std::int64_t requests = kernel_case.num_requests();
  auto batch = request_rows(kernel_case, std::max(kernel_case.context, kernel_case.max_seqlen()));
  if (!batch) return batch;
  batch->outputs = {{"kv_indptr", DType::kI32, {requests + 1}},
                    {"kv_indices", DType::kI32, {index_capacity(kernel_case)}},
                    {"kv_last_page_len", DType::kI32, {requests}},
                    {"tiles", DType::kI32, {requests, most_tiles(kernel_case), 2}},
                    {"covered", DType::kI32, {requests}}};
  return batch;
}

SampleSize page_table_size(const KernelCase& c) {
  const double longest = std::max(real(c.context), real(c.columns()) * real(c.page_size));
  return index_size(c, longest, real(c.num_requests()) * real(c.columns()));
}

SampleSize kv_indices_size(const KernelCase& c) {
  const double longest = std::max(real(c.context), real(c.max_seqlen()));
  const double made = std::max(real(c.num_requests()), real(c.max_batch)) * (longest + real(c.page_size));
  return index_size(c, longest, made);
}

}  // namespace preflight::sample
