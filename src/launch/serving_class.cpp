#include "src/launch/serving_class.h"

#include <algorithm>
#include <string>

#include "src/facts/model_classes.h"

namespace preflight {

using facts::ModelClass;

std::string_view own_architecture(const ModelFacts& model, Release release) {
  const auto& names = model.architectures;
  const auto own =
      std::ranges::find_if(names, [&](const std::string& name) { return is_own(facts::model_class(name, release)); });
  return own == names.end() ? std::string_view() : std::string_view(*own);
}
std::string_view own_architecture(const LaunchView& view) { return own_architecture(view.model(), view.release()); }

bool transformers_serves(const LaunchView& view) {
  if (view.is(Field::model_impl, "transformers")) return true;
  const auto by_transformers = [&](const std::string& name) {
    return facts::model_class(name, view.release()) == ModelClass::kTransformers;
  };
  return view.is(Field::model_impl, "auto") && own_architecture(view).empty() &&
         std::ranges::any_of(view.model().architectures, by_transformers);
}

}  // namespace preflight
