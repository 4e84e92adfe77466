// check() for a caller that knows what stands beside the launch, too.
#pragma once

#include <memory>
#include <optional>

#include "preflight/rule.h"
#include "src/facts/container_view.h"

namespace preflight::facts {
struct GgufFile;     // gguf_file.h
struct WeightFiles;  // weight_files.h
}  // namespace preflight::facts

namespace preflight::rules {

// What a launch does not hold itself. Nothing: there is none, or it is not known.
struct Beside {
  std::shared_ptr<const ModelFacts> draft = {};          // its weights count beside the model's
  std::shared_ptr<const facts::WeightFiles> files = {};  // of the model's checkpoint
  std::optional<facts::SharingRights> sharing = {};      // of the container it runs in
  std::optional<facts::MemoryLimit> memory = {};         // of the same
  std::shared_ptr<const facts::GgufFile> gguf = {};      // the model is this file
};

CheckResult check_beside(const Launch& launch, const Beside& beside, const CheckOptions& options);

}  // namespace preflight::rules
