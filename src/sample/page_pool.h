// The paged cache of a sample batch: which physical page holds which tokens of which request.
//
// Page 0 belongs to nobody (SGLang pads with it, so a zeroed table shows), and so do two more: the last ones, but in
// sequential order those behind page 0, so that the last request has the pool's last page and what reads past it leaves
// the tensor. Shared order: requests share the full pages of their common prefix. With --first-page the ids begin
// there; the pages before are a part of the device's buffer (SampleBatch::in_front) and of no tensor.
#pragma once

#include <vector>

#include "preflight/batch.h"

namespace preflight::sample {

class PagePool {
 public:
  static Result<PagePool> make(const KernelCase& kernel_case);

  [[nodiscard]] std::int64_t num_pages() const { return num_pages_; }
  // Row of token t of request b in a tensor of [num_pages * page_size] rows.
  [[nodiscard]] std::int64_t slot(std::int64_t b, std::int64_t t) const;
  [[nodiscard]] bool first_owner(std::int64_t b,
                                 std::int64_t t) const;  // false where an earlier request shares the page
  // page_table [B, columns] int32 (unused entries kUnusedPage) and cache_seqlens [B] int32.
  [[nodiscard]] Tensor page_table() const;
  [[nodiscard]] Tensor cache_seqlens() const;

 private:
  std::int64_t page_size_ = 1;
  std::int64_t columns_ = 1;
  std::int64_t num_pages_ = 0;
  std::int64_t first_page_ = 0;
  std::int64_t shared_pages_ = 0;
  std::vector<std::int64_t> seqlens_;
  std::vector<std::vector<std::int64_t>> pages_;  // per request
};

}  // namespace preflight::sample
