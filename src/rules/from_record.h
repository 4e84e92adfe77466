// Findings of rules that no check of the table makes, with the words of their records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/diagnostic.h"
#include "preflight/launch.h"
#include "preflight/rule.h"

namespace preflight::rules {

Diagnostic from_record(const Rule& rule, std::string message, std::optional<Field> field = {});

// The same, at the option of the launch that gives the field, where one does. `remedies`: the launch's own; none: the
// record's.
Diagnostic from_record(const Rule& rule, std::string message, Field field, const Launch& launch,
                       std::vector<Remedy> remedies = {});

}  // namespace preflight::rules
