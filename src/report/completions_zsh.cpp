// zsh's own _arguments, one list of specifications a command. Tested by tests/shells/completions_test.py.
#include <fmt/format.h>

#include "src/base/shell_words.h"
#include "src/report/completion_words.h"
#include "src/report/completions.h"

namespace preflight::report {
namespace {

// Text in a specification: what would end the part it stands in has a backslash.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '(' || c == ')' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action(const OptionWords& option) {
  std::string words;
  for (const std::string& value : option.values) words += (words.empty() ? "" : " ") + escaped(value);
  const std::string files = option.takes == Takes::kDirectory ? "_files -/" : "_files";
  const bool has_files = option.takes == Takes::kFile || option.takes == Takes::kDirectory;
  if (words.empty()) return has_files ? files : " ";
  // Both in one action: alternatives are a list of their own.
  return has_files ? fmt::format("{{_alternative \"words\\:value\\:({})\" \"files\\:file\\:{}\"}}", words, files)
                   : fmt::format("({})", words);
}

std::string value_part(const OptionWords& option) {
  if (option.takes == Takes::kNothing) return {};
  const std::string_view before = option.takes_several ? ":*-*:" : option.may_stand_alone ? "::" : ":";
  return fmt::format("{}value:{}", before, action(option));
}

void add_specifications(const OptionWords& option, std::string& out) {
  const std::string others = option.names.size() > 1 && !option.repeats ? "(" + joined(option.names) + ")" : "";
  for (const std::string& name : option.names) {
    const bool joins = option.takes != Takes::kNothing && !option.takes_several && name.starts_with("--");
    const std::string what = option.what.empty() ? "" : "[" + escaped(short_form(option.what)) + "]";
    out += "    " +
           single_quoted(fmt::format("{}{}{}{}{}{}", option.repeats ? "*" : "", others, name, joins ? "=" : "", what,
                                     value_part(option))) +
           "\n";
  }
}

std::string specifications(const std::vector<OptionWords>& options, const std::vector<OptionWords>& positionals) {
  std::string out;
  for (const OptionWords& option : options) add_specifications(option, out);
  for (const OptionWords& positional : positionals) {
    out += "    " +
           single_quoted(fmt::format("{}:{}:{}", positional.takes_several ? "*" : "", positional.names.front(),
                                     action(positional))) +
           "\n";
  }
  return out;
}

std::string command_cases(const ProgramWords& program) {
  std::string out;
  for (const CommandWords& command : program.commands) {
    out += fmt::format("  {})\n  specifications=(\n{}  ) ;;\n", command.name,
                       specifications(command.options, command.positionals));
  }
  return out;
}

std::string command_list(const ProgramWords& program) {
  std::string out;
  for (const CommandWords& command : program.commands) {
    out += "    " + single_quoted(escaped(command.name) + ":" + short_form(command.what)) + "\n";
  }
  return out;
}

std::string commands_behind(const ProgramWords& program, Behind behind) {
  std::string out;
  for (const CommandWords& command : program.commands) {
    if (command.behind == behind) out += (out.empty() ? "" : "|") + command.name;
  }
  return out;
}

constexpr std::string_view kScript =
    R"sh(#compdef xpu-preflight
# Completion of {0} {1} in zsh, written by `{0} completions zsh`.
# Behind -- stand the options of SGLang {2}.

_xpu_preflight_sglang() {{
  local -a specifications
  specifications=(
{3}  )
  _arguments -S $specifications '*:file:_files'
}}

_xpu_preflight_options() {{  # the command and its own options are in words
  local -a specifications
  case $words[1] in
{4}  esac
  _arguments -S $specifications
}}

_xpu_preflight_behind() {{  # COMMAND: words hold what stands behind --
  case $1 in
  ({5}) words=(sglang "${{words[@]}}"); (( ++CURRENT )); _xpu_preflight_sglang ;;
  ({6})
    if [[ $words[CURRENT] == -* && " $words" == *[\ /]sglang* ]]; then
      words=(sglang "${{words[@]}}"); (( ++CURRENT )); _xpu_preflight_sglang
    else
      _normal
    fi ;;
  esac
}}

_xpu-preflight() {{
  local -a commands
  commands=(
{7}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  local -i dashes=${{words[(i)--]}}
  if (( dashes < CURRENT )); then
    words=("${{(@)words[dashes+1,-1]}}")
    (( CURRENT -= dashes ))
    _xpu_preflight_behind $command
  else
    shift words
    (( --CURRENT ))
    _xpu_preflight_options
  fi
}}

# A file of $fpath is the function's body at its first call; sourced, it only tells zsh of the function.
if [[ $funcstack[1] == _xpu-preflight ]]; then
  _xpu-preflight "$@"
else
  compdef _xpu-preflight xpu-preflight
fi
)sh";

}  // namespace

std::string zsh_completion(const ProgramWords& program) {
  return fmt::format(kScript, program.name, program.version, program.sglang_release, specifications(program.sglang, {}),
                     command_cases(program), commands_behind(program, Behind::kLaunch),
                     commands_behind(program, Behind::kCommand), command_list(program));
}

}  // namespace preflight::report
