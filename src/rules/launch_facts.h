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
  // Of the same, where the host has more; nullopt: the host's memory is all that bounds the launch.
  [[nodiscard]] const facts::MemoryLimit* memory_limit() const {
    const bool lower = beside_.memory && device().host_memory_mib &&
                       static_cast<std::int64_t>(beside_.memory->bytes >> 20) <= *device().host_memory_mib;
    return lower ? &*beside_.memory : nullptr;
  }

 private:
  CheckOptions options_;
  Beside beside_;
};

// The condition of a table's row that has none.
inline bool always(const LaunchFacts& /*facts*/) { return true; }

}  // namespace preflight::rules
