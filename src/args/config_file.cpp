// Source: srt/server_args_config_parser.py (0.5.13), srt/utils/server_args_config_parser.py (0.5.23).
// Tested by tests/args_config_test.cpp.
#include "src/args/config_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>

#include <fmt/format.h>

#include "src/args/option_index.h"
#include "src/python/text.h"
#include "src/python/yaml_objects.h"
#include "src/base/ascii_case.h"
#include "src/base/file_state.h"
#include "src/base/limits.h"
#include "src/base/read_text.h"

namespace preflight::args {
namespace {

constexpr std::string_view kParse = "_parse_yaml_config";
constexpr std::string_view kConvert = "_convert_config_to_args";

ParseRefusal refusal(std::string exception, std::string_view function, std::string message, SourceRange where = {}) {
  return {{std::move(exception), std::string(function), std::move(message)}, std::move(where), {}};
}

// pathlib's suffix of the last component: "" for names such as ".yaml" and "name.".
std::string_view suffix_of(std::string_view path) {
  for (;;) {
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path == "." || path.ends_with("/.")) {
      path.remove_suffix(1);
    } else {
      break;
    }
  }
  const std::string_view name = path.substr(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
  const auto point = name.rfind('.');
  return point == name.npos || point == 0 || point + 1 == name.size() ? std::string_view() : name.substr(point);
}

bool is_yaml_suffix(std::string_view suffix) {
  const std::string lower = ascii_lower(suffix);
  return lower == ".yaml" || lower == ".yml";
}

// Of a file that is there and no folder.
std::string_view exception_of(int error) { return error == EACCES || error == EPERM ? "PermissionError" : "OSError"; }

// Before the file is opened: suffix and existence.
std::optional<ParseRefusal> refused_path(const std::string& path) {
  constexpr std::string_view kFunction = "_validate_yaml_file";
  if (!is_yaml_suffix(suffix_of(path))) {
    return refusal("ValueError", kFunction, fmt::format("--config takes a .yaml or .yml file, not {}", path));
  }
  const auto missing = [&] {
    return refusal("ValueError", kFunction, fmt::format("--config: {} does not exist", path));
  };
  if (path.find('\0') != std::string::npos) return missing();
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return std::nullopt;
  if (errno == ENOENT || errno == ENOTDIR || errno == EBADF || errno == ELOOP) return missing();
  return refusal(std::string(exception_of(errno)), kFunction, fmt::format("--config: {} cannot be looked up", path));
}

// The file's text, with Python's text mode: UTF-8, "\n" line ends. Throws python::YamlFault with Python's exception.
std::u32string read_text(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    throw python::YamlFault{"IsADirectoryError", "a directory"};
  if (!S_ISREG(status.st_mode) && !is_opened_for_us(path)) throw python::YamlFault{"OSError", "no regular file"};
  errno = 0;
  auto text = preflight::read_text(path);
  if (!text && errno != 0) throw python::YamlFault{std::string(exception_of(errno)), "the file cannot be opened"};
  if (!text) throw python::YamlFault{std::string(limits::kOurs), text.error().message};
  return python::yaml_text(*text);
}

// What the merger knows about the parser: the keys that stand for switches, and those it cannot convert.
struct ConfigKeys {
  enum Kind { kSwitch = 1, kUnsupported = 2 };
  std::unordered_map<std::string, int> kinds;
  [[nodiscard]] bool is(const std::string& key, Kind kind) const {
    const auto it = kinds.find(key);
    return it != kinds.end() && (it->second & kind) != 0;
  }
};

std::string normalized(std::string_view key) {
  std::string out(key);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

ConfigKeys make_config_keys(Release release, const OptionIndex& index) {
  // Releases with the newer merger accept every long spelling of an option, older ones its destination only.
  const bool by_spelling = release >= v0_5(23);
  const auto keys_of = [&](const Option& option) {
    std::vector<std::string> keys = {std::string(field_name(option.row->dest))};
    if (!by_spelling) return keys;
    for (const std::string_view name : option.names) {
      if (name.starts_with("--")) keys.push_back(normalized(name.substr(2)));
    }
    return keys;
  };
  const auto supported = [&](const Option& option) {
    return option.action == ActionKind::kStoreTrue || option.action == ActionKind::kStore ||
           (by_spelling && option.arity == Arity::kOne);
  };
  ConfigKeys out;
  std::unordered_map<std::string, bool> usable;
  for (const auto& option : index.options()) {
    if (option.action == ActionKind::kHelp || !supported(option)) continue;
    for (auto& key : keys_of(option)) {
      if (option.action == ActionKind::kStoreTrue) out.kinds[key] |= ConfigKeys::kSwitch;
      usable[std::move(key)] = true;
    }
  }
  for (const auto& option : index.options()) {
    if (option.action == ActionKind::kHelp || supported(option)) continue;
    for (const auto& key : keys_of(option)) {
      if (!by_spelling || !usable.contains(key)) out.kinds[key] |= ConfigKeys::kUnsupported;
    }
  }
  return out;
}

const ConfigKeys& config_keys(Release release) {
  static std::map<Release, ConfigKeys> all;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  const auto it = all.find(release);
  return it != all.end() ? it->second
                         : all.emplace(release, make_config_keys(release, OptionIndex::of(release))).first->second;
}

// The words of one file, each with the place of its key.
class Conversion {
 public:
  Conversion(Release release, const std::string& path)
      : dumps_dicts_(release >= v0_5(14)), keys_(config_keys(release)), path_(path) {}

  std::vector<std::string> words;
  std::vector<SourceRange> where;

  std::optional<ParseRefusal> convert(const python::YamlObject& root) {
    for (const auto& [key, value] : root.pairs) {
      place_ = SourceRange{.file = path_, .line = key->mark.line + 1, .column = key->mark.column + 1};
      try {
        if (auto refused = option(*key, *value)) return refused;
      } catch (const python::YamlFault& fault) {  // json.dumps
        return refusal(fault.exception, kConvert,
                       fmt::format("--config: {}: {}", python::yaml_str(*key), fault.message), place_);
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<ParseRefusal> option(const python::YamlObject& key, const python::YamlObject& value) {
    if (key.kind != python::YamlObject::kText) {  // only text has the replace() that SGLang calls
      const bool replaces = key.kind == python::YamlObject::kDate || key.kind == python::YamlObject::kBytes;
      return refusal(replaces ? "TypeError" : "AttributeError", kConvert,
                     fmt::format("--config: the key {} is not text; quote it", python::yaml_str(key)), place_);
    }
    const std::string name = normalized(key.text);
    if (keys_.is(name, ConfigKeys::kUnsupported)) {
      return refusal("ValueError", kConvert,
                     fmt::format("--config cannot hold {}; give it on the command line", key.text), place_);
    }
    if (value.kind == python::YamlObject::kBool) {
      const bool is_switch = keys_.is(name, ConfigKeys::kSwitch);
      if (!is_switch || value.boolean) add("--" + key.text);
      if (!is_switch) add(value.boolean ? "true" : "false");
    } else if (value.kind == python::YamlObject::kList) {
      if (!value.items.empty()) add("--" + key.text);
      for (const auto* item : value.items) add(python::yaml_str(*item));
    } else {
      const bool as_json = dumps_dicts_ && value.kind == python::YamlObject::kDict;
      std::string text = as_json ? python::yaml_json_dumps(value) : python::yaml_str(value);
      add("--" + key.text);
      add(std::move(text));
    }
    return std::nullopt;
  }

  void add(std::string word) {
    length_ += word.size();
    if (length_ > limits::kConfigBytes)
      throw python::YamlFault{std::string(limits::kOurs), "aliases multiply without end"};
    if (words.size() >= limits::kConfigWords)
      throw python::YamlFault{std::string(limits::kOurs), "more words than any launch has"};
    words.push_back(std::move(word));
    where.push_back(place_);
  }

  std::size_t length_ = 0;
  bool dumps_dicts_;
  const ConfigKeys& keys_;
  std::string path_;
  SourceRange place_;
};

// What a file comes to.
struct ConfigWords {
  std::vector<std::string> words;
  std::vector<SourceRange> where;
  std::optional<ParseRefusal> refused;
};

ParseRefusal unreadable(const std::string& path, const python::YamlFault& fault) {
  const int row = fault.mark.line + 1;
  auto refused = refusal(fault.exception, kParse,
                         fmt::format("--config: {}:{}:{}: {}", path, row, fault.mark.column + 1, fault.message),
                         {.file = path, .line = row, .column = fault.mark.column + 1});
  refused.warnings.push_back({"ERROR", std::string(kParse), fmt::format("{} cannot be read as YAML", path)});
  return refused;
}

// `given`: its text, where that is at hand.
ConfigWords read_config(Release release, const std::string& path, const ConfigText* given) {
  ConfigWords out;
  Conversion conversion(release, path);
  try {
    const python::YamlDocument document(given != nullptr ? python::yaml_text(given->text) : read_text(path),
                                        python::YamlDocuments::kOne, limits::kYamlNodes);
    const python::YamlObjects objects(document);
    const python::YamlObject* root = objects.root();
    if (root != nullptr && root->kind != python::YamlObject::kNone) {
      out.refused =
          root->kind == python::YamlObject::kDict
              ? conversion.convert(*root)
              : refusal("ValueError", kParse, fmt::format("--config: {} holds no options at its top level", path));
    }
  } catch (const python::YamlFault& fault) {
    out.refused = unreadable(path, fault);
  }
  if (out.refused) return out;  // of its words none is taken
  out.words = std::move(conversion.words);
  out.where = std::move(conversion.where);
  return out;
}

// A launch's file is asked for by its parser, its model and what is hidden of it, and by each try of a search; the
// launches of a folder may share one.
std::shared_ptr<const ConfigWords> config_words(Release release, const std::string& path, const ConfigText* given) {
  const auto read = [&] { return std::make_shared<const ConfigWords>(read_config(release, path, given)); };
  const auto state = given != nullptr ? std::nullopt : settled_state(path);
  if (!state) return read();
  thread_local std::map<std::tuple<FileState, Release, std::string>, std::shared_ptr<const ConfigWords>> kept;
  thread_local std::size_t words = 0;  // of all that are kept
  const std::tuple key(*state, release, path);
  if (const auto it = kept.find(key); it != kept.end()) return it->second;
  auto made = read();
  words += made->words.size() + 1;
  if (words > limits::kConfigWordsKept) {
    kept.clear();
    words = made->words.size() + 1;
  }
  return kept.emplace(key, std::move(made)).first->second;
}

}  // namespace

std::size_t config_length(Release release, const std::vector<std::string>& words) {
  const auto option = std::find(words.begin(), words.end(), "--config");
  if (option == words.end() || option + 1 == words.end() || refused_path(*(option + 1))) return 0;
  const auto file = config_words(release, *(option + 1), nullptr);
  std::size_t length = 0;
  for (const std::string& word : file->words) length += 1 + word.size() / limits::kConfigWordBytes;
  return length;
}

std::optional<ParseRefusal> merge_config_file(Release release, CommandLine& line, const ConfigText* at_hand) {
  const auto first = std::find(line.words.begin(), line.words.end(), "--config");
  if (first == line.words.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(first - line.words.begin());
  constexpr std::string_view kExtract = "_extract_config_file_path";
  if (const auto second = std::find(first + 1, line.words.end(), "--config"); second != line.words.end()) {
    return refusal("ValueError", kExtract, "--config may be given once only",
                   line.where[static_cast<std::size_t>(second - line.words.begin())]);
  }
  if (at + 1 == line.words.size()) {
    return refusal("ValueError", kExtract, "--config needs a file", line.where[at]);
  }
  const std::string path = line.words[at + 1];
  if (path.empty()) return std::nullopt;
  const bool is_at_hand = at_hand != nullptr && at_hand->path == path;
  if (auto refused = is_at_hand ? std::nullopt : refused_path(path)) {
    refused->where = line.where[at + 1];
    return refused;
  }
  const auto config = config_words(release, path, is_at_hand ? at_hand : nullptr);
  if (auto refused = config->refused) {
    if (refused->where.file.empty()) refused->where = line.where[at + 1];  // about the file as a whole
    return refused;
  }
  std::vector<std::string> words = config->words;
  std::vector<SourceRange> where = config->where;
  const auto splice = [&](auto& from, auto& into) {
    into.insert(into.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.begin() + static_cast<std::ptrdiff_t>(at)));
    into.insert(into.end(), std::make_move_iterator(from.begin() + static_cast<std::ptrdiff_t>(at + 2)),
                std::make_move_iterator(from.end()));
    from = std::move(into);
  };
  line.from_config = words.size();
  splice(line.words, words);
  splice(line.where, where);
  return std::nullopt;
}

}  // namespace preflight::args
