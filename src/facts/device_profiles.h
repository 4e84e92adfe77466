// Intel cards by short name, with what torch reports of them: configs/devices/devices.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/facts.h"

namespace preflight::facts {

struct DeviceProfile {
  std::string id;            // "b60"
  std::string architecture;  // dg2, pvc, bmg, lnl, arl
  DeviceFacts device;        // count is the default of DeviceFacts
  std::vector<std::uint32_t> pci_ids;
  int tiles = 1;  // each is a device of its own unless ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE
  bool integrated = false;
};

std::span<const DeviceProfile> device_profiles();
// By id, else by a part of the name; case and blanks do not count.
std::optional<DeviceFacts> find_device_profile(std::string_view name);
// A processor's own GPU: it has no second, and its memory is the host's.
bool is_integrated(const DeviceFacts& device);
// nullptr: an id nobody knows here.
const DeviceProfile* profile_of_pci_id(std::uint32_t id);

}  // namespace preflight::facts
