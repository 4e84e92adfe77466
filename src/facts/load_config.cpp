// get_config() for a path, and the files beside it. Tested by tests/facts_config_test.cpp.
#include <fstream>
#include <iterator>

#include "src/facts/read_config.h"

namespace preflight::facts {

std::optional<std::string> ModelSource::text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

HfConfigPtr read_hf_config(ModelBuilder& b) {
  const auto& request = b.request;
  HfConfigPtr config = b.source.memo().config(request.release, request.path, request.trust_remote_code.truthy(), [&] {
    return read_config(b.source, request.release, request.path, request.trust_remote_code.truthy());
  });
  if (!request.override_args.is_string() || request.override_args.as_string() == "{}") return config;
  const auto overrides = Value::parse_json(request.override_args.as_string());
  if (!overrides)
    raise("JSONDecodeError", "__init__", "--json-model-override-args is no JSON: " + overrides.error().text());
  override_config(request.release, config, *overrides);
  return config;
}

ConfigOutcome load_config(ModelSource& source, const ConfigRequest& request) {
  try {
    const HfConfigPtr config = source.memo().config(request.release, request.path, false, [&] {
      return read_config(source, request.release, request.path, false);
    });
    override_config(request.release, config, request.override_args);
    return {config->to_value(), {}};
  } catch (const Raised& raised) {
    return {raised.refusal, {}};
  }
}

}  // namespace preflight::facts
