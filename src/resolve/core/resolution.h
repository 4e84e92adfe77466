// Resolution: the one object every step works on.
//
// A step is a function `void step(Resolution& r)` that does what one SGLang handler does, in SGLang's order. It reads
// fields with r[Field::x] (sees every earlier change), writes them with set() or declare(), logs with warn(), and
// ends the run with refuse(). It never prints, and never sees another step. Releases differ by readable conditions:
// if (r.since(v0_5(20))) ….
//
//   set()      the assignment `self.field = value` of releases up to 0.5.18: recorded only when the value changes
//   declare()  declare_resolution(...) of later releases: always recorded, several fields in one entry. Up to 0.5.18
//              only passes (_x_default, …) and model overrides declare; what a handler declares was assigned there
//   change()   either of them, by release: for steps whose upstream assigned up to 0.5.18 and declares since
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "preflight/launch.h"
#include "preflight/refusal_rule.h"
#include "src/facts/model_source.h"
#include "src/python/environment.h"

namespace preflight::resolve {

// Thrown by refuse(), caught by run(); never leaves src/resolve.
struct RefusedByStep {
  Refusal refusal;
};

// A step's name in the chain: text that lives as long as the program.
class StepName : public std::string_view {
 public:
  StepName(const char* name) : std::string_view(name) {}
  StepName(std::string_view name) : std::string_view(name) {}
  StepName(const std::string& name) = delete;  // the chain outlives it
};

class Resolution {
 public:
  Resolution(Launch& launch, facts::ModelSource& models)
      : launch_(launch), models_(models), rank_(rank_of(launch.args.release)) {}

  [[nodiscard]] Release release() const { return launch_.args.release; }
  [[nodiscard]] bool since(Release first) const { return rank_ >= rank_of(first); }
  [[nodiscard]] bool before(Release first) const { return rank_ < rank_of(first); }
  [[nodiscard]] const DeviceFacts& device() const { return launch_.device; }
  [[nodiscard]] const Environment& env() const { return launch_.env; }
  Environment& env() { return launch_.env; }  // some steps set variables that later steps read

  // Environment variables as SGLang reads them.
  [[nodiscard]] bool env_bool(std::string_view name, bool fallback) const {
    return python::environment_bool(env(), name, fallback);
  }
  [[nodiscard]] std::int64_t env_int(std::string_view name, std::int64_t fallback) const {
    return python::environment_int(env(), name, fallback);
  }
  [[nodiscard]] const std::string* env_text(std::string_view name) const {  // nullptr when unset
    return python::environment_text(env(), name);
  }

  // Fields.
  const Value& operator[](Field f) const {
    read_[reads_++ % read_.size()] = f;
    return launch_.resolved[f];
  }
  [[nodiscard]] bool none(Field f) const { return (*this)[f].is_none(); }
  [[nodiscard]] bool on(Field f) const { return (*this)[f].truthy(); }
  [[nodiscard]] bool is(Field f, std::string_view text) const {  // a str equal to text
    const Value& v = (*this)[f];
    return v.is_string() && v.as_string() == text;
  }
  [[nodiscard]] bool one_of(Field f, std::initializer_list<std::string_view> texts) const;
  [[nodiscard]] std::int64_t integer(Field f) const;  // a float (from a YAML file) counts as its whole part
  [[nodiscard]] double number(Field f) const { return (*this)[f].as_number(); }
  [[nodiscard]] const std::string& text(Field f) const;                      // a str, or "" for None
  [[nodiscard]] const Value& raw(Field f) const { return launch_.args[f]; }  // as parsed

  void set(StepName step, Field field, Value value);
  void declare(StepName step, FieldValues fields);
  void change(StepName step, Field field, Value value);

  // A change that upstream does not record (a private attribute, a constructor).
  void set_silently(Field field, Value value);

  // Private attributes that upstream keeps beside the fields (_cuda_graph_config_locked, …); None when never set.
  [[nodiscard]] Value attribute(std::string_view name) const;
  void set_attribute(std::string_view name, Value value);

  void warn(std::string_view function, std::string message = {}) { log("WARNING", function, std::move(message)); }
  void warn(std::string_view function, const char* message);
  void log(std::string_view level, std::string_view function, std::string message = {});

  // An exception that upstream raises (or that Python raises for it: TypeError for `None > 1`, KeyError, …).
  // `rule` is what the finding is reported under; `remedies` are those that only this place knows.
  [[noreturn]] void refuse(RF rule, std::string_view exception, std::string_view function, std::string message,
                           std::vector<Remedy> remedies = {});
  [[noreturn]] void refuse(RF rule, std::string_view exception, std::string_view function, const char* message);
  // assert condition. Every refusal says its rule, RF::kOther where the message tells all that is to be told.
  void require(RF rule, bool condition, std::string_view function, std::string_view message);

  // The target model as SGLang's get_model_config() / model_config_of() sees it; built once, at first use, with
  // the fields' values at that moment. Its warnings go to the log; its exceptions refuse.
  const ModelFacts& model();
  // What ModelConfig.from_server_args would be given now.
  [[nodiscard]] facts::ModelRequest model_request() const;
  [[nodiscard]] bool model_built() const { return launch_.model != nullptr; }
  // Another model (draft), not cached here.
  std::shared_ptr<const ModelFacts> build_model(const facts::ModelRequest& request);
  // The configuration alone, as get_config() returns it; its warnings go to the log, its exception is handed back.
  std::variant<Value, Refusal> load_config(facts::ConfigRequest request);
  facts::ModelSource& models() { return models_; }

  // The field was given and what it does here is not modelled: the verdict says so.
  void unmodelled(Field f);

  // What this step has read, each once, the last first: what a refusal is about.
  [[nodiscard]] std::vector<Field> reads() const;
  void begin_step() { reads_ = 0; }

  Launch& launch() { return launch_; }

 private:
  // Releases as numbers in the same order: steps compare them some hundred times a launch.
  static constexpr std::int64_t rank_of(Release r) {
    return (std::int64_t{r.major} << 48) + (std::int64_t{r.minor} << 32) + (std::int64_t{r.patch} << 8) + r.post;
  }
  void assign(StepName step, FieldValues fields);
  // Log lines of reading a model, in front of what follows.
  void take_log(std::vector<LogLine> lines);

  Launch& launch_;
  facts::ModelSource& models_;
  mutable std::array<Field, 16> read_{};  // a ring: the last ones
  mutable std::size_t reads_ = 0;
  std::int64_t rank_;
  std::map<std::string, Value, std::less<>> attributes_;
};

// How a function of upstream's raises ValueError: refuse(r, rule, why).
struct ValueErrorOf {
  std::string_view function;
  [[noreturn]] void operator()(Resolution& r, RF rule, std::string why) const {
    r.refuse(rule, "ValueError", function, std::move(why));
  }
};

using Step = void (*)(Resolution&);

// One row of a pipeline. `run` null: the step cannot act on an Intel GPU, and `note` says why.
struct PipelineStep {
  std::string_view name;  // upstream's function
  Step run;
  Release since = v0_5(0);
  Release until = kNoEnd;  // exclusive, as everywhere
  std::string_view note = {};
};

}  // namespace preflight::resolve
