// A JSON document as the program prints it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace preflight::report {

// Indented by two, or in one line with `indent` -1. Bytes that are no UTF-8 become U+FFFD: what a file holds must not
// keep a report from being written.
template <typename Json>
std::string json_dump(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace preflight::report
