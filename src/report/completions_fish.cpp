// fish 3: its own `complete` for our options; a function for SGLang's, because behind -- fish knows no options. Tested
// by tests/shells/completions_test.py.
#include <map>

#include <fmt/format.h>

#include "src/report/completion_words.h"
#include "src/report/completions.h"

namespace preflight::report {
namespace {

// fish reads a backslash inside single quotes as one before a quote or another backslash only.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string value_arguments(const OptionWords& option) {
  switch (option.takes) {
    case Takes::kNothing:
      return "";
    case Takes::kText:
      return option.values.empty() ? " -x" : " -x -a " + fish_quoted(joined(option.values));
    case Takes::kFile:
      return " -r -F" + (option.values.empty() ? "" : " -a " + fish_quoted(joined(option.values)));
    case Takes::kDirectory:
      return " -x -a " + fish_quoted(joined(option.values) + " (__fish_complete_directories)");
  }
  return "";
}

std::string option_line(const std::string& condition, const OptionWords& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return fmt::format("complete -c xpu-preflight -n {}{}{} -d {}\n", condition, names, value_arguments(option),
                     fish_quoted(short_form(option.what)));
}

std::string positional_line(const std::string& condition, const OptionWords& positional) {
  std::string out = "complete -c xpu-preflight -n " + condition;
  if (!positional.values.empty()) out += " -a " + fish_quoted(joined(positional.values));
  if (positional.takes == Takes::kFile || positional.takes == Takes::kDirectory) out += " -F";
  return out + "\n";
}

std::string command_lines(const ProgramWords& program) {
  std::string out;
  for (const CommandWords& command : program.commands) {
    out += fmt::format("complete -c xpu-preflight -n __xpu_preflight_first -a {} -d {}\n", command.name,
                       fish_quoted(short_form(command.what)));
    const std::string condition = fish_quoted("__xpu_preflight_in " + command.name);
    for (const OptionWords& option : command.options) out += option_line(condition, option);
    for (const OptionWords& positional : command.positionals) out += positional_line(condition, positional);
  }
  return out;
}

// Values of SGLang's options, one line of `printf` for those that share them.
std::string sglang_values(const ProgramWords& program) {
  std::map<std::string, std::string> names_by_values;
  for (const OptionWords& option : program.sglang) {
    if (option.takes == Takes::kNothing) continue;
    std::string values = option.values.empty() ? "" : "printf '%s\\n' " + joined(option.values);
    if (option.takes != Takes::kText) values += std::string(values.empty() ? "" : "; ") + "__fish_complete_path $word";
    std::string& names = names_by_values[values];
    for (const std::string& name : option.names) names += " " + name;
  }
  std::string out;
  for (const auto& [values, names] : names_by_values) {
    out += fmt::format("        case{}\n            {}\n", names, values.empty() ? "true" : values);
  }
  return out;
}

std::string commands_behind(const ProgramWords& program, Behind behind) {
  std::string out;
  for (const CommandWords& command : program.commands) {
    if (command.behind == behind) out += (out.empty() ? "" : " ") + command.name;
  }
  return out;
}

constexpr std::string_view kFunctions = R"sh(# Behind -- stand the options of SGLang {0}.

function __xpu_preflight_first
    test (count (commandline -opc)) -eq 1
end

function __xpu_preflight_in
    set -l tokens (commandline -opc)
    test (count $tokens) -gt 1; and test $tokens[2] = $argv[1]; and not contains -- -- $tokens
end

function __xpu_preflight_behind
    set -l tokens (commandline -opc)
    contains -- -- $tokens; or return 1
    contains -- $tokens[2] {1}; and return 0
    # A whole command: its program, then SGLang's options where SGLang is named.
    contains -- $tokens[2] {2}; and string match -qr '(^| |/)sglang' -- "$tokens[3..]"
end

function __xpu_preflight_command
    set -l tokens (commandline -opc)
    contains -- -- $tokens; and contains -- $tokens[2] {2}; and not __xpu_preflight_behind
end

function __xpu_preflight_sglang
    set -l word (commandline -ct)
    set -l before (commandline -opc)[-1]
    if not string match -q -- '-*' $word
        switch $before
{3}        case '*'
            __fish_complete_path $word
        end
        return
    end
    printf '%s\n' {4}
end

complete -c xpu-preflight -f
complete -c xpu-preflight -n __xpu_preflight_first -l help -d 'Print the help and end'
complete -c xpu-preflight -n __xpu_preflight_first -l version -d 'Print the version and end'
complete -c xpu-preflight -n __xpu_preflight_behind -a '(__xpu_preflight_sglang)'
complete -c xpu-preflight -n __xpu_preflight_command -a '(__fish_complete_command)' -F
)sh";

}  // namespace

std::string fish_completion(const ProgramWords& program) {
  return fmt::format("# Completion of {0} {1} in fish, written by `{0} completions fish`.\n", program.name,
                     program.version) +
         fmt::format(fmt::runtime(kFunctions), program.sglang_release, commands_behind(program, Behind::kLaunch),
                     commands_behind(program, Behind::kCommand), sglang_values(program),
                     joined(all_names(program.sglang))) +
         command_lines(program);
}

}  // namespace preflight::report
