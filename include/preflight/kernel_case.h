// Stage 4/5: KernelCase, one kernel invocation as data, and its text form, the case line.
//
//   mla_decode --dtype bf16 --heads 16 --page 64 --kv-splits 2 --cache-seqlens 1,63,64,65 --page-order shuffled --seed
//   7
//
// A case line reproduces itself: the same line gives the same tensors bit by bit on every machine, and every verdict
// prints its line. Options left out have the defaults below; print_case() leaves out what equals the default.
// The options are one table, src/sample/case_options.cpp. Tested by tests/sample_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/dtype.h"
#include "preflight/result.h"

namespace preflight {

// How physical pages are handed out. kShared: requests share the pages of their common prefix.
enum class PageOrder : std::uint8_t { kSequential, kShuffled, kShared };

// What the numbers look like; one regime is never enough, because each is blind to some defects:
//   mid     N(0,1): scores of std ~1.7; sees scale, mask and merge
//   peaked  queries x100: the softmax picks one token, scores pass exp's overflow; sees wrong rows and heads
//   flat    everything /10: the output is the mean of V; sees lost, extra or double-counted tokens
//   drift   scores rise along the sequence, the maximum moves in every tile; sees a missing rescale
//   last    one dominant key at the last valid token;  page  at the first token of the last page;  edge  at the first
//           visible key (window start)
enum class Inputs : std::uint8_t { kMid, kPeaked, kFlat, kDrift, kLast, kPage, kEdge };

// What one entry of a table or an index buffer stands for.
enum class Granularity : std::uint8_t { kToken, kPage };

struct KernelCase {
  std::string kernel;

  // Attention shape, of one attention-TP rank.
  DType dtype = DType::kBf16;          // queries and output
  std::optional<DType> kv_dtype;       // --kv-dtype; none = dtype
  std::int64_t num_q_heads = 16;       // --heads
  std::int64_t num_kv_heads = 1;       // --kv-heads; MLA has one
  std::int64_t head_dim = 128;         // --head-dim (of q and k)
  std::int64_t v_head_dim = 0;         // --v-head-dim; 0 = head_dim
  std::int64_t kv_lora_rank = 512;     // --latent, MLA
  std::int64_t qk_rope_head_dim = 64;  // --rope, MLA
  double softmax_scale = 0.0;          // --scale; 0 = (qk dims before absorption)^-0.5

  // Paged cache.
  std::int64_t page_size = 64;              // --page, in tokens
  std::vector<std::int64_t> cache_seqlens;  // --cache-seqlens, one per request, current token included
  std::int64_t table_columns = 0;           // --table-columns, page-table width; 0 = ceil(longest / page_size)
  PageOrder page_order = PageOrder::kShuffled;
  std::int64_t first_page =
      0;  // --first-page: ids of the pool's pages begin here; those before exist and are not touched
  std::int64_t kv_splits = 1;

  // Score modifiers.
  std::int64_t window = -1;  // keys j with seqlen-1-j <= window; -1 = all
  double softcap = 0.0;      // cap * tanh(s / cap) before the mask; 0 = off
  bool sinks = false;        // one extra logit per head in the denominator
  double k_scale = 1.0;      // fp8 descale factors
  double v_scale = 1.0;

  // Tensor parallelism: the heads above are those of all ranks. Every rank runs its share (KV heads replicated where
  // there are fewer than ranks), and the gathered result is judged.
  std::int64_t tp = 1;

  // Local (chunked) attention through virtual batches.
  std::int64_t chunk = 8192;               // --chunk, in tokens
  Granularity table = Granularity::kPage;  // --table: what the builder of virtual batches is given; page is right
  bool shrink_chunk = false;               // --shrink-chunk: cut to whole pages of the longest sequence

  // Index buffers.
  std::int64_t max_batch = 0;                // --max-batch, requests the buffer is for; 0 = those of the case
  std::int64_t context = 0;                  // --context, most tokens of a request; 0 = the longest
  Granularity sizing = Granularity::kToken;  // --sizing of kv_indices; token is right
  std::int64_t index_block = 1;  // --index-block, tokens per index entry told to the work planner; 1 is right

  // merge_state, mrope: independent rows.
  std::int64_t tokens = 1;
  std::int64_t empty_percent = 10;  // --empty: rows of each side without tokens
  bool empty_zeros = false;         // such a side holds zeros, not NaN, and the other side of its row has tokens

  // Gated delta rule: head_dim of keys, v_head_dim of values, num_q_heads key heads.
  std::int64_t num_v_heads = 0;          // --v-heads; 0 = key heads
  std::vector<std::int64_t> query_lens;  // --query-lens, new tokens of each request
  std::int64_t padded = 0;               // --padded requests of a captured batch, without a state of their own
  std::int64_t delta_chunk = 64;         // --chunk-size of the chunked form
  bool l2norm = false;                   // queries and keys are normalised by the kernel
  bool zero_state = false;               // start from nothing instead of a random state
  double undecayed = 0.0;                // share of tokens whose log decay is 0
  double beta_gain = 1.0;                // 2: eigenvalues down to -1
  double gate_normalizer = 1.0;          // log decays are divided by it: the larger, the longer the memory

  // Rotary embedding with a position per axis.
  std::int64_t rotary_dim = 0;         // --rotary; 0 = head_dim
  std::vector<std::int64_t> sections;  // --sections: pairs of each axis; none = one axis
  bool interleaved = false;            // axes take turns instead of following each other
  bool adjacent_pairs = false;         // pairs (2j, 2j+1) instead of (j, j + rotary/2)

  // A planted or historic mistake: the case passes when the judge refuses what it computes.
  bool must_fail = false;

  Inputs inputs = Inputs::kMid;
  std::uint64_t seed = 1;

  [[nodiscard]] DType cache_dtype() const { return kv_dtype.value_or(dtype); }
  [[nodiscard]] std::int64_t value_dim() const { return v_head_dim == 0 ? head_dim : v_head_dim; }
  [[nodiscard]] std::int64_t value_heads() const { return num_v_heads == 0 ? num_q_heads : num_v_heads; }
  [[nodiscard]] std::int64_t num_requests() const { return static_cast<std::int64_t>(cache_seqlens.size()); }
  [[nodiscard]] std::int64_t max_seqlen() const;
  [[nodiscard]] std::int64_t columns() const;  // table_columns, or what the longest request needs
  friend bool operator==(const KernelCase&, const KernelCase&) = default;
};

// The error names the offending word. `where` of the error is empty; callers that read files add file and line.
Result<KernelCase> parse_case(std::string_view line);
std::string print_case(const KernelCase& kernel_case);

// A file of case lines: '#' starts a comment, a trailing backslash joins the next line, blank lines are ignored. A line
// with braces stands for several: `--page {16|32} --heads {1|3}` is four cases; an alternative may be empty. `refuse`
// may say why a case is not taken; "" where it is.
using RefuseCase = std::function<std::string(const KernelCase&)>;
Result<std::vector<KernelCase>> parse_cases(std::string_view text, std::string_view file,
                                            const RefuseCase& refuse = {});

}  // namespace preflight
