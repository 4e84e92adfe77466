// Tested by tests/device_profiles_test.cpp.
#include "src/facts/device_profiles.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/ascii_case.h"
#include "src/base/embedded.h"

namespace preflight::facts {
namespace {

std::string folded(std::string_view s) {
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

std::optional<DeviceFacts> find_device_profile(std::string_view name) {
  const std::string wanted = folded(name);
  if (wanted.empty()) return std::nullopt;
  for (const auto& p : device_profiles()) {
    if (p.id == wanted) return p.device;
  }
  for (const auto& p : device_profiles()) {
    if (folded(p.device.name).find(wanted) != std::string::npos) return p.device;
  }
  return std::nullopt;
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
