#include "src/facts/model_memo.h"

#include "src/facts/transformers/config_rules.h"
#include "src/facts/transformers/model_builder.h"

namespace preflight::facts {
namespace {

// A long batch over many models starts afresh here, and so needs no more memory than a short one.
constexpr std::size_t kMostConfigs = 512;
constexpr std::size_t kMostOutcomes = 2048;

}  // namespace

std::shared_ptr<HfConfig> ModelMemo::config(Release release, const std::string& path, bool trust_remote_code,
                                            const std::function<std::shared_ptr<HfConfig>()>& read,
                                            std::vector<LogLine>& log) {
  const std::string key = release.text() + (trust_remote_code ? "+" : "-") + path;
  auto it = configs_.find(key);
  if (it == configs_.end()) {
    Entry entry;
    const WarningSink sink(entry.log);
    try {
      entry.config = read();
    } catch (const Raised& raised) {
      entry.refusal = raised.refusal;
    }
    if (configs_.size() >= kMostConfigs) configs_.clear();
    it = configs_.emplace(key, std::move(entry)).first;
  }
  log.insert(log.end(), it->second.log.begin(), it->second.log.end());
  if (!it->second.config) throw Raised{it->second.refusal};
  return it->second.config->deep_copy();
}

const ModelOutcome* ModelMemo::outcome(const std::string& request) const {
  const auto it = outcomes_.find(request);
  return it == outcomes_.end() ? nullptr : it->second.get();
}

const ModelOutcome& ModelMemo::remember(const std::string& request, ModelOutcome outcome) {
  if (outcomes_.size() >= kMostOutcomes) outcomes_.clear();
  return *(outcomes_[request] = std::make_shared<const ModelOutcome>(std::move(outcome)));
}

void ModelMemo::forget() {
  configs_.clear();
  outcomes_.clear();
}

}  // namespace preflight::facts
