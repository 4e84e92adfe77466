// Tested by tests/remote_code_test.cpp.
#include "src/facts/remote_code.h"

#include "src/facts/transformers/config_classes.h"

namespace preflight::facts {
namespace {

const Value* own_class(const Value& config) {
  const Value* map = config.is_dict() ? config.find("auto_map") : nullptr;
  return map != nullptr && map->is_dict() ? map->find("AutoConfig") : nullptr;
}

}  // namespace

bool runs_own_code(Release release, const Value& config, bool trust_remote_code) {
  if (!trust_remote_code || own_class(config) == nullptr) return false;
  const Value* type = config.find("model_type");
  const ConfigClass* known =
      type != nullptr && type->is_string() ? ConfigTables::of(release).type(type->as_string()) : nullptr;
  return known == nullptr || !known->own;
}

std::string own_code_file(const Value& config) {
  const Value* name = own_class(config);
  if (name == nullptr || !name->is_string() || name->as_string().find("--") != std::string::npos) return {};
  return name->as_string().substr(0, name->as_string().find('.')) + ".py";
}

}  // namespace preflight::facts
