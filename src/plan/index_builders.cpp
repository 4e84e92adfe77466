// Plans what prepares attention's inputs and merges its outputs: page tables and token indices as the decode backend
// builds them, local (chunked) attention, merge of partial results.
#include <string>

#include <fmt/format.h>

#include "src/plan/planners.h"

namespace preflight::plan {
namespace {

std::string pages_text(const DecodeShape& shape) {
  return fmt::format("decode backend {}, page size {}", shape.decode_backend, shape.page_size);
}

// Why no kernel attends to a chunk; empty where one does.
std::string why_no_local_decode(const PlanContext& context, std::int64_t chunk) {
  const DecodeShape& shape = context.shape;
  if (!context.model.is_generation) return std::string(kNoDecodeStep);
  if (shape.decode_backend != "intel_xpu") {
    return fmt::format("decode backend {} attends to the whole sequence, not to the chunk", shape.decode_backend);
  }
  if (chunk % shape.page_size != 0) {
    return fmt::format("a chunk of {} tokens is no whole number of pages of {}", chunk, shape.page_size);
  }
  return {};
}

// The mistakes of local attention, each of which any judge has to see; none where a page has one token.
PlannedKernel local_mistakes(const KernelCase& first, const KernelCase& last, std::int64_t page_size) {
  PlannedKernel mistakes{"local_decode", "the table of token slots taken for pages", {first}};
  KernelCase& token_table = mistakes.cases.front();
  std::erase(token_table.cache_seqlens, first.chunk);  // a full one takes longest and tells no more
  token_table.table = Granularity::kToken;
  // A cut to whole pages of the longest sequence shows where that is within the chunk and no whole number of pages; a
  // chunk of one page is never cut.
  if (first.chunk > page_size) {
    KernelCase& shrunk = mistakes.cases.emplace_back(last);
    if (shrunk.max_seqlen() >= shrunk.chunk) shrunk.cache_seqlens.front() = page_size + page_size / 2;
    shrunk.shrink_chunk = true;
    mistakes.why += ", and the chunk cut to whole pages of the longest sequence: both are run and must be refused";
  } else {
    mistakes.why += ": it is run and must be refused";
  }
  for (KernelCase& mistake : mistakes.cases) mistake.must_fail = true;
  return mistakes;
}

}  // namespace

// intel_xpu reads a table of pages; triton and aiter read the slots of all tokens.
void plan_indices(const PlanContext& context, Plan& plan) {
  const DecodeShape& shape = context.shape;
  if (context.model.num_attention_heads == 0) return;
  KernelCase c;
  c.page_size = shape.page_size;
  c.cache_seqlens = edge_seqlens(shape.page_size);
  if (shape.decode_backend == "intel_xpu") {
    c.kernel = "page_table";
    plan.kernels.push_back({"page_table", pages_text(shape) + ": a column a page", planned_cases(c)});
    return;
  }
  if (shape.decode_backend != "triton" && shape.decode_backend != "aiter") return;
  c.kernel = "kv_indices";
  plan.kernels.push_back({"kv_indices", pages_text(shape) + ": an index a token", planned_cases(c)});
  if (shape.decode_backend != "aiter" || !context.model.is_mla() || shape.page_size == 1) return;
  // What SGLang did before 0.5.13: the buffer got an entry a page, and the planner was told that an index is a page and
  // a tile max(128, page) tokens.
  KernelCase by_page = c;
  by_page.sizing = Granularity::kPage;
  by_page.must_fail = true;
  KernelCase prefix = c;
  prefix.index_block = shape.page_size;
  prefix.must_fail = true;
  plan.kernels.push_back({"kv_indices",
                          pages_text(shape) + ": before 0.5.13 the buffer had an entry a page and was overrun, with "
                                              "unified attention, too, and the work plan covered a prefix; both are "
                                              "run and must be refused",
                          {by_page, prefix}});
}

void plan_local_attention(const PlanContext& context, Plan& plan) {
  constexpr std::int64_t kDefaultChunk = 8192;
  const ModelFacts& model = context.model;
  const DecodeShape& shape = context.shape;
  if (!model.is_local_attention_model || model.is_mla()) return;
  const std::int64_t chunk = model.attention_chunk_size.value_or(kDefaultChunk);
  if (std::string why = why_no_local_decode(context, chunk); !why.empty()) {
    plan.skipped.push_back({"local_decode", std::move(why)});
    return;
  }
  KernelCase c = paged_case(context);
  c.kernel = "local_decode";
  c.chunk = chunk;
  std::vector<KernelCase> cases = planned_cases(c);
  PlannedKernel mistakes = local_mistakes(cases.front(), cases.back(), shape.page_size);
  plan.kernels.push_back({"local_decode",
                          fmt::format("{}: layers that see a chunk of {} tokens", pages_text(shape), chunk),
                          std::move(cases)});
  if (shape.page_size > 1) plan.kernels.push_back(std::move(mistakes));
}

// A prefix in the cache and the new tokens are attended to apart, and merged.
void plan_merge(const PlanContext& context, Plan& plan) {
  const ModelFacts& model = context.model;
  if (!model.is_mla() || context.shape.decode_backend.empty()) return;
  KernelCase c{.kernel = "merge_state"};
  c.dtype = context.shape.dtype;
  c.num_q_heads = context.shape.num_q_heads;
  c.head_dim = model.v_head_dim > 0 ? model.v_head_dim : 128;
  plan.kernels.push_back(
      {"merge_state",
       fmt::format("latent attention over a cached prefix: {} heads per rank of {} values", c.num_q_heads, c.head_dim),
       planned_cases(c)});
}

}  // namespace preflight::plan
