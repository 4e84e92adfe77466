#include "src/rules/serving_class.h"

namespace preflight::rules {

bool has_classes_of_its_own(const LaunchFacts& f) {
  const auto package = f.launch().env.find("SGLANG_EXTERNAL_MODEL_PACKAGE");
  return package != f.launch().env.end() && !package->second.empty();
}

bool brings_its_own_class(const LaunchFacts& f) {
  const Value map = f.model().root("auto_map");
  return map.find("AutoModel") != nullptr || has_classes_of_its_own(f);
}

std::string_view serving_class(const LaunchFacts& f) {
  return f.is(Field::model_impl, "transformers") || f.is(Field::model_impl, "mindspore") ? std::string_view()
                                                                                         : own_architecture(f);
}

}  // namespace preflight::rules
