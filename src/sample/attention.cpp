// Sample batches of the decode attention kernels: queries, paged cache, table. Tested by tests/sample_test.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "src/base/parallel.h"
#include "src/sample/page_pool.h"
#include "src/sample/random.h"
#include "src/sample/regime.h"
#include "src/sample/rows.h"
#include "src/sample/sample_size.h"
#include "src/sample/samples.h"

namespace preflight::sample {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

Tensor normal_tensor(const KernelCase& kernel_case, const char* name, DType type, std::vector<std::int64_t> shape,
                     double gain) {
  Tensor tensor(name, type, std::move(shape));
  const Random random(kernel_case.seed, name);
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, gain * random.normal(i));
  return tensor;
}

// Queries [B, H, dims], with the steering vector added when the regime steers.
Tensor queries(const KernelCase& kernel_case, const char* name, std::int64_t dims, bool steer) {
  const Regime regime(kernel_case.inputs);
  Tensor q(name, kernel_case.dtype, {kernel_case.num_requests(), kernel_case.num_q_heads, dims});
  const Random random(kernel_case.seed, name);
  const Random direction(kernel_case.seed, "direction");
  const double size = query_size(kernel_case);
  for (std::int64_t i = 0; i < q.count(); ++i) {
    const double steering = steer && regime.steered ? direction.sign(i % dims) : 0.0;
    q.set(i, size * (regime.query_gain * random.normal(i) + steering));
  }
  return q;
}

// A division takes as long as drawing a number, and most caches have no scale.
void divide(std::span<double> row, double scale) {
  if (scale == 1.0) return;
  for (double& value : row) value /= scale;
}

// Value of dimension d of a key: N(0,1) plus as much of the direction as lifts every score by lift(t).
class KeyFill {
 public:
  KeyFill(const KernelCase& kernel_case, std::int64_t steered_dims)
      : case_(kernel_case),
        regime_(kernel_case.inputs),
        random_(kernel_case.seed, "keys"),
        per_lift_(1.0 / (query_size(kernel_case) * softmax_scale(kernel_case) * static_cast<double>(steered_dims))) {
    const Random direction(kernel_case.seed, "direction");
    for (std::int64_t d = 0; d < steered_dims; ++d) signs_.push_back(direction.sign(d));
  }

  [[nodiscard]] double steering(std::int64_t t, std::int64_t seqlen) const {
    return regime_.steered ? regime_.lift(case_, t, seqlen) * per_lift_ : 0.0;
  }
  void plain_row(std::int64_t first, std::span<double> row) const { random_.normals(first, regime_.key_gain, row); }
  // Of the dimensions that the steering vector has.
  void steered_row(std::int64_t first, double steer, std::span<double> row) const {
    plain_row(first, row);
    if (steer == 0.0) return;
    for (std::size_t d = 0; d < row.size(); ++d) row[d] += steer * signs_[d];
  }
  // Those of all heads that a slot of [pages, page_size, heads, dims] has.
  void slot(std::int64_t slot, double steer, Tensor& keys) const {
    std::vector<double> row(signs_.size());
    const auto dims = static_cast<std::int64_t>(row.size());
    const std::int64_t width = case_.num_kv_heads * dims;
    for (std::int64_t first = slot * width; first < (slot + 1) * width; first += dims) {
      steered_row(first, steer, row);
      divide(row, case_.k_scale);
      set_row(keys, first, row);
    }
  }

 private:
  const KernelCase& case_;
  Regime regime_;
  Random random_;
  double per_lift_;
  std::vector<double> signs_;
};

// Values as they are drawn; in the regime where one token decides, an fp8 cache also has the largest number of its type
// and the smallest, which nothing drawn comes near.
class ValueFill {
 public:
  explicit ValueFill(const KernelCase& kernel_case)
      : random_(kernel_case.seed, "values"),
        width_(static_cast<std::size_t>(kernel_case.num_kv_heads * kernel_case.value_dim())),
        scale_(kernel_case.v_scale),
        has_ends_(size_of(kernel_case.cache_dtype()) == 1 && kernel_case.inputs == Inputs::kPeaked),
        format_(kernel_case.cache_dtype() == DType::kFp8E4M3 ? kE4M3Format : kE5M2Format) {}

  void slot(std::int64_t slot, Tensor& values) const {
    std::vector<double> row(width_);
    const std::int64_t first = slot * static_cast<std::int64_t>(width_);
    random_.normals(first, 1.0, row);
    divide(row, scale_);
    if (has_ends_) set_ends(first, row);
    set_row(values, first, row);
  }

 private:
  void set_ends(std::int64_t first, std::span<double> row) const {
    constexpr std::int64_t kOneIn = 61;
    for (double& value : row) {
      const std::int64_t element = first++;
      if (element % kOneIn == 0) value = random_.sign(element) * format_.max();
      if (element % kOneIn == 1) value = random_.sign(element) * format_.decode(1);
    }
  }

  Random random_;
  std::size_t width_;  // values of all heads of a token
  double scale_;
  bool has_ends_;
  SmallFloat format_;
};

// What is no number has to come out as none. Where every token weighs as much, one in the middle of a request has a NaN
// in one value of one head, and an infinity in the next one of types that have it: not the last token, which kernels
// read again in place of what lies behind it, and 0 times infinity is NaN. bf16 is the upper half of a float, which
// nobody has to tell apart.
void set_apart(const KernelCase& kernel_case, std::int64_t request, std::int64_t slot, bool is_last, Tensor& values) {
  const DType type = kernel_case.cache_dtype();
  if (kernel_case.inputs != Inputs::kFlat || type == DType::kBf16 || type == DType::kF32) return;
  const std::int64_t heads = kernel_case.num_kv_heads;
  const std::int64_t width = kernel_case.value_dim();
  const std::int64_t row = (slot * heads + request % heads) * width;
  values.set(row + request % width, kNoNumber);
  if (type != DType::kFp8E4M3 && width > 1 && !is_last) {
    values.set(row + (request + 1) % width, std::numeric_limits<double>::infinity());
  }
}

// A score that is no number leaves none in its row: there, too, the token in the middle has such a key of the next
// head, from the second request on. The first one tells of all else.
bool has_no_score(const KernelCase& kernel_case, std::int64_t request, std::int64_t token, std::int64_t tokens) {
  return kernel_case.inputs == Inputs::kFlat && request > 0 && token == tokens / 2;
}

// The pages before the first that is made, in a cache of [pages, page_size, ...].
void keep_in_front(SampleBatch& batch, const Tensor& cache) {
  const std::int64_t page_bytes = static_cast<std::int64_t>(cache.bytes.size()) / cache.shape.front();
  if (batch.kernel_case.first_page > 0) batch.in_front[cache.name] = batch.kernel_case.first_page * page_bytes;
}

}  // namespace

Result<SampleBatch> mla_decode(const KernelCase& kernel_case) {
  const std::int64_t latent = kernel_case.kv_lora_rank;
  const std::int64_t rope = kernel_case.qk_rope_head_dim;
  const std::int64_t row = latent + rope;
  const auto pool = PagePool::make(kernel_case);
  if (!pool) return tl::make_unexpected(pool.error());

  SampleBatch batch{.kernel_case = kernel_case};
  batch.inputs.push_back(queries(kernel_case, "q_nope", latent, false));
  batch.inputs.push_back(queries(kernel_case, "q_rope", rope, true));
  // Latent first, rotary part behind it; the values are the latent.
  Tensor cache("kv_cache", kernel_case.cache_dtype(), {pool->num_pages(), kernel_case.page_size, row});
  const KeyFill fill(kernel_case, rope);
  std::vector<double> row_numbers(static_cast<std::size_t>(row));
  const std::span<double> numbers(row_numbers);
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    const std::int64_t seqlen = kernel_case.cache_seqlens[static_cast<std::size_t>(b)];
    for (std::int64_t t = 0; t < seqlen; ++t) {
      if (!pool->first_owner(b, t)) continue;
      const std::int64_t base = pool->slot(b, t) * row;
      const double steer = fill.steering(t, seqlen);
      fill.plain_row(base, numbers.first(static_cast<std::size_t>(latent)));
      fill.steered_row(base + latent, steer, numbers.subspan(static_cast<std::size_t>(latent)));
      set_row(cache, base, numbers);
      if (has_no_score(kernel_case, b, t, seqlen)) cache.set(base + b % row, kNoNumber);
    }
  }
  keep_in_front(batch, cache);
  batch.inputs.push_back(std::move(cache));
  batch.inputs.push_back(pool->page_table());
  batch.inputs.push_back(pool->cache_seqlens());
  const std::int64_t requests = kernel_case.num_requests();
  batch.outputs = {{"out", kernel_case.dtype, {requests, kernel_case.num_q_heads, latent}},
                   {"lse", DType::kF32, {requests, kernel_case.num_q_heads}}};
  return batch;
}

Result<SampleBatch> paged_decode(const KernelCase& kernel_case) {
  const std::int64_t kv_heads = kernel_case.num_kv_heads;
  const std::int64_t dim = kernel_case.head_dim;
  const std::int64_t value_dim = kernel_case.value_dim();
  const DType type = kernel_case.cache_dtype();
  const auto pool = PagePool::make(kernel_case);
  if (!pool) return tl::make_unexpected(pool.error());

  SampleBatch batch{.kernel_case = kernel_case};
  batch.inputs.push_back(queries(kernel_case, "q", dim, true));
  Tensor keys("k_cache", type, {pool->num_pages(), kernel_case.page_size, kv_heads, dim});
  Tensor values("v_cache", type, {pool->num_pages(), kernel_case.page_size, kv_heads, value_dim});
  const KeyFill fill(kernel_case, dim);
  const ValueFill value_fill(kernel_case);
  // Keys of earlier chunks or before the window stay NaN, unless the pages are another request's current ones.
  const bool hides = kernel_case.page_order != PageOrder::kShared;
  for (std::int64_t b = 0; b < kernel_case.num_requests(); ++b) {
    const std::int64_t seqlen = kernel_case.cache_seqlens[static_cast<std::size_t>(b)];
    const std::int64_t first = hides ? first_visible(kernel_case, seqlen) : 0;
    for_each_index(seqlen - first, [&](std::int64_t token) {
      const std::int64_t t = first + token;
      if (!pool->first_owner(b, t)) return;
      const std::int64_t slot = pool->slot(b, t);
      fill.slot(slot, fill.steering(t, seqlen), keys);
      value_fill.slot(slot, values);
      if (has_no_score(kernel_case, b, token, seqlen - first)) {
        keys.set((slot * kv_heads + (b + 1) % kv_heads) * dim + b % dim, kNoNumber);
      }
      if (token == (seqlen - first) / 2) set_apart(kernel_case, b, slot, t == seqlen - 1, values);
    });
  }
  keep_in_front(batch, keys);
  keep_in_front(batch, values);
  batch.inputs.push_back(std::move(keys));
  batch.inputs.push_back(std::move(values));
  batch.inputs.push_back(pool->page_table());
  batch.inputs.push_back(pool->cache_seqlens());
  if (kernel_case.sinks) {
    batch.inputs.push_back(normal_tensor(kernel_case, "sinks", kernel_case.dtype, {kernel_case.num_q_heads}, 2.0));
  }
  const std::int64_t requests = kernel_case.num_requests();
  batch.outputs = {{"out", kernel_case.dtype, {requests, kernel_case.num_q_heads, value_dim}},
                   {"lse", DType::kF32, {requests, kernel_case.num_q_heads}}};
  return batch;
}

SampleSize mla_decode_size(const KernelCase& c) {
  const double latent = real(c.kv_lora_rank);
  const double row = latent + real(c.qk_rope_head_dim);
  return attention_size(c, {.row = row,
                            .query = row,
                            .value = latent,
                            .seen = seen_tokens(c, real(c.max_seqlen())),
                            .copies = real(c.tp),
                            .row_kept = row});
}

SampleSize paged_decode_size(const KernelCase& c) {
  return attention_size(c, paged_rows(c, c.window >= 0 ? real(c.window) + 1.0 : real(c.max_seqlen())));
}

}  // namespace preflight::sample
