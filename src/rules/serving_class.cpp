#include "src/rules/serving_class.h"

#include <algorithm>

#include "src/facts/model_classes.h"

namespace preflight::rules {

using facts::ModelClass;

bool has_classes_of_its_own(const LaunchFacts& f) {
  const auto package = f.launch().env.find("SGLANG_EXTERNAL_MODEL_PACKAGE");
  return package != f.launch().env.end() && !package->second.empty();
}

bool brings_its_own_class(const LaunchFacts& f) {
  const Value map = f.model().root("auto_map");
  return map.find("AutoModel") != nullptr || has_classes_of_its_own(f);
}

std::string_view own_architecture(const ModelFacts& model, Release release) {
  const auto& names = model.architectures;
  const auto own =
      std::ranges::find_if(names, [&](const std::string& name) { return is_own(facts::model_class(name, release)); });
  return own == names.end() ? std::string_view() : std::string_view(*own);
}
std::string_view own_architecture(const LaunchFacts& f) { return own_architecture(f.model(), f.release()); }

std::string_view serving_class(const LaunchFacts& f) {
  return f.is(Field::model_impl, "transformers") || f.is(Field::model_impl, "mindspore") ? std::string_view()
                                                                                         : own_architecture(f);
}

bool transformers_serves(const LaunchFacts& f) {
  if (f.is(Field::model_impl, "transformers")) return true;
  const auto by_transformers = [&](const std::string& name) {
    return facts::model_class(name, f.release()) == ModelClass::kTransformers;
  };
  return f.is(Field::model_impl, "auto") && own_architecture(f).empty() &&
         std::ranges::any_of(f.model().architectures, by_transformers);
}

}  // namespace preflight::rules
