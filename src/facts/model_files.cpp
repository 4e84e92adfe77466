// Reading config.json. Tested by tests/facts_model_test.cpp.
#include "src/facts/model_files.h"

#include <filesystem>
#include <mutex>

#include "src/facts/gguf/gguf_file.h"
#include "src/facts/known_models.h"
#include "src/facts/model_cache.h"
#include "src/facts/stored_as.h"
#include "src/base/file_state.h"
#include "src/base/limits.h"
#include "src/base/read_text.h"

namespace preflight::facts {
namespace {

constexpr std::size_t kMostKept = 4096;

template <typename Map>
Map& with_room(Map& map) {
  if (map.size() >= kMostKept) map.clear();
  return map;
}

bool has_file_like(const std::string& directory, const std::string& prefix, const std::string& suffix) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() >= prefix.size() + suffix.size() && name.starts_with(prefix) && name.ends_with(suffix)) return true;
  }
  return false;
}

using ReadJson = Result<std::shared_ptr<const Value>>;

ReadJson parsed_json(const std::string& file) {
  const auto text = read_text(file);
  if (!text) return failure(text.error().message, file);
  auto value = Value::parse_json(*text);
  if (!value) return failure(value.error().message, file);
  return std::make_shared<const Value>(std::move(*value));
}

// The JSON of a file, read once for all of a run's launches, whatever they call it; forgotten when it is much.
ReadJson json_of(const std::string& file) {
  static std::mutex guard;
  static std::map<FileState, ReadJson> kept;
  static std::size_t bytes = 0;
  const auto state = settled_state(file);
  if (!state) return parsed_json(file);
  const std::scoped_lock lock(guard);
  auto known = kept.find(*state);
  if (known == kept.end()) {
    const auto size = static_cast<std::size_t>(state->size);
    if (bytes + size > limits::kModelTextKept || kept.size() >= kMostKept) {
      kept.clear();
      bytes = 0;
    }
    bytes += size;
    known = kept.emplace(*state, parsed_json(file)).first;
  }
  if (!known->second) return failure(known->second.error().message, file);
  return known->second;
}

std::shared_ptr<const Value> config_in(const Value& record) {
  return std::make_shared<const Value>(*record.find("config"));
}

}  // namespace

std::string ModelFiles::here(const std::string& path) const {
  if (!places_ || places_->mounts.empty()) return path;
  return host_path(places_->mounts, path).value_or(path);
}

void ModelFiles::stand_in(const std::string& path, Value config) {
  stand_ins_[path] = std::make_shared<const Value>(std::move(config));
  memo().forget();
}

std::shared_ptr<ModelFiles> ModelFiles::with_stored_as(const std::string& path, std::string_view form) {
  const auto config = config_of(path);
  if (!config || *config == nullptr) return nullptr;
  auto other = std::make_shared<ModelFiles>(*this);
  other->stored_otherwise_.insert(path);
  other->stand_in(path, stored_as(**config, form));
  return other;
}

Result<std::shared_ptr<const Value>> ModelFiles::config_of(const std::string& path) {
  if (const auto it = stand_ins_.find(path); it != stand_ins_.end()) return it->second;
  if (const auto it = configs_.find(path); it != configs_.end()) return it->second;
  std::error_code ignored;
  // transformers takes the file itself as well as its directory.
  const std::filesystem::path named(here(path));
  const bool is_file = std::filesystem::is_regular_file(named, ignored) && !is_gguf_file(named.string());
  const std::filesystem::path file = is_file ? named : named / "config.json";
  if (!std::filesystem::exists(file, ignored)) {
    if (known_ == KnownModels::kNo) return std::shared_ptr<const Value>();
    const auto place = place_of(path);
    if (!place) return tl::make_unexpected(place.error());
    if (!place->directory.empty()) {
      const std::filesystem::path config = std::filesystem::path(place->directory) / "config.json";
      if (!std::filesystem::exists(config, ignored)) return std::shared_ptr<const Value>();
      return read_config_file(path, config);
    }
    return with_room(configs_)[path] = place->record == nullptr ? nullptr : config_in(*place->record);
  }
  return read_config_file(path, file);
}

Result<std::shared_ptr<const Value>> ModelFiles::read_config_file(const std::string& path,
                                                                  const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return failure("not a regular file", file.string());
  auto value = json_of(file.string());
  if (value) with_room(configs_)[path] = *value;
  return value;
}

Result<ModelPlace> ModelFiles::place_of(const std::string& path) {
  if (stand_ins_.contains(path)) return ModelPlace{.kind = "given by option"};
  if (const auto it = places_of_.find(path); it != places_of_.end()) return it->second;
  std::error_code ignored;
  ModelPlace place;
  if (std::string found = here(path); std::filesystem::exists(found, ignored)) {
    place = {.directory = std::move(found), .kind = "directory"};
  } else if (known_ == KnownModels::kYes) {
    auto cached = places_ ? find_cached_model(path, *places_) : std::optional<CachedModel>();
    if (!cached) return tl::make_unexpected(cached.error());
    if (*cached) {
      place = {.directory = (*cached)->directory, .kind = (*cached)->kind};
    } else if (place.record = known_model(path); place.record != nullptr) {
      place.kind = "built-in table";
    }
  }
  return with_room(places_of_)[path] = std::move(place);
}

std::string ModelFiles::file_in(const std::string& path, const std::string& name) {
  // Whether a path is a directory is asked of the path as it was given: a hub's id is none, wherever it lies.
  if (known_ == KnownModels::kNo || name == ".") return (std::filesystem::path(here(path)) / name).string();
  const auto place = place_of(path);
  const std::string& directory = place && !place->directory.empty() ? place->directory : path;
  return (std::filesystem::path(directory) / name).string();
}

namespace {

// A file of a model that is known by its record alone.
const Value* recorded_file(const ModelPlace& place, const std::string& name) {
  const Value* files = place.record == nullptr ? nullptr : place.record->find("files");
  return files == nullptr ? nullptr : files->find(name);
}

}  // namespace

std::optional<Value> ModelFiles::json_file(const std::string& path, const std::string& name) {
  if (!has_file(path, name)) return std::nullopt;
  if (known_ == KnownModels::kYes) {
    const auto place = place_of(path);
    if (const Value* file = place ? recorded_file(*place, name) : nullptr; file != nullptr) return *file;
  }
  const auto value = json_of(file_in(path, name));
  return value ? std::optional(**value) : std::nullopt;
}

bool ModelFiles::has_file(const std::string& path, const std::string& name) {
  if (name == "hf_quant_config.json" && stored_otherwise_.contains(path)) return false;
  auto& known = with_room(files_)[path];
  if (const auto it = known.find(name); it != known.end()) return it->second;
  std::error_code ignored;
  const auto star = name.find('*');
  bool exists = false;
  if (star != std::string::npos) {
    exists = has_file_like(file_in(path, ""), name.substr(0, star), name.substr(star + 1));
  } else {
    exists = std::filesystem::exists(file_in(path, name), ignored);
    if (!exists && known_ == KnownModels::kYes) {
      const auto place = place_of(path);
      // The hub holds the code that a record's auto_map names; it is fetched with the model.
      exists = place && place->record != nullptr && (name.ends_with(".py") || recorded_file(*place, name) != nullptr);
    }
  }
  known[name] = exists;
  return exists;
}

std::shared_ptr<const WeightFiles> ModelFiles::weights_in(const std::string& directory) {
  std::error_code error;
  const auto canonical = std::filesystem::canonical(directory, error);
  const std::string name = error ? directory : canonical.string();
  if (const auto it = weights_.find(name); it != weights_.end()) return it->second;
  std::size_t tensors = 0;
  for (const auto& [_, files] : weights_) tensors += files == nullptr ? 0 : files->tensors.size();
  if (weights_.size() >= limits::kModelSources || (weights_.size() >= 2 && tensors > limits::kTensorsKept))
    weights_.clear();
  auto files = read_weight_files(directory);
  return weights_[name] = files ? std::make_shared<const WeightFiles>(std::move(*files)) : nullptr;
}

}  // namespace preflight::facts
