// Bash 4 and later, without the package bash-completion. Tested by tests/shells/completions_test.py.
#include <map>

#include <fmt/format.h>

#include "src/base/shell_words.h"
#include "src/report/completion_words.h"
#include "src/report/completions.h"

namespace preflight::report {
namespace {

// The script below the tables. `where` is the command, or -- behind it: the first key of both tables.
constexpr std::string_view kLookUp = R"sh(
_xpu_preflight_complete() {  # WORDS FILES: what begins as the current word does
  [[ -z $1 ]] || mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
  local option found
  case $2 in
    files) option=-f ;;
    directories) option=-d ;;
    *) return ;;
  esac
  compopt -o filenames
  mapfile -t found < <(compgen "$option" -- "$current")
  COMPREPLY+=("${found[@]}")
}

_xpu_preflight_at() {  # WHERE: an option, the value of one, or what else may stand there
  if [[ $current == -* ]]; then
    _xpu_preflight_complete "$(_xpu_preflight_options "$1")"
    return
  fi
  _xpu_preflight_value "$1" "$previous" || _xpu_preflight_value "$1" ""
}

_xpu_preflight() {
  COMPREPLY=()
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} dashes
  # Bash cuts --option=value at the equals sign.
  if [[ $current == "=" ]]; then
    current=
  elif [[ $previous == "=" ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((dashes = 2; dashes < COMP_CWORD; ++dashes)); do
    [[ ${COMP_WORDS[dashes]} != -- ]] || break
  done
  if ((COMP_CWORD == 1)); then
    _xpu_preflight_complete "$(_xpu_preflight_options "")"
  elif ((dashes >= COMP_CWORD)); then
    _xpu_preflight_at "$command"
  else
    _xpu_preflight_behind
  fi
}
complete -F _xpu_preflight xpu-preflight
)sh";

// What completes a value: its words and whether files or directories do.
std::string value_kind(const OptionWords& option) {
  const std::string_view files = option.takes == Takes::kFile ? "files" : "directories";
  const bool named = option.takes == Takes::kFile || option.takes == Takes::kDirectory;
  return fmt::format("{} {}", single_quoted(joined(option.values)), named ? files : "none");
}

using Patterns = std::map<std::string, std::vector<std::string>>;

void add_values(std::string_view where, const std::vector<OptionWords>& options, Patterns& patterns) {
  for (const OptionWords& option : options) {
    if (option.takes == Takes::kNothing) continue;
    for (const std::string& name : option.names) {
      patterns[value_kind(option)].push_back(single_quoted(fmt::format("{} {}", where, name)));
    }
  }
}

std::string value_table(const ProgramWords& program) {
  Patterns patterns;
  for (const CommandWords& command : program.commands) {
    add_values(command.name, command.options, patterns);
    if (command.positionals.empty()) continue;
    patterns[value_kind(command.positionals.front())].push_back(single_quoted(command.name + " "));
  }
  add_values("--", program.sglang, patterns);
  std::string out =
      "_xpu_preflight_value() {  # WHERE OPTION: its value; of no option, an argument\n  case \"$1 $2\" in\n";
  for (const auto& [kind, names] : patterns) {
    out += fmt::format("    {})\n      _xpu_preflight_complete {} ;;\n", joined(names, " | "), kind);
  }
  return out + "    *) return 1 ;;\n  esac\n}\n";
}

std::string option_table(const ProgramWords& program) {
  std::string out = "_xpu_preflight_options() {  # WHERE: the options that may stand there\n  case $1 in\n";
  std::string commands;
  for (const CommandWords& command : program.commands) {
    commands += command.name + " ";
    std::string words = joined(all_names(command.options));
    if (command.behind != Behind::kNothing) words += " --";
    out += fmt::format("    {})\n      echo {} ;;\n", command.name, single_quoted(words));
  }
  out += fmt::format("    --)\n      echo {} ;;\n", single_quoted(joined(all_names(program.sglang))));
  return out + fmt::format("    '') echo {} ;;\n  esac\n}}\n", single_quoted(commands + "--help --version"));
}

// Behind `exec --` stands a whole command: a program first, SGLang's options where SGLang was named.
std::string behind_table(const ProgramWords& program) {
  std::string of_launch;
  std::string of_command;
  for (const CommandWords& command : program.commands) {
    if (command.behind == Behind::kNothing) continue;
    std::string& list = command.behind == Behind::kCommand ? of_command : of_launch;
    list += (list.empty() ? "" : " | ") + command.name;
  }
  return fmt::format(R"sh(_xpu_preflight_behind() {{  # what may stand behind --
  case $command in
    {}) _xpu_preflight_at -- || _xpu_preflight_complete '' files ;;
    {})
      if ((dashes + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      elif [[ " ${{COMP_WORDS[*]:dashes}}" == *[\ /]sglang* ]]; then
        _xpu_preflight_at -- || _xpu_preflight_complete '' files
      else
        _xpu_preflight_complete '' files
      fi
      ;;
  esac
}}
)sh",
                     of_launch, of_command);
}

}  // namespace

std::string bash_completion(const ProgramWords& program) {
  return fmt::format(
             "# Completion of {} {} in bash, written by `{} completions bash`.\n"
             "# Behind -- stand the options of SGLang {}.\n\n",
             program.name, program.version, program.name, program.sglang_release) +
         option_table(program) + "\n" + value_table(program) + "\n" + behind_table(program) + std::string(kLookUp);
}

}  // namespace preflight::report
