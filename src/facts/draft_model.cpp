// Tested by tests/draft_memory_test.cpp.
#include "src/facts/draft_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace preflight::facts {
namespace {

// The other algorithms draft without a model.
constexpr std::array<std::string_view, 7> kWithModel = {"EAGLE",      "EAGLE3", "NEXTN", "FROZEN_KV_MTP",
                                                        "STANDALONE", "DFLASH", "DSPARK"};

}  // namespace

bool has_draft_model(const Launch& launch) {
  const Value& algorithm = launch[Field::speculative_algorithm];
  return algorithm.is_string() &&
         std::find(kWithModel.begin(), kWithModel.end(), algorithm.as_string()) != kWithModel.end();
}

std::shared_ptr<const ModelFacts> draft_model_of(const Launch& launch, ModelSource& models) {
  if (!launch.accepted() || launch.model == nullptr || launch.resolved.empty() || !has_draft_model(launch)) {
    return nullptr;
  }
  const Value& own = launch[Field::speculative_draft_model_path];
  const Value& path = own.is_string() && !own.as_string().empty() ? own : launch[Field::model_path];
  if (!path.is_string()) return nullptr;
  const ModelRequest request{.release = launch.release(),
                             .path = path.as_string(),
                             .is_draft = true,
                             .dtype = launch[Field::dtype],
                             .quantization = launch[Field::speculative_draft_model_quantization],
                             .override_args = launch[Field::json_model_override_args],
                             .speculative_algorithm = launch[Field::speculative_algorithm],
                             .trust_remote_code = launch[Field::trust_remote_code],
                             .env = launch.env};
  const ModelOutcome built = build_model(models, request);
  const auto* draft = std::get_if<std::shared_ptr<const ModelFacts>>(&built.result);
  return draft == nullptr ? nullptr : *draft;
}

}  // namespace preflight::facts
