// Tested by tests/device_profiles_test.cpp.
#include "src/facts/device_profiles.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/ascii_case.h"
#include "src/base/embedded.h"
#include "src/base/number_text.h"
#include "src/base/replaced.h"

namespace preflight::facts {
namespace {

// Without the marks of its owner, which people leave out.
std::string folded(std::string_view name) {
  const std::string s = replaced(replaced(std::string(name), "(R)", ""), "(TM)", "");
  std::string out;
  for (const char c : s) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += ascii_lower(c);
  }
  return out;
}

// Rows without a short name are cards that are known by their PCI id alone: what torch reports of their memory is not.
std::vector<DeviceProfile> load(bool whole) {
  std::vector<DeviceProfile> out;
  for (const auto& file : embedded::devices()) {
    const auto rows = Value::parse_json(file.text);
    if (!rows || !rows->is_list()) continue;  // the test reads every row
    for (const auto& row : rows->as_list()) {
      const Value* id = row.find("id");
      if ((id != nullptr) != whole) continue;
      DeviceProfile p;
      if (whole) p.id = id->as_string();
      p.architecture = row.find("architecture")->as_string();
      p.device.name = row.find("name")->as_string();
      p.device.memory_mib = whole ? row.find("memory_mib")->as_int() : 0;
      p.device.has_fp64 = row.find("has_fp64")->as_bool();
      if (const Value* ids = row.find("pci_ids")) {
        for (const Value& pci : ids->as_list()) {
          p.pci_ids.push_back(static_cast<std::uint32_t>(std::stoul(pci.as_string(), nullptr, 16)));
        }
      }
      if (const Value* tiles = row.find("tiles")) p.tiles = static_cast<int>(tiles->as_int());
      p.integrated = row.find("integrated") != nullptr;
      if (const Value* smaller = row.find("smaller_mib")) p.smaller_mib = smaller->as_int();
      if (p.integrated) p.device.count = 1;  // a processor has no second one
      out.push_back(std::move(p));
    }
  }
  return out;
}

}  // namespace

std::span<const DeviceProfile> device_profiles() {
  static const std::vector<DeviceProfile> profiles = load(true);
  return profiles;
}

namespace {

const DeviceProfile* profile_of_id(std::string_view id) {
  const auto profiles = device_profiles();
  const auto at = std::ranges::find(profiles, id, &DeviceProfile::id);
  return at == profiles.end() ? nullptr : &*at;
}

// `wanted`, folded, is words of the name that stand beside each other: "60" is none of "Pro B60".
bool has_words(std::string_view name, std::string_view wanted) {
  const std::string marked = replaced(replaced(std::string(name), "(R)", ""), "(TM)", "");
  std::string text;
  std::vector<std::size_t> begins;  // of words, and the end
  for (std::size_t at = 0; at < marked.size(); ++at) {
    if (folded(marked.substr(at, 1)).empty()) continue;
    if (at == 0 || folded(marked.substr(at - 1, 1)).empty()) begins.push_back(text.size());
    text += folded(marked.substr(at, 1));
  }
  begins.push_back(text.size());
  return std::ranges::any_of(begins, [&](std::size_t at) {
    return text.compare(at, wanted.size(), wanted) == 0 &&
           std::ranges::find(begins, at + wanted.size()) != begins.end();
  });
}

}  // namespace

std::vector<const DeviceProfile*> profiles_meant(std::string_view name) {
  const std::string wanted = folded(name);
  std::vector<const DeviceProfile*> meant;
  if (wanted.empty()) return meant;
  if (const DeviceProfile* p = profile_of_id(wanted)) return {p};
  for (const DeviceProfile& p : device_profiles()) {
    if (has_words(p.device.name, wanted)) meant.push_back(&p);
  }
  return meant;
}

std::optional<DeviceFacts> find_device_profile(std::string_view name) {
  const auto meant = profiles_meant(name);
  return meant.size() == 1 ? std::optional(meant.front()->device) : std::nullopt;
}

std::string why_no_profile(std::string_view name) {
  const auto meant = profiles_meant(name);
  std::string list;
  const auto add = [&](const DeviceProfile& p) { list += (list.empty() ? "" : ", ") + p.id; };
  for (const DeviceProfile* p : meant) add(*p);
  if (!meant.empty()) return "several cards are called so: give one of " + list;
  for (const DeviceProfile& p : device_profiles()) add(p);
  return "not known; known are " + list;
}

const DeviceProfile* profile_called(std::string_view name) {
  // Tables name a card in each of their rows.
  static const auto kByName = [] {
    std::unordered_map<std::string, const DeviceProfile*> out;
    for (const DeviceProfile& p : device_profiles()) {
      const std::string whole = folded(p.device.name);
      out.emplace(p.id, &p);
      out.emplace(whole, &p);
      constexpr std::string_view kGraphics = "graphics";
      if (whole.ends_with(kGraphics)) out.emplace(whole.substr(0, whole.size() - kGraphics.size()), &p);
    }
    return out;
  }();
  const auto at = kByName.find(folded(name));
  return at == kByName.end() ? nullptr : at->second;
}

namespace {

const DeviceProfile* profile_named(const DeviceFacts& device) {
  const auto profiles = device_profiles();
  const auto at = std::ranges::find_if(profiles, [&](const auto& p) { return p.device.name == device.name; });
  return at == profiles.end() ? nullptr : &*at;
}

}  // namespace

std::optional<CardsByName> cards_by_name(std::string_view text) {
  CardsByName out{.card = std::string(text)};
  const std::size_t x = text.rfind('x');
  if (profile_of_id(text) == nullptr && x != std::string_view::npos) {
    out.count = number_in<int>(text.substr(x + 1)).value_or(0);
    if (out.count < 1) return std::nullopt;
    out.card = text.substr(0, x);
  }
  if (!out.card.empty() && profile_of_id(out.card) == nullptr) return std::nullopt;
  return out.card.empty() && out.count == 0 ? std::nullopt : std::optional(out);
}

std::optional<DeviceFacts> cards_in_place_of(const DeviceFacts& now, std::string_view wanted) {
  const auto named = cards_by_name(wanted);
  if (!named) return std::nullopt;
  DeviceFacts out = now;
  if (const DeviceProfile* other = profile_of_id(named->card)) {
    const DeviceProfile* present = profile_named(now);
    const bool denied = present != nullptr && present->device.has_fp64 && !now.has_fp64;
    out.name = other->device.name;
    out.memory_mib = other->device.memory_mib;
    out.has_fp64 = other->device.has_fp64 && !denied;
    if (other->integrated) out.count = 1;
  }
  if (named->count > 1 && is_integrated(out)) return std::nullopt;
  if (named->count > 0) out.count = named->count;
  return out;
}

std::vector<std::string> other_cards(const DeviceFacts& now) {
  const DeviceProfile* present = profile_named(now);
  std::vector<const DeviceProfile*> cards;
  for (const DeviceProfile& p : device_profiles()) {
    const bool same = p.device.name == now.name || (present != nullptr && p.architecture == present->architecture &&
                                                    p.device.memory_mib == present->device.memory_mib);
    if (!p.integrated && !same) cards.push_back(&p);
  }
  const auto far = [&](const DeviceProfile* p) {
    const std::int64_t more = p->device.memory_mib - now.memory_mib;
    return std::pair(more < 0, std::abs(more));
  };
  std::ranges::stable_sort(cards, {}, far);
  std::vector<std::string> names;
  for (const DeviceProfile* p : cards) names.push_back(p->id);
  return names;
}

std::string largest_card() {
  return std::ranges::max(device_profiles(), {}, [](const DeviceProfile& p) { return p.device.memory_mib; }).id;
}

bool is_integrated(const DeviceFacts& device) {
  return std::ranges::any_of(device_profiles(),
                             [&](const DeviceProfile& p) { return p.integrated && p.device.name == device.name; });
}

const DeviceProfile* profile_of_pci_id(std::uint32_t id) {
  static const std::vector<DeviceProfile> named = load(false);
  for (const std::span<const DeviceProfile> all : {device_profiles(), std::span<const DeviceProfile>(named)}) {
    for (const DeviceProfile& p : all) {
      if (std::find(p.pci_ids.begin(), p.pci_ids.end(), id) != p.pci_ids.end()) return &p;
    }
  }
  return nullptr;
}

}  // namespace preflight::facts
