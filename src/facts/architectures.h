// Architecture names that SGLang treats specially, each with the releases in which it does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "preflight/release.h"

namespace preflight::facts {

enum class ArchTrait {
  kMultimodal,     // multimodal_model_archs
  kMultimodalOff,  // multimodal only on request
  kAudio,
  kEncoderDecoder,
  kNoChunkedPrefill,  // multimodal without chunked prefill
  kNotGenerative,
  kNoPiecewiseGraph,
  kPiecewiseGraph,  // multimodal that keeps it
  kBreakableGraph,  // multimodal that keeps the breakable graph
  kHybridSwa,
  kSwaCompress,
  kSinks,
  kMimoV2,
  kDsa,
  kDeepseekV4,
  kMla,  // DeepSeek's shapes
  kPureSsm,
};

bool has_trait(std::string_view architecture, ArchTrait trait, Release release);
bool any_has_trait(const std::vector<std::string>& architectures, ArchTrait trait, Release release);
// Where upstream looks at the first name alone.
bool first_has_trait(const std::vector<std::string>& architectures, ArchTrait trait, Release release);

}  // namespace preflight::facts
