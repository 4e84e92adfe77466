// Rotary embedding with a position per axis (time, height, width), in place.
//
//   pair j of a head turns by the angle of column j of its axis' position p:  c = cos_sin[p, j], s = cos_sin[p, PAIRS + j]
//   x1' = x1 c - x2 s,  x2' = x2 c + x1 s;  (x1, x2) = dims (j, j + PAIRS), or (2j, 2j + 1) with ADJACENT
//   axis of pair j: SECTION0 pairs of axis 0, SECTION1 of axis 1, the rest of axis 2; INTERLEAVED: axis 1 where j % 3 = 1
//   and j < 3 SECTION1, axis 2 where j % 3 = 2 and j < 3 SECTION2, else 0. Dims from 2 PAIRS on stay as they are.
//
// Tensors     query [N, HEADS, HEAD_DIM], key [N, KV_HEADS, HEAD_DIM], cos_sin [positions, 2 PAIRS]   ELEM
//             positions [AXES, N]                                                                     long
// Work-group  LANES items: all pairs of one token, of all heads of queries and keys.
// Arithmetic  fp32, one rounding. Every pair is read and written by one item.
// Host        grid (LANES, N).

#include "common.clh"

#ifndef LANES
#define LANES 1
#endif

inline int axis_of(int j) {
#if AXES == 1
  return 0;
#else
  bool interleaved = INTERLEAVED;
  PLANT(370) interleaved = !interleaved;
  if (interleaved) return j % 3 == 1 && j < 3 * SECTION1 ? 1 : j % 3 == 2 && j < 3 * SECTION2 ? 2 : 0;
  PLANT(372) return j < SECTION1 ? 0 : j < SECTION1 + SECTION2 ? 1 : 2;
  return j < SECTION0 ? 0 : j < SECTION0 + SECTION1 ? 1 : 2;
#endif
}

inline void rotate_head(global elem_t* head, int j, float c, float s) {
  const bool adjacent = DEFECT == 371 ? !ADJACENT : ADJACENT;
  const int first = adjacent ? 2 * j : j;
  const int second = adjacent ? 2 * j + 1 : j + PAIRS;
  const float x1 = load_elem(head, first);
  const float x2 = load_elem(head, second);
  PLANT(374) s = -s;
  store_elem(head, first, x1 * c - x2 * s);
  store_elem(head, second, x2 * c + x1 * s);
}

kernel WORK_GROUP(LANES) void mrope(global elem_t* query, global elem_t* key, global const elem_t* cos_sin,
                                    global const long* positions) {
  const size_t token = get_group_id(1);
  const size_t tokens = get_num_groups(1);
  for (int i = get_local_id(0); i < (HEADS + KV_HEADS) * PAIRS; i += LANES) {
    const int j = i % PAIRS;
    const int h = i / PAIRS;
    int axis = axis_of(j);
    PLANT(373) axis = 0;
    long position = positions[axis * tokens + token];
    PLANT(375) position = positions[token * AXES + axis];
    global const elem_t* row = cos_sin + position * 2 * PAIRS;
    const float c = load_elem(row, j);
    const float s = load_elem(row, PAIRS + j);
    if (h < HEADS) {
      rotate_head(query + (token * HEADS + h) * HEAD_DIM, j, c, s);
    } else if (DEFECT != 376) {
      rotate_head(key + (token * KV_HEADS + h - HEADS) * HEAD_DIM, j, c, s);
    }
  }
}
