// Storage types, case lines, sample batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "preflight/kernel_run.h"
#include "preflight/sizing.h"
#include "src/sample/convolution.h"
#include "src/sample/page_pool.h"
#include "src/sample/random.h"
#include "src/sample/regime.h"
#include "src/sample/rows.h"
#include "src/sample/samples.h"
#include "tests/kernels/kernel_lines.h"

namespace preflight {
namespace {

TEST(StorageTypes, DecodeAndEncodeAreInverseForEveryPattern) {
  struct Row {
    SmallFloat format;
    std::uint32_t patterns;
  };
  for (const Row& row :
       {Row{kBf16Format, 65536}, Row{kF16Format, 65536}, Row{kE4M3Format, 256}, Row{kE5M2Format, 256}}) {
    for (std::uint32_t bits = 0; bits < row.patterns; ++bits) {
      const double value = row.format.decode(bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(row.format.decode(row.format.encode(value))));
      } else {
        ASSERT_EQ(row.format.encode(value), bits) << value;
      }
    }
  }
}

TEST(StorageTypes, RoundToNearestEvenAndOverflowAsTheTypeDoes) {
  EXPECT_EQ(kBf16Format.decode(kBf16Format.encode(1.0 + 0x1p-8)), 1.0);               // tie: even is below
  EXPECT_EQ(kBf16Format.decode(kBf16Format.encode(1.0 + 3 * 0x1p-8)), 1.0 + 0x1p-6);  // tie: even is above
  EXPECT_EQ(kBf16Format.decode(kBf16Format.encode(1.0 + 0x1p-8 + 0x1p-40)), 1.0 + 0x1p-7);
  EXPECT_EQ(kF16Format.max(), 65504.0);
  EXPECT_EQ(kF16Format.decode(kF16Format.encode(65519.9)), 65504.0);
  EXPECT_TRUE(std::isinf(kF16Format.decode(kF16Format.encode(65520.0))));
  EXPECT_EQ(kF16Format.decode(kF16Format.encode(0x1p-24)), 0x1p-24);  // smallest subnormal
  EXPECT_EQ(kF16Format.encode(0x1p-25), 0U);                          // tie to zero
  EXPECT_EQ(kE4M3Format.max(), 448.0);
  EXPECT_TRUE(std::isnan(kE4M3Format.decode(kE4M3Format.encode(1000.0))));  // no infinity there
  EXPECT_EQ(kE5M2Format.max(), 57344.0);
  EXPECT_TRUE(std::signbit(kBf16Format.decode(kBf16Format.encode(-0.0))));
}

TEST(CaseLine, RoundTripsForEveryBuiltInCase) {
  const auto cases = built_in_cases();
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  for (const KernelCase& c : *cases) {
    const auto again = parse_case(print_case(c));
    ASSERT_TRUE(again.has_value()) << print_case(c);
    EXPECT_EQ(*again, c) << print_case(c);
  }
}

TEST(CaseLine, LeavesOutDefaultsAndCompressesRepeatedLengths) {
  const auto c = parse_case("mla_decode --page=64 --dtype bf16 --cache-seqlens 4096x3,1,1 --kv-splits 2");
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->cache_seqlens, (std::vector<std::int64_t>{4096, 4096, 4096, 1, 1}));
  EXPECT_EQ(print_case(*c), "mla_decode --kv-splits 2 --cache-seqlens 4096x3,1,1");
}

// What is printed reads back: a verdict's line reproduces it, however the lengths of a batch repeat.
TEST(CaseLine, ReadsBackHoweverOftenALengthRepeats) {
  for (const std::int64_t times : {1, 2, 3, 65535, 65536, 65537, 131075}) {
    KernelCase c{.kernel = "paged_decode"};
    c.cache_seqlens.assign(static_cast<std::size_t>(times), 4);
    c.cache_seqlens.push_back(7);
    c.cache_seqlens.push_back(0);
    const auto again = parse_case(print_case(c));
    ASSERT_TRUE(again.has_value()) << times << ": " << again.error().text();
    EXPECT_EQ(*again, c) << times;
  }
}

TEST(CaseLine, ReadsBackWhateverANumberIs) {
  KernelCase c{.kernel = "paged_decode"};
  c.cache_seqlens = {1};
  for (const double value : {0x1p-149, 1e-20, 0.1, 1.0 / 3.0, 1.0, 12345678.9, 1e20, 0x1p127}) {
    c.softmax_scale = c.softcap = c.k_scale = c.v_scale = value;
    const auto again = parse_case(print_case(c));
    ASSERT_TRUE(again.has_value()) << print_case(c);
    EXPECT_EQ(*again, c) << print_case(c);
  }
}

// The view may end within what lies in memory: neither a digit behind it nor one of another option is the number's.
TEST(CaseLine, ANumberEndsWithItsWord) {
  constexpr std::string_view kLine = "merge_state --seed 9 --tokens 123";
  const auto c = parse_case(kLine.substr(0, kLine.size() - 1));
  ASSERT_TRUE(c.has_value()) << c.error().text();
  EXPECT_EQ(c->tokens, 12);
}

TEST(CaseLine, SplitsOfZeroAreThoseTheKernelChoosesForTheTable) {
  const auto c = parse_case("mla_decode --heads 16 --kv-splits 0 --cache-seqlens 8192,1");
  ASSERT_TRUE(c.has_value()) << c.error().text();
  EXPECT_EQ(c->kv_splits, sizing::mla_auto_splits(2, 16, 8192, 64));
  EXPECT_NE(c->kv_splits, sizing::mla_auto_splits(2, 16, 64, 64));
}

TEST(CaseFile, WhatALineEndsWithIsNoPartOfIt) {
  const auto cases =
      parse_cases("mla_decode --cache-seqlens 3 \t \r\nmla_decode --page 16\t\r\nmla_decode --seed 9 \n", "f");
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  EXPECT_EQ(cases->size(), 3U);
}

// As many as memory holds, in all cases of a file together.
TEST(CaseFile, HasSoManyRequestsAndNotOneMore) {
  std::string most;
  for (int i = 0; i < 16; ++i) most += "mla_decode --cache-seqlens 1x65536\n";
  EXPECT_TRUE(parse_cases(most, "f"));
  const auto many = parse_cases(most + "mla_decode --cache-seqlens 1\n", "f");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().text(), "f:17: the cases up to here name more requests than fit in memory");
}

TEST(CaseFile, BracesOfAllLinesTogetherStandForNoMoreCasesThanFit) {
  const std::string digits = "{0|1|2|3|4|5|6|7|8|9}";
  const std::string line = "mla_decode --seed 1" + digits + digits + digits + digits + "\n";
  const auto most = parse_cases(line + line, "f");
  ASSERT_TRUE(most.has_value()) << most.error().text();
  EXPECT_EQ(most->size(), 20'000U);
  const auto many = parse_cases(line + line + line, "f");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().text(), "f:3: braces stand for more cases than fit in memory");
}

TEST(CaseFile, BracesStandForEveryCombination) {
  const auto cases = parse_cases("mla_decode --page {16|32} --cache-seqlens {1,2|3}{| --heads 3}  # grid\n", "f");
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  ASSERT_EQ(cases->size(), 8U);
  EXPECT_EQ(print_case(cases->front()), "mla_decode --page 16 --cache-seqlens 1,2");
  EXPECT_EQ(print_case(cases->back()), "mla_decode --heads 3 --page 32 --cache-seqlens 3");
  const auto open = parse_cases("\nmla_decode --page {16|32\n", "f");
  ASSERT_FALSE(open.has_value());
  EXPECT_EQ(open.error().text(), "f:2: a brace is not closed");
  const auto nested = parse_cases("mla_decode --page {16|{32}}\n", "f");
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().text(), "f:1: a brace holds another");
  const auto line_of = [](int braces) {
    std::string line = "mla_decode --page 16";
    for (int i = 0; i < braces; ++i) line += "{}";
    return line + "\n";
  };
  EXPECT_TRUE(parse_cases(line_of(64), "f"));
  const auto many = parse_cases(line_of(65), "f");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().text(), "f:1: more than 64 braces in one line");
}

TEST(CaseLine, ErrorsNameTheWord) {
  struct Row {
    const char* line;
    const char* message;
  };
  constexpr Row kRows[] = {
      {"", "an empty case line; it starts with a kernel name"},
      {"mla", "no kernel is called 'mla'"},
      {"mla_decode --pages 64", "no case option is called '--pages'"},
      {"mla_decode --window 3", "mla_decode has no option --window"},
      {"mla_decode --page", "--page needs a value"},
      {"mla_decode --page 0", "'0' is no value of --page"},
      {"mla_decode --page 64k", "'64k' is no value of --page"},
      {"mla_decode --page 1 --page 2", "--page is given twice"},
      {"mla_decode --dtype bf17", "'bf17' is no value of --dtype"},
      {"mla_decode --cache-seqlens 1,,2", "'1,,2' is no value of --cache-seqlens"},
      {"mla_decode --cache-seqlens -1", "'-1' is no value of --cache-seqlens"},
      {"mla_decode --cache-seqlens 1x99999999", "'1x99999999' is no value of --cache-seqlens"},
      {"mla_decode --cache-seqlens 1x65537", "'1x65537' is no value of --cache-seqlens"},
      {"paged_decode --kv-splits 0", "'0' is no value of --kv-splits"},
      {"paged_decode --sinks=yes", "--sinks takes no value"},
      {"paged_decode --softcap nan", "'nan' is no value of --softcap"},
  };
  for (const Row& row : kRows) {
    const auto c = parse_case(row.line);
    ASSERT_FALSE(c.has_value()) << row.line;
    EXPECT_EQ(c.error().text(), row.message);
  }
}

TEST(CaseFile, CommentsContinuationsAndTheLineOfAnError) {
  const auto cases =
      parse_cases("# head\n\nmla_decode --page 16 \\\n  --cache-seqlens 3  # why\nmla_decode --seed 9\n", "f");
  ASSERT_TRUE(cases.has_value()) << cases.error().text();
  ASSERT_EQ(cases->size(), 2U);
  EXPECT_EQ(cases->front().page_size, 16);
  EXPECT_EQ(cases->front().cache_seqlens, std::vector<std::int64_t>{3});
  const auto without_blank = parse_cases("mla_decode --page 16\\\n  --cache-seqlens 3\n", "f");
  ASSERT_TRUE(without_blank.has_value()) << without_blank.error().text();
  EXPECT_EQ(without_blank->front().page_size, 16);
  const auto bad = parse_cases("mla_decode\nmla_decode --x\n", "f.txt");
  EXPECT_EQ(bad.error().text(), "f.txt:2: no case option is called '--x'");
}

TEST(Random, IsAFunctionOfSeedStreamAndIndexWithUnitVariance) {
  const sample::Random a(1, "a");
  EXPECT_EQ(a.normal(5), sample::Random(1, "a").normal(5));
  EXPECT_NE(a.normal(5), sample::Random(2, "a").normal(5));
  EXPECT_NE(a.normal(5), sample::Random(1, "b").normal(5));
  double sum = 0.0;
  double squares = 0.0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    sum += a.normal(i);
    squares += a.normal(i) * a.normal(i);
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
}

// A row at once is rounded as one number after the other: ties, both zeros, subnormals, what overflows, what is none.
// Whatever vectors this machine has, and where a row is no whole number of them.
TEST(SampleRows, AreDrawnAsNumbersAre) {
  const sample::Random random(7, "rows");
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 100U}) {
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{3}, std::int64_t{1} << 40}) {
      std::vector<double> row(count + 1, -7.0);
      random.normals(first, 0.1, std::span(row).first(count));
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(row[i], 0.1 * random.normal(first + static_cast<std::int64_t>(i)));
      EXPECT_EQ(row[count], -7.0) << count;
    }
  }
}

TEST(SampleRows, AreRoundedAsNumbersAre) {
  std::vector<std::vector<double>> rows{{0.0, -0.0, 1.0, -1.0, 1.0 + 0x1p-8, 1.0 + 3 * 0x1p-8, 1.0 + 0x1p-8 + 0x1p-40},
                                        {0x1p-126, -0x1p-126, 0x1.fffp-127, 0x1p127, 0x1.ffp126, -0x1.fep127},
                                        {1.0, 0x1p-133, 2.0},
                                        {1.0, 0x1p-200, 2.0},
                                        {1.0, 0x1.ffp127, 1e300},
                                        {std::numeric_limits<double>::infinity(), 1.0, -2.0},
                                        {3.0, std::numeric_limits<double>::quiet_NaN(), -2.0}};
  const sample::Random random(1, "rows");
  for (const double gain : {1e-30, 1.0, 1e30}) {
    std::vector<double>& row = rows.emplace_back();
    for (int i = 0; i < 10000; ++i) row.push_back(gain * random.normal(i));
  }
  for (const DType type : {DType::kBf16, DType::kF16, DType::kF32, DType::kFp8E4M3, DType::kFp8E5M2}) {
    for (const std::vector<double>& row : rows) {
      constexpr std::int64_t kBefore = 3;
      const auto n = static_cast<std::int64_t>(row.size());
      Tensor one_by_one("x", type, {n + kBefore});
      Tensor at_once = one_by_one;
      for (std::int64_t i = 0; i < n; ++i) one_by_one.set(kBefore + i, row[static_cast<std::size_t>(i)]);
      sample::set_row(at_once, kBefore, row);
      EXPECT_EQ(at_once.bytes, one_by_one.bytes) << name_of(type) << ' ' << row.front() << ' ' << row[1];
    }
  }
}

KernelCase case_of(std::string_view line) { return parse_case(line).value(); }

TEST(PagePool, EveryPageHasOneOwnerUnlessShared) {
  const KernelCase c = case_of("mla_decode --page 16 --cache-seqlens 33,0,16,40 --table-columns 8");
  const auto pool = sample::PagePool::make(c);
  ASSERT_TRUE(pool.has_value());
  std::set<std::int64_t> slots;
  for (std::int64_t b = 0; b < 4; ++b) {
    for (std::int64_t t = 0; t < c.cache_seqlens[static_cast<std::size_t>(b)]; ++t) {
      EXPECT_TRUE(slots.insert(pool->slot(b, t)).second);
      EXPECT_GE(pool->slot(b, t), 16);  // page 0 belongs to nobody
      EXPECT_LT(pool->slot(b, t), pool->num_pages() * 16);
    }
  }
  const Tensor table = pool->page_table();
  EXPECT_EQ(table.shape, (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(table.get_int(0) * 16, pool->slot(0, 0));
  EXPECT_EQ(table.get_int(3), kUnusedPage);
  EXPECT_EQ(table.get_int(8), kUnusedPage);  // an empty request owns nothing

  const KernelCase shared = case_of("mla_decode --page 16 --page-order shared --cache-seqlens 33,40");
  const auto shared_pool = sample::PagePool::make(shared);
  EXPECT_EQ(shared_pool->slot(0, 31), shared_pool->slot(1, 31));
  EXPECT_NE(shared_pool->slot(0, 32), shared_pool->slot(1, 32));
  EXPECT_FALSE(shared_pool->first_owner(1, 31));
  const auto behind_none =
      sample::PagePool::make(case_of("mla_decode --page 16 --page-order shared --cache-seqlens 0,33,40"));
  EXPECT_TRUE(behind_none->first_owner(1, 31));
  EXPECT_FALSE(behind_none->first_owner(2, 31));
}

// Who goes on with the next page of the pool in place of the table's is right until they are in another order.
// Behind what they share every request has pages of its own: one that two had would be read alike through either's row.
TEST(PagePool, WhatIsNotSharedIsOneRequestsOwn) {
  const auto pool =
      sample::PagePool::make(case_of("paged_decode --page 16 --page-order shared --cache-seqlens 70,40,33,64"));
  ASSERT_TRUE(pool.has_value());
  const Tensor table = pool->page_table();
  const std::vector<std::int64_t> pages{5, 3, 3, 4};
  std::multiset<std::int64_t> own;
  for (std::int64_t b = 0; b < 4; ++b) {
    for (std::int64_t c = 0; c < pages[static_cast<std::size_t>(b)]; ++c) {
      if (c >= 2 || b == 0) own.insert(table.get_int(b * table.shape[1] + c));
    }
  }
  EXPECT_EQ(own.size(), 9U);
  for (const std::int64_t page : own) EXPECT_EQ(own.count(page), 1U) << page;
}

TEST(PagePool, PagesOfARequestDoNotFollowEachOther) {
  const auto pool = sample::PagePool::make(case_of("mla_decode --page 16 --cache-seqlens 160,160"));
  ASSERT_TRUE(pool.has_value());
  for (std::int64_t b = 0; b < 2; ++b) {
    int following = 0;
    for (std::int64_t t = 16; t < 160; t += 16) following += pool->slot(b, t) == pool->slot(b, t - 16) + 16 ? 1 : 0;
    EXPECT_LT(following, 4) << b;
  }
}

TEST(PagePool, PagesOfAnotherSeedLieInAnotherOrder) {
  const std::string line = "mla_decode --page 16 --cache-seqlens 160,160 --seed ";
  const auto first = sample::PagePool::make(case_of(line + "1"))->page_table();
  EXPECT_EQ(first.bytes, sample::PagePool::make(case_of(line + "1"))->page_table().bytes);
  for (const char* seed : {"2", "3"}) {
    EXPECT_NE(first.bytes, sample::PagePool::make(case_of(line + seed))->page_table().bytes) << seed;
  }
}

TEST(PagePool, InSequentialOrderTheLastRequestHasTheLastPage) {
  const auto pool =
      sample::PagePool::make(case_of("mla_decode --page 16 --page-order sequential --cache-seqlens 33,32"));
  ASSERT_TRUE(pool.has_value());
  EXPECT_EQ(pool->slot(1, 31), pool->num_pages() * 16 - 1);
  EXPECT_EQ(pool->slot(1, 0), pool->slot(0, 32) + 16);
  EXPECT_GE(pool->slot(0, 0), 16);  // page 0 belongs to nobody here, too
}

TEST(PagePool, ATableTooNarrowIsRefused) {
  const auto pool = sample::PagePool::make(case_of("mla_decode --page 16 --cache-seqlens 33 --table-columns 2"));
  ASSERT_FALSE(pool.has_value());
  EXPECT_EQ(pool.error().message, "a sequence of 33 tokens needs 3 pages, the table has 2 columns");
  EXPECT_FALSE(
      sample::PagePool::make(case_of("mla_decode --page 16 --cache-seqlens 17 --table-columns 1")).has_value());
}

// Kernel and reference read the same tensors: what is not there is the same none to both, and no judge can tell.
TEST(SampleBatch, WhatEveryKernelReadsIsDrawn) {
  for (const Kernel& kernel : kernel_table()) {
    std::istringstream lines(testing::kernel_lines(kernel.name, "drawn"));
    for (std::string line; std::getline(lines, line);) {
      const auto of = line.find(" of ");
      ASSERT_NE(of, line.npos) << line;
      const auto batch = kernel.sample(case_of(line.substr(of + 4)));
      ASSERT_TRUE(batch.has_value()) << batch.error().text();
      std::istringstream inputs(line.substr(0, of));
      for (std::string name; inputs >> name;) {
        const std::vector<double> values = batch->input(name).to_doubles();
        EXPECT_TRUE(std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) << line << ' ' << name;
      }
    }
  }
}

// Nor can it tell which of two tensors or rows was read where both are alike.
TEST(SampleBatch, NoTwoRowsAreAlike) {
  for (const Kernel& kernel : kernel_table()) {
    std::istringstream lines(testing::kernel_lines(kernel.name, "drawn"));
    for (std::string line; std::getline(lines, line);) {
      const auto batch = kernel.sample(case_of(line.substr(line.find(" of ") + 4)));
      ASSERT_TRUE(batch.has_value()) << batch.error().text();
      std::set<std::vector<double>> rows;
      std::size_t count = 0;
      for (const Tensor& input : batch->inputs) {
        const auto width = static_cast<std::ptrdiff_t>(input.shape.back());
        if (input.dtype == DType::kI32 || input.dtype == DType::kI64 || width < 8) continue;
        const std::vector<double> values = input.to_doubles();
        for (auto row = values.begin(); row != values.end(); row += width) {
          if (std::isnan(*row)) continue;  // nobody's
          rows.emplace(row, row + width);
          ++count;
        }
      }
      EXPECT_EQ(rows.size(), count) << line;
    }
  }
}

// The bytes of a tensor whose index on one axis is this.
std::vector<std::byte> slice_of(const Tensor& tensor, std::size_t axis, std::int64_t index) {
  std::int64_t inner = size_of(tensor.dtype);
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) inner *= tensor.shape[i];
  std::vector<std::byte> out;
  const std::int64_t step = inner * tensor.shape[axis];
  for (auto at = index * inner; at < static_cast<std::int64_t>(tensor.bytes.size()); at += step) {
    out.insert(out.end(), tensor.bytes.begin() + at, tensor.bytes.begin() + at + inner);
  }
  return out;
}

// Gates, biases and weights, too: what is the same for all tokens, heads or channels, or in two tensors, is right
// whichever of them is read.
TEST(SampleBatch, NoTwoSlicesOfWhatIsDrawnAreAlike) {
  for (const Kernel& kernel : kernel_table()) {
    std::istringstream lines(testing::kernel_lines(kernel.name, "drawn"));
    for (std::string line; std::getline(lines, line);) {
      const auto of = line.find(" of ");
      const auto batch = kernel.sample(case_of(line.substr(of + 4)));
      ASSERT_TRUE(batch.has_value()) << batch.error().text();
      std::set<std::vector<std::byte>> tensors;
      std::istringstream inputs(line.substr(0, of));
      for (std::string name; inputs >> name;) {
        const Tensor& input = batch->input(name);
        EXPECT_TRUE(tensors.insert(input.bytes).second) << line << ' ' << name;
        for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
          std::set<std::vector<std::byte>> slices;
          for (std::int64_t i = 0; i < input.shape[axis]; ++i) slices.insert(slice_of(input, axis, i));
          // Of many single numbers of 16 bits some are the same.
          const bool is_single = input.shape.size() == 1;
          const std::int64_t fewest = is_single ? input.shape[axis] / 5 + 8 : input.shape[axis];
          EXPECT_GE(std::ssize(slices), std::min(fewest, input.shape[axis])) << line << ' ' << name << ' ' << axis;
        }
      }
    }
  }
}

// As large as the regime says and as often up as down: rows alike could not tell heads and requests apart.
TEST(SampleBatch, QueriesAreDrawnAroundZero) {
  for (const auto& [inputs, gain] :
       {std::pair{"mid", 1.0}, std::pair{"flat", 0.1}, std::pair{"peaked", 100.0}, std::pair{"drift", 1.4142}}) {
    const KernelCase c = case_of(std::string("paged_decode --dtype fp32 --cache-seqlens 1,1 --inputs ") + inputs);
    const auto batch = sample::paged_decode(c);
    const std::vector<double> q = batch->input("q").to_doubles();
    double sum = 0.0;
    double squares = 0.0;
    for (const double v : q) {
      sum += v;
      squares += v * v;
    }
    const auto n = static_cast<double>(q.size());
    EXPECT_NEAR(sum / n, 0.0, 0.2 * gain) << inputs;
    EXPECT_NEAR(std::sqrt(squares / n), gain, 0.1 * gain) << inputs;
  }
}

void expect_around_zero(std::span<const double> values, double gain) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double v : values) {
    sum += v;
    squares += v * v;
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0.0, 0.4 * gain);
  EXPECT_NEAR(std::sqrt(squares / n), gain, 0.3 * gain);
}

// Numbers of one sign add up where they should cancel, and show less of what is left out or taken twice.
TEST(SampleBatch, WhatIsConvolvedIsDrawnAroundZero) {
  for (const auto& [inputs, gain] : {std::pair("mid", 1.0), std::pair("peaked", 100.0)}) {
    SCOPED_TRACE(inputs);
    const auto batch = sample::causal_conv1d(
        case_of(std::string("causal_conv1d --dtype fp32 --heads 1 --head-dim 64 --query-lens 2,1 --inputs ") + inputs));
    expect_around_zero(batch->input("x").to_doubles(), gain);
    expect_around_zero(batch->input("weight").to_doubles(), 1.0);
    expect_around_zero(batch->input("bias").to_doubles(), 1.0);
    std::vector<double> before = batch->input("state").to_doubles();
    std::erase_if(before, [](double v) { return std::isnan(v); });
    expect_around_zero(before, gain);
  }
}

TEST(SampleBatch, ValuesOfASideAreDrawnAroundZeroHoweverLargeTheyAre) {
  const auto batch =
      sample::merge_state(case_of("merge_state --dtype fp32 --tokens 9 --heads 1 --head-dim 256 --empty 0"));
  const std::vector<double> values = batch->input("v_a").to_doubles();
  expect_around_zero(std::span(values).first(256), 4096.0);  // of a side that weighs little
  expect_around_zero(std::span(values).subspan(256, 256), 1.0);
}

TEST(SampleBatch, SinksAreDrawnAroundZero) {
  const auto batch = sample::paged_decode(case_of("paged_decode --heads 64 --sinks --cache-seqlens 1"));
  expect_around_zero(batch->input("sinks").to_doubles(), 2.0);
}

// As inside an image: where they agree, no axis can be told from another.
TEST(SampleBatch, PositionsOfATokenDifferOnAllAxes) {
  const auto batch = sample::mrope(case_of("mrope --tokens 17 --heads 1 --head-dim 32 --sections 6,5,5"));
  const Tensor& positions = batch->input("positions");
  for (std::int64_t t = 0; t < 17; ++t) {
    std::set<std::int64_t> of_token;
    for (std::int64_t axis = 0; axis < 3; ++axis) of_token.insert(positions.get_int(axis * 17 + t));
    EXPECT_EQ(of_token.size(), 3U) << t;
  }
}

TEST(SampleBatch, RotationsHaveTheAnglesOfTheirPositions) {
  const KernelCase c = case_of("mrope --dtype fp32 --tokens 9 --heads 1 --head-dim 32 --rotary 16 --sections 4,2,2");
  const auto batch = sample::mrope(c);
  const Tensor& positions = batch->input("positions");
  const Tensor& angles = batch->input("cos_sin");
  EXPECT_EQ(positions.get_int(0), angles.shape[0] - 1);  // the last there is
  std::set<std::int64_t> used;
  for (std::int64_t i = 0; i < positions.count(); ++i) used.insert(positions.get_int(i));
  for (std::int64_t p = 0; p < angles.shape[0]; ++p) EXPECT_EQ(std::isnan(angles.get(p * 16)), !used.contains(p)) << p;
  for (std::int64_t i = 0; i < positions.count(); ++i) {
    const std::int64_t p = positions.get_int(i);
    for (std::int64_t j = 0; j < 8; ++j) {
      const double angle = static_cast<double>(p) / std::pow(10000.0, static_cast<double>(j) / 8.0);
      EXPECT_NEAR(angles.get(p * 16 + j), std::cos(angle), 1e-6) << p << ' ' << j;
      EXPECT_NEAR(angles.get(p * 16 + 8 + j), std::sin(angle), 1e-6) << p << ' ' << j;
    }
  }
}

TEST(SampleBatch, TheBuildersAreGivenTheSlotOfEveryToken) {
  for (const std::int64_t first_page : {0, 5000}) {
    KernelCase c = case_of("kv_indices --page 16 --cache-seqlens 17,0,40");
    c.first_page = first_page;
    const auto batch = sample::kv_indices(c);
    const auto pool = sample::PagePool::make(c);
    const Tensor& tokens = batch->input("req_to_token");
    for (std::int64_t b = 0; b < c.num_requests(); ++b) {
      const std::int64_t first = batch->input("req_pool_indices").get_int(b) * tokens.shape[1];
      for (std::int64_t t = 0; t < c.cache_seqlens[static_cast<std::size_t>(b)]; ++t) {
        EXPECT_EQ(tokens.get_int(first + t), 16 * first_page + pool->slot(b, t)) << b << ' ' << t;
      }
      EXPECT_NE(batch->input("req_pool_indices").get_int(b), b) << "who takes one for the other has to be seen";
    }
  }
}

// Who takes the number of a request for that of its slot, or its neighbour's, finds another state or none.
TEST(SampleBatch, StatesLieInOtherSlotsThanTheirRequests) {
  for (const std::string kernel : {"gated_delta_step", "gated_delta_chunk", "causal_conv1d"}) {
    const auto batch = find_kernel(kernel)->sample(case_of(kernel + " --head-dim 8 --query-lens 1,2,1,3 --padded 1"));
    ASSERT_TRUE(batch.has_value()) << batch.error().text();
    const Tensor& slots = batch->input("state_indices");
    std::set<std::int64_t> owned;
    for (std::int64_t r = 0; r < 3; ++r) {
      EXPECT_NE(slots.get_int(r), r) << kernel;
      EXPECT_TRUE(owned.insert(slots.get_int(r)).second) << kernel;
    }
    EXPECT_EQ(*owned.begin(), 0) << kernel << ": the first slot is no padding";
    EXPECT_EQ(slots.get_int(3), -1) << kernel;
  }
}

// Who takes a row for as long as what is read of it finds the next request's.
TEST(SampleBatch, RowsOfSlotsGoOnBehindWhatIsReadOfThem) {
  for (const std::string kernel : {"page_table", "kv_indices"}) {
    const auto width = [&](const std::string& extra) {
      return find_kernel(kernel)
          ->sample(case_of(kernel + " --page 16 --cache-seqlens 17,33" + extra))
          ->input("req_to_token")
          .shape[1];
    };
    EXPECT_EQ(width(" --context 100"), 100) << kernel;
    EXPECT_GE(width(""), 33) << kernel;
  }
}

// What is kept is what was drawn, divided by the scale that gives it back: a sample of another size would weigh
// otherwise.
TEST(SampleBatch, AScaleOfACacheGivesBackWhatWasDrawn) {
  const auto cache = [](const char* name, const char* scales) {
    const KernelCase c = case_of(std::string("paged_decode --dtype fp32 --heads 2 --kv-heads 2 --head-dim 16 --page 16 "
                                             "--cache-seqlens 20 ") +
                                 scales);
    std::vector<double> values = sample::paged_decode(c)->input(name).to_doubles();
    std::erase_if(values, [](double v) { return std::isnan(v); });
    return values;
  };
  for (const auto& [name, scale] : {std::pair("k_cache", 0.25), std::pair("v_cache", 4.0)}) {
    const auto plain = cache(name, "");
    const auto scaled = cache(name, "--k-scale 0.25 --v-scale 4");
    ASSERT_EQ(plain.size(), scaled.size());
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(scaled[i] * scale, plain[i]) << name << ' ' << i;
  }
}

TEST(SampleBatch, TheBuildersAreGivenNoSlotThatIsNoInt) {
  EXPECT_FALSE(sample::page_table(case_of("page_table --page 16 --cache-seqlens 17 --first-page 134217496")));
  EXPECT_TRUE(sample::page_table(case_of("page_table --page 16 --cache-seqlens 17 --first-page 134217495")));
}

TEST(SampleBatch, TheHistoricTableHasAColumnAToken) {
  const KernelCase c = case_of("local_decode --heads 1 --page 16 --chunk 32 --cache-seqlens 17,40 --table token");
  const auto batch = sample::local_decode(c);
  const auto pool = sample::PagePool::make(c);
  const Tensor& table = batch->input("block_table");
  ASSERT_EQ(table.shape, (std::vector<std::int64_t>{2, 48}));
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < 48; ++t) {
      const bool owned = t < c.cache_seqlens[static_cast<std::size_t>(b)];
      EXPECT_EQ(table.get_int(b * 48 + t), owned ? pool->slot(b, t) % pool->num_pages() : 0) << b << ' ' << t;
    }
  }
}

// Of rows that the kernel normalises some are 0, some so small that the epsilon weighs as much; none beside its like.
TEST(SampleBatch, RowsToBeNormalisedAreNowAndThenZeroOrTiny) {
  const auto batch = sample::gated_delta_chunk(case_of("gated_delta_chunk --heads 2 --query-lens 40,5 --l2norm"));
  for (const char* name : {"q", "k"}) {
    const Tensor& rows = batch->input(name);
    const std::int64_t dim = rows.shape.back();
    int counts[3] = {};
    int before = 2;
    for (std::int64_t first = 0; first < rows.count(); first += dim) {
      double square = 0.0;
      for (std::int64_t i = first; i < first + dim; ++i) square += rows.get(i) * rows.get(i);
      const int kind = square == 0.0 ? 0 : square < 1e-4 ? 1 : 2;
      EXPECT_TRUE(kind == 2 || kind != before) << name << ' ' << first / dim;
      before = kind;
      ++counts[kind];
    }
    EXPECT_GT(counts[0], 4) << name;
    EXPECT_GT(counts[1], 8) << name;
    EXPECT_GT(counts[2], 60) << name;
  }
}

// So much that such a token shows where it is lost, and so little that the others together do, each far below it: of
// the last one, of the first of the last page, of the first that is seen.
TEST(Regime, ATokenThatStandsOutLeavesTheOthersAFifthOfAllWeight) {
  struct Row {
    const char* inputs;
    std::int64_t token;
  };
  constexpr std::int64_t kPage = 64;
  for (const std::int64_t tokens : {65, 321, 66000}) {
    const double others = std::exp(0.5) * static_cast<double>(tokens - 1);  // the mean of e^x where x is N(0, 1)
    for (const Row& row : {Row{"last", tokens - 1}, Row{"page", (tokens - 1) / kPage * kPage}, Row{"edge", 0}}) {
      SCOPED_TRACE(row.inputs);
      const KernelCase c =
          case_of("paged_decode --cache-seqlens " + std::to_string(tokens) + " --inputs " + row.inputs);
      const sample::Regime regime(c.inputs);
      const double lift = regime.lift(c, row.token, tokens);
      EXPECT_NEAR(std::exp(lift) / (std::exp(lift) + others), 0.82, 0.01) << tokens;
      EXPECT_LT(std::exp(-lift), 0.0025) << tokens;
      EXPECT_LT(lift, 14.0) << "tolerances allow for twenty";
      EXPECT_EQ(regime.lift(c, tokens - 2, tokens), 0.0) << tokens;
    }
  }
}

// Kernel and reference are given the same scale: what is wrong with it shows in neither.
TEST(Regime, TheScaleIsOfTheWidthBeforeAbsorptionOrOfAHead) {
  EXPECT_DOUBLE_EQ(sample::softmax_scale(case_of("mla_decode --rope 64 --cache-seqlens 9")), 1.0 / std::sqrt(192.0));
  EXPECT_DOUBLE_EQ(sample::softmax_scale(case_of("mla_decode --rope 32 --cache-seqlens 9")), 1.0 / std::sqrt(160.0));
  EXPECT_DOUBLE_EQ(sample::softmax_scale(case_of("paged_decode --head-dim 64 --cache-seqlens 9")), 0.125);
  EXPECT_DOUBLE_EQ(sample::softmax_scale(case_of("mla_decode --scale 0.5 --cache-seqlens 9")), 0.5);
}

// Or the softmax of a model that multiplies by 1 would see one token alone, and that of one that multiplies by little
// all alike, and neither what a mistake makes of the others.
TEST(Regime, ScoresAreOfOneSizeWhateverAModelScalesThemBy) {
  for (const std::string scale : {"", " --scale 1", " --scale 0.0078125"}) {
    const KernelCase c =
        case_of("paged_decode --dtype fp32 --heads 4 --kv-heads 1 --head-dim 64 --page 64 --cache-seqlens 200" + scale);
    const auto batch = sample::paged_decode(c);
    const auto pool = sample::PagePool::make(c);
    double squares = 0.0;
    for (std::int64_t h = 0; h < 4; ++h) {
      for (std::int64_t t = 0; t < 200; ++t) {
        double score = 0.0;
        for (std::int64_t d = 0; d < 64; ++d) {
          score += batch->input("q").get(h * 64 + d) * batch->input("k_cache").get(pool->slot(0, t) * 64 + d);
        }
        squares += std::pow(score * sample::softmax_scale(c), 2.0);
      }
    }
    EXPECT_NEAR(std::sqrt(squares / 800.0), 1.0, 0.25) << scale;
  }
}

// A maximum that is found in the first tile never has to be rescaled to.
TEST(Regime, ScoresThatDriftRiseToTheLastToken) {
  const sample::Regime regime(Inputs::kDrift);
  const KernelCase c = case_of("paged_decode --cache-seqlens 200");
  for (std::int64_t t = 1; t < 200; ++t) EXPECT_GT(regime.lift(c, t, 200), regime.lift(c, t - 1, 200)) << t;
}

TEST(Regime, AWindowOfNothingBeforeSeesTheLastTokenAlone) {
  EXPECT_EQ(sample::first_visible(case_of("paged_decode --window 0 --cache-seqlens 9"), 9), 8);
  EXPECT_EQ(sample::first_visible(case_of("paged_decode --window 0 --cache-seqlens 1"), 1), 0);
  EXPECT_EQ(sample::first_visible(case_of("paged_decode --window 3 --cache-seqlens 9"), 9), 5);
  EXPECT_EQ(sample::first_visible(case_of("paged_decode --cache-seqlens 9"), 9), 0);
}

TEST(SampleBatch, MemoryNobodyOwnsIsNaN) {
  const KernelCase c = case_of("mla_decode --heads 1 --page 16 --cache-seqlens 20");
  const auto batch = sample::mla_decode(c);
  ASSERT_TRUE(batch.has_value());
  const Tensor& cache = batch->input("kv_cache");
  std::int64_t numbers = 0;
  for (std::int64_t i = 0; i < cache.count(); ++i) numbers += std::isnan(cache.get(i)) ? 0 : 1;
  EXPECT_EQ(numbers, 20 * 576);
}

// What lies before a window or a chunk must not be read: a number of little weight would hide that it is.
TEST(SampleBatch, WhatAWindowOrAChunkLeavesOutIsNaN) {
  for (const auto& [line, seen] : {std::pair("paged_decode --window 4", 5), {"local_decode --chunk 16", 4}}) {
    const KernelCase c =
        case_of(std::string(line) + " --heads 2 --kv-heads 2 --head-dim 16 --page 16 --cache-seqlens 20");
    const auto batch = find_kernel(c.kernel)->sample(c);
    for (const char* name : {"k_cache", "v_cache"}) {
      const std::vector<double> cache = batch->input(name).to_doubles();
      EXPECT_EQ(std::ranges::count_if(cache, [](double v) { return !std::isnan(v); }), seen * 2 * 16) << line << name;
    }
  }
}

TEST(SampleBatch, EmptySidesHoldNaNOrZerosAndZerosNeverOnBoth) {
  constexpr std::int64_t kDim = 8;
  const auto count = [](const std::string& extra) {
    const SampleBatch batch =
        *sample::merge_state(*parse_case("merge_state --tokens 64 --heads 1 --head-dim 8 --empty 50" + extra));
    int nan = 0;
    int zero = 0;
    int both = 0;
    for (std::int64_t row = 0; row < 64; ++row) {
      int empty = 0;
      for (const char* side : {"a", "b"}) {
        if (std::isfinite(batch.input(std::string("s_") + side).get(row))) continue;
        const double value = batch.input(std::string("v_") + side).get(row * kDim + kDim - 1);
        nan += std::isnan(value) ? 1 : 0;
        zero += value == 0.0 ? 1 : 0;
        ++empty;
      }
      both += empty == 2 ? 1 : 0;
    }
    return std::array{nan > 20, zero > 20, both > 0};
  };
  EXPECT_EQ(count(""), (std::array{true, false, true}));
  EXPECT_EQ(count(" --empty-zeros"), (std::array{false, true, false}));
}

// -1 is the only one that rounds to another page towards zero than downwards, and a table reads one slot a page.
TEST(SampleBatch, ColumnsPastTheEndOfARequestReadEveryKindOfAbsurdSlot) {
  for (const std::int64_t page : {1, 16, 24, 128}) {
    const SampleBatch batch = *sample::page_table(*parse_case(
        fmt::format("page_table --page {} --cache-seqlens 1,{} --table-columns 6", page, 2 * page + page / 2)));
    const Tensor& slots = batch.input("req_to_token");
    for (std::int64_t b = 0; b < 2; ++b) {
      std::set<std::int64_t> read;
      for (std::int64_t column = 3; column < 6; ++column) {
        read.insert(slots.get_int(batch.input("req_pool_indices").get_int(b) * slots.shape[1] + column * page));
      }
      EXPECT_EQ(read, (std::set<std::int64_t>{-2 * page, -1, kUnusedPage})) << page << ": " << b;
    }
  }
}

// Who takes one mark of an empty side for all of them is right until a library has another. In every regime and in as
// few rows as one head of a launch's case has: each side alone and both at once.
TEST(SampleBatch, AnEmptySideIsMarkedByEitherInfinityAndByNaNButNotBesideZeros) {
  for (const std::string regime : {"mid", "peaked"}) {
    const auto kinds = [&](const std::string& extra) {
      const SampleBatch batch =
          *sample::merge_state(*parse_case("merge_state --tokens 9 --heads 1 --head-dim 8 --inputs " + regime + extra));
      std::set<std::pair<bool, bool>> found;  // which sides say NaN
      for (std::int64_t row = 0; row < 9; ++row) {
        found.emplace(std::isnan(batch.input("s_a").get(row)), std::isnan(batch.input("s_b").get(row)));
      }
      return found.size();
    };
    EXPECT_EQ(kinds(""), 4U) << regime;
    EXPECT_EQ(kinds(" --empty-zeros"), 1U) << regime;
    EXPECT_EQ(kinds(" --empty 0"), 1U) << regime;
  }
  for (const auto& [tokens, least] : {std::pair(4, 2), {64, 45}}) {
    const SampleBatch many = *sample::merge_state(
        *parse_case("merge_state --heads 3 --head-dim 8 --empty 50 --tokens " + std::to_string(tokens)));
    std::map<std::string, int> marks;
    for (const char* side : {"s_a", "s_b"}) {
      for (const double s : many.input(side).to_doubles()) {
        if (!std::isfinite(s)) ++marks[std::isnan(s) ? "nan" : s > 0.0 ? "+inf" : "-inf"];
      }
    }
    for (const char* mark : {"nan", "+inf", "-inf"}) EXPECT_GE(marks[mark], least) << mark << " in " << tokens;
  }
}

// An owned value that is no number, of every type that a kernel converts: one a request where tokens weigh alike.
TEST(SampleBatch, ATableOfTokensHasTheSlotsOfEveryRequest) {
  for (const char* lengths : {"3,3,3,3,3", "200,3"}) {
    const SampleBatch batch = *sample::local_decode(*parse_case(
        std::string("local_decode --chunk 128 --page 64 --table token --must-fail --cache-seqlens ") + lengths));
    const Tensor& table = batch.input("block_table");
    const std::int64_t pages = batch.input("k_cache").shape.front();
    for (std::int64_t i = 0; i < table.count(); ++i) {
      EXPECT_GE(table.get_int(i), 0) << lengths << ": " << i;
      EXPECT_LT(table.get_int(i), pages);
    }
  }
}

// Who makes a case of its own of equal sides meets them in as few rows as one head of a launch's case has.
TEST(SampleBatch, SidesOfSomeRowsWeighTheSameInEveryRegime) {
  for (const std::string extra : {"", " --inputs peaked", " --empty 50", " --empty-zeros"}) {
    const SampleBatch batch =
        *sample::merge_state(*parse_case("merge_state --tokens 9 --heads 1 --head-dim 8 --seed 2" + extra));
    std::int64_t equal = 0;
    for (std::int64_t row = 0; row < 9; ++row) {
      const double first = batch.input("s_a").get(row);
      equal += std::isfinite(first) && first == batch.input("s_b").get(row) ? 1 : 0;
    }
    EXPECT_EQ(equal, 1) << extra;
  }
}

// Who leaves out a side that weighs little is right until its values are large.
TEST(SampleBatch, ASideThatWeighsLittleCountsWhereItsValuesAreLarge) {
  for (const std::string extra : {"", " --empty 50", " --empty-zeros"}) {
    const SampleBatch batch =
        *sample::merge_state(*parse_case("merge_state --tokens 9 --heads 1 --head-dim 64 --seed 2" + extra));
    const auto counts = [&](const char* sum, const char* other, const char* values, std::int64_t row) {
      double square = 0.0;
      for (std::int64_t i = row * 64; i < (row + 1) * 64; ++i) square += std::pow(batch.input(values).get(i), 2.0);
      const double weight = std::exp(batch.input(sum).get(row) - batch.input(other).get(row));
      return weight < 0.01 && weight * std::sqrt(square / 64.0) > 0.1;
    };
    bool first = false;
    bool second = false;
    for (std::int64_t row = 0; row < 9; ++row) {
      first = first || counts("s_a", "s_b", "v_a", row);
      second = second || counts("s_b", "s_a", "v_b", row);
    }
    EXPECT_TRUE(first) << extra;
    EXPECT_TRUE(second) << extra;
  }
}

// A softplus that is its argument from 5 on, or a decay that ends at e^-5, differs there alone.
TEST(SampleBatch, AHeadOfTheDeltaRuleHasGatesWhereSoftplusBends) {
  const SampleBatch batch =
      *sample::gated_delta_step(*parse_case("gated_delta_step --heads 4 --v-heads 8 --head-dim 8 --query-lens 1,1"));
  const double x = batch.input("a").get(2) + batch.input("dt_bias").get(2);
  EXPECT_GT(x, 3.0);
  EXPECT_LT(x, 8.0);
  EXPECT_GT(std::exp(batch.input("a_log").get(2)), 0.4);
}

// A softplus that is cut off below is seen where gates lie far below 0 and their decay makes something of them.
TEST(SampleBatch, AHeadOfTheDeltaRuleHasFaintGatesAndAFastDecay) {
  const SampleBatch batch =
      *sample::gated_delta_step(*parse_case("gated_delta_step --heads 4 --v-heads 4 --head-dim 8 --query-lens 1,1"));
  EXPECT_LT(batch.input("dt_bias").get(3), -4.0);
  EXPECT_GE(std::exp(batch.input("a_log").get(3)), 8.0);
  for (int other = 0; other < 3; ++other) {
    EXPECT_GT(batch.input("dt_bias").get(other), -4.0);
    EXPECT_LE(std::exp(batch.input("a_log").get(other)), 1.5);
  }
}

// What trained models do in some tokens, and no token in the middle of all: forget nearly everything or nearly nothing,
// and write nearly all of a value or nearly none of it. A decay or a beta that is cut on its way shows there alone.
TEST(SampleBatch, DecaysAndBetasOfTheDeltaRuleComeNearTheirEnds) {
  const SampleBatch step =
      *sample::gated_delta_step(*parse_case("gated_delta_step --heads 4 --head-dim 8 --query-lens 9,8"));
  const SampleBatch chunk =
      *sample::gated_delta_chunk(*parse_case("gated_delta_chunk --heads 4 --head-dim 8 --query-lens 9,8"));
  std::vector<double> decays;
  std::vector<double> betas;
  for (std::int64_t i = 0; i < step.input("a").count(); ++i) {
    const double x = step.input("a").get(i) + step.input("dt_bias").get(i % 4);
    const double softplus = x > 20.0 ? x : std::log1p(std::exp(x));
    decays.push_back(std::exp(-std::exp(step.input("a_log").get(i % 4)) * softplus));
    betas.push_back(1.0 / (1.0 + std::exp(-step.input("b").get(i))));
  }
  EXPECT_LT(std::ranges::min(decays), 1e-4);
  EXPECT_GT(std::ranges::max(decays), 0.999);
  EXPECT_LT(std::ranges::min(betas), 0.03);
  EXPECT_GT(std::ranges::max(betas), 0.97);
  const std::vector<double> g = chunk.input("g").to_doubles();
  const std::vector<double> beta = chunk.input("beta").to_doubles();
  EXPECT_LT(std::ranges::min(g), -25.0);
  EXPECT_GT(std::ranges::max(g), -0.5);
  EXPECT_LT(std::ranges::min(beta), 0.03);
  EXPECT_GT(std::ranges::max(beta), 0.97);
  // Only some heads forget: in the others every token is seen to the end.
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_TRUE(i % 4 == 1 || g[i] > -1.0) << i;
}

// Slow gates are what a state of many tokens is seen by: whoever asks for them gets them.
TEST(SampleBatch, GatesOfTheDeltaRuleDecayBySoMuchLess) {
  const auto gates = [](const char* kernel, const char* tensor, const char* normalizer) {
    const KernelCase c =
        case_of(fmt::format("{} --heads 2 --head-dim 8 --query-lens 3,2 --gate-normalizer {}", kernel, normalizer));
    return find_kernel(kernel)->sample(c)->input(tensor).to_doubles();
  };
  const auto fast = gates("gated_delta_step", "a_log", "1");
  const auto slow = gates("gated_delta_step", "a_log", "10");
  for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i] - slow[i], std::log(10.0), 1e-5);
  const auto decayed = gates("gated_delta_chunk", "g", "1");
  const auto kept = gates("gated_delta_chunk", "g", "10");
  for (std::size_t i = 0; i < decayed.size(); ++i) EXPECT_NEAR(decayed[i] / kept[i], 10.0, 1e-5);
}

TEST(SampleBatch, WhereNothingDecaysTheFirstTokenDoes) {
  const auto g = sample::gated_delta_chunk(
                     case_of("gated_delta_chunk --heads 2 --v-heads 4 --head-dim 8 --undecayed 1 --query-lens 3"))
                     ->input("g")
                     .to_doubles();
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_EQ(g[i] < 0.0, i < 4) << i;
}

TEST(SampleBatch, AllRequestsMayBePaddingAndNoMore) {
  for (const std::string kernel : {"gated_delta_step", "gated_delta_chunk", "causal_conv1d"}) {
    const auto sampled = [&](const char* padded) {
      return find_kernel(kernel)->sample(case_of(kernel + " --head-dim 8 --query-lens 1,1 --padded " + padded));
    };
    EXPECT_TRUE(sampled("2").has_value()) << kernel;
    EXPECT_FALSE(sampled("3").has_value()) << kernel;
  }
}

// A merge that takes off the first side's maximum alone is right until the second one's is far above it.
TEST(SampleBatch, PeakedSidesAreFarAboveEachOtherEitherWayAndFarFromZeroTogether) {
  const SampleBatch batch =
      *sample::merge_state(*parse_case("merge_state --tokens 9 --heads 3 --head-dim 8 --empty 0 --inputs peaked"));
  std::set<std::pair<bool, bool>> kinds;
  for (std::int64_t row = 0; row < 27; ++row) {
    for (const char* side : {"s_a", "s_b"}) EXPECT_GT(std::abs(batch.input(side).get(row)), 100.0);
    kinds.emplace(batch.input("s_a").get(row) > 0.0, batch.input("s_b").get(row) > 0.0);
  }
  EXPECT_EQ(kinds.size(), 4U);
}

// ln(1 + e^x) overflows there; it shows only where what is forgotten by then is little.
TEST(SampleBatch, AGateIsSoLargeThatExpOverflowsAndItsStateStays) {
  const SampleBatch batch =
      *sample::gated_delta_step(*parse_case("gated_delta_step --heads 2 --v-heads 4 --head-dim 8 --query-lens 1,1"));
  double kept = 0.0;
  for (std::int64_t i = 0; i < batch.input("a").count(); ++i) {
    const double x = batch.input("a").get(i) + batch.input("dt_bias").get(i % 4);
    if (!std::isfinite(std::exp(static_cast<float>(x))))
      kept = std::exp(-std::exp(batch.input("a_log").get(i % 4)) * x);
  }
  EXPECT_GT(kept, 0.5);
}

TEST(SampleBatch, ATokenHasAValueThatIsNoNumber) {
  for (const auto& [type, has_infinity] : {std::pair("fp16", true), {"fp8_e5m2", true}, {"fp8_e4m3", false}}) {
    SCOPED_TRACE(type);
    const auto c = parse_case(std::string("paged_decode --heads 4 --kv-heads 2 --head-dim 8 --page 4 --inputs flat "
                                          "--cache-seqlens 5,1,7 --kv-dtype ") +
                              type);
    ASSERT_TRUE(c.has_value());
    const auto batch = sample::paged_decode(*c);
    ASSERT_TRUE(batch.has_value());
    const Tensor& values = batch->input("v_cache");
    for (std::int64_t b = 0; b < 3; ++b) {
      const std::int64_t middle = c->cache_seqlens[static_cast<std::size_t>(b)] / 2;
      const std::int64_t page = batch->input("page_table").get_int(b * c->columns() + middle / 4);
      const std::int64_t row = ((page * 4 + middle % 4) * 2 + b % 2) * 8;
      EXPECT_TRUE(std::isnan(values.get(row + b)));
      EXPECT_EQ(std::isinf(values.get(row + b + 1)), has_infinity && b != 1);
      const std::int64_t key = ((page * 4 + middle % 4) * 2 + (b + 1) % 2) * 8 + b;
      EXPECT_EQ(std::isnan(batch->input("k_cache").get(key)), b > 0);
    }
  }
}

// Both ends of an fp8 cache's type stand all over its values, in either sign; other types have neither.
TEST(SampleBatch, ValuesOfAPeakedFp8CacheReachBothEndsOfTheType) {
  for (const auto& [type, largest, smallest, is_fp8] : {std::tuple("fp8_e4m3", 448.0, 0x1p-9, true),
                                                        {"fp8_e5m2", 57344.0, 0x1p-16, true},
                                                        {"fp16", 65504.0, 0x1p-24, false}}) {
    SCOPED_TRACE(type);
    const auto batch = sample::paged_decode(*parse_case(
        std::string("paged_decode --heads 4 --kv-heads 2 --head-dim 64 --page 4 --inputs peaked --cache-seqlens 33 "
                    "--kv-dtype ") +
        type));
    std::vector<double> values;
    for (std::int64_t i = 0; i < batch->input("v_cache").count(); ++i) values.push_back(batch->input("v_cache").get(i));
    for (const double end : {largest, -largest, smallest, -smallest}) {
      const auto count = std::ranges::count(values, end);
      EXPECT_EQ(count >= 20, is_fp8) << end << ": " << count;  // of 4,224 that are read, one in 61
      EXPECT_EQ(count == 0, !is_fp8) << end << ": " << count;
    }
  }
}

TEST(SampleBatch, ALatentIsNoNumberFromTheSecondRequestOn) {
  const auto c = parse_case("mla_decode --latent 16 --rope 16 --page 4 --inputs flat --cache-seqlens 5,3");
  const auto batch = sample::mla_decode(*c);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < c->cache_seqlens[static_cast<std::size_t>(b)]; ++t) {
      const std::int64_t page = batch->input("page_table").get_int(b * c->columns() + t / 4);
      EXPECT_EQ(std::isnan(batch->input("kv_cache").get((page * 4 + t % 4) * 32 + b)), b == 1 && t == 1);
    }
  }
}

// What a request without a prefix must not read is NaN, and so is what nobody owns; the others' windows are numbers.
TEST(SampleBatch, OnlyRequestsWithAPrefixHaveAWindow) {
  const auto c =
      parse_case("causal_conv1d --heads 2 --v-heads 4 --head-dim 8 --query-lens 2,1,3,1 --padded 1 --zero-state");
  ASSERT_TRUE(c.has_value());
  const auto batch = sample::causal_conv1d(*c);
  ASSERT_TRUE(batch.has_value());
  const std::int64_t slot_size = batch->input("state").count() / batch->input("state").shape[0];
  EXPECT_EQ(batch->input("state").shape, (std::vector<std::int64_t>{6, 64, 3}));
  EXPECT_EQ(batch->input("x").shape, (std::vector<std::int64_t>{7, 64}));
  std::set<std::int64_t> known;
  std::set<std::int64_t> owned;
  for (std::int64_t r = 0; r < 4; ++r) {
    const std::int64_t slot = batch->input("state_indices").get_int(r);
    EXPECT_EQ(slot < 0, r == 3) << "the last is padding";
    EXPECT_TRUE(slot < 0 || owned.insert(slot).second);
    EXPECT_EQ(batch->input("has_state").get_int(r), r % 2);
    if (slot >= 0 && r % 2 == 1) known.insert(slot);
  }
  for (std::int64_t i = 0; i < batch->input("state").count(); ++i) {
    EXPECT_EQ(std::isnan(batch->input("state").get(i)), !known.contains(i / slot_size)) << i;
  }
}

TEST(SampleBatch, TheSameCaseGivesTheSameBytesAndAnotherSeedOthers) {
  const KernelCase c = case_of("paged_decode --heads 4 --kv-heads 2 --head-dim 32 --cache-seqlens 20");
  KernelCase other = c;
  other.seed = 2;
  EXPECT_EQ(sample::paged_decode(c)->input("k_cache").bytes, sample::paged_decode(c)->input("k_cache").bytes);
  EXPECT_NE(sample::paged_decode(c)->input("k_cache").bytes, sample::paged_decode(other)->input("k_cache").bytes);
}

TEST(SampleBatch, AKeyIsLiftedInEveryDimension) {
  const auto key = [](const char* inputs) {
    const KernelCase c = case_of(
        std::string("paged_decode --dtype fp32 --heads 1 --head-dim 16 --page 16 --cache-seqlens 20 --inputs ") +
        inputs);
    const std::vector<double> keys = sample::paged_decode(c)->input("k_cache").to_doubles();
    const auto first = keys.begin() + sample::PagePool::make(c)->slot(0, 19) * 16;
    return std::vector<double>(first, first + 16);
  };
  const std::vector<double> plain = key("mid");
  const std::vector<double> lifted = key("last");
  const double lift = std::fabs(lifted[0] - plain[0]);
  EXPECT_GT(lift, 0.1);
  for (std::size_t d = 1; d < 16; ++d) EXPECT_NEAR(std::fabs(lifted[d] - plain[d]), lift, 1e-5) << d;
}

TEST(SampleBatch, RegimesMakeTheKeysTheyNameStandOut) {
  // The weight of the token a regime points at, by the reference's own softmax input: scores rebuilt from the batch.
  struct Row {
    const char* inputs;
    std::int64_t token;
  };
  for (const Row& row : {Row{"last", 39}, Row{"page", 32}, Row{"edge", 19}}) {
    const KernelCase c =
        case_of(std::string("paged_decode --dtype fp32 --heads 1 --page 16 --window 20 --cache-seqlens 40 --inputs ") +
                row.inputs);
    const auto batch = sample::paged_decode(c);
    const auto pool = sample::PagePool::make(c);
    std::int64_t best = -1;
    double highest = -1e9;
    for (std::int64_t t = 0; t < 40; ++t) {
      double score = 0.0;
      for (std::int64_t d = 0; d < 128; ++d) {
        score += batch->input("q").get(d) * batch->input("k_cache").get(pool->slot(0, t) * 128 + d);
      }
      if (score > highest) {
        highest = score;
        best = t;
      }
    }
    EXPECT_EQ(best, row.token) << row.inputs;
  }
}

}  // namespace
}  // namespace preflight
