// LaunchFacts: what a rule is given: the view of the launch that every room reads, and the options of the check.
#pragma once

#include "preflight/rule.h"
#include "src/launch/launch_view.h"

namespace preflight::rules {

class LaunchFacts : public LaunchView {
 public:
  explicit LaunchFacts(const Launch& launch, const CheckOptions& options = {}, const ModelFacts* draft = nullptr)
      : LaunchView(launch, draft), options_(options) {}

  [[nodiscard]] const CheckOptions& options() const { return options_; }

 private:
  CheckOptions options_;
};

}  // namespace preflight::rules
