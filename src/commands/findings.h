// What there is to say about one launch: the rules' findings, and what the input itself adds or leaves open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/rule.h"
#include "src/intake/launch_input.h"

namespace preflight::commands {

// Whether a neutral value stands in for a shape that the kernel would run with.
bool shapes_assumed(const PreparedLaunch& prepared);

// What a model that nobody knows leaves open, as `resolve` says it in both of its forms.
std::string left_open_by(const UnknownModel& model);

// Most severe first.
std::vector<Diagnostic> findings_of(const PreparedLaunch& prepared, const CheckOptions& options, Coverage& coverage);

// MD003: what the checkpoint's own configuration class adds is not known.
std::optional<Diagnostic> own_code_not_run(const PreparedLaunch& prepared);

}  // namespace preflight::commands
