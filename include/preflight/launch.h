// Stage 3: the resolved launch: what SGLang will run with, how each value came about, or why it refuses.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "preflight/facts.h"
#include "preflight/server_args.h"

namespace preflight {

using FieldValue = std::pair<Field, Value>;

// The fields that a step sets together: nearly always one, which lies here and not in memory of its own.
class FieldValues {
 public:
  FieldValues() = default;
  FieldValues(Field field, Value value) : one_(field, std::move(value)), size_(1) {}
  FieldValues(std::initializer_list<FieldValue> items) {
    for (const FieldValue& item : items) push_back(item);
  }
  FieldValues(std::vector<FieldValue> items) : size_(items.size()), several_(std::move(items)) {
    if (size_ == 1) one_ = std::move(several_.front());
  }
  FieldValues(const FieldValues& other);
  FieldValues(FieldValues&& other) noexcept;
  FieldValues& operator=(const FieldValues& other);
  FieldValues& operator=(FieldValues&& other) noexcept;
  ~FieldValues();  // not in line: see Value::join

  void push_back(FieldValue item);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const FieldValue* begin() const { return size_ > 1 ? several_.data() : &one_; }
  [[nodiscard]] const FieldValue* end() const { return begin() + size_; }
  [[nodiscard]] FieldValue* begin() { return size_ > 1 ? several_.data() : &one_; }
  [[nodiscard]] FieldValue* end() { return begin() + size_; }
  [[nodiscard]] const FieldValue& front() const { return *begin(); }
  [[nodiscard]] const FieldValue& operator[](std::size_t i) const { return begin()[i]; }
  [[nodiscard]] FieldValue& operator[](std::size_t i) { return begin()[i]; }

 private:
  FieldValue one_{};
  std::size_t size_ = 0;
  std::vector<FieldValue> several_;  // all of them, when they are more than one
};

// One entry of the chain: a step set fields. `assigned` tells releases that assign (up to 0.5.18) from those that
// declare; the recorder writes the first as "writes", the second as "trace".
struct Change {
  std::string_view step;  // upstream's name for the source: text that stays, so that thirty changes a launch copy none
  FieldValues fields;
  bool assigned = false;
};

enum class Outcome { kAccepted, kUsage, kRefused };
enum class Stage { kParse, kResolve, kCheck };

struct Launch {
  Outcome outcome = Outcome::kAccepted;
  Stage stage = Stage::kCheck;              // where it ended, when not accepted
  std::optional<UsageError> usage;          // when kUsage
  std::optional<Refusal> refusal;           // when kRefused
  std::string_view refused_by_step;         // of the pipeline, when it was the builtin resolver that refused
  bool refused_by_model = false;            // the refusal came from building the target model's facts
  ServerArgs args;                          // as parsed
  LaunchFields resolved;                    // after the last step that ran; empty when there was none
  std::vector<Change> chain;                // every change in order
  std::vector<LogLine> log;                 // warnings in order
  std::vector<Field> unmodelled;            // given options whose effect this build does not compute
  std::shared_ptr<const ModelFacts> model;  // null: not known (then model rules say so)
  DeviceFacts device;
  Environment env;

  [[nodiscard]] bool accepted() const { return outcome == Outcome::kAccepted; }
  [[nodiscard]] Release release() const { return args.release; }
  [[nodiscard]] const Value& operator[](Field f) const { return resolved[f]; }
};

}  // namespace preflight
