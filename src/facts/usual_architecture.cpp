// Reads configs/sglang/usual_architectures.txt (written by make_architectures.py there). Tested by
// tests/facts_model_test.cpp.
#include "src/facts/usual_architecture.h"

#include <fmt/format.h>

#include "src/base/embedded.h"

namespace preflight::facts {

std::string_view usual_architecture(std::string_view model_type) {
  const std::string_view text = embedded::usual_architectures().front().text;
  const std::string start = fmt::format("\n{} ", model_type);
  const auto at = text.find(start);
  if (model_type.empty() || at == std::string_view::npos) return "";
  const auto name = at + start.size();
  return text.substr(name, text.find('\n', name) - name);
}

std::vector<Remedy> architecture_remedies(std::string_view model_type, const Value& overrides) {
  const std::string_view name = usual_architecture(model_type);
  if (name.empty()) return {};
  Value::Dict all;
  if (overrides.is_string()) {
    if (auto given = Value::parse_json(overrides.as_string()); given && given->is_dict()) all = given->as_dict();
  }
  std::erase_if(all, [](const auto& entry) { return entry.first == "architectures"; });
  all.emplace_back("architectures", Value::list({std::string(name)}));
  return {Remedy{
      .steps = {RemedyStep{.name = "--json-model-override-args", .values = {Value::dict(std::move(all)).json()}}}}};
}

}  // namespace preflight::facts
