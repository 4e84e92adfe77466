// Where things stand: the folder that a shell is in, the script's own folder, and the files beside it. How a script is
// started is not known, so $0 and $(dirname "$0") are no known texts; but they name one file and one folder, however
// they are written. Tested by tests/shell_test.cpp and, with bash as the judge, by tests/traps_test.cpp.
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/base/glob_files.h"
#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/programs.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/script_word.h"

namespace preflight::sources {
namespace {

namespace fs = std::filesystem;

// As a shell does it: by its text alone, links not followed.
std::string normal(const fs::path& path) {
  std::string out = path.lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

std::string real(const std::string& path) {
  std::error_code error;
  const fs::path out = fs::weakly_canonical(path, error);
  return error ? std::string() : normal(out);
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The only word behind the options of a command; none where there are several, or an option that is not followed.
const ShellWord* operand(const std::vector<ShellWord>& words, std::string_view letters) {
  const ShellWord* out = nullptr;
  bool options = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (options && w == "--") {
      options = false;
    } else if (options && w.size() > 1 && w[0] == '-') {
      if (w.find_first_not_of(letters, 1) != std::string::npos) return nullptr;
    } else if (out != nullptr) {
      return nullptr;
    } else {
      out = &words[i];
    }
  }
  return out;
}

bool ends_path(char c) { return std::string_view("/ \t\n\"':,;)&|").find(c) != std::string_view::npos; }
bool begins_path(char c) { return std::string_view(" \t\n\"'=:,;(@").find(c) != std::string_view::npos; }

// A pattern with a backslash before every sign that is itself: how many bytes of the word stand for the folder in front
// of its first sign, what is behind, and the last name of it.
struct WrittenPattern {
  std::size_t folder = 0;
  std::string rest = {};
  std::string last = {};
};
WrittenPattern written_pattern(const std::string& pattern) {
  WrittenPattern out;
  std::size_t rest = 0;
  std::size_t size = 0;  // of the word up to here
  for (std::size_t i = 0; i < pattern.size(); ++i, ++size) {
    if (pattern[i] == '\\') {
      if (pattern[++i] != '/') continue;
    } else if (std::string_view("*?[").find(pattern[i]) != std::string_view::npos) {
      break;
    }
    if (pattern[i] != '/') continue;
    out.folder = size + 1;
    rest = i + 1;
  }
  out.rest = pattern.substr(rest);
  out.last = out.rest.substr(out.rest.rfind('/') + 1);
  return out;
}

// In the order of their bytes, as seen from the folder.
std::vector<std::string> matching_files(const std::string& folder, const std::string& pattern, std::size_t& left) {
  std::string whole;
  for (const char c : folder) whole += {'\\', c};
  std::vector<std::string> out = glob_files(whole + "/" + pattern, left);
  for (std::string& file : out) file.erase(0, folder.size() + 1);
  std::ranges::sort(out);
  return out;
}

// All of `text` is one thing of which the place is known.
const Unknown* whole_place(const ShellText& text, Unknown::Place place) {
  const bool whole = text.text.size() == 1 && text.unknowns.size() == 1;
  return whole && text.unknowns.front().place == place ? &text.unknowns.front() : nullptr;
}

}  // namespace

// $0 and ${BASH_SOURCE[0]}.
std::optional<ShellText> ShellEvaluator::own_name(const std::string& name) const {
  const std::string& file = name == "0" ? start_.own_file : text_.file;
  if (file.empty() || (name != "0" && name != "BASH_SOURCE")) return std::nullopt;
  const std::string shown = name == "0" ? "$0" : "${BASH_SOURCE[0]}";
  ShellText out =
      unknown_text(fmt::format("{} is written as this script is started; give it with {}", shown, how_to_set(name)), 0);
  out.unknowns.front().place = Unknown::Place::kFile;
  out.unknowns.front().path = file;
  return out;
}

// ${0%/*}, ${0##*/}
std::optional<ShellText> ShellEvaluator::part_of_own_name(const ShellText& value, const Part& part) {
  const Unknown* file = whole_place(value, Unknown::Place::kFile);
  const auto pattern = file == nullptr ? std::nullopt : pattern_of(part.argument, false);
  if (!pattern) return std::nullopt;
  if (part.op == "%" && *pattern == "/*") return folder_of(*file);
  if (part.op == "##" && *pattern == "*/") return ShellText{fs::path(file->path).filename().string()};
  return std::nullopt;
}

ShellText ShellEvaluator::folder_of(const Unknown& file) {
  ShellText out = unknown_text(
      "how the folder of this script is written depends on how that is started; give it with " + how_to_set("0"),
      file.offset);
  out.unknowns.front().place = Unknown::Place::kFolder;
  out.unknowns.front().path = fs::path(file.path).parent_path().string();
  return out;
}

// Whether both are the file that is started: [[ "${BASH_SOURCE[0]}" == "$0" ]].
std::optional<bool> ShellEvaluator::same_place(const ShellText& a, const ShellText& b) {
  const Unknown* one = whole_place(a, Unknown::Place::kFile);
  const Unknown* other = whole_place(b, Unknown::Place::kFile);
  return one != nullptr && other != nullptr ? std::optional(one->path == other->path) : std::nullopt;
}

// The path that `word` names, from the root; "" where that is not known. A name without a folder is taken from beside
// the script while the shell is where it was started, and told so.
std::string ShellEvaluator::path_named(const ShellText& word) {
  if (const Unknown* file = whole_place(word, Unknown::Place::kFile)) return state_.moved ? std::string() : file->path;
  const bool by_folder = word.unknowns.size() == 1 && word.unknowns.front().place == Unknown::Place::kFolder &&
                         word.unknowns.front().at == 0 && !state_.moved;
  if (by_folder && (word.text.size() == 1 || word.text[1] == '/'))
    return normal(word.unknowns.front().path + word.text.substr(1));
  if (!word.unknowns.empty() || word.text.empty()) return {};
  if (word.text.front() == '/') return normal(word.text);
  if (state_.moved) {
    if (!state_.folder) return {};
    add_defaults(taken_, state_.folder->defaults);
    return normal(state_.folder->text + "/" + word.text);
  }
  const std::string own = folder_now();
  if (own.empty()) return {};
  const std::string beside = normal(fs::path(own) / word.text);
  if (!start_.is_here) {
    std::error_code error;
    const fs::path here = fs::absolute(word.text, error);
    if (error || (normal(here) != beside && fs::exists(here, error))) return {};  // which of the two is meant?
  }
  take_default("$PWD", own, word.origin.empty() ? 0 : word.origin.front(), TakenWhy::kPlace);
  return beside;
}

// Whether a folder was made of where the script stands: of its own name, or of where it is taken to be started.
static bool is_placed(const ShellText& folder) {
  return folder.defaults != nullptr && (folder.defaults->contains("$0") || folder.defaults->contains("$PWD"));
}

// Whether a path leads to where the script stands, so that what lies there is known.
bool ShellEvaluator::is_beside(const ShellText& word) const {
  const auto is_own = [](const ShellText& text) { return text.defaults != nullptr && text.defaults->contains("$0"); };
  if (start_.is_here) return true;
  const bool by_name = !word.text.empty() && word.text.front() != '/';
  if (!start_.folder.empty() && by_name && (!state_.moved || state_.folder)) return true;
  if (start_.own_file.empty()) return false;
  if (!word.unknowns.empty() || is_own(word)) return true;
  return by_name && (!state_.moved || (state_.folder && is_placed(*state_.folder)));
}

// What lies in a folder and matches, within the steps that are left.
std::vector<std::string> ShellEvaluator::files_in(const std::string& folder, const std::string& pattern) {
  constexpr std::size_t kEntrySteps = 8;
  const std::size_t most = budget_.steps / kEntrySteps;
  std::size_t left = most;
  std::vector<std::string> out = matching_files(folder, pattern, left);
  if (left == 0) {
    too_much();
    return {};
  }
  spend((most - left) * kEntrySteps);
  return out;
}

// The words that a pattern outside quotes becomes: files, where it is known what lies there and any of it matches;
// where none does, itself in a shell that runs here. None: it is not known.
std::optional<std::vector<ShellWord>> ShellEvaluator::files_matching(const ShellWord& word,
                                                                     const std::string& pattern) {
  const auto& rules = state_.patterns;
  if (!rules) return std::nullopt;
  if (rules->stays) return std::vector{word};
  const WrittenPattern parts = written_pattern(pattern);
  if (parts.rest.find(kHole) != std::string::npos || (parts.folder == 1 && word.text.front() == '/'))
    return std::nullopt;
  const bool names_folder = parts.folder > 0;
  ShellText folder = names_folder ? slice(word, 0, parts.folder - 1) : ShellText{};
  folder.defaults = taken_;
  std::string path;
  if (names_folder) {
    path = is_beside(folder) ? path_named(folder) : std::string();
  } else if (state_.moved && start_.folder.empty()) {
    const bool own = state_.folder && is_placed(*state_.folder);
    path = own ? state_.folder->text : std::string();
    if (own) add_defaults(taken_, state_.folder->defaults);
  } else if (path = folder_now(); !path.empty()) {
    std::error_code error;
    const std::string here = fs::current_path(error).string();
    const bool other = !start_.is_here && !state_.moved && (error || normal(here) != path);
    if (other && (error || !files_in(here, parts.rest).empty())) return std::nullopt;
    take_default("$PWD", start_.folder.empty() ? path : start_.folder, word.begin, TakenWhy::kPlace);
  }
  const bool touched =
      path.empty() || (names_folder && is_touched(path)) ||
      std::ranges::any_of(state_.touched, [&](const std::string& one) {
        return one.find(kHole) != std::string::npos || fnmatch(parts.last.c_str(), one.c_str(), 0) == 0;
      });
  std::vector<ShellWord> out;
  if (touched) return std::nullopt;
  for (const std::string& file : files_in(path, parts.rest)) {
    if (!spend(file.size() + 8)) return std::nullopt;
    ShellWord one{slice(word, 0, parts.folder), word.begin, word.end};
    append(one, {file, std::vector<std::size_t>(file.size(), word.begin), {}});
    out.push_back(std::move(one));
  }
  if (out.size() > limits::kBraceWords || error_) return std::nullopt;
  if (!out.empty()) return out;
  if (!start_.is_here || rules->fails) return std::nullopt;  // it may lie where this is started
  return rules->vanishes ? out : std::vector{word};
}

// -f and its kin, of files beside the script. One that is not there is told.
Status ShellEvaluator::file_test(char letter, const ShellText& word) {
  constexpr std::string_view kFollowed = "fedrshL";
  if (kFollowed.find(letter) == std::string_view::npos || !is_beside(word)) return Status::kUnknown;
  const bool loose =
      letter == 'd' && !start_.is_here && word.unknowns.empty() && !(word.defaults && word.defaults->contains("$0"));
  const std::string path = loose ? std::string() : path_named(word);  // org/model is no folder
  if (path.empty() || is_touched(path)) return Status::kUnknown;
  std::error_code error;
  const fs::file_status status =
      letter == 'h' || letter == 'L' ? fs::symlink_status(path, error) : fs::status(path, error);
  bool holds = fs::exists(status);
  if (letter == 'h' || letter == 'L') return fs::is_symlink(status) ? Status::kTrue : Status::kFalse;
  if (letter == 'f') holds = fs::is_regular_file(status);
  if (letter == 'd') holds = fs::is_directory(status);
  if (letter == 's') holds = holds && fs::file_size(path, error) > 0 && !error;
  if (!holds && start_.asked.contains(path)) return Status::kUnknown;
  if (!holds) take_default(path, std::nullopt, word.origin.empty() ? 0 : word.origin.front(), TakenWhy::kMissing);
  return holds ? Status::kTrue : Status::kFalse;
}

// cd, pushd, popd.
Status ShellEvaluator::change_folder(const std::vector<ShellWord>& words) {
  std::erase_if(state_.files, [](const auto& file) { return !file.first.starts_with('/'); });
  const std::string& name = words.front().text;
  if (name == "popd") {
    const bool known = !state_.pushed.empty() && words.size() == 1;
    if (known) std::tie(state_.moved, state_.folder) = state_.pushed.back();
    if (known) state_.pushed.pop_back();
    if (!known) state_.folder.reset();
    state_.moved = state_.moved || !known;
    return known ? Status::kTrue : Status::kUnknown;
  }
  const ShellWord* to = operand(words, name == "cd" ? "LPe@" : "");
  const bool physical = std::ranges::any_of(words, [](const ShellWord& w) { return w.text == "-P"; });
  std::string path;
  TakenDefaults defaults = to == nullptr ? nullptr : to->defaults;
  {
    const Taking taking(*this, false);
    const bool plain = to != nullptr && !to->text.empty() && to->text != "-" && !to->text.starts_with('+');
    if (plain) path = path_named(*to);
    // Of a script that is started in a folder that is not known: only what lies beside it is taken to be meant.
    const bool from_start = !state_.moved && taken_ != nullptr && taken_->contains("$PWD");
    if (from_start && start_.folder.empty() && !is_folder(path)) path.clear();
    if (from_start) add_defaults(defaults, taken_);
  }
  if (name == "pushd") state_.pushed.emplace_back(state_.moved, state_.folder);
  if (state_.folder) add_defaults(defaults, state_.folder->defaults);
  if (physical && !path.empty()) path = real(path);
  state_.moved = true;
  state_.folder.reset();
  if (path.empty()) return Status::kUnknown;
  state_.folder = ShellText{path};
  state_.folder->defaults = defaults;
  const bool own = start_.is_here || (defaults != nullptr && defaults->contains("$0"));
  return own && is_folder(path) ? Status::kTrue : Status::kUnknown;
}

// What pwd, dirname, basename, readlink and realpath print of places that are known; none for any other.
std::optional<ShellText> ShellEvaluator::printed_place(const std::vector<ShellWord>& words) {
  const std::string& program = words.front().text;
  if (program == "pwd") {
    const bool at_start = start_.is_here && !state_.moved && !start_.folder.empty();
    if (!state_.folder && !at_start) return std::nullopt;
    const bool physical = words.size() > 1 && words[1].text == "-P";
    ShellText out = at_start ? ShellText{start_.folder} : *state_.folder;
    if (physical) out.text = real(out.text);
    return words.size() > 1 && !physical && words[1].text != "-L" ? std::nullopt : std::optional(std::move(out));
  }
  const bool resolves = program == "realpath" || program == "readlink";
  if (!resolves && program != "dirname" && program != "basename") return std::nullopt;
  if (program == "basename" && words.size() == 3 && words[2].unknowns.empty() && words[1].text != "--") {
    const Unknown* file = whole_place(words[1], Unknown::Place::kFile);
    if (file == nullptr) return std::nullopt;
    std::string name = fs::path(file->path).filename().string();
    const std::string& suffix = words[2].text;
    if (name != suffix && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    return ShellText{name};
  }
  const ShellWord* of = operand(words, resolves ? "efm" : "");
  if (of == nullptr) return std::nullopt;
  const Unknown* file = whole_place(*of, Unknown::Place::kFile);
  if (program == "dirname") return file == nullptr ? std::nullopt : std::optional(folder_of(*file));
  if (program == "basename")
    return file == nullptr ? std::nullopt : std::optional(ShellText{fs::path(file->path).filename().string()});
  const bool follows = program == "realpath" || std::ranges::any_of(words, [](const ShellWord& w) {
                         return w.text.size() > 1 && w.text[0] == '-' && w.text != "--";
                       });
  const bool loose = !start_.is_here && of->unknowns.empty() && !(of->defaults && of->defaults->contains("$0"));
  if (!follows || loose || !is_beside(*of)) return std::nullopt;
  const std::string path = path_named(*of);
  std::string out = path.empty() ? path : real(path);
  return out.empty() ? std::nullopt : std::optional(ShellText{std::move(out)});
}

namespace {

// mktemp [-d] [-p FOLDER] [-t] [--suffix=TEXT] [PATTERN]
struct NewName {
  std::string pattern = {};
  std::string folder = {};
  std::string suffix = {};
  bool in_folder = false;
};

std::optional<NewName> new_name_of(const std::vector<ShellWord>& words) {
  NewName out;
  bool has_pattern = false;
  const auto takes = [&](std::size_t& i, std::string_view option, std::string& into) {
    const std::string& word = words[i].text;
    if (word == option && i + 1 < words.size()) {
      into = words[++i].text;
    } else if (word.starts_with(std::string(option) + "=")) {
      into = word.substr(option.size() + 1);
    } else {
      return false;
    }
    return true;
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (takes(i, "-p", out.folder) || takes(i, "--suffix", out.suffix)) continue;
    if (word.starts_with("--tmpdir=") && takes(i, "--tmpdir", out.folder)) continue;
    if (word == "-t" || word == "--tmpdir") {
      out.in_folder = true;
    } else if (word.starts_with('-') && word != "--directory" && word != "--quiet" &&
               word.find_first_not_of("dqu", 1) != std::string::npos) {
      return std::nullopt;
    } else if (!word.starts_with('-')) {
      if (std::exchange(has_pattern, true)) return std::nullopt;
      out.pattern = word;
    }
  }
  out.in_folder = out.in_folder || !has_pattern || !out.folder.empty();
  if (!has_pattern) out.pattern = "tmp.XXXXXXXXXX";
  if (out.folder.empty()) out.folder = "/tmp";
  const bool varies = base_name(out.pattern).find("XXX") != std::string::npos;
  if (!varies || (out.in_folder && out.pattern.front() == '/')) return std::nullopt;
  return out;
}

}  // namespace

// What mktemp prints: the pattern of a name that is made up where this runs. Each is another one. In another folder
// than that of all machines it may fail.
std::optional<ShellText> ShellEvaluator::printed_new_name(const std::vector<ShellWord>& words) {
  const bool known = std::ranges::all_of(words, [](const ShellWord& word) { return word.unknowns.empty(); });
  if (words.front().text != "mktemp" || start_.is_here || !known) return std::nullopt;
  const auto found = state_.variables.contains("TMPDIR") ? std::nullopt : new_name_of(words);
  if (!found) return std::nullopt;
  const std::string pattern = (found->in_folder ? found->folder + "/" : "") + found->pattern;
  if (pattern.find('/') != std::string::npos && !pattern.starts_with("/tmp/")) return std::nullopt;
  const std::size_t end = pattern.rfind("XXX") + 3;
  std::string name = pattern + found->suffix;
  for (int other = 1; !new_names_.insert(name).second || state_.files.contains(name); ++other) {
    const std::string number = fmt::format("{}", other);
    if (number.size() > 3 || !spend(name.size())) return std::nullopt;
    name = pattern;
    name.replace(end - number.size(), number.size(), number);
    name += found->suffix;
  }
  std::string command;
  for (const ShellWord& word : words) command += (command.empty() ? "" : " ") + word.text;
  take_default(fmt::format("$({})", command), name, words.front().begin, TakenWhy::kMadeUp);
  return ShellText{std::move(name)};
}

namespace {}  // namespace

// Whether a name may mean a file beside the script as well as one where we are.
bool ShellEvaluator::lies_twice(const ShellText& word) const {
  const bool by_name = word.unknowns.empty() && !word.text.empty() && word.text.front() != '/';
  const std::string folder = folder_now();
  std::error_code error;
  return by_name && !start_.is_here && !state_.moved && !folder.empty() &&
         fs::is_regular_file(fs::path(folder) / word.text, error) &&
         fs::is_regular_file(fs::absolute(word.text, error), error);
}

std::optional<ShellText> ShellEvaluator::text_beside(const ShellWord& word, std::size_t at, std::string& path) {
  std::string why;
  return text_beside(word, at, path, why);
}

// The text of a file that lies beside the script, or where a shell of it was started. All of it is told at `at`; `path`
// is where it stands, from the root; `why`, what keeps one that stands there from being followed.
std::optional<ShellText> ShellEvaluator::text_beside(const ShellWord& word, std::size_t at, std::string& path,
                                                     std::string& why) {
  if (!start_.file_beside) return std::nullopt;
  if (is_beside(word)) path = path_named(word);
  if (path.empty() && lies_twice(word)) {
    path = normal(fs::path(folder_now()) / word.text);
    why = "another file of this name lies in the working directory";
    return std::nullopt;
  }
  if (!path.empty() && is_touched(path)) {
    why = "this script may write it before";
    return std::nullopt;
  }
  const bool from_start = start_.own_file.empty() && word.unknowns.empty() && !state_.moved && !word.text.empty() &&
                          word.text.front() != '/';
  if (path.empty() && !from_start) return std::nullopt;
  auto text = start_.file_beside(path.empty() ? word.text : path);
  if (!text) {
    why = text.error().text();
    return std::nullopt;
  }
  constexpr std::size_t kToLook = 200;  // for a file, as a program does
  if (!spend(kToLook + text->size() / limits::kScriptBytesOfAStep)) why = "the script needs too many steps before";
  if (text->find('\r') != std::string::npos) why = "its lines end with CR LF, which would end each of its values";
  if (text->find('\0') != std::string::npos) why = "it is no text";
  if (!why.empty()) return std::nullopt;
  ShellText out{std::move(*text)};
  out.origin.assign(out.text.size(), at);
  return out;
}

namespace {

bool has_folder(const ShellWord& word) {
  const bool own = word.text.size() == 1 && word.unknowns.size() == 1 &&
                   word.unknowns.front().place == Unknown::Place::kFile;  // "$0"
  return own || word.text.find('/') != std::string::npos;
}

// Index of the program behind them: `exec nohup PROGRAM`.
std::size_t behind_wrappers(const std::vector<ShellWord>& words) {
  std::size_t program = 0;
  while (is_plain_runner(words, program)) {
    const auto next = program_between(words, program, words.size());
    if (!next || *next <= program) break;
    program = *next;
  }
  return program;
}

}  // namespace

std::optional<std::size_t> program_word(const std::vector<ShellWord>& words) {
  std::size_t program = 0;
  bool as_it_stands = false;
  while (is_plain_runner(words, program)) {
    const auto next = program_between(words, program, words.size());
    if (!next || *next <= program) break;
    as_it_stands = runs_python_files(words, program);
    program = *next;
  }
  if (as_it_stands && words[program].text.ends_with(".py")) return program;
  if (!base_name(words[program].text).starts_with("python") || server_at(words, program)) return std::nullopt;
  const std::size_t i = behind_python_options(words, program);
  const bool file = i < words.size() && !words[i].text.starts_with('-') && words[i].text.ends_with(".py");
  return file ? std::optional(i) : std::nullopt;
}

std::optional<std::size_t> script_word(const std::vector<ShellWord>& words) {
  if (!is_shell(words.front().text) && !is_plain_runner(words, 0))
    return has_folder(words.front()) ? std::optional<std::size_t>(0) : std::nullopt;
  const std::size_t program = behind_wrappers(words);
  if (program > 0 && has_folder(words[program]) && !is_shell(words[program].text)) return program;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].unknowns.empty() || !is_shell(words[i].text)) continue;
    std::size_t at = i + 1;
    while (at < words.size() && words[at].text.size() > 1 && words[at].text[0] == '-' &&
           words[at].text.find_first_not_of("xvleufao", 1) == std::string::npos)
      at += words[at].text.find('o') == std::string::npos ? 1 : 2;
    return at < words.size() && !words[at].text.starts_with('-') ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

namespace {

// The interpreter of a file that is run by its name: of its first line, else by what its name says. "" where none does.
std::string interpreter_of(const std::string& text, const std::string& path) {
  if (!text.starts_with("#!")) return path.ends_with(".sh") ? "sh" : "";
  std::string_view first = std::string_view(text).substr(2, text.find('\n') - 2);
  while (!first.empty()) {  // #!/bin/bash -e, #!/usr/bin/env -S bash -e
    first.remove_prefix(std::min(first.find_first_not_of(" \t\r"), first.size()));
    const std::string_view word = first.substr(0, first.find_first_of(" \t\r"));
    if (base_name(word) != "env" && !word.starts_with('-')) return std::string(base_name(word));
    first.remove_prefix(word.size());
  }
  return {};
}

}  // namespace

// The folder that the shell is in, as far as paths are taken from it; "" where it is not known.
std::string ShellEvaluator::folder_now() const {
  if (state_.moved) return state_.folder ? state_.folder->text : std::string();
  if (!start_.folder.empty()) return start_.folder;
  return fs::path(start_.own_file).parent_path().string();
}

// A script that is run by its name alone, where it is known which the PATH finds.
void ShellEvaluator::find_on_path(ShellCommand& command) const {
  ShellWord& word = command.words.front();
  const auto path = state_.find("PATH");
  if (!start_.is_here || path == nullptr || !path->text.unknowns.empty() || !word.unknowns.empty()) return;
  if (!word.text.ends_with(".sh") || word.text.find('/') != std::string::npos) return;
  std::string_view left = path->text.text;
  while (!left.empty()) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    const fs::path file = fs::path(folder) / word.text;
    if (folder.empty() || access(file.c_str(), X_OK) != 0) continue;
    static_cast<ShellText&>(word) = ShellText{file.string()};
    word.origin.assign(word.text.size(), command.begin);
    return;
  }
}

// What runs words[program] in another folder: `env -C`.
static std::string changes_folder(const std::vector<ShellWord>& words, std::size_t program) {
  for (std::size_t i = 0; i < program; ++i) {
    if (std::string option = moving_option(words, i, program); !option.empty()) return option;
  }
  return {};
}

// Whether nothing is known to differ from how this script was started itself: `exec sudo "$0" "$@"`.
static bool is_started_alike(const ShellCommand& command, std::size_t script) {
  const auto begin = command.words.begin() + static_cast<std::ptrdiff_t>(script) + 1;
  const auto is_known = [](const ShellWord& word) { return word.unknowns.empty(); };
  return command.assignments.empty() && std::none_of(begin, command.words.end(), is_known);
}

// A script beside this one that a command runs: what it names without a folder is in the folder that it is run in. Not
// itself again as it was started, and not where any variable may have been set for it.
void ShellEvaluator::run_beside(ShellCommand& command) {
  const bool placed = !start_.own_file.empty() || !start_.folder.empty() || start_.is_here;
  if (!start_.file_beside || !placed || state_.others) return;
  find_on_path(command);
  const auto program = program_word(command.words);
  const auto at = program ? program : script_word(command.words);
  // What is known by its name is known, though its file may be a script.
  if (at && (server_at(command.words, *at) || runs_its_words(command.words[*at].text))) return;
  if (!at || command.words[*at].several || state_.files.contains(command.words[*at].text)) return;
  std::string path;
  std::string why;
  if (const std::string option = changes_folder(command.words, *at); !option.empty() && !is_moved_) {
    note("SH004",
         fmt::format("{} is run here and not followed ({} runs it in another folder): what it starts is not known",
                     command.words[*at].text, option),
         command.begin);
    return;
  }
  auto text = text_beside(command.words[*at], command.begin, path, why);
  const bool again = path == start_.own_file && is_started_alike(command, *at);
  if (again || (!text && why.empty())) return;
  if (text && !spend(text->text.size())) return;
  const bool by_name =
      !program && std::none_of(command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(*at),
                               [](const ShellWord& word) { return is_shell(word.text); });
  const std::string interpreter = text && by_name ? interpreter_of(text->text, path) : std::string();
  const bool python = program || interpreter.starts_with("python");
  if (text && by_name && !python && !is_shell(interpreter)) return;
  if (text && !python && folder_now().empty()) why = "the folder that it is run in is not known";
  if (text && !python && why.empty()) why = fault_of(*text, pasted_);
  if (!why.empty()) {
    std::error_code error;
    if (fs::exists(path, error))
      note("SH004", fmt::format("{} is run here and not followed ({}): what it starts is not known", path, why),
           command.begin);
    return;
  }
  ShellText name = unknown_text(path, command.words[*at].begin);
  name.unknowns.front().place = Unknown::Place::kFile;
  name.unknowns.front().path = path;
  static_cast<ShellText&>(command.words[*at]) = std::move(name);
  command.file = std::move(text);
  command.file_word = *at;
  if (python) command.file_use = ShellCommand::FileUse::kProgram;
}

// With the script's folder written out where a path begins with it.
void ShellEvaluator::place(ShellText& text) const {
  if (state_.moved) return;
  const auto begins = [&](const Unknown& one) {
    const std::size_t behind = one.at + 1;
    return one.place == Unknown::Place::kFolder && (one.at == 0 || begins_path(text.text[one.at - 1])) &&
           (behind == text.text.size() || ends_path(text.text[behind]));
  };
  if (std::ranges::none_of(text.unknowns, begins)) return;
  ShellText out{.defaults = text.defaults};
  std::size_t from = 0;
  for (const Unknown& one : text.unknowns) {
    if (!begins(one)) continue;
    append(out, slice(text, from, one.at));
    const std::size_t origin = text.origin.empty() ? one.offset : text.origin[one.at];
    append(out, {one.path, std::vector<std::size_t>(one.path.size(), origin), {}});
    from = one.at + 1;
  }
  append(out, tail(text, from));
  text = std::move(out);
}

}  // namespace preflight::sources
