// The weight files of a launch's model, as memory sheet and rules ask for them.
#pragma once

#include <memory>

#include "preflight/launch.h"
#include "src/facts/gguf/gguf_file.h"
#include "src/facts/model_files.h"

namespace preflight::facts {

// Null: SGLang ends the launch before, the model has no files on this machine, or it stands for another checkpoint.
std::shared_ptr<const WeightFiles> weights_of(const Launch& launch, ModelFiles& models);

// The GGUF file that SGLang loads for a path of the launch; null: it loads none, or not on this machine. Errors: what
// ends the load.
ReadGguf gguf_of(const Launch& launch, Field path, ModelFiles& models);

}  // namespace preflight::facts
