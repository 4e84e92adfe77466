// Reading config.json. Tested by tests/facts_model_test.cpp.
#include "src/facts/model_files.h"

#include <filesystem>

#include "src/base/embedded.h"
#include "src/facts/gguf/gguf_file.h"
#include "src/facts/stored_as.h"
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

// The configuration of a Hugging Face id among those that travel in the program; ids stand first in each file.
std::shared_ptr<const Value> known_model(const std::string& id) {
  const std::string quoted = '"' + id + '"';
  for (const auto& file : embedded::models()) {
    if (file.text.substr(0, file.text.find('\n')).find(quoted) == std::string_view::npos) continue;
    const auto parsed = Value::parse_json(file.text);
    const Value* config = parsed ? parsed->find("config") : nullptr;
    return config == nullptr ? nullptr : std::make_shared<const Value>(*config);
  }
  return nullptr;
}

}  // namespace

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
  const bool is_file = std::filesystem::is_regular_file(path, ignored) && !is_gguf_file(path);
  const std::filesystem::path named(path);
  const std::filesystem::path file = is_file ? named : named / "config.json";
  if (!std::filesystem::exists(file, ignored)) {
    if (known_ == KnownModels::kNo) return std::shared_ptr<const Value>();
    return with_room(configs_)[path] = known_model(path);
  }
  if (!std::filesystem::is_regular_file(file, ignored)) return failure("not a regular file", file.string());
  const auto text = read_text(file.string());
  if (!text) return tl::make_unexpected(text.error());
  auto value = Value::parse_json(*text);
  if (!value) return failure(value.error().message, file.string());
  auto shared = std::make_shared<const Value>(std::move(*value));
  with_room(configs_)[path] = shared;
  return shared;
}

std::optional<Value> ModelFiles::json_file(const std::string& path, const std::string& name) {
  if (!has_file(path, name)) return std::nullopt;
  const auto text = text_of((std::filesystem::path(path) / name).string());
  if (!text) return std::nullopt;
  auto value = Value::parse_json(*text);
  return value ? std::optional(std::move(*value)) : std::nullopt;
}

bool ModelFiles::has_file(const std::string& path, const std::string& name) {
  if (name == "hf_quant_config.json" && stored_otherwise_.contains(path)) return false;
  auto& known = with_room(files_)[path];
  if (const auto it = known.find(name); it != known.end()) return it->second;
  std::error_code ignored;
  const auto star = name.find('*');
  const bool exists = star == std::string::npos ? std::filesystem::exists(std::filesystem::path(path) / name, ignored)
                                                : has_file_like(path, name.substr(0, star), name.substr(star + 1));
  known[name] = exists;
  return exists;
}

}  // namespace preflight::facts
