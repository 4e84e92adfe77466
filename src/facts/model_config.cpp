// Stand-in until ModelConfig's derivation lands.
#include "src/facts/model_source.h"

namespace preflight::facts {

ModelOutcome build_model(ModelSource& /*source*/, const ModelRequest& request) {
  auto facts = std::make_shared<ModelFacts>();
  facts->path = request.path;
  return {std::shared_ptr<const ModelFacts>(std::move(facts)), {}};
}

}  // namespace preflight::facts
