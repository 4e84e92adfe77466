// Paged decode attention (MHA, GQA, MQA): one query token per request against a paged cache of keys and values.
//
//   s_t = k_scale * scale * q . k_t, capped: cap * tanh(s_t / cap);  kept: seqlen - 1 - t <= window;  w = softmax(s and sink)
//   out = v_scale * sum_t w_t v_t,  lse = ln(sum_t exp(s_t) + exp(sink));  q head h reads KV head h / group
//
// Tensors     q [B, H, HEAD_DIM], out [B, H, VALUE_DIM], sinks [H]       ELEM
//             k_cache [pages, page_size, KVH, HEAD_DIM], v_cache […, VALUE_DIM]   KV_ELEM
//             page_table [B, columns], cache_seqlens [B] (tokens)        int
//             lse [B, H]                                                 float, natural log, the sink included
//             workspace: see merge_splits.clh; float, splits > 1 only
// Work-group  LANES items: KV_TILE KV heads, GROUP_TILE q heads of each, of one request, over the pages of one split.
//             Cache rows are read once from global memory, in token order, for all q heads of the tile.
// Arithmetic  fp32; scores in base 2; the maximum starts at -INF, or at the sink (with sum 1, split 0 only); one rounding
//             at the end. Tokens past the end or before the window are never read: a block that would reach past the
//             end reads the last token again, with weight exp2(-INF) = 0.
// Barriers    three per token tile, in uniform control flow.
// Empty       nothing visible: out 0, lse the sink or -INF; an empty split leaves its sum 0.
// Host        grid (LANES * tiles, splits, B), tiles = KVH / KV_TILE * ceil(group / GROUP_TILE), KV_TILE > 1 only with one
//             group tile; HEAD_DIM and VALUE_DIM multiples of 16; GROUP_TILE of HEAD_BLOCK; TOKEN_TILE of 16;
//             HEAD_BLOCK * TOKEN_BLOCK = 8; then paged_decode_merge.
// The above is the plain form, for CPUs. On a GPU the kernel of paged_tiles.clh takes its place where TILE_BODY names a matrix
// engine, else that of paged_blocks.clh.

#include "common.clh"
#include "merge_splits.clh"

#ifndef HEAD_DIM
#define HEAD_DIM 128
#endif
#ifndef VALUE_DIM
#define VALUE_DIM HEAD_DIM
#endif
#if TILE_BODY
#include "paged_tiles.clh"
#elif BLOCKS
#include "paged_blocks.clh"
#else

#ifndef KV_TILE
#define KV_TILE 1
#endif
#ifndef GROUP_TILE
#define GROUP_TILE 4
#endif
#ifndef HEAD_BLOCK
#define HEAD_BLOCK 4
#endif
#ifndef TOKEN_TILE
#define TOKEN_TILE 32
#endif
#include "token_slots.clh"

// Tokens whose scores are built together with those of HEAD_BLOCK heads: eight sums.
#if HEAD_BLOCK == 4
#define TOKEN_BLOCK 2
#elif HEAD_BLOCK == 2
#define TOKEN_BLOCK 4
#else
#define TOKEN_BLOCK 8
#endif
#define load_block CAT(vload, TOKEN_BLOCK)
#define store_block CAT(vstore, TOKEN_BLOCK)
#define STEP 8                        // tokens whose rows one KV head takes before the next one takes its own
#define HEADS (KV_TILE * GROUP_TILE)

// Sums of eight vectors: two are added crosswise, until every lane has one of them.
inline float8 sum_each(const float8* a) {
  float8 pairs[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float8 x = a[2 * i];
    const float8 y = a[2 * i + 1];
    pairs[i] = (float8)(x.s0, y.s0, x.s1, y.s1, x.s4, y.s4, x.s5, y.s5) +
               (float8)(x.s2, y.s2, x.s3, y.s3, x.s6, y.s6, x.s7, y.s7);
  }
  const float8 low = (float8)(pairs[0].s01, pairs[1].s01, pairs[0].s45, pairs[1].s45) +
                     (float8)(pairs[0].s23, pairs[1].s23, pairs[0].s67, pairs[1].s67);
  const float8 high = (float8)(pairs[2].s01, pairs[3].s01, pairs[2].s45, pairs[3].s45) +
                      (float8)(pairs[2].s23, pairs[3].s23, pairs[2].s67, pairs[3].s67);
  return (float8)(low.lo, high.lo) + (float8)(low.hi, high.hi);
}

// Rows of the tile's tokens: where the first KV head of the work-group has its own.
void find_rows(local long* rows, global const int* table, int page_size, int t0, int t_end, int num_kv_heads,
               int first_kv_head) {
  for (uint i = ITEM; i < TOKEN_TILE; i += LANES) {
    rows[i] = find_slot(table, page_size, t0 + i, t_end) * num_kv_heads + first_kv_head;
  }
}

// Row i, in the order of memory, of the work-group's rows of eight tokens.
inline global const kv_t* row_in_order(global const kv_t* cache, local const long* rows, uint i, int dim) {
  return cache + (rows[i / KV_TILE] + i % KV_TILE) * dim;
}

// weights[h][t] = scores in base 2 of the tile's first tokens. The vector runs along the head dimension. Asked for ahead,
// in the order of memory: the keys of the next eight tokens; at the end the first values, which are next.
void score_tile(local float* weights, local const float* q, global const kv_t* keys, global const kv_t* values,
                local const long* rows, uint tokens, float softcap) {
  const uint blocks = GROUP_TILE / HEAD_BLOCK;
  for (uint i = ITEM; i < CEIL_DIV(tokens, STEP) * KV_TILE * blocks; i += LANES) {
    const uint step = i / (KV_TILE * blocks) * STEP;
    const uint head = i % (KV_TILE * blocks) * HEAD_BLOCK;
    const uint kv = head / GROUP_TILE;
    const bool more = step + STEP < tokens;
    for (uint t = step; t < step + STEP; t += TOKEN_BLOCK) {
      global const kv_t* from[TOKEN_BLOCK];
#pragma unroll
      for (uint j = 0; j < TOKEN_BLOCK; ++j) {
        from[j] = keys + (rows[t + j] + kv) * HEAD_DIM;
        const uint row = kv * STEP + t - step + j;
        if (more) {
          PREFETCH_ROW(row_in_order(keys, rows + step + STEP, row, HEAD_DIM), HEAD_DIM);
        } else {
          PREFETCH_ROW(row_in_order(values, rows, row, VALUE_DIM), VALUE_DIM);
        }
      }
      float8 sum[8];
#pragma unroll
      for (uint j = 0; j < 8; ++j) sum[j] = 0.0f;
#pragma unroll 8  // rolled up it takes a tenth more time; whole, wide heads take long to compile
      for (uint d = 0; d < HEAD_DIM; d += 16) {
        float16 key[TOKEN_BLOCK];
#pragma unroll
        for (uint j = 0; j < TOKEN_BLOCK; ++j) key[j] = load_kv16(from[j], d);
#pragma unroll
        for (uint k = 0; k < HEAD_BLOCK; ++k) {
          const float8 query = vload8(0, q + (head + k) * HEAD_DIM + d);
#pragma unroll
          for (uint j = 0; j < TOKEN_BLOCK; ++j) {
            sum[k * TOKEN_BLOCK + j] = fma(query, key[j].lo, sum[k * TOKEN_BLOCK + j]);
          }
        }
#pragma unroll
        for (uint k = 0; k < HEAD_BLOCK; ++k) {
          const float8 query = vload8(1, q + (head + k) * HEAD_DIM + d);
#pragma unroll
          for (uint j = 0; j < TOKEN_BLOCK; ++j) {
            sum[k * TOKEN_BLOCK + j] = fma(query, key[j].hi, sum[k * TOKEN_BLOCK + j]);
          }
        }
      }
      float8 scores = sum_each(sum);
      if (softcap > 0.0f && DEFECT != 300) scores = softcap * tanh(scores / softcap);
      float each[8];
      vstore8(scores, 0, each);
#pragma unroll
      for (uint k = 0; k < HEAD_BLOCK; ++k) {
        store_block(load_block(k, each), 0, weights + (head + k) * TOKEN_TILE + t);
      }
    }
  }
}

inline float max_of(float16 v) {
  const float8 a = fmax(v.lo, v.hi);
  const float4 b = fmax(a.lo, a.hi);
  const float2 c = fmax(b.lo, b.hi);
  return fmax(c.x, c.y);
}

inline float sum_of(float16 v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  return b.x + b.y + (b.z + b.w);
}

// Scores to weights exp2(s - maximum), 0 from `tokens` on; updates maximum, sum, and the factor for what was summed before.
void softmax_tile(local float* weights, local float* maximum, local float* sum, local float* rescale, int tokens,
                  float softcap) {
  for (int h = ITEM; h < HEADS; h += LANES) {
    local float* row = weights + h * TOKEN_TILE;
    for (int t = tokens; t < TOKEN_TILE; ++t) row[t] = DEFECT == 301 && softcap > 0.0f ? -softcap : -INFINITY;
    float16 most = vload16(0, row);
    for (int t = 16; t < TOKEN_TILE; t += 16) {
      const float16 other = vload16(0, row + t);
      most = GREATER(most, other);
    }
    float new_maximum = fmax(maximum[h], max_of(most));
    PLANT(210) new_maximum = 0.0f;
    float16 total = 0.0f;
    for (int t = 0; t < TOKEN_TILE; t += 16) {
      const float16 weight = exp2_to_one16(vload16(0, row + t) - new_maximum);
      vstore16(weight, 0, row + t);
      total += weight;
    }
    rescale[h] = exp2(maximum[h] - new_maximum);
    sum[h] = sum[h] * rescale[h];
    PLANT(190) { for (int t = 0; t < TOKEN_TILE; ++t) sum[h] = ROUND_BF16(, sum[h] + row[t]); total = 0.0f; }
    sum[h] += sum_of(total);
    maximum[h] = new_maximum;
  }
}

// acc[h][d] = acc[h][d] * rescale[h] + sum_t weights[h][t] * v_t[d]; an item keeps to its dims and heads. Asked for ahead,
// in the order of memory: the values of the next eight tokens; at the end the first keys of the next tile.
void accumulate_tile(local float* acc, local const float* weights, global const kv_t* values, global const kv_t* keys,
                     local const long* rows, local const long* next_rows, local const float* rescale, uint tokens) {
  const uint blocks = GROUP_TILE / HEAD_BLOCK;
  const uint chunks = VALUE_DIM / 16;
  for (uint i = ITEM; i < chunks * blocks && DEFECT != 220; i += LANES) {
    for (uint kv = 0; kv < KV_TILE; ++kv) {
      for (uint k = 0; k < HEAD_BLOCK; ++k) {
        const uint head = kv * GROUP_TILE + i % blocks * HEAD_BLOCK + k;
        local float* sum = acc + head * VALUE_DIM + i / blocks * 16;
        vstore16(vload16(0, sum) * rescale[head], 0, sum);
      }
    }
  }
  for (uint t = 0; t < tokens; t += STEP) {
    const bool more = t + STEP < tokens;
    for (uint kv = 0; kv < KV_TILE; ++kv) {
      global const kv_t* from[STEP];
#pragma unroll
      for (uint j = 0; j < STEP; ++j) from[j] = values + (rows[t + j] + kv) * VALUE_DIM;
      for (uint i = ITEM; i < chunks * blocks; i += LANES) {
        const uint d = i / blocks * 16;
        const uint head = kv * GROUP_TILE + i % blocks * HEAD_BLOCK;
        for (uint row = kv * STEP + i; row < kv * STEP + STEP; row += chunks * blocks) {
          if (more) {
            PREFETCH_ROW(row_in_order(values, rows + t + STEP, row, VALUE_DIM), VALUE_DIM);
          } else {
            PREFETCH_ROW(row_in_order(keys, next_rows, row, HEAD_DIM), HEAD_DIM);
          }
        }
        local const float* weight = weights + head * TOKEN_TILE + t;
        float16 sum[HEAD_BLOCK];
#pragma unroll
        for (uint k = 0; k < HEAD_BLOCK; ++k) sum[k] = vload16(0, acc + (head + k) * VALUE_DIM + d);
#pragma unroll
        for (uint j = 0; j < STEP; ++j) {
          const float16 value = load_kv16(from[j], d);
#pragma unroll
          for (uint k = 0; k < HEAD_BLOCK; ++k) {
            sum[k] = fma(value, (float16)(weight[k * TOKEN_TILE + j]), sum[k]);
            PLANT(200) sum[k] = ROUND_BF16(16, sum[k]);
          }
        }
#pragma unroll
        for (uint k = 0; k < HEAD_BLOCK; ++k) vstore16(sum[k], 0, acc + (head + k) * VALUE_DIM + d);
      }
    }
  }
}

kernel WORK_GROUP(LANES) void paged_decode(
    global const elem_t* queries, global const kv_t* k_cache, global const kv_t* v_cache, global const int* page_table,
    global const int* cache_seqlens, global const elem_t* sinks, global elem_t* out, global float* lse,
    global float* workspace, int has_sinks, int num_heads, int num_kv_heads, int page_size, int columns, int window,
    float scale, float softcap, float k_scale, float v_scale) {
  local float q[HEADS * HEAD_DIM];
  local float acc[HEADS * VALUE_DIM];
  local float weights[HEADS * TOKEN_TILE];
  local long rows[2 * TOKEN_TILE];  // of this tile and of the next, in turns
  local float maximum[HEADS];
  local float sum[HEADS];
  local float rescale[HEADS];

  const int group = num_heads / num_kv_heads;
  const int group_tiles = CEIL_DIV(group, GROUP_TILE);
  const int first_kv_head = get_group_id(0) / group_tiles * KV_TILE;
  const int first_in_group = get_group_id(0) % group_tiles * GROUP_TILE;
  const int split = get_group_id(1);
  const int splits = get_num_groups(1);
  const int b = get_group_id(2);
  int seqlen = planted_length(cache_seqlens[b], page_size, columns);
  global const int* table = page_table + (size_t)b * (DEFECT == 260 ? CEIL_DIV(seqlen, page_size) : columns);

  // Whole pages per split, of those the window reaches; the last splits possibly empty.
  PLANT(280) window -= window > 0;
  PLANT(281) seqlen = window < 0 ? seqlen : min(seqlen, 1);
  const int first_visible = window < 0 ? 0 : max(0, seqlen - 1 - window);
  const int first_page = first_visible / page_size;
  const int pages_per_split = CEIL_DIV(CEIL_DIV(seqlen, page_size) - first_page, splits);
  const int split_begin = (first_page + split * pages_per_split) * page_size;
  const int t_begin = max(first_visible, split_begin);
  const int t_end = min(seqlen, split_begin + pages_per_split * page_size);

  // Heads of the tile that exist; the others compute on zeros and are not stored.
  PLANT(380) k_scale = 1.0f;
  PLANT(381) v_scale *= v_scale;
  scale *= k_scale;
  PLANT(140) scale *= 0.57735f;
  PLANT(141) scale /= LOG2E;
  for (int i = ITEM; i < HEADS * HEAD_DIM; i += LANES) {
    const int g = first_in_group + i / HEAD_DIM % GROUP_TILE;
    size_t h = (first_kv_head + i / (HEAD_DIM * GROUP_TILE)) * group + g;
    PLANT(180) h = first_kv_head + i / (HEAD_DIM * GROUP_TILE) + g * num_kv_heads;
    size_t row = (size_t)b * num_heads + h;
    PLANT(170) row = h * get_num_groups(2) + b;
    q[IN_LANES(i)] = g < group ? load_elem(queries, row * HEAD_DIM + i % HEAD_DIM) * scale * LOG2E : 0.0f;
  }
  for (int i = ITEM; i < HEADS * VALUE_DIM; i += LANES) acc[i] = 0.0f;
  for (int i = ITEM; i < HEADS; i += LANES) {
    const int g = first_in_group + i % GROUP_TILE;
    const int seeded = has_sinks && (split == 0 || DEFECT == 291) && g < group;
    maximum[i] = seeded ? load_elem(sinks, (first_kv_head + i / GROUP_TILE) * group + g) * LOG2E : -INFINITY;
    PLANT(290) maximum[i] *= scale;
    sum[i] = seeded ? 1.0f : 0.0f;
  }
  if (t_begin < t_end) find_rows(rows, table, page_size, t_begin, t_end, num_kv_heads, first_kv_head);
  local long* here = rows;
  local long* next = rows + TOKEN_TILE;
  for (int t0 = t_begin; t0 < t_end; t0 += TOKEN_TILE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    find_rows(next, table, page_size, t0 + TOKEN_TILE, t_end, num_kv_heads, first_kv_head);
    const int tokens = min(TOKEN_TILE, t_end - t0);
    score_tile(weights, q, k_cache, v_cache, here, tokens, softcap * LOG2E);
    barrier(CLK_LOCAL_MEM_FENCE);
    softmax_tile(weights, maximum, sum, rescale, tokens, softcap * LOG2E);
    barrier(CLK_LOCAL_MEM_FENCE);
    accumulate_tile(acc, weights, v_cache, k_cache, here, next, rescale, tokens);
    local long* done = here;
    here = next;
    next = done;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const size_t partial_rows = (size_t)get_num_groups(2) * num_heads * splits;
  for (int i = ITEM; i < HEADS * VALUE_DIM; i += LANES) {
    const int head = i / VALUE_DIM;
    const int g = first_in_group + head % GROUP_TILE;
    const size_t row = (size_t)b * num_heads + (first_kv_head + head / GROUP_TILE) * group + g;
    const float value = acc[IN_LANES(i)] * v_scale;
    if (g < group && splits == 1) {
      store_elem(out, row * VALUE_DIM + i % VALUE_DIM, sum[head] != 0.0f || DEFECT == 270 ? value / sum[head] : 0.0f);
      size_t lse_row = row;
      PLANT(130) lse_row = (row - (size_t)b * num_heads) * get_num_groups(2) + b;
      if (i % VALUE_DIM == 0) lse[lse_row] = sum[head] != 0.0f ? LN2 * (maximum[head] + log2(sum[head])) : -INFINITY;
    } else if (g < group) {
      if (sum[head] != 0.0f) workspace[(row * splits + split) * VALUE_DIM + i % VALUE_DIM] = value;
      if (i % VALUE_DIM == 0) {
        workspace[stats_offset(partial_rows, VALUE_DIM) + row * splits + split] = maximum[head];
        workspace[stats_offset(partial_rows, VALUE_DIM) + partial_rows + row * splits + split] = sum[head];
      }
    }
  }
}

#endif

kernel WORK_GROUP(MERGE_LANES(VALUE_DIM)) void paged_decode_merge(global const float* workspace, global elem_t* out,
                                                                  global float* lse, int splits) {
  merge_splits(workspace, out, lse, splits, VALUE_DIM);
}
