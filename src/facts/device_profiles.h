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
  std::int64_t smaller_mib = 0;  // a card with so much is sold under the same PCI id; 0: none is
};

std::span<const DeviceProfile> device_profiles();
// More than any machine has, and so many that where they do not help no number does.
inline constexpr int kMostCards = 64;
// By id, else those whose name has these words beside each other; case and blanks do not count.
std::vector<const DeviceProfile*> profiles_meant(std::string_view name);
// The one card that is meant so.
std::optional<DeviceFacts> find_device_profile(std::string_view name);
// Why it is not one card: "not known; known are a380, …".
std::string why_no_profile(std::string_view name);
// By id or by its whole name; nullptr: a card nobody knows here.
const DeviceProfile* profile_called(std::string_view name);
// Cards as a remedy names them: a profile's id, a number ("x4"), or both ("b60x4"). nullopt: neither.
struct CardsByName {
  std::string card = {};  // "": of the same kind
  int count = 0;          // 0: as many as now
};
std::optional<CardsByName> cards_by_name(std::string_view text);
// Cards so named in place of those there are. As many as now where no number is given, in the same host. What --no-fp64
// took from a card it takes from the other, too.
std::optional<DeviceFacts> cards_in_place_of(const DeviceFacts& now, std::string_view wanted);
// Names of other cards, those with as much memory or more first, the nearest of each before the others. No processor's
// own, and none of the same chip with the same memory.
std::vector<std::string> other_cards(const DeviceFacts& now);
// The name of the card with the most memory.
std::string largest_card();
// A processor's own GPU: it has no second, and its memory is the host's.
bool is_integrated(const DeviceFacts& device);
// nullptr: an id nobody knows here.
const DeviceProfile* profile_of_pci_id(std::uint32_t id);

}  // namespace preflight::facts
