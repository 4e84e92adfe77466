// ModelFiles: the ModelSource of real launches: local directories and the models of configs/models, cached.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "src/facts/model_source.h"

namespace preflight::facts {

class ModelFiles : public ModelSource {
 public:
  Result<std::shared_ptr<const Value>> config_of(const std::string& path) override;
  bool has_file(const std::string& path, const std::string& name) override;

 private:
  std::map<std::string, std::shared_ptr<const Value>> configs_;
  std::map<std::string, bool> files_;
};

}  // namespace preflight::facts
