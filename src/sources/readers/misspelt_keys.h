// Keys that a format does not have and that are one slip from one that is read: what they say reaches no launch.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "src/sources/launch_finder.h"
#include "src/sources/yaml_tree.h"

namespace preflight::sources {

// Of one part of a file.
inline constexpr std::size_t kMostMisspelt = 20;

// What one part of a file is called, the keys of it that are read, and others of its format that are one letter from
// one of those.
struct PartKeys {
  std::string_view what;
  std::span<const std::string_view> read;
  std::span<const std::string_view> others = {};
};
// The key that is read there and that `key` may have meant; empty where there is none, or the part has `key` itself.
std::string_view meant_key(std::string_view key, const PartKeys& keys);
std::string misspelt_key(std::string_view key, std::string_view what, std::string_view meant);

// Of compose's services, Kubernetes' containers and GitHub's jobs and steps, on the launches that they start.
void tell_misspelt_keys(YamlTree& tree, std::size_t size, LaunchFinder& finder);

}  // namespace preflight::sources
