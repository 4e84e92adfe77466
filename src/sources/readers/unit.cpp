// systemd units (ExecStart=, Environment=), quadlets (Exec=, Image=) and supervisor's programs. No shell reads these
// lines: variables are filled in word by word. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/base/limits.h"
#include "src/base/number_text.h"
#include "src/sources/container_command.h"
#include "src/sources/container_host.h"
#include "src/sources/file_steps.h"
#include "src/sources/memory_amount.h"
#include "src/sources/readers/misspelt_keys.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/variable_file.h"

namespace preflight::sources {
namespace {

// A line with those that it is continued on; `next` is where the following one begins. `broken`: where a blank stands
// behind the backslash at its end, which continues nothing then.
ShellText whole_line(std::string_view text, std::size_t from, std::size_t& next, std::optional<std::size_t>& broken) {
  ShellText out;
  for (;;) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::size_t whole = end;
    while (whole > from && text[whole - 1] == '\r') --whole;
    std::size_t last = whole;
    while (last > from && (text[last - 1] == ' ' || text[last - 1] == '\t')) --last;
    std::size_t slashes = 0;
    while (last > from + slashes && text[last - 1 - slashes] == '\\') ++slashes;
    const auto first = text.find_first_not_of(" \t", from);
    const bool comment = !out.text.empty() && first < end && (text[first] == '#' || text[first] == ';');
    const bool asks = slashes % 2 == 1;  // two of them are one that continues nothing
    const bool continued = asks && last == whole;
    if (asks && !continued && !comment) broken = last - 1;
    if (!comment) append(out, piece(text, from, continued ? last - 1 : last));
    next = end + 1;
    if ((!continued && !comment) || end == text.size()) return out;
    if (!comment) append(out, {" ", {last - 1}, {}});
    from = next;
  }
}

// %i and its kin are filled in by systemd, %(NAME)s by supervisor.
ShellText without_specifiers(const ShellText& text, const Variables& given, std::string_view who = "systemd",
                             const std::string& here = {}) {
  ShellText out;
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    if (text.text[i] != '%' || i + 1 >= text.text.size()) {
      append(out, slice(text, i, i + 1));
    } else if (text.text[i + 1] == '%') {
      append(out, slice(text, i, i + 1));
      ++i;
    } else {
      const bool named = text.text[i + 1] == '(';
      const std::size_t close = named ? std::min(text.text.find(')', i), text.text.size() - 1) : i + 1;
      // %(NAME)s, %(process_num)02d
      const auto kind = std::min(text.text.find_first_not_of("0123456789", close + 1), text.text.size() - 1);
      const std::size_t last = named && (text.text[kind] == 's' || text.text[kind] == 'd') ? kind : close;
      const std::string specifier = text.text.substr(i, last + 1 - i);
      const auto value = given.find(specifier);
      const bool of_place = specifier == "%(here)s" && value == given.end() && !here.empty();
      if (of_place) {
        ShellText folder{here, std::vector(here.size(), text.origin[i]), {}};
        folder.defaults = taken_default(specifier, here, text.origin[i], TakenWhy::kPlace);
        append(out, folder);
        i = last;
        continue;
      }
      append(out, value != given.end() ? ShellText{value->second, std::vector(value->second.size(), text.origin[i]), {}}
                                       : unknown_text(fmt::format("{} is filled in by {}; give it with {}", specifier,
                                                                  who, how_to_set(specifier)),
                                                      text.origin[i]));
      i = last;
    }
  }
  return out;
}

// What stands behind a backslash at `i`, and where it ends; nullopt: systemd keeps the backslash.
std::optional<std::pair<std::string, std::size_t>> unescaped(std::string_view text, std::size_t i) {
  constexpr std::string_view kFrom = "abfnrtvs\\\"'";
  constexpr std::string_view kTo = "\a\b\f\n\r\t\v \\\"'";
  if (i + 1 >= text.size()) return std::nullopt;
  if (const auto which = kFrom.find(text[i + 1]); which != std::string_view::npos)
    return std::pair{std::string(1, kTo[which]), i + 2};
  const bool hexadecimal = text[i + 1] == 'x';
  const std::string_view digits = hexadecimal ? text.substr(i + 2, 2) : text.substr(i + 1, 3);
  const unsigned value = number_in<unsigned>(digits, hexadecimal ? 16 : 8).value_or(0);
  if (digits.size() != (hexadecimal ? 2U : 3U) || value == 0 || value > 0x7fU) return std::nullopt;
  return std::pair{std::string(1, static_cast<char>(value)), i + 4};
}

// Words as systemd takes a line apart: quotes where a word begins, C's escapes, everywhere.
std::vector<ShellWord> unit_words(const ShellText& line) {
  std::vector<ShellWord> out;
  ShellWord now;
  bool open = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.text.size();) {
    const char c = line.text[i];
    const std::size_t at = line.origin[i];
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (open) out.push_back(std::exchange(now, {}));
      open = false;
      ++i;
      continue;
    }
    if (!open) now.begin = at;
    open = true;
    const auto escape = c == '\\' ? unescaped(line.text, i) : std::nullopt;
    if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
      quote = quote == '\0' ? c : '\0';
      ++i;
    } else if (escape) {
      append(now, {escape->first, {at}, {}});
      i = escape->second;
    } else {
      append(now, slice(line, i, i + 1));
      ++i;
    }
    now.end = line.origin[i - 1] + 1;
  }
  if (open) out.push_back(std::move(now));
  return out;
}

// $NAME is filled in as a word of its own, ${NAME} anywhere: what else begins with a dollar is a dollar.
ShellWord with_plain_dollars(const ShellWord& word) {
  ShellWord out = word;
  static_cast<ShellText&>(out) = {};
  for (std::size_t i = 0; i < word.text.size(); ++i) {
    const char next = i + 1 < word.text.size() ? word.text[i + 1] : '\0';
    append(out, slice(word, i, i + 1));
    if (word.text[i] != '$' || next == '{') continue;
    append(out, slice(word, i, i + 1));  // doubled
    if (next == '$') ++i;
  }
  return out;
}

// K="V",K2='V 2': what supervisor puts into a program's environment.
void supervised_environment(const ShellText& value, Values& env) {
  ShellText plain = value;
  char quote = '\0';
  for (char& c : plain.text) {
    if (quote == '\0' && c == ',')
      c = ' ';
    else if (c == quote)
      quote = '\0';
    else if (quote == '\0' && (c == '"' || c == '\''))
      quote = c;
  }
  for (const ShellWord& word : plain_words(plain)) assign(word, env);
}

// A file as Python's configparser reads it for supervisor: a key in small letters behind '=' or ':', a value that goes
// on in lines which are indented deeper, comments from a '#' or a ';' on that begins a line or stands behind a blank.
// What stands twice counts as it stands last.
class IniFile {
 public:
  struct Section {
    std::string name;
    std::map<std::string, ShellText> values = {};
  };

  IniFile(std::string_view text, LaunchFinder& finder) : text_(text), finder_(finder) {
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      line(from, end);
      from = end + 1;
    }
  }
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }

 private:
  [[nodiscard]] static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  void line(std::size_t from, std::size_t end) {
    const std::size_t first = std::min(text_.find_first_not_of(" \t\r", from), end);
    std::size_t last = end;
    for (std::size_t i = first; i < end && last == end; ++i) {
      const bool begins = i == from || i == first || is_blank(text_[i - 1]);
      if ((text_[i] == '#' || text_[i] == ';') && begins) last = i;
    }
    finder_.account(piece(text_, last, end));
    while (last > first && is_blank(text_[last - 1])) --last;
    if (first >= last) return;
    const std::size_t indent = first - from;
    if (value_ != nullptr && indent > indent_) return go_on(first, last);
    indent_ = indent;
    setting(first, last);
  }

  void go_on(std::size_t first, std::size_t last) {
    append(*value_, {"\n", {first}, {}});
    append(*value_, piece(text_, first, last));
  }

  void setting(std::size_t first, std::size_t last) {
    const std::string_view line = text_.substr(first, last - first);
    value_ = nullptr;
    if (const auto close = line.find(']'); line.starts_with('[') && close != line.npos)
      return begin(std::string(line.substr(1, close - 1)));
    const auto sign = line.find_first_of("=:");
    if (sign == line.npos || sign == 0 || sections_.empty()) return;
    std::size_t behind = sign;
    while (behind > 0 && is_blank(line[behind - 1])) --behind;
    const std::size_t begins = std::min(text_.find_first_not_of(" \t\r", first + sign + 1), last);
    value_ = &sections_[now_].values[ascii_lower(line.substr(0, behind))];
    *value_ = piece(text_, begins, last);
  }

  void begin(std::string name) {
    const auto [known, is_new] = by_name_.try_emplace(name, sections_.size());
    now_ = known->second;
    if (is_new) sections_.push_back({std::move(name)});
  }

  std::string_view text_;
  LaunchFinder& finder_;
  std::vector<Section> sections_ = {};
  std::map<std::string, std::size_t> by_name_ = {};
  std::size_t now_ = 0;         // among them
  ShellText* value_ = nullptr;  // that the next line may go on with
  std::size_t indent_ = 0;
};

// How many processes a program has, each with a number of its own; 0: not known, or more than are read one by one.
int processes_of(const IniFile::Section& program, int& first) {
  constexpr int kMost = 64;
  int count = 1;
  for (const auto& [key, into] : {std::pair{"numprocs", &count}, std::pair{"numprocs_start", &first}}) {
    const auto value = program.values.find(key);
    if (value == program.values.end()) continue;
    const auto number = number_in<int>(value->second.text);
    if (!number) return 0;
    *into = *number;
  }
  return count <= kMost ? count : 0;
}

// [program:NAME] of supervisor: no shell, and %(NAME)s is filled in by it.
void run_supervised(const IniFile::Section& program, const std::string& name, const Values& all,
                    const SourceText& source, LaunchFinder& finder) {
  const auto command = program.values.find("command");
  if (command == program.values.end()) return;
  const bool numbered = command->second.text.find("%(process_num)") != std::string::npos;
  int first = 0;
  const int processes = processes_of(program, first);
  const std::string here = std::filesystem::path(place_of_file(source.name)).parent_path().string();
  for (int i = 0; i < (numbered ? std::max(processes, 1) : 1); ++i) {
    Variables given = source.given;
    given.try_emplace("%(program_name)s", name);
    if (processes > 0) given.try_emplace("%(process_num)d", std::to_string(first + i));
    if (processes > 0) given.try_emplace("%(process_num)02d", fmt::format("{:02}", first + i));
    if (processes > 0) given.try_emplace("%(numprocs)d", std::to_string(processes));
    RunContext context;
    context.name = name;
    if (numbered && processes > 1) context.when.add(as({{fmt::format("process {}", first + i)}}));
    if (const auto own = program.values.find("environment"); own != program.values.end())
      supervised_environment(without_specifiers(own->second, given, "supervisor", here), context.env);
    context.env.insert(all.begin(), all.end());
    finder.words(plain_words(without_specifiers(command->second, given, "supervisor", here)), context);
  }
}

void read_supervised(const SourceText& source, LaunchFinder& finder) {
  const IniFile file(source.text, finder);
  Values all;  // of [supervisord], for every program
  for (const IniFile::Section& section : file.sections()) {
    const auto own = section.values.find("environment");
    if (section.name == "supervisord" && own != section.values.end())
      supervised_environment(without_specifiers(own->second, source.given, "supervisor"), all);
  }
  for (const IniFile::Section& section : file.sections()) {
    const auto colon = section.name.find(':');
    const std::string kind = section.name.substr(0, colon);
    if (colon == std::string::npos || (kind != "program" && kind != "fcgi-program" && kind != "eventlistener"))
      continue;
    run_supervised(section, section.name.substr(colon + 1), all, source, finder);
  }
  for (const IniFile::Section& section : file.sections()) {
    const auto files = section.values.find("files");
    if (section.name != "include" || files == section.values.end() || finder.found_any()) continue;
    finder.note({"SH004", fmt::format("supervisor reads the programs of {}: give those files", files->second.text),
                 files->second.origin.empty() ? 0 : files->second.origin.front()});
  }
}

// Entrypoint=PROGRAM, or a list of words as JSON, in front of those of Exec=.
std::vector<ShellWord> behind_entrypoint(const ShellText& entrypoint, std::vector<ShellWord> words) {
  std::vector<ShellWord> out = {{entrypoint, entrypoint.origin.front(), entrypoint.origin.back() + 1}};
  if (auto list = json_words(entrypoint.text, 0, entrypoint.text.size()); list && !list->empty()) {
    out = std::move(*list);
    for (ShellWord& word : out) {
      word.origin.assign(word.text.size(), entrypoint.origin.front());
      word.begin = entrypoint.origin.front();
      word.end = entrypoint.origin.back() + 1;
    }
  }
  out.insert(out.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
  return out;
}

// One command of an ExecStart, with its prefixes.
Result<bool> run_command(std::vector<ShellWord> command, bool container, const Values& variables,
                         const SourceText& source, RunContext context, LaunchFinder& finder) {
  if (command.empty()) return true;
  bool fills = true;
  std::size_t skip = 0;
  const std::string first = command.front().text;
  const std::string_view prefixes = container ? "" : "@-:+!|";
  for (; skip < first.size() && prefixes.find(first[skip]) != std::string_view::npos; ++skip)
    fills = fills && first[skip] != ':';
  const bool renamed = first.substr(0, skip).find('@') != std::string::npos;  // the second word is what it calls itself
  static_cast<ShellText&>(command.front()) = tail(command.front(), skip);
  if (renamed && command.size() > 1) command.erase(command.begin() + 1);
  std::vector<ShellWord> words;
  for (const ShellWord& word : command) {
    const bool splits = word.text.starts_with('$') && word.text.find_first_of("{$", 1) == std::string::npos;
    if (!fills) {
      words.push_back(word);
      continue;
    }
    auto filled = interpolate(splits ? word : with_plain_dollars(word), Interpolation::kCompose, source.text,
                              source.given, variables);
    if (!filled) return tl::make_unexpected(filled.error());
    if (!splits) {
      words.push_back(std::move(*filled));
    } else {
      for (ShellWord& one : plain_words(*filled)) words.push_back(std::move(one));
    }
  }
  const bool by_image = !words.empty() && container && words.front().text.starts_with("--");
  if (by_image && may_be_for_server(words, 0, context.image)) {
    context.unknown.push_back(
        {"the image's own entry point takes these words, and nobody knows here what it is", words.front().begin, {}});
    finder.arguments(words, context);
  } else {
    finder.words(words, context);
  }
  return true;
}

}  // namespace

namespace {

// A boolean of systemd.
bool is_yes(std::string_view text) {
  const std::string word = ascii_lower(text);
  return word == "1" || word == "yes" || word == "y" || word == "true" || word == "t" || word == "on";
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  return a.lexically_normal() == b.lexically_normal();
}

// What a unit's file and its drop-ins (NAME.service.d/*.conf) say, one after another.
class UnitReader {
 public:
  UnitReader(const SourceText& source, LaunchFinder& finder) : source_(source), finder_(finder) {}

  RunContext context = {};
  Values service_env = {};  // of [Service]: what systemd fills in; a quadlet's container has variables of its own
  Values files_env = {};    // of a container's EnvironmentFile=: its Environment= wins
  struct Start {
    ShellText text;
    bool here;  // in the file that is read
  };
  std::vector<Start> starts = {};
  std::vector<Start> replaced = {};
  bool container = false;                          // a quadlet
  bool oneshot = false;                            // Type=: it may start several commands, one after another
  std::optional<ShellText> entrypoint = {};        // of its container
  std::vector<ShellWord> podman_options = {};      // PodmanArgs=, at the end of those of its `podman run`
  std::optional<std::size_t> host_variables = {};  // where EnvironmentHost= asks for them
  std::vector<std::string> unset = {};             // NAME, or NAME=VALUE where it has that value
  ShellText overrides = {};                        // a file of variables, which wins over Environment=
  std::optional<std::size_t> too_long = {};        // where a line begins that is longer than any argument
  std::vector<ShellNote> misspelt = {};            // keys of this file

  // `elsewhere`: of another file; what it says is told at the beginning of this one.
  void take(std::string_view text, bool elsewhere) {
    for (std::size_t from = 0; from < text.size();) {
      std::size_t next = 0;
      std::optional<std::size_t> broken;
      ShellText line = whole_line(text, from, next, broken);
      if (broken && !elsewhere) tell_broken(line, *broken);
      from = next;
      if (elsewhere) std::fill(line.origin.begin(), line.origin.end(), std::size_t{0});
      if (line.text.size() > limits::kArgumentBytes) {
        if (!too_long) too_long = line.origin.front();
        continue;
      }
      setting(line, !elsewhere);
    }
  }

 private:
  // Releases of systemd end the line there, and pass over what stands below.
  void tell_broken(const ShellText& line, std::size_t at) {
    const bool matters = line.text.starts_with("Exec") || line.text.starts_with("Environment");
    if (matters)
      context.unknown.push_back(
          {"a blank stands behind this backslash: systemd ends the line here, and passes over the "
           "next one; take the blank away",
           at,
           {}});
  }

  void setting(const ShellText& line, bool here) {
    if (line.text.starts_with('[')) {
      in_container_ = line.text.starts_with("[Container]");
      in_service_ = line.text.starts_with("[Service]");
    }
    container = container || in_container_;
    const auto equals = line.text.find('=');
    if (here && (line.text.starts_with('#') || line.text.starts_with(';'))) finder_.account(line);
    if (equals == std::string::npos || equals == 0 || line.text[0] == '#' || line.text[0] == ';') return;
    const std::string key = line.text.substr(0, line.text.find_last_not_of(" \t", equals - 1) + 1);
    if (here) find_misspelt(key, line.origin.front());
    const ShellText value = without_specifiers(tail(line, equals + 1), source_.given);
    Values& env = in_container_ ? context.env : service_env;
    if (key == "Environment") {
      const std::vector<ShellWord> settings = unit_words(value);
      if (settings.empty()) env.clear();
      for (const ShellWord& word : settings) assign(word, env);
    } else if (key == "MemoryMax") {
      const auto bytes =
          value.unknowns.empty()
              ? bytes_of_docker(value.text.substr(std::min(value.text.find_first_not_of(' '), value.text.size())))
              : std::nullopt;
      context.host.memory = bytes ? std::optional(facts::MemoryLimit{*bytes, key}) : std::nullopt;
    } else if (key == "UnsetEnvironment") {
      for (const ShellWord& word : unit_words(value)) unset.push_back(word.text);
    } else if (key == "EnvironmentFile") {
      variable_file(value, tail(line, equals + 1), line.origin.front(), here);
    } else if (key == "ExecStart" || (in_container_ && key == "Exec")) {
      if (value.text.find_first_not_of(" \t") == std::string::npos || (in_container_ && key == "Exec")) {
        for (Start& start : starts) replaced.push_back(std::move(start));
        starts.clear();
      }
      if (value.text.find_first_not_of(" \t") != std::string::npos) starts.push_back({value, here});
    } else if (in_container_ && key == "Entrypoint") {
      entrypoint = value.text.empty() ? std::nullopt : std::optional(value);
    } else if (in_container_ && key == "PodmanArgs") {
      std::vector<ShellWord> options = unit_words(value);
      if (options.empty()) podman_options.clear();
      podman_options.insert(podman_options.end(), options.begin(), options.end());
    } else if (in_container_ && key == "EnvironmentHost") {
      host_variables = is_yes(value.text) ? std::optional(line.origin.front()) : std::nullopt;
    } else if (in_service_ && key == "Type") {
      oneshot = value.text == "oneshot";
    } else if (key == "Image") {
      context.image = value.text;
    } else if (key == "Description") {
      const ShellText written = tail(line, equals + 1);
      context.name = written.text;
    }
  }

  // systemd and quadlet go on without a key that they do not know.
  void find_misspelt(const std::string& key, std::size_t at) {
    using Names = std::string_view;
    constexpr std::array kServiceRead = {Names("Environment"), Names("EnvironmentFile"), Names("ExecStart"),
                                         Names("UnsetEnvironment")};
    constexpr std::array kContainerRead = {Names("Entrypoint"),     Names("Environment"), Names("EnvironmentFile"),
                                           Names("Exec"),           Names("Image"),       Names("PodmanArgs"),
                                           Names("EnvironmentHost")};
    if ((!in_service_ && !in_container_) || misspelt.size() >= kMostMisspelt) return;
    const PartKeys keys = in_service_ ? PartKeys{"[Service]", kServiceRead} : PartKeys{"[Container]", kContainerRead};
    const std::string_view meant = meant_key(key, keys);
    if (!meant.empty()) misspelt.push_back({"SH007", misspelt_key(key, keys.what, meant), at});
  }

  // A quadlet's may stand beside it; a unit's has a path of the machine it runs on.
  void variable_file(const ShellText& value, const ShellText& written, std::size_t first, bool here) {
    std::string path = value.text;
    if (path.starts_with('-')) path.erase(0, 1);
    const auto text = in_container_ && here && !path.starts_with('/') ? file_beside(source_.name, path) : std::nullopt;
    if (text) {
      for (auto& [name, one] : raw_variables_of(*text, first)) files_env.insert_or_assign(name, one);
      return;
    }
    if (!in_container_) overrides = written;
    finder_.note(
        {"SH002", fmt::format("EnvironmentFile {} is not read: what it sets is not known", written.text), first});
  }

  const SourceText& source_;
  LaunchFinder& finder_;
  bool in_container_ = false;  // the section at hand
  bool in_service_ = false;
};

namespace fs = std::filesystem;

// Folders of drop-ins of a unit, those that win last: of all services, of the template that it is an instance of, of
// the beginnings of its name that end with a dash, and of its own.
std::vector<fs::path> drop_in_folders(const fs::path& unit) {
  const std::string kind = unit.extension().string();
  const std::string stem = unit.stem().string();
  std::vector<std::string> names = {kind.substr(1)};
  for (auto dash = stem.find('-'); dash != std::string::npos; dash = stem.find('-', dash + 1)) {
    if (dash > 0 && dash + 1 < stem.size()) names.push_back(stem.substr(0, dash + 1) + kind);
  }
  const auto at = stem.find('@');
  if (at != std::string::npos && at + 1 < stem.size()) names.push_back(stem.substr(0, at + 1) + kind);
  names.push_back(stem + kind);
  std::vector<fs::path> out;
  for (const std::string& name : names) out.push_back(unit.parent_path() / (name + ".d"));
  return out;
}

// The unit's own file, then its drop-ins in the order in which systemd applies them: names, then texts. What is read
// is one of them. Folders may hold the drop-ins of many units: each takes steps to go through them.
Result<std::vector<std::pair<std::string, std::string>>> unit_files(std::string_view name) {
  constexpr std::size_t kStepsOfAnEntry = 10;
  std::vector<std::pair<std::string, std::string>> out;
  const fs::path file(name);
  std::error_code error;
  const bool drop_in = file.extension() == ".conf" && file.parent_path().extension() == ".d";
  const fs::path unit = drop_in ? file.parent_path().parent_path() / file.parent_path().stem() : file;
  if (name.empty() || unit.extension().empty()) return out;
  std::map<std::string, fs::path> parts;  // by their names, whatever folder they stand in
  for (const fs::path& folder : drop_in_folders(unit)) {
    for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
      if (!FileSteps::take(kStepsOfAnEntry)) return failure(FileSteps::kNoMore);
      if (it->path().extension() == ".conf") parts[it->path().filename().string()] = it->path();
      if (parts.size() > limits::kDropIns)
        return failure(
            fmt::format("more than {} drop-ins of this unit: give what systemctl cat prints", limits::kDropIns));
    }
  }
  if (auto text = file_beside(unit.string(), unit.filename().string())) out.emplace_back(unit.string(), *text);
  for (const auto& [part, place] : parts) {
    if (auto text = file_beside(place.string(), part)) out.emplace_back(place.string(), *text);
  }
  return out;
}

// What a file says by its own name, `PREFIX@INSTANCE.service`: what %n, %N, %p and %i stand for in it.
Variables with_instance(std::string_view name, Variables given) {
  const std::string stem = fs::path(name).stem().string();
  const auto at = stem.find('@');
  const std::string kind = fs::path(name).extension().string();
  const bool of_unit = kind == ".service" || kind == ".container";  // from which a service of that name is made
  if (of_unit) given.try_emplace("%p", stem.substr(0, at));
  if (of_unit && at + 1 != stem.size()) {
    given.try_emplace("%n", stem + ".service");
    given.try_emplace("%N", stem);
  }
  if (at == std::string::npos || at + 1 >= stem.size()) return given;
  given.try_emplace("%i", stem.substr(at + 1));
  if (stem.find_first_of("-\\", at) == std::string::npos) given.try_emplace("%I", stem.substr(at + 1));
  return given;
}

// Starts of the file that is read; one that another file takes away is told.
std::vector<ShellText> own_starts(UnitReader& unit, LaunchFinder& finder) {
  std::vector<ShellText> out;
  for (const UnitReader::Start& start : unit.starts) {
    if (start.here) out.push_back(start.text);
  }
  for (const UnitReader::Start& start : unit.replaced) {
    if (!start.here || start.text.text.find("sglang") == std::string::npos) continue;
    finder.account(start.text);
    const bool elsewhere =
        std::any_of(unit.starts.begin(), unit.starts.end(), [](const auto& one) { return !one.here; });
    if (elsewhere)
      finder.note(
          {"SH002", "a drop-in of this unit starts another command in place of this one", start.text.origin.front()});
  }
  return out;
}

// What a quadlet's own keys say of its container is overridden by the options that stand behind them.
void take_podman_options(UnitReader& unit, const Variables& given, LaunchFinder& finder) {
  if (unit.host_variables)
    finder.note(
        {"SH002", "EnvironmentHost hands over the host's variables, which are not known", *unit.host_variables});
  if (unit.podman_options.empty()) return;
  const std::size_t first = unit.podman_options.front().begin;
  std::vector<ShellWord> words = {{{"podman", {}, {}}, first, first}, {{"run", {}, {}}, first, first}};
  words.insert(words.end(), unit.podman_options.begin(), unit.podman_options.end());
  words.push_back({{"image", {}, {}}, first, first});
  const std::size_t image = words.size() - 1;
  container_environment(words, 0, image, {}, given, unit.context.env);
  for (const ShellNote& note : unread_files(words, image)) finder.note(note);
  if (auto limit = host_of_run(words, 0, image, {}).memory) unit.context.host.memory = std::move(limit);
  if (auto run = container_run(words, 0); run && run->entrypoint) unit.entrypoint = std::move(run->entrypoint);
}

// The commands of a line, which a ';' by itself parts; "\\;" is one word.
std::vector<std::vector<ShellWord>> commands_of(const UnitReader& unit, const ShellText& start) {
  std::vector<std::vector<ShellWord>> out(1);
  std::vector<ShellWord> words = unit_words(start);
  if (unit.entrypoint) words = behind_entrypoint(*unit.entrypoint, std::move(words));
  for (ShellWord& word : words) {
    if (word.text == ";" && word.end <= word.begin + 1)
      out.emplace_back();
    else
      out.back().push_back(std::move(word));
  }
  std::erase_if(out, [](const auto& command) { return command.empty(); });
  return out;
}

// systemd refuses a service with several commands, but where they run one after another.
void ask_for_one_command(UnitReader& unit) {
  std::size_t count = 0;
  for (const UnitReader::Start& start : unit.starts) count += commands_of(unit, start.text).size();
  if (unit.container || unit.oneshot || count < 2) return;
  unit.context.unknown.push_back(
      {"systemd refuses this unit: more than one command of ExecStart= is for Type=oneshot "
       "alone (an empty ExecStart= takes back those before it)",
       unit.starts.back().text.origin.front(),
       {}});
}

// The commands of what the unit starts.
Result<bool> run_starts(const UnitReader& unit, const std::vector<ShellText>& starts, const SourceText& source,
                        LaunchFinder& finder) {
  for (const ShellText& start : starts) {
    for (std::vector<ShellWord>& command : commands_of(unit, start)) {
      if (finder.error()) return tl::make_unexpected(*finder.error());
      auto done = run_command(std::move(command), unit.container, unit.service_env, source, unit.context, finder);
      if (!done) return done;
    }
  }
  return true;
}

// Yaml= of a quadlet that hands objects of Kubernetes to podman.
std::string objects_of(std::string_view text) {
  constexpr std::string_view kKey = "\nYaml=";
  const auto section = text.find("[Kube]");
  const auto key = section == text.npos ? text.npos : text.find(kKey, section);
  if (key == text.npos) return {};
  const std::string_view value = text.substr(key + kKey.size());
  return std::string(value.substr(0, value.find_first_of("\r\n")));
}

// What the variables are in the end: of a file that is not read, taken back, or those of a container.
void settle_variables(UnitReader& unit, const SourceText& source, LaunchFinder& finder) {
  const ShellText& overrides = unit.overrides;
  if (!overrides.text.empty()) {
    for (auto& [name, value] : unit.service_env) {
      value = unknown_text(
          fmt::format("{} may be set by EnvironmentFile {}; give it with {}", name, overrides.text, how_to_set(name)),
          overrides.origin.front());
    }
  }
  for (const std::string& name : unit.unset) {
    const auto found = unit.service_env.find(name.substr(0, name.find('=')));
    if (found == unit.service_env.end()) continue;
    if (found->first == name || name == found->first + "=" + found->second.text) unit.service_env.erase(found);
  }
  if (unit.container) {
    unit.context.env.insert(unit.files_env.begin(), unit.files_env.end());
    take_podman_options(unit, source.given, finder);
  } else {
    unit.context.env = unit.service_env;
  }
}

}  // namespace

Result<bool> read_unit(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  if (is_of_supervisor(text)) {
    read_supervised(source, finder);
    return true;
  }
  if (const std::string objects = objects_of(text); !objects.empty())
    return failure(fmt::format("this unit runs the objects of {}: give that file", objects));
  const Variables given = with_instance(source.name, source.given);
  const SourceText named{source.text, given, source.name};
  UnitReader unit(named, finder);
  const auto found = unit_files(source.name);
  if (!found) return tl::make_unexpected(found.error());
  const auto& files = *found;
  const bool alone =
      std::none_of(files.begin(), files.end(), [&](const auto& one) { return same_file(one.first, source.name); });
  if (alone) unit.take(text, false);
  for (const auto& [name, other] : files) {
    const bool here = same_file(name, source.name);
    unit.take(here ? text : std::string_view(other), !here);
  }
  if (unit.too_long)
    return failure("a line of more than 128 KiB", fmt::format("{}:1", finder.place(*unit.too_long).line));
  settle_variables(unit, source, finder);
  const auto is_part = [](std::string_view name) { return name.ends_with(".conf"); };
  if (!is_part(source.name) || std::ranges::any_of(files, [&](const auto& one) { return !is_part(one.first); }))
    ask_for_one_command(unit);
  auto done = run_starts(unit, own_starts(unit, finder), named, finder);
  for (const ShellNote& note : unit.misspelt) finder.tell(note, 0, text.size());
  return done;
}

}  // namespace preflight::sources
