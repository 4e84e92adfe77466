// Tested by tests/manifest_test.cpp and tests/limits_test.cpp.
#include "src/sources/yaml_merges.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "src/base/limits.h"

namespace preflight::sources {
namespace {

using python::YamlNode;

bool is_merge(const YamlNode& key) { return key.kind == YamlNode::kScalar && key.text == "<<"; }

class Merges {
 public:
  Merges(std::size_t& looked, std::size_t& bytes) : looked_(looked), bytes_(bytes) {}

  // What an alias names begins before the map that merges it, and is done; what stands in place is as deep as the text.
  void follow(YamlNode& map) {
    if (map.kind != YamlNode::kMapping || done_.contains(&map)) return;
    std::unordered_set<std::string_view> seen;
    for (const auto& [key, value] : map.pairs) {
      if (!is_merge(*key)) continue;
      if (seen.empty()) own_keys(map, seen);
      open_.insert(&map);
      take(*value, map, seen);
      for (YamlNode* item : value->items) take(*item, map, seen);
      open_.erase(&map);
      done_.insert(&map);
    }
  }

 private:
  void own_keys(const YamlNode& map, std::unordered_set<std::string_view>& seen) {
    look(map.pairs.size(), map);
    for (const auto& [key, value] : map.pairs) {
      if (key->kind == YamlNode::kScalar) seen.insert(key->text);
    }
  }

  void take(YamlNode& from, YamlNode& map, std::unordered_set<std::string_view>& seen) {
    if (from.kind != YamlNode::kMapping) return;
    if (open_.contains(&from)) throw python::YamlFault{"ConstructorError", "a map merges itself", map.mark};
    follow(from);
    look(from.pairs.size() + from.merged.size(), map);
    for (const auto* pairs : {&from.pairs, &from.merged}) {
      for (const auto& pair : *pairs) {
        if (pair.first->kind != YamlNode::kScalar || !seen.insert(pair.first->text).second) continue;
        map.merged.push_back(pair);
        bytes_ += weight(*pair.second);
      }
    }
  }

  // Bytes of the scalars in it.
  std::size_t weight(const YamlNode& value) {
    if (value.kind == YamlNode::kScalar) return value.text.size();
    const auto [known, fresh] = weights_.try_emplace(&value, 0);
    if (!fresh) return known->second;
    std::size_t bytes = 0;
    for (std::vector<const YamlNode*> open = {&value}; !open.empty();) {
      const YamlNode& node = *open.back();
      open.pop_back();
      bytes += node.text.size();
      look(1, node);
      open.insert(open.end(), node.items.begin(), node.items.end());
      for (const auto* pairs : {&node.pairs, &node.merged}) {
        for (const auto& [key, inner] : *pairs) {
          if (!is_merge(*key)) open.push_back(inner);
        }
      }
    }
    return weights_[&value] = bytes;
  }

  void look(std::size_t pairs, const YamlNode& map) {
    looked_ += pairs;
    if (looked_ <= limits::kYamlTreePairs) return;
    throw python::YamlFault{std::string(limits::kOurs),
                            fmt::format("its merges (<<) come to more than {} pairs", limits::kYamlTreePairs),
                            map.mark};
  }

  std::size_t& looked_;
  std::size_t& bytes_;
  std::unordered_map<const YamlNode*, std::size_t> weights_;
  std::unordered_set<const YamlNode*> open_;
  std::unordered_set<const YamlNode*> done_;
};

}  // namespace

void follow_merges(python::YamlDocument& document, std::size_t& looked, std::size_t& bytes) {
  Merges merges(looked, bytes);
  for (YamlNode& node : document.nodes()) merges.follow(node);
}

}  // namespace preflight::sources
