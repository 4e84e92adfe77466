// The kernels, in the order in which they are listed and run. A kernel X has a row at the end of src/kernels/X.cpp and
// a maker of sample batches in src/sample.
#pragma once

#define PREFLIGHT_KERNELS(KERNEL) \
  KERNEL(mla_decode)              \
  KERNEL(paged_decode)            \
  KERNEL(local_decode)            \
  KERNEL(merge_state)             \
  KERNEL(mrope)                   \
  KERNEL(gated_delta_step)        \
  KERNEL(gated_delta_chunk)       \
  KERNEL(causal_conv1d)           \
  KERNEL(page_table)              \
  KERNEL(kv_indices)
