// get_config() for a path: until the configuration classes land, the file as it is, with the override arguments.
#include <fstream>
#include <iterator>

#include "src/facts/model_source.h"

namespace preflight::facts {

std::optional<std::string> ModelSource::text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

ConfigOutcome load_config(ModelSource& source, const ConfigRequest& request) {
  const auto config = source.config_of(request.path);
  if (!config) return {Refusal{"JSONDecodeError", "parse", config.error().text()}, {}};
  if (*config == nullptr) return {Refusal{"OSError", "parse", request.path + " has no config.json"}, {}};
  Value merged = **config;
  if (request.override_args.is_dict()) {
    for (const auto& [key, value] : request.override_args.as_dict()) merged = merged.with(key, value);
  }
  return {std::move(merged), {}};
}

}  // namespace preflight::facts
