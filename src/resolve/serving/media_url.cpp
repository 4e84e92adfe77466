// The list of hosts that client-supplied media may come from, in its normal form.
//
// Upstream: handle_media_url_security, configure_media_url_security in utils/common.py. Addresses become canonical
// (Python's ipaddress), names become lower-case ASCII. Tested by tests/resolve_serving_test.cpp and parity.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/python/text.h"
#include "src/resolve/serving/serving.h"

namespace preflight::resolve {
namespace {

// str(ipaddress.IPv6Address(...)): lower-case groups, the longest run of two or more zero groups as "::". Unlike
// inet_ntop, Python 3.11 prints embedded IPv4 addresses in hexadecimal as well.
std::string ipv6_text(const in6_addr& address) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = static_cast<unsigned>(address.s6_addr[2 * i] << 8 | address.s6_addr[2 * i + 1]);
  }
  std::size_t best = 0;
  std::size_t best_length = 1;
  for (std::size_t i = 0; i < groups.size();) {
    std::size_t end = i;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - i > best_length) {
      best = i;
      best_length = end - i;
    }
    i = std::max(end, i + 1);
  }
  std::string out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (best_length > 1 && i == best) {
      out += "::";
      i += best_length - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += fmt::format("{:x}", groups[i]);
  }
  return out;
}

std::string normal_domain(Resolution& r, const std::string& given) {
  const auto refuse = [&](std::string_view why) {
    r.refuse(
        RF::kOther, "ValueError", "_normalize_media_domain",
        fmt::format("--allowed-media-domains has \"{}\": {}; give host names such as media.example.com.", given, why));
  };
  std::string_view domain = python::strip(given);
  while (!domain.empty() && domain.back() == '.') domain.remove_suffix(1);
  if (domain.empty()) refuse("a name is missing");
  if (domain.find("://") != std::string_view::npos || domain.find_first_of("/?#@") != std::string_view::npos) {
    refuse("that is a URL");
  }
  if (domain.front() == '[' && domain.back() == ']') domain = domain.substr(1, domain.size() - 2);
  const std::string name(domain);
  in6_addr address{};
  const std::string numeric = name.substr(0, name.find('%'));
  const std::string zone = name.substr(numeric.size());
  if (zone != "%" && inet_pton(AF_INET6, numeric.c_str(), &address) == 1) return ipv6_text(address) + zone;
  if (name.find(':') != std::string::npos) refuse("ports cannot be limited");
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  if (!ascii) {  // internationalised names need nameprep tables, which this build does not carry
    r.unmodelled(Field::allowed_media_domains);
    return name;
  }
  const auto labels = python::split(name, '.');
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool empty = labels[i].empty() && i + 1 < labels.size();
    if (empty || labels[i].size() > 63) refuse("its labels have to be of 1 to 63 characters");
  }
  if (name.empty()) refuse("a name is missing");
  return ascii_lower(name);
}

}  // namespace

void handle_media_url_security(Resolution& r) {
  if (r.integer(Field::media_url_max_file_size_mb) < 0) {
    r.refuse(RF::kOther, "ValueError", "configure_media_url_security",
             "--media-url-max-file-size-mb is negative; give MiB, or 0 for no limit.");
  }
  std::set<std::string> domains;
  if (const Value& given = r[Field::allowed_media_domains]; given.is_list()) {
    for (const Value& domain : given.as_list()) domains.insert(normal_domain(r, domain.as_string()));
  }
  Value::List sorted(domains.begin(), domains.end());
  r.declare("_handle_media_url_security", {{Field::allowed_media_domains, Value::list(std::move(sorted))}});
}

}  // namespace preflight::resolve
