// A launch that ends early, as one finding: SGLang's exception (RF), or its parser's complaint (US).
#pragma once

#include "preflight/rule.h"

namespace preflight::rules {

Diagnostic refusal_diagnostic(const LaunchFacts& facts);
Diagnostic usage_diagnostic(const UsageError& usage, Release release);
// Whether the rule of that id tells what the parser complains of, before anything else is looked at.
bool is_of_parser(std::string_view rule);

}  // namespace preflight::rules
