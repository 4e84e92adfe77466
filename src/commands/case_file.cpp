// Tested by tests/case_file_test.cpp and by parity with recorded outcomes (tests/parity).
#include "src/commands/case_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/args/config_file.h"
#include "src/commands/commands.h"
#include "src/commands/temporary_yaml.h"

namespace preflight::commands {
namespace {

std::string replaced(std::string s, std::string_view from, const std::string& to) {
  for (auto at = s.find(from); at != std::string::npos; at = s.find(from, at + to.size())) {
    s.replace(at, from.size(), to);
  }
  return s;
}

std::string string_of(const Value& item, std::string_view key) {
  const Value* v = item.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

// A key of the wrong type read as absent would be another case, silently; "" when every known key holds what it should.
std::string why_malformed(const Value& item) {
  using Test = bool (*)(const Value&);
  struct Key {
    std::string_view name;
    Test holds;
    std::string_view expected;
  };
  constexpr Test is_text = [](const Value& v) { return v.is_string(); };
  constexpr Test is_amount = [](const Value& v) { return v.is_int() && v.as_int() >= 0; };
  constexpr Test is_words = [](const Value& v) {
    return v.is_list() && std::ranges::all_of(v.as_list(), [](const Value& word) { return word.is_string(); });
  };
  constexpr Test is_variables = [](const Value& v) {
    return v.is_dict() &&
           std::ranges::none_of(v.as_dict(), [](const auto& kv) { return kv.second.is_list() || kv.second.is_dict(); });
  };
  static constexpr std::array<Key, 6> kKeys{{{"id", [](const Value& v) { return v.is_string() || v.is_int(); }, "text"},
                                             {"args", is_words, "a list of texts"},
                                             {"model", is_text, "text"},
                                             {"device", [](const Value& v) { return v.is_dict(); }, "an object"},
                                             {"env", is_variables, "an object of single values"},
                                             {"config", is_text, "text"}}};
  static constexpr std::array<Key, 5> kDeviceKeys{
      {{"memory_mib", is_amount, "a whole number"},
       {"count", [](const Value& v) { return v.is_int() && v.as_int() >= 0 && v.as_int() <= 1'000'000; },
        "a whole number"},
       {"name", is_text, "text"},
       {"has_fp64", [](const Value& v) { return v.is_bool(); }, "true or false"},
       {"host_memory_mib", is_amount, "a whole number"}}};
  const auto wrong = [](const Value& object, const auto& keys, std::string_view prefix) -> std::string {
    for (const Key& key : keys) {
      const Value* v = object.find(key.name);
      const bool absent = v == nullptr || (v->is_none() && key.name != "args");
      if (!absent && !key.holds(*v)) return fmt::format("\"{}{}\": expected {}", prefix, key.name, key.expected);
    }
    return {};
  };
  if (std::string text = wrong(item, kKeys, ""); !text.empty()) return text;
  if (item.find("args") == nullptr) return "\"args\" is missing";
  const Value* device = item.find("device");
  return device == nullptr || device->is_none() ? std::string() : wrong(*device, kDeviceKeys, "device.");
}

DeviceFacts device_of(const Value& item, DeviceFacts device) {
  const Value* d = item.find("device");
  if (d == nullptr || !d->is_dict()) return device;
  if (const Value* v = d->find("memory_mib"); v != nullptr && v->is_int()) device.memory_mib = v->as_int();
  if (const Value* v = d->find("count"); v != nullptr && v->is_int()) device.count = static_cast<int>(v->as_int());
  if (const Value* v = d->find("name"); v != nullptr && v->is_string()) device.name = v->as_string();
  if (const Value* v = d->find("has_fp64"); v != nullptr && v->is_bool()) device.has_fp64 = v->as_bool();
  if (const Value* v = d->find("host_memory_mib"); v != nullptr && v->is_int()) device.host_memory_mib = v->as_int();
  return device;
}

// The words with those of the --config file in place; as they are when the file is refused.
std::vector<std::string> with_config_words(Release release, const std::vector<std::string>& argv) {
  args::CommandLine expanded{argv, std::vector<SourceRange>(argv.size()), 0};
  if (args::merge_config_file(release, expanded)) return argv;
  return std::move(expanded.words);
}

Result<Launch> resolve_case(const CaseFile& options, const Value& item, ResolvedCase& out) {
  const std::string& models_dir = options.models;
  std::string model = models_dir + "/" + string_of(item, "model");
  const auto with_paths = [&](const std::string& s) {
    if (s.find('{') == std::string::npos) return s;
    return replaced(replaced(s, "{models}", models_dir), "{model}", model);
  };
  const Value* yaml = item.find("config");
  std::optional<TemporaryYaml> config;
  if (yaml != nullptr && yaml->is_string()) config.emplace(with_paths(yaml->as_string()));
  const std::string config_path = config && config->written() ? config->path() : std::string();
  std::vector<std::string> argv;
  if (const Value* args = item.find("args"); args != nullptr && args->is_list()) {
    argv.reserve(args->as_list().size());
    for (const auto& a : args->as_list()) argv.push_back(replaced(with_paths(a.as_string()), "{config}", config_path));
  }
  out.names.reserve(3);
  out.names.emplace_back(config_path, "{config}");
  out.names.emplace_back(std::move(model), "{model}");
  out.names.emplace_back(models_dir, "{models}");
  out.inputs.release = options.release;
  out.inputs.env = options.env;
  if (const Value* e = item.find("env"); e != nullptr && e->is_dict()) {
    for (const auto& [k, v] : e->as_dict()) out.inputs.env[k] = v.is_string() ? v.as_string() : v.repr();
  }
  out.inputs.device = device_of(item, options.device);
  if (!options.stored_as.empty()) {
    const std::string path = path_given(options.release, argv, Field::model_path);
    // A launch without a model, or with one that nobody knows, ends the same in any form.
    if (auto stored = path.empty() ? nullptr : out.inputs.models->with_stored_as(path, options.stored_as)) {
      out.inputs.models = std::move(stored);
    }
  }
  auto resolved = resolve_words(out.inputs, argv, {}, out.inputs.env);
  if (!resolved) return tl::make_unexpected(resolved.error());
  const bool has_config = std::find(argv.begin(), argv.end(), "--config") != argv.end();
  const std::vector<std::string>& accepted = resolved->launch.args.argv;  // empty when the parser refused
  if (!has_config) {
    out.inputs.argv = std::move(argv);
  } else {
    out.inputs.argv = accepted.empty() ? with_config_words(options.release, argv) : accepted;
  }
  out.unknown_model = std::move(resolved->unknown_model);
  return std::move(resolved->launch);
}

}  // namespace

int for_each_case(const CaseFile& options, const std::function<void(const ResolvedCase&)>& each) {
  std::ifstream file;
  if (options.cases != "-") {
    file.open(options.cases, std::ios::binary);
    // A directory opens and cannot be read; an empty file holds no cases, as an empty standard input does.
    if (!file || (file.peek() == std::ifstream::traits_type::eof() && file.bad())) {
      std::cerr << fmt::format("xpu-preflight: cannot read cases from {}\n", options.cases);
      return kBadInput;
    }
  }
  std::istream& in = options.cases == "-" ? std::cin : file;
  const auto models =
      std::make_shared<facts::ModelFiles>(options.hub ? facts::KnownModels::kYes : facts::KnownModels::kNo);
  std::string line;
  std::size_t number = 0;
  while (std::getline(in, line)) {
    ++number;
    if (line.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      std::cerr << fmt::format("xpu-preflight: {}:{}: {}\n", options.cases, number, why);
      return kBadInput;
    };
    const auto item = Value::parse_json(line);
    if (!item || !item->is_dict()) return refuse(item ? "a case is a JSON object" : item.error().message);
    if (const std::string wrong = why_malformed(*item); !wrong.empty()) return refuse(wrong);
    ResolvedCase resolved;
    const Value* id = item->find("id");
    resolved.id = id == nullptr || id->is_none() ? Value(std::string()) : *id;
    resolved.inputs.models = models;
    resolved.inputs.unknown_models_stay_open = options.hub;
    resolved.inputs.unusable_files_are_errors = false;  // a line tells what SGLang does, and the batch goes on
    auto launch = resolve_case(options, *item, resolved);
    if (!launch) return refuse(launch.error().text());
    resolved.launch = std::move(*launch);
    each(resolved);
  }
  return kOk;
}

}  // namespace preflight::commands
