// The judge, by sabotage: what must fail fails, what cannot tell is mistrusted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "preflight/kernel_run.h"
#include "preflight/reference.h"
#include "preflight/row_sizes.h"
#include "preflight/verdict.h"
#include "src/sample/random.h"
#include "src/verdict/few_products.h"

namespace preflight {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kWidth = 64;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> expected_values() {
  std::vector<double> values;
  const sample::Random random(1, "want");
  for (std::int64_t i = 0; i < kRows * kWidth; ++i) values.push_back(random.normal(i));
  return values;
}

Tensor stored(const std::vector<double>& values, DType type) {
  Tensor tensor("out", type, {kRows, static_cast<std::int64_t>(values.size()) / kRows});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

// Of one output alone.
OutputVerdict judge_output(const Tensor& got, const std::vector<double>& want, const Tolerance& limit) {
  return judge({got}, {Expected{got.name, want}}, {limit}, {}).outputs.front();
}

VerdictWord judged(const std::vector<double>& got, const std::vector<double>& want, DType type = DType::kBf16) {
  return judge_output(stored(got, type), want, attention_tolerance(type, 10.0)).word;
}

TEST(Judge, OneRoundingToTheStorageTypePasses) {
  for (const DType type : {DType::kBf16, DType::kF16, DType::kF32}) {
    EXPECT_EQ(judged(expected_values(), expected_values(), type), VerdictWord::kPass) << name_of(type);
  }
}

// A row of which fp32 leaves nothing: below 2^-96 all is the same, from there on it is not.
TEST(Judge, WhatVanishesInFp32IsNoDifferenceAndWhatDoesNotIs) {
  const auto judged_as = [](double row_is, double row_should_be) {
    std::vector<double> want = expected_values();
    std::vector<double> got = want;
    std::fill(got.begin(), got.begin() + kWidth, row_is);
    std::fill(want.begin(), want.begin() + kWidth, row_should_be);
    return judged(got, want, DType::kF32);
  };
  EXPECT_EQ(judged_as(0x1.8p-97, 0.0), VerdictWord::kPass);
  EXPECT_EQ(judged_as(0.0, -0x1.8p-97), VerdictWord::kPass);
  EXPECT_EQ(judged_as(0x1p-96, 0.0), VerdictWord::kFail);
  EXPECT_EQ(judged_as(0.0, 0x1p-96), VerdictWord::kFail);
}

// A small row between large ones, up to its last value and not beyond.
TEST(Judge, ARowIsMeasuredAgainstItsOwnSizeAlone) {
  Tensor got("out", DType::kF32, {3, 4});
  std::vector<double> want(12, 1000.0);
  std::fill(want.begin() + 4, want.begin() + 8, 1.0);
  for (std::size_t i = 0; i < want.size(); ++i) got.set(static_cast<std::int64_t>(i), want[i]);
  for (const std::int64_t off : {4, 7}) {
    got.set(off, 1.5);
    EXPECT_EQ(judge_output(got, want, {.rel_rms = 0.1}).reason,
              "out[1,0] row is off by 0.25 of its size, 0.1 is allowed");
    got.set(off, 1.0);
  }
}

TEST(Judge, ARowThatIsOffIsSeenWhereverItLies) {
  constexpr std::int64_t kMany = 17;
  std::vector<double> want;
  const sample::Random random(1, "want");
  for (std::int64_t i = 0; i < kMany * 8; ++i) want.push_back(random.normal(i));
  for (std::int64_t row = 0; row < kMany; ++row) {
    Tensor got("out", DType::kF32, {kMany, 8});
    for (std::int64_t i = 0; i < got.count(); ++i) {
      const double off = i / 8 == row ? (i % 2 == 0 ? 1.03 : 0.97) : 1.0;
      got.set(i, want[static_cast<std::size_t>(i)] * off);
    }
    const OutputVerdict verdict = judge_output(got, want, {.rel_rms = 0.02});
    EXPECT_EQ(verdict.word, VerdictWord::kFail) << row;
    EXPECT_NEAR(verdict.rel_rms, 0.03, 1e-4) << row;
  }
}

// What is just allowed passes; of equal differences the first is named, and a smaller one behind it is not.
TEST(Judge, TheLargestDifferenceIsTheFirstOfItsSize) {
  Tensor got("out", DType::kF32, {4});
  for (const auto& [i, value] : {std::pair(0, 1.5), {1, 1.25}, {2, 0.5}, {3, 1.0}}) got.set(i, value);
  const OutputVerdict verdict = judge_output(got, std::vector<double>(4, 1.0), {.abs = 0.5});
  EXPECT_EQ(verdict.word, VerdictWord::kPass) << verdict.reason;
  EXPECT_EQ(verdict.times_allowed, 1.0);
  EXPECT_EQ(verdict.max_abs, 0.5);
  EXPECT_EQ(verdict.worst, 0);
}

// Two rows are enough to tell rows apart, and log-sum-exps of no number tell none.
TEST(Judge, RowsAreToldApartByTheirOwnNumbersOrByThoseOfAnotherOutput) {
  const auto word = [](double second, double second_sum) {
    const std::vector<double> out{1.0, 2.0, second, 2.0};
    const std::vector<double> sums{0.5, second_sum};
    Tensor got("out", DType::kF32, {2, 2});
    Tensor lse("lse", DType::kF32, {2});
    for (std::int64_t i = 0; i < 4; ++i) got.set(i, out[static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < 2; ++i) lse.set(i, sums[static_cast<std::size_t>(i)]);
    return judge({got, lse}, {{"out", out}, {"lse", sums}}, {exact_tolerance(), exact_tolerance()}, {}).word;
  };
  EXPECT_EQ(word(3.0, 0.5), VerdictWord::kPass);
  EXPECT_EQ(word(1.0, 0.75), VerdictWord::kPass);
  EXPECT_EQ(word(1.0, 0.5), VerdictWord::kMistrusted);
  EXPECT_EQ(word(1.0, -kInf), VerdictWord::kMistrusted);
}

// All that has no direction points elsewhere, whichever of the two it is.
TEST(Judge, NothingButZerosPointsElsewhere) {
  const std::vector<double> values = expected_values();
  const std::vector<double> zeros(values.size(), 0.0);
  const Tolerance limit = attention_tolerance(DType::kBf16, 10.0);
  EXPECT_EQ(judge_output(stored(zeros, DType::kBf16), values, limit).cosine, 1.0);
  EXPECT_EQ(judge_output(stored(values, DType::kBf16), zeros, limit).cosine, 1.0);
  EXPECT_EQ(judge_output(stored(zeros, DType::kBf16), zeros, limit).cosine, 0.0);
}

TEST(Judge, EverySabotageFails) {
  const std::vector<double> want = expected_values();
  const auto sabotage = [&](auto&& change) {
    std::vector<double> got = want;
    change(got);
    return judged(got, want);
  };
  EXPECT_EQ(sabotage([](auto& v) { std::swap_ranges(v.begin(), v.begin() + kWidth, v.begin() + kWidth); }),
            VerdictWord::kFail);
  EXPECT_EQ(sabotage([](auto& v) { v[70] = kNan; }), VerdictWord::kFail);
  EXPECT_EQ(sabotage([](auto& v) { v[70] = kInf; }), VerdictWord::kFail);
  EXPECT_EQ(sabotage([](auto& v) { std::fill(v.begin(), v.end(), 0.0); }), VerdictWord::kFail);
  EXPECT_EQ(sabotage([](auto& v) {
              for (double& x : v) x *= 1.01;
            }),
            VerdictWord::kFail);  // a wrong scale
  EXPECT_EQ(sabotage([](auto& v) {
              for (double& x : v) x = -x;
            }),
            VerdictWord::kFail);
  // One row alone, whichever it is, by less than the whole output would notice.
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(sabotage([row](auto& v) {
                for (std::size_t i = 0; i < kWidth; ++i) v[row * kWidth + i] *= 1.006;
              }),
              VerdictWord::kFail)
        << row;
  }
}

TEST(Judge, MeasuresInTimesOfWhatIsAllowed) {
  const Tensor sound = [] {
    Tensor t("out", DType::kF32, {2, 4});
    for (std::int64_t i = 0; i < t.count(); ++i) t.set(i, 1.0 + static_cast<double>(i));
    return t;
  }();
  const auto times = [&](double factor, const Tolerance& limit) {
    Tensor got = sound;
    for (std::int64_t i = 0; i < got.count(); ++i) got.set(i, factor * sound.get(i));
    return judge({got}, {{"out", sound.to_doubles()}}, {limit}, {}).times_allowed;
  };
  EXPECT_EQ(times(1.0, {.rel_rms = 0.01}), 0.0);
  EXPECT_NEAR(times(1.05, {.rel_rms = 0.01}), 5.0, 0.01);
  EXPECT_NEAR(times(1.005, {.rel_rms = 0.01}), 0.5, 0.01);
  EXPECT_NEAR(times(1.02, {.abs = 1e-6, .rel = 0.01}), 2.0, 0.01);
  EXPECT_NEAR(times(1.06, {.rel_rms = 0.02, .bias = 0.02}), 3.0, 0.01);
  EXPECT_EQ(times(kNan, {.rel_rms = 0.01}), kInf);
  Tensor turned("out", DType::kF32, {1, 2});
  turned.set(0, 1.0);
  turned.set(1, 0.1);  // 1 - cosine is 0.00496
  EXPECT_NEAR(judge({turned}, {{"out", {1.0, 0.0}}}, {{.cosine = 0.00124}}, {}).times_allowed, 2.0, 0.01);
  EXPECT_EQ(times(2.0, exact_tolerance()), kInf);
  EXPECT_EQ(judge({sound}, {{"out", sound.to_doubles()}}, {exact_tolerance()}, {"out"}).times_allowed, kInf);
}

// Which the report names: the first of a row's differences is as easily kept, or the last.
TEST(Judge, TheLargestDifferenceIsKeptWithItsPlace) {
  std::vector<double> want(6, 1.0);
  Tensor got("out", DType::kF32, {6});
  const std::array differences{0.125, 0.0, 0.5, -0.75, 0.25, 0.0};
  for (std::size_t i = 0; i < differences.size(); ++i) got.set(static_cast<std::int64_t>(i), 1.0 + differences[i]);
  const Verdict verdict = judge({got}, {{"out", want}}, {{.abs = 2.0}}, {});
  ASSERT_EQ(verdict.outputs.size(), 1U);
  EXPECT_EQ(verdict.outputs[0].max_abs, 0.75);
  EXPECT_EQ(verdict.outputs[0].worst, 3);
}

// A sink far above the only score: the weight underflows in fp32, and so does the reference in any storage type.
TEST(Judge, ValuesThatFp32CannotTellFromZeroAreEqualToIt) {
  std::vector<double> want = expected_values();
  std::vector<double> got = want;
  for (std::int64_t i = 0; i < kWidth; ++i) {
    want[static_cast<std::size_t>(i)] *= 1e-87;
    got[static_cast<std::size_t>(i)] = 0.0;
  }
  EXPECT_EQ(judged(got, want), VerdictWord::kPass);
  for (std::int64_t i = 0; i < kWidth; ++i) want[static_cast<std::size_t>(i)] *= 1e67;  // 1e-20 is a float like others
  EXPECT_EQ(judged(got, want), VerdictWord::kFail);
}

// The smallest fp16 numbers are 2^-24 apart: a row that small is right when it is rounded, and wrong by more than that.
TEST(Judge, ARowOfTheSmallestNumbersMayBeRounded) {
  std::vector<double> want = expected_values();
  for (std::int64_t i = 0; i < kWidth; ++i) want[static_cast<std::size_t>(i)] *= 0x1p-24;
  EXPECT_EQ(judged(want, want, DType::kF16), VerdictWord::kPass);  // stored() rounds
  std::vector<double> got = want;
  for (std::int64_t i = 0; i < kWidth; ++i) got[static_cast<std::size_t>(i)] += 0x1p-23;
  EXPECT_EQ(judged(got, want, DType::kF16), VerdictWord::kFail);
  for (std::int64_t i = 0; i < kWidth; ++i) got[static_cast<std::size_t>(i)] = 0.0;
  EXPECT_EQ(judged(got, want, DType::kBf16), VerdictWord::kFail);
}

TEST(Judge, SaysWhereAndByHowMuch) {
  std::vector<double> got = expected_values();
  got[70] = kNan;
  const OutputVerdict verdict =
      judge_output(stored(got, DType::kF32), expected_values(), attention_tolerance(DType::kF32, 1));
  EXPECT_EQ(verdict.reason.substr(0, 22), "out[1,6] is nan, expec");
}

TEST(Judge, NanAndInfinityAreExpectedWhereTheReferenceHasThem) {
  std::vector<double> want = expected_values();
  want[3] = kNan;
  want[4] = -kInf;
  EXPECT_EQ(judged(want, want), VerdictWord::kPass);
  for (const auto& [place, value] :
       {std::pair(3, 0.0), {3, kInf}, {4, kInf}, {4, kNan}, {4, -1e30}, {5, kNan}, {5, -kInf}}) {
    std::vector<double> got = want;
    got[static_cast<std::size_t>(place)] = value;
    EXPECT_EQ(judged(got, want), VerdictWord::kFail) << place << ' ' << value;
  }
}

TEST(Judge, EqualityThatCannotTellIsMistrusted) {
  const std::vector<double> zeros(kRows * kWidth, 0.0);
  EXPECT_EQ(judged(zeros, zeros), VerdictWord::kMistrusted);
  std::vector<double> same_rows = expected_values();
  for (std::int64_t r = 1; r < kRows; ++r) std::copy_n(same_rows.begin(), kWidth, same_rows.begin() + r * kWidth);
  EXPECT_EQ(judged(same_rows, same_rows), VerdictWord::kMistrusted);
  Tensor pairs("out", DType::kF32, {3, 2});
  for (std::int64_t i = 0; i < 6; ++i) pairs.set(i, i % 2 == 0 ? 1.0 : 2.0);
  EXPECT_EQ(judge_output(pairs, pairs.to_doubles(), attention_tolerance(DType::kF32, 1)).word,
            VerdictWord::kMistrusted);
  pairs.shape = {2, 3};  // two rows are enough to be swapped; rows of one value may well be equal
  for (std::int64_t i = 0; i < 6; ++i) pairs.set(i, static_cast<double>(i % 3));
  EXPECT_EQ(judge_output(pairs, pairs.to_doubles(), exact_tolerance()).word, VerdictWord::kMistrusted);
  pairs.shape = {6, 1};
  for (std::int64_t i = 0; i < 6; ++i) pairs.set(i, 1.0);
  EXPECT_EQ(judge_output(pairs, pairs.to_doubles(), exact_tolerance()).word, VerdictWord::kPass);
}

// One visible key makes every row of the output its value; the log-sum-exps say whether rows were swapped.
TEST(Verdict, SameRowsAreTrustedWhereAnotherOutputTellsThemApart) {
  std::vector<double> same_rows = expected_values();
  for (std::int64_t r = 1; r < kRows; ++r) std::copy_n(same_rows.begin(), kWidth, same_rows.begin() + r * kWidth);
  const auto word_with = [&](const std::vector<double>& lse) {
    const auto count = static_cast<std::int64_t>(lse.size());
    Tensor sums("lse", DType::kF32, {1, count});
    for (std::int64_t i = 0; i < count; ++i) sums.set(i, lse[static_cast<std::size_t>(i)]);
    return judge({stored(same_rows, DType::kF32), sums}, {{"out", same_rows}, {"lse", lse}},
                 {attention_tolerance(DType::kF32, 1), lse_tolerance(1.0)}, {})
        .word;
  };
  std::vector<double> lse;
  for (std::int64_t i = 0; i < kRows; ++i) lse.push_back(static_cast<double>(i));
  EXPECT_EQ(word_with(lse), VerdictWord::kPass);
  lse.push_back(-1.0);  // no longer one a row
  EXPECT_EQ(word_with(lse), VerdictWord::kMistrusted);
  lse.pop_back();
  lse[1] = lse[2];
  EXPECT_EQ(word_with(lse), VerdictWord::kMistrusted);
}

TEST(Judge, ARowThatCancelsIsMeasuredByWhatItIsTheSumOf) {
  std::vector<double> want = expected_values();
  for (std::int64_t i = 0; i < kWidth; ++i) want[static_cast<std::size_t>(i)] *= 1e-3;
  std::vector<double> got = want;
  double square = 0.0;
  for (std::int64_t i = 0; i < kWidth; ++i)
    square += want[static_cast<std::size_t>(i)] * want[static_cast<std::size_t>(i)];
  const double size = std::sqrt(square);
  for (std::int64_t i = 0; i < kWidth; ++i) got[static_cast<std::size_t>(i)] *= 1.0 + 1e-3;
  std::int64_t only = -1;  // row that has the size, the others have none
  const auto word = [&](double usual) {
    std::vector<double> sizes(kRows, only < 0 ? usual : 0.0);
    if (only >= 0) sizes[static_cast<std::size_t>(only)] = usual;
    return judge({stored(got, DType::kF32)}, {{"out", want}, {row_sizes_of("out"), sizes}},
                 {attention_tolerance(DType::kF32, 1)}, {})
        .word;
  };
  EXPECT_EQ(word(0.0), VerdictWord::kFail);
  EXPECT_EQ(word(size), VerdictWord::kFail);
  const double enough = 1e-3 * size / attention_tolerance(DType::kF32, 1).rel_rms;
  EXPECT_EQ(word(0.9 * enough), VerdictWord::kFail);
  EXPECT_EQ(word(1.1 * enough), VerdictWord::kPass);
  for (const std::int64_t row : {0, 1, 2}) {  // each has its own
    only = row;
    EXPECT_EQ(word(1.1 * enough), row == 0 ? VerdictWord::kPass : VerdictWord::kFail) << row;
  }
  only = -1;
  // Of a row that is as large as what it is the sum of, either is the measure, not both.
  const double limit = attention_tolerance(DType::kF32, 1).rel_rms;
  for (std::size_t i = 0; i < kWidth; ++i) got[i] = want[i] * (1.0 + 1.2 * limit);
  EXPECT_EQ(word(size), VerdictWord::kFail);
  for (std::size_t i = 0; i < kWidth; ++i) got[i] = want[i] * (1.0 + 0.8 * limit);
  EXPECT_EQ(word(size), VerdictWord::kPass);
}

TEST(Judge, LogSumExpFollowsFlashMlasRule) {
  const std::vector<double> want(kRows, 8.0);
  const auto word = [&](double got) {
    Tensor lse("lse", DType::kF32, {kRows});
    for (std::int64_t i = 0; i < kRows; ++i) lse.set(i, i == 2 ? got : 8.0);
    return judge_output(lse, want, lse_tolerance(1.0)).word;
  };
  EXPECT_EQ(word(8.0 + 8.0 * 1.2e-4), VerdictWord::kPass);
  EXPECT_EQ(word(8.0 + 8.0 * 1.3e-4), VerdictWord::kFail);
  EXPECT_EQ(word(-kInf), VerdictWord::kFail);
}

TEST(Judge, ExactMeansExact) {
  std::vector<double> got = expected_values();
  const std::vector<double> want = stored(got, DType::kF32).to_doubles();
  EXPECT_EQ(judge_output(stored(want, DType::kF32), want, exact_tolerance()).word, VerdictWord::kPass);
  for (const std::size_t place : {std::size_t{0}, std::size_t{9}, got.size() - 1}) {
    got = want;
    got[place] += 1e-6;
    EXPECT_EQ(judge_output(stored(got, DType::kF32), want, exact_tolerance()).word, VerdictWord::kFail) << place;
  }
}

TEST(Judge, AValueMayBeOffByTheLargerOfBothLimitsAndNotByTheirSum) {
  const std::vector<double> want{10.0, 10.0};
  const auto word = [&](double got) {
    Tensor values("lse", DType::kF32, {2});
    values.set(0, 10.0);
    values.set(1, got);
    return judge_output(values, want, {.abs = 1.0, .rel = 0.1}).word;
  };
  EXPECT_EQ(word(10.9), VerdictWord::kPass);
  EXPECT_EQ(word(11.5), VerdictWord::kFail);
}

// Half of what a row may be off, and less the more rows there are.
TEST(Judge, OfFewRowsTheMeanMayBeOffByMore) {
  const Tolerance limit{.rel_rms = 0.02, .bias = 0.002};
  const auto word = [&](std::int64_t rows, double off) {
    Tensor got("out", DType::kF32, {rows, 8});
    std::vector<double> want;
    for (std::int64_t i = 0; i < got.count(); ++i) {
      want.push_back(1.0 + static_cast<double>(i));
      got.set(i, want.back() * (1.0 + off));
    }
    return judge_output(got, want, limit).word;
  };
  for (const auto& [rows, allowed] : {std::pair(1, 0.012), {4, 0.007}, {16, 0.0045}}) {
    EXPECT_EQ(word(rows, 0.9 * allowed), VerdictWord::kPass) << rows;
    EXPECT_EQ(word(rows, 1.1 * allowed), VerdictWord::kFail) << rows;
  }
}

// Below 0 it is not judged; 0 allows what few rows may be off and no more.
TEST(Judge, AMeanThatMayNotBeOffIsJudged) {
  Tensor got("out", DType::kF32, {16, 8});
  std::vector<double> want;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    want.push_back(1.0 + static_cast<double>(i));
    got.set(i, want.back() * 1.004);
  }
  EXPECT_EQ(judge_output(got, want, {.rel_rms = 0.02, .bias = 0.0}).word, VerdictWord::kFail);
  EXPECT_EQ(judge_output(got, want, {.rel_rms = 0.02, .bias = -1.0}).word, VerdictWord::kPass);
}

TEST(Judge, ANumberThatIsNoneLeavesTheLargestDifferenceOfTheOthers) {
  Tensor got("out", DType::kF32, {4});
  for (const auto& [i, value] : {std::pair(0, 1.0), {1, kNan}, {2, 1.5}, {3, kInf}}) got.set(i, value);
  const OutputVerdict verdict = judge_output(got, std::vector<double>(4, 1.0), {.abs = 1.0});
  EXPECT_EQ(verdict.word, VerdictWord::kFail);
  EXPECT_EQ(verdict.max_abs, 0.5);
  EXPECT_EQ(verdict.worst, 2);
}

// Whichever of a kernel's outputs it is that fails, and by its own limit.
TEST(Verdict, EveryOutputIsJudgedByItsOwnLimit) {
  Tensor first("out", DType::kF32, {2});
  Tensor second("lse", DType::kF32, {2});
  for (Tensor* values : {&first, &second}) {
    for (std::int64_t i = 0; i < 2; ++i) values->set(i, 1.0 + static_cast<double>(i));
  }
  const Tolerance loose{.abs = 1.0};
  const auto judged_by = [&](const Tolerance& one, const Tolerance& other, double first_off, double second_off) {
    return judge({first, second}, {{"out", {1.0, 2.0 + first_off}}, {"lse", {1.0, 2.0 + second_off}}}, {one, other},
                 {});
  };
  EXPECT_EQ(judged_by(exact_tolerance(), loose, 0.0, 0.5).word, VerdictWord::kPass);
  EXPECT_EQ(judged_by(loose, exact_tolerance(), 0.5, 0.0).word, VerdictWord::kPass);
  EXPECT_EQ(judged_by(exact_tolerance(), loose, 0.5, 0.0).reason, "out[1] is 2, expected 2.5: off by 0.5");
  EXPECT_EQ(judged_by(loose, exact_tolerance(), 0.0, 0.5).reason, "lse[1] is 2, expected 2.5: off by 0.5");
}

TEST(Verdict, BrokenCanariesFailWhateverTheNumbers) {
  const std::vector<double> want = expected_values();
  const Tensor out = stored(want, DType::kF32);
  const std::vector<Tolerance> limits{attention_tolerance(DType::kF32, 1)};
  EXPECT_EQ(judge({out}, {{"out", want}}, limits, {}).word, VerdictWord::kPass);
  EXPECT_EQ(judge({out}, {{"out", want}}, limits, {"workspace"}).word, VerdictWord::kFail);
  EXPECT_EQ(judge({out}, {{"out", want}}, limits, {}, {"q"}).word, VerdictWord::kFail);
  EXPECT_EQ(judge({out}, {{"out", want}}, limits, {}, {"q"}).reason, "wrote to q, which it is given to read");
  EXPECT_EQ(judge({out}, {{"out", want}}, limits, {"workspace"}, {"q"}).reason,
            "wrote outside the buffer of workspace");
  EXPECT_EQ(judge({out}, {{"lse", want}}, limits, {}).word, VerdictWord::kError);
  EXPECT_EQ(judge({}, {}, {}, {}).word, VerdictWord::kMistrusted);
}

TEST(Tolerance, TwiceTheLimitFailsAndHalfPasses) {
  for (const DType type : {DType::kF16, DType::kF32}) {
    const Tolerance limit = attention_tolerance(type, 10.0);
    const std::vector<double> want = stored(expected_values(), type).to_doubles();
    for (const double factor : {0.5, 2.0}) {
      std::vector<double> got = want;
      for (std::size_t i = 0; i < got.size(); ++i) got[i] *= 1.0 + (i % 2 == 0 ? 1 : -1) * factor * limit.rel_rms;
      // Kept in doubles by way of fp32, so that storage adds nothing of its own.
      const auto word = judge_output(stored(got, DType::kF32), want, limit).word;
      EXPECT_EQ(word, factor < 1 ? VerdictWord::kPass : VerdictWord::kFail) << name_of(type) << " x" << factor;
    }
  }
}

// The numbers of src/verdict/tolerance.cpp once more, from their derivation: a limit that is loosened must be derived
// anew.
TEST(Tolerance, IsWhatItsDerivationSays) {
  constexpr double kFp32Rounding = 5.9604644775390625e-8;  // 2^-24
  EXPECT_NEAR(attention_tolerance(DType::kBf16, 10.0).rel_rms, 4e-3 + 160.0 * kFp32Rounding, 1e-12);
  EXPECT_NEAR(attention_tolerance(DType::kF16, 10.0).rel_rms, 6e-4 + 160.0 * kFp32Rounding, 1e-12);
  EXPECT_NEAR(attention_tolerance(DType::kF32, 10.0).rel_rms, 1e-5 + 160.0 * kFp32Rounding, 1e-12);
  EXPECT_EQ(attention_tolerance(DType::kF32, 10.0).cosine, 5e-6);
  EXPECT_NEAR(attention_tolerance(DType::kBf16, 10.0).bias, 4e-3 / 10.0 + 160.0 * kFp32Rounding, 1e-12);
  EXPECT_NEAR(delta_tolerance(DType::kF16, 64).bias, 6e-5 + 256.0 * kFp32Rounding, 1e-12);
  EXPECT_LT(attention_tolerance(DType::kF32, 10.0).bias, 0.0);
  EXPECT_NEAR(few_products_tolerance(DType::kF16, 100.0).abs, 3200.0 * kFp32Rounding, 1e-12);
  EXPECT_NEAR(few_products_tolerance(DType::kF16, 100.0).rel, 6.6e-4, 1e-12);
  EXPECT_EQ(few_products_tolerance(DType::kF16, 100.0).rel_rms, attention_tolerance(DType::kF16, 8.0).rel_rms);
  EXPECT_NEAR(lse_tolerance(100.0).abs, 1e-6 + 1600.0 * kFp32Rounding, 1e-12);
  EXPECT_NEAR(lse_tolerance(100.0).rel, 1.2222290039e-4, 1e-12);
  EXPECT_NEAR(delta_tolerance(DType::kBf16, 1).rel_rms, 4e-3 + 32.0 * kFp32Rounding, 1e-12);
  EXPECT_NEAR(delta_tolerance(DType::kF32, 64).rel_rms, 1e-5 + 256.0 * kFp32Rounding, 1e-12);
  EXPECT_EQ(delta_tolerance(DType::kF32, 0).rel_rms, delta_tolerance(DType::kF32, 1).rel_rms);
  EXPECT_EQ(delta_tolerance(DType::kF32, 64).cosine, 5e-6);
  EXPECT_NEAR(delta_part_tolerance(64).abs, 1e-5 + 256.0 * kFp32Rounding, 1e-12);
  EXPECT_EQ(delta_part_tolerance(64).rel, delta_part_tolerance(64).abs);
  EXPECT_EQ(exact_tolerance().abs, 0.0);
  EXPECT_EQ(exact_tolerance().rel, 0.0);
}

// A row of a convolution has thousands of channels: what is wrong with one of them is little beside all.
TEST(Judge, OneValueOfAWideRowIsJudgedWhereEachIsAFewProducts) {
  constexpr std::int64_t kChannels = 8192;
  std::vector<double> want(kChannels);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = std::sin(static_cast<double>(i)) + 1.5;
  const Tolerance limit = few_products_tolerance(DType::kBf16, 8.0);
  const auto word_of = [&](double factor, double more) {
    std::vector<double> got = want;
    got.back() = got.back() * factor + more;
    Tensor y("y", DType::kBf16, {1, kChannels});
    for (std::int64_t i = 0; i < kChannels; ++i) y.set(i, got[static_cast<std::size_t>(i)]);
    EXPECT_LT(judge_output(y, want, attention_tolerance(DType::kBf16, 8.0)).rel_rms, 4e-3);
    return judge_output(y, want, limit).word;
  };
  EXPECT_EQ(word_of(1.0, 0.0), VerdictWord::kPass);
  EXPECT_EQ(word_of(1.01, 0.0), VerdictWord::kFail);
  EXPECT_EQ(word_of(0.9, 0.0), VerdictWord::kFail);
  // Where products cancel, what is left of them may be off by more than a rounding of itself.
  want.back() = 1e-6;
  EXPECT_EQ(word_of(1.0, 1e-5), VerdictWord::kPass);
  EXPECT_EQ(word_of(1.0, 3e-5), VerdictWord::kFail);
}

// An error below the limit of the size may still be too much for the direction: of all that bf16 allows, noise is less.
TEST(Judge, ADirectionThatIsOffFailsWhereTheSizeOfTheErrorWouldPass) {
  const std::vector<double> want = stored(expected_values(), DType::kF32).to_doubles();
  const auto word_of = [&](double factor) {
    std::vector<double> got = want;
    for (std::size_t i = 0; i < got.size(); ++i) got[i] *= 1.0 + (i % 2 == 0 ? factor : -factor);
    const Tolerance limit = attention_tolerance(DType::kBf16, 1.0);
    const OutputVerdict verdict = judge_output(stored(got, DType::kF32), want, limit);
    EXPECT_LT(verdict.rel_rms, limit.rel_rms);
    return std::pair(verdict.word, verdict.reason.find("points elsewhere") != std::string::npos);
  };
  EXPECT_EQ(word_of(3.8e-3), std::pair(VerdictWord::kFail, true));
  EXPECT_EQ(word_of(2.4e-3), std::pair(VerdictWord::kPass, false));
}

// Rounding to the nearest is as often up as down. What is cut off stays below the limit of every row, and is seen in
// all.
TEST(Judge, NumbersThatAreCutOffWhereTheyShouldBeRoundedFail) {
  for (const DType type : {DType::kBf16, DType::kF16}) {
    Tensor got("out", type, {32, 128});
    std::vector<double> want;
    for (std::int64_t i = 0; i < got.count(); ++i) {
      want.push_back(std::sin(static_cast<double>(i + 1)) * (1.0 + static_cast<double>(i % 7)));
      got.set(i, want.back());
      // To the neighbour that is nearer to zero, where it was rounded away from it.
      const int mantissa = type == DType::kBf16 ? 7 : 10;
      const double step = std::ldexp(1.0, std::ilogb(want.back()) - mantissa);
      if (std::fabs(got.get(i)) > std::fabs(want.back())) got.set(i, got.get(i) - std::copysign(step, want.back()));
    }
    Tolerance limit = attention_tolerance(type, 0.0);
    EXPECT_EQ(judge_output(got, want, limit).reason.find("out is too small by"), 0U);
    limit.bias = -1.0;
    EXPECT_EQ(judge_output(got, want, limit).word, VerdictWord::kPass) << "nothing else sees it";
  }
}

// Down: numbers above zero are too small, those below too large, and in the mean over both they are neither.
TEST(Judge, NumbersThatAreRoundedDownOrUpFail) {
  for (const DType type : {DType::kBf16, DType::kF16}) {
    for (const double way : {-1.0, 1.0}) {
      Tensor got("out", type, {32, 128});
      std::vector<double> want;
      for (std::int64_t i = 0; i < got.count(); ++i) {
        want.push_back(std::sin(static_cast<double>(i + 1)) * (1.0 + static_cast<double>(i % 7)));
        got.set(i, want.back());
        const double step = std::ldexp(1.0, std::ilogb(want.back()) - (type == DType::kBf16 ? 7 : 10));
        if (way * (got.get(i) - want.back()) < 0.0) got.set(i, got.get(i) + way * step);
      }
      Tolerance limit = attention_tolerance(type, 0.0);
      limit.cosine = -1.0;  // which sees it by a hair, if at all
      const OutputVerdict verdict = judge_output(got, want, limit);
      EXPECT_EQ(verdict.reason.find(way < 0.0 ? "out is too low by" : "out is too high by"), 0U) << verdict.reason;
      EXPECT_GT(verdict.times_allowed, 1.2);
      limit.bias = -1.0;
      EXPECT_EQ(judge_output(got, want, limit).word, VerdictWord::kPass) << "no row sees it";
    }
  }
}

TEST(Judge, NothingButZerosCannotTellEvenWhereThereIsOneRow) {
  const std::vector<double> zeros(kWidth, 0.0);
  Tensor got("out", DType::kF32, {1, kWidth});
  for (std::int64_t i = 0; i < kWidth; ++i) got.set(i, 0.0);
  const OutputVerdict verdict = judge_output(got, zeros, attention_tolerance(DType::kF32, 1.0));
  EXPECT_EQ(verdict.word, VerdictWord::kMistrusted);
  EXPECT_EQ(verdict.reason, "the expected values are all zero or not finite");
  std::vector<double> empty(kWidth, -kInf);
  empty[5] = 0.0;
  for (std::int64_t i = 0; i < kWidth; ++i) got.set(i, empty[static_cast<std::size_t>(i)]);
  EXPECT_EQ(judge_output(got, empty, attention_tolerance(DType::kF32, 1.0)).word, VerdictWord::kMistrusted);
}

// A mistake that is run on purpose is refused, or the gate does not work; a device that fails shows neither.
TEST(Verdict, OfAKnownMistakeOnlyARefusalPasses) {
  const auto word_of = [](VerdictWord word) { return refused_by_design({word, "why", {}}).word; };
  EXPECT_EQ(word_of(VerdictWord::kFail), VerdictWord::kPass);
  EXPECT_EQ(word_of(VerdictWord::kPass), VerdictWord::kFail);
  EXPECT_EQ(word_of(VerdictWord::kMistrusted), VerdictWord::kFail);
  EXPECT_EQ(word_of(VerdictWord::kError), VerdictWord::kError);
  EXPECT_EQ(word_of(VerdictWord::kSkipped), VerdictWord::kSkipped);
  EXPECT_EQ(refused_by_design({VerdictWord::kPass, "", {}}).reason, "a known mistake was not noticed");
}

TEST(KernelReport, HasTheVerdictsOfItsCases) {
  KernelReport report;
  EXPECT_FALSE(report.has(VerdictWord::kPass));
  report.cases.push_back({.verdict = {VerdictWord::kPass, "", {}}});
  EXPECT_TRUE(report.has(VerdictWord::kPass));
  EXPECT_FALSE(report.has(VerdictWord::kFail));
  report.cases.push_back({.verdict = {VerdictWord::kFail, "", {}}});
  EXPECT_TRUE(report.has(VerdictWord::kPass));
  EXPECT_TRUE(report.has(VerdictWord::kFail));
}

TEST(KernelReport, TheWorstOfNothingIsNotAPass) {
  KernelReport report;
  EXPECT_EQ(report.worst(), VerdictWord::kSkipped);
  const auto with = [&](VerdictWord word) {
    report.cases.push_back({.verdict = {word, "", {}}});
    return report.worst();
  };
  EXPECT_EQ(with(VerdictWord::kPass), VerdictWord::kPass);
  EXPECT_EQ(with(VerdictWord::kMistrusted), VerdictWord::kMistrusted);
  EXPECT_EQ(with(VerdictWord::kSkipped), VerdictWord::kSkipped);
  EXPECT_EQ(with(VerdictWord::kFail), VerdictWord::kFail);
  EXPECT_EQ(with(VerdictWord::kPass), VerdictWord::kFail);
  report = {.error = DeviceError{DeviceErrorKind::kDeviceLost, "gone", {}}};
  EXPECT_EQ(report.worst(), VerdictWord::kError);
  report.error->kind = DeviceErrorKind::kNoPlatform;
  EXPECT_EQ(report.worst(), VerdictWord::kSkipped);
}

}  // namespace
}  // namespace preflight
