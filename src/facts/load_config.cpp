// get_config() for a path, and the files beside it. Tested by tests/facts_model_test.cpp.
#include <filesystem>
#include <iterator>

#include "src/facts/transformers/config_rules.h"
#include "src/facts/gguf/gguf_config.h"
#include "src/facts/read_config.h"
#include "src/base/read_text.h"

namespace preflight::facts {

std::optional<std::string> ModelSource::text_of(const std::string& file) {
  auto text = read_text(file);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

namespace {

void name_by_header(Release release, const std::string& path, const HfConfigPtr& config) {
  if (gguf_source(release, path) == GgufSource::kHeader) name_gguf_architecture(ConfigTables::of(release), config);
}

// Keeps apart what parsers given by hand read; "auto" looks at the path's name.
std::string with_parser(const std::string& path, const Value& parser) {
  if (!parser.is_string() || parser.as_string() == "auto") return path;
  return path + "\nby " + parser.as_string();
}

HfConfigPtr remembered_config(ModelSource& source, const ConfigRequest& request, std::vector<LogLine>& log) {
  const std::string path = with_parser(request.path, request.config_parser);
  return source.memo().config(
      request.release, path, request.trust_remote_code, [&] { return read_config(source, request); }, log);
}

}  // namespace

HfConfigPtr read_hf_config(ModelBuilder& b) {
  const auto& request = b.request;
  const bool overridden = request.override_args.is_string() && request.override_args.as_string() != "{}";
  // The override arguments are parsed before the file is looked at.
  const auto overrides = Value::parse_json(overridden ? request.override_args.as_string() : "{}");
  if (!overrides) {
    raise(RF::kOther, "JSONDecodeError", "__init__",
          "--json-model-override-args is no JSON: " + overrides.error().text());
  }
  ConfigRequest plain;
  plain.release = request.release;
  plain.path = request.path;
  plain.trust_remote_code = request.trust_remote_code.truthy();
  plain.config_parser = request.config_parser;
  HfConfigPtr config = remembered_config(b.source, plain, b.log);
  if (overridden) {
    const HfConfigPtr text = config->sub("text_config");
    b.facts.rope_before_overrides = (text ? text : config)->get("rope_parameters");
    override_config(request.release, config, *overrides);
  }
  name_by_header(request.release, request.path, config);
  return config;
}

namespace {

// A model directory whose configuration lies in another file than config.json.
class RenamedConfig : public ModelSource {
 public:
  RenamedConfig(ModelSource& source, std::string file) : source_(source), file_(std::move(file)) {}

  Result<std::shared_ptr<const Value>> config_of(const std::string& path) override {
    const bool absolute = file_.starts_with('/');
    const auto text = source_.text_of(absolute ? file_ : path + "/" + file_);
    if (!text) return failure("the file cannot be read", file_);
    auto value = Value::parse_json(*text);
    if (!value) return failure(value.error().message, file_);
    return std::make_shared<const Value>(std::move(*value));
  }
  bool has_file(const std::string& path, const std::string& name) override { return source_.has_file(path, name); }
  std::optional<std::string> text_of(const std::string& file) override { return source_.text_of(file); }
  std::optional<Value> json_file(const std::string& path, const std::string& name) override {
    return source_.json_file(path, name);
  }

 private:
  ModelSource& source_;
  std::string file_;
};

HfConfigPtr config_for(ModelSource& source, const ConfigRequest& request, std::vector<LogLine>& log) {
  if (!request.configuration_file.empty()) {
    RenamedConfig renamed(source, request.configuration_file);
    const WarningSink sink(log);
    return read_config(renamed, request);
  }
  return remembered_config(source, request, log);
}

}  // namespace

ModelOutcome build_model_from(ModelSource& source, const ModelRequest& request, const std::string& file) {
  RenamedConfig renamed(source, file);
  return build_model(renamed, request);
}

ConfigOutcome load_config(ModelSource& source, const ConfigRequest& request) {
  std::vector<LogLine> log;
  // The common request, asked once a launch, is remembered as facts that consist of the configuration alone.
  const bool usual = request.configuration_file.empty() && !request.override_args.truthy();
  const std::string key = usual ? "config " + request.release.text() + (request.trust_remote_code ? "+" : "-") +
                                      with_parser(request.path, request.config_parser)
                                : std::string();
  if (const ModelOutcome* known = usual ? source.memo().outcome(key) : nullptr) {
    if (const auto* refusal = std::get_if<Refusal>(&known->result)) return {*refusal, known->log};
    return {std::get<std::shared_ptr<const ModelFacts>>(known->result)->hf_config, known->log};
  }
  try {
    const HfConfigPtr config = config_for(source, request, log);
    override_config(request.release, config, request.override_args);
    if (request.configuration_file.empty()) name_by_header(request.release, request.path, config);
    Value value = config->to_value();
    if (usual) {
      auto facts = std::make_shared<ModelFacts>();
      facts->hf_config = value;
      source.memo().remember(key, {std::move(facts), log});
    }
    return {std::move(value), std::move(log)};
  } catch (const Raised& raised) {
    if (usual) source.memo().remember(key, {raised.refusal, log});
    return {raised.refusal, std::move(log)};
  }
}

}  // namespace preflight::facts
