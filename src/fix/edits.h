// Edits that may cure an error: which options it concerns, and which other values those could take.
//
// Nothing here knows a particular rule or refusal. An error says which options it is about (its argument, its remedies,
// what the refusing step had read); an option says which values it takes (its choices, or numbers of its kind).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/fix.h"
#include "preflight/launch.h"
#include "src/args/argument_groups.h"

namespace preflight::fix {

struct Edit {
  enum class Kind { kSet, kDrop, kRename, kAssign, kUnset, kStore };  // kAssign, kUnset: a variable
  Kind kind = Kind::kSet;
  // What it acts on: a group of the list (index), else a new option at the end; or a variable's name.
  std::optional<std::size_t> group = {};
  // Option for kSet without a group and for kRename, variable for kAssign and kUnset, form of another checkpoint for
  // kStore.
  std::string name = {};
  std::vector<std::string> values = {};
  double cost = 1.0;
};

// An argument list with what goes with it, as far as edits change it.
struct Arranged {
  std::vector<Group> groups;
  Environment env;
  std::string stored_as;  // form of another checkpoint of the model; "": the one given
};

// One candidate: edits that belong together.
struct Candidate {
  std::vector<Edit> edits;
  double cost = 1.0;
  Remedy remedy = {};       // what it carries out, with the values chosen
  bool is_widened = false;  // more than the remedy names: options that stand in its way are dropped
  bool is_advised = false;  // by the finding itself
};

// What a candidate is made from.
struct Situation {
  Release release;
  const std::vector<Group>& groups;
  const Environment& env;
  const Launch& launch;     // what became of these groups
  const Diagnostic& error;  // the one to cure
  const std::vector<Diagnostic>& errors;
};

std::vector<Candidate> usage_candidates(const Situation& s);  // the parser's complaints
std::vector<Candidate> value_candidates(const Situation& s);  // everything else

// The option that a step names: remedies made from a fix spell it as the launch does, abbreviations among it. Null: no
// option of this release.
const args::Option* named_option(std::string_view name, Release release, const std::vector<Group>& groups);

// What a remedy means for this launch: nothing when only the user can carry it out, or there is nothing to change; one
// candidate for each value it names.
std::vector<Candidate> candidates_of(const Remedy& remedy, const Situation& s);

// Applies one candidate; false when it changes nothing.
bool apply(const Candidate& candidate, Release release, Arranged& a);
std::string key_of(const Arranged& a);

// What was changed on the way from the given groups and variables.
std::vector<ArgumentChange> changes_to(const Arranged& now, const std::vector<Group>& given, const Environment& env);

// Values worth trying for an option, most promising first; `now` is the value it has ("" when not given). Empty for
// free text (paths, names): only the user knows those.
std::vector<std::string> other_values(const Situation& s, const args::Option& option, const std::string& now);

// Whole numbers above 0 in the text of a finding.
std::vector<std::int64_t> numbers_told(const Diagnostic& finding);

// What no fix of that error may touch: it would be another launch. The option at fault itself may get another value.
bool is_protected(const args::Option& option, const Diagnostic& error);

}  // namespace preflight::fix
