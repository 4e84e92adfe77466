// What `doctor` looked at on the host, one rule each, and what it saw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/machine_facts.h"
#include "src/report/style.h"

namespace preflight::report {

// One thing that was to be looked at.
struct Examined {
  enum class Finding : std::uint8_t { kOk, kFault, kUnknown };
  std::string_view rule;
  Finding finding = Finding::kOk;
  std::string message;  // what was seen, what is wrong, or why nothing could be said
};

std::string doctor_text(const std::vector<Examined>& examined, const MachineFacts& facts, const Style& style);
std::string doctor_json(const std::vector<Examined>& examined, const MachineFacts& facts);

}  // namespace preflight::report
