// The judge: metrics of one output, and the verdict over all. Tested by tests/verdict_test.cpp, by sabotage too.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "preflight/reference.h"
#include "preflight/row_sizes.h"
#include "preflight/verdict.h"

namespace preflight {
namespace {

// Same kind of non-number: both NaN, or the same infinity.
bool same_pattern(double got, double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return true;
}

// Below this an fp32 kernel cannot tell a value from 0: a weight under the smallest normal 2^-126 is flushed, and up to
// 2^20 of them on values up to 2^10 still stay below 2^-96. Two such values are equal (a sink far above the only
// score).
constexpr double kVanishing = 0x1p-96;

// What rounding to the type may take from a number near 0: half of the step between its smallest numbers.
double rounding_near_zero(DType type) { return type == DType::kF16 ? 0x1p-25 : 0.0; }

double without_sign_of_nan(double value) { return std::isnan(value) ? std::fabs(value) : value; }

struct Sums {
  double rounding = 0.0;  // of a difference, only what is beyond this counts
  double difference = 0.0;
  double got = 0.0;
  double want = 0.0;
  double product = 0.0;
  double outwards = 0.0;  // differences, those away from zero less those towards it
  double upwards = 0.0;   // differences as they are
  double magnitude = 0.0;

  void add(double g, double w) {
    if (std::fabs(g) < kVanishing && std::fabs(w) < kVanishing) return;
    const double beyond = std::max(0.0, std::fabs(g - w) - rounding);
    difference += beyond * beyond;
    got += g * g;
    want += w * w;
    product += g * w;
    outwards += w < 0.0 ? w - g : g - w;
    upwards += g - w;
    magnitude += std::fabs(w);
  }
  // Relative to what is expected, or to a larger size that errors come from.
  [[nodiscard]] double rel_rms(double size = 0.0) const {
    if (difference == 0.0) return 0.0;
    const double square = std::max(want, size * size);
    return square == 0.0 ? std::numeric_limits<double>::infinity() : std::sqrt(difference / square);
  }
  [[nodiscard]] double bias() const { return magnitude == 0.0 ? 0.0 : outwards / magnitude; }
  [[nodiscard]] double lift() const { return magnitude == 0.0 ? 0.0 : upwards / magnitude; }
  [[nodiscard]] double cosine_distance() const {
    if (difference == 0.0) return 0.0;
    if (got == 0.0 || want == 0.0) return 1.0;
    return std::max(0.0, 1.0 - product / std::sqrt(got * want));
  }
};

// Half of a row's own limit for one row, and less the more there are: what they have of their own cancels.
double bias_allowed(const Tolerance& limit, std::int64_t rows) {
  return limit.bias + limit.rel_rms / 2.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, rows)));
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double in_times_of(double limit, double measured) {
  if (measured == 0.0) return 0.0;
  return limit == 0.0 ? kInfinite : measured / limit;
}

std::string position(const Tensor& tensor, std::int64_t index) {
  std::string text;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    text = fmt::format("{}{}{}", index % tensor.shape[i], text.empty() ? "" : ",", text);
    index /= tensor.shape[i];
  }
  return text;
}

constexpr std::string_view kSameRows = "every row is expected to be the same, so that swapped rows would not show";

// Why equality would mean little, or "": nothing but zeros, or rows that cannot be told apart.
std::string_view blindness(const std::vector<double>& want, std::int64_t width) {
  const auto is_dull = [](double w) { return w == 0.0 || !std::isfinite(w); };
  if (std::ranges::all_of(want, is_dull)) return "the expected values are all zero or not finite";
  const std::int64_t rows = static_cast<std::int64_t>(want.size()) / width;
  if (rows < 2 || width < 2) return {};
  for (std::int64_t r = 1; r < rows; ++r) {
    if (!std::equal(want.begin(), want.begin() + width, want.begin() + r * width)) return {};
  }
  return kSameRows;
}

// A single visible key decides every row alike, and no input could change that; but the rows' log-sum-exps differ, and
// a row that was swapped shows there. True when an output of one value a row tells all rows apart.
bool another_tells_rows_apart(const std::vector<Tensor>& got, const std::vector<Expected>& want, const Tensor& blind) {
  const std::int64_t rows = blind.count() / blind.shape.back();
  return std::ranges::any_of(got, [&](const Tensor& other) {
    const auto expected = std::ranges::find(want, other.name, &Expected::name);
    if (other.count() != rows || expected == want.end()) return false;
    std::vector<double> values = expected->values;
    if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) return false;
    std::ranges::sort(values);
    return std::ranges::adjacent_find(values) == values.end();
  });
}

// One output against its reference: value by value, row by row, and as a whole.
class OutputJudge {
 public:
  OutputJudge(const Tensor& got, const std::vector<double>& want, const Tolerance& limit)
      : got_(got),
        want_(want),
        limit_(limit),
        width_(got.shape.empty() ? 1 : got.shape.back()),
        rounding_(rounding_near_zero(got.dtype)),
        verdict_{.name = got.name, .limit = limit} {}

  // row_sizes may be empty.
  OutputVerdict judge(const std::vector<double>& row_sizes) {
    if (got_.count() != static_cast<std::int64_t>(want_.size())) {
      fail(fmt::format("{} has {} values, {} are expected", got_.name, got_.count(), want_.size()));
      verdict_.times_allowed = kInfinite;
      return verdict_;
    }
    Sums row{.rounding = rounding_};
    for (std::int64_t i = 0; i < got_.count(); ++i) {
      judge_value(i, row);
      if ((i + 1) % width_ != 0) continue;
      judge_row(i - width_ + 1, row.rel_rms(row_sizes.empty() ? 0.0 : row_sizes[static_cast<std::size_t>(i / width_)]));
      row = {.rounding = rounding_};
    }
    judge_whole();
    if (verdict_.word == VerdictWord::kPass) {
      verdict_.reason = blindness(want_, width_);
      if (!verdict_.reason.empty()) verdict_.word = VerdictWord::kMistrusted;
    }
    return verdict_;
  }

 private:
  // The first reason stands.
  void fail(std::string reason) {
    if (verdict_.word == VerdictWord::kFail) return;
    verdict_.word = VerdictWord::kFail;
    verdict_.reason = std::move(reason);
  }

  // Whether it is more than what is allowed; a negative limit is not judged.
  bool exceeds(double measured, double allowed) {
    if (allowed < 0.0) return false;
    verdict_.times_allowed = std::max(verdict_.times_allowed, in_times_of(allowed, measured));
    return measured > allowed;
  }

  void judge_value(std::int64_t i, Sums& row) {
    const double g = got_.get(i);
    const double w = want_[static_cast<std::size_t>(i)];
    if (!same_pattern(g, w)) {
      fail(fmt::format("{}[{}] is {}, expected {}", got_.name, position(got_, i), without_sign_of_nan(g),
                       without_sign_of_nan(w)));
      verdict_.times_allowed = kInfinite;
    }
    if (!std::isfinite(g) || !std::isfinite(w)) return;
    const double difference = std::fabs(g - w);
    if (difference > verdict_.max_abs || verdict_.worst < 0) {
      verdict_.max_abs = difference;
      verdict_.worst = i;
    }
    const double allowed = limit_.abs < 0.0 ? limit_.abs : std::max(limit_.abs, limit_.rel * std::fabs(w));
    if (exceeds(difference, allowed) && difference > worst_outside_) {
      worst_outside_ = difference;
      outside_ = i;
    }
    whole_.add(g, w);
    row.add(g, w);
  }

  void judge_row(std::int64_t first, double error) {
    if (exceeds(error, limit_.rel_rms) && error > verdict_.rel_rms) {
      fail(fmt::format("{}[{}] row is off by {:.3g} of its size, {:.3g} is allowed", got_.name, position(got_, first),
                       error, limit_.rel_rms));
    }
    verdict_.rel_rms = std::max(verdict_.rel_rms, error);
  }

  void judge_whole() {
    if (outside_ >= 0) {
      fail(fmt::format("{}[{}] is {}, expected {}: off by {:.3g}", got_.name, position(got_, outside_),
                       got_.get(outside_), want_[static_cast<std::size_t>(outside_)], worst_outside_));
    }
    verdict_.cosine = whole_.cosine_distance();
    verdict_.bias = whole_.bias();
    if (exceeds(whole_.rel_rms(), limit_.rel_rms)) {
      fail(fmt::format("{} is off by {:.3g} of its size, {:.3g} is allowed", got_.name, whole_.rel_rms(),
                       limit_.rel_rms));
    }
    // The root, because 1 - cosine grows with the square of what is off.
    const double cosine_allowed = limit_.cosine < 0.0 ? limit_.cosine : std::sqrt(limit_.cosine);
    if (exceeds(std::sqrt(verdict_.cosine), cosine_allowed)) {
      fail(fmt::format("{} points elsewhere: 1 - cosine is {:.3g}, {:.3g} is allowed", got_.name, verdict_.cosine,
                       limit_.cosine));
    }
    judge_mean(verdict_.bias, "small", "large");
    judge_mean(whole_.lift(), "low", "high");
  }

  // All values off the same way: no row's own limit shows it.
  void judge_mean(double off, std::string_view below, std::string_view above) {
    const double allowed = bias_allowed(limit_, width_ == 0 ? 0 : got_.count() / width_);
    if (limit_.bias < 0.0 || !exceeds(std::fabs(off), allowed)) return;
    fail(fmt::format("{} is too {} by {:.3g} of its size in the mean, {:.3g} is allowed", got_.name,
                     off < 0.0 ? below : above, std::fabs(off), allowed));
  }

  const Tensor& got_;
  const std::vector<double>& want_;
  const Tolerance& limit_;
  std::int64_t width_;
  double rounding_;
  OutputVerdict verdict_;
  Sums whole_{.rounding = rounding_};
  double worst_outside_ = 0.0;
  std::int64_t outside_ = -1;
};

}  // namespace

std::string_view name_of(VerdictWord word) {
  switch (word) {
    case VerdictWord::kPass:
      return "pass";
    case VerdictWord::kMistrusted:
      return "mistrusted";
    case VerdictWord::kSkipped:
      return "skipped";
    case VerdictWord::kFail:
      return "fail";
    case VerdictWord::kError:
      break;
  }
  return "error";
}

namespace {

// Where a kernel wrote what it may not; the first reason stands.
void judge_writes(const std::vector<std::string>& buffers, fmt::format_string<std::string> words, Verdict& verdict) {
  if (buffers.empty() || verdict.word == VerdictWord::kFail) return;
  verdict.word = VerdictWord::kFail;
  verdict.reason = fmt::format(words, fmt::format("{}", fmt::join(buffers, ", ")));
  verdict.times_allowed = kInfinite;
}

}  // namespace

Verdict judge(const std::vector<Tensor>& got, const std::vector<Expected>& want, const std::vector<Tolerance>& limits,
              const std::vector<std::string>& broken_canaries, const std::vector<std::string>& changed_inputs) {
  Verdict verdict{.word = VerdictWord::kPass};
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto expected = std::ranges::find(want, got[i].name, &Expected::name);
    if (expected == want.end()) {
      return {VerdictWord::kError, fmt::format("the reference gives no {}", got[i].name), {}};
    }
    const auto sizes = std::ranges::find(want, row_sizes_of(got[i].name), &Expected::name);
    OutputVerdict output = OutputJudge(got[i], expected->values, limits[i])
                               .judge(sizes == want.end() ? std::vector<double>{} : sizes->values);
    if (output.reason == kSameRows && another_tells_rows_apart(got, want, got[i])) {
      output.word = VerdictWord::kPass;
      output.reason.clear();
    }
    verdict.outputs.push_back(std::move(output));
  }
  judge_writes(broken_canaries, "wrote outside the buffer of {}", verdict);
  judge_writes(changed_inputs, "wrote to {}, which it is given to read", verdict);
  for (const OutputVerdict& output : verdict.outputs) {
    verdict.times_allowed = std::max(verdict.times_allowed, output.times_allowed);
    if (output.word == VerdictWord::kFail && verdict.word != VerdictWord::kFail) {
      verdict.word = VerdictWord::kFail;
      verdict.reason = output.reason;
    }
  }
  if (verdict.word != VerdictWord::kPass) return verdict;
  for (const OutputVerdict& output : verdict.outputs) {
    if (output.word != VerdictWord::kMistrusted) continue;
    verdict.word = VerdictWord::kMistrusted;
    verdict.reason = fmt::format("{}: {}", output.name, output.reason);
  }
  if (verdict.outputs.empty()) {
    verdict.word = VerdictWord::kMistrusted;
    verdict.reason = "the kernel has no output";
  }
  return verdict;
}

Verdict refused_by_design(const Verdict& verdict) {
  if (verdict.word == VerdictWord::kFail) return {.word = VerdictWord::kPass, .reason = {}, .outputs = verdict.outputs};
  if (verdict.word == VerdictWord::kPass || verdict.word == VerdictWord::kMistrusted) {
    return {VerdictWord::kFail, "a known mistake was not noticed", verdict.outputs};
  }
  return verdict;
}

}  // namespace preflight
