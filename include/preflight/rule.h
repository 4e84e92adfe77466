// Rules: what goes wrong after SGLang has accepted its arguments, one record per rule, and the checker over them.
//
// check() takes a resolved launch and returns findings as data: late failures (the rule table), what SGLang changed
// or warned about on the way, and its refusal when it refuses. `rules`, `explain` and docs/rules.md print the same
// records. Every rule is tested on its own examples in every supported release of its range (tests/rules_test.cpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/launch.h"
#include "preflight/remedy.h"

namespace preflight {

namespace rules {
class LaunchFacts;  // src/rules/launch_facts.h: what rules read of a launch
}

// How sure the rule is: read in the source, inferred, or to be confirmed on hardware.
enum class Certainty { kCertain, kLikely, kNeedsHardware };

// A launch that shows the rule: `python -m sglang.launch_server --model-path MODEL ARGS` on that device.
struct RuleExample {
  std::string_view model = {};      // name of a model directory; empty = unused slot
  std::string_view args = {};       // split at spaces; single quotes group
  std::string_view device = "b60";  // name of a device profile (configs/devices), with xN for N of them
  std::string_view env = {};        // NAME=value
  Release since = v0_5(0);          // narrower than the rule where arguments differ between releases
  Release until = kNoEnd;           // exclusive
};

// One finding of a rule; what is not set comes from the rule's record.
struct Finding {
  std::string message;                         // the fault with this launch's values
  std::optional<Field> field = {};             // the argument it points at
  std::optional<Severity> severity = {};       //
  std::string fix = {};                        // prose, where `remedies` do not say it
  std::vector<Remedy> remedies = {};           // with the launch's values
  std::vector<std::string_view> extra_refs{};  // beside the rule's own
  std::optional<bool> counted = {};            // as in Diagnostic
  std::optional<double> excess = {};           // as in Diagnostic
};

using RuleCheck = std::optional<Finding> (*)(const rules::LaunchFacts&);

// What a rule must know to be checked; without it the rule counts as "not checked". kWholeModel: a few facts in place
// of the configuration (--fact) do not do.
enum class RuleNeed { kNothing, kModel, kWholeModel, kKernelDate };

struct Rule {
  std::string_view id;                              // family and number, never reused: "PG003"
  std::array<std::string_view, 3> refs = {};        // ids of the public rule catalogue, e.g. "K-6"
  Severity severity = Severity::kError;             //
  Certainty certainty = Certainty::kCertain;        //
  std::optional<Field> field = {};                  // the argument it points at
  std::string_view summary;                         // states the fault
  std::string_view why;                             // what happens, and when
  std::string_view fix = {};                        // the way out in words, where `remedies` do not say it
  remedy::Records remedies = {};                    // the way out as data
  std::string_view source;                          // SGLang file (or kernel file) it was read in
  std::string_view device = {};                     // the --device that it is about; empty: any
  Release since = v0_5(11);                         // first release where it holds
  Release until = kNoEnd;                           // first release where it no longer holds
  RuleNeed need = RuleNeed::kModel;                 //
  bool doubtful = false;                            // a warning of it leaves no server, or none that answers rightly
  bool of_checkpoint = false;                       // it asks how a checkpoint is stored: the draft's own, too
  std::array<std::string_view, 4> decided_by = {};  // facts of the model (--fact): a stand-in for one decides nothing
  RuleCheck check = nullptr;                        // null: reported from the launch's refusal, log or chain
  std::array<RuleExample, 2> fires_on = {};         //
  std::array<RuleExample, 2> quiet_on = {};         //
  [[nodiscard]] bool holds_in(Release r) const { return r >= since && r < until; }
};

struct CheckOptions {
  // Date of the sgl-kernel-xpu build; the pairing rules need it.
  std::optional<std::chrono::year_month_day> kernel_date = {};
  bool environment_notes = false;  // say what depends on installed packages, which a launch does not show
  bool changes = true;             // report values SGLang changed although they were given
  bool log_lines = true;           // report SGLang's own warnings
};

// "2026-08-21"; nothing else.
std::optional<std::chrono::year_month_day> parse_date(std::string_view text);

struct NotChecked {
  const Rule* rule;
  std::string reason;
};

struct Coverage {
  int applied = 0;         // the predicate ran
  int not_applicable = 0;  // the release is outside the rule's range, or the device another
  std::vector<NotChecked> not_checked;
};

struct CheckResult {
  std::vector<Diagnostic> diagnostics;  // errors first, then warnings, changes, notes; table order within
  Coverage coverage;
};

// Rules by their places; gone through as rules.
class RuleList {
 public:
  class Iterator {
   public:
    using value_type = Rule;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(const Rule* const* at) : at_(at) {}
    const Rule& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const Rule* const* at_ = nullptr;
  };
  explicit RuleList(std::span<const Rule* const> places) : places_(places) {}
  [[nodiscard]] Iterator begin() const { return Iterator(places_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(places_.data() + places_.size()); }

 private:
  std::span<const Rule* const> places_;
};

// Every rule, in the order they are reported.
RuleList all_rules();
// By our id, else by a reference id ("K-6"; the first rule that carries it). nullptr when there is none.
const Rule* find_rule(std::string_view id_or_ref);

CheckResult check(const Launch& launch, const CheckOptions& options = {});

// The whole table as a page of Markdown: docs/rules.md.
std::string render_rules_markdown();

}  // namespace preflight
