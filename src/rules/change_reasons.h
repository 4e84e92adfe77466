// Why a step of resolution sets a value: one row for each reason, in our own words.
//
// Steps do not carry their reasons, since most launches ask for none. Whoever tells of a change (CH001, CH002,
// `explain FIELD`, the values of a report) finds the reason by the step, the field, and where one step has several
// reasons, by the resolved launch. Each row was read off the step in src/resolve and upstream's source.
// Tested by tests/change_reasons_test.cpp; complete over recorded launches: tests/parity/reasons.py.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/launch/launch_view.h"

namespace preflight::rules {

// One change of one field, and the launch it happened in.
struct FieldChange {
  const LaunchView& launch;
  Field field;
  const Value& before;
  const Value& now;
};

// A handler or pass, without its leading underscore and what follows a dot. A handler that was part of a larger method
// in the first releases is found there too. `earlier`: the handler that did the work before the pass existed.
struct StepNames {
  std::string_view name;
  std::string_view earlier = {};
};

struct ChangeReason {
  StepNames step;
  Field field;
  std::string_view text;                          // a sentence
  bool (*holds)(const FieldChange& c) = nullptr;  // null: always; the first row that holds counts
};

// Rows by family; together they are what reason_of() searches.
std::span<const ChangeReason> attention_reasons();
std::span<const ChangeReason> cache_reasons();
std::span<const ChangeReason> model_reasons();
std::span<const ChangeReason> parallel_reasons();
std::span<const ChangeReason> speculative_reasons();
std::span<const ChangeReason> serving_reasons();

// Why that step made that change; empty where no reason is known.
std::string_view reason_of(std::string_view step, const FieldChange& change);

// In place of a step: what SGLang derives when it is asked, as enable_dp_attention from attn_dp_size since 0.5.22, and
// what its steps edit in place.
inline constexpr std::string_view kDerived = "derived";

// A step that changed the field, in order. A value that a step sets again changes nothing and is left out.
struct ReasonedChange {
  std::string_view step;
  const Value* now;
  std::string_view reason;
};
std::vector<ReasonedChange> changes_of(const LaunchView& launch, Field field);

// "Reason one. Then: reason two."; empty where a step has none.
std::string reasons_text(const std::vector<ReasonedChange>& changes);

// Why a given value and the one it ends with mean the same, so that nothing was changed; empty where they differ.
std::string_view same_meaning(const LaunchView& launch, Field field);

}  // namespace preflight::rules
