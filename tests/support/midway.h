// Midway: a launch in the middle of resolution, for tests of single steps.
//
//   Midway m(v0_5(23));
//   m.set(Field::device, "xpu").set(Field::page_size, 64).model("target", R"({"model_type": "llama", …})");
//   EXPECT_EQ(m.run(handle_ngram), "ok");             // or "ValueError in _handle_ngram"
//   EXPECT_EQ(m.chain(), "_handle_ngram {\"max_running_requests\":48}\n…");
//
// Fields start at the release's defaults. Models are JSON texts under a name; nothing is read from disk, except the
// files that launch arguments name (give them through file()).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/resolve/core/resolution.h"

namespace preflight::testing {

class ModelTexts : public facts::ModelSource {
 public:
  std::map<std::string, std::string> configs;
  std::map<std::string, std::string> files;

  Result<std::shared_ptr<const Value>> config_of(const std::string& path) override {
    const auto it = configs.find(path);
    if (it == configs.end()) return std::shared_ptr<const Value>();
    auto value = Value::parse_json(it->second);
    if (!value) return failure(value.error().message, path);
    return std::make_shared<const Value>(std::move(*value));
  }
  bool has_file(const std::string& path, const std::string& name) override {
    return files.contains(path + "/" + name) || (name == "config.json" && configs.contains(path));
  }
  std::optional<std::string> text_of(const std::string& file) override {
    const auto it = files.find(file);
    return it == files.end() ? std::nullopt : std::optional(it->second);
  }
};

class Midway {
 public:
  explicit Midway(Release release) {
    launch_.args.release = release;
    launch_.args.raw = LaunchFields(release);
    launch_.resolved = launch_.args.raw;
    set(Field::device, "xpu").set(Field::model_path, "target");
  }

  Midway& set(Field field, Value value) {
    launch_.resolved.set(field, std::move(value));
    return *this;
  }
  Midway& env(const std::string& name, std::string value) {
    launch_.env[name] = std::move(value);
    return *this;
  }
  Midway& model(const std::string& path, std::string config) {
    models_.configs[path] = std::move(config);
    return *this;
  }
  Midway& file(const std::string& path, std::string text) {
    models_.files[path] = std::move(text);
    return *this;
  }
  // The target as facts, without a configuration behind it.
  Midway& facts(ModelFacts facts) {
    launch_.model = std::make_shared<const ModelFacts>(std::move(facts));
    return *this;
  }
  Midway& architecture(std::string name) {
    ModelFacts named;
    named.architectures = {std::move(name)};
    return facts(std::move(named));
  }

  std::string run(resolve::Step step) {
    resolve::Resolution r(launch_, models_);
    try {
      step(r);
      return "ok";
    } catch (const resolve::RefusedByStep& refused) {
      return refused.refusal.exception + " in " + refused.refusal.function;
    }
  }

  const Value& operator[](Field field) const { return launch_.resolved[field]; }
  const Launch& launch() const { return launch_; }

  // Every change, one line each: its source and the fields as JSON.
  std::string chain() const {
    std::string out;
    for (const Change& change : launch_.chain) {
      Value fields = Value::dict({});
      for (const auto& [field, value] : change.fields) fields = fields.with(field_name(field), value);
      out += std::string(change.step) + " " + fields.json() + "\n";
    }
    return out;
  }
  // The logging functions of the warnings, in order.
  std::string warnings() const {
    std::string out;
    for (const LogLine& line : launch_.log) out += (out.empty() ? "" : " ") + line.function;
    return out;
  }

 private:
  Launch launch_;
  ModelTexts models_;
};

}  // namespace preflight::testing
