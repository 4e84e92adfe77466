// The pipelines: which steps run, in which order, per release. Reads like upstream's own list.
#pragma once

#include <optional>
#include <span>
#include <string_view>

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
// The launch as it stands before that step runs; none when the launch never comes there.
std::optional<Launch> resolve_until(std::string_view step, ServerArgs args, facts::ModelSource& models,
                                    DeviceFacts device, Environment env);

}  // namespace preflight::resolve
