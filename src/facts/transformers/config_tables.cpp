// Looking up configuration classes in the generated tables. Tested by tests/facts_model_test.cpp.
#include "src/facts/transformers/config_tables.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "src/facts/transformers/config_classes.h"

namespace preflight::facts {
namespace {

const TextRow* find_row(std::span<const TextRow> rows, std::string_view key) {
  const auto it = std::lower_bound(rows.begin(), rows.end(), key, [](const TextRow& row, std::string_view k) {
    return std::string_view(text_at(row.key)) < k;
  });
  return it == rows.end() || std::string_view(text_at(it->key)) != key ? nullptr : &*it;
}

Value parsed(std::string_view text) {
  auto value = Value::parse_json(text);
  return value ? std::move(*value) : Value();
}

std::string text_of(const Value& dict, std::string_view key) {
  const Value* v = dict.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

Value member(const Value& dict, std::string_view key) {
  const Value* v = dict.find(key);
  return v == nullptr ? Value() : *v;
}

std::optional<Value> rules_of(const Value& dict, std::string_view key) {
  const Value* v = dict.find(key);
  return v == nullptr ? std::nullopt : std::optional(*v);
}

// The tables of the release itself, or of the nearest older one that was recorded.
const ReleaseTables& nearest(Release release) {
  const auto all = release_tables();
  const ReleaseTables* best = &all.front();
  for (const auto& tables : all) {
    if (tables.release <= release) best = &tables;
  }
  return *best;
}

}  // namespace

struct ConfigTables::Store {
  const ReleaseTables& tables;
  std::map<std::string, std::unique_ptr<ConfigClass>, std::less<>> classes;
  std::map<std::string, Value, std::less<>> functions;
  std::map<std::string, Value, std::less<>> settings;
};

ConfigTables::ConfigTables(Release release)
    : release_(release), store_(std::make_shared<Store>(Store{nearest(release), {}, {}, {}})) {}

const ConfigTables& ConfigTables::of(Release release) {
  static std::map<Release, ConfigTables> all;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  const auto it = all.find(release);
  return it != all.end() ? it->second : all.emplace(release, ConfigTables(release)).first->second;
}

const ConfigClass* ConfigTables::type(std::string_view model_type) const {
  const TextRow* row = find_row(store_->tables.types, model_type);
  return row == nullptr ? nullptr : find(text_at(row->text));
}

const ConfigClass* ConfigTables::registered(std::string_view model_type) const {
  const TextRow* row = find_row(store_->tables.registry, model_type);
  return row == nullptr ? nullptr : find(text_at(row->text));
}

const ConfigClass* ConfigTables::find(std::string_view key) const {
  if (const auto it = store_->classes.find(key); it != store_->classes.end()) return it->second.get();
  const TextRow* row = find_row(store_->tables.classes, key);
  if (row == nullptr) return nullptr;
  const Value data = parsed(text_at(row->text));
  auto made = std::make_unique<ConfigClass>();
  made->key = std::string(key);
  made->name = text_of(data, "name");
  made->model_type = text_of(data, "model_type");
  if (const std::string base = text_of(data, "base"); !base.empty()) made->base = find(base);
  if (const Value bases = member(data, "bases"); bases.is_list()) {
    for (const auto& name : bases.as_list()) made->bases.push_back(name.as_string());
  }
  made->own = member(data, "own").truthy();
  made->strict = member(data, "strict").truthy();
  made->text = text_of(data, "text");
  const auto each = [&](std::string_view part, auto&& use) {
    const Value dict = member(data, part);
    if (!dict.is_dict()) return;
    for (const auto& [name, value] : dict.as_dict()) use(name, value);
  };
  each("alias",
       [&](const std::string& name, const Value& value) { made->aliases.emplace_back(name, value.as_string()); });
  each("const", [&](const std::string& name, const Value& value) { made->constants.emplace_back(name, value); });
  if (!made->model_type.empty()) made->constants.emplace_back("model_type", made->model_type);
  each("properties", [&](const std::string& name, const Value& value) {
    made->properties.emplace_back(name, value.is_string() ? value.as_string() : std::string());
  });
  made->fields = member(data, "fields");
  made->checks = member(data, "checks");
  made->subs = member(data, "subs");
  made->from_dict = member(data, "from_dict");
  made->rope_labels = member(data, "rope_labels");
  made->parameters = member(data, "parameters");
  made->init = rules_of(data, "init");
  made->post = rules_of(data, "post");
  made->rope = rules_of(data, "rope");
  made->readonly = member(data, "readonly");
  made->validators = member(data, "validators");
  made->tables = this;
  return store_->classes.emplace(std::string(key), std::move(made)).first->second.get();
}

const Value* ConfigTables::function(std::string_view key) const {
  if (const auto it = store_->functions.find(key); it != store_->functions.end()) return &it->second;
  const TextRow* row = find_row(store_->tables.functions, key);
  if (row == nullptr) return nullptr;
  return &store_->functions.emplace(std::string(key), parsed(text_at(row->text))).first->second;
}

const Value& ConfigTables::setting(std::string_view key) const {
  if (const auto it = store_->settings.find(key); it != store_->settings.end()) return it->second;
  const TextRow* row = find_row(store_->tables.settings, key);
  return store_->settings.emplace(std::string(key), row == nullptr ? Value() : parsed(text_at(row->text)))
      .first->second;
}

bool ConfigTables::is_generation_parameter(std::string_view name) const {
  const Value& names = setting("generation_parameters");
  return names.is_list() && std::any_of(names.as_list().begin(), names.as_list().end(),
                                        [&](const Value& v) { return v.is_string() && v.as_string() == name; });
}

}  // namespace preflight::facts
