// What the cases of a launch have between them, on every page size: the lengths, splits, tables and orders without
// which a mistake in them would stay unseen.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include "preflight/sizing.h"
#include "src/plan/planners.h"

namespace preflight {
namespace {

KernelCase base_of(std::int64_t page_size, std::int64_t window = -1) {
  KernelCase c{.kernel = "paged_decode"};
  c.page_size = page_size;
  c.window = window;
  c.cache_seqlens = plan::edge_seqlens(page_size);
  if (window >= 0) c.cache_seqlens = {window, window + 1, window + 2, window + 2 * page_size};
  return c;
}

// Pages that split s of a request takes.
std::int64_t pages_of(std::int64_t pages, std::int64_t splits, std::int64_t s) {
  const std::int64_t each = sizing::ceil_div(pages, splits);
  return std::clamp<std::int64_t>(pages - s * each, 0, each);
}

class Regimes : public testing::TestWithParam<std::int64_t> {};

TEST_P(Regimes, StepThreeTimesThroughTheCacheInAtLeastThreeOfThem) {
  constexpr std::int64_t kLargestTile = 64;
  std::set<Inputs> regimes;
  for (const KernelCase& c : plan::regime_cases(base_of(GetParam()))) {
    if (c.max_seqlen() > 2 * kLargestTile) regimes.insert(c.inputs);
  }
  EXPECT_GE(regimes.size(), 3U);
}

// Of the tokens of a split, or of a request in one.
TEST_P(Regimes, EndWithAFullTileOfEverySize) {
  constexpr std::int64_t kWidestOfLatent = 128;  // pages of it are no larger, and it alone takes 48 tokens at a time
  std::set<std::int64_t> full;
  for (const KernelCase& c : plan::regime_cases(base_of(GetParam()))) {
    for (const std::int64_t seqlen : c.cache_seqlens) {
      const std::int64_t each = sizing::ceil_div(sizing::ceil_div(seqlen, c.page_size), c.kv_splits) * c.page_size;
      for (std::int64_t begin = 0; begin < seqlen; begin += each) {
        const std::int64_t tokens = std::min(each, seqlen - begin);
        for (const std::int64_t tile : {16, 32, 48, 64}) {
          if (tokens % tile == 0) full.insert(tile);
        }
      }
    }
  }
  if (GetParam() > kWidestOfLatent) full.insert(48);
  EXPECT_EQ(full, (std::set<std::int64_t>{16, 32, 48, 64}));
}

// Where all tokens weigh as much, errors of sums grow with their number.
TEST_P(Regimes, WeighAThousandTokensAlike) {
  const auto cases = plan::regime_cases(base_of(GetParam()));
  EXPECT_TRUE(std::ranges::any_of(
      cases, [](const KernelCase& c) { return c.inputs == Inputs::kFlat && c.max_seqlen() > 1000; }));
}

TEST_P(Regimes, SplitInEveryWayThatDiffers) {
  bool several_pages = false;  // in a split that is not the first
  bool last_has_pages = false;
  bool last_is_empty = false;
  bool fewer_pages_than_splits = false;
  bool none_of_many_is_empty = false;
  bool one_token_behind = false;  // of a last page, among pages that no splits share evenly
  std::set<std::int64_t> counts;
  for (const KernelCase& c : plan::regime_cases(base_of(GetParam()))) {
    counts.insert(c.kv_splits);
    for (const std::int64_t seqlen : c.cache_seqlens) {
      const std::int64_t pages = sizing::ceil_div(seqlen, c.page_size);
      if (c.kv_splits == 1 || pages == 0) continue;
      several_pages = several_pages || pages_of(pages, c.kv_splits, 1) > 1;
      last_has_pages = last_has_pages || pages_of(pages, c.kv_splits, c.kv_splits - 1) > 1;
      last_is_empty = last_is_empty || pages_of(pages, c.kv_splits, c.kv_splits - 1) == 0;
      fewer_pages_than_splits = fewer_pages_than_splits || pages < c.kv_splits;
      none_of_many_is_empty =
          none_of_many_is_empty || (c.kv_splits > 4 && pages_of(pages, c.kv_splits, c.kv_splits - 1) > 0);
      one_token_behind = one_token_behind ||
                         ((pages - 1) * c.page_size + 1 == seqlen && pages > c.kv_splits && pages % c.kv_splits != 0);
    }
  }
  EXPECT_EQ(counts, (std::set<std::int64_t>{1, 2, 3, 4, 9}));
  EXPECT_TRUE(several_pages);
  EXPECT_TRUE(last_has_pages);
  EXPECT_TRUE(last_is_empty);
  EXPECT_TRUE(fewer_pages_than_splits);
  EXPECT_TRUE(one_token_behind);
  constexpr std::int64_t kWidestOfEight = 128;
  EXPECT_TRUE(none_of_many_is_empty || GetParam() > kWidestOfEight);
}

TEST_P(Regimes, HaveAnEmptyRequestASharedPrefixAndATableWiderThanAnyRequest) {
  const auto cases = plan::regime_cases(base_of(GetParam()));
  const auto some = [&](auto&& has) { return std::ranges::any_of(cases, has); };
  EXPECT_TRUE(some([](const KernelCase& c) { return std::ranges::count(c.cache_seqlens, 0) > 0 && c.kv_splits > 1; }));
  EXPECT_TRUE(some([](const KernelCase& c) { return std::ranges::count(c.cache_seqlens, 0) > 0 && c.kv_splits == 1; }));
  EXPECT_TRUE(some([](const KernelCase& c) { return c.columns() * c.page_size >= c.max_seqlen() + 2 * c.page_size; }));
  EXPECT_TRUE(some([](const KernelCase& c) {  // at least a page of each request is the others', too
    return c.page_order == PageOrder::kShared && c.num_requests() > 1 &&
           std::ranges::min(c.cache_seqlens) >= c.page_size;
  }));
  EXPECT_TRUE(some([](const KernelCase& c) { return c.inputs == Inputs::kPeaked && c.kv_splits > 1; }));
}

// Sixteen bits count the slots of a small sample, three those of its requests, and neither those of a server.
TEST_P(Regimes, HaveManyRequestsAndSlotsFarFromTheFirst) {
  for (const char* kernel : {"paged_decode", "mla_decode"}) {
    for (const std::int64_t window : {-1, 127}) {
      KernelCase base = base_of(GetParam(), window);
      base.kernel = kernel;
      const auto cases = plan::regime_cases(base);
      const auto far = std::ranges::find_if(cases, [](const KernelCase& c) { return c.first_page > 0; });
      ASSERT_NE(far, cases.end()) << kernel;
      EXPECT_GE(far->first_page * far->page_size, 65536) << kernel;
      EXPECT_GT(far->num_requests(), GetParam() <= 64 ? 16 : GetParam() <= 128 ? 9 : 5) << kernel;
      EXPECT_GT(far->cache_seqlens.back(), 1) << kernel;
      EXPECT_EQ(std::ranges::count(far->cache_seqlens, 0), 1) << kernel;
    }
  }
}

// A device gives no more in one piece, or has no more.
TEST(Regimes, AskForAQuarterGibibyteInFrontOfAPoolAtMost) {
  for (const std::int64_t page : {1, 64, 128}) {
    for (const std::int64_t kv_heads : {8, 9, 32, 128}) {
      KernelCase base = base_of(page);
      base.num_q_heads = base.num_kv_heads = kv_heads;
      std::int64_t most = 0;
      for (const KernelCase& c : plan::regime_cases(base)) {
        most = std::max(most, c.first_page * page * kv_heads * (c.head_dim + c.value_dim()) * size_of(c.cache_dtype()));
      }
      const std::int64_t page_bytes = page * kv_heads * 2 * base.head_dim * size_of(base.dtype);
      EXPECT_LE(most, std::int64_t{256} << 20U) << page << ' ' << kv_heads;
      EXPECT_GT(most + page_bytes, std::int64_t{256} << 20U) << page << ' ' << kv_heads;
    }
  }
}

// The pages of a longer request in front hold numbers wherever a shorter one is taken to have some.
TEST_P(Regimes, HaveAShorterRequestOfSeveralPagesBehindALongerOne) {
  bool whole = false;
  bool split = false;
  for (const KernelCase& c : plan::regime_cases(base_of(GetParam()))) {
    const auto& lengths = c.cache_seqlens;
    for (std::size_t i = 1; i < lengths.size(); ++i) {
      if (lengths[i] > c.page_size && lengths[i - 1] > lengths[i]) (c.kv_splits > 1 ? split : whole) = true;
    }
  }
  EXPECT_TRUE(whole && split);
}

INSTANTIATE_TEST_SUITE_P(PageSizes, Regimes, testing::Values(1, 2, 4, 8, 16, 32, 64, 128, 256));

// A page table's row, and the token indices of a request, end with a whole page and with a whole work tile, neither the
// first; and a row of slots goes on behind what is read of it.
TEST_P(Regimes, OfIndexBuildersEndWithWholePagesAndTilesInRowsThatGoOn) {
  for (const char* kernel : {"page_table", "kv_indices"}) {
    KernelCase shape{.kernel = kernel};
    shape.page_size = GetParam();
    const auto cases = plan::planned_cases(shape);
    ASSERT_EQ(cases.size(), 1U);
    const KernelCase& c = cases.front();
    const auto some = [&](std::int64_t of) {
      return std::ranges::any_of(c.cache_seqlens, [&](std::int64_t n) { return n > of && n % of == 0; });
    };
    EXPECT_TRUE(some(c.page_size) && some(128)) << kernel;
    EXPECT_GT(std::ranges::count(c.cache_seqlens, 128), 0) << kernel;
    EXPECT_EQ(c.cache_seqlens.back(), 0) << kernel;
    EXPECT_GT(c.num_requests(), 16) << kernel;
    EXPECT_GT(c.max_seqlen(), 8 * 128) << kernel;
    EXPECT_GT(c.first_page * c.page_size, 1 << 25) << kernel;  // where a float holds no odd number
    EXPECT_GT(c.context, c.columns() * c.page_size) << kernel;
  }
}

TEST(Regimes, OfLinearLayersHaveSeveralRequestsWithAStateAndOneOfPadding) {
  constexpr std::size_t kMany = 8;
  const auto cases_of = [](const char* kernel) { return plan::planned_cases(KernelCase{.kernel = kernel}); };
  EXPECT_GT(cases_of("gated_delta_step")[0].query_lens.size(), kMany);
  EXPECT_GT(cases_of("gated_delta_chunk")[0].query_lens.size(), kMany);
  EXPECT_GT(cases_of("causal_conv1d")[0].query_lens.size(), kMany);
  for (const char* kernel : {"gated_delta_step", "gated_delta_chunk", "causal_conv1d"}) {
    const auto cases = cases_of(kernel);
    EXPECT_TRUE(std::ranges::any_of(cases, [](const KernelCase& c) { return c.padded == 1; })) << kernel;
    EXPECT_TRUE(std::ranges::any_of(cases, [](const KernelCase& c) { return c.padded == 0; })) << kernel;
  }
}

// What a cap makes of a masked score weighs as much as the only one there is.
TEST(Regimes, OfACapHaveCappedScoresAlone) {
  KernelCase base = base_of(16);
  base.softcap = 30.0;
  EXPECT_TRUE(std::ranges::any_of(plan::regime_cases(base), [](const KernelCase& c) {
    return c.inputs == Inputs::kPeaked && c.kv_splits == 1 && std::ranges::count(c.cache_seqlens, 1) > 4;
  }));
}

TEST(Regimes, OfMergesHaveEmptySidesNearZeroAndFarFromIt) {
  std::set<Inputs> inputs;
  for (const KernelCase& c : plan::planned_cases(KernelCase{.kernel = "merge_state"})) {
    EXPECT_GT(c.empty_percent, 0) << print_case(c);
    EXPECT_GT(c.tokens * c.num_q_heads, 8) << print_case(c);
    inputs.insert(c.inputs);
  }
  EXPECT_EQ(inputs, (std::set{Inputs::kMid, Inputs::kPeaked}));
}

TEST(Regimes, OfLocalAttentionHaveManyRequests) {
  const auto cases = plan::planned_cases(KernelCase{.kernel = "local_decode", .chunk = 8192});
  EXPECT_TRUE(
      std::ranges::any_of(cases, [](const KernelCase& c) { return c.num_requests() > 12 && c.kv_splits == 1; }));
}

TEST(Regimes, OfAChunkedPrefillEndWithAWholeChunkAndBehindOneAndTwo) {
  KernelCase shape{.kernel = "gated_delta_chunk"};
  for (const std::int64_t chunk : {16, 64}) {
    shape.delta_chunk = chunk;
    const auto cases = plan::planned_cases(shape);
    ASSERT_EQ(cases.size(), 2U);
    ASSERT_GT(cases[0].query_lens.size(), 3U);
    EXPECT_TRUE(
        std::ranges::equal(std::span(cases[0].query_lens).first(3), std::array{chunk, chunk + 5, std::int64_t{5}}));
    EXPECT_EQ(cases[1].query_lens, (std::vector<std::int64_t>{2 * chunk + 1}));
    // Half of what a token leaves is there after ten: log of a sigmoid in [0, 1) is -0.69 to -0.31.
    EXPECT_GT(std::exp(-0.69 * 10.0 / cases[1].gate_normalizer), 0.5);
    EXPECT_EQ(cases[0].gate_normalizer, 1.0);
  }
}

TEST(Regimes, OfLocalAttentionReachAFullSecondChunkAndAThird) {
  for (const std::int64_t chunk : {128, 8192}) {
    KernelCase shape{.kernel = "local_decode"};
    shape.chunk = chunk;
    bool second_is_full = false;
    bool third_has_pages = false;
    bool third_has_begun = false;
    for (const KernelCase& c : plan::planned_cases(shape)) {
      for (const std::int64_t seqlen : c.cache_seqlens) {
        second_is_full = second_is_full || seqlen == 2 * chunk;
        third_has_begun = third_has_begun || seqlen == 2 * chunk + 1;
        third_has_pages = third_has_pages || (seqlen > 2 * chunk + c.page_size && seqlen < 3 * chunk);
      }
    }
    EXPECT_TRUE(second_is_full && third_has_begun && third_has_pages) << chunk;
  }
}

TEST(Regimes, OfAWindowLookAtItsEdgeWhereverItLies) {
  for (const std::int64_t window : {31, 127, 1023, 4095}) {
    const auto cases = plan::regime_cases(base_of(16, window));
    bool just_fits = false;
    bool one_is_outside = false;
    bool pages_outside = false;
    bool split_outside = false;
    bool begins_with_the_last = false;  // token of a page
    bool begins_with_the_first = false;
    std::int64_t tokens = 0;
    for (const KernelCase& c : cases) {
      for (const std::int64_t seqlen : c.cache_seqlens) {
        just_fits = just_fits || (seqlen == window + 1 && c.inputs == Inputs::kEdge);
        one_is_outside = one_is_outside || (seqlen == window + 2 && c.inputs == Inputs::kEdge);
        if (seqlen > window + 1 + c.page_size) (c.kv_splits > 1 ? split_outside : pages_outside) = true;
        const std::int64_t first = seqlen - 1 - window;
        begins_with_the_last = begins_with_the_last || (first > 0 && first % c.page_size == c.page_size - 1);
        begins_with_the_first = begins_with_the_first || (first > 0 && first % c.page_size == 0);
        tokens += seqlen;
      }
    }
    EXPECT_TRUE(just_fits && one_is_outside && pages_outside && split_outside) << window;
    EXPECT_TRUE(begins_with_the_last && begins_with_the_first) << window;
    EXPECT_LT(tokens, 5 * (window + 1) + 16384) << "wide windows are long to compute";
  }
}

}  // namespace
}  // namespace preflight
