// The memory sheet: what one GPU holds when the server is up, by SGLang's own arithmetic.
//
// SGLang measures the free memory before and after loading (`pre`, `available`); the KV pool gets
// available - pre * (1 - mem_fraction_static). So weights alone give the least fraction, 1 - available / pre, and what
// SGLang itself would reserve for activations gives the largest that is advisable. Sizes follow
// srt/mem_cache/kv_cache_configurator.py and srt/model_executor/pool_configurator.py of 0.5.23.
// Pure. Tested by tests/memory_sheet_test.cpp against published launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preflight/launch.h"
#include "src/plan/weights.h"

namespace preflight::plan {

// --- the two ends of --mem-fraction-static
// 1 - available / pre: at or below it the weights leave nothing for a KV cache.
double least_fraction(double loaded_gib, double free_before_gib);
// What SGLang advises in its error: rounded up to three digits.
double advised_fraction(double least);

// --- bytes per token and per request, on one rank
struct CacheCost {
  std::int64_t layers = 0;           // with keys and values of the whole context
  std::int64_t bytes_per_token = 0;  // over these layers
  std::int64_t window_layers = 0;    // hybrid sliding window: a pool of its own
  std::int64_t window_bytes_per_token = 0;
  double window_share = 0.0;               // tokens of that pool per token of the full one
  std::int64_t state_layers = 0;           // linear attention, Mamba: one state per request
  std::int64_t state_bytes = 0;            // of one request over these layers
  std::int64_t draft_bytes_per_token = 0;  // of the above two: for a draft model
  std::int64_t index_bytes_per_token = 0;  // of bytes_per_token: index keys of sparse attention
  std::int64_t index_bytes_of_layer = 0;
  bool stage_without_keys = false;  // a pipeline stage whose layers keep nothing
  std::string kind;                 // "MHA", "GQA", "MLA", … for people
  [[nodiscard]] bool keeps_no_keys() const { return bytes_per_token == 0 && window_bytes_per_token == 0; }
};
// nullopt when the configuration does not tell.
std::optional<CacheCost> cache_cost(const Launch& launch);

// A draft model on one rank, and the room it takes in the pool of the target.
struct DraftCost {
  std::int64_t weight_bytes = 0;
  bool exact = true;                  // false when a part of the weights was approximated
  std::int64_t layers = 0;            // charged at the target's bytes of one layer
  std::int64_t window_layers = 0;     // of these with a sliding window: charged in the window's pool
  std::int64_t bytes_per_token = 0;   // where the draft's own sizes count (DFLASH since 0.5.18)
  std::int64_t unreserved = 0;        // layers of its own cache that the pool makes no room for
  bool scaled = false;                // by a quotient of layers that is no whole number (0.5.14 to 0.5.21)
  bool index_of_every_layer = false;  // its layers of sparse attention keep their own index keys (since 0.5.18)
};
// `draft`: the draft's checkpoint, or the target's, read as a draft. With another tensor parallelism where `tp` is
// given.
DraftCost draft_cost(const Launch& launch, const ModelFacts& draft, std::int64_t tp = 0);
// The KV pool is sized before the draft is loaded, which then takes from what is left outside the static budget.
bool draft_comes_after_pool(const Launch& launch);
void add_draft(const DraftCost& draft, CacheCost& cost);

// Measured values in place of estimates.
struct MemoryInputs {
  std::optional<double> weights_gib = {};  // of one rank
  std::optional<double> draft_gib = {};
  std::optional<double> free_gib = {};            // before loading
  std::optional<WeightEstimate> stored = {};      // from the checkpoint's own files (stored_weights.h)
  DraftCost draft = {};                           // estimated, when there is a draft model
  std::optional<std::int64_t> adapter_bytes = 0;  // the buffers of adapters; nullopt: not known
  std::optional<double> advised_most = {};        // the fraction SGLang takes when none is given
};

struct MemorySheet {
  double device_gib = 0.0;
  double free_gib = 0.0;  // before loading
  bool free_is_given = false;
  double weights_gib = 0.0;
  bool weights_given = false;
  bool weights_from_files = false;    // the checkpoint's own
  bool weights_approximated = false;  // the rule for a part of them is not known to the byte
  bool weights_exact = false;         // given, or counted from the files without a rest
  double draft_gib = 0.0;
  bool draft_after_pool = false;        // then the draft takes from what the fraction leaves
  double draft_cache_gib = 0.0;         // of a draft whose cache comes after the pool, outside the budget
  double offloaded_gib = 0.0;           // to host memory
  double adapters_gib = 0.0;            // the buffers that adapters are loaded into
  bool adapters_known = true;           // false: there are some, and how large is not known
  double images_gib = 0.0;              // kept for what multimodal models allocate later
  double fraction = 0.0;                // --mem-fraction-static in force
  double least = 0.0;                   // the least fraction with room for one page
  double most = 0.0;                    // the most that leaves what SGLang reserves for activations; 0 = not known
  double workspace_gib = 0.0;           // attention workspace, outside the fraction
  std::int64_t workspace_requests = 0;  // the batch it is that large for
  double state_gib = 0.0;               // recurrent states
  double cache_gib = 0.0;               // left for keys and values; negative: missing
  CacheCost cost;
  std::int64_t tokens = 0;         // that fit, in whole pages
  std::int64_t window_tokens = 0;  // in the pool of a sliding window
  bool window_too_small = false;   // that pool admits no request: SGLang refuses to start
  std::int64_t state_slots = 0;
  std::int64_t context = 0;        // of one request
  std::int64_t requests = 0;       // at once, as SGLang caps them
  std::int64_t at_once = 0;        // as many of them as the cache has pages, of which each holds one
  std::int64_t full_requests = 0;  // at full context
  // What is there when the pool is sized.
  [[nodiscard]] double counted_draft_gib() const { return draft_after_pool ? 0.0 : draft_gib; }
  [[nodiscard]] double loaded_gib() const { return weights_gib + counted_draft_gib() + adapters_gib - offloaded_gib; }
  [[nodiscard]] bool fits() const { return tokens > 0; }
  [[nodiscard]] bool any_fraction() const { return least < 1.0; }
};

// What SGLang itself leaves outside its fraction for one prefill chunk's activations and scratch, without graphs.
double activation_reserve_gib(const Launch& launch);

// How the launch cuts weights; for estimate_weights of a draft model, too. With another tensor parallelism where
// `tp` is given.
WeightSplit weight_split(const Launch& launch, std::int64_t tp = 0);

// FP8 that SGLang makes of an unquantised checkpoint: every layer is created as it is stored, filled, and only then
// quantised.
bool quantised_after_loading(const Launch& launch);
// What so many bytes of a rank's weights took when their layers were created.
double bytes_when_created(const Launch& launch, double bytes);
// The part of a rank's weights that --cpu-offload-gb leaves in host memory. It is chosen by size as the layers are
// created, and what is quantised afterwards is smaller there.
struct OffloadedBytes {
  double created = 0;
  double kept = 0;
};
OffloadedBytes offloaded_bytes(const Launch& launch, double rank_bytes);

// nullopt: refused launch, unknown model, or layers of a shape not modelled; `why` says which.
std::optional<MemorySheet> memory_sheet(const Launch& launch, const MemoryInputs& inputs, std::string& why);

}  // namespace preflight::plan
