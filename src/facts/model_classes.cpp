#include "src/facts/model_classes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/embedded.h"
#include "src/base/remembered.h"
#include "src/facts/transformers/config_classes.h"

namespace preflight::facts {
namespace {

constexpr std::array<std::pair<std::string_view, ModelClass>, 5> kWords = {{{"stages", ModelClass::kStages},
                                                                            {"whole", ModelClass::kWhole},
                                                                            {"own", ModelClass::kOwn},
                                                                            {"transformers", ModelClass::kTransformers},
                                                                            {"refused", ModelClass::kRefused}}};

Release release_or(const nlohmann::json& row, const char* key, Release fallback) {
  return row.contains(key) ? parse_release(row[key].get<std::string>()).value_or(fallback) : fallback;
}

// A line of the table is an entry with the releases in which it holds; lines of one name follow each other. The table
// has some thousand lines, and one launch asks for one of them.
ModelClass of_line(std::string_view line, Release release) {
  const auto row = nlohmann::json::parse(line, nullptr, false);
  if (row.is_discarded()) return ModelClass::kNone;
  const auto releases = supported_releases();
  if (release < release_or(row, "first", releases.front()) || release > release_or(row, "last", releases.back())) {
    return ModelClass::kNone;
  }
  const auto word = row["value"].get<std::string>();
  const auto* known = std::ranges::find(kWords, word, &std::pair<std::string_view, ModelClass>::first);
  return known == kWords.end() ? ModelClass::kNone : known->second;
}

// Where the first line starts that does not come before `start`. The lines are sorted by name, but for the brackets
// around them: every name ends with a quote, which comes before all that a name is made of.
std::size_t first_line_from(std::string_view table, std::string_view start) {
  const auto line_at = [&](std::size_t at) { return at == 0 ? 0 : table.rfind('\n', at - 1) + 1; };
  std::size_t low = table.find('\n') + 1;  // behind the opening bracket
  std::size_t high = table.rfind("\n]") + 1;
  while (low < high) {
    const std::size_t middle = line_at(low + (high - low) / 2);
    if (table.substr(middle, start.size()) < start) {
      low = table.find('\n', middle) + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

ModelClass looked_up(std::string_view architecture, Release release) {
  const std::string_view table = embedded::model_classes().front().text;
  const std::string start = fmt::format("{{\"name\": \"{}\",", architecture);
  for (std::size_t at = first_line_from(table, start); table.substr(at).starts_with(start);) {
    const std::size_t end = table.find('\n', at);
    std::string_view line = table.substr(at, end - at);
    if (line.ends_with(',')) line.remove_suffix(1);
    if (const ModelClass found = of_line(line, release); found != ModelClass::kNone) return found;
    at = end + 1;
  }
  return ModelClass::kNone;
}

}  // namespace

ModelClass model_class(std::string_view architecture, Release release) {
  if (architecture.find('"') != std::string_view::npos) return ModelClass::kNone;  // would reach into the line
  thread_local Remembered<ModelClass> known;
  return known.of(fmt::format("{} {}", release.text(), architecture), [&] { return looked_up(architecture, release); });
}

std::optional<Release> first_release_after(Release release, std::string_view architecture, bool (*served)(ModelClass)) {
  for (const Release later : supported_releases()) {
    if (later > release && served(model_class(architecture, later))) return later;
  }
  return std::nullopt;
}

namespace {

// What AutoConfig has for the type, unless SGLang reads it with a class of its list.
const ConfigClass* class_read_with(std::string_view model_type, Release release) {
  const ConfigTables& tables = ConfigTables::of(release);
  const ConfigClass* listed = tables.registered(model_type);
  return listed != nullptr ? listed : tables.type(model_type);
}

}  // namespace

std::string kept_as(std::string_view attribute, std::string_view model_type, Release release) {
  for (const ConfigClass* c = class_read_with(model_type, release); c != nullptr; c = c->base) {
    for (const auto& [name, kept] : c->aliases) {
      if (name == attribute) return kept;
    }
  }
  return std::string(attribute);
}

bool is_read_by_sglang(std::string_view model_type, Release release) {
  return ConfigTables::of(release).registered(model_type) != nullptr;
}

bool has_class_of_sglang(std::string_view model_type, Release release) {
  const ConfigClass* read = class_read_with(model_type, release);
  return read != nullptr && read->own;
}

bool has_auto_model(std::string_view model_type, Release release) {
  // transformers has models for their parts alone: the same from 5.6.0 to 5.19.0.
  constexpr std::array<std::string_view, 5> kOfParts = {"nemotron_h_omni", "qwen2_5_omni", "qwen2_5_omni_thinker",
                                                        "qwen3_omni_moe", "qwen3_omni_moe_thinker"};
  if (std::ranges::find(kOfParts, model_type) != kOfParts.end()) return false;
  const ConfigClass* read = class_read_with(model_type, release);
  if (read == nullptr || !read->own) return true;
  // Models are looked up by the name of the class, and transformers' own has the same.
  constexpr std::array<std::pair<std::string_view, Release>, 3> kSameName = {
      {{"cohere2_moe", v0_5(15)}, {"cosmos3_edge", v0_5(22)}, {"cosmos3_edge_text", v0_5(22)}}};
  const auto* row = std::ranges::find(kSameName, model_type, &std::pair<std::string_view, Release>::first);
  if (row != kSameName.end()) return release >= row->second;
  const ConfigClass* namesake = ConfigTables::of(release).find(read->name);
  return namesake != nullptr && !namesake->own;
}

}  // namespace preflight::facts
