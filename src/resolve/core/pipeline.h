// The pipelines: which steps run, in which order, per release. Reads like upstream's own list.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "preflight/launch.h"
#include "src/facts/model_source.h"
#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

// __post_init__ of 0.5.11–0.5.18, run_resolution_pipeline since: every step in upstream's order.
std::span<const PipelineStep> pipeline(Release release);
// check_server_args, run by the launcher after resolution.
std::span<const PipelineStep> check_pipeline(Release release);

struct Unresolved {
  ServerArgs args;
  facts::ModelSource& models;
  DeviceFacts device;
  Environment env;
};

// Arguments and facts to a resolved launch; ends early where upstream raises.
Launch resolve(Unresolved launch);
// The launch as it stands before that step runs; none when the launch never comes there.
std::optional<Launch> resolve_until(std::string_view step, Unresolved launch);

// The same as resolve() for several launches of one release, which walk abreast: each step for all of them, then the
// next. Launches know nothing of each other. The steps' code is larger than a processor's nearest cache: one launch
// after the other waits for it again at every step.
std::vector<Launch> resolve_abreast(std::vector<Unresolved> launches);

}  // namespace preflight::resolve
