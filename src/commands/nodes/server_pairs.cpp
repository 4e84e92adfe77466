// Tested by tests/nodes_test.cpp.
#include "src/commands/nodes/server_pairs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace preflight::commands {
namespace {

using Indices = std::vector<std::size_t>;
using Place = std::pair<std::string, std::string>;  // a file or a folder, and the model

bool has_both(const Indices& members, const std::vector<PreparedLaunch>& launches) {
  const auto any = [&](std::string_view mode) {
    return std::ranges::any_of(members, [&](std::size_t i) { return disaggregation_mode(launches[i].launch) == mode; });
  };
  return any("prefill") && any("decode");
}

std::map<Place, Indices> by_file(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches) {
  std::map<Place, Indices> out;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i].launch;
    if (disaggregation_mode(launch).empty()) continue;
    const Value& model = launch.args[Field::model_path];
    const std::string& file = nodes[i].file.empty() ? nodes[i].name : nodes[i].file;
    out[{file, model.is_string() ? model.as_string() : "a model"}].push_back(i);
  }
  return out;
}

// One file of a folder for prefill and one for decode: which of more belong together nobody knows.
void join_files(std::map<Place, Indices>& places, const std::vector<PreparedLaunch>& launches) {
  std::map<Place, std::vector<Place>> by_folder;
  for (const auto& [place, members] : places) {
    const std::string folder = std::filesystem::path(place.first).parent_path().string();
    if (!has_both(members, launches)) by_folder[{folder, place.second}].push_back(place);
  }
  for (const auto& [folder, files] : by_folder) {
    if (files.size() != 2) continue;
    Indices members = places.at(files[0]);
    const Indices& others = places.at(files[1]);
    members.insert(members.end(), others.begin(), others.end());
    if (has_both(members, launches))
      places.insert_or_assign({fmt::format("{} and {}", files[0].first, files[1].first), folder.second}, members);
  }
}

}  // namespace

std::vector<ServerPair> server_pairs(const std::vector<Node>& nodes, const std::vector<PreparedLaunch>& launches) {
  std::map<Place, Indices> places = by_file(nodes, launches);
  join_files(places, launches);
  std::vector<ServerPair> out;
  for (auto& [place, members] : places) {
    if (has_both(members, launches))
      out.push_back({fmt::format("prefill and decode of {} in {}", place.second, place.first), std::move(members)});
  }
  return out;
}

}  // namespace preflight::commands
