// Upstream: check_load_publish_args, disaggregation/kv_events.py (KVEventsConfig, a pydantic model in its lax mode, and
// resolve_load_pub_range). Known for 0.5.23. Tested by tests/resolve_validation_test.cpp and parity.
#include "src/resolve/cache/kv_events.h"

#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/python/network_address.h"
#include "src/python/text.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

using python::NetworkAddress;

struct Publisher {
  std::string publisher = "null";
  std::string endpoint = "tcp://*:5557";
  std::optional<std::string> replay_endpoint;
};

// Of a tcp:// endpoint; nothing when it is none, or its port is 0.
std::optional<NetworkAddress> tcp_address(std::string_view endpoint) {
  constexpr std::string_view kScheme = "tcp://";
  if (!endpoint.starts_with(kScheme)) return std::nullopt;
  auto address = python::network_address(endpoint.substr(kScheme.size()));
  return address && address->port > 0 ? address : std::nullopt;
}

std::optional<NetworkAddress> bindable_address(const std::string& endpoint) {
  const auto address = tcp_address(endpoint);
  if (!address || (address->host != "*" && address->host != "0.0.0.0" && address->host != "::")) return std::nullopt;
  return address;
}

// What pydantic's lax mode takes for an int and for a bool in JSON.
bool is_lax_int(const Value& v) {
  if (v.is_bool() || v.is_int()) return true;
  if (v.is_float()) return std::isfinite(v.as_number()) && v.as_number() == std::floor(v.as_number());
  if (!v.is_string()) return false;
  const auto number = python::to_float(v.as_string());
  return number && std::isfinite(*number) && *number == std::floor(*number) &&
         v.as_string().find_first_of("eE") == std::string::npos;
}

bool is_lax_bool(const Value& v) {
  if (v.is_bool() || (v.is_number() && (v.as_number() == 0 || v.as_number() == 1))) return true;
  if (!v.is_string()) return false;
  static constexpr std::array<std::string_view, 12> kWords = {"0", "off", "f", "false", "n", "no",
                                                              "1", "on",  "t", "true",  "y", "yes"};
  const std::string word = ascii_lower(v.as_string());
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

std::optional<Publisher> parsed_publisher(const std::string& json) {
  const auto config = Value::parse_json(json);
  if (!config || !config->is_dict()) return std::nullopt;
  Publisher out;
  for (const auto& [name, value] : config->as_dict()) {
    bool good = true;
    if (name == "publisher" || name == "endpoint" || name == "topic") {
      good = value.is_string();
    } else if (name == "replay_endpoint") {
      good = value.is_none() || value.is_string();
    } else if (name == "bind") {
      good = value.is_none() || is_lax_bool(value);
    } else if (name == "buffer_steps" || name == "hwm" || name == "max_queue_size") {
      good = is_lax_int(value);
    } else if (name == "format") {
      good = is_text(value, "default") || is_text(value, "dynamo");
    }
    if (!good) return std::nullopt;
    if (name == "publisher") out.publisher = value.as_string();
    if (name == "endpoint") out.endpoint = value.as_string();
    if (name == "replay_endpoint" && value.is_string()) out.replay_endpoint = value.as_string();
  }
  return out;
}

// Why the ports of the load publisher cannot be had; empty when they can.
std::string range_fault(const Publisher& kv, const std::string& mode, std::int64_t ranks) {
  const auto overlaps = [&](std::int64_t a, std::int64_t b) { return a < b + ranks && b < a + ranks; };
  const auto replay = kv.replay_endpoint ? tcp_address(*kv.replay_endpoint) : std::nullopt;
  std::int64_t base = 0;
  if (ascii_lower(mode) == "auto") {
    const auto address = bindable_address(kv.endpoint);
    if (!address) {
      return fmt::format(
          "auto takes the ports after --kv-events-config's endpoint, which has to be a wildcard tcp:// "
          "address, not {}",
          kv.endpoint);
    }
    base = address->port + ranks;
    if (replay && overlaps(base, replay->port)) base = replay->port + ranks;
  } else {
    const auto events = tcp_address(kv.endpoint);
    if (!events) return fmt::format("routers find it only beside a tcp:// endpoint of KV events, not {}", kv.endpoint);
    const auto address = bindable_address(mode);
    if (!address) return fmt::format("{} cannot be bound; use a wildcard address such as tcp://*:5600", mode);
    base = address->port;
    if (overlaps(base, events->port) || (replay && overlaps(base, replay->port))) {
      return fmt::format("its ports from {} overlap those of the KV events", base);
    }
  }
  return base + ranks - 1 > 65535 ? fmt::format("its ports from {} pass 65535", base) : "";
}

}  // namespace

void check_load_publish_args(Resolution& r) {
  const std::string option = r.text(Field::load_publish_endpoint);
  const std::string mode(python::strip(option));
  if (mode.empty() || ascii_lower(mode) == "off") return;
  const auto refuse = [&](std::string_view why) {
    r.refuse(RF::kOther, "ValueError", "check_load_publish_args", fmt::format("--load-publish-endpoint: {}.", why));
  };
  if (!r.on(Field::kv_events_config)) refuse("it needs --kv-events-config, by which routers find it");
  const auto publisher = parsed_publisher(r.text(Field::kv_events_config));
  if (!publisher) refuse("--kv-events-config is no valid configuration");
  if (publisher->publisher == "null" || publisher->endpoint.empty()) {
    refuse("--kv-events-config names no publisher; set publisher and endpoint");
  }
  const std::int64_t groups = r.since(v0_5(22)) ? r.integer(Field::attn_dp_size) : 1;
  const std::int64_t ranks = integer::bounded_times(r.integer(Field::dp_size), groups);
  if (ranks < 1) return;
  const std::string fault = range_fault(*publisher, mode, ranks);
  if (!fault.empty()) refuse(fault);
}

}  // namespace preflight::resolve
