#include "src/intake/facts_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "preflight/release.h"
#include "preflight/value.h"
#include "src/base/edit_distance.h"
#include "src/base/limits.h"
#include "src/base/read_text.h"
#include "src/facts/device_profiles.h"
#include "src/intake/secret_text.h"
#include "src/python/json_text.h"

namespace preflight::commands {
namespace {

enum class Kind : std::uint8_t { kText, kCount, kMib, kBool, kOrigin, kPciId, kObject, kPackages, kCards, kTexts };

struct Key {
  std::string_view name;
  Kind kind;
  std::span<const Key> inner = {};  // of kObject and of each entry of kPackages and kCards
};

// What `facts --format json` prints (report/facts_text.cpp).
constexpr std::array<Key, 3> kSourced = {{{"value", Kind::kText}, {"origin", Kind::kOrigin}, {"place", Kind::kText}}};
constexpr std::array<Key, 7> kDevice = {{{"name", Kind::kText},
                                         {"count", Kind::kCount},
                                         {"memory_mib", Kind::kMib},
                                         {"has_fp64", Kind::kBool},
                                         {"origin", Kind::kOrigin},
                                         {"memory_origin", Kind::kOrigin},
                                         {"count_origin", Kind::kOrigin}}};
constexpr std::array<Key, 2> kHost = {{{"memory_mib", Kind::kMib}, {"origin", Kind::kOrigin}}};
constexpr std::array<Key, 3> kPackage = {{{"name", Kind::kText}, {"version", Kind::kText}, {"editable", Kind::kBool}}};
constexpr std::array<Key, 9> kCard = {{{"node", Kind::kText},
                                       {"address", Kind::kText},
                                       {"pci_id", Kind::kPciId},
                                       {"driver", Kind::kText},
                                       {"render_node", Kind::kText},
                                       {"tiles", Kind::kCount},
                                       {"tile_memory_mib", Kind::kMib},
                                       {"integrated", Kind::kBool},
                                       {"numa_node", Kind::kCount}}};
constexpr std::array<Key, 8> kFacts = {{{"release", Kind::kObject, kSourced},
                                        {"model", Kind::kObject, kSourced},
                                        {"device", Kind::kObject, kDevice},
                                        {"host", Kind::kObject, kHost},
                                        {"packages", Kind::kPackages, kPackage},
                                        {"environment", Kind::kObject, kSourced},
                                        {"notes", Kind::kTexts},
                                        {"cards", Kind::kCards, kCard}}};

constexpr std::array<Origin, 8> kOrigins = {Origin::kAssumed, Origin::kGiven, Origin::kCommand, Origin::kImage,
                                            Origin::kFile,    Origin::kCache, Origin::kPackage, Origin::kSystem};

// The nearest of `known`, as the end of a message: a slip of the fingers, or a name cut short.
std::string nearest(std::string_view word, const std::vector<std::string_view>& known, std::string_view prefix) {
  constexpr std::size_t kFar = 3;
  std::string_view best;
  std::size_t distance = std::min(kFar, word.size() / 2 + 1);
  for (const std::string_view name : known) {
    if (const std::size_t d = edit_distance(word, name, kFar); d < distance) {
      best = name;
      distance = d;
    }
  }
  for (const std::string_view name : known) {
    if (best.empty() && !word.empty() && (name.starts_with(word) || word.starts_with(name))) best = name;
  }
  if (!best.empty()) return fmt::format("did you mean {}{}?", prefix, best);
  return fmt::format("known are {}", fmt::join(known, ", "));
}

bool whole_number(const Value& value, std::int64_t least, std::int64_t most) {
  return value.is_int() && !value.is_long_int() && value.as_int() >= least && value.as_int() <= most;
}

std::string fault_in(const Value& object, std::span<const Key> keys, const std::string& prefix);

std::string fault_of_origin(const Value& value, const std::string& at) {
  std::vector<std::string_view> names;
  for (const Origin origin : kOrigins) names.push_back(name_of(origin));
  if (!value.is_string()) return fmt::format("{} is {}: expected one of {}", at, value.repr(), fmt::join(names, ", "));
  const std::string& name = value.as_string();
  if (std::ranges::find(names, name) != names.end()) return "";
  return fmt::format("{} is {}, which is no origin; {}", at, value.repr(), nearest(name, names, ""));
}

std::string fault_in_list(const Value& value, const Key& key, const std::string& at) {
  const bool texts = key.kind == Kind::kTexts;
  const std::string expected = texts                         ? "a list of texts"
                               : key.kind == Kind::kPackages ? "a list of objects with name and version"
                                                             : "a list of objects with pci_id";
  if (!value.is_list()) return fmt::format("{} is {}: expected {}", at, value.repr(), expected);
  for (std::size_t i = 0; i < value.as_list().size(); ++i) {
    const Value& entry = value.as_list()[i];
    const std::string place = fmt::format("{}[{}]", at, i);
    if (texts ? !entry.is_string() : !entry.is_dict())
      return fmt::format("{} is {}: expected {}", place, entry.repr(), texts ? "a text" : "an object");
    if (texts) continue;
    if (std::string fault = fault_in(entry, key.inner, place + "."); !fault.empty()) return fault;
  }
  return "";
}

std::optional<std::uint32_t> pci_id_of(std::string_view text) {
  constexpr std::string_view kPrefix = "0x";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  constexpr std::uint32_t kMost = 0xffff;
  const bool whole = error == std::errc{} && end == text.data() + text.size() && id <= kMost;
  return whole ? std::optional(id) : std::nullopt;
}

// null stands for what is not known.
std::string fault_of(const Value& value, const Key& key, const std::string& at) {
  if (value.is_none()) return "";
  const auto unless = [&](bool right, const std::string& expected) {
    return right ? "" : fmt::format("{} is {}: expected {}", at, value.repr(), expected);
  };
  switch (key.kind) {
    case Kind::kText:
      return unless(value.is_string(), "a text");
    case Kind::kCount:
      return unless(whole_number(value, 0, limits::kCards), fmt::format("a whole number from 0 to {}", limits::kCards));
    case Kind::kMib:
      return unless(whole_number(value, 1, limits::kCardMib),
                    fmt::format("a whole number from 1 to {}", limits::kCardMib));
    case Kind::kBool:
      return unless(value.is_bool(), "true or false");
    case Kind::kOrigin:
      return fault_of_origin(value, at);
    case Kind::kPciId:
      return unless(value.is_string() && pci_id_of(value.as_string()), "a PCI id as \"0xe211\"");
    case Kind::kObject:
      return value.is_dict() ? fault_in(value, key.inner, at + ".") : unless(false, "an object");
    case Kind::kPackages:
    case Kind::kCards:
    case Kind::kTexts:
      return fault_in_list(value, key, at);
  }
  return "";
}

// The first thing in it that is no fact; "" = nothing.
std::string fault_in(const Value& object, std::span<const Key> keys, const std::string& prefix) {
  std::vector<std::string_view> known;
  for (const Key& key : keys) known.push_back(key.name);
  for (const auto& [name, value] : object.as_dict()) {
    const auto key = std::ranges::find(keys, name, &Key::name);
    if (key == keys.end()) return fmt::format("unknown key {}{}; {}", prefix, name, nearest(name, known, prefix));
    if (std::string fault = fault_of(value, *key, prefix + name); !fault.empty()) return fault;
  }
  return "";
}

// nullptr: not there, or null. The types are as the table says from here on.
const Value* at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value == nullptr || value->is_none() ? nullptr : value;
}

// Whoever wrote the file may have written a secret into it.
std::string shown(std::string text) {
  hide_value_parts(text);
  return text;
}

std::string text_at(const Value& object, std::string_view key) {
  const Value* value = at(object, key);
  return value == nullptr ? "" : shown(value->as_string());
}

Origin origin_at(const Value& object, std::string_view key) {
  return text_at(object, key) == name_of(Origin::kAssumed) ? Origin::kAssumed : Origin::kFile;
}

// The file names a card and not its memory.
void take_memory_of_name(const std::string& file, MachineFacts& out) {
  const facts::DeviceProfile* card = facts::profile_called(out.device.name);
  if (card == nullptr) {
    out.notes.push_back(
        fmt::format("the memory of {} is not known: {} does not tell it; give --device-memory", out.device.name, file));
    return;
  }
  out.device.name = card->device.name;
  out.device.memory_mib = card->device.memory_mib;
  out.device.has_fp64 = card->device.has_fp64;
  out.memory_origin = out.device_origin;
}

void take_device(const Value& device, const std::string& file, MachineFacts& out) {
  if (const std::string name = text_at(device, "name"); !name.empty()) {
    out.device.name = name;
    out.device_origin = origin_at(device, "origin");
    out.device_place = file;
    if (at(device, "memory_mib") == nullptr) take_memory_of_name(file, out);
  }
  if (const Value* memory = at(device, "memory_mib")) {
    out.device.memory_mib = memory->as_int();
    out.memory_origin = origin_at(device, "memory_origin");
    out.device_place = file;
  }
  if (const Value* count = at(device, "count")) {
    out.device.count = static_cast<int>(count->as_int());
    out.count_origin = origin_at(device, "count_origin");
    out.device_place = file;
  }
  if (const Value* fp64 = at(device, "has_fp64")) out.device.has_fp64 = fp64->as_bool();
}

void take_packages(const Value& list, const Value* environment, const std::string& file, MachineFacts& out) {
  const std::string looked_at = environment == nullptr ? "" : text_at(*environment, "value");
  const bool told = !looked_at.empty() || !list.as_list().empty();
  out.environment = {!told ? "not looked at there" : looked_at.empty() ? file : looked_at, Origin::kFile, file};
  for (const Value& entry : list.as_list()) {
    const Value* editable = at(entry, "editable");
    const std::string name = text_at(entry, "name");
    if (!name.empty())
      out.packages.push_back({name, text_at(entry, "version"), editable != nullptr && editable->as_bool()});
  }
}

// A card without an id is none that this tool wrote.
std::optional<facts::Card> card_of(const Value& entry) {
  const Value* id = at(entry, "pci_id");
  if (id == nullptr) return std::nullopt;
  facts::Card out{.node = text_at(entry, "node"),
                  .driver = text_at(entry, "driver"),
                  .address = text_at(entry, "address"),
                  .pci_id = *pci_id_of(id->as_string()),
                  .render_node = text_at(entry, "render_node")};
  if (const facts::DeviceProfile* profile = facts::profile_of_pci_id(out.pci_id)) {
    out.name = profile->device.name;
    out.profile = profile->device;
  }
  if (const Value* tiles = at(entry, "tiles")) out.tiles = std::max(1, static_cast<int>(tiles->as_int()));
  if (const Value* memory = at(entry, "tile_memory_mib")) out.driver_mib = memory->as_int();
  if (const Value* integrated = at(entry, "integrated")) out.integrated = integrated->as_bool();
  if (const Value* node = at(entry, "numa_node")) out.numa_node = static_cast<int>(node->as_int());
  return out;
}

// The cards of the file, where they are what it says of the device: whoever changed one of the two means the device. Of
// a launch whose variables left some of them the device is what was left; each launch has its own.
facts::Machine cards_of(const Value& list, const DeviceFacts& device, bool some_left) {
  facts::Machine out;
  for (const Value& entry : list.as_list()) {
    if (auto card = card_of(entry)) out.cards.push_back(std::move(*card));
  }
  const auto visible = facts::visible_devices(out, {}).devices;
  const auto is_it = [&](const DeviceFacts& one) {
    return one.name == device.name && one.has_fp64 == device.has_fp64 &&
           (one.memory_mib == device.memory_mib || one.memory_mib <= 0);
  };
  const int count = static_cast<int>(visible.size());
  const bool whole = (some_left ? device.count <= count : device.count == count) && std::ranges::any_of(visible, is_it);
  return whole ? out : facts::Machine{};
}

Result<FactsOfFile> taken(const Value& facts, const std::string& file) {
  FactsOfFile of_file;
  MachineFacts& out = of_file.facts;
  if (const Value* release = at(facts, "release")) {
    const std::string version = text_at(*release, "value");
    const auto parsed = parse_release(version);
    if (!version.empty() && (!parsed || !is_supported(*parsed))) {
      std::vector<std::string> supported;
      for (const Release r : supported_releases()) supported.push_back(r.text());
      return failure(
          fmt::format("release {}: not a supported release; supported are {}", version, fmt::join(supported, ", ")),
          file);
    }
    // What was only assumed there is assumed here, too: it stands behind what this command can tell itself.
    if (!version.empty() && origin_at(*release, "origin") != Origin::kAssumed)
      out.release = {parsed->text(), Origin::kFile, file};
  }
  if (const Value* device = at(facts, "device")) {
    take_device(*device, file, out);
    of_file.count_settled = text_at(*device, "count_origin") == name_of(Origin::kGiven);
  }
  if (const Value* host = at(facts, "host")) {
    if (const Value* memory = at(*host, "memory_mib")) {
      out.host_memory_mib = memory->as_int();
      out.host_origin = Origin::kFile;
    }
  }
  if (const Value* packages = at(facts, "packages")) take_packages(*packages, at(facts, "environment"), file, out);
  if (const Value* notes = at(facts, "notes")) {
    for (const Value& note : notes->as_list()) out.notes.push_back(shown(note.as_string()));
  }
  if (const Value* cards = at(facts, "cards")) {
    const Value* device = at(facts, "device");
    const bool some_left = device != nullptr && text_at(*device, "count_origin") == name_of(Origin::kCommand);
    of_file.cards = cards_of(*cards, out.device, some_left);
  }
  return of_file;
}

}  // namespace

Result<FactsOfFile> read_facts(const std::string& file) {
  const auto text = read_text(file);
  if (!text) return tl::make_unexpected(text.error());
  std::string repeated;
  if (python::json_loads(*text, python::JsonReader::kPython, &repeated) && !repeated.empty())
    return failure(fmt::format("\"{}\" stands there twice", repeated), file);
  const auto value = Value::parse_json(*text);
  if (!value) return failure(value.error().message, file);
  if (!value->is_dict()) return failure("facts are a JSON object, as `facts --format json` prints them", file);
  // A whole report in JSON holds them under this name.
  const Value* inner = value->find("facts");
  const Value& facts = inner != nullptr && inner->is_dict() ? *inner : *value;
  if (facts.as_dict().begin() == facts.as_dict().end())
    return failure("it holds no facts: `facts --format json` prints them", file);
  if (std::string fault = fault_in(facts, kFacts, ""); !fault.empty()) return failure(std::move(fault), file);
  return taken(facts, file);
}

}  // namespace preflight::commands
