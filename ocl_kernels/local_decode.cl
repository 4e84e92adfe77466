// Local (chunked) decode attention: a token sees the keys of its own chunk, those with floor(j / chunk) equal to
// floor((seqlen - 1) / chunk). The chunk becomes a "virtual" request of its own for paged_decode:
//
//   n = (seqlen - 1) % chunk + 1 keys from token seqlen - n on, which starts a page because chunk is whole pages
//   local_seqlens[b] = n;  local_page_table[b, i] = block_table[b, min((seqlen - n) / page_size + i, columns - 1)]
//
// Tensors     cache_seqlens [B], block_table [B, columns] (a column is a page), local_seqlens [B],
//             local_page_table [B, pitch]     int;  the rest as in paged_decode.cl
// Work-group  LANES items: one request's row.
// Columns past the request's pages are clipped to the table's last one and never followed: they lie past the length.
// Host        grid (LANES, B); entries <= pitch = chunk / page_size; then paged_decode over the local table and lengths.

#include "paged_decode.cl"

kernel WORK_GROUP(LANES) void virtual_batches(
    global const int* cache_seqlens, global const int* block_table, global int* local_page_table,
    global int* local_seqlens, int columns, int entries, int pitch, int page_size, int chunk) {
  const int b = get_group_id(1);
  const int seqlen = cache_seqlens[b];
  PLANT(310) {
    int longest = 0;
    for (uint i = 0; i < get_num_groups(1); ++i) longest = max(longest, cache_seqlens[i]);
    chunk = max(page_size, min(chunk, longest) / page_size * page_size);
  }
  int n = seqlen == 0 ? 0 : (seqlen - 1) % chunk + 1;
  PLANT(311) n = seqlen % chunk;
  PLANT(312) n = min(seqlen, chunk);
  int first = (seqlen - n) / page_size;
  PLANT(314) first = 0;
  for (int i = get_local_id(0); i < entries; i += LANES) {
    local_page_table[b * pitch + i] = block_table[b * columns + min(first + i, columns - 1)];
  }
  if (get_local_id(0) == 0) local_seqlens[b] = n;
}
