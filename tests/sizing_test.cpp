// Golden sizes: byte counts worked out apart from the code, from the formulae of sgl-kernel-xpu.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "preflight/sizing.h"

namespace preflight::sizing {
namespace {

using Integers = std::vector<std::int64_t>;

TEST(MlaWorkspace, AutoSplitsGiveTheGoldenByteCounts) {
  struct Row {
    std::int64_t max_seqlen, batch, heads, page_size, splits, partial, stat, total;
  };
  constexpr Row kRows[] = {
      {1024, 1, 16, 64, 8, 131072, 512, 132096},
      {1024, 1, 128, 128, 8, 1048576, 4096, 1056768},
      {4096, 4, 16, 64, 32, 2097152, 8192, 2113536},
      {4096, 4, 128, 64, 64, 33554432, 131072, 33816576},
      {32768, 4, 128, 64, 128, 67108864, 262144, 67633152},  // clamped to 128 splits
      {32768, 16, 128, 128, 128, 268435456, 1048576, 270532608},
      {163840, 8, 16, 128, 128, 16777216, 65536, 16908288},
      {163840, 64, 16, 128, 128, 134217728, 524288, 135266304},
      {32768, 1, 32, 32, 32, 1048576, 4096, 1056768},  // long sequences are split less at small pages
      {32768, 1, 16, 16, 32, 524288, 2048, 528384},
      {128, 1, 16, 64, 1, 0, 0, 0},             // one split needs no workspace
      {129, 1, 16, 128, 2, 32768, 256, 33280},  // statistics aligned up from 128 bytes
      {384, 1, 3, 64, 3, 9216, 256, 9728},      // and from 36
  };
  for (const Row& row : kRows) {
    const auto got = mla_workspace(row.max_seqlen, row.batch, row.heads, row.page_size);
    ASSERT_TRUE(got.has_value());
    SCOPED_TRACE(row.total);
    EXPECT_EQ(got->splits, row.splits);
    EXPECT_EQ(got->partial_out_bytes, row.partial);
    EXPECT_EQ(got->stat_bytes, row.stat);
    EXPECT_EQ(got->total_bytes, row.total);
    EXPECT_FALSE(got->overflows_int32);
  }
}

TEST(MlaWorkspace, ALongerContextMayGetFewerSplitsAndASmallerWorkspace) {
  const auto at = [](std::int64_t length, std::int64_t page) {
    return mla_workspace(length, 1, 16, page)->total_bytes;
  };
  EXPECT_EQ(at(8192, 16), 528384);
  EXPECT_EQ(at(8193, 16), 132096);
  EXPECT_EQ(at(16384, 16), 264192);
  EXPECT_EQ(at(8192, 32), 693760);
  EXPECT_EQ(at(16384, 32), 264192);
  // So a workspace sized for context 16384 refuses a table that spans 8192.
  EXPECT_FALSE(mla_workspace_suffices(at(16384, 16), 1, 16, 8192 / 16, 16, -1));
  EXPECT_TRUE(mla_workspace_suffices(at(8192, 16), 1, 16, 8192 / 16, 16, -1));
}

TEST(MlaWorkspace, CountsInSixtyFourBitsWhereUpstreamOverflows) {
  const auto got = mla_workspace(163840, 128, 128, 128);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->splits, 128);
  EXPECT_EQ(got->total_bytes, 2164260864);
  EXPECT_TRUE(got->overflows_int32);
}

TEST(MlaWorkspace, RefusesWhatUpstreamRaisesOn) {
  EXPECT_FALSE(mla_workspace(0, 1, 16, 64).has_value());
  EXPECT_FALSE(mla_workspace(1024, 0, 16, 64).has_value());
  EXPECT_FALSE(mla_workspace(1024, 1, 0, 64).has_value());   // auto needs the heads
  EXPECT_FALSE(mla_workspace(1024, 1, 16, 48).has_value());  // and a page size it knows
  EXPECT_FALSE(mla_workspace(1024, 1, 16, 48, 4).has_value());
  EXPECT_TRUE(mla_workspace(1024, 1, 0, 48, 1).has_value());  // one split needs neither
}

TEST(MlaWorkspace, FirstFormCountsPaddedHeadsInFloats) {
  struct Row {
    std::int64_t max_seqlen, batch, sm_count, total;
  };
  constexpr Row kRows[] = {{1024, 1, 148, 2101248}, {4096, 4, 148, 33619968}, {32768, 16, 148, 37822464},
                           {4096, 4, 20, 5253120},  {32768, 16, 20, 4202496}, {163840, 8, 20, 4202496}};
  for (const Row& row : kRows) {
    EXPECT_EQ(cutlass_mla_workspace_bytes(row.max_seqlen, row.batch, row.sm_count), row.total) << row.max_seqlen;
  }
}

TEST(PageTable, WidthIsRoundedUpAndOnlyPage128NeverFailsTheMlaWrapper) {
  EXPECT_EQ(page_table_columns(1, 64), 1);
  EXPECT_EQ(page_table_columns(64, 64), 1);
  EXPECT_EQ(page_table_columns(65, 64), 2);
  for (std::int64_t columns = 1; columns <= 33; ++columns) {
    EXPECT_TRUE(mla_columns_accepted(columns, 128));
    EXPECT_EQ(mla_columns_accepted(columns, 64), columns % 2 == 0);
    EXPECT_EQ(mla_columns_accepted(columns, 32), columns % 4 == 0);
    EXPECT_EQ(mla_columns_accepted(columns, 16), columns % 8 == 0);
  }
  EXPECT_EQ(mla_padded_columns(3, 64), 4);
  EXPECT_EQ(mla_padded_columns(1, 16), 8);
  EXPECT_EQ(mla_padded_columns(8, 16), 8);
}

TEST(LocalAttention, VirtualBatchesOfAPrefillMatchTheWorkedExample) {
  const Integers q{4, 10, 5};
  const Integers k{6, 17, 9};
  const VirtualBatches got = local_virtual_batches(4, q, k, 2, 10);
  EXPECT_EQ(got.chunk, 4);
  EXPECT_EQ(got.seqlens_q, (Integers{2, 2, 1, 4, 4, 1, 4, 1}));
  EXPECT_EQ(got.cu_seqlens_q, (Integers{0, 2, 4, 5, 9, 13, 14, 18, 19}));
  EXPECT_EQ(got.seqlens_k, (Integers{4, 2, 4, 4, 4, 1, 4, 1}));
  EXPECT_EQ(got.k_start, (Integers{0, 4, 4, 8, 12, 16, 4, 8}));
  EXPECT_EQ(got.request, (Integers{0, 0, 1, 1, 1, 1, 2, 2}));
  EXPECT_EQ(got.block_columns, (Integers{0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5}));
}

TEST(LocalAttention, AChunkThatIsNoMultipleOfThePageIsFloored) {
  const Integers q{1, 1, 1, 1};
  const Integers k{500, 130, 64, 257};
  const VirtualBatches got = local_virtual_batches(200, q, k, 64, 8);
  EXPECT_EQ(got.chunk, 192);
  EXPECT_EQ(got.seqlens_k, (Integers{116, 130, 64, 65}));  // 116, where a chunk of 200 would see 100
  EXPECT_EQ(got.k_start, (Integers{384, 0, 0, 192}));
  EXPECT_EQ(got.block_columns,
            (Integers{6, 7, 7, 0, 1, 2, 0, 1, 2, 3, 4, 5}));  // the tail is clipped to the last column
  const Integers prefill_q{300};
  const Integers prefill_k{500};
  const VirtualBatches prefill = local_virtual_batches(200, prefill_q, prefill_k, 64, 8);
  EXPECT_EQ(prefill.seqlens_q, (Integers{184, 116}));
  EXPECT_EQ(prefill.seqlens_k, (Integers{192, 116}));
  EXPECT_EQ(prefill.block_columns, (Integers{3, 4, 5, 6, 7, 7}));
}

TEST(LocalAttention, ASequenceShorterThanTheChunkLosesKeysUnlessTheChunkIsPreserved) {
  const Integers q{1};
  const Integers k{500};
  EXPECT_EQ(local_virtual_batches(8192, q, k, 64, 8).seqlens_k, Integers{52});
  EXPECT_EQ(local_virtual_batches(8192, q, k, 64, 8, true).seqlens_k, Integers{500});
  const Integers far{20000};
  const VirtualBatches llama4 = local_virtual_batches(8192, q, far, 64, 313);
  EXPECT_EQ(llama4.seqlens_k, Integers{3616});
  EXPECT_EQ(llama4.k_start, Integers{16384});
  EXPECT_EQ(llama4.block_columns.size(), 128U);
  EXPECT_EQ(llama4.block_columns.front(), 256);
  EXPECT_EQ(llama4.block_columns.back(), 312);
}

TEST(KvIndices, PageGranularBuffersAreOverrunByTokenGranularFills) {
  EXPECT_EQ(kv_indices_reserved_by_page(4, 1024, 64), 64);
  EXPECT_GT(4 * 30, kv_indices_reserved_by_page(4, 1024, 64));  // four requests of 30 tokens
  EXPECT_EQ(kv_indices_needed(4, 1024), 4096);
  EXPECT_EQ(planned_key_coverage(4096, 1), 4096);
  EXPECT_EQ(planned_key_coverage(4096, 64), 64);
}

}  // namespace
}  // namespace preflight::sizing
