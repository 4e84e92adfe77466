// Causal convolution over the last few tokens of each channel, before the linear layers of hybrids, and the window of tokens
// that it keeps between steps: one token a request in decode, all new ones in prefill.
//
//   s[-BEFORE .. -1] = state of the request's slot, oldest first, or zeros where it has none;  s[0 .. n-1] = its new tokens
//   y[t] = silu(bias + sum over j <= BEFORE of weight[j] s[t - BEFORE + j]),  silu(a) = a / (1 + e^-a)
//   state <- s[n-BEFORE .. n-1]
//
// Tensors     x [N, CHANNELS], weight [CHANNELS, BEFORE + 1], bias [CHANNELS], y [N, CHANNELS],
//             state [slots, CHANNELS, BEFORE]                                                       ELEM
//             state_indices [B] (-1: padding, of which nothing is read or written), has_state [B], cu_seqlens [B + 1]  int
// Work-group  LANES items; an item has one channel of one request at a time.
// Arithmetic  fp32, one rounding. Every element of the state is read and written by one item.
// Host        grid (any multiple of LANES, B).

#include "common.clh"

#ifndef LANES
#define LANES 1
#endif

inline float silu(float a) { return a / (1.0f + exp(-a)); }

inline void load_window(float* window, global const elem_t* kept, int has_state) {
  for (int j = 0; j < BEFORE; ++j) {
    int from = j;
    PLANT(391) from = BEFORE - 1 - j;
    window[j] = has_state ? load_elem(kept, from) : 0.0f;
  }
}

// The sum over the window and the token behind it.
inline float weigh(const float* window, float now, global const elem_t* weight, float bias) {
  float sum = bias;
  PLANT(390) return sum + now * load_elem(weight, 0) + window[0] * load_elem(weight, BEFORE);
  for (int j = 0; j < BEFORE; ++j) sum += window[j] * load_elem(weight, j);
  return sum + now * load_elem(weight, BEFORE);
}

inline void shift_in(float* window, float now) {
  for (int j = 0; j + 1 < BEFORE; ++j) window[j] = window[j + 1];
  window[BEFORE - 1] = now;
}

kernel WORK_GROUP(LANES) void causal_conv1d(global const elem_t* x, global const elem_t* weight, global const elem_t* bias,
                                            global elem_t* state, global const int* state_indices,
                                            global const int* has_state, global const int* cu_seqlens, global elem_t* y) {
  const size_t request = get_group_id(1);
  const int slot = state_indices[request];
  if (slot < 0) return;
  const int end = cu_seqlens[request + 1];
  int known = has_state[request];
  PLANT(393) known = 1;
  for (size_t c = get_global_id(0); c < CHANNELS; c += get_global_size(0)) {
    float window[BEFORE];
    global elem_t* kept = state + ((size_t)slot * CHANNELS + c) * BEFORE;
    load_window(window, kept, known);
    const float shift = load_elem(bias, c);
    for (int t = cu_seqlens[request]; t < end; ++t) {
      const size_t at = (size_t)t * CHANNELS + c;
      const float now = load_elem(x, at);
      float a = weigh(window, now, weight + c * (BEFORE + 1), shift);
      PLANT(394) a -= shift;
      float out = silu(a);
      PLANT(394) out += shift;
      PLANT(395) out = a;
      store_elem(y, at, out);
      PLANT(392) {
        window[BEFORE - 1] = now;
        continue;
      }
      shift_in(window, now);
    }
    for (int j = 0; j < BEFORE; ++j) store_elem(kept, j, window[j]);
  }
}
