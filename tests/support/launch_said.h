// What a report says of a launch, as lines that tests write down for each release.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "preflight/launch.h"
#include "src/launch/launch_view.h"

namespace preflight::testing {

// What holds in one release, "WHAT | VALUE".
using Said = std::set<std::string>;

class Teller {
 public:
  template <typename T>
  void say(std::string_view what, const T& value) {
    said_.insert(fmt::format("{} | {}", what, value));
  }
  // Zeros and empty texts say nothing.
  template <typename T>
  void say_if_any(std::string_view what, const T& value) {
    if (value != T{}) say(what, value);
  }
  [[nodiscard]] Said take() { return std::move(said_); }

 private:
  Said said_;
};

// What the view answers: backends, ranks, cache, graphs.
void tell_view(const LaunchView& view, Teller& teller);
// Which kernels are run on which cases, and which are not; of a launch whose model is known.
void tell_plan(const Launch& launch, Teller& teller);
// What the memory sheet counts; of a launch whose model is known.
void tell_sheet(const Launch& launch, Teller& teller);

// Every word of a report that a release may decide. LG001 repeats SGLang's log, which recorded launches compare.
Said said_of(const Launch& launch);

// "> MODEL DEVICE [NAME=VALUE…] -- ARGUMENTS" in one release.
Launch launch_of_line(Release release, const std::string& line);

}  // namespace preflight::testing
