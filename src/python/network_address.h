// "host:port" as SGLang reads it (srt/utils/network.py: NetworkAddress.parse), with Python's int for the port and its
// ipaddress for what stands in brackets. Tested by tests/network_address_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace preflight::python {

struct NetworkAddress {
  std::string host;  // without brackets
  std::int64_t port = 0;
};

// nullopt: it has no port of 0 to 65535, no host, or is an IPv6 address without brackets.
std::optional<NetworkAddress> network_address(std::string_view text);

}  // namespace preflight::python
