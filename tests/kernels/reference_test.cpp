// The references against second formulations: split and merge, unabsorbed latent attention, online softmax, plain MHA.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "preflight/kernel.h"
#include "preflight/reference.h"
#include "preflight/row_sizes.h"
#include "preflight/sizing.h"
#include "src/reference/gated_delta.h"
#include "src/reference/paged.h"
#include "src/sample/page_pool.h"
#include "src/sample/random.h"
#include "src/sample/samples.h"

namespace preflight {
namespace {

SampleBatch batch_of(std::string_view line) {
  const auto kernel_case = parse_case(line);
  EXPECT_TRUE(kernel_case.has_value()) << kernel_case.error().text();
  auto batch = find_kernel(kernel_case->kernel)->sample(*kernel_case);
  EXPECT_TRUE(batch.has_value()) << batch.error().text();
  return std::move(*batch);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << i;
    } else {
      ASSERT_NEAR(got[i], want[i], tolerance) << i;
    }
  }
}

// Pages [first, last) of one split of a sequence; trailing splits may be empty.
std::pair<std::int64_t, std::int64_t> pages_of_split(const KernelCase& c, std::int64_t seqlen, std::int64_t split) {
  const std::int64_t pages = sizing::ceil_div(seqlen, c.page_size);
  const std::int64_t each = sizing::ceil_div(pages, c.kv_splits);
  return {std::min(pages, split * each), std::min(pages, (split + 1) * each)};
}

// Softmax in one pass, split after split, merged by their maxima and sums: nothing in common with the two-pass form.
class OnlineRow {
 public:
  explicit OnlineRow(std::int64_t width) : sum_(static_cast<std::size_t>(width), 0.0) {}
  void add(double score, const std::vector<double>& value) {
    const double maximum = std::max(maximum_, score);
    const double keep = std::exp(maximum_ - maximum);
    const double weight = std::exp(score - maximum);
    for (std::size_t d = 0; d < sum_.size(); ++d) sum_[d] = sum_[d] * keep + weight * value[d];
    squares_ *= keep * keep;
    for (std::size_t d = 0; d < sum_.size(); ++d) squares_ += weight * value[d] * weight * value[d];
    total_ = total_ * keep + weight;
    maximum_ = maximum;
  }
  void merge(const OnlineRow& other) {
    if (other.total_ == 0.0) return;
    const double maximum = std::max(maximum_, other.maximum_);
    const double mine = std::exp(maximum_ - maximum);
    const double theirs = std::exp(other.maximum_ - maximum);
    for (std::size_t d = 0; d < sum_.size(); ++d) sum_[d] = sum_[d] * mine + other.sum_[d] * theirs;
    squares_ = squares_ * mine * mine + other.squares_ * theirs * theirs;
    total_ = total_ * mine + other.total_ * theirs;
    maximum_ = maximum;
  }
  void seed(double logit) {
    maximum_ = logit;
    total_ = 1.0;
  }
  // How large the sum usually is, when what is added up does not cancel.
  [[nodiscard]] double usual_size() const { return total_ == 0.0 ? 0.0 : std::sqrt(squares_) / total_; }
  void finish(std::vector<double>& out, std::vector<double>& lse) const {
    for (const double s : sum_) out.push_back(total_ == 0.0 ? 0.0 : s / total_);
    lse.push_back(total_ == 0.0 ? -std::numeric_limits<double>::infinity() : maximum_ + std::log(total_));
  }

 private:
  std::vector<double> sum_;
  double maximum_ = -std::numeric_limits<double>::infinity();
  double total_ = 0.0;
  double squares_ = 0.0;
};

// In vectors, and what is left over behind them.
TEST(AttentionReferences, SumRowsOfAnyLength) {
  for (const std::int64_t n : {0, 1, 15, 16, 17, 33, 64}) {
    std::vector<double> a;
    std::vector<double> b;
    double product = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      a.push_back(static_cast<double>(i + 1));
      b.push_back(static_cast<double>(3 - 2 * (i % 7)));
      product += a.back() * b.back();
    }
    EXPECT_EQ(reference::dot(a.data(), b.data(), n), product) << n;
    std::vector<double> sum = b;
    reference::add_scaled(sum.data(), 0.5, a.data(), n);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], b[i] + 0.5 * a[i]) << n;
    for (const DType type : {DType::kBf16, DType::kF16, DType::kF32}) {
      Tensor cache("cache", type, {3, n});
      for (std::int64_t i = 0; i < 3 * n; ++i) cache.set(i, static_cast<double>(i - 7));
      const std::vector<double> row = reference::read_row(cache, 1, n);
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(row[static_cast<std::size_t>(i)], static_cast<double>(n + i - 7));
    }
  }
}

TEST(MlaReference, EqualsSplitOnlineSoftmaxAndMerge) {
  for (const char* line : {"mla_decode --heads 3 --kv-splits 4 --cache-seqlens 320,257,1,0",
                           "mla_decode --heads 2 --inputs drift --kv-splits 3 --cache-seqlens 200",
                           "mla_decode --heads 2 --inputs peaked --page 16 --kv-splits 2 --cache-seqlens 65"}) {
    SCOPED_TRACE(line);
    const SampleBatch batch = batch_of(line);
    const KernelCase& c = batch.kernel_case;
    std::vector<double> out;
    std::vector<double> lse;
    std::vector<double> sizes;
    for (std::int64_t b = 0; b < c.num_requests(); ++b) {
      const std::int64_t seqlen = c.cache_seqlens[static_cast<std::size_t>(b)];
      for (std::int64_t h = 0; h < c.num_q_heads; ++h) {
        OnlineRow all(c.kv_lora_rank);
        for (std::int64_t s = 0; s < c.kv_splits; ++s) {
          OnlineRow part(c.kv_lora_rank);
          const auto pages = pages_of_split(c, seqlen, s);
          for (std::int64_t t = pages.first * c.page_size; t < std::min(seqlen, pages.second * c.page_size); ++t) {
            const auto row = reference::read_row(batch.input("kv_cache"), reference::token_slot(batch, b, t),
                                                 c.kv_lora_rank + c.qk_rope_head_dim);
            double score = 0.0;
            for (std::int64_t d = 0; d < c.kv_lora_rank; ++d) {
              score += batch.input("q_nope").get((b * c.num_q_heads + h) * c.kv_lora_rank + d) *
                       row[static_cast<std::size_t>(d)];
            }
            for (std::int64_t d = 0; d < c.qk_rope_head_dim; ++d) {
              score += batch.input("q_rope").get((b * c.num_q_heads + h) * c.qk_rope_head_dim + d) *
                       row[static_cast<std::size_t>(c.kv_lora_rank + d)];
            }
            part.add(score / std::sqrt(192.0), row);
          }
          all.merge(part);
        }
        all.finish(out, lse);
        sizes.push_back(all.usual_size());
      }
    }
    const auto want = reference::mla_decode(batch);
    expect_near(out, want[0].values, 1e-11);
    expect_near(lse, want[1].values, 1e-11);
    EXPECT_EQ(want[2].name, row_sizes_of("out"));
    expect_near(sizes, want[2].values, 1e-11);
  }
}

// Unabsorbed: keys k = W_uk c beside the rotary part and queries before absorption, q_nope = W_uk^T q; same scores.
TEST(MlaReference, EqualsAttentionOverUnabsorbedKeys) {
  constexpr std::int64_t kNope = 24;  // any width: the products are the same
  SampleBatch batch = batch_of("mla_decode --dtype fp32 --heads 2 --latent 32 --rope 16 --page 16 --cache-seqlens 40");
  const KernelCase& c = batch.kernel_case;
  const std::int64_t latent = c.kv_lora_rank;
  const sample::Random up(1, "w_uk");
  const sample::Random query(2, "q");
  Tensor& q_nope = batch.inputs[0];
  std::vector<std::vector<double>> unabsorbed;
  for (std::int64_t h = 0; h < c.num_q_heads; ++h) {
    std::vector<double> q(kNope);
    for (std::int64_t i = 0; i < kNope; ++i) q[static_cast<std::size_t>(i)] = query.normal(h * kNope + i);
    for (std::int64_t d = 0; d < latent; ++d) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < kNope; ++i)
        sum += up.normal((h * kNope + i) * latent + d) * q[static_cast<std::size_t>(i)];
      q_nope.set(h * latent + d, sum);
    }
    unabsorbed.push_back(q);
  }
  const auto want = reference::mla_decode(batch);
  for (std::int64_t h = 0; h < c.num_q_heads; ++h) {
    double total = 0.0;
    for (std::int64_t t = 0; t < 40; ++t) {
      const auto row = reference::read_row(batch.input("kv_cache"), reference::token_slot(batch, 0, t), latent + 16);
      double score = 0.0;
      for (std::int64_t i = 0; i < kNope; ++i) {
        double key = 0.0;
        for (std::int64_t d = 0; d < latent; ++d)
          key += up.normal((h * kNope + i) * latent + d) * row[static_cast<std::size_t>(d)];
        score += unabsorbed[static_cast<std::size_t>(h)][static_cast<std::size_t>(i)] * key;
      }
      for (std::int64_t d = 0; d < 16; ++d)
        score += batch.input("q_rope").get(h * 16 + d) * row[static_cast<std::size_t>(latent + d)];
      total += std::exp(score / std::sqrt(144.0));
    }
    EXPECT_NEAR(std::log(total), want[1].values[static_cast<std::size_t>(h)], 1e-4);  // q_nope was rounded to fp32
  }
}

TEST(PagedReference, EqualsSplitOnlineSoftmaxWithWindowSinkAndCap) {
  for (const char* line :
       {"paged_decode --heads 4 --kv-heads 2 --head-dim 32 --v-head-dim 16 --page 16 --cache-seqlens 40,1,0",
        "paged_decode --heads 6 --kv-heads 2 --head-dim 32 --page 16 --window 20 --sinks --softcap 3 --cache-seqlens "
        "50,7,0",
        "paged_decode --heads 4 --kv-heads 1 --head-dim 32 --kv-dtype fp8_e4m3 --k-scale 0.5 --v-scale 2 "
        "--cache-seqlens 70"}) {
    SCOPED_TRACE(line);
    const SampleBatch batch = batch_of(line);
    const KernelCase& c = batch.kernel_case;
    std::vector<double> out;
    std::vector<double> lse;
    std::vector<double> sizes;
    for (std::int64_t b = 0; b < c.num_requests(); ++b) {
      const std::int64_t seqlen = c.cache_seqlens[static_cast<std::size_t>(b)];
      for (std::int64_t h = 0; h < c.num_q_heads; ++h) {
        const std::int64_t kv = h * c.num_kv_heads / c.num_q_heads;
        OnlineRow all(c.value_dim());
        if (c.sinks) all.seed(batch.input("sinks").get(h));
        OnlineRow second(c.value_dim());  // odd tokens, merged at the end
        for (std::int64_t t = 0; t < seqlen; ++t) {
          if (c.window >= 0 && seqlen - 1 - t > c.window) continue;
          const std::int64_t row = reference::token_slot(batch, b, t) * c.num_kv_heads + kv;
          double score = 0.0;
          for (std::int64_t d = 0; d < c.head_dim; ++d) {
            score += batch.input("q").get((b * c.num_q_heads + h) * c.head_dim + d) * c.k_scale *
                     batch.input("k_cache").get(row * c.head_dim + d);
          }
          score /= std::sqrt(static_cast<double>(c.head_dim));
          if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
          auto value = reference::read_row(batch.input("v_cache"), row, c.value_dim());
          for (double& v : value) v *= c.v_scale;
          (t % 2 == 0 ? all : second).add(score, value);
        }
        all.merge(second);
        all.finish(out, lse);
        sizes.push_back(all.usual_size());
      }
    }
    const auto want = reference::paged_decode(batch);
    expect_near(out, want[0].values, 1e-11);
    expect_near(lse, want[1].values, 1e-11);
    EXPECT_EQ(want[2].name, row_sizes_of("out"));
    expect_near(sizes, want[2].values, 1e-11);
  }
}

// A value that is no number is one in the output, too; the size of the row is that of the others.
TEST(PagedReference, TheSizeOfARowIsThatOfItsFiniteValues) {
  SampleBatch batch =
      batch_of("paged_decode --dtype fp32 --heads 1 --kv-heads 1 --head-dim 4 --page 16 --cache-seqlens 1");
  Tensor& values = batch.inputs[2];
  const std::int64_t row = reference::token_slot(batch, 0, 0) * 4;
  const double kinds[] = {3.0, std::numeric_limits<double>::infinity(), 4.0, std::numeric_limits<double>::quiet_NaN()};
  for (std::int64_t d = 0; d < 4; ++d) values.set(row + d, kinds[d]);
  EXPECT_EQ(reference::paged_decode(batch)[2].values, std::vector<double>{5.0});
}

// The pages that were handed out, against what the token rows say.
TEST(IndexReferences, EqualTheSamplesOwnPages) {
  for (const char* line :
       {"page_table --page 16 --cache-seqlens 1,16,40,0", "page_table --page-order shared --cache-seqlens 130,200",
        "page_table --page 1 --cache-seqlens 5,3"}) {
    SCOPED_TRACE(line);
    const SampleBatch batch = batch_of(line);
    const KernelCase& c = batch.kernel_case;
    const Tensor handed_out = sample::PagePool::make(c)->page_table();
    const auto want = reference::page_table(batch)[0].values;
    for (std::int64_t i = 0; i < handed_out.count(); ++i) {
      const std::int64_t b = i / c.columns();
      const std::int64_t first_token = i % c.columns() * c.page_size;
      if (first_token >= c.cache_seqlens[static_cast<std::size_t>(b)]) continue;
      EXPECT_EQ(want[static_cast<std::size_t>(i)], handed_out.get(i)) << i;
    }
  }
}

TEST(IndexReferences, TokenIndicesFollowThePageTableAndTilesCoverEveryToken) {
  const SampleBatch batch = batch_of("kv_indices --page 16 --cache-seqlens 1,16,300,0,129");
  const KernelCase& c = batch.kernel_case;
  const auto pool = sample::PagePool::make(c);
  const auto want = reference::kv_indices(batch);
  std::size_t next = 0;
  for (std::int64_t b = 0; b < c.num_requests(); ++b) {
    const std::int64_t seqlen = c.cache_seqlens[static_cast<std::size_t>(b)];
    EXPECT_EQ(want[0].values[static_cast<std::size_t>(b)], static_cast<double>(next));
    for (std::int64_t t = 0; t < seqlen; ++t) {
      EXPECT_EQ(want[1].values[next++], static_cast<double>(pool->slot(b, t)));
    }
    double tokens = 0.0;
    const auto tiles = static_cast<std::size_t>(sample::most_tiles(c));
    for (std::size_t i = static_cast<std::size_t>(b) * tiles; i < static_cast<std::size_t>(b + 1) * tiles; ++i) {
      tokens += want[3].values[2 * i + 1] - want[3].values[2 * i];
    }
    EXPECT_EQ(tokens, static_cast<double>(seqlen));
    EXPECT_EQ(want[4].values[static_cast<std::size_t>(b)], tokens);
  }
  EXPECT_EQ(want[1].values[next], kUnwrittenIndex);
}

// The chunk rule against virtual batches as the plan computes them, attended to in one pass.
TEST(LocalReference, EqualsAttentionOverVirtualBatches) {
  for (const char* line :
       {"local_decode --heads 4 --kv-heads 2 --head-dim 32 --chunk 128 --cache-seqlens 1,127,128,129,300,0",
        "local_decode --heads 2 --kv-heads 1 --head-dim 32 --page 16 --chunk 48 --cache-seqlens 47,96,100"}) {
    SCOPED_TRACE(line);
    const SampleBatch batch = batch_of(line);
    const KernelCase& c = batch.kernel_case;
    std::vector<std::int64_t> query_lens;
    std::vector<std::int64_t> seqlens;
    for (const std::int64_t seqlen : c.cache_seqlens) {
      if (seqlen == 0) continue;
      query_lens.push_back(1);
      seqlens.push_back(seqlen);
    }
    const auto virtual_batches =
        sizing::local_virtual_batches(c.chunk, query_lens, seqlens, c.page_size, c.columns(), true);
    const auto want = reference::local_decode(batch);
    for (std::size_t i = 0; i < seqlens.size(); ++i) {
      const auto b = static_cast<std::int64_t>(i);  // the empty request, if any, is the last
      EXPECT_EQ(want[4].values[i], static_cast<double>(virtual_batches.seqlens_k[i]));
      for (std::int64_t h = 0; h < c.num_q_heads; ++h) {
        OnlineRow row(c.head_dim);
        for (std::int64_t t = 0; t < virtual_batches.seqlens_k[i]; ++t) {
          const std::int64_t cache_row =
              reference::token_slot(batch, b, virtual_batches.k_start[i] + t) * c.num_kv_heads +
              h * c.num_kv_heads / c.num_q_heads;
          const auto key = reference::read_row(batch.input("k_cache"), cache_row, c.head_dim);
          double score = 0.0;
          for (std::int64_t d = 0; d < c.head_dim; ++d) {
            score += batch.input("q").get((b * c.num_q_heads + h) * c.head_dim + d) * key[static_cast<std::size_t>(d)];
          }
          row.add(score / std::sqrt(static_cast<double>(c.head_dim)),
                  reference::read_row(batch.input("v_cache"), cache_row, c.head_dim));
        }
        std::vector<double> out;
        std::vector<double> lse;
        row.finish(out, lse);
        EXPECT_NEAR(lse[0], want[1].values[static_cast<std::size_t>(b * c.num_q_heads + h)], 1e-11);
        for (std::size_t d = 0; d < out.size(); ++d) {
          EXPECT_NEAR(out[d], want[0].values[static_cast<std::size_t>((b * c.num_q_heads + h) * c.head_dim) + d],
                      1e-11);
        }
      }
    }
  }
}

// Attention to all keys is the merge of attention to the first and to the rest; a side without keys changes nothing.
TEST(MergeReference, MergesSplitAttentionIntoTheWhole) {
  constexpr std::int64_t kDim = 8;
  const auto kernel_case = parse_case("merge_state --tokens 4 --heads 1 --head-dim 8 --empty 0 --dtype fp32");
  SampleBatch batch = *sample::merge_state(*kernel_case);
  const sample::Random random(3, "merge");
  std::vector<double> out;
  std::vector<double> lse;
  for (std::int64_t row = 0; row < 4; ++row) {
    OnlineRow whole(kDim);
    OnlineRow parts[] = {OnlineRow(kDim), OnlineRow(kDim)};
    for (std::int64_t t = 0; t < 12; ++t) {
      std::vector<double> value;
      for (std::int64_t d = 0; d < kDim; ++d) value.push_back(random.normal((row * 12 + t) * kDim + d));
      const double score = 3.0 * random.normal(-1 - row * 12 - t);
      if (row < 3) whole.add(score, value);
      if (row < 3) parts[row == 0 || t < 5 ? 0 : 1].add(score, value);  // row 0: the second side is empty; row 3: both
    }
    whole.finish(out, lse);
    for (std::size_t side = 0; side < 2; ++side) {
      std::vector<double> part;
      std::vector<double> sum;
      parts[side].finish(part, sum);
      for (std::int64_t d = 0; d < kDim; ++d) {
        batch.inputs[2 * side].set(row * kDim + d,
                                   std::isinf(sum[0]) ? std::nan("") : part[static_cast<std::size_t>(d)]);
      }
      batch.inputs[2 * side + 1].set(row, sum[0]);
    }
  }
  const auto want = reference::merge_state(batch);
  expect_near(want[0].values, out, 1e-6);  // the parts were rounded to fp32
  expect_near(want[1].values, lse, 1e-6);
}

// Rotation matrices applied dimension by dimension, with the axis by counting what each axis has left.
TEST(RotaryReference, EqualsRotationMatricesWithAxesCounted) {
  for (const char* line :
       {"mrope --dtype fp32 --tokens 3 --heads 2 --kv-heads 1 --head-dim 96 --rotary 64 --sections 11,11,10",
        "mrope --dtype fp32 --tokens 3 --heads 2 --kv-heads 1 --head-dim 96 --rotary 64 --sections 11,11,10 "
        "--interleaved",
        "mrope --dtype fp32 --tokens 3 --heads 2 --kv-heads 1 --head-dim 64 --sections 12,10,10 --adjacent-pairs",
        "mrope --dtype fp32 --tokens 3 --heads 2 --kv-heads 1 --head-dim 64 --rotary 32"}) {
    SCOPED_TRACE(line);
    const SampleBatch batch = batch_of(line);
    const KernelCase& c = batch.kernel_case;
    const std::int64_t pairs = (c.rotary_dim == 0 ? c.head_dim : c.rotary_dim) / 2;
    const auto want = reference::mrope(batch);
    std::vector<std::int64_t> left = c.sections.empty() ? std::vector<std::int64_t>{pairs, 0, 0} : c.sections;
    for (std::int64_t j = 0; j < pairs; ++j) {
      std::size_t axis = c.interleaved ? static_cast<std::size_t>(j % 3) : 0;
      while (left[axis] == 0) axis = c.interleaved ? 0 : axis + 1;
      --left[axis];
      for (std::int64_t head = 0; head < c.tokens * c.num_q_heads; ++head) {
        const std::int64_t token = head / c.num_q_heads;
        const std::int64_t position =
            batch.input("positions").get_int(static_cast<std::int64_t>(axis) * c.tokens + token);
        const double angle =
            static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(pairs));
        const std::int64_t first = head * c.head_dim + (c.adjacent_pairs ? 2 * j : j);
        const std::int64_t second = c.adjacent_pairs ? first + 1 : first + pairs;
        const double x1 = batch.input("query").get(first);
        const double x2 = batch.input("query").get(second);
        EXPECT_NEAR(want[0].values[static_cast<std::size_t>(first)], std::cos(angle) * x1 - std::sin(angle) * x2, 1e-6);
        EXPECT_NEAR(want[0].values[static_cast<std::size_t>(second)], std::sin(angle) * x1 + std::cos(angle) * x2,
                    1e-6);
      }
    }
    for (std::size_t i = 0; i < want[0].values.size(); ++i) {  // what does not turn stays
      if (static_cast<std::int64_t>(i) % c.head_dim < 2 * pairs) continue;
      EXPECT_EQ(want[0].values[i], batch.input("query").get(static_cast<std::int64_t>(i)));
    }
  }
}

// The formulas of the chunked kernels, in double, against the references, which follow the recurrence.
TEST(DeltaReferences, ChunkFormulasGiveTheRecurrencesOutputsAndStates) {
  for (const char* line :
       {"gated_delta_chunk --dtype fp32 --heads 1 --v-heads 2 --head-dim 16 --v-head-dim 8 --query-lens 70,16,3",
        "gated_delta_chunk --dtype fp32 --heads 1 --head-dim 16 --l2norm --inputs flat --chunk-size 16 --query-lens "
        "40"}) {
    SCOPED_TRACE(line);
    const SampleBatch batch = batch_of(line);
    const KernelCase& c = batch.kernel_case;
    const auto want = reference::gated_delta_chunk(batch);
    const auto at = [&](std::size_t output, std::int64_t index) {
      return want[output].values[static_cast<std::size_t>(index)];
    };
    const std::int64_t heads = c.value_heads();
    const std::int64_t keys = c.head_dim;
    const std::int64_t values = c.value_dim();
    std::int64_t chunk = 0;
    for (std::size_t r = 0; r < c.query_lens.size(); ++r) {
      const std::int64_t request_begin = batch.input("cu_seqlens").get_int(static_cast<std::int64_t>(r));
      const std::int64_t end = batch.input("cu_seqlens").get_int(static_cast<std::int64_t>(r) + 1);
      for (std::int64_t begin = request_begin; begin < end; begin += c.delta_chunk, ++chunk) {
        const std::int64_t n = std::min(c.delta_chunk, end - begin);
        for (std::int64_t hv = 0; hv < heads; ++hv) {
          const auto row = [&](const char* name, std::int64_t i) {
            return reference::delta_row(batch, name, (begin + i) * c.num_q_heads + hv / (heads / c.num_q_heads));
          };
          const auto token = [&](std::int64_t i) { return (begin + i) * heads + hv; };
          const auto product = [&](const std::vector<double>& a, const std::vector<double>& b) {
            return reference::dot(a.data(), b.data(), keys);
          };
          for (std::int64_t i = 0; i < n; ++i) {
            // (I + L) A = I
            for (std::int64_t column = 0; column < n; ++column) {
              double sum = at(2, token(i) * c.delta_chunk + column);
              for (std::int64_t j = 0; j < i; ++j) {
                sum += batch.input("beta").get(token(i)) * product(row("k", i), row("k", j)) *
                       std::exp(at(1, token(i)) - at(1, token(j))) * at(2, token(j) * c.delta_chunk + column);
              }
              EXPECT_NEAR(sum, i == column ? 1.0 : 0.0, 1e-10);
            }
            // w = A (beta e^G k)
            for (std::int64_t d = 0; d < keys; ++d) {
              double sum = 0.0;
              for (std::int64_t j = 0; j <= i; ++j) {
                sum += at(2, token(i) * c.delta_chunk + j) * batch.input("beta").get(token(j)) *
                       std::exp(at(1, token(j))) * row("k", j)[static_cast<std::size_t>(d)];
              }
              EXPECT_NEAR(sum, at(3, token(i) * keys + d), 1e-10);
            }
            // o = scale (e^G h q + sum of (q.k) e^(G_i - G_j) v_new)
            for (std::int64_t e = 0; e < values; ++e) {
              double sum = 0.0;
              for (std::int64_t d = 0; d < keys; ++d) {
                sum += std::exp(at(1, token(i))) * at(5, ((chunk * heads + hv) * values + e) * keys + d) *
                       row("q", i)[static_cast<std::size_t>(d)];
              }
              for (std::int64_t j = 0; j <= i; ++j) {
                sum += product(row("q", i), row("k", j)) * std::exp(at(1, token(i)) - at(1, token(j))) *
                       at(6, token(j) * values + e);
              }
              EXPECT_NEAR(sum / std::sqrt(static_cast<double>(keys)), at(0, token(i) * values + e), 1e-10);
            }
          }
          // S <- e^G_last S + sum of e^(G_last - G_j) v_new k^T: the next chunk's h, or the pool's state
          const bool is_last = begin + n == end;
          const std::int64_t slot = batch.input("state_indices").get_int(static_cast<std::int64_t>(r));
          for (std::int64_t i = 0; i < values * keys; ++i) {
            const double last = at(1, token(n - 1));
            double sum = std::exp(last) * at(5, (chunk * heads + hv) * values * keys + i);
            for (std::int64_t j = 0; j < n; ++j) {
              sum += std::exp(last - at(1, token(j))) * at(6, token(j) * values + i / keys) *
                     row("k", j)[static_cast<std::size_t>(i % keys)];
            }
            EXPECT_NEAR(sum,
                        is_last ? at(7, (slot * heads + hv) * values * keys + i)
                                : at(5, ((chunk + 1) * heads + hv) * values * keys + i),
                        1e-10);
          }
        }
      }
    }
  }
}

// One token at a time with the state carried over is the same as all at once; an impulse gives the taps back, newest
// first.
TEST(ConvolutionReference, StepsComposeAndAnImpulseGivesTheTaps) {
  const SampleBatch whole =
      batch_of("causal_conv1d --dtype fp32 --heads 1 --head-dim 4 --zero-state --query-lens 7,2,5 --padded 1");
  const auto want = reference::causal_conv1d(whole);
  SampleBatch part = whole;
  const auto changed = [&](std::string_view name) -> Tensor& {
    return *std::ranges::find(part.inputs, name, &Tensor::name);
  };
  const std::int64_t channels = whole.input("x").shape[1];
  for (std::int64_t r = 0; r < 2; ++r) {
    part = whole;
    const std::int64_t begin = whole.input("cu_seqlens").get_int(r);
    const std::int64_t end = whole.input("cu_seqlens").get_int(r + 1);
    for (std::int64_t i = 0; i < 3; ++i) {
      if (i != r) changed("state_indices").set_int(i, -1);
    }
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t i = 0; i <= 3; ++i) changed("cu_seqlens").set_int(i, i <= r ? t : t + 1);
      const auto one = reference::causal_conv1d(part);
      for (std::int64_t i = t * channels; i < (t + 1) * channels; ++i) {
        EXPECT_NEAR(one[0].values[static_cast<std::size_t>(i)], want[0].values[static_cast<std::size_t>(i)], 1e-12);
      }
      for (std::int64_t i = 0; i < changed("state").count(); ++i) {
        changed("state").set(i, one[1].values[static_cast<std::size_t>(i)]);
      }
      changed("has_state").set_int(r, 1);
    }
  }
  for (std::int64_t i = whole.input("cu_seqlens").get_int(2) * channels; i < whole.input("x").count(); ++i) {
    EXPECT_TRUE(std::isnan(want[0].values[static_cast<std::size_t>(i)])) << "a padded request is written";
  }
  part = whole;
  for (std::int64_t i = 0; i < channels; ++i) changed("bias").set(i, 0.0);
  for (std::int64_t i = 0; i < changed("x").count(); ++i) changed("x").set(i, i / channels == 0 ? 1.0 : 0.0);
  const auto impulse = reference::causal_conv1d(part);
  for (std::int64_t t = 0; t < 7; ++t) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const double tap = t <= 3 ? whole.input("weight").get(c * 4 + 3 - t) : 0.0;
      EXPECT_NEAR(impulse[0].values[static_cast<std::size_t>(t * channels + c)], tap / (1.0 + std::exp(-tap)), 1e-12);
    }
  }
}

// One token at a time with the state carried over is the same as all at once; and a closed form of the first token.
TEST(DeltaReferences, StepsComposeAndTheFirstFromNothingIsKnown) {
  const SampleBatch whole =
      batch_of("gated_delta_step --dtype fp32 --heads 2 --v-heads 4 --head-dim 16 --query-lens 5");
  const auto want = reference::gated_delta_step(whole);
  SampleBatch part = whole;
  part.kernel_case.query_lens = {1};
  Tensor& starts = *std::ranges::find(part.inputs, "cu_seqlens", &Tensor::name);
  std::vector<double> out;
  std::vector<double> state = whole.input("state").to_doubles();
  for (std::int64_t t = 0; t < 5; ++t) {
    starts.set_int(0, t);
    starts.set_int(1, t + 1);
    Tensor& pool = *std::ranges::find(part.inputs, "state", &Tensor::name);
    for (std::int64_t i = 0; i < pool.count(); ++i) pool.set(i, state[static_cast<std::size_t>(i)]);
    const auto one = reference::gated_delta_step(part);
    state = one[1].values;
    out.insert(out.end(), one[0].values.begin() + t * 64, one[0].values.begin() + (t + 1) * 64);
  }
  expect_near(out, want[0].values, 1e-5);  // the carried state was rounded to fp32

  const SampleBatch first =
      batch_of("gated_delta_step --dtype fp32 --heads 1 --head-dim 16 --zero-state --query-lens 1");
  const auto got = reference::gated_delta_step(first);
  const auto q = reference::delta_row(first, "q", 0);
  const auto k = reference::delta_row(first, "k", 0);
  const double beta = 1.0 / (1.0 + std::exp(-first.input("b").get(0)));
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(got[0].values[static_cast<std::size_t>(i)],
                0.25 * beta * first.input("v").get(i) * reference::dot(q.data(), k.data(), 16), 1e-12);
  }
}

}  // namespace
}  // namespace preflight
