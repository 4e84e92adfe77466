// ModelMemo: what a ModelSource has derived already, so that a batch reads and fills each configuration once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "preflight/facts.h"

namespace preflight::facts {

class HfConfig;
struct ModelOutcome;

class ModelMemo {
 public:
  // The configuration of a path as read, as a copy of its own, and what was logged; a refusal is remembered as well.
  std::shared_ptr<HfConfig> config(Release release, const std::string& path, bool trust_remote_code,
                                   const std::function<std::shared_ptr<HfConfig>()>& read, std::vector<LogLine>& log);
  // Outcome of a whole request; null when it is new.
  [[nodiscard]] const ModelOutcome* outcome(const std::string& request) const;
  const ModelOutcome& remember(const std::string& request, ModelOutcome outcome);
  void forget();

 private:
  struct Entry {
    std::shared_ptr<HfConfig> config;
    Refusal refusal;
    std::vector<LogLine> log;
  };
  std::map<std::string, Entry> configs_;
  std::unordered_map<std::string, std::shared_ptr<const ModelOutcome>> outcomes_;
};

}  // namespace preflight::facts
