// Reading, writing, logging and refusing during resolution. Tested by every tests/resolve_*_test.cpp.
#include "src/resolve/core/resolution.h"

#include <algorithm>

#include "src/python/text.h"
#include "src/resolve/core/handlers.h"
#include "src/base/ascii_case.h"
#include "src/facts/mistral_format.h"
#include "src/facts/read_config.h"

namespace preflight::resolve {

bool Resolution::one_of(Field f, std::initializer_list<std::string_view> texts) const {
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view t) { return is(f, t); });
}

std::int64_t Resolution::integer(Field f) const {
  const Value& v = (*this)[f];
  return v.is_float() ? static_cast<std::int64_t>(v.as_number()) : v.as_int();
}

const std::string& Resolution::text(Field f) const {
  static const std::string kNone;
  const Value& v = (*this)[f];
  return v.is_string() ? v.as_string() : kNone;
}

std::vector<Field> Resolution::reads() const {
  std::vector<Field> fields;
  const std::size_t kept = std::min(reads_, read_.size());
  for (std::size_t back = 1; back <= kept; ++back) {
    const Field field = read_[(reads_ - back) % read_.size()];
    if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
  }
  return fields;
}

void Resolution::set_silently(Field field, Value value) { launch_.resolved.set(field, std::move(value)); }

Value Resolution::attribute(std::string_view name) const {
  const auto it = attributes_.find(name);
  return it == attributes_.end() ? Value() : it->second;
}

void Resolution::set_attribute(std::string_view name, Value value) {
  attributes_.insert_or_assign(std::string(name), std::move(value));
}

void Resolution::set(StepName step, Field field, Value value) {
  // What is no field of this release is a private attribute there, which nothing records.
  if (!launch_.resolved[field].identical(value) && field_exists(field, release())) {
    launch_.chain.push_back({source_in_release(release(), step), FieldValues(field, value), true});
  }
  set_silently(field, std::move(value));
}

void Resolution::assign(StepName step, FieldValues fields) {
  const StepName method = step.substr(0, step.find('.'));
  for (FieldValue& assigned : fields) {
    const bool in_place = assigned.first == Field::cuda_graph_config && method != "_parse_cuda_graph_config";
    if (in_place) {
      set_silently(assigned.first, std::move(assigned.second));
    } else {
      set(method, assigned.first, std::move(assigned.second));
    }
  }
}

// Up to 0.5.18 only passes and model overrides declare (up to 0.5.14 nothing does); a handler assigns, and settings
// inside the graph configuration change in place, which nothing records.
void Resolution::declare(StepName step, FieldValues fields) {
  if (before(v0_5(19))) {
    const Handler* handler = before(v0_5(15)) ? nullptr : find_handler(step.substr(0, step.find('.')));
    if (before(v0_5(15)) || (handler != nullptr && handler->assigns)) return assign(step, std::move(fields));
  }
  for (const auto& [field, value] : fields) set_silently(field, value);
  launch_.chain.push_back({step, std::move(fields), false});
}

void Resolution::change(StepName step, Field field, Value value) {
  declare(step, FieldValues(field, std::move(value)));
}

namespace {

// --log-level sets Python's root logger before anything resolves, so that it silences what is below it. The parser
// has refused names that are no level.
int severity_of(std::string_view level) {
  const std::string upper = ascii_upper(level);
  if (upper == "CRITICAL" || upper == "FATAL") return 50;
  if (upper == "ERROR") return 40;
  return upper == "WARNING" || upper == "WARN" ? 30 : 0;
}

}  // namespace

void Resolution::log(std::string_view level, std::string_view function, std::string message) {
  const Value& threshold = launch_.resolved[Field::log_level];  // no matter of the step's
  if (threshold.is_string() && severity_of(level) < severity_of(threshold.as_string())) return;
  launch_.log.push_back({std::string(level), traceback_name(release(), function), std::move(message)});
}

void Resolution::refuse(RF rule, std::string_view exception, std::string_view function, std::string message,
                        std::vector<Remedy> remedies) {
  Refusal refusal{std::string(exception), traceback_name(release(), function), std::move(message),
                  std::string(id_of(rule))};
  refusal.remedies = std::move(remedies);
  throw RefusedByStep{std::move(refusal)};
}

// Texts become strings here and not in every step that logs or refuses.
void Resolution::warn(std::string_view function, const char* message) { warn(function, std::string(message)); }

void Resolution::refuse(RF rule, std::string_view exception, std::string_view function, const char* message) {
  refuse(rule, exception, function, std::string(message));
}

void Resolution::require(RF rule, bool condition, std::string_view function, std::string_view message) {
  if (!condition) refuse(rule, "AssertionError", function, std::string(message));
}

facts::ModelRequest Resolution::model_request() const {
  // What a model is read with is no matter of the step that needs it.
  const LaunchFields& fields = launch_.resolved;
  static const facts::ModelRequest kPlain;  // its texts are shared by all
  facts::ModelRequest request = kPlain;
  request.path = text(Field::model_path);
  request.context_length = fields[Field::context_length];
  request.dtype = fields[Field::dtype];
  request.quantization = fields[Field::quantization];
  request.override_args = fields[Field::json_model_override_args];
  request.enable_multimodal = fields[Field::enable_multimodal];
  request.is_embedding = fields[Field::is_embedding];
  request.speculative_algorithm = fields[Field::speculative_algorithm];
  request.model_impl = fields[Field::model_impl];
  request.config_parser = fields[Field::model_config_parser];
  request.load_format = fields[Field::load_format];
  request.trust_remote_code = fields[Field::trust_remote_code];
  request.disable_hybrid_swa_memory = fields[Field::disable_hybrid_swa_memory];
  request.sampling_defaults = fields[Field::sampling_defaults];
  request.quantize_and_serve = fields[Field::quantize_and_serve];
  request.encoder_only = fields[Field::encoder_only];
  request.language_model_only = fields[Field::language_model_only];
  return request;
}

const ModelFacts& Resolution::model() {
  if (!launch_.model) launch_.model = build_model(model_request());
  return *launch_.model;
}

void Resolution::take_log(std::vector<LogLine> lines) {
  for (auto& line : lines) {
    // SGLang looks for a generation config, and reads a params.json, once per path and process.
    const bool once = line.function == "get_generation_config" || line.function == "parse";
    const bool repeated = once && std::any_of(launch_.log.begin(), launch_.log.end(), [&](const LogLine& earlier) {
                            return earlier.function == line.function && earlier.message == line.message;
                          });
    if (!repeated) log(line.level, line.function, std::move(line.message));
  }
}

std::shared_ptr<const ModelFacts> Resolution::build_model(const facts::ModelRequest& request) {
  facts::ModelRequest full = request;
  full.release = release();
  full.env = env();
  const std::string given = text(request.is_draft ? Field::decrypted_draft_config_file : Field::decrypted_config_file);
  const std::string file(python::strip(given));
  facts::ModelOutcome outcome =
      file.empty() ? facts::build_model(models_, full) : facts::build_model_from(models_, full, file);
  take_log(std::move(outcome.log));
  if (auto* refused = std::get_if<Refusal>(&outcome.result)) {
    launch_.refused_by_model = !request.is_draft;
    throw RefusedByStep{std::move(*refused)};
  }
  return std::get<std::shared_ptr<const ModelFacts>>(outcome.result);
}

std::variant<Value, Refusal> Resolution::load_config(facts::ConfigRequest request) {
  request.release = release();
  facts::ConfigOutcome outcome = facts::load_config(models_, request);
  take_log(std::move(outcome.log));
  return std::move(outcome.result);
}

void Resolution::unmodelled(Field f) {
  auto& list = launch_.unmodelled;
  if (std::find(list.begin(), list.end(), f) == list.end()) list.push_back(f);
}

}  // namespace preflight::resolve
