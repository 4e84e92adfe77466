// MLA decode with absorbed weights: one query token per request against a paged latent cache shared by all heads.
//
//   s_t = scale * (q_nope . c_t + q_rope . r_t),  w = softmax(s),  out = sum_t w_t c_t,  lse = ln sum_t exp(s_t)
//
// Tensors     q_nope [B, H, LATENT], q_rope [B, H, ROPE], out [B, H, LATENT]   ELEM
//             kv_cache [pages, page_size, LATENT + ROPE]                       KV_ELEM, row = c_t then r_t
//             page_table [B, columns], cache_seqlens [B] (tokens)              int
//             lse [B, H]                                                       float, natural log
//             workspace: partial_out [B, H, splits, LATENT], then partial_max and partial_sum [B, H, splits]; float,
//             splits > 1 only
// Work-group  LANES items: HEAD_TILE heads of one request over the pages of one split. The rows of TOKEN_TILE tokens are
//             converted to float once, in local memory, and serve all heads twice: as keys and as values.
// Arithmetic  fp32; scores in base 2 (log2 e is multiplied into the scale), running maximum starts at -INF, the sum is
//             taken of unrounded weights; one rounding at the end. Tokens past the end are never read: their rows are
//             zeros and their weights exp2(-INF) = 0.
// Barriers    five per token tile, in uniform control flow.
// Empty       a request of length 0 gets out 0, lse -INF; an empty split leaves partial_sum 0 and no partial_out.
// Host        grid (LANES * ceil(H / HEAD_TILE), splits, B); columns * page_size >= cache_seqlens[b]; page ids valid up to
//             there; TOKEN_TILE a multiple of TOKEN_BLOCK; LATENT and ROPE multiples of 16; then mla_decode_merge.
// The above is the plain form, for CPUs. On a GPU the kernel of mla_tiles.clh takes its place where TILE_BODY names a matrix
// engine, else that of mla_blocks.clh.

#include "common.clh"
#include "merge_splits.clh"

#ifndef LATENT
#define LATENT 512
#endif
#ifndef ROPE
#define ROPE 64
#endif
#if TILE_BODY
#include "mla_tiles.clh"
#elif BLOCKS
#include "mla_blocks.clh"
#else

#ifndef HEAD_TILE
#define HEAD_TILE 16
#endif
#ifndef TOKEN_TILE
#define TOKEN_TILE 48
#endif
#ifndef TOKEN_BLOCK
#define TOKEN_BLOCK 6
#endif
#include "token_slots.clh"

#define ROW (LATENT + ROPE)
#define SCORE_DIMS (ROW / 2)
#define HEAD_BLOCK 4
#define VALUE_BLOCK 16
typedef CAT(float, HEAD_TILE) heads_t;
#define load_heads CAT(vload, HEAD_TILE)
#define store_heads CAT(vstore, HEAD_TILE)

// Queries of the tile, transposed to [ROW][HEAD_TILE] and scaled; heads past the last are zero. Row of head h of the
// tile: first_row + h * stride.
void load_queries(local float* q, global const elem_t* q_nope, global const elem_t* q_rope, size_t first_row, size_t stride,
                  int heads, float scale) {
  for (int h = 0; h < HEAD_TILE; ++h) {
    const size_t row = first_row + min(h, heads - 1) * stride;
    const float gain = h < heads ? scale : 0.0f;
    for (int d = ITEM; d < LATENT; d += LANES) {
      q[d * HEAD_TILE + h] = load_elem(q_nope, row * LATENT + d) * gain;
    }
    for (int d = ITEM; d < ROPE; d += LANES) {
      q[(LATENT + d) * HEAD_TILE + h] = load_elem(q_rope, row * ROPE + d) * (DEFECT == 160 ? 0.0f : gain);
    }
  }
}

// Rows of the tile as floats; zeros from `tokens` on.
void load_rows(local float* rows, global const kv_t* cache, local const long* slots, int tokens) {
  PLANT(70) tokens = TOKEN_TILE;
  for (int t = 0; t < TOKEN_TILE; ++t) {
    global const kv_t* from = cache + slots[t] * ROW;
    local float* to = rows + t * ROW;
    for (int d = ITEM * 16; d < ROW; d += LANES * 16) {
      int source = d;
      PLANT(150) source = (d + ROPE) % ROW;
      vstore16(t < tokens ? kv_to_float16(vload16(0, from + source)) : (float16)(0.0f), 0, to + d);
    }
  }
}

// weights[t][h] = scores of the tile; -INF from `tokens` on. Heads are the vector lanes: no horizontal sums. The row is
// taken in parts of SCORE_DIMS, whose queries stay in the nearest cache while all tokens pass.
void score_tile(local float* weights, local const float* q, local const float* rows, int tokens) {
  for (int d0 = 0; d0 < ROW; d0 += SCORE_DIMS) {
    for (int block = ITEM; block < TOKEN_TILE / TOKEN_BLOCK; block += LANES) {
      heads_t sum[TOKEN_BLOCK];
#pragma unroll
      for (int j = 0; j < TOKEN_BLOCK; ++j) {
        sum[j] = d0 == 0 ? (heads_t)(0.0f) : load_heads(block * TOKEN_BLOCK + j, weights);
      }
      local const float* row = rows + block * TOKEN_BLOCK * ROW;
      for (int d = d0; d < d0 + SCORE_DIMS; ++d) {
        const heads_t query = load_heads(d, q);
#pragma unroll
        for (int j = 0; j < TOKEN_BLOCK; ++j) sum[j] = fma(query, (heads_t)(row[j * ROW + d]), sum[j]);
      }
#pragma unroll
      for (int j = 0; j < TOKEN_BLOCK; ++j) {
        const int t = block * TOKEN_BLOCK + j;
        store_heads(t < tokens ? sum[j] : (heads_t)(-INFINITY), t, weights);
      }
    }
  }
}

// Turns scores into weights exp2(s - maximum), and updates maximum, sum and the factor for what was summed before.
void softmax_tile(local float* weights, local float* maximum, local float* sum, local float* rescale) {
  if (ITEM != 0) return;
  const heads_t old_maximum = load_heads(0, maximum);
  heads_t new_maximum = old_maximum;
  for (int t = 0; t < TOKEN_TILE; ++t) new_maximum = fmax(new_maximum, load_heads(t, weights));
  PLANT(210) new_maximum = 0.0f;
  const heads_t factor = exp2(old_maximum - new_maximum);
  heads_t total = load_heads(0, sum) * factor;
  for (int t = 0; t < TOKEN_TILE; ++t) {
    const heads_t weight = exp2(load_heads(t, weights) - new_maximum);
    store_heads(weight, t, weights);
    total += weight;
    PLANT(190) total = ROUND_BF16(HEAD_TILE, total);
  }
  store_heads(new_maximum, 0, maximum);
  store_heads(total, 0, sum);
  store_heads(factor, 0, rescale);
}

// acc[h][d] = acc[h][d] * rescale[h] + sum_t weights[t][h] * rows[t][d], in blocks that stay in registers.
void accumulate_tile(local float* acc, local const float* weights, local const float* rows, local const float* rescale) {
  for (int i = ITEM; i < LATENT / VALUE_BLOCK * (HEAD_TILE / HEAD_BLOCK); i += LANES) {
    const int d = i / (HEAD_TILE / HEAD_BLOCK) * VALUE_BLOCK;
    const int h = i % (HEAD_TILE / HEAD_BLOCK) * HEAD_BLOCK;
    float16 sum[HEAD_BLOCK];
#pragma unroll
    for (int j = 0; j < HEAD_BLOCK; ++j) {
      sum[j] = vload16(0, acc + (h + j) * LATENT + d) * (DEFECT == 220 ? 1.0f : rescale[h + j]);
    }
    local const float* weight = weights + h;
    local const float* row = rows + d + (DEFECT == 151 ? ROPE : 0);
    for (int t = 0; t < TOKEN_TILE; ++t, weight += HEAD_TILE, row += ROW) {
      const float16 value = vload16(0, row);
#pragma unroll
      for (int j = 0; j < HEAD_BLOCK; ++j) {
        sum[j] = fma(value, (float16)(weight[j]), sum[j]);
        PLANT(200) sum[j] = ROUND_BF16(16, sum[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < HEAD_BLOCK; ++j) vstore16(sum[j], 0, acc + (h + j) * LATENT + d);
  }
}

kernel WORK_GROUP(LANES) void mla_decode(
    global const elem_t* q_nope, global const elem_t* q_rope, global const kv_t* kv_cache, global const int* page_table,
    global const int* cache_seqlens, global elem_t* out, global float* lse, global float* workspace,
    int num_heads, int page_size, int columns, float scale) {
  local float q[ROW * HEAD_TILE];
  local float rows[TOKEN_TILE * ROW];
  local float weights[TOKEN_TILE * HEAD_TILE];
  local float acc[HEAD_TILE * LATENT];
  local float maximum[HEAD_TILE];
  local float sum[HEAD_TILE];
  local float rescale[HEAD_TILE];
  local long slots[TOKEN_TILE];

  const int first_head = get_group_id(0) * HEAD_TILE;
  const int split = get_group_id(1);
  const int splits = get_num_groups(1);
  const int b = get_group_id(2);
  const int heads = min(HEAD_TILE, num_heads - first_head);
  const size_t first_row = (size_t)b * num_heads + first_head;
  int seqlen = planted_length(cache_seqlens[b], page_size, columns);
  // Whole pages per split, the last one possibly empty.
  const int pages_per_split = CEIL_DIV(CEIL_DIV(seqlen, page_size), splits);
  const int t_begin = split * pages_per_split * page_size;
  const int t_end = min(seqlen, t_begin + pages_per_split * page_size);
  global const int* table = page_table + (size_t)b * (DEFECT == 260 ? CEIL_DIV(seqlen, page_size) : columns);
  const size_t partial_rows = (size_t)get_num_groups(2) * num_heads * splits;
  global float* partial_out = workspace;
  global float* partial_max = workspace + stats_offset(partial_rows, LATENT);
  global float* partial_sum = partial_max + partial_rows;

  PLANT(140) scale *= 0.57735f;
  PLANT(141) scale /= LOG2E;
  size_t first_query = first_row;
  size_t query_stride = 1;
  PLANT(170) { first_query = (size_t)first_head * get_num_groups(2) + b; query_stride = get_num_groups(2); }
  load_queries(q, q_nope, q_rope, first_query, query_stride, heads, scale * LOG2E);
  for (int i = ITEM; i < HEAD_TILE * LATENT; i += LANES) acc[i] = 0.0f;
  for (int i = ITEM; i < HEAD_TILE; i += LANES) {
    maximum[i] = -INFINITY;
    sum[i] = 0.0f;
  }
  for (int t0 = t_begin; t0 < t_end; t0 += TOKEN_TILE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    find_slots(slots, table, page_size, t0, t_end);
    barrier(CLK_LOCAL_MEM_FENCE);
    load_rows(rows, kv_cache, slots, min(TOKEN_TILE, t_end - t0));
    barrier(CLK_LOCAL_MEM_FENCE);
    score_tile(weights, q, rows, min(TOKEN_TILE, t_end - t0));
    barrier(CLK_LOCAL_MEM_FENCE);
    softmax_tile(weights, maximum, sum, rescale);
    barrier(CLK_LOCAL_MEM_FENCE);
    accumulate_tile(acc, weights, rows, rescale);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  if (splits == 1) {
    for (int i = ITEM; i < heads * LATENT; i += LANES) {
      const float total = sum[i / LATENT];
      store_elem(out, first_row * LATENT + i, total != 0.0f || DEFECT == 270 ? acc[i] / total : 0.0f);
    }
    for (int h = ITEM; h < heads; h += LANES) {
      size_t row = first_row + h;
      PLANT(130) row = (size_t)(first_head + h) * get_num_groups(2) + b;
      lse[row] = sum[h] != 0.0f ? LN2 * (maximum[h] + log2(sum[h])) : -INFINITY;
    }
  } else {
    for (int h = 0; h < heads && t_begin < t_end; ++h) {
      global float* to = partial_out + ((first_row + h) * splits + split) * LATENT;
      for (int d = ITEM * 16; d < LATENT; d += LANES * 16) {
        vstore16(vload16(0, acc + h * LATENT + d), 0, to + d);
      }
    }
    for (int h = ITEM; h < heads; h += LANES) {
      partial_max[(first_row + h) * splits + split] = maximum[h];
      partial_sum[(first_row + h) * splits + split] = sum[h];
    }
  }
}

#endif

kernel WORK_GROUP(MERGE_LANES(LATENT)) void mla_decode_merge(global const float* workspace, global elem_t* out,
                                                             global float* lse, int splits) {
  merge_splits(workspace, out, lse, splits, LATENT);
}
