// Sample batches of the gated delta rule, token by token and in chunks. Tested by tests/sample_test.cpp.
//
// Requests own shuffled slots of the state pool; the other slots are NaN, and must stay so bit by bit. Queries and keys
// have length 1 (the kernel normalises them with --l2norm, else the sample does). Inputs: "mid" is N(0,1), "flat"
// uniform in [0, 1), whose keys are nearly parallel: the hard case of the chunk's triangular system. Where the kernel
// normalises, some rows are as short as its epsilon and some are zero.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "preflight/sizing.h"
#include "src/sample/random.h"
#include "src/sample/sample_size.h"
#include "src/sample/samples.h"

namespace preflight::sample {
namespace {

constexpr std::int64_t kSpareSlots = 2;

enum class Length : std::uint8_t { kAsDrawn, kOne, kNormalisedByTheKernel };

double draw(const KernelCase& kernel_case, const Random& random, std::int64_t index) {
  return kernel_case.inputs == Inputs::kFlat ? random.uniform(index) : random.normal(index);
}

// Of a row that the kernel is to normalise: 1 for most, so little that the epsilon weighs as much as the row, or 0.
double length_of(std::int64_t row, std::int64_t dim) {
  constexpr double kRootOfEpsilon = 1e-3;
  if (row % 11 == 7) return 0.0;
  return row % 5 == 1 ? kRootOfEpsilon / std::sqrt(static_cast<double>(dim)) : 1.0;
}

Tensor rows_of(const KernelCase& kernel_case, const char* name, std::int64_t heads, std::int64_t dim, Length length) {
  const bool unit = length == Length::kOne;
  const bool normalised = length == Length::kNormalisedByTheKernel;
  const std::int64_t tokens = delta_tokens(kernel_case);
  Tensor tensor(name, kernel_case.dtype, {tokens, heads, dim});
  const Random random(kernel_case.seed, name);
  for (std::int64_t row = 0; row < tokens * heads; ++row) {
    double square = 0.0;
    for (std::int64_t i = row * dim; i < (row + 1) * dim; ++i) {
      square += std::pow(draw(kernel_case, random, i), 2.0);
    }
    const double gain = unit ? 1.0 / std::sqrt(square) : normalised ? length_of(row, dim) : 1.0;
    for (std::int64_t i = row * dim; i < (row + 1) * dim; ++i) tensor.set(i, draw(kernel_case, random, i) * gain);
  }
  return tensor;
}

Tensor values_of(const KernelCase& kernel_case, const char* name, DType type, std::vector<std::int64_t> shape,
                 double (*value)(const Random&, std::int64_t)) {
  Tensor tensor(name, type, std::move(shape));
  const Random random(kernel_case.seed, name);
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, value(random, i));
  return tensor;
}

double normal_value(const Random& random, std::int64_t i) { return random.normal(i); }
double uniform_value(const Random& random, std::int64_t i) { return random.uniform(i); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// What both forms share: q, k, v, the state pool and which slot is whose.
Result<SampleBatch> delta_batch(const KernelCase& kernel_case) {
  if (kernel_case.query_lens.empty()) return failure("--query-lens names no request");
  if (kernel_case.padded > static_cast<std::int64_t>(kernel_case.query_lens.size())) {
    return failure("--padded counts more requests than there are");
  }
  SampleBatch batch{.kernel_case = kernel_case};
  const std::int64_t keys = kernel_case.head_dim;
  const std::int64_t values = kernel_case.value_dim();
  const std::int64_t heads = kernel_case.value_heads();
  const auto requests = static_cast<std::int64_t>(kernel_case.query_lens.size());
  const Length length = kernel_case.l2norm ? Length::kNormalisedByTheKernel : Length::kOne;
  batch.inputs.push_back(rows_of(kernel_case, "q", kernel_case.num_q_heads, keys, length));
  batch.inputs.push_back(rows_of(kernel_case, "k", kernel_case.num_q_heads, keys, length));
  batch.inputs.push_back(rows_of(kernel_case, "v", heads, values, Length::kAsDrawn));
  Tensor state("state", DType::kF32, {requests + kSpareSlots, heads, values, keys});
  Tensor indices("state_indices", DType::kI32, {requests});
  Tensor starts("cu_seqlens", DType::kI32, {requests + 1});
  const Random random(kernel_case.seed, "state");
  const std::int64_t slot_size = heads * values * keys;
  starts.set_int(0, 0);
  for (std::int64_t r = 0; r < requests; ++r) {
    starts.set_int(r + 1, starts.get_int(r) + kernel_case.query_lens[static_cast<std::size_t>(r)]);
    const std::int64_t slot = state_slot(kernel_case, r);
    indices.set_int(r, slot);
    for (std::int64_t i = slot * slot_size; slot >= 0 && i < (slot + 1) * slot_size; ++i) {
      state.set(i, kernel_case.zero_state ? 0.0 : random.normal(i));
    }
  }
  batch.inputs.push_back(std::move(state));
  batch.inputs.push_back(std::move(indices));
  batch.inputs.push_back(std::move(starts));
  batch.outputs = {{"o", kernel_case.dtype, {delta_tokens(kernel_case), heads, values}}};
  batch.in_place = {"state"};
  return batch;
}

// Which chunk holds which token, and where chunks begin: as the launcher of a chunked kernel prepares it.
void add_chunks(SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  std::vector<std::int64_t> request;
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> chunk_of;
  for (std::size_t r = 0; r < kernel_case.query_lens.size(); ++r) {
    for (std::int64_t t = 0; t < kernel_case.query_lens[r]; ++t) {
      if (t % kernel_case.delta_chunk == 0) {
        request.push_back(static_cast<std::int64_t>(r));
        start.push_back(static_cast<std::int64_t>(chunk_of.size()));
      }
      chunk_of.push_back(static_cast<std::int64_t>(request.size()) - 1);
    }
    offsets.push_back(static_cast<std::int64_t>(request.size()));
  }
  const auto add = [&](const char* name, const std::vector<std::int64_t>& values) {
    Tensor tensor(name, DType::kI32, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) tensor.set_int(static_cast<std::int64_t>(i), values[i]);
    batch.inputs.push_back(std::move(tensor));
  };
  add("chunk_request", request);
  add("chunk_start", start);
  add("chunk_offsets", offsets);
  add("chunk_of", chunk_of);
}

}  // namespace

std::int64_t state_slot(const KernelCase& kernel_case, std::int64_t request) {
  const auto requests = static_cast<std::int64_t>(kernel_case.query_lens.size());
  const std::int64_t owners = requests - kernel_case.padded;
  if (request >= owners) return -1;
  return owners > 1 && request + 1 == owners ? 0 : requests - request;
}

std::int64_t delta_tokens(const KernelCase& kernel_case) {
  return std::accumulate(kernel_case.query_lens.begin(), kernel_case.query_lens.end(), std::int64_t{0});
}

std::int64_t delta_chunks(const KernelCase& kernel_case) {
  std::int64_t chunks = 0;
  for (const std::int64_t tokens : kernel_case.query_lens) {
    chunks += sizing::ceil_div(tokens, kernel_case.delta_chunk);
  }
  return chunks;
}

namespace {

// A head that decays so slowly that its gate may be as large as 100 in some tokens, where exp overflows in fp32: what
// becomes of that would vanish in a head that forgets all by then.
bool has_large_gates(std::int64_t head) { return head % 4 == 1; }
constexpr double kLargeGate = 100.0;
constexpr double kSlowDecay = 0.0005;

// A head whose gate is in some tokens where softplus is nearly its argument, and not yet: what is cut there, or where a
// decay of a hundredth is taken for none, shows in the state.
bool has_firm_gates(std::int64_t head) { return head % 4 == 2; }
constexpr double kFirmGate = 5.5;

// A head as trained models have them: gates far below 0, whose softplus is e to their power and no number to leave out,
// for a decay of up to 16 makes something of it.
bool has_faint_gates(std::int64_t head) { return head % 4 == 3; }
constexpr double kFaintGate = -7.0;
constexpr double kFastDecay = 16.0;

// In some tokens trained models forget all: the sums of a chunk then lie where e to their power is 0, and its inverse
// is more than fp32 holds.
bool forgets(std::int64_t token) { return token % 8 == 5; }
constexpr double kForgets = -60.0;  // a log decay
constexpr double kOpenGate = 1.0;   // of a head with a fast decay: e^-21

// How far gates of beta lie from 0: some leave nearly nothing, some nearly all.
constexpr double kBetaSpread = 3.0;
double spread_value(const Random& random, std::int64_t i) { return kBetaSpread * random.normal(i); }

double decay_of(std::int64_t head) {
  if (has_large_gates(head)) return kSlowDecay;
  return has_faint_gates(head) ? kFastDecay : 1.0;
}

}  // namespace

Result<SampleBatch> gated_delta_step(const KernelCase& kernel_case) {
  auto batch = delta_batch(kernel_case);
  if (!batch) return batch;
  const std::int64_t heads = kernel_case.value_heads();
  const std::vector<std::int64_t> per_token{delta_tokens(kernel_case), heads};
  Tensor dt_bias = values_of(kernel_case, "dt_bias", DType::kF32, {heads}, normal_value);
  for (std::int64_t hv = 0; hv < heads; ++hv) {
    if (has_faint_gates(hv)) dt_bias.set(hv, kFaintGate + dt_bias.get(hv));
  }
  Tensor a = values_of(kernel_case, "a", kernel_case.dtype, per_token, normal_value);
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (has_large_gates(i % heads) && i / heads % 3 == 1) a.set(i, kLargeGate);
    if (has_firm_gates(i % heads) && i / heads % 3 == 0) a.set(i, kFirmGate + a.get(i));
    if (has_faint_gates(i % heads) && forgets(i / heads)) a.set(i, kOpenGate - dt_bias.get(i % heads));
  }
  batch->inputs.push_back(std::move(a));
  batch->inputs.push_back(values_of(kernel_case, "b", kernel_case.dtype, per_token, spread_value));
  Tensor a_log("a_log", DType::kF32, {heads});
  const Random random(kernel_case.seed, "a_log");
  for (std::int64_t hv = 0; hv < heads; ++hv) {
    a_log.set(hv, std::log(decay_of(hv) * (0.5 + random.uniform(hv)) / kernel_case.gate_normalizer));
  }
  batch->inputs.push_back(std::move(a_log));
  batch->inputs.push_back(std::move(dt_bias));
  return batch;
}

Result<SampleBatch> gated_delta_chunk(const KernelCase& kernel_case) {
  auto batch = delta_batch(kernel_case);
  if (!batch) return batch;
  const std::int64_t heads = kernel_case.value_heads();
  const std::int64_t tokens = delta_tokens(kernel_case);
  const std::vector<std::int64_t> per_token{tokens, heads};
  Tensor g("g", DType::kF32, per_token);
  Tensor beta("beta", DType::kF32, per_token);
  const Random gates(kernel_case.seed, "g");
  const Random kept(kernel_case.seed, "kept");
  const Random betas(kernel_case.seed, "beta");
  for (std::int64_t i = 0; i < g.count(); ++i) {
    const double log_sigmoid = std::log(sigmoid(uniform_value(gates, i)));
    // The first token decays in any case: sums that are all zero could not be told from none.
    const bool is_kept = i >= heads && kept.uniform(i) < kernel_case.undecayed;
    const bool is_lost = has_large_gates(i % heads) && forgets(i / heads);
    const double gate = is_lost ? kForgets * (0.5 + uniform_value(gates, i)) : log_sigmoid;
    g.set(i, is_kept ? 0.0 : gate / kernel_case.gate_normalizer);
    beta.set(i, kernel_case.beta_gain * sigmoid(spread_value(betas, i)));
  }
  batch->inputs.push_back(std::move(g));
  batch->inputs.push_back(std::move(beta));
  add_chunks(*batch);
  const std::int64_t keys = kernel_case.head_dim;
  const std::int64_t values = kernel_case.value_dim();
  batch->outputs.push_back({"gate_sums", DType::kF32, per_token});
  batch->outputs.push_back({"a_inverse", DType::kF32, {tokens, heads, kernel_case.delta_chunk}});
  batch->outputs.push_back({"w", DType::kF32, {tokens, heads, keys}});
  batch->outputs.push_back({"u", DType::kF32, {tokens, heads, values}});
  batch->outputs.push_back({"h", DType::kF32, {delta_chunks(kernel_case), heads, values, keys}});
  batch->outputs.push_back({"v_new", DType::kF32, {tokens, heads, values}});
  return batch;
}

// Rows of the tokens, and a state of each request.
SampleSize gated_delta_step_size(const KernelCase& c) {
  const double tokens = new_tokens(c);
  const double outputs = real(c.value_heads()) * real(c.value_dim());
  const double state = outputs * real(c.head_dim);
  const double states = state * delta_requests(c);
  const double rows = tokens * (linear_channels(c) + outputs);
  return {.bytes = rows * real(size_of(c.dtype)) + 4.0 * states,
          .numbers = rows + 2.0 * states,
          .kept = tokens * outputs + states,
          .products = 5.0 * tokens * state};
}

// What the chunked form hands back besides is judged as well: a matrix, keys and values of each token, and the state
// before each chunk.
SampleSize gated_delta_chunk_size(const KernelCase& c) {
  const double tokens = new_tokens(c);
  const double heads = real(c.value_heads());
  const double keys = real(c.head_dim);
  const double values = real(c.value_dim());
  const double width = real(c.delta_chunk);
  const double state = heads * values * keys;
  double chunks = 0.0;
  for (const std::int64_t n : c.query_lens) chunks += std::ceil(real(n) / width);
  const double between = tokens * heads * (width + keys + 2.0 * values) + chunks * state;
  SampleSize size = gated_delta_step_size(c);
  size.bytes += 4.0 * between;
  size.numbers += between;
  size.kept += between;
  size.products += tokens * (state + heads * width * (2.0 * keys + values + width) / 2.0);
  return size;
}

}  // namespace preflight::sample
