#include "src/facts/cards.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/number_text.h"
#include "src/base/read_text.h"
#include "src/facts/device_profiles.h"

namespace preflight::facts {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kIntel = 0x8086;
constexpr std::size_t kLongestAttribute = 4096;  // of sysfs: one page

// A sysfs attribute: one short line. Anything else under that name (a fifo, a folder) is not read.
std::string attribute(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return "";
  const auto text = read_text(file.string());
  if (!text || text->size() > kLongestAttribute) return "";
  return text->substr(0, text->find_first_of(" \t\r\n"));
}

template <typename Number>
std::optional<Number> number(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  return number_in<Number>(text, base);
}

std::string link_name(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? "" : target.filename().string();
}

// "DRIVER=xe" of uevent, where no link says it.
std::string uevent_value(const fs::path& device, std::string_view key) {
  std::error_code error;
  if (!fs::is_regular_file(device / "uevent", error)) return "";
  const auto text = read_text((device / "uevent").string());
  if (!text) return "";
  const auto at = text->find(std::string(key) + "=");
  if (at == std::string::npos) return "";
  const auto begin = at + key.size() + 1;
  return text->substr(begin, text->find('\n', begin) - begin);
}

std::vector<std::string> names_in(const fs::path& directory, std::string_view prefix) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    const std::string_view rest = std::string_view(name).substr(std::min(prefix.size(), name.size()));
    const bool numbered = name.starts_with(prefix) && !rest.empty() && number<int>(rest, 10).has_value();
    if (numbered) out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// One tile's memory as the driver tells it: xe in each tile, i915 for the whole card.
std::optional<std::int64_t> memory_of(const fs::path& card, const fs::path& device, int tiles) {
  for (const char* name : {"tile0/physical_vram_size_bytes", "tile0/memory/physical_vram_size_bytes"}) {
    if (const auto bytes = number<std::int64_t>(attribute(device / name), 10); bytes && *bytes > 0) return *bytes >> 20;
  }
  for (const fs::path& file : {card / "lmem_total_bytes", device / "lmem_total_bytes"}) {
    if (const auto bytes = number<std::int64_t>(attribute(file), 10); bytes && *bytes > 0) {
      return (*bytes / std::max(tiles, 1)) >> 20;
    }
  }
  return std::nullopt;
}

int tiles_of(const fs::path& card, const fs::path& device, const DeviceProfile* profile) {
  const auto xe = names_in(device, "tile");
  if (!xe.empty()) return static_cast<int>(xe.size());
  const auto i915 = names_in(card / "gt", "gt");
  // A card of one tile may have a second gt, for media: only a card known to have tiles counts them.
  if (profile != nullptr && profile->tiles > 1) return i915.empty() ? profile->tiles : static_cast<int>(i915.size());
  return 1;
}

std::optional<Card> read_card(const fs::path& root, const fs::path& directory) {
  const fs::path device = directory / "device";
  const auto vendor = number<std::uint32_t>(attribute(device / "vendor"), 16);
  const auto id = number<std::uint32_t>(attribute(device / "device"), 16);
  if (!vendor || *vendor != kIntel || !id) return std::nullopt;
  Card card;
  card.node = directory.filename().string();
  card.pci_id = *id;
  card.driver = link_name(device / "driver");
  if (card.driver.empty()) card.driver = uevent_value(device, "DRIVER");
  card.address = uevent_value(device, "PCI_SLOT_NAME");
  if (card.address.empty()) card.address = link_name(device);
  const DeviceProfile* profile = profile_of_pci_id(*id);
  if (profile != nullptr) {
    card.name = profile->device.name;
    card.profile = profile->device;
    card.integrated = profile->integrated;
  }
  card.tiles = tiles_of(directory, device, profile);
  card.numa_node = number<int>(attribute(device / "numa_node"), 10).value_or(-1);
  card.driver_mib = memory_of(directory, device, card.tiles);
  const auto renders = names_in(device / "drm", "renderD");
  if (!renders.empty()) {
    // A container is given some of its host's nodes and sees all of its sysfs. A tree may be of sysfs alone.
    std::error_code error;
    const fs::path node = root / "dev/dri" / renders.front();
    const bool told = root == "/" || fs::is_directory(root / "dev/dri", error);
    const bool absent = told && access(node.c_str(), F_OK) != 0 && errno == ENOENT;
    if (!absent) card.render_node = renders.front();
    if (told) card.may_open = !absent && access(node.c_str(), R_OK | W_OK) == 0;
  }
  // A processor's own graphics sits at 00:02.0, whatever its id.
  if (profile == nullptr) card.integrated = card.address.ends_with(":00:02.0") && !card.driver_mib;
  return card;
}

constexpr std::string_view kUnknownCard = "Intel GPU 0x";

// What torch reports of one of its tiles, or of the whole card. No memory: nobody tells it.
DeviceFacts device_of(const Card& card, bool whole) {
  DeviceFacts out;
  if (card.profile) {
    out = *card.profile;
    // The same id is sold with half the memory: the driver knows. Its figure holds what the driver keeps for itself.
    const bool known = out.memory_mib > 0;
    if (card.driver_mib && (!known || *card.driver_mib < out.memory_mib)) out.memory_mib = *card.driver_mib;
  } else {
    out.name = fmt::format("{}{:04x}", kUnknownCard, card.pci_id);
    out.memory_mib = card.driver_mib.value_or(0);
  }
  if (whole) out.memory_mib *= card.tiles;
  return out;
}

std::string variable(const Environment& env, std::string_view name) {
  const auto it = env.find(name);
  return it == env.end() ? std::string() : it->second;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// What one index of the mask and of the selector stands for.
struct Unit {
  DeviceFacts device;
  int tiles = 1;  // that it consists of; 0 = not known
  int numa_node = -1;
  const DeviceProfile* sold_smaller = nullptr;  // where that may be its memory
  bool integrated = false;
};

// "0", "0.1", and in the selector "*" and "0.*".
struct Place {
  static constexpr int kAny = -1;
  static constexpr int kWhole = -2;
  int device = kAny;
  int tile = kWhole;
};

// Indices of ZE_AFFINITY_MASK. nullopt: not understood.
std::optional<std::vector<Place>> masked(std::string_view text) {
  std::vector<Place> out;
  for (const std::string_view part : split(text, ',')) {
    const auto dot = part.find('.');
    const auto device = number<int>(part.substr(0, dot), 10);
    const auto tile =
        dot == std::string_view::npos ? std::optional(Place::kWhole) : number<int>(part.substr(dot + 1), 10);
    if (!device || !tile || *device < 0 || (*tile < 0 && dot != std::string_view::npos)) return std::nullopt;
    out.push_back({*device, *tile});
  }
  return out;
}

Unit tiles_of_unit(const Unit& unit, int count) {
  Unit out = unit;
  if (unit.tiles > 0) out.device.memory_mib = unit.device.memory_mib / unit.tiles * count;
  if (unit.tiles > 0) out.tiles = count;
  return out;
}

// With whole cards as devices, 0.0,0.1 is one device with those two tiles; with tiles as devices the compute runtime
// passes over every entry that names a tile.
std::vector<Unit> left_by(const std::vector<Place>& mask, const std::vector<Unit>& units, bool whole) {
  std::vector<Unit> out;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const int has = units[i].tiles;
    std::set<int> tiles;
    bool all = false;
    for (const Place& place : mask) {
      if (place.device != static_cast<int>(i)) continue;
      all = all || place.tile == Place::kWhole;
      if (whole && place.tile >= 0 && (has == 0 || place.tile < has)) tiles.insert(place.tile);
    }
    if (all) {
      out.push_back(units[i]);
    } else if (!tiles.empty()) {
      out.push_back(tiles_of_unit(units[i], static_cast<int>(tiles.size())));
    }
  }
  return out;
}

struct Selected {
  bool understood = true;
  bool accepts = false;  // a term accepts something, of whatever backend
  std::vector<Place> accepted;
  std::vector<Place> discarded;
};

// "0", "0.1", "*.*"; nullopt: not understood.
std::optional<Place> place_in(std::string_view text) {
  const auto index = [](std::string_view part) {
    const auto n = part == "*" ? std::optional(Place::kAny) : number<int>(part, 10);
    return n && (*n >= 0 || part == "*") ? n : std::nullopt;
  };
  const auto dot = text.find('.');
  const auto device = index(text.substr(0, dot));
  const auto tile = dot == std::string_view::npos ? std::optional(Place::kWhole) : index(text.substr(dot + 1));
  return device && tile ? std::optional(Place{*device, *tile}) : std::nullopt;
}

// The terms of ONEAPI_DEVICE_SELECTOR that concern Level Zero GPUs: BACKEND:DEVICES, and !BACKEND:DEVICES to discard.
Selected selected(std::string_view text) {
  Selected out;
  for (std::string_view term : split(text, ';')) {
    if (term.empty()) continue;
    const bool discard = term.front() == '!';
    if (discard) term.remove_prefix(1);
    const auto colon = term.find(':');
    const std::string_view backend = term.substr(0, colon);
    out.understood = out.understood && colon != std::string_view::npos;
    out.accepts = out.accepts || !discard;
    if (colon == std::string_view::npos || (backend != "level_zero" && backend != "*")) continue;
    for (const std::string_view device : split(term.substr(colon + 1), ',')) {
      if (device == "cpu" || device == "fpga") continue;
      const auto place = device == "gpu" ? std::optional(Place{}) : place_in(device);
      out.understood = out.understood && place && !(discard && place->tile != Place::kWhole);
      if (place) (discard ? out.discarded : out.accepted).push_back(*place);
    }
  }
  if (!out.accepts) out.accepted.push_back({});  // where terms only discard, the others stay
  return out;
}

bool names(const std::vector<Place>& places, std::size_t device, int tile) {
  return std::ranges::any_of(places, [&](const Place& place) {
    const bool same = place.device == Place::kAny || place.device == static_cast<int>(device);
    return same && (place.tile == tile || (place.tile == Place::kAny && tile >= 0));
  });
}

// The selector picks among what the mask left. True when something was restricted.
bool select(std::vector<Unit>& units, const Environment& env, std::vector<std::string>& notes) {
  const std::string text = variable(env, "ONEAPI_DEVICE_SELECTOR");
  if (text.empty()) return false;
  const Selected choice = selected(ascii_lower(text));
  if (!choice.understood) {
    notes.push_back(fmt::format("ONEAPI_DEVICE_SELECTOR={} is not understood here: all devices are counted", text));
    return false;
  }
  std::vector<Unit> left;
  bool restricted = false;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool dropped = names(choice.discarded, i, Place::kWhole);
    const bool taken = !dropped && names(choice.accepted, i, Place::kWhole);
    if (taken) left.push_back(units[i]);
    restricted = restricted || !taken;
    for (int tile = 0; tile < units[i].tiles && units[i].tiles > 1 && !dropped; ++tile) {
      if (!names(choice.accepted, i, tile)) continue;
      left.push_back(tiles_of_unit(units[i], 1));
      restricted = true;
    }
  }
  if (left.empty() && !units.empty())
    notes.push_back(fmt::format("ONEAPI_DEVICE_SELECTOR={} selects no Level Zero GPU", text));
  units = std::move(left);
  return restricted;
}

// The mask, too, numbers what it leaves anew. True when it was there and understood.
bool mask(std::vector<Unit>& units, const Environment& env, bool whole, std::vector<std::string>& notes) {
  const std::string text = variable(env, "ZE_AFFINITY_MASK");
  if (text.empty() || text == "default") return false;
  const auto list = masked(text);
  if (!list) {
    notes.push_back(fmt::format("ZE_AFFINITY_MASK={} is not understood here: all devices are counted", text));
    return false;
  }
  const bool names_tiles = std::ranges::any_of(*list, [](const Place& place) { return place.tile >= 0; });
  if (names_tiles && !whole) {
    notes.push_back(
        fmt::format("ZE_AFFINITY_MASK={}: an entry that names a tile counts with "
                    "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE alone, and leaves no device here",
                    text));
  }
  units = left_by(*list, units, whole);
  return true;
}

// Level Zero opens render nodes of these drivers, and no others.
bool usable(const Card& card) { return (card.driver == "xe" || card.driver == "i915") && !card.render_node.empty(); }

// A processor's own graphics is the last device of Level Zero, unless it is asked for the order of PCI.
void put_integrated_last(std::vector<const Card*>& cards, const Environment& env) {
  const auto asked = number<int>(variable(env, "ZE_ENABLE_PCI_ID_DEVICE_ORDER"), 10);
  if (asked.value_or(0) == 0)
    std::stable_partition(cards.begin(), cards.end(), [](const Card* card) { return !card->integrated; });
}

// torch takes cards, and integrated graphics only where no card is left.
template <typename T>
void prefer_cards(std::vector<T>& all, bool (*integrated)(const T&)) {
  if (std::ranges::any_of(all, [&](const T& one) { return !integrated(one); })) std::erase_if(all, integrated);
}

// The cards that a launch can be given.
std::vector<const Card*> cards_within(const Machine& machine, const CardLimit* limit, VisibleDevices& out) {
  std::vector<const Card*> all;
  for (const Card& card : machine.cards) {
    const bool named = limit == nullptr || limit->nodes.empty() ||
                       std::find(limit->nodes.begin(), limit->nodes.end(), card.render_node) != limit->nodes.end();
    if (usable(card) && named) all.push_back(&card);
  }
  for (const std::string& node : limit == nullptr ? std::vector<std::string>{} : limit->nodes) {
    const bool here = std::ranges::any_of(machine.cards, [&](const Card& card) { return card.render_node == node; });
    if (!here) out.notes.push_back(fmt::format("/dev/dri/{} is no card of this machine", node));
  }
  if (limit == nullptr) return all;
  out.restricted = true;
  if (limit->nodes.empty()) prefer_cards<const Card*>(all, [](const Card* const& card) { return card->integrated; });
  if (limit->nodes.empty() && all.size() > static_cast<std::size_t>(limit->count))
    all.resize(static_cast<std::size_t>(limit->count));
  return all;
}

bool composite(const Environment& env) { return variable(env, "ZE_FLAT_DEVICE_HIERARCHY") == "COMPOSITE"; }

}  // namespace

bool is_unknown_card(const DeviceFacts& device) { return device.name.starts_with(kUnknownCard); }

Machine read_cards(const fs::path& sysroot) {
  Machine out;
  const fs::path drm = sysroot / "sys/class/drm";
  for (const std::string& name : names_in(drm, "card")) {
    auto card = read_card(sysroot, drm / name);
    if (!card) continue;
    const std::string shown =
        card->name.empty() ? fmt::format("an Intel GPU with the unknown PCI id 0x{:04x}", card->pci_id) : card->name;
    if (card->driver.empty()) {
      out.notes.push_back(fmt::format("{}: {} has no driver bound", card->node, shown));
    } else if (card->driver != "xe" && card->driver != "i915") {
      out.notes.push_back(
          fmt::format("{}: {} is bound to {}, which no compute runtime uses", card->node, shown, card->driver));
    } else if (card->render_node.empty()) {
      const auto nodes = names_in(drm / name / "device/drm", "renderD");
      const std::string lacks = nodes.empty() ? "has no render node" : "has no /dev/dri/" + nodes.front() + " here";
      out.notes.push_back(fmt::format("{}: {} {}, and does not count", card->node, shown, lacks));
    } else if (!card->may_open.value_or(true)) {
      out.notes.push_back(
          fmt::format("{}: this user may not open /dev/dri/{} (group render)", card->node, card->render_node));
    }
    out.cards.push_back(std::move(*card));
  }
  std::stable_sort(out.cards.begin(), out.cards.end(),
                   [](const Card& a, const Card& b) { return a.address < b.address; });
  return out;
}

int devices_of_cards(int cards, const DeviceFacts& device, const Environment& env) {
  const auto profiles = device_profiles();
  const auto profile = std::ranges::find_if(profiles, [&](const auto& p) { return p.device.name == device.name; });
  return profile == profiles.end() || composite(env) ? cards : cards * profile->tiles;
}

VisibleDevices visible_devices(const Machine& machine, const Environment& env, const CardLimit* limit) {
  VisibleDevices out;
  std::vector<const Card*> cards = cards_within(machine, limit, out);
  put_integrated_last(cards, env);
  const bool whole = composite(env);
  std::vector<Unit> units;  // one per index of the mask
  for (const Card* card : cards) {
    const DeviceFacts device = device_of(*card, whole);
    const DeviceProfile* profile = card->driver_mib ? nullptr : profile_of_pci_id(card->pci_id);
    const bool smaller = profile != nullptr && profile->smaller_mib > 0;
    for (int tile = 0; tile < (whole ? 1 : card->tiles); ++tile)
      units.push_back(
          {device, whole ? card->tiles : 1, card->numa_node, smaller ? profile : nullptr, card->integrated});
  }
  out.restricted = mask(units, env, whole, out.notes) || out.restricted;
  out.restricted = select(units, env, out.notes) || out.restricted;
  prefer_cards<Unit>(units, [](const Unit& unit) { return unit.integrated; });
  for (Unit& unit : units) {
    if (unit.sold_smaller != nullptr) out.sold_smaller = unit.sold_smaller;
    out.numa_nodes.push_back(unit.numa_node);
    out.devices.push_back(std::move(unit.device));
  }
  return out;
}

std::optional<int> devices_left(int count, const Environment& env, std::vector<std::string>& notes) {
  std::vector<Unit> units(static_cast<std::size_t>(std::max(count, 0)), Unit{.device = {}, .tiles = 0});
  bool restricted = mask(units, env, composite(env), notes);
  restricted = select(units, env, notes) || restricted;
  return restricted ? std::optional(static_cast<int>(units.size())) : std::nullopt;
}

}  // namespace preflight::facts
