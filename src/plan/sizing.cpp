// The sizes of sizing.h. Tested by tests/sizing_test.cpp, with byte counts computed apart from this code.
#include "preflight/sizing.h"

#include <algorithm>
#include <array>
#include <limits>

namespace preflight::sizing {
namespace {

constexpr std::int64_t kWorkspaceAlignment = 256;
constexpr std::int64_t kPartialElementBytes = 2;  // the size query assumes half precision, whatever the launch uses
constexpr std::int64_t kStatBytes = 4;
// The query wants page tables in multiples of 128 tokens.
constexpr std::int64_t kTableQuantumTokens = 128;

}  // namespace

bool mla_page_size_supported(std::int64_t page_size) {
  constexpr std::array<std::int64_t, 4> kSizes{16, 32, 64, 128};
  return std::ranges::find(kSizes, page_size) != kSizes.end();
}

bool mla_columns_accepted(std::int64_t columns, std::int64_t page_size) {
  // columns % (128 / page_size), a division of floats upstream: in whole numbers, columns * page_size % 128.
  return columns * page_size % kTableQuantumTokens == 0;
}

std::int64_t mla_padded_columns(std::int64_t columns, std::int64_t page_size) {
  while (!mla_columns_accepted(columns, page_size)) ++columns;
  return columns;
}

std::int64_t mla_auto_splits(std::int64_t batch, std::int64_t heads, std::int64_t max_seqlen, std::int64_t page_size) {
  constexpr std::int64_t kLongSequence = 8192;
  const std::int64_t rows = batch * heads;
  const std::int64_t pages = ceil_div(max_seqlen, page_size);
  std::int64_t tokens_per_split = page_size;
  if (page_size <= 16) {
    tokens_per_split = rows <= 64 ? 256 : 128;
  } else if (page_size <= 32) {
    tokens_per_split = rows <= 64 ? 192 : 64;
  } else if (page_size <= 64) {
    tokens_per_split = rows <= 64 ? 128 : 64;
  }
  const std::int64_t pages_per_split = std::max<std::int64_t>(1, tokens_per_split / page_size);
  std::int64_t splits = std::min(std::max<std::int64_t>(1, pages / pages_per_split), pages);
  if (max_seqlen > kLongSequence) {
    if (page_size <= 16) splits = std::min(splits, std::max<std::int64_t>(1, pages / (rows <= 32 ? 64 : 16)));
    if (page_size <= 32 && rows <= 32) splits = std::min(splits, std::max<std::int64_t>(1, pages / 32));
  }
  return std::clamp<std::int64_t>(splits, 1, kMlaMaxSplits);
}

std::optional<MlaWorkspace> mla_workspace(std::int64_t max_seqlen, std::int64_t batch, std::int64_t heads,
                                          std::int64_t page_size, std::int64_t splits) {
  if (max_seqlen <= 0 || batch <= 0) return std::nullopt;
  if (splits != 1 && !mla_page_size_supported(page_size)) return std::nullopt;
  MlaWorkspace workspace;
  if (splits < 1) {
    if (heads <= 0) return std::nullopt;
    splits = mla_auto_splits(batch, heads, max_seqlen, page_size);
  }
  workspace.splits = splits;
  if (splits == 1) return workspace;
  const std::int64_t rows = batch * heads * splits;
  workspace.partial_out_bytes = align_up(rows * kMlaLatent * kPartialElementBytes, kWorkspaceAlignment);
  workspace.stat_bytes = align_up(rows * kStatBytes, kWorkspaceAlignment);
  workspace.total_bytes = workspace.partial_out_bytes + 2 * workspace.stat_bytes;
  workspace.overflows_int32 = workspace.total_bytes > std::numeric_limits<std::int32_t>::max();
  return workspace;
}

bool mla_workspace_suffices(std::int64_t workspace_bytes, std::int64_t batch, std::int64_t heads, std::int64_t columns,
                            std::int64_t page_size, std::int64_t splits) {
  // The launch measures length by the table: whole columns, padding included.
  const auto needed = mla_workspace(columns * page_size, batch, heads, page_size, splits);
  return needed && workspace_bytes >= needed->total_bytes;
}

std::int64_t cutlass_mla_workspace_bytes(std::int64_t max_seqlen, std::int64_t batch, std::int64_t sm_count,
                                         std::int64_t splits) {
  constexpr std::int64_t kBytesPerSplit = (kStatBytes * kMlaLatent + kStatBytes) * kMlaMaxHeads;
  if (splits < 1) {
    const std::int64_t tiles = ceil_div(max_seqlen, 128);
    const std::int64_t most = std::min(tiles, std::max<std::int64_t>(1, sm_count / batch));
    const std::int64_t tiles_per_split = ceil_div(tiles, most);
    splits = ceil_div(tiles, tiles_per_split);
  }
  return kBytesPerSplit * splits * batch;
}

bool fa_decode_page_size_supported(std::int64_t page_size) { return page_size == 64 || page_size == 128; }

bool fa_decode_head_dim_supported(std::int64_t head_dim) {
  constexpr std::array<std::int64_t, 6> kDims{64, 96, 128, 192, 256, 512};
  return std::ranges::find(kDims, head_dim) != kDims.end();
}

VirtualBatches local_virtual_batches(std::int64_t chunk, std::span<const std::int64_t> query_lens,
                                     std::span<const std::int64_t> seqlens, std::int64_t page_size,
                                     std::int64_t table_columns, bool preserve_chunk) {
  VirtualBatches result;
  result.cu_seqlens_q.push_back(0);
  if (seqlens.empty()) return result;
  // Shrinking the chunk to the longest sequence, in whole pages, is what cuts short sequences apart.
  const std::int64_t limit = preserve_chunk ? chunk : std::min(chunk, std::ranges::max(seqlens));
  result.chunk = std::max(page_size, limit / page_size * page_size);
  const std::int64_t size = result.chunk;
  for (std::size_t b = 0; b < seqlens.size(); ++b) {
    const std::int64_t queries = query_lens[b];
    const std::int64_t seqlen = seqlens[b];
    const std::int64_t first_q = std::min(size - (seqlen - queries) % size, queries);
    const std::int64_t last_k = seqlen % size == 0 ? size : seqlen % size;
    const std::int64_t blocks = 1 + ceil_div(queries - first_q, size);
    for (std::int64_t j = 0; j < blocks; ++j) {
      const std::int64_t seqlen_q = j == 0 ? first_q : std::min(queries - first_q - size * (j - 1), size);
      const std::int64_t k_start = seqlen - ((blocks - 1 - j) * size + last_k);
      result.request.push_back(static_cast<std::int64_t>(b));
      result.seqlens_q.push_back(seqlen_q);
      result.cu_seqlens_q.push_back(result.cu_seqlens_q.back() + seqlen_q);
      result.seqlens_k.push_back(j == blocks - 1 ? last_k : size);
      result.k_start.push_back(k_start);
      for (std::int64_t i = 0; i < size / page_size; ++i) {
        result.block_columns.push_back(std::min(k_start / page_size + i, table_columns - 1));
      }
    }
  }
  return result;
}

}  // namespace preflight::sizing
