// load_config: get_config() alone, for draft models; and the files that launch arguments name.
#include <fstream>
#include <iterator>

#include "src/facts/model_builder.h"

namespace preflight::facts {

std::optional<std::string> ModelSource::text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

ConfigOutcome load_config(ModelSource& source, const ConfigRequest& request) {
  ModelRequest model;
  model.release = request.release;
  model.path = request.path;
  model.trust_remote_code = request.trust_remote_code;
  if (request.override_args.is_dict()) model.override_args = request.override_args.json();
  ModelFacts facts;
  ConfigOutcome outcome;
  ModelBuilder builder{source, model, facts, outcome.log, nullptr, nullptr, {}};
  try {
    outcome.result = read_hf_config(builder)->to_value();
  } catch (Raised& raised) {
    outcome.result = std::move(raised.refusal);
  }
  return outcome;
}

}  // namespace preflight::facts
