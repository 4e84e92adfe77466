// Tested by parity with recorded outcomes (tests/parity).
#include "src/commands/case_file.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "src/args/config_file.h"
#include "src/args/parse.h"
#include "src/commands/commands.h"
#include "src/resolve/parsed_launch.h"
#include "src/resolve/pipeline.h"

namespace preflight::commands {
namespace {

std::string replaced(std::string s, std::string_view from, const std::string& to) {
  for (auto at = s.find(from); at != std::string::npos; at = s.find(from, at + to.size())) {
    s.replace(at, from.size(), to);
  }
  return s;
}

// A case's --config text as a file, gone with the object.
class TemporaryYaml {
 public:
  explicit TemporaryYaml(const std::string& text) {
    std::string name = "/tmp/xpu-preflight-XXXXXX.yaml";
    const int fd = mkstemps(name.data(), 5);
    if (fd < 0) return;
    path_ = name;
    const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(fd);
    if (!written) path_.clear();
  }
  TemporaryYaml(const TemporaryYaml&) = delete;
  TemporaryYaml& operator=(const TemporaryYaml&) = delete;
  ~TemporaryYaml() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string string_of(const Value& item, std::string_view key) {
  const Value* v = item.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

DeviceFacts device_of(const Value& item, DeviceFacts device) {
  const Value* d = item.find("device");
  if (d == nullptr) return device;
  if (const Value* v = d->find("memory_mib"); v != nullptr && v->is_int()) device.memory_mib = v->as_int();
  if (const Value* v = d->find("count"); v != nullptr && v->is_int()) device.count = static_cast<int>(v->as_int());
  if (const Value* v = d->find("name"); v != nullptr && v->is_string()) device.name = v->as_string();
  if (const Value* v = d->find("has_fp64"); v != nullptr && v->is_bool()) device.has_fp64 = v->as_bool();
  return device;
}

Result<Launch> resolve_case(const CaseFile& options, const Value& item, ResolvedCase& out) {
  const std::string models_dir = options.models;
  const std::string model = models_dir + "/" + string_of(item, "model");
  const auto with_paths = [&](std::string s) {
    return replaced(replaced(std::move(s), "{models}", models_dir), "{model}", model);
  };
  const Value* yaml = item.find("config");
  std::optional<TemporaryYaml> config;
  if (yaml != nullptr && yaml->is_string()) config.emplace(with_paths(yaml->as_string()));
  const std::string config_path = config ? config->path() : std::string();
  std::vector<std::string> argv;
  if (const Value* args = item.find("args"); args != nullptr && args->is_list()) {
    for (const auto& a : args->as_list()) {
      argv.push_back(replaced(with_paths(a.is_string() ? a.as_string() : a.repr()), "{config}", config_path));
    }
  }
  out.names = {{config_path, "{config}"}, {model, "{model}"}, {models_dir, "{models}"}};
  Environment env;
  if (const Value* e = item.find("env"); e != nullptr && e->is_dict()) {
    for (const auto& [k, v] : e->as_dict()) env[k] = v.is_string() ? v.as_string() : v.repr();
  }
  out.inputs.release = options.release;
  out.inputs.env = env;
  out.inputs.device = device_of(item, options.device);
  args::CommandLine expanded{argv, std::vector<SourceRange>(argv.size()), 0};
  out.inputs.argv = args::merge_config_file(options.release, expanded) ? argv : expanded.words;
  if (options.hub) {
    auto resolved = resolve_words(out.inputs, argv, {}, env);
    if (!resolved) return tl::make_unexpected(resolved.error());
    out.unknown_model = std::move(resolved->unknown_model);
    out.unknown_draft = resolved->unknown_draft;
    return std::move(resolved->launch);
  }
  ParseOutcome parsed = args::parse(options.release, argv);
  if (auto* args = std::get_if<ServerArgs>(&parsed)) {
    return resolve::resolve(std::move(*args), *out.inputs.models, out.inputs.device, std::move(env));
  }
  return resolve::refused_by_parser(options.release, std::move(parsed));
}

}  // namespace

int for_each_case(const CaseFile& options, const std::function<void(const ResolvedCase&)>& each) {
  std::ifstream file;
  if (options.cases != "-") {
    file.open(options.cases, std::ios::binary);
    if (!file || file.peek() == std::ifstream::traits_type::eof()) {
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
    const auto item = Value::parse_json(line);
    if (!item || !item->is_dict()) {
      std::cerr << fmt::format("xpu-preflight: {}:{}: {}\n", options.cases, number,
                               item ? "a case is a JSON object" : item.error().message);
      return kBadInput;
    }
    ResolvedCase resolved;
    resolved.id = string_of(*item, "id");
    resolved.inputs.models = models;
    resolved.inputs.unknown_models_stay_open = options.hub;
    resolved.inputs.unusable_files_are_errors = false;  // a line tells what SGLang does, and the batch goes on
    auto launch = resolve_case(options, *item, resolved);
    if (!launch) {
      std::cerr << fmt::format("xpu-preflight: {}:{}: {}\n", options.cases, number, launch.error().text());
      return kBadInput;
    }
    resolved.launch = std::move(*launch);
    each(resolved);
  }
  return kOk;
}

}  // namespace preflight::commands
