// Token indices for kernels that see a cache without pages: every token's slot, requests one after the other, and the
// work tiles that the planner cuts them into.
//
//   kv_indptr = 0, cumulative sums of cache_seqlens;  kv_indices[kv_indptr[b] + t] = req_to_token[req_pool_indices[b], t]
//   kv_last_page_len[b] = 1 (a page is a token here), 0 without tokens
//   tiles[b, i] = [i * w, min((i + 1) * w, n)), n = ceil(cache_seqlens[b] / index_block);  covered[b] = sum of tiles
//   w = max(TILE, index_block) / index_block: a tile is of as many tokens as the planner's granularity
//
// Tensors     req_to_token [rows, width], cache_seqlens [B]      int
//             req_pool_indices [B]                               long
//             kv_indptr [B + 1], kv_indices [capacity], kv_last_page_len [B], tiles [B, most_tiles, 2], covered [B]   int
// Work-group  kv_indptr: one item for all requests; the others LANES items a request.
// As upstream the fill does not know the capacity: a buffer that is too small is overrun, which its guard band shows.
//             index_block is what the planner takes one entry for; entries are tokens, so that only 1 is right. The
//             granularity goes with it: max(128, page) of pages, which alone would do no harm, 128 of tokens.
// Host        grids (1), (LANES, B), (LANES, B) in this order; unused tiles are -1, -1.

#include "common.clh"

#ifndef LANES
#define LANES 1
#endif
#define TILE 128

kernel WORK_GROUP(1) void kv_indptr(global const int* cache_seqlens, global int* indptr, int requests,
                                    int page_size) {
  int sum = 0;
  for (int b = 0; b < requests; ++b) {
    indptr[b] = sum;
    int entries = cache_seqlens[b];
    PLANT(320) entries = CEIL_DIV(entries, page_size);
    sum += entries;
  }
  indptr[requests] = sum;
}

kernel WORK_GROUP(LANES) void kv_indices(
    global const int* req_to_token, global const long* req_pool_indices, global const int* cache_seqlens,
    global const int* indptr, global int* indices, global int* last_page_len, int width, int page_size) {
  const int b = get_group_id(1);
  const int seqlen = cache_seqlens[b];
  global const int* row = req_to_token + req_pool_indices[b] * width;
  for (int t = get_local_id(0); t < seqlen; t += LANES) {
    int slot = row[t];
    PLANT(22) slot /= page_size;
    indices[indptr[b] + t] = slot;
  }
  if (get_local_id(0) == 0) {
    int length = seqlen > 0;
    PLANT(321) length = seqlen;
    last_page_len[b] = length;
  }
}

kernel WORK_GROUP(LANES) void work_tiles(global const int* cache_seqlens, global int* tiles, global int* covered,
                                         int most_tiles, int index_block, int page_size) {
  const int b = get_group_id(1);
  PLANT(330) index_block = page_size;  // which the planner needs for nothing else
  const int n = CEIL_DIV(cache_seqlens[b], index_block);
  const int width = max(TILE, index_block) / index_block;
  for (int i = get_local_id(0); i < most_tiles; i += LANES) {
    const bool used = i * width < n;
    tiles[(b * most_tiles + i) * 2] = used ? i * width : -1;
    tiles[(b * most_tiles + i) * 2 + 1] = used ? min(i * width + width, n) : -1;
  }
  if (get_local_id(0) == 0) covered[b] = n;
}
