#include "src/kernels/defects.h"

#include <algorithm>
#include <array>

namespace preflight::defects {
namespace {

// What no kernel computes: its page table, the size of its workspace. The dealing out of heads is in
// tensor_parallel.cpp.
enum HostDefect : int {
  kTokenTable = 10,
  kUnstridedTable = 20,
  kUndividedTable = 21,
  kWorkspaceOfOtherSplits = 240,
};

constexpr std::array kDefects{
    // Page tables and lengths.
    Defect{kTokenTable, "token slots are passed as page ids", "mla_decode --page 64 --cache-seqlens 129,200"},
    Defect{kTokenTable, "token slots are passed as page ids",
           "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 129,200"},
    Defect{kUnstridedTable, "the table has one column per token, divided by the page size",
           "mla_decode --cache-seqlens 129,200"},
    Defect{kUndividedTable, "the table is strided but holds slots", "mla_decode --cache-seqlens 129,200"},
    Defect{30, "the last page is lost (floor for ceil)", "mla_decode --inputs last --cache-seqlens 65,127,129"},
    Defect{30, "the last page is lost (floor for ceil)", "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,130"},
    Defect{40, "the tail of the last page is not masked", "mla_decode --cache-seqlens 1,63,64,65"},
    Defect{40, "the tail of the last page is not masked", "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,130"},
    Defect{50, "one key too many (<= for <)", "mla_decode --inputs flat --cache-seqlens 2049,129"},
    Defect{50, "one key too many (<= for <)", "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,130"},
    Defect{60, "table entries past the length are followed", "mla_decode --table-columns 4 --cache-seqlens 129,64"},
    Defect{60, "table entries past the length are followed",
           "paged_decode --heads 8 --kv-heads 2 --table-columns 4 --cache-seqlens 129,64"},
    Defect{70, "masked rows are loaded and multiplied by 0", "mla_decode --cache-seqlens 65,129"},
    Defect{70, "masked rows are loaded and multiplied by 0",
           "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,130"},
    Defect{250, "offsets into the cache wrap, after 64 rows here as 32 bits do in a large pool",
           "mla_decode --cache-seqlens 65,200,129"},
    Defect{250, "offsets into the cache wrap, after 64 rows here as 32 bits do in a large pool",
           "paged_decode --heads 8 --kv-heads 4 --cache-seqlens 65,200,129"},
    Defect{260, "the table's row pitch is the request's own page count", "mla_decode --cache-seqlens 65,200,129"},
    Defect{260, "the table's row pitch is the request's own page count",
           "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,200,129"},
    Defect{270, "an empty request divides 0 by 0", "mla_decode --cache-seqlens 65,0"},
    Defect{270, "an empty request divides 0 by 0",
           "paged_decode --heads 8 --kv-heads 2 --kv-splits 3 --cache-seqlens 200,0,65"},
    Defect{kTokenTable, "token slots are written as page ids", "page_table --cache-seqlens 1,63,64,65,127,128,129,0"},
    Defect{12, "requests are looked up by their position in the batch", "page_table --cache-seqlens 130,200,65"},
    Defect{kUnstridedTable, "the builder takes every token, divided by the page size",
           "page_table --cache-seqlens 130,200,65"},
    Defect{kUndividedTable, "the builder strides but does not divide", "page_table --cache-seqlens 130,200,65"},
    Defect{31, "the last column is not built (floor for ceil)", "page_table --cache-seqlens 130,200,65"},
    Defect{260, "the table is built column by column", "page_table --cache-seqlens 130,200,65"},
    // Token indices.
    Defect{22, "token indices are divided by the page size", "kv_indices --cache-seqlens 1,63,64,65"},
    // One request: of two the later one's indices fall upon the earlier one's, and whose stay depends on which is last.
    Defect{320, "offsets count pages, entries are tokens", "kv_indices --cache-seqlens 65"},
    Defect{321, "the last page of one token is given the whole length", "kv_indices --cache-seqlens 1,63,64,65"},
    Defect{330, "the work planner takes an index for a page", "kv_indices --cache-seqlens 1,63,64,65"},
    // What such a plan leaves of attention.
    Defect{330, "attention over as many tokens as there are pages", "mla_decode --cache-seqlens 129,200"},
    Defect{330, "attention over as many tokens as there are pages",
           "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 129,200"},
    // Local attention.
    Defect{kTokenTable, "token slots are taken for pages of the chunk",
           "local_decode --heads 8 --kv-heads 2 --chunk 128 --cache-seqlens 129,200,320"},
    Defect{310, "the chunk is cut to whole pages of the longest sequence",
           "local_decode --heads 8 --kv-heads 2 --chunk 8192 --cache-seqlens 500,65"},
    Defect{311, "a chunk that is just full has no keys",
           "local_decode --heads 8 --kv-heads 2 --chunk 128 --cache-seqlens 128,256,300"},
    Defect{312, "a chunk's worth of keys from where the chunk begins",
           "local_decode --heads 8 --kv-heads 2 --chunk 128 --cache-seqlens 129,200"},
    Defect{314, "every chunk starts at the request's first page",
           "local_decode --heads 8 --kv-heads 2 --chunk 128 --cache-seqlens 129,200"},
    // Tensor parallelism.
    Defect{400, "replicated KV heads are dealt out in turn",
           "paged_decode --heads 8 --kv-heads 2 --tp 4 --cache-seqlens 65,130"},
    Defect{401, "value heads are dealt out in turn, key heads in blocks",
           "gated_delta_step --heads 4 --v-heads 8 --tp 2 --head-dim 64 --l2norm --query-lens 9,1"},
    Defect{401, "value heads are dealt out in turn, key heads in blocks",
           "gated_delta_chunk --heads 4 --v-heads 8 --tp 2 --head-dim 64 --query-lens 65"},
    // Merge of partial results.
    Defect{70, "values of the empty side are multiplied by 0", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    Defect{80, "weights are not divided by their sum", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    Defect{90, "the two sides are averaged", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    Defect{110, "rows empty on both sides subtract infinities", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    Defect{111, "an empty side marked +inf counts in full", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    Defect{112, "an empty side marked NaN counts", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    Defect{121, "natural log-sum-exps are taken for base 2", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    Defect{130, "log-sum-exps are read as [heads, tokens]", "merge_state --tokens 7 --heads 3 --head-dim 64"},
    // Gated delta rule.
    Defect{180, "value heads map to key heads by modulo",
           "gated_delta_step --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 9,8,1"},
    Defect{180, "value heads map to key heads by modulo",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --query-lens 63,64,65"},
    // A state of one work-group: what several read of each other's rows may have been written back already.
    Defect{340, "the state is read transposed",
           "gated_delta_step --heads 2 --v-heads 4 --head-dim 16 --l2norm --query-lens 9,8,1"},
    Defect{341, "the state decays after the update",
           "gated_delta_step --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 9,8,1"},
    Defect{342, "beta is left out", "gated_delta_step --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 9,8,1"},
    Defect{343, "the norm's epsilon is added outside the root",
           "gated_delta_step --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 9,8,1"},
    Defect{343, "the norm's epsilon is added outside the root",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 65,9"},
    Defect{344, "softplus is cut at 1 for 20",
           "gated_delta_step --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 9,8,1"},
    Defect{345, "the scale is left out",
           "gated_delta_step --heads 2 --v-heads 4 --head-dim 64 --l2norm --query-lens 9,8,1"},
    // Into the first slot, which is nobody's where one request alone has one: its owner could write last.
    Defect{350, "a request without a slot writes its state back",
           "gated_delta_step --heads 4 --v-heads 8 --head-dim 64 --query-lens 1,1 --padded 1"},
    Defect{360, "the chunk's system is not inverted (I - L)",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --query-lens 63,64,65"},
    Defect{361, "the chunk's diagonal is included",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --query-lens 63,64,65"},
    Defect{362, "log decays are not summed",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --query-lens 63,64,65"},
    Defect{363, "keys are not decayed in w",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --query-lens 63,64,65"},
    Defect{364, "the state does not decay over a chunk",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --query-lens 63,64,65"},
    Defect{365, "a token does not see itself",
           "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --query-lens 63,64,65"},
    // Causal convolution.
    Defect{390, "the taps of the oldest and the current token are swapped",
           "causal_conv1d --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,2,5"},
    Defect{391, "the kept tokens are read newest first",
           "causal_conv1d --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,2,5"},
    Defect{392, "the window does not move, its newest token is overwritten",
           "causal_conv1d --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,2,5"},
    Defect{393, "a request without a prefix takes what its slot held",
           "causal_conv1d --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,2,5 --zero-state"},
    Defect{394, "the bias is added behind the activation",
           "causal_conv1d --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,2,5"},
    Defect{395, "the activation is left out", "causal_conv1d --heads 2 --v-heads 4 --head-dim 32 --query-lens 1,2,5"},
    // Rotary embedding.
    Defect{370, "sections follow each other where they take turns",
           "mrope --tokens 5 --heads 16 --kv-heads 4 --head-dim 256 --rotary 64 --sections 11,11,10 --interleaved"},
    Defect{371, "halves are paired for neighbours, or the reverse",
           "mrope --tokens 5 --heads 16 --kv-heads 4 --head-dim 256 --rotary 64 --sections 11,11,10 --interleaved"},
    Defect{372, "sections are shifted by one axis",
           "mrope --tokens 3 --heads 28 --kv-heads 4 --head-dim 128 --sections 16,24,24"},
    Defect{373, "all axes use the first position",
           "mrope --tokens 5 --heads 16 --kv-heads 4 --head-dim 256 --rotary 64 --sections 11,11,10 --interleaved"},
    Defect{374, "the rotation turns backwards", "mrope --tokens 4 --heads 8 --kv-heads 2 --head-dim 64"},
    Defect{375, "positions are read as [tokens, axes]",
           "mrope --tokens 5 --heads 16 --kv-heads 4 --head-dim 256 --rotary 64 --sections 11,11,10 --interleaved"},
    Defect{376, "keys are not rotated", "mrope --tokens 4 --heads 8 --kv-heads 2 --head-dim 64"},
    // Splits and their merge.
    Defect{80, "splits are added without rescaling", "mla_decode --inputs drift --kv-splits 4 --cache-seqlens 511,130"},
    Defect{80, "splits are added without rescaling",
           "paged_decode --heads 8 --kv-heads 2 --inputs drift --kv-splits 4 --cache-seqlens 511,130"},
    Defect{90, "normalised splits are averaged", "mla_decode --kv-splits 4 --cache-seqlens 320,257,1"},
    Defect{100, "a split without tokens is merged", "mla_decode --kv-splits 4 --cache-seqlens 320,257,1"},
    Defect{120, "maxima in base 2 are taken for base e",
           "mla_decode --kv-splits 2 --cache-seqlens 1,63,64,65 --seed 7"},
    Defect{90, "normalised splits are averaged",
           "paged_decode --heads 8 --kv-heads 2 --kv-splits 4 --cache-seqlens 320,257,1"},
    Defect{100, "a split without tokens is merged",
           "paged_decode --heads 8 --kv-heads 2 --kv-splits 4 --cache-seqlens 320,257,1"},
    Defect{120, "maxima in base 2 are taken for base e",
           "paged_decode --heads 8 --kv-heads 2 --kv-splits 2 --cache-seqlens 65,130"},
    Defect{230, "the statistics overlap the partial outputs",
           "mla_decode --kv-splits 2 --cache-seqlens 1,63,64,65 --seed 7"},
    // Whichever is written last, one of the two is wrong: no split may be too light to count, so not the drift inputs,
    // and no later request may stand where they overlap, for in flat inputs its row is to be no number anyway.
    Defect{230, "the statistics overlap the partial outputs",
           "paged_decode --heads 8 --kv-heads 2 --inputs flat --kv-splits 4 --cache-seqlens 320"},
    Defect{kWorkspaceOfOtherSplits, "the workspace is sized for fewer splits",
           "mla_decode --heads 1 --latent 256 --rope 32 --kv-splits 4 --cache-seqlens 257"},
    // Scale, layout, heads.
    Defect{130, "the log-sum-exp is written [heads, requests]", "mla_decode --heads 3 --cache-seqlens 129,64"},
    Defect{130, "the log-sum-exp is written [heads, requests]",
           "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,130"},
    Defect{140, "scaled by 576^-0.5 where 192^-0.5 is meant", "mla_decode --cache-seqlens 100,65"},
    Defect{141, "log2 e is missing before exp2", "mla_decode --cache-seqlens 100,65"},
    Defect{141, "log2 e is missing before exp2",
           "paged_decode --heads 8 --kv-heads 2 --softcap 2 --cache-seqlens 65,130"},
    Defect{150, "the rotary part is read as the first of the row", "mla_decode --cache-seqlens 100,65"},
    Defect{151, "values start at the rotary width", "mla_decode --cache-seqlens 100,65"},
    Defect{160, "the rotary part is left out", "mla_decode --cache-seqlens 100,65"},
    Defect{170, "queries are read as [heads, requests]", "mla_decode --cache-seqlens 100,65"},
    Defect{170, "queries are read as [heads, requests]", "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,130"},
    Defect{180, "query heads map to KV heads by modulo", "paged_decode --heads 8 --kv-heads 2 --cache-seqlens 65,130"},
    // Accumulation.
    Defect{190, "the sum of weights is kept in bf16", "mla_decode --inputs flat --cache-seqlens 2049,129"},
    Defect{190, "the sum of weights is kept in bf16",
           "paged_decode --heads 8 --kv-heads 2 --inputs flat --cache-seqlens 2049,129"},
    Defect{200, "the output accumulates in bf16", "mla_decode --inputs flat --cache-seqlens 2049,129"},
    Defect{200, "the output accumulates in bf16",
           "paged_decode --heads 8 --kv-heads 2 --inputs flat --cache-seqlens 2049,129"},
    Defect{210, "the maximum is not subtracted", "mla_decode --inputs peaked --cache-seqlens 127,65"},
    Defect{210, "the maximum is not subtracted",
           "paged_decode --heads 8 --kv-heads 2 --inputs peaked --kv-splits 2 --cache-seqlens 300,65"},
    Defect{220, "what was summed before a new maximum is not rescaled",
           "mla_decode --inputs drift --cache-seqlens 511,130"},
    Defect{220, "what was summed before a new maximum is not rescaled",
           "paged_decode --heads 8 --kv-heads 2 --inputs drift --cache-seqlens 511,130"},
    // Window, sinks, soft cap, fp8 scales.
    Defect{280, "the window excludes its first key",
           "paged_decode --heads 8 --kv-heads 2 --window 31 --inputs edge --cache-seqlens 64,65,200"},
    Defect{281, "the window is taken from query index 0",
           "paged_decode --heads 8 --kv-heads 2 --window 31 --cache-seqlens 1,64,65,200"},
    Defect{290, "the sink is scaled like a score",
           "paged_decode --heads 8 --kv-heads 2 --head-dim 64 --sinks --cache-seqlens 1,64,65"},
    Defect{291, "the sink is added once per split",
           "paged_decode --heads 8 --kv-heads 2 --head-dim 64 --sinks --kv-splits 4 --cache-seqlens 0,65,320"},
    Defect{300, "the soft cap is ignored", "paged_decode --heads 8 --kv-heads 2 --softcap 2 --cache-seqlens 65,130"},
    Defect{301, "the soft cap is applied after the mask",
           "paged_decode --heads 8 --kv-heads 2 --softcap 2 --cache-seqlens 65,130"},
    Defect{
        380, "the scale of fp8 keys is not applied",
        "paged_decode --heads 8 --kv-heads 2 --kv-dtype fp8_e4m3 --k-scale 0.5 --v-scale 0.25 --cache-seqlens 65,130"},
    Defect{
        381, "the scale of fp8 values is applied twice",
        "paged_decode --heads 8 --kv-heads 2 --kv-dtype fp8_e4m3 --k-scale 0.5 --v-scale 0.25 --cache-seqlens 65,130"},
};

Tensor& tensor(SampleBatch& batch, std::string_view name) {
  return *std::ranges::find(batch.inputs, name, &Tensor::name);
}

// Every entry of the table anew, from the page it holds; kept inside the pool so that the wrong kernel fails by its
// numbers and not by a fault.
template <typename Change>
void change_table(SampleBatch& batch, Change change) {
  if (batch.find_input("page_table") == nullptr) return;  // the mistake is the kernel's own
  Tensor& table = tensor(batch, batch.find_input("block_table") == nullptr ? "page_table" : "block_table");
  const Tensor original = table;
  const std::int64_t num_pages = batch.inputs[batch.kernel_case.kernel == "mla_decode" ? 2 : 1].shape[0];
  const std::int64_t columns = table.shape[1];
  for (std::int64_t i = 0; i < table.count(); ++i) {
    if (original.get_int(i) == kUnusedPage) continue;
    table.set_int(i, change(original, i / columns * columns, i % columns) % num_pages);
  }
}

}  // namespace

std::span<const Defect> defect_table() { return kDefects; }

SampleBatch spoil(SampleBatch batch, int id) {
  const std::int64_t page_size = batch.kernel_case.page_size;
  if (id == kTokenTable) {
    // Column c of a token table is the slot of token c.
    change_table(batch, [&](const Tensor& table, std::int64_t row, std::int64_t column) {
      return table.get_int(row + column / page_size) * page_size + column % page_size;
    });
  } else if (id == kUnstridedTable) {
    change_table(batch, [&](const Tensor& table, std::int64_t row, std::int64_t column) {
      return table.get_int(row + column / page_size);
    });
  } else if (id == kUndividedTable) {
    change_table(batch, [&](const Tensor& table, std::int64_t row, std::int64_t column) {
      return table.get_int(row + column) * page_size;
    });
  }
  return batch;
}

KernelCase workspace_case(KernelCase kernel_case, int id) {
  if (id == kWorkspaceOfOtherSplits && kernel_case.kv_splits > 1) --kernel_case.kv_splits;
  return kernel_case;
}

}  // namespace preflight::defects
