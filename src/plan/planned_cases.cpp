// What is run of a kernel whose shape a launch has: lengths, splits, regimes. The planners ask for it, and the tests
// that plant mistakes into kernels (tests/mutants), so that what those count is what `check` runs. Tested by
// tests/regimes_test.cpp and tests/plan_test.cpp.
#include <algorithm>
#include <array>

#include "preflight/sizing.h"
#include "src/plan/planners.h"
#include "src/python/integer.h"

namespace preflight::plan {
namespace {

// Kernels take up to 64 tokens at a time: three such tiles, the last of a few tokens; and with none left over, which
// are whole ones of 6 to 48 tokens, too.
constexpr std::int64_t kThreeTiles = 133;
constexpr std::int64_t kWholeTiles = 192;
// Nine pages of more tokens than this take longer to make and to judge than they tell.
constexpr std::int64_t kWidestOfNine = 128;
// A window or a chunk of more tokens than this takes seconds in all regimes.
constexpr std::int64_t kLongSequence = 1025;

std::vector<std::int64_t> reversed(std::vector<std::int64_t> seqlens) {
  std::ranges::reverse(seqlens);
  return seqlens;
}

}  // namespace

std::vector<std::int64_t> edge_seqlens(std::int64_t page_size) {
  // Pages of one token have no edges; kernels still step through the cache in tiles.
  if (page_size == 1) return {1, 2, 63, 64, 65, kWholeTiles, 200};
  std::vector<std::int64_t> seqlens{1, page_size - 1, page_size, page_size + 1, 2 * page_size + page_size / 2 + 1};
  if (seqlens.back() < kThreeTiles) seqlens.insert(seqlens.end(), {kThreeTiles, kWholeTiles});
  std::erase(seqlens, 0);
  return seqlens;
}

std::vector<std::int64_t> split_seqlens(std::int64_t page_size) {
  const std::int64_t nine_pages = (page_size <= kWidestOfNine ? 9 : 6) * page_size - 1;
  return {1, 0, 3 * page_size + 1, std::max(nine_pages, kThreeTiles)};
}

namespace {

constexpr std::int64_t kManySplits = 9;    // more than a power of two, where counts are cut
constexpr std::int64_t kSpareColumns = 3;  // of a table
constexpr std::size_t kManyRequests = 18;  // a batch of decode has hundreds
constexpr std::size_t kManyStates = 9;     // of requests that keep one, which is large
constexpr std::int64_t kFewTokens = 3;

// Up to so many requests; each costs a page, and what a mistake with the number of requests needs is few tokens.
void add_short_requests(KernelCase& c) {
  constexpr std::int64_t kMostTokens = 768;  // of their pages
  const auto most = c.cache_seqlens.size() + static_cast<std::size_t>(kMostTokens / c.page_size);
  c.cache_seqlens.resize(std::max(c.cache_seqlens.size(), std::min(kManyRequests, most)), kFewTokens);
}

std::int64_t slot_bytes(const KernelCase& c) {
  const std::int64_t numbers =
      c.kernel == "mla_decode" ? c.kv_lora_rank + c.qk_rope_head_dim : c.num_kv_heads * (c.head_dim + c.value_dim());
  return numbers * size_of(c.cache_dtype());
}

// The first page of a pool whose slots no 16 bits count, as most of a server's are. Memory in front of it is asked for
// and not touched, and of wide rows less than that is.
std::int64_t far_page(const KernelCase& c) {
  constexpr std::int64_t kFarSlot = std::int64_t{1} << 16U;
  constexpr std::int64_t kMostInFront = std::int64_t{256} << 20U;
  const std::int64_t page_bytes = integer::bounded_times(slot_bytes(c), c.page_size);
  if (page_bytes <= 0) return 0;  // a shape that no kernel runs
  const std::int64_t most = kMostInFront / page_bytes;
  return std::min(sizing::ceil_div(kFarSlot, c.page_size), most);
}

// A request of whole pages that leaves none of so many splits empty, and a longer one, of which splits have two.
std::vector<std::int64_t> many_split_seqlens(std::int64_t page_size) {
  if (page_size > kWidestOfNine) return split_seqlens(page_size);
  return {1, 0, kManySplits * page_size, std::max((kManySplits + 1) * page_size - 1, kThreeTiles)};
}

}  // namespace

std::vector<KernelCase> regime_cases(const KernelCase& base) {
  std::vector<KernelCase> cases{base};
  const auto add = [&](Inputs inputs, std::int64_t splits, std::vector<std::int64_t> seqlens) -> KernelCase& {
    KernelCase c = base;
    c.inputs = inputs;
    c.kv_splits = splits;
    c.cache_seqlens = std::move(seqlens);
    c.seed = cases.size() + 1;
    cases.push_back(std::move(c));
    return cases.back();
  };
  const bool windowed = base.window >= 0;
  const std::int64_t longest = base.max_seqlen();
  // What a wide window has to do with, those have that look at its edge or run past it in splits; the others are about
  // numbers and pages, which shorter sequences have, too.
  const bool is_wide = base.window > kLongSequence;
  if (is_wide) cases.front().cache_seqlens = {longest};
  const auto brief = is_wide ? edge_seqlens(base.page_size) : base.cache_seqlens;
  // One token more than unsplit, where the window begins with the last token of a page: here with the first of the
  // next.
  const auto split = windowed ? std::vector<std::int64_t>{1, 0, longest + 1} : split_seqlens(base.page_size);
  add(Inputs::kMid, 3, split);
  // Requests that share what their prefixes have in common; scores whose maxima are far apart between splits.
  add(Inputs::kPeaked, 2, brief).page_order = PageOrder::kShared;
  std::erase_if(cases.back().cache_seqlens,
                [&](std::int64_t n) { return n < std::max<std::int64_t>(2, base.page_size); });
  // A capped score that is as low as it can be, alone: what the cap makes of a masked one then weighs as much.
  if (base.softcap > 0.0) add(Inputs::kPeaked, 1, {1, 1, 1, 1, 1, 1, 2, 3});
  // Shorter ones behind longer ones: what is left of another request looks like a sound one's. And a table wider than
  // any request, as a captured graph has it.
  KernelCase& drift =
      add(Inputs::kDrift, kManySplits, reversed(windowed && !is_wide ? split : many_split_seqlens(base.page_size)));
  drift.table_columns = drift.columns() + kSpareColumns;
  // One without tokens, where no merge follows that would make up for what is not written; many requests behind it, and
  // far slots.
  KernelCase& last = add(Inputs::kLast, base.kv_splits, reversed(brief));
  last.cache_seqlens.push_back(0);
  add_short_requests(last);
  last.first_page = far_page(last);
  add(windowed ? Inputs::kEdge : Inputs::kPage, 4,
      is_wide ? std::vector<std::int64_t>{base.window + 1, base.window + 2} : base.cache_seqlens);
  add(Inputs::kFlat, base.kv_splits, {is_wide ? kLongSequence : std::max(kLongSequence, longest)});
  return cases;
}

namespace {

// Around the chunk's edges; a dominant key where it begins, splits; and all within the first chunk, the longest no
// whole number of pages: where a chunk must not be cut to what is there. A wide chunk is full in two of them.
std::vector<KernelCase> local_cases(const KernelCase& shape) {
  KernelCase c = shape;
  constexpr std::int64_t kOtherSplits = 4;
  c.cache_seqlens = edge_seqlens(c.page_size);
  for (const std::int64_t more : {std::int64_t{0}, std::int64_t{1}, c.page_size + 1}) {
    c.cache_seqlens.push_back(c.chunk + more);
  }
  std::vector<KernelCase> cases{c};
  const auto add = [&](Inputs inputs, std::int64_t splits) -> KernelCase& {
    cases.push_back(c);
    cases.back().inputs = inputs;
    cases.back().kv_splits = splits;
    cases.back().seed = cases.size();
    return cases.back();
  };
  // Full again, which the second chunk is in the place of the first; and a third one, of which only what it has is
  // made.
  KernelCase& edge = add(Inputs::kEdge, kOtherSplits);
  std::ranges::replace(edge.cache_seqlens, c.chunk, 2 * c.chunk);
  std::ranges::replace(edge.cache_seqlens, c.chunk + c.page_size + 1, 2 * c.chunk + c.page_size + 1);
  std::ranges::replace(edge.cache_seqlens, c.chunk + 1, 2 * c.chunk + 1);
  KernelCase& drift = add(Inputs::kDrift, kOtherSplits);
  if (c.chunk > kLongSequence) std::erase(drift.cache_seqlens, c.chunk);
  KernelCase& mid = add(Inputs::kMid, 1);
  mid.cache_seqlens = {2 * c.page_size + c.page_size / 2, c.page_size + 1};
  add_short_requests(mid);
  return cases;
}

// Sides near each other, and far from zero, where exp overflows.
std::vector<KernelCase> merge_cases(const KernelCase& shape) {
  KernelCase c = shape;
  c.tokens = 9;
  std::vector<KernelCase> cases{c, c};
  cases.back().inputs = Inputs::kPeaked;
  cases.back().seed = 2;
  return cases;
}

// One token each of many, as decode runs; several, because one token hides an update made in the wrong order.
std::vector<KernelCase> step_cases(const KernelCase& shape) {
  KernelCase c = shape;
  c.query_lens.assign(kManyStates, 1);
  std::vector<KernelCase> cases{c, c};
  cases.back().query_lens = {9, 1};
  cases.back().padded = 1;
  return cases;
}

// A whole chunk and no more, a few tokens behind a whole one, none, chunks of less than one behind many, padding. And
// one token behind two, where gates keep so much that the third chunk still sees what the first one left, and the last
// rows of a chunk its first ones.
std::vector<KernelCase> chunk_cases(const KernelCase& shape) {
  constexpr double kSlowGates = 10.0;
  std::vector<KernelCase> cases(2, shape);
  cases[0].query_lens = {shape.delta_chunk, shape.delta_chunk + 5, 5, 0};
  cases[0].query_lens.resize(kManyStates, 1);
  cases[0].padded = 1;
  cases[1].query_lens = {2 * shape.delta_chunk + 1};
  cases[1].gate_normalizer = kSlowGates;
  cases[1].seed = 2;
  return cases;
}

// One token a request in decode, a padded one among them as in a captured batch; all new ones in prefill, of requests
// with and without a prefix, some shorter than the window, some without tokens.
std::vector<KernelCase> convolution_cases(const KernelCase& shape) {
  constexpr std::size_t kManyConvolved = 10;
  const std::int64_t before = shape.window;
  std::vector<KernelCase> cases(3, shape);
  cases[0].query_lens.assign(kManyConvolved, 1);
  cases[0].padded = 1;
  cases[1].zero_state = true;
  cases[1].query_lens = {2, 1, before + 2, 5, 1, before, 0, 0};
  cases[2].zero_state = true;
  cases[2].inputs = Inputs::kPeaked;
  cases[2].query_lens = {1, 9};
  cases[2].seed = 2;
  return cases;
}

std::vector<KernelCase> mrope_cases(const KernelCase& shape) {
  KernelCase c = shape;
  c.tokens = 17;
  return {c};
}

// Of whole pages and of whole work tiles behind the first, too; the last request has no tokens. Rows of slots are
// longer than any request, as those of a server are.
std::vector<KernelCase> index_cases(const KernelCase& shape) {
  constexpr std::int64_t kWorkTile = 128;
  constexpr std::int64_t kManyTiles = 9;
  constexpr std::int64_t kFarSlot = std::int64_t{1} << 30U;
  KernelCase c = shape;
  c.cache_seqlens = edge_seqlens(c.page_size);
  for (const std::int64_t whole : {2 * c.page_size, kWorkTile, 2 * kWorkTile}) {
    if (std::ranges::find(c.cache_seqlens, whole) == c.cache_seqlens.end()) c.cache_seqlens.push_back(whole);
  }
  // Behind many requests, and behind many tiles; slots that neither 16 bits nor a float hold.
  c.cache_seqlens.push_back(kManyTiles * kWorkTile + 1);
  c.cache_seqlens.resize(std::max(c.cache_seqlens.size(), kManyRequests), kFewTokens);
  c.cache_seqlens.push_back(0);
  c.first_page = kFarSlot / c.page_size;
  c.context = c.max_seqlen() + c.page_size + 1;
  return {c};
}

struct Maker {
  std::string_view kernel;
  std::vector<KernelCase> (*make)(const KernelCase&);
};

}  // namespace

std::vector<KernelCase> planned_cases(const KernelCase& shape) {
  static constexpr std::array kMakers{Maker{"mla_decode", regime_cases},
                                      Maker{"paged_decode", regime_cases},
                                      Maker{"local_decode", local_cases},
                                      Maker{"merge_state", merge_cases},
                                      Maker{"mrope", mrope_cases},
                                      Maker{"gated_delta_step", step_cases},
                                      Maker{"gated_delta_chunk", chunk_cases},
                                      Maker{"causal_conv1d", convolution_cases},
                                      Maker{"page_table", index_cases},
                                      Maker{"kv_indices", index_cases}};
  const auto found = std::ranges::find(kMakers, shape.kernel, &Maker::kernel);
  return found == kMakers.end() ? std::vector<KernelCase>{} : found->make(shape);
}

}  // namespace preflight::plan
