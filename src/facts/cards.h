// The Intel cards of a machine, from sysfs alone, and which of them a launch sees.
//
// Sources: Linux Documentation/ABI (drm class, i915's lmem_total_bytes, xe's tileN/physical_vram_size_bytes), names by
// PCI id as Intel's compute runtime gives them (configs/devices), Level Zero's ZE_AFFINITY_MASK and
// ZE_FLAT_DEVICE_HIERARCHY, DPC++'s ONEAPI_DEVICE_SELECTOR. Nothing is opened but small text files.
// Tested by cards_test.cpp over recorded trees.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "preflight/facts.h"
#include "src/facts/device_profiles.h"
#include "src/facts/container_view.h"

namespace preflight::facts {

struct Card {
  std::string node;     // "card0"
  std::string driver;   // "xe", "i915"; "" = none is bound
  std::string address;  // PCI address; orders the cards
  std::uint32_t pci_id = 0;
  std::string name;  // "" = an id nobody knows here
  bool integrated = false;
  int tiles = 1;
  std::optional<std::int64_t> driver_mib;   // of one tile, where the driver tells it
  std::optional<DeviceFacts> profile = {};  // what torch reports of this card
  std::string render_node = {};             // "renderD128"
  std::optional<bool> may_open = {};        // whether this user may open the render node; nullopt: not known
  int numa_node = -1;                       // that its slot hangs on; -1: the kernel tells none
};

struct Machine {
  std::vector<Card> cards;         // in PCI order
  std::vector<std::string> notes;  // cards that cannot be used, and why
};

Machine read_cards(const std::filesystem::path& sysroot = "/");

struct VisibleDevices {
  std::vector<DeviceFacts> devices;  // one per torch device; `count` is meaningless in them; no memory_mib: not known
  std::vector<std::string> notes;
  bool restricted = false;           // a variable left some out
  std::vector<int> numa_nodes = {};  // of each device; -1: not known
  // Of which of the cards the memory may be the smaller's, which its id and its driver do not tell; nullptr: of none.
  const DeviceProfile* sold_smaller = nullptr;
};

// What torch.xpu sees of these cards with these variables, in a container that is given no more than `limit`.
VisibleDevices visible_devices(const Machine& machine, const Environment& env, const CardLimit* limit = nullptr);
// As how many devices so many cards like this one show.
int devices_of_cards(int cards, const DeviceFacts& device, const Environment& env);

// One whose PCI id nobody knows here: what it has is assumed.
bool is_unknown_card(const DeviceFacts& device);

// How many of `count` alike devices the variables leave; nullopt: they do not restrict, or are not understood.
std::optional<int> devices_left(int count, const Environment& env, std::vector<std::string>& notes);

}  // namespace preflight::facts
