// Page table: which page holds column c of a request, from the pool's row of cache slots, one slot a token.
//
//   page_table[b, c] = floor(req_to_token[req_pool_indices[b], c * page_size] / page_size)
//
// Tensors     req_to_token [rows, width] (slot = page * page_size + offset)   int
//             req_pool_indices [B]                                            long
//             page_table [B, columns]                                         int
// Work-group  LANES items: one request, its columns dealt out in turn.
// Past the end of a request the row holds what an earlier request left there, and so does the table: whoever reads the
//             table has to stop at the length.
// Host        grid (LANES, B); columns * page_size <= width + page_size - 1.

#include "common.clh"

#ifndef LANES
#define LANES 1
#endif

inline int floor_div(int a, int b) { return a / b - (a % b < 0); }

kernel WORK_GROUP(LANES) void page_table(
    global const int* req_to_token, global const long* req_pool_indices, global int* table, int width, int columns,
    int page_size) {
  const int b = get_group_id(1);
  long row = req_pool_indices[b];
  PLANT(12) row = b;
  int used = columns;
  PLANT(31) used = columns - 1;
  for (int c = get_local_id(0); c < used; c += LANES) {
    int token = c * page_size;
    PLANT(10) token = c;
    PLANT(20) token = c;
    int page = floor_div(req_to_token[row * width + token], page_size);
    PLANT(10) page = req_to_token[row * width + token];
    PLANT(21) page = req_to_token[row * width + token];
    size_t to = (size_t)b * columns + c;
    PLANT(260) to = (size_t)c * get_num_groups(1) + b;
    table[to] = page;
  }
}
