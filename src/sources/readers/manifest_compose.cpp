// Other files of a compose project: what a service extends, what is included, and what overrides this one. Tested by
// tests/manifest_test.cpp.
#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/readers/manifest_reader.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

// What docker compose reads where no -f names other files.
constexpr std::array<std::string_view, 4> kBases = {"compose.yaml", "compose.yml", "docker-compose.yml",
                                                    "docker-compose.yaml"};

bool is_base(std::string_view name) { return std::ranges::find(kBases, name) != kBases.end(); }

constexpr std::array<std::string_view, 4> kOverrides = {"compose.override.yaml", "compose.override.yml",
                                                        "docker-compose.override.yml", "docker-compose.override.yaml"};

bool is_override(std::string_view name) { return std::ranges::find(kOverrides, name) != kOverrides.end(); }

}  // namespace

// A path that a node of this file, or of another one, names: as seen from this file.
std::string ManifestReader::beside(const YamlNode& node, const std::string& path) const {
  const std::size_t at = tree_.offset(node);
  for (const auto& [name, file] : other_files_) {
    if (file.services.empty() || file.at != at || path.starts_with('/')) continue;
    return (std::filesystem::path(folder_of(name)) / path).string();
  }
  return path;
}

// `path`: as seen from this file. Its nodes stand at `at`, where it is named.
const ManifestReader::OtherFile& ManifestReader::other_file(const std::string& path, std::size_t at) {
  const auto [found, first] = other_files_.try_emplace(path);
  OtherFile& file = found->second;
  if (!first) return file;
  file.path = path;
  file.at = at;
  const auto text = other_files_.size() > limits::kComposeFiles ? std::nullopt : file_beside(source_.name, path);
  auto tree = text ? YamlTree::read(*text) : Result<YamlTree>(failure("not read"));
  const YamlNode* root = tree && !tree->documents().empty() ? tree->documents().front() : nullptr;
  const YamlNode* services = is_map(root) ? value_of(*root, "services") : nullptr;
  if (!is_map(services)) return file;
  file.tree = std::make_unique<YamlTree>(std::move(*tree));
  for (const auto& [name, value] : pairs_of(*services)) {
    if (!is_scalar(name) || !is_map(value)) continue;
    file.services.emplace(name->text, value);
    from_elsewhere_.emplace(value, &file);
  }
  tree_.adopt(*file.tree, at);
  return file;
}

// extends: {file, service}, in this file or in one that is read because of it.
const YamlNode* ManifestReader::in_other_file(const YamlNode& node, const YamlNode& extends) {
  const auto around = from_elsewhere_.find(&node);
  const std::size_t at = tree_.offset(extends);
  const YamlNode* named_file = is_map(&extends) ? value_of(extends, "file") : nullptr;
  std::string path = around == from_elsewhere_.end() ? std::string() : around->second->path;
  if (is_scalar(named_file)) {
    const auto filled = interpolate(tree_.word(*named_file), Interpolation::kCompose, source_.text, given_, {});
    if (filled && filled->unknowns.empty()) {
      const std::string& written = filled->text;
      path = written.starts_with('/') ? written : (std::filesystem::path(folder_of(path)) / written).string();
    } else {
      path.clear();
    }
  }
  const OtherFile& file = other_file(path, at);
  const auto base = file.services.find(is_map(&extends) ? text_of(extends, "service") : extends.text);
  if (base != file.services.end()) return base->second;
  if (told_.insert(at).second) {
    finder_.note({"SH002",
                  fmt::format("{}, which this service extends, is not read: what it sets is not known",
                              is_scalar(named_file) ? named_file->text : path),
                  at});
  }
  return nullptr;
}

// The service that a compose service extends, or the container that a patch is laid over; nullptr where there is none.
const YamlNode* ManifestReader::extended(const YamlNode& node) {
  if (const auto base = beneath_.find(&node); base != beneath_.end()) return base->second;
  const YamlNode* extends = services_ == nullptr ? nullptr : value_of(node, "extends");
  if (extends == nullptr) return nullptr;
  const bool elsewhere = from_elsewhere_.contains(&node);
  if (elsewhere || (is_map(extends) && value_of(*extends, "file") != nullptr)) return in_other_file(node, *extends);
  const YamlNode* base = named(is_map(extends) ? text_of(*extends, "service") : extends->text);
  return is_map(base) ? base : nullptr;
}

// A service, or a job of GitLab, that extends itself, over others or not: who starts them refuses the file.
std::optional<LaunchUnknown> ManifestReader::circle_among(const YamlNode& parts, std::string_view refuses) {
  std::map<const YamlNode*, int> state;  // 1: among those being followed, 2: followed
  std::vector<std::pair<const YamlNode*, std::size_t>> open;
  for (const auto& [name, value] : parts.pairs) {
    if (is_map(value) && state.emplace(value, 1).second) open.emplace_back(value, 0);
    while (!open.empty()) {
      auto& [node, next] = open.back();
      const std::vector<const YamlNode*> bases = bases_of(*node);
      if (!spend(1 + bases.size()) || next >= bases.size()) {
        state[node] = 2;
        open.pop_back();
        continue;
      }
      const YamlNode* base = bases[next++];
      const auto [known, fresh] = state.emplace(base, 1);
      if (!fresh && known->second == 1)
        return LaunchUnknown{fmt::format("{} extends itself: {} refuses the file", key_of(parts, *base), refuses),
                             tree_.offset(*base),
                             {}};
      if (fresh) open.emplace_back(base, 0);
    }
  }
  return std::nullopt;
}

// What it is made of, in this file.
std::vector<const YamlNode*> ManifestReader::bases_of(const YamlNode& node) {
  if (pipeline_ != nullptr) return extended_jobs(node, false);
  const YamlNode* extends = value_of(node, "extends");
  if (is_map(extends) && value_of(*extends, "file") != nullptr) return {};
  const YamlNode* base = extends == nullptr ? nullptr : extended(node);
  return base == nullptr ? std::vector<const YamlNode*>{} : std::vector{base};
}

std::string ManifestReader::key_of(const YamlNode& parts, const YamlNode& part) {
  const auto entry = std::ranges::find_if(parts.pairs, [&](const auto& one) { return one.second == &part; });
  return entry == parts.pairs.end() ? std::string("one of these") : entry->first->text;
}

// Files that `include` names are projects of their own: their services run beside those of this file.
void ManifestReader::included(const YamlNode& root) {
  const YamlNode* list = value_of(root, "include");
  if (!is_list(list)) return;
  std::size_t files = 0;
  for (const YamlNode* item : list->items) {
    if (++files > limits::kComposeFiles) {
      finder_.note({"SH002",
                    fmt::format("of {} files that are included {} are read: give the others, too, for their services "
                                "run beside these",
                                list->items.size(), limits::kComposeFiles),
                    tree_.offset(*item)});
      return;
    }
    include(*item);
  }
}

// What the files of `env_file` set for a file that is included, where nothing here sets it. False where one is not
// read, or lies beside a `.env`, which compose would not read then.
bool ManifestReader::variables_of_include(const YamlNode& files, const std::string& included, Variables& given) {
  if (file_beside(included, ".env")) return false;
  Values all;
  for (const ShellWord& word : tree_.words(files)) {
    const auto filled = interpolate(word, Interpolation::kCompose, source_.text, given_, {});
    const auto text = filled && filled->unknowns.empty() ? file_beside(source_.name, filled->text) : std::nullopt;
    if (!text) return false;
    for (auto& [name, value] : variables_of(*text, given_, word.begin)) all.insert_or_assign(name, value);
  }
  for (const auto& [name, value] : all) {
    if (value.unknowns.empty()) given.try_emplace(name, value.text);
  }
  return true;
}

void ManifestReader::include(const YamlNode& item) {
  const YamlNode* path = is_map(&item) ? value_of(item, "path") : &item;
  const YamlNode* files = is_map(&item) ? value_of(item, "env_file") : nullptr;
  if (path == nullptr) return;
  const bool plain = is_scalar(path) && (!is_map(&item) || item.pairs.size() == (files != nullptr ? 2U : 1U));
  const ShellWord word = is_scalar(path) ? tree_.word(*path) : ShellWord{{}, tree_.offset(*path), 0};
  const auto filled = interpolate(word, Interpolation::kCompose, source_.text, given_, {});
  auto text = plain && filled && filled->unknowns.empty() ? file_beside(source_.name, filled->text) : std::nullopt;
  const std::string name =
      text ? (std::filesystem::path(source_.name).parent_path() / filled->text).string() : std::string();
  Variables given = given_;
  if (text && files != nullptr && !variables_of_include(*files, name, given)) text.reset();
  if (!text) {
    finder_.note({"SH002",
                  fmt::format("{} is included and not read: give it, too, for its services run beside these",
                              word.text.empty() ? "a list of files" : word.text),
                  word.begin});
    return;
  }
  if (!spend(text->size() / limits::kManifestBytesOfAStep)) return;
  LaunchFinder inner(*text, given);
  const auto done = finder_.descend(inner, text->size()) ? read_manifest({*text, given, name}, inner)
                                                         : Result<bool>(failure("it is too long, or includes others"));
  const std::size_t before = finder_.found_so_far();
  finder_.adopt(
      inner, [&](std::size_t) { return word.begin; }, [](std::size_t) { return std::string(); });
  finder_.stands_in(name, before);
  if (!done) {
    finder_.note(
        {"SH002", fmt::format("{} is included and not understood: {}", word.text, done.error().text()), word.begin});
  }
}

// docker compose reads compose.override.yaml with compose.yaml, where no -f names other files.
void ManifestReader::overridden() {
  constexpr std::array<std::string_view, 7> kKeys = {"command", "entrypoint", "environment", "env_file",
                                                     "image",   "extends",    "build"};
  if (!is_base(base_name(source_.name))) return;
  for (const std::string_view file : kOverrides) {
    const auto text = file_beside(source_.name, file);
    const auto tree = text ? YamlTree::read(*text) : Result<YamlTree>(failure(unread_beside(source_.name, file)));
    if (!tree && !tree.error().message.empty()) {
      finder_.note(
          {"SH002",
           fmt::format("{} is not read ({}): docker compose reads it with this file", file, tree.error().text()),
           tree_.offset(*services_)});
    }
    const YamlNode* root = tree && !tree->documents().empty() ? tree->documents().front() : nullptr;
    const YamlNode* services = is_map(root) ? value_of(*root, "services") : nullptr;
    if (!is_map(services)) continue;
    for (const auto& [service, value] : pairs_of(*services)) {
      const bool changes =
          is_map(value) && std::any_of(kKeys.begin(), kKeys.end(), [value = value](std::string_view key) {
            return value_of(*value, key) != nullptr;
          });
      if (is_scalar(service) && changes) overridden_.insert(service->text);
    }
  }
}

// The file that this one may be a part of: docker compose reads it first.
void ManifestReader::find_base() {
  if (is_base(base_name(source_.name))) return;
  for (const std::string_view name : kBases) {
    const auto text = file_beside(source_.name, name);
    const auto tree = text ? YamlTree::read(*text) : Result<YamlTree>(failure("not read"));
    const YamlNode* root = tree && !tree->documents().empty() ? tree->documents().front() : nullptr;
    const YamlNode* services = is_map(root) ? value_of(*root, "services") : nullptr;
    if (!is_map(services)) continue;
    base_ = name;
    for (const auto& [service, value] : pairs_of(*services)) base_services_.insert(service->text);
    return;
  }
}

// A service of which another file holds a part.
void ManifestReader::ask_for_whole(const YamlNode& node, const Around& around, RunContext& context) {
  constexpr std::string_view kGive = "give what `docker compose config` prints";
  const auto ask = [&](std::string what) {
    context.unknown.push_back({fmt::format("{}: {}", what, kGive), tree_.offset(node), {}});
  };
  if (overridden_.contains(around.name)) ask("the override file beside this one changes this service");
  const bool has_image = part_of(node, "image") != nullptr || part_of(node, "build") != nullptr;
  const bool may_be_part = is_override(base_name(source_.name)) || (!has_image && value_of(node, "extends") == nullptr);
  if (!may_be_part) return;
  if (base_services_.contains(around.name))
    ask(fmt::format("this changes the service of {} beside this file", base_));
  else if (base_.empty() && !has_image && is_override(base_name(source_.name)))
    ask("this changes a service of another file, which is not beside this one");
}

}  // namespace preflight::sources
