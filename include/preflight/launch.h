// Stage 3: the resolved launch: what SGLang will run with, how each value came about, or why it refuses.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "preflight/facts.h"
#include "preflight/fields.h"
#include "preflight/server_args.h"

namespace preflight {

// One entry of the chain: a step set fields. `assigned` tells releases that assign (up to 0.5.18) from those that
// declare; the recorder writes the first as "writes", the second as "trace".
struct Change {
  std::string step;  // upstream's name for the source
  std::vector<std::pair<Field, Value>> fields;
  bool assigned = false;
};

enum class Outcome { kAccepted, kUsage, kRefused };
enum class Stage { kParse, kResolve, kCheck };

struct Launch {
  Outcome outcome = Outcome::kAccepted;
  Stage stage = Stage::kCheck;              // where it ended, when not accepted
  std::optional<UsageError> usage;          // when kUsage
  std::optional<Refusal> refusal;           // when kRefused
  bool refused_by_model = false;            // the refusal came from building the target model's facts
  ServerArgs args;                          // as parsed
  std::vector<Value> resolved;              // one per Field, after the last step that ran
  std::vector<Change> chain;                // every change in order
  std::vector<LogLine> log;                 // warnings in order
  std::vector<Field> unmodelled;            // given options whose effect this build does not compute
  std::shared_ptr<const ModelFacts> model;  // null: not known (then model rules say so)
  DeviceFacts device;
  Environment env;

  [[nodiscard]] bool accepted() const { return outcome == Outcome::kAccepted; }
  [[nodiscard]] Release release() const { return args.release; }
  [[nodiscard]] const Value& operator[](Field f) const { return resolved[static_cast<std::size_t>(f)]; }
};

}  // namespace preflight
