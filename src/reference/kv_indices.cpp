// Reference of the token indices: the slots of all tokens, request after request, in a buffer whose rest keeps what it
// starts with; a "page" is a token, so that the last one holds one token; tiles of 128 cover every token. What a
// buffer too small for the tokens cannot hold is not expected of it. Checked in tests/kernels/reference_test.cpp
// against indices made from pages.
#include <algorithm>

#include "preflight/reference.h"
#include "src/reference/results.h"

namespace preflight::reference {

std::vector<Expected> kv_indices(const SampleBatch& batch) {
  constexpr std::int64_t kTile = 128;
  constexpr double kNoTile = -1.0;
  const Tensor& req_to_token = batch.input("req_to_token");
  const Tensor& rows = batch.input("req_pool_indices");
  const Tensor& lengths = batch.input("cache_seqlens");
  const auto shape_of = [&](std::string_view name) {
    return std::ranges::find(batch.outputs, name, &OutputSpec::name)->shape;
  };
  Expected indptr{"kv_indptr", {0.0}};
  Expected indices{"kv_indices", {}};
  Expected last{"kv_last_page_len", {}};
  Expected tiles{"tiles", {}};
  Expected covered{"covered", {}};
  for (std::int64_t b = 0; b < lengths.count(); ++b) {
    const std::int64_t seqlen = lengths.get_int(b);
    for (std::int64_t t = 0; t < seqlen; ++t) {
      indices.values.push_back(req_to_token.get(rows.get_int(b) * req_to_token.shape[1] + t));
    }
    indptr.values.push_back(static_cast<double>(indices.values.size()));
    last.values.push_back(seqlen > 0 ? 1.0 : 0.0);
    for (std::int64_t start = 0; start < shape_of("tiles")[1] * kTile; start += kTile) {
      tiles.values.push_back(start < seqlen ? static_cast<double>(start) : kNoTile);
      tiles.values.push_back(start < seqlen ? static_cast<double>(std::min(start + kTile, seqlen)) : kNoTile);
    }
    covered.values.push_back(static_cast<double>(seqlen));
  }
  indices.values.resize(static_cast<std::size_t>(shape_of("kv_indices")[0]), kUnwrittenIndex);
  return handed_over(std::move(indptr), std::move(indices), std::move(last), std::move(tiles), std::move(covered));
}

}  // namespace preflight::reference
