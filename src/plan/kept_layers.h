// What each layer of a model keeps for its requests, and how pipeline stages divide the layers.
//
// Follows the configurations of srt/configs (full_attention_layer_ids, mamba2_cache_params) and get_pp_indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/launch/launch_view.h"

namespace preflight::plan {

struct KeptLayers {
  std::vector<std::int64_t> full;    // keys and values of the whole context
  std::vector<std::int64_t> window;  // of a sliding window, in a pool of their own
  std::vector<std::int64_t> state;   // a recurrent state per request
};
KeptLayers kept_layers(const LaunchView& view);

// The class has layers with a window, and the configuration names none.
bool names_no_window(const LaunchView& view);
// The same of one pipeline stage: the first that has none.
std::optional<std::size_t> stage_without_window(const LaunchView& view);
// The class has layers with a recurrent state, the configuration names none, and the pools end over it.
bool pools_refuse_no_state(const LaunchView& view);
// Why SGLang's pools refuse the model; "" when they do not.
std::string missing_layers(const LaunchView& view);

// Layers first to end - 1, on one stage.
struct Stage {
  std::int64_t first = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t count(const std::vector<std::int64_t>& layers) const;
};
// How many stages share the layers out: one where the class takes nothing from another, and builds all of them on each.
// The cache is of these.
std::int64_t sharing_stages(const LaunchView& view);
// The same of the weights alone: a class that has another one build its text leaves their sharing to that one.
std::int64_t sharing_weights(const LaunchView& view);
// Of a class that builds another one for its text, or the body of another: that one. Empty: it has layers of its own.
std::string text_class(const ModelFacts& model);
// SGLANG_PP_LAYER_PARTITION: layers of each of so many stages, as get_pp_indices reads them; empty where they are no
// numbers. Nothing where nobody says, and of one stage.
std::optional<std::vector<std::int64_t>> told_partition(const LaunchView& view, std::int64_t stages);
std::vector<Stage> stages_of(const LaunchView& view);
// As the pool is told them, which some classes do not.
std::vector<Stage> told_stages(const LaunchView& view);

// Bytes of one request's state in one layer on one rank; 0 where the configuration does not tell.
std::int64_t state_bytes_of_layer(const LaunchView& view);

}  // namespace preflight::plan
