// Sizes as pure functions of numbers: page tables, split counts, workspaces, virtual batches, index buffers.
//
// Each says which upstream function it reproduces. All arithmetic is int64; where upstream's own integer is narrower
// the function says so and a predicate tells when it overflows. Used by plan/, rules/ and sample/; depends on nothing.
// Tested by tests/sizing_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace preflight::sizing {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t align_up(std::int64_t a, std::int64_t to) { return ceil_div(a, to) * to; }

// Columns of a page-granular table for a longest sequence; SGLang pads nothing.
constexpr std::int64_t page_table_columns(std::int64_t max_seqlen, std::int64_t page_size) {
  return ceil_div(max_seqlen, page_size);
}

// --- flash_mla_decode (sgl-kernel-xpu) -------------------------------------------------------------------------------
inline constexpr std::int64_t kMlaLatent = 512;
inline constexpr std::int64_t kMlaRope = 64;
inline constexpr std::int64_t kMlaMaxHeads = 128;
inline constexpr std::int64_t kMlaMaxSplits = 128;

bool mla_page_size_supported(std::int64_t page_size);  // 16, 32, 64, 128
// The wrapper's assertion: the table width is a multiple of 128 / page_size.
bool mla_columns_accepted(std::int64_t columns, std::int64_t page_size);
std::int64_t mla_padded_columns(std::int64_t columns, std::int64_t page_size);
// num_kv_splits = -1: the heuristic set_split_kv. Not monotone in the length.
std::int64_t mla_auto_splits(std::int64_t batch, std::int64_t heads, std::int64_t max_seqlen, std::int64_t page_size);

struct MlaWorkspace {
  std::int64_t splits = 1;
  std::int64_t partial_out_bytes = 0;  // aligned to 256
  std::int64_t stat_bytes = 0;         // each of exp sums and maxima, aligned to 256
  std::int64_t total_bytes = 0;        // 0 when splits == 1
  bool overflows_int32 = false;        // upstream computes it in a C int
};
// flash_mla_get_workspace_size since its second form: splits < 1 = auto. nullopt where upstream raises.
std::optional<MlaWorkspace> mla_workspace(std::int64_t max_seqlen, std::int64_t batch, std::int64_t heads,
                                          std::int64_t page_size, std::int64_t splits = -1);
// The launch checks its own split count against the workspace: true when a table of `columns` fits.
bool mla_workspace_suffices(std::int64_t workspace_bytes, std::int64_t batch, std::int64_t heads, std::int64_t columns,
                            std::int64_t page_size, std::int64_t splits);
// The first form (CUTLASS): fp32 partials of 128 padded heads; splits < 1 = auto from the compute units.
std::int64_t cutlass_mla_workspace_bytes(std::int64_t max_seqlen, std::int64_t batch, std::int64_t sm_count,
                                         std::int64_t splits = -1);

// --- flash_attn_with_kvcache decode ----------------------------------------------------------------------------------
bool fa_decode_page_size_supported(std::int64_t page_size);  // 64, 128
bool fa_decode_head_dim_supported(std::int64_t head_dim);    // 64 96 128 192 256 512

// --- chunked (local) attention: make_local_attention_virtual_batches ------------------------------------------------
struct VirtualBatches {
  std::int64_t chunk = 0;             // the effective chunk: at most the longest sequence, floored to whole pages
  std::vector<std::int64_t> request;  // per virtual batch: the request it belongs to
  std::vector<std::int64_t> seqlens_q;
  std::vector<std::int64_t> cu_seqlens_q;  // one longer
  std::vector<std::int64_t> seqlens_k;
  std::vector<std::int64_t> k_start;        // first key, in tokens
  std::vector<std::int64_t> block_columns;  // rows of chunk/page_size column numbers into the request's table row
};
// preserve_chunk: the later option that keeps the chunk as configured.
VirtualBatches local_virtual_batches(std::int64_t chunk, std::span<const std::int64_t> query_lens,
                                     std::span<const std::int64_t> seqlens, std::int64_t page_size,
                                     std::int64_t table_columns, bool preserve_chunk = false);

// --- kv_indices (flashinfer-style token indices) ---------------------------------------------------------------------
// Entries a full graph buffer needs: one per token.
constexpr std::int64_t kv_indices_needed(std::int64_t max_batch, std::int64_t max_context) {
  return max_batch * max_context;
}
// What the page-granular allocation reserved: overrun as soon as the tokens in flight exceed it.
constexpr std::int64_t kv_indices_reserved_by_page(std::int64_t max_batch, std::int64_t max_context,
                                                   std::int64_t page_size) {
  return max_batch * ceil_div(max_context, page_size);
}
// Keys the work planner covers when it is told `block_size` tokens per index entry; right only with 1.
constexpr std::int64_t planned_key_coverage(std::int64_t seqlen, std::int64_t block_size) {
  return ceil_div(seqlen, block_size);
}

}  // namespace preflight::sizing
