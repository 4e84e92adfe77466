// LaunchFacts: what a rule is given: the view of the launch that every room reads, and the options of the check.
#pragma once

#include "preflight/rule.h"
#include "src/launch/launch_view.h"
#include "src/rules/beside.h"

namespace preflight::rules {

class LaunchFacts : public LaunchView {
 public:
  explicit LaunchFacts(const Launch& launch, const CheckOptions& options = {}, const Beside& beside = {})
      : LaunchView(launch, beside.draft.get()), options_(options), beside_(beside) {}

  [[nodiscard]] const CheckOptions& options() const { return options_; }
  // Of the checkpoint; null: not on this machine.
  [[nodiscard]] const facts::WeightFiles* weight_files() const { return beside_.files.get(); }
  // The model's one file; null: it is none, or not on this machine.
  [[nodiscard]] const facts::GgufFile* gguf_file() const { return beside_.gguf.get(); }
  // Of the container that the launch runs in; nullopt: in none, or nobody knows.
  [[nodiscard]] const std::optional<facts::SharingRights>& sharing() const { return beside_.sharing; }

 private:
  CheckOptions options_;
  Beside beside_;
};

// The condition of a table's row that has none.
inline bool always(const LaunchFacts& /*facts*/) { return true; }

}  // namespace preflight::rules
