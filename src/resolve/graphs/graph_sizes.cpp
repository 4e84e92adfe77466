// Sources: generate_*_batch_sizes in arg_groups/cuda_graph_hook.py, ServerArgs._generate_* before 0.5.20.
// Tested by tests/resolve_memory_test.cpp.
#include "src/resolve/graphs/graph_sizes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/python/integer.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

struct Range {
  std::int64_t first;
  std::int64_t last;  // inclusive
  std::int64_t step;
};

Value::List up_to(Resolution& r, const char* function, std::initializer_list<Range> ranges, const Value& max_size) {
  const std::int64_t most = max_size.as_int();
  const auto length = [&](const Range& range) {
    const std::int64_t last = std::min(range.last, most);
    return last < range.first ? 0 : (last - range.first) / range.step + 1;
  };
  std::int64_t count = 1;  // the caller may add one
  for (const Range& range : ranges) {
    count += length(range);
    if (count <= limits::kListItems) continue;
    if (count <= limits::kPythonItems) {
      r.refuse(RF::kOther, limits::kOurs, function, fmt::format("{} graph sizes are more than any launch has", count));
    }
    // Python asks for the list's length first, which has to fit 64 bits.
    const bool countable = !integer::floor_div(max_size, range.step).is_long_int();
    r.refuse(RF::kOther, countable ? "MemoryError" : "OverflowError", function,
             "the list of graph sizes does not fit in memory");
  }
  Value::List sizes;
  sizes.reserve(static_cast<std::size_t>(count));
  for (const Range& range : ranges) {
    for (std::int64_t s = range.first; s <= std::min(range.last, most); s += range.step) sizes.emplace_back(s);
  }
  return sizes;
}

}  // namespace

Value decode_graph_sizes(Resolution& r, const Value& max_size) {
  const char* function = "generate_decode_cuda_graph_batch_sizes";
  const std::int64_t most = operators::index(r, function, max_size);
  Value::List sizes;
  if (r.on(Field::disable_cuda_graph_padding)) {
    sizes = up_to(r, function, {{1, most, 1}}, max_size);
  } else if (r.none(Field::speculative_algorithm)) {
    sizes = up_to(r, function, {{1, 2, 1}, {4, 12, 4}, {16, 256, 8}, {272, 511, 16}, {512, most, 32}}, max_size);
  } else {
    sizes = up_to(r, function, {{1, 8, 1}, {10, 32, 2}, {40, 64, 4}, {72, 256, 8}, {272, most, 16}}, max_size);
  }
  if (std::find(sizes.begin(), sizes.end(), max_size) == sizes.end()) sizes.push_back(max_size);
  return Value::list(std::move(sizes));
}

Value prefill_graph_sizes(Resolution& r, const Value& max_size) {
  const char* function = "generate_prefill_cuda_graph_batch_sizes";
  const std::int64_t most = operators::index(r, function, max_size);
  return Value::list(up_to(
      r, function, {{4, 32, 4}, {48, 256, 16}, {288, 512, 32}, {576, 1024, 64}, {1280, 4096, 256}, {4608, most, 512}},
      max_size));
}

Value cpu_graph_sizes(Resolution& r) {
  const char* function = "generate_cpu_graph_batch_sizes";
  const std::int64_t most = operators::index(r, function, r[Field::torch_compile_max_bs]);
  if (r.on(Field::disable_cuda_graph_padding))
    return Value::list(up_to(r, function, {{1, most, 1}}, r[Field::torch_compile_max_bs]));
  std::set<std::int64_t> sizes{most};
  for (const Value& s :
       up_to(r, function, {{1, 16, 1}, {18, 30, 2}, {32, 80, 4}, {84, most, 8}}, r[Field::torch_compile_max_bs]))
    sizes.insert(s.as_int());
  return Value::list(Value::List(sizes.begin(), sizes.end()));
}

}  // namespace preflight::resolve
