// The head of every report, and `facts`: what a launch is judged against, and where each fact came from.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "preflight/machine_facts.h"
#include "src/report/style.h"

namespace preflight::report {

// One line, and one for each note; "" where no machine was looked at.
std::string facts_head(const std::optional<MachineFacts>& facts, const Style& style);
// Everything, one fact a line.
std::string facts_text(const MachineFacts& facts, const Style& style);
// {"release": {"value", "origin", "place"}, "model": …, "device": {…}, "host": …, "packages": […], "notes": […]}
nlohmann::ordered_json facts_json(const MachineFacts& facts);
// The same as a document of its own.
std::string facts_document(const MachineFacts& facts);

}  // namespace preflight::report
