// Hands out the pages of a sample batch. Tested by tests/sample_test.cpp.
#include "src/sample/page_pool.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "preflight/sizing.h"
#include "src/sample/random.h"

namespace preflight::sample {
namespace {

std::vector<std::int64_t> shuffled_pages(std::int64_t first, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> pages(static_cast<std::size_t>(count));
  std::iota(pages.begin(), pages.end(), first);
  const Random random(seed, "page_order");
  for (std::size_t i = pages.size(); i > 1; --i) {  // Fisher-Yates; std::shuffle differs between libraries
    std::swap(pages[i - 1], pages[random.bits(static_cast<std::int64_t>(i)) % i]);
  }
  return pages;
}

}  // namespace

Result<PagePool> PagePool::make(const KernelCase& kernel_case) {
  constexpr std::int64_t kUnowned = 2;
  PagePool pool;
  pool.page_size_ = kernel_case.page_size;
  pool.columns_ = kernel_case.columns();
  pool.first_page_ = kernel_case.first_page;
  pool.seqlens_ = kernel_case.cache_seqlens;
  if (pool.seqlens_.empty()) return failure("--cache-seqlens names no request");
  if (kernel_case.max_seqlen() > std::numeric_limits<std::int32_t>::max()) {
    return failure(fmt::format("a sequence of {} tokens does not fit int32", kernel_case.max_seqlen()));
  }
  std::int64_t total = 0;
  std::int64_t common = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t seqlen : pool.seqlens_) {
    const std::int64_t pages = sizing::ceil_div(seqlen, pool.page_size_);
    if (pages > pool.columns_) {
      return failure(fmt::format("a sequence of {} tokens needs {} pages, the table has {} columns", seqlen, pages,
                                 pool.columns_));
    }
    total += pages;
    if (seqlen > 0) common = std::min(common, seqlen / pool.page_size_);
  }
  const bool shares = kernel_case.page_order == PageOrder::kShared && total > 0;
  pool.shared_pages_ = shares ? common : 0;
  const bool in_order = kernel_case.page_order == PageOrder::kSequential;
  std::vector<std::int64_t> order = shuffled_pages(1 + (in_order ? kUnowned : 0), total, kernel_case.seed);
  if (in_order) std::ranges::sort(order);
  auto next = order.begin();
  const std::vector<std::int64_t> shared(next, next + pool.shared_pages_);
  next += pool.shared_pages_;
  for (const std::int64_t seqlen : pool.seqlens_) {
    std::vector<std::int64_t> own = seqlen > 0 ? shared : std::vector<std::int64_t>{};
    const auto needed = static_cast<std::size_t>(sizing::ceil_div(seqlen, pool.page_size_));
    while (own.size() < needed) own.push_back(*next++);
    pool.pages_.push_back(std::move(own));
  }
  pool.num_pages_ = 1 + total + kUnowned;
  return pool;
}

std::int64_t PagePool::slot(std::int64_t b, std::int64_t t) const {
  return pages_[static_cast<std::size_t>(b)][static_cast<std::size_t>(t / page_size_)] * page_size_ + t % page_size_;
}

bool PagePool::first_owner(std::int64_t b, std::int64_t t) const {
  if (t / page_size_ >= shared_pages_) return true;
  return std::ranges::all_of(seqlens_.begin(), seqlens_.begin() + b, [](std::int64_t n) { return n == 0; });
}

Tensor PagePool::page_table() const {
  const auto requests = static_cast<std::int64_t>(seqlens_.size());
  Tensor table("page_table", DType::kI32, {requests, columns_});
  for (std::int64_t b = 0; b < requests; ++b) {
    const auto& own = pages_[static_cast<std::size_t>(b)];
    for (std::int64_t c = 0; c < columns_; ++c) {
      const bool used = c < static_cast<std::int64_t>(own.size());
      table.set_int(b * columns_ + c, used ? first_page_ + own[static_cast<std::size_t>(c)] : kUnusedPage);
    }
  }
  return table;
}

Tensor PagePool::cache_seqlens() const {
  Tensor lengths("cache_seqlens", DType::kI32, {static_cast<std::int64_t>(seqlens_.size())});
  for (std::size_t b = 0; b < seqlens_.size(); ++b) lengths.set_int(static_cast<std::int64_t>(b), seqlens_[b]);
  return lengths;
}

}  // namespace preflight::sample
