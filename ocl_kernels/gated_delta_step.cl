// Gated delta rule, token after token: the decode step of linear attention layers (Qwen3-Next, Qwen3.5).
//
//   x = a + dt_bias;  decay = exp(-exp(A_log) softplus(x));  beta = beta_gain sigmoid(b)
//   S <- decay S;  d = beta (v - S k);  S <- S + d k^T;  o = scale S q       q, k normalised first with L2NORM
//   value head hv uses key head hv / (V_HEADS / HEADS)
//
// Tensors     q, k [N, HEADS, K_DIM], v, o [N, V_HEADS, V_DIM], a, b [N, V_HEADS]      ELEM
//             A_log, dt_bias [V_HEADS], state [slots, V_HEADS, V_DIM, K_DIM]           float
//             state_indices [R], cu_seqlens [R + 1] (tokens)                           int
// Work-group  LANES items: ROWS rows of the state of one value head of one request, which stay in local memory while the
//             request's tokens pass. Rows are independent: no item waits for another's row.
// Arithmetic  fp32; softplus is x itself above 20, as upstream; eps 1e-6 inside the root of the norm; one rounding of o.
// State       read from its slot and written back in place; a request with index -1 (padding of a captured batch) starts
//             from zeros and writes nothing back, but has outputs.
// Barriers    two per token, in uniform control flow.
// Host        grid (LANES * V_DIM / ROWS, V_HEADS, R); V_DIM a multiple of ROWS, K_DIM of 4.

#include "common.clh"

#ifndef LANES
#define LANES 1
#endif

inline float dot_row(local const float* a, local const float* b) {
  float4 sum = 0.0f;
  for (int d = 0; d < K_DIM; d += 4) sum = fma(vload4(0, a + d), vload4(0, b + d), sum);
  return sum.x + sum.y + (sum.z + sum.w);
}

// 1 / |x| of a key or query row, or 1 when it is taken as it is.
inline float inverse_norm(global const elem_t* x, size_t row) {
#if L2NORM
  float sum = 0.0f;
  for (int d = 0; d < K_DIM; ++d) {
    const float value = load_elem(x, row * K_DIM + d);
    sum = fma(value, value, sum);
  }
  PLANT(343) return 1.0f / (sqrt(sum) + 1e-6f);
  return 1.0f / sqrt(sum + 1e-6f);
#else
  return 1.0f;
#endif
}

inline float log_decay(float a_log, float x) {
  float soft = x > 20.0f ? x : log1p(exp(x));
  PLANT(344) soft = x > 1.0f ? x : soft;
  return -exp(a_log) * soft;
}

kernel WORK_GROUP(LANES) void gated_delta_step(
    global const elem_t* q, global const elem_t* k, global const elem_t* v, global const elem_t* a,
    global const elem_t* b, global const float* a_log, global const float* dt_bias, global float* state,
    global const int* state_indices, global const int* cu_seqlens, global elem_t* o, float scale,
    float beta_gain) {
  local float rows[ROWS * K_DIM];
  local float query[K_DIM];
  local float key[K_DIM];
  const int first_row = get_group_id(0) * ROWS;
  const int hv = get_group_id(1);
  const int r = get_group_id(2);
  int h = hv / (V_HEADS / HEADS);
  PLANT(180) h = hv % HEADS;
  const int slot = state_indices[r];
  const bool has_slot = slot >= 0 || DEFECT == 350;
  global float* own = state + ((size_t)max(slot, 0) * V_HEADS + hv) * V_DIM * K_DIM + first_row * K_DIM;

  for (int i = get_local_id(0); i < ROWS * K_DIM; i += LANES) {
    int from = i;
    PLANT(340) from = V_DIM == K_DIM ? (i % K_DIM - first_row) * K_DIM + first_row + i / K_DIM : i;
    rows[i] = slot >= 0 ? own[from] : 0.0f;
  }
  for (int t = cu_seqlens[r]; t < cu_seqlens[r + 1]; ++t) {
    const size_t row = (size_t)t * HEADS + h;
    const float q_norm = inverse_norm(q, row) * (DEFECT == 345 ? 1.0f : scale);
    const float k_norm = inverse_norm(k, row);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = get_local_id(0); d < K_DIM; d += LANES) {
      query[d] = load_elem(q, row * K_DIM + d) * q_norm;
      key[d] = load_elem(k, row * K_DIM + d) * k_norm;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t gate = (size_t)t * V_HEADS + hv;
    const float decay = exp(log_decay(a_log[hv], load_elem(a, gate) + dt_bias[hv]));
    float beta = beta_gain / (1.0f + exp(-load_elem(b, gate)));
    PLANT(342) beta = 1.0f;
    for (int i = get_local_id(0); i < ROWS; i += LANES) {
      local float* s = rows + i * K_DIM;
      const float before = DEFECT == 341 ? 1.0f : decay;
      for (int d = 0; d < K_DIM; d += 4) vstore4(vload4(0, s + d) * before, 0, s + d);
      const float delta = beta * (load_elem(v, gate * V_DIM + first_row + i) - dot_row(s, key));
      for (int d = 0; d < K_DIM; d += 4) vstore4(fma(vload4(0, key + d), (float4)(delta), vload4(0, s + d)), 0, s + d);
      PLANT(341) for (int d = 0; d < K_DIM; ++d) s[d] *= decay;
      store_elem(o, gate * V_DIM + first_row + i, dot_row(s, query));
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_local_id(0); i < ROWS * K_DIM && has_slot; i += LANES) own[i] = rows[i];
}
