// Intel cards by short name, with what torch reports of them: configs/devices/devices.json.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "preflight/facts.h"

namespace preflight::facts {

struct DeviceProfile {
  std::string id;            // "b60"
  std::string architecture;  // dg2, pvc, bmg, lnl, arl
  DeviceFacts device;        // count is the default of DeviceFacts
};

std::span<const DeviceProfile> device_profiles();
// By id, else by a part of the name; case and blanks do not count.
std::optional<DeviceFacts> find_device_profile(std::string_view name);

}  // namespace preflight::facts
