// Memory settings of releases with one flag per graph setting (up to 0.5.13).
//
// Source: ServerArgs._handle_gpu_memory_settings. Tested by tests/resolve_memory_test.cpp.
#include <algorithm>

#include "src/resolve/graphs/graph_sizes.h"
#include "src/resolve/cache/memory_detail.h"
#include "src/resolve/core/operators.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve::memory {
namespace {

void default_decode_graph_flags(Resolution& r) {
  if (!r.is(Field::device, "cpu")) {
    if (r.none(Field::cuda_graph_bs)) {
      r.set(kSource, Field::cuda_graph_bs, decode_graph_sizes(r, r[Field::cuda_graph_max_bs]));
    } else {
      r.set(kSource, Field::cuda_graph_max_bs, operators::max_of(r, kSource, r[Field::cuda_graph_bs]));
    }
    return;
  }
  if (!r.none(Field::cuda_graph_bs)) {
    r.set(kSource, Field::torch_compile_max_bs, operators::max_of(r, kSource, r[Field::cuda_graph_bs]));
  } else {
    if (!r.on(Field::torch_compile_max_bs)) {
      r.set(kSource, Field::torch_compile_max_bs, r[Field::cuda_graph_max_bs]);
    }
    r.set(kSource, Field::cuda_graph_bs, cpu_graph_sizes(r));
  }
  r.require(RF::kOther, r.integer(Field::torch_compile_max_bs) > 0, kSource, "graph batch sizes must be positive");
  r.set(kSource, Field::cuda_graph_max_bs, r[Field::torch_compile_max_bs]);
}

void default_piecewise_graph_flags(Resolution& r) {
  const auto cap = [&](std::int64_t most) {
    r.set(kSource, Field::piecewise_cuda_graph_max_tokens,
          std::min(r.integer(Field::piecewise_cuda_graph_max_tokens), most));
  };
  if (r.none(Field::piecewise_cuda_graph_max_tokens)) {
    r.set(kSource, Field::piecewise_cuda_graph_max_tokens, use_mla(r) ? Value(2048) : r[Field::chunked_prefill_size]);
    if (!r.none(Field::max_total_tokens)) cap(r.integer(Field::max_total_tokens));
    if (is_llama_2(r)) cap(4096);
  }
  if (r.since(v0_5(13)) && !r.none(Field::context_length)) cap(r.integer(Field::context_length));
  if (r.none(Field::piecewise_cuda_graph_tokens)) {
    r.set(kSource, Field::piecewise_cuda_graph_tokens,
          prefill_graph_sizes(r, r[Field::piecewise_cuda_graph_max_tokens]));
  }
}

double reserved_mib_by_flags(Resolution& r, const Value& memory_mib) {
  const double max_bs = r.number(Field::cuda_graph_max_bs);
  const double dp_size = r.number(Field::dp_size);
  double reserved = 512 + activation_tokens(r) * 1.5;
  reserved += max_bs * 2;
  reserved += r.number(Field::tp_size) * r.number(Field::pp_size) / 8 * 1024;
  if (r.on(Field::enable_dp_attention)) {
    reserved += max_bs * dp_size * 3;
    if (max_bs > 300) reserved += max_bs * dp_size * 1.5;
  }
  if (!r.on(Field::disable_piecewise_cuda_graph)) {
    reserved +=
        use_mla(r) ? 1.5 * 1024 : static_cast<double>(r[Field::piecewise_cuda_graph_tokens].as_list().size()) * 8;
  }
  if (!memory_mib.is_none() && memory_mib.as_int() > 60 * kGiB) reserved = std::max(reserved, 10.0 * 1024);
  if (r.is(Field::speculative_algorithm, "STANDALONE")) {
    reserved += 6 * 1024;  // a whole draft model and its graphs
  } else if (!r.none(Field::speculative_algorithm) && !r.is(Field::speculative_algorithm, "NGRAM")) {
    reserved += 4 * 1024;
  }
  return reserved;
}

}  // namespace

void settings_by_flags(Resolution& r, const Value& memory_mib) {
  const Capacity capacity = capacity_of(r, memory_mib);
  if (r.none(Field::chunked_prefill_size)) {
    r.set(kSource, Field::chunked_prefill_size, capacity.chunked_prefill_size);
  }
  if (r.none(Field::cuda_graph_max_bs)) r.set(kSource, Field::cuda_graph_max_bs, capacity.graph_max_bs);
  default_decode_graph_flags(r);
  default_piecewise_graph_flags(r);
  if (r.none(Field::mem_fraction_static)) {
    r.set(kSource, Field::mem_fraction_static,
          fraction_left(r, reserved_mib_by_flags(r, memory_mib), memory_mib, 0.88));
    if (r.model().is_multimodal && !r.on(Field::language_only)) {
      r.set("adjust_mem_fraction_for_vlm", Field::mem_fraction_static,
            reduced_for_vision(r, r.number(Field::mem_fraction_static)));
    }
  }
}

}  // namespace preflight::resolve::memory
