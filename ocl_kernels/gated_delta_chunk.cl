// Gated delta rule in chunks of BT tokens: the prefill form, in three kernels. Per value head, G = sum of log decays
// within the chunk, up to and with the token:
//
//   intra   L_ij = beta_i (k_i . k_j) e^(G_i - G_j) for i > j, else 0;  A = (I + L)^-1 by forward substitution
//           u = A (beta v),  w = A (beta e^G k)
//   state   per chunk: h = S;  v_new = u - w S^T;  S <- e^(G_last) S + sum_j e^(G_last - G_j) v_new_j k_j^T
//   output  o_i = scale (e^(G_i) h q_i + sum_(j <= i) (q_i . k_j) e^(G_i - G_j) v_new_j)
//
// Tensors     q, k [N, HEADS, K_DIM], v, o [N, V_HEADS, V_DIM]                                  ELEM
//             g (log decay), beta, gate_sums [N, V_HEADS], a [N, V_HEADS, BT], w [N, V_HEADS, K_DIM],
//             u, v_new [N, V_HEADS, V_DIM], h [chunks, V_HEADS, V_DIM, K_DIM], state [slots, V_HEADS, V_DIM, K_DIM]  float
//             state_indices [R], cu_seqlens [R + 1], chunk_request, chunk_start, chunk_offsets [R + 1]   int
//             workspace: inverse norms of q and of k [N, HEADS] each; 1 without L2NORM                   float
// Work-group  norms: one item a row; intra and output: LANES items a chunk and value head (output: a token); state: LANES
//             items on ROWS rows of the state of one value head of one request, kept in local memory from chunk to chunk.
// Arithmetic  fp32, intermediates too; o is rounded once. e^(G_i - G_j) has no exponent above 0: decays only shrink.
// Barriers    in uniform control flow; the substitution has two per row.
// Host        grids (N * HEADS * 2), (LANES, chunks, V_HEADS), (LANES * V_DIM / ROWS, V_HEADS, R), (LANES, N, V_HEADS);
//             V_DIM a multiple of ROWS, K_DIM and V_DIM of 4.

#include "common.clh"

#ifndef LANES
#define LANES 1
#endif

// Dims that are taken at a time: as many as there may be in the form of a CPU, which is compiled without an optimiser.
#if LANES == 1 && K_DIM % 16 == 0 && V_DIM % 16 == 0
#define WIDE 16
#else
#define WIDE 4
#endif
#define load_wide CAT(vload, WIDE)
#define store_wide CAT(vstore, WIDE)
typedef CAT(float, WIDE) wide_t;

// KV_ELEM is ELEM here.
inline wide_t load_elems(global const elem_t* p, size_t i) { return CAT(kv_to_float, WIDE)(load_wide(0, p + i)); }

inline float sum_of(wide_t v) {
#if WIDE == 16
  const float8 half_sums = v.lo + v.hi;
  const float4 sums = half_sums.lo + half_sums.hi;
#else
  const float4 sums = v;
#endif
  return sums.x + sums.y + (sums.z + sums.w);
}

inline float dot_keys(global const elem_t* x, size_t row, global const elem_t* y, size_t other) {
  wide_t sum = 0.0f;
#pragma unroll 4  // whole, its rows take more registers than Arc's sub-groups of 8 have
  for (int d = 0; d < K_DIM; d += WIDE) {
    sum = fma(load_elems(x, row * K_DIM + d), load_elems(y, other * K_DIM + d), sum);
  }
  return sum_of(sum);
}

inline int key_head(int hv) {
  PLANT(180) return hv % HEADS;
  return hv / (V_HEADS / HEADS);
}

kernel WORK_GROUP(1) void delta_norms(global const elem_t* q, global const elem_t* k,
                                      global float* norms, int tokens) {
  const size_t i = get_group_id(0);
  const size_t rows = (size_t)tokens * HEADS;
  float norm = 1.0f;
#if L2NORM
  global const elem_t* x = i < rows ? q : k;
  norm = 1.0f / sqrt(dot_keys(x, i % rows, x, i % rows) + 1e-6f);
  PLANT(343) norm = 1.0f / (sqrt(dot_keys(x, i % rows, x, i % rows)) + 1e-6f);
#endif
  norms[i] = norm;
}

kernel WORK_GROUP(LANES) void delta_intra(
    global const elem_t* k, global const elem_t* v, global const float* g, global const float* beta,
    global const float* norms, global const int* cu_seqlens, global const int* chunk_request,
    global const int* chunk_start, global float* gate_sums, global float* a_out, global float* w, global float* u,
    int tokens) {
  local float a[BT * BT];
  local float row_of_l[BT];
  local float gate[BT];
  local float betas[BT];
  local float gains[BT];  // of keys in w
  const int hv = get_group_id(2);
  const int h = key_head(hv);
  const int start = chunk_start[get_group_id(1)];
  const int n = min(BT, cu_seqlens[chunk_request[get_group_id(1)] + 1] - start);
  global const float* k_norms = norms + (size_t)tokens * HEADS;

  if (get_local_id(0) == 0) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
      const size_t at = (size_t)(start + i) * V_HEADS + hv;
      sum = g[at] + (DEFECT == 362 ? 0.0f : sum);
      gate[i] = sum;
      gate_sums[at] = sum;
      betas[i] = beta[at];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_local_id(0); i < n; i += LANES) {
    const float decay = DEFECT == 363 ? 1.0f : exp(gate[i]);
    gains[i] = betas[i] * decay * k_norms[(size_t)(start + i) * HEADS + h];
  }
  for (int i = 0; i < BT; ++i) {
    for (int j = get_local_id(0); j < BT; j += LANES) {
      float l = 0.0f;
      if (i < n && j < (DEFECT == 361 ? i + 1 : i)) {
        const size_t row = (size_t)(start + i) * HEADS + h;
        const size_t other = (size_t)(start + j) * HEADS + h;
        l = betas[i] * dot_keys(k, row, k, other) * k_norms[row] * k_norms[other] * exp(gate[i] - gate[j]);
      }
      row_of_l[j] = l;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Row i of the inverse from the rows above it.
    for (int c = get_local_id(0) * 4; c < BT; c += LANES * 4) {
      float4 x = (float4)(c == i, c + 1 == i, c + 2 == i, c + 3 == i);
      for (int j = 0; j < i && DEFECT != 360; ++j) x = fma((float4)(-row_of_l[j]), vload4(0, a + j * BT + c), x);
      PLANT(360) x -= vload4(0, row_of_l + c);
      PLANT(361) x /= 1.0f + row_of_l[i];
      vstore4(x, 0, a + i * BT + c);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < n; ++i) {
    const size_t at = (size_t)(start + i) * V_HEADS + hv;
    for (int j = get_local_id(0); j < BT; j += LANES) a_out[at * BT + j] = a[i * BT + j];
    for (int d = get_local_id(0) * WIDE; d < K_DIM; d += LANES * WIDE) {
      wide_t sum = 0.0f;
      for (int j = 0; j <= i; ++j) {
        const size_t key = (size_t)(start + j) * HEADS + h;
        sum = fma((wide_t)(a[i * BT + j] * gains[j]), load_elems(k, key * K_DIM + d), sum);
      }
      store_wide(sum, 0, w + at * K_DIM + d);
    }
    for (int d = get_local_id(0) * WIDE; d < V_DIM; d += LANES * WIDE) {
      wide_t sum = 0.0f;
      for (int j = 0; j <= i; ++j) {
        const size_t value = (size_t)(start + j) * V_HEADS + hv;
        sum = fma((wide_t)(a[i * BT + j] * betas[j]), load_elems(v, value * V_DIM + d), sum);
      }
      store_wide(sum, 0, u + at * V_DIM + d);
    }
  }
}

kernel WORK_GROUP(LANES) void delta_state(
    global const elem_t* k, global const float* norms, global const float* gate_sums, global const float* w,
    global const float* u, global const int* cu_seqlens, global const int* chunk_offsets,
    global const int* state_indices, global float* state, global float* h_out, global float* v_new, int tokens) {
  local float rows[ROWS * K_DIM];
  const int first_row = get_group_id(0) * ROWS;
  const int hv = get_group_id(1);
  const int r = get_group_id(2);
  const int h = key_head(hv);
  global const float* k_norms = norms + (size_t)tokens * HEADS;
  const int slot = state_indices[r];
  global float* own = state + ((size_t)max(slot, 0) * V_HEADS + hv) * V_DIM * K_DIM + first_row * K_DIM;
  // An item keeps to its rows from here on: no barrier is needed.
  for (int i = get_local_id(0); i < ROWS; i += LANES) {
    local float* s = rows + i * K_DIM;
    for (int d = 0; d < K_DIM; ++d) s[d] = slot >= 0 ? own[i * K_DIM + d] : 0.0f;
    int chunk = chunk_offsets[r];
    for (int start = cu_seqlens[r]; start < cu_seqlens[r + 1]; start += BT, ++chunk) {
      const int n = min(BT, cu_seqlens[r + 1] - start);
      global float* before = h_out + (((size_t)chunk * V_HEADS + hv) * V_DIM + first_row + i) * K_DIM;
      for (int d = 0; d < K_DIM; d += 4) vstore4(vload4(0, s + d), 0, before + d);
      for (int j = 0; j < n; ++j) {
        const size_t at = (size_t)(start + j) * V_HEADS + hv;
        wide_t sum = 0.0f;
        for (int d = 0; d < K_DIM; d += WIDE) sum = fma(load_wide(0, w + at * K_DIM + d), load_wide(0, s + d), sum);
        v_new[at * V_DIM + first_row + i] = u[at * V_DIM + first_row + i] - sum_of(sum);
      }
      const float last = gate_sums[(size_t)(start + n - 1) * V_HEADS + hv];
      const float decay = DEFECT == 364 ? 1.0f : exp(last);
      for (int d = 0; d < K_DIM; d += WIDE) store_wide(load_wide(0, s + d) * decay, 0, s + d);
      for (int j = 0; j < n; ++j) {
        const size_t at = (size_t)(start + j) * V_HEADS + hv;
        const size_t key = (size_t)(start + j) * HEADS + h;
        const float gain = v_new[at * V_DIM + first_row + i] * exp(last - gate_sums[at]) * k_norms[key];
        for (int d = 0; d < K_DIM; d += WIDE) {
          store_wide(fma((wide_t)(gain), load_elems(k, key * K_DIM + d), load_wide(0, s + d)), 0, s + d);
        }
      }
    }
    for (int d = 0; d < K_DIM && slot >= 0; ++d) own[i * K_DIM + d] = s[d];
  }
}

kernel WORK_GROUP(LANES) void delta_output(
    global const elem_t* q, global const elem_t* k, global const float* norms, global const float* gate_sums,
    global const float* h_in, global const float* v_new, global const int* chunk_of, global const int* chunk_start,
    global elem_t* o, int tokens, float scale) {
  local float scores[BT];
  const int token = get_group_id(1);
  const int hv = get_group_id(2);
  const int h = key_head(hv);
  const int chunk = chunk_of[token];
  const int start = chunk_start[chunk];
  const int i = token - start;
  const size_t row = (size_t)token * HEADS + h;
  const size_t at = (size_t)token * V_HEADS + hv;
  global const float* k_norms = norms + (size_t)tokens * HEADS;
  const float gain = scale * norms[row];
  const int keys = DEFECT == 365 ? i : i + 1;
  for (int j = get_local_id(0); j < keys; j += LANES) {
    const size_t key = (size_t)(start + j) * HEADS + h;
    const float decay = exp(gate_sums[at] - gate_sums[(size_t)(start + j) * V_HEADS + hv]);
    scores[j] = gain * k_norms[key] * dot_keys(q, row, k, key) * decay;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float decay = exp(gate_sums[at]);
  for (int d = get_local_id(0) * WIDE; d < V_DIM; d += LANES * WIDE) {
    float kept[WIDE];  // what the state before the chunk adds to each dim
    for (int c = 0; c < WIDE; ++c) {
      global const float* s = h_in + (((size_t)chunk * V_HEADS + hv) * V_DIM + d + c) * K_DIM;
      wide_t sum = 0.0f;
      for (int e = 0; e < K_DIM; e += WIDE) sum = fma(load_wide(0, s + e), load_elems(q, row * K_DIM + e), sum);
      kept[c] = sum_of(sum);
    }
    wide_t sum = load_wide(0, kept) * (gain * decay);
    for (int j = 0; j < keys; ++j) {
      const size_t value = ((size_t)(start + j) * V_HEADS + hv) * V_DIM + d;
      sum = fma((wide_t)(scores[j]), load_wide(0, v_new + value), sum);
    }
    store_wide(sum, 0, kept);
    for (int c = 0; c < WIDE; ++c) store_elem(o, at * V_DIM + d + c, kept[c]);
  }
}
