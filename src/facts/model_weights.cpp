// Tested by tests/certainty_test.cpp.
#include "src/facts/model_weights.h"

namespace preflight::facts {

std::shared_ptr<const WeightFiles> weights_of(const Launch& launch, ModelFiles& models) {
  if (!launch.accepted() || launch.model == nullptr) return nullptr;
  const auto place = models.place_of(launch.model->path);
  return place && !place->directory.empty() ? models.weights_in(place->directory) : nullptr;
}

ReadGguf gguf_of(const Launch& launch, Field path, ModelFiles& models) {
  if (!launch.accepted() || launch.resolved.empty()) return nullptr;
  const Value& given = launch[path];
  const Field format = path == Field::model_path ? Field::load_format : Field::speculative_draft_load_format;
  if (!given.is_string() || launch[format] == Value("dummy")) return nullptr;
  const std::string file = models.here(given.as_string());
  if (!is_gguf_file(file)) return nullptr;
  auto read = read_gguf(file, GgufReaders::kPackage);
  if (!read) return tl::make_unexpected(std::move(read.error()));
  if (!(*read)->damage.empty()) return tl::make_unexpected(GgufFault{"ValueError", file + ": " + (*read)->damage});
  return read;
}

}  // namespace preflight::facts
