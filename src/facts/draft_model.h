// The draft model of a resolved launch, as its worker will see it once the server starts.
#pragma once

#include <memory>

#include "preflight/launch.h"
#include "src/facts/model_source.h"

namespace preflight::facts {

// True for the algorithms whose worker loads weights of its own.
bool has_draft_model(const Launch& launch);

// The draft's checkpoint, or the target's read as a draft (its prediction layers). nullptr: no draft, or not known.
// SGLang builds it after resolution, so that nothing here touches the launch, its log or its refusal.
std::shared_ptr<const ModelFacts> draft_model_of(const Launch& launch, ModelSource& models);

}  // namespace preflight::facts
