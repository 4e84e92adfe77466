// Tested by tests/certainty_test.cpp.
#include "src/facts/model_weights.h"

namespace preflight::facts {

std::shared_ptr<const WeightFiles> weights_of(const Launch& launch, ModelFiles& models) {
  if (!launch.accepted() || launch.model == nullptr) return nullptr;
  const auto place = models.place_of(launch.model->path);
  return place && !place->directory.empty() ? models.weights_in(place->directory) : nullptr;
}

}  // namespace preflight::facts
