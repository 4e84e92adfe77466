// Files that a program reads its settings from: JSON, YAML and TOML that lie where it stands. What lies elsewhere, what
// the program may have written, and what is not there is not known. Tested by tests/sources_test.cpp and, with Python
// as the judge, by tests/traps_test.cpp.
#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "preflight/value.h"
#include "src/base/limits.h"
#include "src/python/json_text.h"
#include "src/python/toml.h"
#include "src/python/yaml_document.h"
#include "src/python/yaml_objects.h"
#include "src/sources/program/follower.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources::program {
namespace {

using Kind = Val::Kind;
namespace fs = std::filesystem;

constexpr std::size_t kFileSteps = 200;  // to look for a file
constexpr int kMostLevels = 20;

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

}  // namespace

// The path of a text or of a pathlib.Path; null for what is neither.
const ShellText* Follower::path_text(const Val& v) {
  if (v.is(Kind::kText)) return v.text.get();
  const bool path = v.is(Kind::kInstance) && v.object->name == "pathlib.Path" && !v.object->bound.empty();
  return path ? v.object->bound[0].text.get() : nullptr;
}

// What a program may write is not what lies there: a path, or any word of a command.
void Follower::note_written(const Val& v, int depth) {
  if (const ShellText* path = path_text(v); path != nullptr) {
    spend_text(path->text.size());
    constexpr std::string_view kEnds = " \t\n\"';>=";
    for (std::size_t from = 0; from < path->text.size();) {
      const std::size_t end = std::min(path->text.find_first_of(kEnds, from), path->text.size());
      const std::string word = path->text.substr(from, end - from);
      const bool open = word.find(kHole) != std::string::npos;
      if (!word.empty() && written_files_.size() < limits::kVariables)
        written_files_.insert(open ? std::string(1, kHole) : name_of(word));
      from = end + 1;
    }
  }
  if (!v.sequence() || depth > 1) return;
  for (const Val& item : v.object->now.items) note_written(item, depth + 1);
}

// Where a path leads: from the root, or beside the program while it is where it was started, which is then told. ""
// where that is not known.
std::string Follower::place_of(const Val& v, std::size_t at) {
  const ShellText* path = path_text(v);
  if (path == nullptr || !path->unknowns.empty() || path->text.empty()) return {};
  if (written_files_.contains(name_of(path->text)) || written_files_.contains(std::string(1, kHole))) return {};
  spend(kFileSteps);
  if (path->text.front() == '/') {
    const bool own = path->defaults != nullptr && path->defaults->contains("__file__");
    if (own) add_defaults(defaults_, path->defaults);
    return own ? path->text : std::string();
  }
  const std::string program = place_of_file(source_.name);
  const std::string folder = start_ != nullptr ? start_->folder : fs::path(program).parent_path().string();
  if (moved_ || folder.empty()) return {};
  const std::string beside = (fs::path(folder) / path->text).lexically_normal().string();
  std::error_code error;
  const fs::path here = fs::absolute(path->text, error).lexically_normal();
  if (error || (here != beside && fs::exists(here, error))) return {};  // which of the two is meant?
  add_defaults(defaults_, taken_default("$PWD", folder, at, TakenWhy::kPlace));
  return beside;
}

// The text of the file that `v` names; none: it is not known.
std::optional<std::string> Follower::file_text(const Val& v, std::size_t at) {
  const TakenDefaults before = defaults_;
  const std::string place = place_of(v, at);
  auto out = place.empty() ? std::nullopt : sources::file_beside("/", place);
  if (!out) defaults_ = before;  // nothing was taken
  if (out) spend_text(out->size());
  return out;
}

// --- values of a text ---

// `none_is`: what a None stands for that is none.
Val Follower::value_of_json(const Value& v, std::size_t at, std::string_view none_is) {
  spend_bytes(sizeof(Val));
  if (v.is_none()) return none_is.empty() ? none() : unknown(std::string(none_is), at);
  if (v.is_bool()) return boolean(v.as_bool());
  if (v.is_long_int()) return unknown("an integer of more than 64 bits is not followed", at);
  if (v.is_int()) return whole(v.as_int());
  if (v.is_float()) return real(v.as_number());
  if (v.is_string()) return text(v.as_string(), at);
  if (v.is_list()) {
    std::vector<Val> items;
    for (const Value& item : v.as_list()) items.push_back(value_of_json(item, at, none_is));
    return list_of(std::move(items));
  }
  Val out = {.kind = Kind::kDict, .object = make()};
  for (const auto& [key, item] : v.as_dict())
    set_entry(out.object, text(key, at), value_of_json(item, at, none_is), at);
  return out;
}

Val Follower::value_of_yaml(const python::YamlObject& v, std::size_t at, int depth) {
  using Yaml = python::YamlObject;
  spend_bytes(sizeof(Val));
  if (depth > kMostLevels) return unknown("this file holds lists in lists deeper than is followed", at);
  switch (v.kind) {
    case Yaml::kNone:
      return none();
    case Yaml::kBool:
      return boolean(v.boolean);
    case Yaml::kInt: {
      constexpr std::size_t kMostDigits = 18;
      if (v.text.size() > kMostDigits) return unknown("an integer of more than 64 bits is not followed", at);
      return whole(std::stoll(v.text));
    }
    case Yaml::kFloat:
      return real(v.number);
    case Yaml::kText:
      return text(v.text, at);
    case Yaml::kList:
    case Yaml::kTuple: {
      std::vector<Val> items;
      for (const Yaml* item : v.items) items.push_back(value_of_yaml(*item, at, depth + 1));
      return list_of(std::move(items), v.kind == Yaml::kTuple ? Kind::kTuple : Kind::kList);
    }
    case Yaml::kDict: {
      Val out = {.kind = Kind::kDict, .object = make()};
      for (const auto& [key, item] : v.pairs)
        set_entry(out.object, value_of_yaml(*key, at, depth + 1), value_of_yaml(*item, at, depth + 1), at);
      return out;
    }
    default:
      return unknown("dates, bytes and sets of YAML are not followed", at);
  }
}

// What a text of JSON, YAML or TOML holds; none where Python raises, or it is not known.
std::optional<Val> Follower::parsed(const std::string& text, std::string_view language, std::size_t at) {
  spend_text(text.size());
  if (language == "json") {
    const auto value = python::json_loads(text);
    return value ? std::optional(value_of_json(*value, at)) : std::nullopt;
  }
  if (language == "tomllib") {
    const auto value = python::toml_loads(text);
    constexpr std::string_view kDate = "dates and times of TOML are not followed";
    return value ? std::optional(value_of_json(*value, at, kDate)) : std::nullopt;
  }
  try {
    const python::YamlDocument document(python::yaml_text(text));
    const python::YamlObjects objects(document);
    return objects.root() == nullptr ? none() : value_of_yaml(*objects.root(), at, 0);
  } catch (const python::YamlFault&) {
    return std::nullopt;
  }
}

// --- calls ---

// json.load(FILE), json.loads(TEXT), yaml.safe_load(either), tomllib.load(FILE)
std::optional<Val> Follower::loaded(const std::string& name, Arguments& a) {
  struct Call {
    std::string_view name;
    bool file;
    bool text;
  };
  constexpr auto kCalls = std::to_array<Call>({{"json.load", true, false},
                                               {"json.loads", false, true},
                                               {"yaml.safe_load", true, true},
                                               {"yaml.load", true, true},
                                               {"yaml.full_load", true, true},
                                               {"tomllib.load", true, false},
                                               {"tomllib.loads", false, true}});
  const auto* const call = std::ranges::find(kCalls, name, &Call::name);
  if (call == kCalls.end() || a.values.empty() || !a.more.empty()) return std::nullopt;
  const std::string_view language = call->name.substr(0, call->name.find('.'));
  const bool plain =
      std::ranges::all_of(a.keys, [&](const auto& key) { return language == "yaml" && key.first == "Loader"; });
  const Val& from = a.values[0];
  const bool file = from.is(Kind::kInstance) && from.object->name == "file" && !from.object->bound.empty();
  std::optional<std::string> all;
  if (plain && file && call->file) all = file_text(from.object->bound[0], a.at);
  if (plain && from.known_text() && call->text) all = from.text->text;
  if (!all) return std::nullopt;
  auto out = parsed(*all, language, a.at);
  if (!out && language == "json" && !file) refuse("json.JSONDecodeError", a.at);  // of a file another may stand there
  return out;
}

// open(PATH, MODE), Path.open(MODE)
Val Follower::opened(const Val& path, const Val* mode) {
  ++doubts_;
  const std::string how = mode == nullptr ? "r" : mode->known_text() ? mode->text->text : "w";
  Val out = instance("file");
  const bool writes = how.find_first_of("wax+") != std::string::npos;
  if (writes) note_written(path);
  if (writes && path_text(path) == nullptr) written_files_.insert(std::string(1, kHole));
  if (!writes) out.object->bound = {path};
  if (!writes) may_not_be_there(path, path.begin);
  return out;
}

// A file of a known name that is read, and that is not there for all that is seen here.
void Follower::may_not_be_there(const Val& path, std::size_t at) {
  const ShellText* name = path_text(path);
  if (name == nullptr || !name->unknowns.empty() || name->text.starts_with("/proc/") || name->text.starts_with("/dev/"))
    return;
  const bool asks = source_.text.find("exists") != std::string_view::npos ||
                    source_.text.find("isfile") != std::string_view::npos ||
                    source_.text.find("is_file") != std::string_view::npos;
  const bool written = written_files_.contains(name_of(name->text)) || written_files_.contains(std::string(1, kHole));
  spend_bytes(3 * source_.text.size());
  if (!asks && !written && !file_text(path, at)) may_raise("FileNotFoundError", at);
}

// A question about a file that is there; of one that is not, nothing is known.
std::optional<Val> Follower::is_there(const Val& path, std::string_view kind, std::size_t at) {
  const TakenDefaults before = defaults_;
  const std::string place = place_of(path, at);
  std::error_code error;
  const bool holds = !place.empty() && (kind == "file" ? fs::is_regular_file(place, error) : fs::exists(place, error));
  if (!holds) defaults_ = before;
  return holds ? std::optional(boolean(true)) : std::nullopt;
}

std::optional<Val> Follower::file_call(const std::string& name, Arguments& a) {
  if (name == "os.chdir") moved_ = true;
  if ((name == "open" || name == "io.open") && !a.values.empty()) return opened(a.values[0], a.argument(1, "mode"));
  if (name == "os.path.exists" && a.values.size() == 1) return is_there(a.values[0], "", a.at);
  if (name == "os.path.isfile" && a.values.size() == 1) return is_there(a.values[0], "file", a.at);
  return loaded(name, a);
}

// Methods of pathlib.Path and of files.
std::optional<Val> Follower::file_method(const std::string& name, const Val& self, Arguments& a) {
  if (name == "pathlib.Path.open") return opened(self, a.argument(0, "mode"));
  if (name == "pathlib.Path.write_text" || name == "pathlib.Path.write_bytes") note_written(self);
  if (name == "pathlib.Path.exists") return is_there(self, "", a.at);
  if (name == "pathlib.Path.is_file") return is_there(self, "file", a.at);
  const bool whole_file = name == "file.read" && a.values.empty() && !self.object->bound.empty();
  if (!whole_file && name != "pathlib.Path.read_text") return std::nullopt;
  if (!whole_file) may_not_be_there(self, a.at);
  const auto all = file_text(whole_file ? self.object->bound[0] : self, a.at);
  return all && all->find('\r') == std::string::npos ? std::optional(text(*all, a.at)) : std::nullopt;
}

}  // namespace preflight::sources::program
