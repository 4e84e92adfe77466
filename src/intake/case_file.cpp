// Tested by tests/case_file_test.cpp and by parity with recorded outcomes (tests/parity).
#include "src/intake/case_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ext/stdio_filebuf.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/args/config_file.h"
#include "src/base/files_read.h"
#include "src/base/ascii_case.h"
#include "src/base/edit_distance.h"
#include "src/base/limits.h"
#include "src/base/read_text.h"
#include "src/base/replaced.h"
#include "src/facts/device_profiles.h"
#include "src/intake/secret_text.h"
#include "src/python/json_text.h"

namespace preflight::commands {
namespace {

constexpr std::string_view kConfigName = "{config}";

std::string string_of(const Value& item, std::string_view key) {
  const Value* v = item.find(key);
  return v != nullptr && v->is_string() ? v->as_string() : std::string();
}

using Test = bool (*)(const Value&);
struct Key {
  std::string_view name;
  Test holds;
  std::string_view expected;
};

bool is_text(const Value& v) { return v.is_string(); }

bool is_mib(const Value& v) { return v.is_int() && v.as_int() >= 0 && v.as_int() <= limits::kCardMib; }

// A process is given neither words with a NUL byte nor variables without a name.
bool is_word(const Value& v) { return v.is_string() && v.as_string().find('\0') == std::string::npos; }

bool is_words(const Value& v) {
  return v.is_list() && v.as_list().size() <= limits::kListWords && std::ranges::all_of(v.as_list(), is_word);
}

bool is_variables(const Value& v) {
  return v.is_dict() && v.as_dict().size() <= limits::kVariables &&
         std::ranges::none_of(v.as_dict(), [](const auto& kv) {
           return kv.first.empty() || kv.first.find_first_of(std::string_view("=\0", 2)) != std::string::npos ||
                  kv.second.is_list() || kv.second.is_dict() || (kv.second.is_string() && !is_word(kv.second));
         });
}

constexpr std::array<Key, 6> kKeys{
    {{"id", [](const Value& v) { return v.is_string() || v.is_int(); }, "text"},
     {"args", is_words, "a list of texts, none with a NUL byte, 10,000 at most"},
     {"model", is_text, "text"},
     {"device", [](const Value& v) { return v.is_dict(); }, "an object"},
     {"env", is_variables, "an object of single values by names that a process can be given, 512 at most"},
     {"config", is_text, "text"}}};
constexpr std::array<Key, 5> kDeviceKeys{
    {{"memory_mib", is_mib, "a whole number, 0 to 1,000,000,000"},
     {"count", [](const Value& v) { return v.is_int() && v.as_int() >= 0 && v.as_int() <= limits::kCards; },
      "a whole number, 0 to 4,096"},
     {"name", is_text, "text"},
     {"has_fp64", [](const Value& v) { return v.is_bool(); }, "true or false"},
     {"host_memory_mib", is_mib, "a whole number, 0 to 1,000,000,000"}}};

bool is_key(std::string_view name, std::span<const Key> keys) {
  return std::ranges::find(keys, name, &Key::name) != keys.end();
}

std::string wrong_value(const Value& object, std::span<const Key> keys, std::string_view prefix) {
  for (const Key& key : keys) {
    const Value* v = object.find(key.name);
    const bool absent = v == nullptr || (v->is_none() && key.name != "args");
    if (!absent && !key.holds(*v)) return fmt::format("\"{}{}\": expected {}", prefix, key.name, key.expected);
  }
  return {};
}

// Other keys are the file's own (a theme, a note), but not one that all but names a key which is absent: read as a
// remark, it would leave the case with less than its author gave it.
std::string misspelt_key(const Value& object) {
  constexpr std::size_t kNear = 2;
  for (const auto& [name, value] : object.as_dict()) {
    if (is_key(name, kKeys)) continue;
    for (const Key& key : kKeys) {
      const std::size_t near = std::min(kNear, key.name.size() / 2);
      if (object.find(key.name) == nullptr && edit_distance(ascii_lower(name), key.name, near) <= near)
        return fmt::format("\"{}\": no such key; did you mean \"{}\"?", name, key.name);
    }
  }
  return {};
}

// A key of the wrong type read as absent would be another case, silently; "" when every known key holds what it should.
std::string why_malformed(const Value& item) {
  if (std::string text = misspelt_key(item); !text.empty()) return text;
  if (std::string text = wrong_value(item, kKeys, ""); !text.empty()) return text;
  const Value* args = item.find("args");
  if (args == nullptr) return "\"args\" is missing";
  const Value* config = item.find("config");
  const auto names_config = [](const Value& word) { return word.as_string().find(kConfigName) != std::string::npos; };
  if (config != nullptr && config->is_string() && std::ranges::none_of(args->as_list(), names_config))
    return fmt::format("\"config\" is there, and no word of \"args\" is {}, which stands for it", kConfigName);
  const Value* device = item.find("device");
  if (device == nullptr || device->is_none()) return {};
  for (const auto& [name, value] : device->as_dict()) {  // nobody keeps remarks in there
    if (!is_key(name, kDeviceKeys)) return fmt::format("\"device.{}\": no such key", name);
  }
  return wrong_value(*device, kDeviceKeys, "device.");
}

void keep_left_out(const Value& item, LeftOutKeys& left_out) {
  constexpr std::size_t kMostTold = 10;
  for (const auto& [name, value] : item.as_dict()) {
    if (left_out.size() < kMostTold && !is_key(name, kKeys)) left_out.insert(name);
  }
}

bool names_a_model_directory(const Value& item) {
  const auto names = [](const Value& v) {
    return v.is_string() &&
           (v.as_string().find("{model}") != std::string::npos || v.as_string().find("{models}") != std::string::npos);
  };
  const Value* config = item.find("config");
  return std::ranges::any_of(item.find("args")->as_list(), names) || (config != nullptr && names(*config));
}

DeviceFacts device_of(const Value& item, DeviceFacts device, OwnDevice& own) {
  const Value* d = item.find("device");
  if (d == nullptr || !d->is_dict()) return device;
  if (const Value* v = d->find("name"); v != nullptr && v->is_string()) {
    device.name = v->as_string();
    own.card = true;
    if (const facts::DeviceProfile* card = facts::profile_called(device.name)) {
      device.name = card->device.name;
      device.memory_mib = card->device.memory_mib;
      device.has_fp64 = card->device.has_fp64;
      own.memory = true;
    }
  }
  if (const Value* v = d->find("memory_mib"); v != nullptr && v->is_int()) {
    device.memory_mib = v->as_int();
    own.memory = true;
  }
  if (const Value* v = d->find("count"); v != nullptr && v->is_int()) {
    device.count = static_cast<int>(v->as_int());
    own.count = true;
  }
  if (const Value* v = d->find("has_fp64"); v != nullptr && v->is_bool()) device.has_fp64 = v->as_bool();
  if (const Value* v = d->find("host_memory_mib"); v != nullptr && v->is_int()) {
    device.host_memory_mib = v->as_int();
    own.host = true;
  }
  return device;
}

// The words with those of the --config file in place; as they are when the file is refused.
std::vector<std::string> with_config_words(Release release, const std::vector<std::string>& argv,
                                           const args::ConfigText* config) {
  args::CommandLine expanded{argv, std::vector<SourceRange>(argv.size()), 0};
  if (args::merge_config_file(release, expanded, config)) return argv;
  return std::move(expanded.words);
}

// Whoever writes cases may have put anything into their names.
Value shown(const Value& id) {
  if (!id.is_string()) return id;
  std::string text = id.as_string();
  hide_parts(text);
  return Value(std::move(text));
}

// A case on its way: its words, and the --config file that they name while they are read.
struct OpenCase {
  std::size_t line = 0;  // its number in the file
  ResolvedCase result;
  std::vector<std::string> argv;
  std::optional<args::ConfigText> config;
};

void open_case(const CaseFile& options, const Value& item, const std::shared_ptr<facts::ModelFiles>& models,
               OpenCase& open) {
  ResolvedCase& out = open.result;
  const Value* id = item.find("id");
  out.id = id == nullptr || id->is_none() ? Value(std::string()) : shown(*id);
  out.inputs.models = models;
  out.inputs.unknown_models_stay_open = options.hub;
  out.inputs.unusable_files_are_errors = false;  // a line tells what SGLang does, and the batch goes on
  const std::string& models_dir = options.models;
  std::string model = models_dir + "/" + string_of(item, "model");
  const auto with_paths = [&](const std::string& s) {
    if (s.find('{') == std::string::npos) return s;
    return replaced(replaced(s, "{models}", models_dir), "{model}", model);
  };
  const Value* yaml = item.find("config");
  // Under the name that stands for it: the text is never a file.
  if (yaml != nullptr && yaml->is_string()) open.config = {std::string(kConfigName), with_paths(yaml->as_string())};
  if (const Value* args = item.find("args"); args != nullptr && args->is_list()) {
    open.argv.reserve(args->as_list().size());
    for (const auto& a : args->as_list()) {
      open.argv.push_back(with_paths(a.as_string()));
    }
  }
  out.names.reserve(2);
  if (!models_dir.empty()) {  // without a directory the names stand for nothing
    out.names.emplace_back(std::move(model), "{model}");
    out.names.emplace_back(models_dir, "{models}");
  }
  out.inputs.release = options.release;
  out.inputs.env = options.env;
  if (const Value* e = item.find("env"); e != nullptr && e->is_dict()) {
    for (const auto& [k, v] : e->as_dict()) out.inputs.env[k] = v.is_string() ? v.as_string() : v.repr();
  }
  out.inputs.device = device_of(item, options.device, out.own);
  if (!options.stored_as.empty()) {
    const std::string path = path_given(options.release, open.argv, Field::model_path);
    // A launch without a model, or with one that nobody knows, ends the same in any form.
    if (auto stored = path.empty() ? nullptr : out.inputs.models->with_stored_as(path, options.stored_as)) {
      out.inputs.models = std::move(stored);
    }
  }
}

// The case's launch, once it was resolved.
void close_case(const CaseFile& options, ResolvedWords resolved, OpenCase& open) {
  ResolvedCase& out = open.result;
  const bool has_config = std::find(open.argv.begin(), open.argv.end(), "--config") != open.argv.end();
  const std::vector<std::string>& accepted = resolved.launch.args.argv;  // empty when the parser refused
  if (!has_config) {
    out.inputs.argv = std::move(open.argv);
  } else {
    const args::ConfigText* config = open.config ? &*open.config : nullptr;
    out.inputs.argv = accepted.empty() ? with_config_words(options.release, open.argv, config) : accepted;
  }
  open.config.reset();
  out.unknown_model = std::move(resolved.unknown_model);
  out.launch = std::move(resolved.launch);
}

class CaseReader {
 public:
  CaseReader(const CaseFile& options, std::istream& in, LeftOutKeys* left_out)
      : options_(options),
        in_(in),
        left_out_(left_out),
        models_(std::make_shared<facts::ModelFiles>(options.hub ? facts::KnownModels::kYes : facts::KnownModels::kNo)) {
    open_.reserve(kAbreast);
  }

  std::optional<Error> run(const std::function<void(const ResolvedCase&)>& each, const std::function<void()>& idle) {
    for (bool more = true; more;) {
      if (in_.rdbuf()->in_avail() <= 0) idle();
      more = read_group();
      if (!resolve_group(each)) break;
    }
    if (!why_not_.empty()) return Error{fmt::format("{}:{}: {}", options_.cases, number_, why_not_)};
    // A standard input that is closed, or a directory, has no lines, as one that is empty.
    if (in_.bad()) return Error{fmt::format("cannot read cases from {}", options_.cases)};
    return std::nullopt;
  }

 private:
  // Launches that are resolved together: enough to share what a step costs, few enough to stay in a processor's cache.
  static constexpr std::size_t kAbreast = 32;

  bool stop(std::size_t number, std::string why) {
    number_ = number;
    why_not_ = std::move(why);
    return false;
  }

  // As std::getline, but for a line that never ends.
  bool next_line(std::string& line) {
    line.clear();
    std::array<char, 4096> part{};
    while (line.size() <= limits::kLineBytes) {
      in_.getline(part.data(), part.size());
      const auto taken = static_cast<std::size_t>(in_.gcount());  // with the end of the line
      if (in_.eof() || taken == 0) return !line.append(part.data(), taken).empty();
      if (in_.good()) {
        line.append(part.data(), taken - 1);
        return true;
      }
      line.append(part.data(), taken);
      in_.clear();
    }
    return true;
  }

  // What stands in the file, or came through the pipe so far; false after the last line and after one that is no case.
  bool read_group() {
    std::string line;
    while (open_.size() < kAbreast) {
      if (!open_.empty() && in_.rdbuf()->in_avail() <= 0) return true;  // nobody waits for the next line's answer
      if (!next_line(line)) return false;
      ++lines_;
      if (line.size() > limits::kLineBytes) return stop(lines_, "longer than any case");
      if (lines_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      std::string repeated;
      const auto item = python::json_loads(line, python::JsonReader::kPython, &repeated);
      if (item && !repeated.empty()) return stop(lines_, fmt::format("\"{}\" stands there twice", repeated));
      if (!item || !item->is_dict())
        return stop(lines_, item ? "a case is a JSON object" : Value::parse_json(line).error().message);
      if (std::string wrong = why_malformed(*item); !wrong.empty()) return stop(lines_, std::move(wrong));
      if (options_.models.empty() && names_a_model_directory(*item)) {
        return stop(lines_, "{model} and {models} stand for directories below the one that --models names");
      }
      if (left_out_ != nullptr) keep_left_out(*item, *left_out_);
      OpenCase& open = open_.emplace_back();
      open.line = lines_;
      open_case(options_, *item, models_, open);
    }
    return true;
  }

  bool resolve_group(const std::function<void(const ResolvedCase&)>& each) {
    static const std::vector<SourceRange> kNoPositions;
    std::vector<LaunchWords> words;
    words.reserve(open_.size());
    for (const OpenCase& c : open_)
      words.push_back({c.result.inputs, c.argv, kNoPositions, c.result.inputs.env, c.config ? &*c.config : nullptr});
    auto resolved = resolve_words(words);
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (!resolved[i]) return stop(open_[i].line, resolved[i].error().text());
      close_case(options_, std::move(*resolved[i]), open_[i]);
      each(open_[i].result);
    }
    open_.clear();
    return true;
  }

  const CaseFile& options_;
  std::istream& in_;
  LeftOutKeys* left_out_;
  std::shared_ptr<facts::ModelFiles> models_;
  std::vector<OpenCase> open_;  // kAbreast at most, in memory that one group leaves to the next
  std::size_t lines_ = 0;       // read so far
  std::size_t number_ = 0;      // of the line that ended it
  std::string why_not_;
};

}  // namespace

std::optional<Error> for_each_case(const CaseFile& options, const std::function<void(const ResolvedCase&)>& each,
                                   const std::function<void()>& idle, LeftOutKeys* left_out) {
  std::ifstream file;
  std::error_code ignored;
  if (std::filesystem::is_fifo(options.cases, ignored) && !is_opened_for_us(options.cases)) {
    const int written = open_pipe(options.cases);
    if (written < 0)
      return Error{fmt::format("cannot read cases from {}: a pipe that nobody writes to", options.cases)};
    __gnu_cxx::stdio_filebuf<char> buffer(written, std::ios::in | std::ios::binary);
    std::istream in(&buffer);
    return CaseReader(options, in, left_out).run(each, idle);
  }
  if (options.cases != "-") {
    // A pipe with a name is a way to hand cases over; a device never ends.
    if (std::filesystem::is_character_file(options.cases, ignored) && !is_opened_for_us(options.cases))
      return Error{fmt::format("cannot read cases from {}: a device", options.cases)};
    if (!is_opened_for_us(options.cases) && would_wait(options.cases))
      return Error{fmt::format("cannot read cases from {}", options.cases)};
    remember_read(options.cases);
    file.open(options.cases, std::ios::binary);
    // A directory opens and cannot be read; an empty file holds no cases, as an empty standard input does.
    if (!file || (file.peek() == std::ifstream::traits_type::eof() && file.bad())) {
      return Error{fmt::format("cannot read cases from {}", options.cases)};
    }
  }
  std::istream& in = options.cases == "-" ? std::cin : file;
  return CaseReader(options, in, left_out).run(each, idle);
}

}  // namespace preflight::commands
