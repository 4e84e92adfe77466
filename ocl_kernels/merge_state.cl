// Merges two partial attention results over disjoint keys, row by row.
//
//   m = max(s_a, s_b);  w = exp(s - m);  out = (w_a v_a + w_b v_b) / (w_a + w_b);  lse = m + ln(w_a + w_b)
//
// Tensors     v_a, v_b, out [ROWS, HEAD_DIM]      ELEM, a row is a head of a token
//             s_a, s_b, lse [ROWS]                float, natural log
// Work-group  LANES items: one row.
// Arithmetic  fp32, one rounding at the end.
// Empty       a side whose s is not finite (-INF, and +INF and NaN alike) has seen no key: its v is never read. Both
//             empty: out 0, lse -INF.
// Host        grid (LANES, ROWS); HEAD_DIM a multiple of 8.

#include "common.clh"

#ifndef LANES
#define LANES 1
#endif

inline float partial_sum(float s) {
  PLANT(111) return s;
  PLANT(112) return isinf(s) ? -INFINITY : s;
  return isfinite(s) ? s : -INFINITY;
}

kernel WORK_GROUP(LANES) void merge_state(
    global const elem_t* v_a, global const float* s_a, global const elem_t* v_b, global const float* s_b,
    global elem_t* out, global float* lse, int heads) {
  const size_t row = get_group_id(1);
  size_t s_row = row;
  PLANT(130) s_row = row % heads * (get_num_groups(1) / heads) + row / heads;
  const float a = partial_sum(s_a[s_row]);
  const float b = partial_sum(s_b[s_row]);
  const float maximum = fmax(a, b);
  const bool empty = maximum == -INFINITY && DEFECT != 110;
  float weight_a = empty ? 0.0f : exp(a - maximum);
  float weight_b = empty ? 0.0f : exp(b - maximum);
  PLANT(121) { weight_a = exp2(a - maximum); weight_b = exp2(b - maximum); }
  const float total = weight_a + weight_b;
  const bool reads_a = weight_a > 0.0f || DEFECT == 70;
  const bool reads_b = weight_b > 0.0f || DEFECT == 70;
  float share_a = empty ? 0.0f : weight_a / total;
  float share_b = empty ? 0.0f : weight_b / total;
  PLANT(90) share_a = share_b = reads_a && reads_b ? 0.5f : reads_a ? 1.0f : 0.0f;
  PLANT(90) share_b = 1.0f - share_a;
  PLANT(80) { share_a = weight_a; share_b = weight_b; }
  for (int d = get_local_id(0); d < HEAD_DIM; d += LANES) {
    float value = reads_a ? load_elem(v_a, row * HEAD_DIM + d) * share_a : 0.0f;
    if (reads_b) value = fma(load_elem(v_b, row * HEAD_DIM + d), share_b, value);
    PLANT(110) value = empty || total != total ? NAN : value;
    store_elem(out, row * HEAD_DIM + d, value);
  }
  if (get_local_id(0) == 0) lse[row] = empty ? -INFINITY : maximum + log(total);
}
