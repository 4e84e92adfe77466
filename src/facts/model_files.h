// ModelFiles: the ModelSource of real launches: local directories and the models of configs/models, cached.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/facts/model_cache.h"
#include "src/facts/model_source.h"
#include "src/facts/weight_files.h"

namespace preflight::facts {

// Whether Hugging Face ids found in configs/models count as known. `check` says yes; batches replay a machine
// without a hub and say no.
enum class KnownModels : bool { kNo, kYes };

// Where the configuration of a model path comes from.
struct ModelPlace {
  std::string directory = {};  // holds its files; "" = none does
  std::string kind = {};       // "directory", "Hugging Face cache", "built-in table", …; "" = nowhere
  std::shared_ptr<const Value> record = nullptr;  // of the built-in table (known_models.h)
};

class ModelFiles : public ModelSource {
 public:
  explicit ModelFiles(KnownModels known = KnownModels::kNo) : known_(known) {}

  // Look for ids on this machine, too.
  void look_in(ModelPlaces places) { places_ = std::move(places); }
  // Where a path of the launch's container lies on this machine; the path itself where no mount holds it.
  [[nodiscard]] std::string here(const std::string& path) const;
  // Errors: a cache that holds the model and is damaged or closed.
  Result<ModelPlace> place_of(const std::string& path);

  // From now on, `config` is the configuration of `path`, whatever stands on disk.
  void stand_in(const std::string& path, Value config);
  // The same source, but the model at `path` is stored in another form (stored_as.h). Null: nothing is known of it.
  std::shared_ptr<ModelFiles> with_stored_as(const std::string& path, std::string_view form);

  Result<std::shared_ptr<const Value>> config_of(const std::string& path) override;
  // One * in `name` stands for any text.
  bool has_file(const std::string& path, const std::string& name) override;
  std::optional<Value> json_file(const std::string& path, const std::string& name) override;
  // What read_weight_files finds in the directory; null: nothing. Rules, sheets and each remedy ask for the same ones,
  // and a million tensors take a second to read.
  std::shared_ptr<const WeightFiles> weights_in(const std::string& directory);

 private:
  // A file of the model, in the directory that holds it.
  std::string file_in(const std::string& path, const std::string& name);
  Result<std::shared_ptr<const Value>> read_config_file(const std::string& path, const std::filesystem::path& file);

  std::optional<ModelPlaces> places_;
  std::map<std::string, ModelPlace> places_of_;
  std::map<std::string, std::shared_ptr<const Value>> stand_ins_;
  std::set<std::string> stored_otherwise_;  // paths whose own notes of a quantisation do not count
  // What was seen on disk; forgotten when there is much of it, so that long batches stay small.
  std::map<std::string, std::shared_ptr<const Value>> configs_;
  std::unordered_map<std::string, std::unordered_map<std::string, bool>> files_;  // path, name: it is there
  std::map<std::string, std::shared_ptr<const WeightFiles>> weights_;             // of a target and its draft
  KnownModels known_;
};

}  // namespace preflight::facts
