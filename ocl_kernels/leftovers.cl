// Leaves NaN and the largest numbers in local memory, as a kernel before may have left anything there. What a kernel reads
// before it wrote it then shows, which it does not where memory happens to hold zeros: NaN in sums and products, which a
// maximum passes over; a number near the largest in a maximum.
//
// Tensors     none
// Work-group  one item, which fills all of `words`
// Host        as much as the next kernel takes; enough groups for every compute unit

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void leave_no_zeros(local uint* memory, int words) {
  volatile local uint* kept = memory;  // or a compiler leaves out what nobody reads
  for (int i = 0; i < words; ++i) kept[i] = i % 2 == 0 ? 0xFFFFFFFFu : 0x7F007F00u;  // in fp32 and in bf16
}
