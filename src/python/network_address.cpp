#include "src/python/network_address.h"

#include <arpa/inet.h>

#include "src/python/text.h"

namespace preflight::python {
namespace {

bool is_ipv6(const std::string& host) {
  in6_addr ignored{};
  return inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &ignored) == 1;
}

}  // namespace

std::optional<NetworkAddress> network_address(std::string_view text) {
  NetworkAddress address;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos || close + 1 >= text.size() || text[close + 1] != ':') return std::nullopt;
    address.host = text.substr(1, close - 1);
    if (!is_ipv6(address.host)) return std::nullopt;
    port = text.substr(close + 2);
  } else {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos || colon == 0) return std::nullopt;
    address.host = text.substr(0, colon);
    if (is_ipv6(address.host)) return std::nullopt;
    port = text.substr(colon + 1);
  }
  const auto number = to_int(port);
  if (!number || *number < 0 || *number > 65535) return std::nullopt;
  address.port = *number;
  return address;
}

}  // namespace preflight::python
