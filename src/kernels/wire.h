// What the program and its kernel process tell each other, as lines of JSON: one request, then one answer for the
// device, one for each case, and a last one. Floating-point results survive bit by bit, NaN and infinities as words.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "preflight/kernel_run.h"

namespace preflight::wire {

struct Request {
  bool list_devices = false;  // then nothing else counts
  std::vector<std::string> cases;
  DeviceChoice device;
  RunOptions options;
  double seconds = 60.0;  // that each answer may take; the process's limit on processor time follows from it
};

struct End {
  std::optional<DeviceError> error;  // about the device as a whole
};
// A CaseReport carries no kernel_case: both sides know it by its position.
using Answer = std::variant<DeviceInfo, CaseReport, End>;

std::string print(const Request& request);
Result<Request> parse_request(const std::string& text);

std::string print(const Answer& answer);
Result<Answer> parse_answer(const std::string& line);

}  // namespace preflight::wire
