// Scripts that ConfigMaps hold: which of them a container mounts, under which path, and what runs it. Tested by
// tests/sources_test.cpp.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/readers/manifest_reader.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources {

using python::YamlNode;

namespace {

constexpr std::size_t kMostMounted = 20'000;  // files of all containers
constexpr std::size_t kMostNamed = 64;        // scripts that are looked for in the texts of one

std::string joined(const std::string& folder, const std::string& path) {
  std::string out = (std::filesystem::path(folder) / path).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace

// Of its own namespace; where one of the two does not say its namespace, the only one of that name.
const std::pair<const std::string, Values>* ManifestReader::object_named(const Objects& all, const std::string& name,
                                                                         const std::string& space) {
  const auto found = all.find(name);
  if (found == all.end()) return nullptr;
  auto one = found->second.find(space);
  if (one == found->second.end() && !space.empty()) one = found->second.find("");
  if (one == found->second.end() && space.empty() && found->second.size() == 1) one = found->second.begin();
  return one == found->second.end() ? nullptr : &*one;
}

// The keys of a ConfigMap as files: all by their own names, or those of `items` by theirs.
void ManifestReader::take_files(const YamlNode& map, const std::string& space, Volume& volume) const {
  std::string name = text_of(map, "name");
  const auto* known = object_named(maps_, name, space);
  if (known == nullptr) {
    volume.missing = name;
    return;
  }
  name.insert(0, known->first + "/");
  const YamlNode* items = value_of(map, "items");
  if (!is_list(items)) {
    for (const auto& [key, value] : known->second) volume.files.insert_or_assign(key, KeyOfMap{name, key});
    return;
  }
  for (const YamlNode* item : items->items) {
    if (!is_map(item)) continue;
    const std::string key = text_of(*item, "key");
    if (known->second.contains(key)) volume.files.insert_or_assign(text_of(*item, "path"), KeyOfMap{name, key});
  }
}

// `configs` of a service: NAME, which stands at /NAME, or {source, target}.
ManifestReader::Mounted ManifestReader::configs_in(const YamlNode& node) {
  Mounted out;
  const YamlNode* list = part_of(node, "configs");
  out.any = true;
  for (const YamlNode* item : is_list(list) ? list->items : std::vector<YamlNode*>{}) {
    const std::string source = is_map(item) ? text_of(*item, "source") : item->text;
    const std::string target = is_map(item) ? text_of(*item, "target") : std::string();
    const KeyOfMap key(std::string(), source);
    if (!texts_.contains(key)) continue;
    const std::string at = joined("/", target.empty() ? source : target);
    out.files.insert_or_assign(at, key);
    if (out.ours.size() < kMostNamed && speaking_.contains(key)) out.ours.emplace_back(std::string(base_name(at)), key);
  }
  return out;
}

ManifestReader::Mounted ManifestReader::mounted_in(const YamlNode& node, const Around& around) {
  if (around.dialect == Dialect::kCompose && !texts_.empty()) return configs_in(node);
  Mounted out;
  const YamlNode* list = part_of(node, "volumeMounts");
  if (!is_list(list) || around.dialect != Dialect::kKubernetes) return out;
  out.any = true;
  for (const YamlNode* item : list->items) {
    if (!is_map(item) || around.volumes == nullptr) continue;
    const auto volume = around.volumes->find(text_of(*item, "name"));
    if (volume == around.volumes->end()) continue;
    const std::string at = joined(text_of(*item, "mountPath"), "");
    const std::string part = text_of(*item, "subPath");
    if (!volume->second.missing.empty()) out.missing.insert_or_assign(at, volume->second.missing);
    for (const auto& [path, key] : volume->second.files) {
      if (++mounted_files_ > kMostMounted) return out;
      if (!part.empty() && path != part) continue;
      const std::string inside = part.empty() ? joined(at, path) : at;
      out.files.insert_or_assign(inside, key);
      if (out.ours.size() < kMostNamed && speaking_.contains(key))
        out.ours.emplace_back(std::string(base_name(inside)), key);
    }
  }
  return out;
}

// Where the words of a container run: workingDir of Kubernetes, working_dir of compose.
std::string ManifestReader::folder_of_words(const YamlNode& node) {
  for (const char* key : {"workingDir", "working_dir"}) {
    const YamlNode* folder = part_of(node, key);
    if (is_scalar(folder) && !folder->text.empty()) return folder->text;
  }
  return "/";
}

// A file beside the compose file that a service mounts, or one of a folder that it mounts, where `path` is that file
// in the container. What is told of it is told at `at`.
bool ManifestReader::bind_script(const std::string& path, const facts::Mount& mount, std::size_t at, Mounted& mounted) {
  namespace fs = std::filesystem;
  const std::string inside = joined("/", mount.inside);
  if (path != inside && !path.starts_with(inside == "/" ? inside : inside + "/")) return false;
  const fs::path own = fs::path(source_.name).parent_path().lexically_normal();
  const std::string rest = path.substr(inside.size());
  const fs::path host = rest.empty() ? fs::path(mount.host) : fs::path(mount.host + "/" + rest).lexically_normal();
  const fs::path beside = host.lexically_relative(own.empty() ? fs::path(".") : own);
  if (beside.empty() || *beside.begin() == ".." || beside.is_absolute()) return false;
  const auto text = file_beside(source_.name, beside.string());
  if (!text || text->find('\0') != std::string::npos) return false;
  const KeyOfMap key(path, host.string());
  const ShellText script{*text, std::vector<std::size_t>(text->size(), at), {}};
  texts_.insert_or_assign(key, script);
  scripts_.insert_or_assign(key, script);
  used_.insert(key);
  mounted.any = true;
  mounted.files.insert_or_assign(path, key);
  if (!speaks(script)) return true;
  speaking_.insert(key);
  mounted.ours.emplace_back(std::string(base_name(path)), key);
  return true;
}

// Files beside the compose file that the words of a service name, where it mounts them.
void ManifestReader::bind_scripts(const YamlNode& node, const std::vector<facts::Mount>& mounts, Mounted& mounted) {
  const YamlNode* volumes = part_of(node, "volumes");
  if (volumes == nullptr || mounts.empty()) return;
  const std::string folder = folder_of_words(node);
  std::size_t looked = 0;
  for (const char* key : {"entrypoint", "command"}) {
    const YamlNode* value = part_of(node, key);
    for (const ShellWord& text : value == nullptr ? std::vector<ShellWord>{} : words_of(*value)) {
      for (const ShellWord& word : plain_words(text)) {
        const std::string path = joined(folder, word.text);
        const bool named = word.text.find('.') != std::string::npos || word.text.starts_with('/');
        if (!named || word.text.starts_with('-') || ++looked > kMostNamed) continue;
        for (const facts::Mount& mount : mounts) {
          if (bind_script(path, mount, tree_.offset(*volumes), mounted)) break;
        }
      }
    }
  }
}

// The script that a word names: of those that the container mounts; where it does not say what it mounts, of a script
// of that name.
const std::pair<const ManifestReader::KeyOfMap, ShellText>* ManifestReader::script_of(const ShellWord& word,
                                                                                      const Mounted& mounted,
                                                                                      const YamlNode& node) {
  if (word.text.empty() || word.text[0] == '-' || !word.unknowns.empty()) return nullptr;
  if (!mounted.any) {
    const auto it =
        std::ranges::find_if(scripts_, [&](const auto& one) { return one.first.second == base_name(word.text); });
    return it == scripts_.end() ? nullptr : &*it;
  }
  const auto file = mounted.files.find(joined(folder_of_words(node), word.text));
  const auto script = file == mounted.files.end() ? scripts_.end() : scripts_.find(file->second);
  return script == scripts_.end() ? nullptr : &*script;
}

// Whether a text for a shell names a mounted script that names a launch; `out` gets them.
bool ManifestReader::named_scripts(const ShellText& text, const Mounted& mounted, std::vector<KeyOfMap>& out) {
  const std::size_t before = out.size();
  for (const auto& [name, key] : mounted.ours) {
    if (out.size() < kMostNamed && text.text.find(name) != std::string::npos) out.push_back(key);
  }
  return out.size() > before;
}

// What a container mounts of ConfigMaps, by paths; of many containers that mount long ones, only so much is followed.
std::shared_ptr<const std::map<std::string, ShellText>> ManifestReader::files_of(const Mounted& mounted) {
  std::map<std::string, ShellText> out;
  for (const auto& [path, key] : mounted.files) {
    const auto text = texts_.find(key);
    if (text == texts_.end() || (bytes_of_files_ += text->second.text.size()) > limits::kVariableBytes) continue;
    out.emplace(path, text->second);
  }
  return out.empty() ? nullptr : std::make_shared<const std::map<std::string, ShellText>>(std::move(out));
}

// A file of a ConfigMap that nobody has here is run: told where it may be a launch.
void ManifestReader::tell_missing(const std::vector<ShellWord>& words, const Mounted& mounted, const Around& around) {
  for (std::size_t i = 0; i < words.size() && i < 4; ++i) {
    for (const auto& [folder, name] : mounted.missing) {
      const std::string& path = words[i].text;
      if (path != folder && !path.starts_with(folder + "/")) continue;
      const bool known_name = std::ranges::any_of(
          scripts_, [&](const auto& one) { return one.first.second == base_name(path) && speaks(one.second); });
      if (!known_name && around.image.find("sglang") == std::string::npos) continue;
      finder_.note(
          {"SH004",
           fmt::format("this container runs {} of the ConfigMap {}, which is not in this file: what that starts "
                       "is not known",
                       path, name),
           words[i].begin});
      return;
    }
  }
}

void ManifestReader::run_mounted(const std::pair<const KeyOfMap, ShellText>& script, const RunContext& context) {
  used_.insert(script.first);
  if (kind_of(script.second.text, script.first.second) != FileKind::kWords) return run_script(script.second, context);
  const SourceText inside{source_.text, given_, {}, &context.env};
  const std::size_t before = finder_.found_so_far();
  auto done = read_part(script.second, FileKind::kWords, context.name, inside, finder_);
  finder_.runs_in(context, before);
  if (!done) {
    finder_.note({"SH004", fmt::format("{} is not understood: {}", script.first.second, done.error().text()),
                  script.second.origin.empty() ? 0 : script.second.origin.front()});
  }
}

}  // namespace preflight::sources
