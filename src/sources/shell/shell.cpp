// Tested by tests/shell_test.cpp and tests/launch_command_test.cpp; fuzzed by tests/fuzz/shell_fuzz.cpp.
#include "src/base/limits.h"
#include "src/sources/shell.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/file_steps.h"
#include "src/sources/mentions.h"
#include "src/sources/programs.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/failure.h"
#include "src/sources/shell/parser.h"
#include "src/sources/shell/script_word.h"

namespace preflight::sources {
namespace {

bool upper_name(std::string_view name) {
  return !name.empty() && shell_name_start(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return shell_name_char(c) && (c < 'a' || c > 'z'); });
}

// The index behind the brace that closes each open one, 0 where none does: all at once, as there may be as many that
// stay open as there is text.
std::vector<std::size_t> behind_braces(std::string_view text) {
  std::vector<std::size_t> out(text.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') open.push_back(i);
    if (text[i] != '}' || open.empty()) continue;
    out[open.back()] = i + 1;
    open.pop_back();
  }
  return out;
}

// The index behind a variable of this kind of interpolation at `i`, 0 where there is none.
std::size_t behind_variable(std::string_view text, std::size_t i, Interpolation kind, const Values& values,
                            const std::vector<std::size_t>& braces) {
  if (i + 1 >= text.size() || text[i] != '$') return 0;
  if (kind == Interpolation::kKubernetes) {
    // A longer one is no name, and many may end at the same bracket.
    const std::string_view start = text.substr(i, limits::kExpressionBytes);
    const auto close = text[i + 1] == '(' ? start.find(')') : std::string_view::npos;
    if (close == std::string_view::npos) return 0;
    // A $(name) that is no variable stays as it is; one in capitals was meant as a variable.
    const std::string_view name = start.substr(2, close - 2);
    return upper_name(name) || values.contains(std::string(name)) ? i + close + 1 : 0;
  }
  if (shell_name_start(text[i + 1])) {
    std::size_t end = i + 1;
    while (end < text.size() && shell_name_char(text[end])) ++end;
    return end;
  }
  return text[i + 1] == '{' ? braces[i + 1] : 0;
}

}  // namespace

namespace {

// What was taken on the way, for nothing else being known.
struct Decided {
  std::set<std::string> empty = {};    // defaults, by their names
  std::set<std::string> missing = {};  // files, by their paths
};

// Whether a command may start a server. `conda activate sglang` and `mkdir -p ~/sglang/logs` start none: a folder or an
// environment of that name says nothing.
bool may_start(const ShellCommand& command) {
  const std::vector<ShellWord>& words = command.words;
  if (words.empty() || only_speaks(words.front().text)) return false;
  const auto names = [](std::string_view text) { return text.find("sglang") != text.npos; };
  const auto in_text = [&](const ShellText& text) { return names(text.text); };
  if (std::ranges::any_of(command.input, in_text) || (command.file && in_text(*command.file))) return true;
  const auto script = script_word(words);
  const bool python = base_name(words.front().text).starts_with("python");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (server_at(words, i) || names_server(word)) return true;
    const bool holds_command = word.find_first_of(" \n") != std::string::npos && !python;
    const bool runs = i == script || (python && i == 1);
    if ((holds_command && names(word)) || (runs && names(base_name(word)))) return true;
    if (is_container_tool(word) && container_run(words, i) && std::ranges::any_of(words, in_text)) return true;
  }
  return false;
}

// Whether a script comes to a launch when it is started so.
bool comes_to_launch(const ShellText& script, std::string_view pasted, const ShellStart& start, Decided& decided) {
  ShellBudget budget{.steps = limits::kProbeSteps};
  ShellStart probe = start;
  probe.trail = nullptr;
  probe.wants_environment = [](const ShellCommand&) { return false; };
  bool any = false;
  probe.on_command = [&](const ShellCommand& c, const Values&, const Conditions&) { any = any || may_start(c); };
  probe.on_fault = [&](const std::string&, std::size_t) { return any; };
  ShellEvaluator evaluator(script, pasted, probe, budget);
  if (!evaluator.run()) return false;
  if (const TakenDefaults& defaults = evaluator.state().defaults; defaults != nullptr) {
    for (const auto& [name, taken] : *defaults) {
      const bool unset = !taken.value && taken.why == TakenWhy::kNotSet && name != "$@";  // ${NAME+x}
      if (unset || (taken.value && taken.value->empty())) decided.empty.insert(name);
      if (taken.why == TakenWhy::kMissing) decided.missing.insert(name);
    }
  }
  return any;
}

// A script may end because a file is missing, which the machine that runs it may have: whether it is there is then not
// known. One that asks for arguments and variables may end with its usage where nobody gives one: it is then followed
// as if they were not known, and so are empty defaults, ${NAME:-}, by which it ends.
void decide_what_is_given(const ShellText& script, std::string_view pasted, ShellStart& start) {
  constexpr std::array<std::string_view, 8> kAsks = {"shift", "getopt", "\"$@\"", "[ ", "[[ ", "test ", "case ", "(("};
  constexpr int kMostEmpty = 6;
  const auto asks = [&](std::string_view sign) { return script.text.find(sign) != script.text.npos; };
  const auto comes = [&](Decided& decided) {
    decided = {};
    return comes_to_launch(script, pasted, start, decided);
  };
  Decided decided;
  start.nothing_given = true;
  if (std::ranges::none_of(kAsks, asks) || comes(decided)) return;
  for (int n = 0; !decided.missing.empty() && n < kMostEmpty; ++n) {
    start.asked.merge(decided.missing);
    if (comes(decided)) return;
    std::erase_if(decided.missing, [&](const std::string& path) { return start.asked.contains(path); });
  }
  start.nothing_given = false;
  for (int n = 0; n < kMostEmpty; ++n) {
    if (comes(decided)) return;
    const std::size_t known = start.asked.size();
    start.asked.merge(decided.empty);
    start.asked.merge(decided.missing);
    if (start.asked.size() == known) break;
  }
  start.asked.clear();
}

}  // namespace

Result<std::vector<ShellNote>> follow_shell(const ShellText& script, std::string_view pasted, const ShellStart& given) {
  if (const auto nul = script.text.find('\0'); nul != std::string::npos) {
    const LineColumn at = line_column(pasted, script.origin.empty() ? nul : script.origin[nul]);
    return failure("the command holds a NUL byte", fmt::format("{}:{}", at.line, at.column));
  }
  if (script.text.size() > limits::kShellBytes)
    return failure("this is longer than any script that is followed: 512 KiB");
  ShellStart start = given;
  decide_what_is_given(script, pasted, start);
  ShellBudget budget;
  ShellEvaluator evaluator(script, pasted, start, budget);
  if (auto done = evaluator.run(); !done) return tl::make_unexpected(done.error());
  return evaluator.take_notes();
}

Result<ShellScript> parse_shell(const ShellText& script, std::string_view pasted, const Variables& given,
                                const Values& inherited) {
  ShellScript out;
  ShellStart start{.given = given, .environment = inherited};
  start.on_command = [&](const ShellCommand& command, const Values&, const Conditions&) {
    out.commands.push_back(command);
  };
  start.wants_environment = [](const ShellCommand&) { return false; };
  auto notes = follow_shell(script, pasted, start);
  if (!notes) return tl::make_unexpected(notes.error());
  out.notes = std::move(*notes);
  return out;
}

Result<ShellWord> interpolate(const ShellWord& word, Interpolation kind, std::string_view pasted,
                              const Variables& given, const Values& values) {
  const std::string& text = word.text;
  if (text.size() > limits::kShellBytes) return failure("a value of more than 512 KiB");
  ShellWord out;
  out.begin = word.begin;
  out.end = word.end;
  ShellBudget budget;
  const bool kubernetes = kind == Interpolation::kKubernetes;
  ShellStart start{.given = given};
  const auto braces = kubernetes ? std::vector<std::size_t>{} : behind_braces(text);
  for (std::size_t i = 0; i < text.size();) {
    // Kubernetes makes a dollar of two, whatever stands behind them; so does compose.
    const bool doubled = text.compare(i, 2, "$$") == 0;
    if (doubled) {
      append(out, slice(word, i, i + 1));
      i += 2;
      continue;
    }
    const std::size_t end = behind_variable(text, i, kind, values, braces);
    if (end == 0) {
      const std::size_t next = std::min(text.find('$', i + 1), text.size());
      append(out, slice(word, i, next));
      i = next;
      continue;
    }
    ShellText variable = slice(word, i, end);
    if (kubernetes) {
      const std::string name = variable.text.substr(2, variable.text.size() - 3);
      variable.text = "${" + name + "}";
    }
    // It sees no more than those that it names: all of them may be many, and long.
    const bool by_another = variable.text.find('!') != std::string::npos;
    start.environment.clear();
    for (const auto& value : values) {
      if (by_another || variable.text.find(value.first) != std::string::npos) start.environment.insert(value);
    }
    ShellEvaluator evaluator(variable, pasted, start, budget);
    ShellParser parser(variable, pasted);
    const Parts parts = parser.quoted_text();
    if (parser.failed()) return tl::make_unexpected(parser.error());
    append(out, evaluator.expand_text(parts));
    if (out.text.size() > limits::kArgumentBytes || out.unknowns.size() > limits::kShellUnknowns)
      return failure("it is longer than 128 KiB");
    i = end;
  }
  if (!FileSteps::take_bytes(out.text.size())) return failure(FileSteps::kNoMore);
  return out;
}

std::optional<bool> outcome_of(const ShellText& script, const ShellStart& start) {
  ShellBudget budget;
  ShellEvaluator shell(script, script.text, start, budget);
  if (!shell.run()) return std::nullopt;
  const ShellState& end = shell.state();
  if (!end.may_end.empty() || end.replaced) return std::nullopt;
  if (end.ended) return end.fails ? std::optional(!*end.fails) : std::nullopt;
  return end.last_status ? std::optional(*end.last_status == "0") : std::nullopt;
}

}  // namespace preflight::sources
