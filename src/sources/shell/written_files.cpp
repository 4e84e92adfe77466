// Which files a command may have written: what this script wrote to them, and what lies beside it, is not known then.
// Nobody knows here what programs do: one that names a file may write it, but for those that only read. Tested by
// tests/traps_test.cpp.
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/script_word.h"

namespace preflight::sources {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPatternSigns = "*?[";

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string plain_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  return std::string(path);
}

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

bool has_word(const ShellCommand& command, std::string_view text) {
  return std::ranges::any_of(command.words, [&](const ShellWord& word) { return word.text == text; });
}

// An option among `letters`, or one that is spelt out.
bool has_option(const ShellCommand& command, std::string_view letters, std::string_view whole) {
  return std::any_of(command.words.begin() + 1, command.words.end(), [&](const ShellWord& word) {
    if (word.text.starts_with("--")) return !whole.empty() && word.text.starts_with(whole);
    return word.text.starts_with('-') && word.text.find_first_of(letters, 1) != std::string::npos;
  });
}

// Programs that leave the files they are given as they are.
bool only_reads(const ShellCommand& command) {
  constexpr auto kNames = std::to_array<std::string_view>({"jq",
                                                           "bc",
                                                           "diff",
                                                           "cat",
                                                           "grep",
                                                           "source",
                                                           ".",
                                                           "test",
                                                           "[",
                                                           "ls",
                                                           "chmod",
                                                           "chown",
                                                           "head",
                                                           "tail",
                                                           "wc",
                                                           "cut",
                                                           "shopt",
                                                           "echo",
                                                           "printf",
                                                           "export",
                                                           "cd",
                                                           "pushd",
                                                           "popd",
                                                           "set",
                                                           "mkdir",
                                                           "stat",
                                                           "basename",
                                                           "dirname",
                                                           "realpath",
                                                           "readlink",
                                                           "exit",
                                                           "command",
                                                           "eval",
                                                           "sleep",
                                                           "kill",
                                                           "pkill",
                                                           "pgrep",
                                                           "wait",
                                                           "ps",
                                                           "lsof",
                                                           "id",
                                                           "seq",
                                                           "nproc",
                                                           "nvidia-smi",
                                                           "xpu-smi",
                                                           "rocm-smi",
                                                           "hostname",
                                                           "whoami",
                                                           "conda",
                                                           "mamba",
                                                           "module",
                                                           "micromamba",
                                                           "docker-compose",
                                                           "podman-compose",
                                                           "kubectl",
                                                           "systemctl",
                                                           "ssh",
                                                           "trap",
                                                           "read",
                                                           "mapfile",
                                                           "readarray",
                                                           "declare",
                                                           "typeset",
                                                           "local",
                                                           "readonly",
                                                           "unset",
                                                           "type",
                                                           "which",
                                                           "sha256sum",
                                                           "md5sum",
                                                           "file",
                                                           "getopts",
                                                           "return",
                                                           "shift",
                                                           "let",
                                                           "ulimit",
                                                           "umask",
                                                           "true",
                                                           "false",
                                                           ":",
                                                           "exec",
                                                           "alias",
                                                           "hash",
                                                           "sglang",
                                                           "envsubst",
                                                           "tr",
                                                           "du",
                                                           "df",
                                                           "cmp",
                                                           "comm",
                                                           "fold",
                                                           "nl",
                                                           "tac",
                                                           "disown",
                                                           "jobs",
                                                           "unalias"});
  const std::string_view program = base_name(command.words.front().text);
  if (program == "sort") return !has_option(command, "o", "--output");
  if (program == "uniq") return command.words.size() < 3;
  if (program == "sed") return !has_option(command, "i", "--in-place");
  if (program == "awk")
    return std::ranges::none_of(command.words, [](const ShellWord& word) {
      return word.text.find_first_of(">|") != std::string::npos || word.text.find("system") != std::string::npos;
    });
  if (is_container_tool(program) || program == "kubectl") return !has_word(command, "cp");
  return std::ranges::find(kNames, program) != kNames.end();
}

// curl without an option that names a file to write.
bool only_asks_for_a_page(const std::vector<ShellWord>& words) {
  if (base_name(words.front().text) != "curl") return false;
  return std::none_of(words.begin() + 1, words.end(), [](const ShellWord& word) {
    const std::string& w = word.text;
    const bool whole = w.starts_with("--");
    if (!w.starts_with('-')) return false;
    if (whole) return w.starts_with("--o") || w.starts_with("--remote") || w.starts_with("--d") || w.starts_with("--c");
    return w.find_first_of("oODcK") != std::string::npos;
  });
}

bool is_hole(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c == kHole || c == '*'; });
}

// Programs that put files into a folder, or take them out of it, by other names than those they are given.
bool may_write_any(const ShellCommand& command, std::string_view program) {
  if (is_one_of(program, {"tar", "unzip", "rsync", "patch", "cpio", "bsdtar"})) return true;
  if (program == "git")
    return !std::any_of(command.words.begin() + 1, command.words.end(), [](const ShellWord& word) {
      return is_one_of(word.text, {"clone", "config", "describe", "diff", "fetch", "log", "rev-parse", "status"});
    });
  const bool moves = is_one_of(program, {"cp", "mv", "install", "ln", "rm"});
  const bool edits = is_one_of(program, {"sed", "perl", "tee", "truncate", "touch", "dd", "sort", "find"});
  if (program == "cp" && has_option(command, "aRr", "--recursive")) return true;
  return std::any_of(command.words.begin() + 1, command.words.end(), [&](const ShellWord& word) {
    if ((moves || edits) && (word.several || is_hole(word.text))) return true;
    const std::string name = name_of(word.text);
    return moves && (is_hole(name) || word.text == "." || word.text.ends_with("/") || word.text.ends_with("/."));
  });
}

// Whether a text that a shell or another program runs has what writes to a file.
bool may_write(std::string_view text) {
  constexpr auto kWriters = std::to_array<std::string_view>(
      {"tee", "sed",   "cp",  "mv",   "rm",   "ln",    "dd",   "install", "truncate", "perl", "python", "awk",
       "tar", "unzip", "git", "wget", "curl", "xargs", "find", "rsync",   "patch",    "open", "write"});
  for (auto at = text.find('>'); at != std::string_view::npos; at = text.find('>', at + 1)) {
    const std::string_view behind = text.substr(std::min(text.find_first_not_of("> \t|", at), text.size()));
    if (!behind.starts_with('&') && !behind.starts_with("/dev/")) return true;
  }
  return std::ranges::any_of(kWriters,
                             [&](std::string_view writer) { return text.find(writer) != std::string_view::npos; });
}

// Words of a text that may name files, as they stand in it.
std::vector<std::string> names_in(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n'\"`;|&<>()=,:{}";
  std::vector<std::string> out;
  while (!text.empty() && out.size() < limits::kVariables) {
    const std::size_t end = std::min(text.find_first_of(kBetween), text.size());
    std::string name = name_of(std::string(text.substr(0, std::min(end, std::size_t{4096}))));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!name.empty() && !is_hole(name) && name.size() < 256 && !name.starts_with('-')) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace

// Whether what is written so, with holes in it, may come to `name`.
bool ShellEvaluator::may_be(std::string_view written, std::string_view name) {
  const auto first = written.find(kHole);
  if (first == std::string_view::npos) {
    return written == name || (written.find_first_of(kPatternSigns) != std::string_view::npos &&
                               fnmatch(std::string(written).c_str(), std::string(name).c_str(), 0) == 0);
  }
  const std::string_view behind = written.substr(written.rfind(kHole) + 1);
  return name.size() + 1 >= first + behind.size() && name.starts_with(written.substr(0, first)) &&
         name.ends_with(behind);
}

// Whether a path means the file that is known by another one: seen from another folder, its name alone tells.
static bool has_own_folder(std::string_view path) {
  return path.starts_with('/') || path.find("..") != std::string_view::npos ||
         path.substr(0, path.rfind('/') + 1).find(kHole) != std::string_view::npos;
}

bool ShellEvaluator::may_be_file(const std::string& written, const std::string& known) {
  if (may_be(written, known)) return true;
  return (has_own_folder(written) || has_own_folder(known)) && may_be(name_of(written), name_of(known));
}

// Where the folder of this script is known, what lies beside it is looked at.
bool ShellEvaluator::looks_beside() const {
  return !start_.own_file.empty() || !start_.folder.empty() || start_.is_here;
}

// The file of a redirection.
void ShellEvaluator::may_be_written(const ShellText& file) {
  if (file.text.starts_with("/dev/")) return;
  const std::string path = plain_path(file.text);
  std::erase_if(state_.files, [&](const auto& known) { return may_be_file(path, known.first); });
  state_.written.insert(path);
  if (looks_beside()) state_.touched.insert(name_of(path));
  if (apart_ > 0) share_file(path);
}

// What a command wrote, unless something else may write there, too.
void ShellEvaluator::keep_file(const std::string& path, ShellText text) {
  const std::string name = name_of(path);
  const bool shared = std::ranges::any_of(state_.shared, [&](const std::string& one) { return may_be(one, name); });
  if (shared)
    state_.files.erase(path);
  else
    state_.files.insert_or_assign(path, std::move(text));
}

void ShellEvaluator::share_file(const std::string& path) {
  const std::string name = name_of(path);
  if (!name.empty() && !is_hole(name) && state_.shared.size() < limits::kVariables) state_.shared.insert(name);
}

// None of them is what a command wrote, from here on.
void ShellEvaluator::share_all_files() {
  state_.files.clear();
  state_.shared = {"*"};
  if (looks_beside()) state_.touched.insert("*");
}

// ln: what is written to the one name stands under the other.
void ShellEvaluator::share_links(const ShellCommand& command, std::string_view program) {
  if (program != "ln") return;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    if (!command.words[i].text.starts_with('-')) share_file(command.words[i].text);
  }
}

// What a trap writes whenever a command runs, or what a script that it runs may.
void ShellEvaluator::heed_trap_files(const ShellText& action) {
  const std::vector<std::string> names = names_in(action.text);
  const bool script = std::ranges::any_of(names, [&](const std::string& name) {
    return is_shell(name) || std::ranges::any_of(state_.files, [&](const auto& file) {
             return base_name(file.first) == std::string_view(name);
           });
  });
  if (script) return share_all_files();
  heed_process(action.text);
}

void ShellEvaluator::write_redirected(const Node& node) {
  const bool stays_open = node.kind != Node::Kind::kSimple;  // while what it holds may write to that file, too
  for (const Redirection& r : node.redirections) {
    const bool output = r.here_document < 0 && ((r.names_file && r.op.front() == '>') || r.op == "<>");
    if (!output) continue;
    heed_process_behind(r);
    const ShellText file = expand_single(r.target);
    if (stays_open && !file.text.starts_with("/dev/")) share_file(file.text);
    if (is_hole(name_of(file.text)))  // of which nothing is known: none that stands beside this
      state_.files.clear();
    else
      may_be_written(file);
  }
}

// Programs whose words run on beside the script.
static bool runs_beside(std::string_view program) {
  return is_one_of(program, {"at", "batch", "crontab", "daemonize", "sbatch", "screen", "setsid", "systemd-run",
                             "start-stop-daemon", "tmux", "zellij"});
}

// Where output goes into a text of its own, `> >(…)`.
void ShellEvaluator::heed_process_behind(const Redirection& r) {
  for (const Part& part : r.target.parts) {
    const bool process = part.kind == Part::Kind::kUnclear && text_.script->text.compare(part.begin, 2, ">(") == 0 &&
                         part.end > part.begin;
    if (process) heed_process(std::string_view(text_.script->text).substr(part.begin, part.end - part.begin));
  }
}

// A text that nobody waits for: of <(…) or >(…), of a trap.
void ShellEvaluator::heed_process(std::string_view text) {
  if (!may_write(text)) return;
  for (const std::string& name : names_in(text)) {
    may_be_written({name});
    share_file(name);
  }
}

// What the command names in its words, in a text that it runs, in what it reads, or in the script that it starts.
void ShellEvaluator::heed_named_files(const ShellCommand& command) {
  const std::string_view program = base_name(command.words.front().text);
  const auto function = state_.functions.find(command.words.front().text);
  const bool follows = function != state_.functions.end() && function->second;  // what it does itself
  if (follows || only_reads(command) || only_asks_for_a_page(command.words)) return;
  share_links(command, program);
  const bool beside = runs_beside(program);
  apart_ += beside ? 1 : 0;
  if (may_write_any(command, program)) {
    state_.files.clear();
    if (apart_ > 0) state_.shared.insert("*");
  }
  const auto script = command.file ? std::optional(command.file_word) : script_word(command.words);
  const auto runs = program_word(command.words);
  const bool runs_texts = is_shell(program) || is_one_of(program, {"env", "nohup", "timeout", "tmux", "screen"});
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text;
    const bool text = word.find_first_of(" \n") != std::string::npos;
    if (i != script && i != runs && (!text || !runs_texts || may_write(word))) heed_names(word, command, script);
  }
  for (const ShellText& input : command.input) {
    if (!runs_texts || may_write(input.text)) heed_names(input.text, command, script);
  }
  if (command.file && may_write(command.file->text)) heed_names(command.file->text, command, script);
  apart_ -= beside ? 1 : 0;
}

// Each name in `text` but that of the script that the command runs.
void ShellEvaluator::heed_names(std::string_view text, const ShellCommand& command, std::optional<std::size_t> script) {
  const std::string own = script && *script < command.words.size() ? name_of(command.words[*script].text) : "";
  const std::vector<std::string> names = names_in(text);
  std::vector<std::string> patterns;
  std::ranges::copy_if(names, std::back_inserter(patterns), [](const std::string& name) {
    return name.find(kHole) != std::string::npos || name.find_first_of(kPatternSigns) != std::string::npos;
  });
  constexpr std::size_t kFilesOfAStep = 4;  // that are looked for in a word
  if (!spend(1 + text.size() / 8 + state_.files.size() * (1 + patterns.size()) / kFilesOfAStep)) return;
  std::erase_if(state_.files, [&](const auto& known) {
    const std::string_view name = base_name(known.first);
    if (name == own) return false;
    return text.find(name) != std::string_view::npos ||
           std::ranges::any_of(patterns, [&](const std::string& one) { return may_be(one, name); });
  });
  for (const std::string& name : names) {
    if (name != own && apart_ > 0) share_file(name);
  }
  if (!looks_beside()) return;
  for (const std::string& name : names) {
    if (name != own && state_.touched.size() < limits::kVariables) state_.touched.insert(name);
  }
}

bool ShellEvaluator::is_touched(const std::string& path) const {
  const std::string name = name_of(path);
  return std::ranges::any_of(state_.touched, [&](const std::string& one) { return may_be(one, name); });
}

}  // namespace preflight::sources
