// What a launch is judged against, and where each fact came from: the head of every report, and `facts`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/facts.h"

namespace preflight {

enum class Origin : std::uint8_t {
  kAssumed,  // nobody said and nothing was found
  kGiven,    // an option of this tool
  kCommand,  // the launch's own words or variables
  kImage,    // the tag of the container's image
  kFile,     // a file: --facts, a model's directory, the built-in table
  kCache,    // a cache of downloads
  kPackage,  // an installed package's record
  kSystem,   // this machine
};

std::string_view name_of(Origin origin);

struct SourcedText {
  std::string value = {};  // "" = not known
  Origin origin = Origin::kAssumed;
  std::string place = {};  // for people: which file, cache, image or card
};

struct InstalledPackage {
  std::string name;
  std::string version;
  bool editable = false;
};

struct MachineFacts {
  SourcedText release;
  SourcedText model;          // where its configuration was found; empty when the command has no launch
  DeviceFacts device;         // what the launch sees
  bool on_processor = false;  // the launch runs on --device cpu: its cards do not count
  Origin device_origin = Origin::kAssumed;
  Origin memory_origin = Origin::kAssumed;
  Origin count_origin = Origin::kAssumed;
  std::string device_place;
  std::optional<std::int64_t> host_memory_mib;
  Origin host_origin = Origin::kAssumed;
  std::vector<InstalledPackage> packages;
  SourcedText environment;         // where the packages lie; empty: none was looked at
  std::vector<std::string> notes;  // what was looked at and could not be used, or contradicts
};

}  // namespace preflight
