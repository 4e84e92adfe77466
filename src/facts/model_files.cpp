// Reading config.json. Tested by tests/model_files_test.cpp.
#include "src/facts/model_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace preflight::facts {

void ModelFiles::stand_in(const std::string& path, Value config) {
  configs_[path] = std::make_shared<const Value>(std::move(config));
  memo().forget();
}

Result<std::shared_ptr<const Value>> ModelFiles::config_of(const std::string& path) {
  if (const auto it = configs_.find(path); it != configs_.end()) return it->second;
  const std::filesystem::path file = std::filesystem::path(path) / "config.json";
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::shared_ptr<const Value>();
  const std::string text(std::istreambuf_iterator<char>(in), {});
  auto value = Value::parse_json(text);
  if (!value) return failure(value.error().message, file.string());
  auto shared = std::make_shared<const Value>(std::move(*value));
  configs_[path] = shared;
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
  const std::string key = path + '\n' + name;
  if (const auto it = files_.find(key); it != files_.end()) return it->second;
  std::error_code ignored;
  const bool exists = std::filesystem::exists(std::filesystem::path(path) / name, ignored);
  files_[key] = exists;
  return exists;
}

}  // namespace preflight::facts
