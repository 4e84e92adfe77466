// Tested by tests/nodes_test.cpp.
#include "src/commands/nodes/node_values.h"

#include <algorithm>
#include <set>

#include "src/launch/launch_view.h"

namespace preflight::commands {
namespace {

bool is_dummy(const Value& load_format) { return load_format.is_string() && load_format.as_string() == "dummy"; }

std::string text_of(const Value& value) { return value.is_string() ? value.as_string() : std::string(); }

// The hub's branch when no revision is given.
std::string revision_of(const Value& value) { return value.is_string() ? value.as_string() : "main"; }

bool is_hub_id(const std::string& path) {
  return !path.empty() && std::string_view("/.~").find(path.front()) == std::string_view::npos &&
         std::count(path.begin(), path.end(), '/') == 1 && path.back() != '/';
}

std::string last_part(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

// How many threads read the files is each machine's own affair.
std::map<std::string, Value> loader_settings(const Value& option) {
  auto out = entries_of(option);
  out.erase("enable_multithread_load");
  out.erase("num_threads");
  return out;
}

std::set<std::string> words_of(const Value& list) {
  std::set<std::string> out;
  if (!list.is_list()) return {list.repr()};
  for (const Value& v : list.as_list()) out.insert(v.is_string() ? v.as_string() : v.repr());
  return out;
}

// Adapters without the ids that some releases draw at random.
Value adapters(const Value& lora_paths) {
  if (!lora_paths.is_list()) return lora_paths;
  Value::Dict out;
  for (const Value& one : lora_paths.as_list()) {
    const Value* name = one.find("lora_name");
    const Value* path = one.find("lora_path");
    if (name == nullptr || path == nullptr) return lora_paths;
    out.emplace_back(name->is_string() ? name->as_string() : name->repr(), *path);
  }
  return Value::dict(std::move(out));
}

bool has_graphs(const Value& phase) {
  const Value* backend = phase.find("backend");
  return backend == nullptr || text_of(*backend) != "disabled";
}

}  // namespace

Value node_value(const PreparedLaunch& prepared, Field field) {
  const Launch& launch = prepared.launch;
  const Value& value = launch[field];
  if (field == Field::lora_paths) return adapters(value);
  if (!launch.model || prepared.unknown_model) return value;
  if (field == Field::dtype) return LaunchView(launch).model_dtype();
  if (field == Field::quantization) return launch.model->quantization ? Value(*launch.model->quantization) : Value();
  if (field != Field::kv_cache_dtype || !value.is_string()) return value;
  return LaunchView(launch).kv_dtype();
}

bool may_be_one_model(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a.empty() || b.empty() || (is_hub_id(a) && is_hub_id(b))) return false;
  return last_part(a) == last_part(b);
}

bool mean_the_same(Field field, const Value& a, const Value& b) {
  if (a == b) return true;
  switch (field) {
    case Field::load_format:
    case Field::speculative_draft_load_format:
      return is_dummy(a) == is_dummy(b);
    case Field::revision:
    case Field::speculative_draft_model_revision:
      return revision_of(a) == revision_of(b);
    case Field::speculative_draft_model_path:
    case Field::speculative_token_map:
      return may_be_one_model(text_of(a), text_of(b));
    case Field::model_loader_extra_config:
      return loader_settings(a) == loader_settings(b);
    case Field::json_model_override_args:
      return entries_of(a) == entries_of(b);
    case Field::lora_target_modules:
      return words_of(a) == words_of(b);
    case Field::cuda_graph_config:
      return graph_settings(a, b) == graph_settings(b, a);
    default:
      return false;
  }
}

std::map<std::string, Value> entries_of(const Value& option) {
  Value object = option;
  if (option.is_none() || (option.is_string() && option.as_string().empty())) return {};
  if (option.is_string()) {
    if (const auto parsed = Value::parse_json(option.as_string())) object = *parsed;
  }
  if (!object.is_dict()) return {{"", object}};
  return {object.as_dict().begin(), object.as_dict().end()};
}

std::map<std::string, Value> graph_settings(const Value& config, const Value& other) {
  std::map<std::string, Value> out;
  if (!config.is_dict()) return out;
  for (const auto& [phase, settings] : config.as_dict()) {
    const Value* beside = other.find(phase);
    const bool sizes_count = has_graphs(settings) && (beside == nullptr || has_graphs(*beside));
    if (!settings.is_dict()) {
      out.emplace(phase, settings);
      continue;
    }
    for (const auto& [name, value] : settings.as_dict()) {
      if (sizes_count || name == "backend") out.emplace(phase + "." + name, value);
    }
  }
  return out;
}

}  // namespace preflight::commands
