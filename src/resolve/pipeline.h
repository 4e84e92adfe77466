// The pipelines: which steps run, in which order, per release. Reads like upstream's own list.
#pragma once

#include <span>
#include <vector>

#include "preflight/launch.h"
#include "src/facts/model_source.h"
#include "src/resolve/resolution.h"

namespace preflight::resolve {

// __post_init__ of 0.5.11–0.5.18, run_resolution_pipeline since: every step in upstream's order.
std::span<const PipelineStep> pipeline(Release release);
// check_server_args, run by the launcher after resolution.
std::span<const PipelineStep> check_pipeline(Release release);

// Arguments and facts to a resolved launch; ends early where upstream raises.
Launch resolve(ServerArgs args, facts::ModelSource& models, DeviceFacts device, Environment env);

// The same for several launches of one release, which walk abreast: each step for all of them, then the next. Launches
// know nothing of each other. The steps' code is larger than a processor's nearest cache: one launch after the other
// waits for it again at every step.
struct Unresolved {
  ServerArgs args;
  facts::ModelSource& models;
  DeviceFacts device;
  Environment env;
};
std::vector<Launch> resolve_abreast(std::vector<Unresolved> launches);

}  // namespace preflight::resolve
