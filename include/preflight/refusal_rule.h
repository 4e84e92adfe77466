// The rule that a refusal is reported under, named where the refusal is raised.
//
// RF::kOther is RF001: the exception is reported as it is. The others have a record of their own in
// src/rules/refusals.cpp; which upstream functions raise them, and how their messages are known in a log, is in
// src/resolve/core/refusal_sites.h. tests/refusal_sites_test.cpp holds the three together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace preflight {

enum class RF : std::uint8_t {
  kOther,
  kMlaPrefill,
  kDeterministicBackend,
  kTreeWithPages,
  kPartialTree,
  kAlgorithmForOthers,
  kChunkInPages,
  kRanksOverNodes,
  kPipelineSchedule,
  kCacheForOthers,
  kHostCacheWithoutTree,
  kHybridCache,
  kContextParallelDecode,
  kLongerContext,
  kQuantizationMismatch,
  kUnknownArchitecture,
  kSparseOnCudaOnly,
  kNoSuchModel,
  kQuantizationMissing,
};

inline constexpr std::array<std::string_view, 19> kRefusalRuleIds = {
    "RF001", "RF002", "RF003", "RF004", "RF005", "RF006", "RF007", "RF008", "RF009", "RF010",
    "RF011", "RF012", "RF013", "RF014", "RF015", "RF016", "RF017", "RF018", "RF019",
};

constexpr std::string_view id_of(RF rule) { return kRefusalRuleIds[static_cast<std::size_t>(rule)]; }

}  // namespace preflight
