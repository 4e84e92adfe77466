// Reference of the chunked gated delta rule. What the chunk's matrices mean, without inverting one:
//   w and u are what the recurrence makes of a chunk: v_new_i = u_i - S w_i is the update beta_i (v_i - S' k_i) of
//   token i when the chunk starts in state S, taken back to the chunk's start (S' is the state before it, decayed). So
//   w_i and u_i follow token by token:  x_i = beta_i (y_i - sum_(j<i) (k_i . k_j) e^(G_i - G_j) x_j), with y = v for u,
//   e^G k for w. Column j of A is the same recursion on the j-th unit vector, without beta.
// The states, v_new and the outputs come from the recurrence itself. Checked in tests/kernels/reference_test.cpp: A
// against I + L, and o and the states against the formulas of the chunked kernels.
#include <algorithm>

#include "src/reference/gated_delta.h"

namespace preflight::reference {
namespace {

using Rows = std::vector<std::vector<double>>;

struct Chunk {
  Rows q, k, v;
  std::vector<double> g, beta, sums;
};

// L, row i as far as its diagonal: what key i has in common with the keys before it, each decayed since then.
Rows below_diagonal(const Chunk& chunk) {
  Rows l(chunk.k.size());
  for (std::size_t i = 0; i < l.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double product = dot(chunk.k[i].data(), chunk.k[j].data(), static_cast<std::int64_t>(chunk.k[i].size()));
      l[i].push_back(chunk.beta[i] * product * std::exp(chunk.sums[i] - chunk.sums[j]));
    }
  }
  return l;
}

// x_i = y_i - sum_(j<i) L_ij x_j.
Rows substitute(const Rows& l, Rows x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      add_scaled(x[i].data(), -l[i][j], x[j].data(), static_cast<std::int64_t>(x[i].size()));
    }
  }
  return x;
}

Rows scaled(Rows rows, const std::vector<double>& gains) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (double& value : rows[i]) value *= gains[i];
  }
  return rows;
}

Chunk read_chunk(const SampleBatch& batch, std::int64_t hv, std::int64_t begin, std::int64_t end) {
  const KernelCase& kernel_case = batch.kernel_case;
  const std::int64_t heads = kernel_case.value_heads();
  const std::int64_t values = kernel_case.value_dim();
  Chunk chunk;
  double sum = 0.0;
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t key_row = t * kernel_case.num_q_heads + hv / (heads / kernel_case.num_q_heads);
    const std::int64_t at = t * heads + hv;
    chunk.q.push_back(delta_row(batch, "q", key_row));
    chunk.k.push_back(delta_row(batch, "k", key_row));
    chunk.v.emplace_back();
    for (std::int64_t i = at * values; i < (at + 1) * values; ++i) chunk.v.back().push_back(batch.input("v").get(i));
    chunk.g.push_back(batch.input("g").get(at));
    chunk.beta.push_back(batch.input("beta").get(at));
    chunk.sums.push_back(sum += chunk.g.back());
  }
  return chunk;
}

}  // namespace

std::vector<Expected> gated_delta_chunk(const SampleBatch& batch) {
  const KernelCase& kernel_case = batch.kernel_case;
  const std::int64_t heads = kernel_case.value_heads();
  const std::int64_t values = kernel_case.value_dim();
  const std::int64_t keys = kernel_case.head_dim;
  const std::int64_t width = kernel_case.delta_chunk;
  const std::int64_t head_size = values * keys;
  const Tensor& starts = batch.input("cu_seqlens");
  std::vector<Expected> expected;
  for (const OutputSpec& output : batch.outputs) {
    std::int64_t count = 1;
    for (const std::int64_t extent : output.shape) count *= extent;
    expected.push_back({output.name, std::vector<double>(static_cast<std::size_t>(count), 0.0)});
  }
  expected.push_back({"state", batch.input("state").to_doubles()});
  Expected sizes{row_sizes_of("o"), std::vector<double>(expected[0].values.size() / static_cast<std::size_t>(values))};
  const auto put = [&](std::size_t output, std::int64_t at, const std::vector<double>& row) {
    std::copy(row.begin(), row.end(), expected[output].values.begin() + at);
  };
  std::int64_t first_chunk = 0;
  for (std::int64_t r = 0; r + 1 < starts.count(); ++r) {
    const std::int64_t slot = batch.input("state_indices").get_int(r);
    const std::int64_t end = starts.get_int(r + 1);
    for (std::int64_t hv = 0; hv < heads; ++hv) {
      std::vector<double> scratch(static_cast<std::size_t>(head_size), 0.0);
      double* state = slot < 0 ? scratch.data()
                               : &expected.back().values[static_cast<std::size_t>((slot * heads + hv) * head_size)];
      std::int64_t c = first_chunk;
      for (std::int64_t begin = starts.get_int(r); begin < end; begin += width, ++c) {
        const Chunk chunk = read_chunk(batch, hv, begin, std::min(end, begin + width));
        std::vector<double> decays;
        for (std::size_t i = 0; i < chunk.k.size(); ++i) decays.push_back(chunk.beta[i] * std::exp(chunk.sums[i]));
        Rows unit(chunk.k.size(), std::vector<double>(static_cast<std::size_t>(width), 0.0));
        for (std::size_t i = 0; i < unit.size(); ++i) unit[i][i] = 1.0;
        const Rows l = below_diagonal(chunk);
        const Rows a = substitute(l, unit);
        const Rows w = substitute(l, scaled(chunk.k, decays));
        const Rows u = substitute(l, scaled(chunk.v, chunk.beta));
        put(5, (c * heads + hv) * head_size, std::vector<double>(state, state + head_size));
        const std::vector<double> before(state, state + head_size);
        for (std::size_t i = 0; i < chunk.k.size(); ++i) {
          const std::int64_t at = (begin + static_cast<std::int64_t>(i)) * heads + hv;
          std::vector<double> update(u[i]);
          for (std::size_t e = 0; e < update.size(); ++e) {
            update[e] -= dot(before.data() + e * w[i].size(), w[i].data(), keys);
          }
          std::vector<double> out = delta_step(state, chunk.q[i], chunk.k[i], chunk.v[i], chunk.g[i], chunk.beta[i]);
          for (double& value : out) value *= delta_scale(kernel_case);
          put(0, at * values, out);
          sizes.values[static_cast<std::size_t>(at)] =
              delta_row_size(kernel_case, state, static_cast<std::size_t>(head_size), chunk.q[i]);
          put(1, at, {chunk.sums[i]});
          put(2, at * width, a[i]);
          put(3, at * keys, w[i]);
          put(4, at * values, u[i]);
          put(6, at * values, update);
        }
      }
    }
    first_chunk += (end - starts.get_int(r) + width - 1) / width;
  }
  expected.push_back(std::move(sizes));
  return expected;
}

}  // namespace preflight::reference
