// Recipes of just: a shell of its own for each line, or a script where the body begins with #!. What {{…}} puts into it
// is known where the file says so: texts, variables, parameters with a default, what one recipe hands another. A
// recipe is read as `just NAME` starts it.
//
// Source: just.systems, grammar of 1.x. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/container_command.h"
#include "src/sources/file_steps.h"
#include "src/sources/readers/readers.h"
#include "src/sources/readers/variable_file.h"
#include "src/sources/shell/bash_only.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

bool begins_a_name(char c) { return kNameCharacters.substr(0, 52).find(c) != std::string_view::npos || c == '_'; }

struct Piece {  // of the file
  std::size_t from = 0;
  std::size_t to = 0;
};

struct Parameter {
  std::string name;
  std::optional<Piece> fallback = {};
  bool many = false;    // *NAME, +NAME
  bool needed = false;  // +NAME, or a plain one without a default
  bool exported = false;
};

struct Recipe {
  std::string name;
  std::vector<Parameter> parameters = {};
  Piece needs = {};               // behind the colon
  std::vector<Piece> lines = {};  // of its body
  std::size_t indent = 0;
  bool aside = false;  // not read: its launches are told
};

constexpr std::size_t kMostSteps = 100'000;

class Justfile {
 public:
  Justfile(const SourceText& source, LaunchFinder& finder) : source_(source), finder_(finder) {}
  Result<bool> run();

 private:
  using Scope = std::map<std::string, ShellText>;  // parameters of the recipe

  void read_lines();
  void read_top(Piece line);
  void read_attributes(std::string_view line);
  void read_setting(std::string_view line, std::size_t at);
  bool read_recipe(Piece line);
  std::optional<Parameter> parameter(std::size_t& at, std::size_t to) const;
  void start(const Recipe& recipe, const std::vector<ShellText>& given, const std::string& name, int depth);
  void needed_recipes(const Recipe& recipe, const Scope& scope, const std::string& name, int depth);
  Scope scope_of(const Recipe& recipe, const std::vector<ShellText>& given);
  void run_script(const Recipe& recipe, const Scope& scope, RunContext context);
  void run_line(Piece line, const Recipe& recipe, const Scope& scope, const RunContext& context);
  RunContext context_of(const Recipe& recipe, const Scope& scope, const std::string& name);
  ShellText filled(Piece part, const Scope& scope);

  // Expressions; `at` moves behind what was read.
  ShellText expression(std::size_t& at, std::size_t to, const Scope& scope, int depth = 0);
  ShellText term(std::size_t& at, std::size_t to, const Scope& scope, int depth);
  ShellText quoted(std::size_t& at, std::size_t to);
  ShellText variable(const std::string& name, std::size_t at, const Scope& scope, int depth);
  ShellText called(const std::string& name, std::size_t& at, std::size_t to, const Scope& scope, int depth);
  ShellText not_known(Piece part) const;
  std::size_t behind_blanks(std::size_t at, std::size_t to) const {
    while (at < to && (source_.text[at] == ' ' || source_.text[at] == '\t')) ++at;
    return at;
  }
  [[nodiscard]] std::string name_at(std::size_t at, std::size_t to) const {
    const std::size_t end = std::min(source_.text.find_first_not_of(kNameCharacters, at), to);
    return at < to && begins_a_name(source_.text[at]) ? std::string(source_.text.substr(at, end - at)) : std::string();
  }

  const SourceText& source_;
  LaunchFinder& finder_;
  std::map<std::string, Piece> variables_ = {};
  std::vector<std::string> exports_ = {};
  std::optional<Values> exported_ = {};
  std::vector<Recipe> recipes_ = {};
  std::vector<std::string> shell_ = {"sh", "-cu"};
  bool exports_all_ = false;
  bool loads_dotenv_ = false;
  bool aside_ = false;  // the next recipe
  std::size_t steps_ = 0;
  std::optional<Error> error_ = {};
};

ShellText Justfile::not_known(Piece part) const {
  std::string text(source_.text.substr(part.from, part.to - part.from));
  constexpr std::size_t kShown = 60;
  if (text.size() > kShown) text = text.substr(0, kShown) + "…";
  if (const auto given = source_.given.find(text); given != source_.given.end())
    return {given->second, std::vector<std::size_t>(given->second.size(), part.from), {}};
  return unknown_text(fmt::format("{} is made where just runs; give it with {}", text, how_to_set(text)), part.from);
}

// --- expressions ---

// 'as it stands', "with \n and its kin".
ShellText Justfile::quoted(std::size_t& at, std::size_t to) {
  const char quote = source_.text[at];
  const std::size_t begin = at;
  const bool block = source_.text.substr(at, 3) == std::string(3, quote);
  ShellText out;
  for (++at; at < to && source_.text[at] != quote && !block; ++at) {
    const bool escape = quote == '"' && source_.text[at] == '\\' && at + 1 < to;
    if (!escape) {
      append(out, piece(source_.text, at, at + 1));
      continue;
    }
    constexpr std::string_view kLetters = "nrt\"\\";
    constexpr std::string_view kMeanings = "\n\r\t\"\\";
    const auto which = kLetters.find(source_.text[++at]);
    if (which == std::string_view::npos) return not_known({begin, to});
    append(out, {std::string(1, kMeanings[which]), {at}, {}});
  }
  if (block || at >= to) {  // a text of several lines, or one that does not end here
    at = to;
    return not_known({begin, to});
  }
  ++at;
  return out;
}

// A parameter, or a variable of the file.
ShellText Justfile::variable(const std::string& name, std::size_t at, const Scope& scope, int depth) {
  if (const auto own = scope.find(name); own != scope.end()) return own->second;
  const auto of_file = variables_.find(name);
  if (of_file == variables_.end()) return not_known({at, at + name.size()});
  if (const auto given = source_.given.find(name); given != source_.given.end())
    return {given->second, std::vector<std::size_t>(given->second.size(), at), {}};
  std::size_t from = of_file->second.from;
  ShellText out = expression(from, of_file->second.to, {}, depth + 1);
  if (behind_blanks(from, of_file->second.to) < of_file->second.to) return not_known(of_file->second);
  return out;
}

// env('NAME', 'default'), which is what nothing sets here; others are asked about.
ShellText Justfile::called(const std::string& name, std::size_t& at, std::size_t to, const Scope& scope, int depth) {
  const std::size_t begin = at - name.size();
  std::vector<ShellText> values;
  for (at = behind_blanks(at + 1, to); at < to && source_.text[at] != ')';) {
    const std::size_t before = at;
    values.push_back(expression(at, to, scope, depth + 1));
    at = behind_blanks(at, to);
    if (at < to && source_.text[at] == ',') at = behind_blanks(at + 1, to);
    if (at == before) break;
  }
  if (at < to) ++at;
  const bool of_environment = name == "env" || name == "env_var_or_default";
  if (of_environment && values.size() == 2 && values[0].unknowns.empty()) {
    if (const auto given = source_.given.find(values[0].text); given != source_.given.end())
      return {given->second, std::vector<std::size_t>(given->second.size(), begin), {}};
    return standing_in(values[1], values[0].text, begin);
  }
  return not_known({begin, at});
}

ShellText Justfile::term(std::size_t& at, std::size_t to, const Scope& scope, int depth) {
  at = behind_blanks(at, to);
  const std::size_t begin = at;
  if (at >= to || depth > 50) return at = to, not_known({begin, to});
  const char c = source_.text[at];
  if (c == '\'' || c == '"') return quoted(at, to);
  if (c == '(') {
    ShellText out = expression(++at, to, scope, depth + 1);
    at = behind_blanks(at, to);
    if (at < to && source_.text[at] == ')') return ++at, out;
    return at = to, not_known({begin, to});
  }
  const std::string name = name_at(at, to);
  if (name.empty() || name == "if" || name == "assert") return at = to, not_known({begin, to});
  at += name.size();
  if (at < to && source_.text[at] == '(') return called(name, at, to, scope, depth);
  return variable(name, begin, scope, depth);
}

// A + B, A / B
ShellText Justfile::expression(std::size_t& at, std::size_t to, const Scope& scope, int depth) {
  if (++steps_ > kMostSteps) return at = to, unknown_text("this file needs more steps than are followed", at);
  ShellText out = term(at, to, scope, depth);
  for (at = behind_blanks(at, to); at < to && (source_.text[at] == '+' || source_.text[at] == '/');
       at = behind_blanks(at, to)) {
    const bool path = source_.text[at] == '/';
    if (path) append(out, {"/", {at}, {}});
    ++at;
    append(out, term(at, to, scope, depth));
    if (out.text.size() > limits::kVariableBytes)
      return at = to, unknown_text("a value of this file is longer than is followed", at);
  }
  return out;
}

// A part of a body with what {{…}} puts into it; {{{{ are two of them.
ShellText Justfile::filled(Piece part, const Scope& scope) {
  ShellText out;
  std::size_t from = part.from;
  for (auto at = source_.text.find("{{", from); at < part.to; at = source_.text.find("{{", from)) {
    append(out, piece(source_.text, from, at));
    if (source_.text.substr(at, 4) == "{{{{") {
      append(out, piece(source_.text, at, at + 2));
      from = at + 4;
      continue;
    }
    const std::size_t end = source_.text.find("}}", at + 2);
    if (end >= part.to) return out;
    std::size_t inside = at + 2;
    ShellText value = expression(inside, end, scope);
    if (behind_blanks(inside, end) < end) value = not_known({behind_blanks(at + 2, end), end});
    append(out, value);
    from = end + 2;
  }
  append(out, piece(source_.text, from, part.to));
  return out;
}

// --- the file ---

// set shell := ["bash", "-uc"], set export, set dotenv-load
void Justfile::read_setting(std::string_view line, std::size_t at) {
  const auto names = [&](std::string_view name) {
    const std::string_view rest = line.substr(std::min<std::size_t>(4, line.size()));
    const bool on = rest.find("false") == std::string_view::npos;
    return rest.starts_with(name) && on &&
           (rest.size() == name.size() || kNameCharacters.find(rest[name.size()]) == std::string_view::npos);
  };
  exports_all_ = exports_all_ || names("export");
  loads_dotenv_ = loads_dotenv_ || names("dotenv-load") || names("dotenv-filename") || names("dotenv-path");
  if (!names("shell")) return;
  shell_.clear();
  for (std::size_t i = at; i < at + line.size();) {
    const char c = source_.text[i];
    if (c != '"' && c != '\'') {
      ++i;
      continue;
    }
    shell_.push_back(quoted(i, at + line.size()).text);
  }
}

// NAME, NAME='default', *NAME, +NAME, $NAME; none where a header holds something else.
std::optional<Parameter> Justfile::parameter(std::size_t& at, std::size_t to) const {
  Parameter out;
  if (source_.text[at] == '*' || source_.text[at] == '+') {
    out.many = true;
    out.needed = source_.text[at++] == '+';
  }
  if (at < to && source_.text[at] == '$') out.exported = ++at > 0;
  out.name = name_at(at, to);
  if (out.name.empty()) return std::nullopt;
  at = behind_blanks(at + out.name.size(), to);
  if (at >= to || source_.text[at] != '=') {
    out.needed = out.needed || !out.many;
    return out;
  }
  const std::size_t begin = ++at;
  Justfile aside(source_, finder_);  // which only finds the end
  (void)aside.term(at, to, {}, 0);
  out.fallback = Piece{begin, at};
  out.needed = false;
  return out;
}

// [@]NAME PARAMETERS: NEEDS; false where the line is none.
bool Justfile::read_recipe(Piece line) {
  std::size_t at = line.from;
  if (source_.text[at] == '@') ++at;
  Recipe recipe{.name = name_at(at, line.to)};
  if (recipe.name.empty()) return false;
  for (at = behind_blanks(at + recipe.name.size(), line.to); at < line.to && source_.text[at] != ':';
       at = behind_blanks(at, line.to)) {
    auto one = parameter(at, line.to);
    if (!one) return false;
    recipe.parameters.push_back(std::move(*one));
  }
  if (at >= line.to) return false;
  recipe.needs = {at + 1, line.to};
  recipes_.push_back(std::move(recipe));
  return true;
}

void Justfile::read_top(Piece line) {
  const std::string_view text = source_.text.substr(line.from, line.to - line.from);
  if (text.starts_with("set ")) return read_setting(text, line.from);
  if (text.starts_with("alias ") || text.starts_with("import") || text.starts_with("mod ")) return;
  if (text[0] == '[') return read_attributes(text);
  const bool aside = std::exchange(aside_, false);
  const bool exported = text.starts_with("export ");
  const std::size_t at = line.from + (exported ? 7 : 0);
  const std::string name = name_at(at, line.to);
  const std::size_t sign = behind_blanks(at + name.size(), line.to);
  if (!name.empty() && source_.text.substr(sign, 2) == ":=") {
    variables_.insert_or_assign(name, Piece{sign + 2, line.to});
    if (exported) exports_.push_back(name);
    return;
  }
  if (read_recipe(line)) recipes_.back().aside = aside;
}

// [windows]: a recipe of another system; [script]: one that another interpreter reads.
void Justfile::read_attributes(std::string_view line) {
  const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
  const bool other = (has("windows") || has("macos") || has("openbsd")) && !has("linux") && !has("unix");
  aside_ = aside_ || other || has("script");
}

// Lines of a body are indented; what is not indented ends it.
void Justfile::read_lines() {
  bool inside = false;
  for (std::size_t from = 0; from < source_.text.size();) {
    const std::size_t end = std::min(source_.text.find('\n', from), source_.text.size());
    const std::size_t first = std::min(source_.text.find_first_not_of(" \t\r", from), end);
    const Piece line{from, end > from && source_.text[end - 1] == '\r' ? end - 1 : end};
    if (first > from && first < end && inside) {
      Recipe& recipe = recipes_.back();
      if (recipe.lines.empty()) recipe.indent = first - from;
      recipe.lines.push_back(line);
    } else if (first < end && source_.text[from] != '#') {
      const std::size_t before = recipes_.size();
      read_top(line);
      inside = recipes_.size() > before;
    } else if (inside && first == end && !recipes_.back().lines.empty()) {
      recipes_.back().lines.push_back(line);  // an empty line of a script
    }
    from = end + 1;
  }
}

// --- recipes ---

Justfile::Scope Justfile::scope_of(const Recipe& recipe, const std::vector<ShellText>& given) {
  Scope out;
  std::size_t next = 0;
  for (const Parameter& one : recipe.parameters) {
    const std::size_t at = recipe.needs.from;
    const auto set = source_.given.find(one.name);
    if (one.many && next < given.size()) {
      ShellText all = given[next++];
      for (; next < given.size(); ++next) {
        append(all, {" ", {at}, {}});
        append(all, given[next]);
      }
      out[one.name] = std::move(all);
    } else if (next < given.size()) {
      out[one.name] = given[next++];
    } else if (set != source_.given.end()) {
      out[one.name] = {set->second, std::vector<std::size_t>(set->second.size(), at), {}};
    } else if (one.needed) {
      out[one.name] = unknown_text(
          fmt::format("{} is given where {} is started; give it with {}", one.name, recipe.name, how_to_set(one.name)),
          at);
    } else {
      std::size_t from = one.fallback ? one.fallback->from : 0;
      ShellText value = one.fallback ? term(from, one.fallback->to, out, 0) : ShellText{};
      out[one.name] = standing_in(std::move(value), one.name, one.fallback ? one.fallback->from : at);
    }
  }
  return out;
}

RunContext Justfile::context_of(const Recipe& recipe, const Scope& scope, const std::string& name) {
  RunContext context{.name = name};
  if (loads_dotenv_) {
    if (const auto text = file_beside(source_.name, ".env"))
      context.env = variables_of(*text, source_.given, recipe.needs.from);
    else
      finder_.note({"SH002", ".env is not read: what it sets is not known", recipe.needs.from});
  }
  if (!exported_) {
    exported_.emplace();
    const std::set<std::string> named(exports_.begin(), exports_.end());
    for (const auto& [known, value] : variables_) {
      if (exports_all_ || named.contains(known)) exported_->insert_or_assign(known, variable(known, value.from, {}, 0));
    }
  }
  for (const auto& [known, value] : *exported_) context.env.insert_or_assign(known, value);
  for (const Parameter& one : recipe.parameters) {
    if (exports_all_ || one.exported) context.env.insert_or_assign(one.name, scope.at(one.name));
  }
  return context;
}

// A body that begins with #! is one script.
void Justfile::run_script(const Recipe& recipe, const Scope& scope, RunContext context) {
  ShellText script;
  for (const Piece& line : recipe.lines) {
    append(script, filled({std::min(line.from + recipe.indent, line.to), line.to}, scope));
    append(script, {"\n", {line.to}, {}});
  }
  const std::string first = script.text.substr(0, script.text.find('\n'));
  const bool shell = first.find("sh") != std::string::npos && first.find("fish") == std::string::npos;
  if (!shell && first.find("python") != std::string::npos) {
    auto done = read_part(script, FileKind::kWords, context.name, source_, finder_);
    if (!done && !error_) error_ = done.error();
    return;
  }
  if (!shell) return;  // told as what nothing that is followed runs
  if (begins_for_sh(script.text)) ask_of_sh(script, context.unknown);
  context.options = options_of_first_line(script.text);
  auto done = finder_.script(script, context);
  if (!done && !error_) error_ = done.error();
}

// A line is a command for the shell; @ and - in front of it are just's own.
void Justfile::run_line(Piece line, const Recipe& recipe, const Scope& scope, const RunContext& context) {
  std::size_t from = std::min(line.from + recipe.indent, line.to);
  while (from < line.to && (source_.text[from] == '@' || source_.text[from] == '-')) ++from;
  const ShellText text = filled({from, line.to}, scope);
  if (text.text.find("sglang") == std::string::npos && text.unknowns.empty()) return;
  RunContext one = context;
  if (base_name(shell_[0]) != "bash") ask_of_sh(text, one.unknown);
  for (std::size_t i = 1; i < shell_.size(); ++i) {
    std::string option = shell_[i];
    std::erase(option, 'c');
    if (option.size() > 1 && option[0] == '-' && option[1] != '-') one.options.push_back(std::move(option));
  }
  auto done = finder_.script(text, one);
  if (!done && !error_) error_ = done.error();
}

// `serve: build (other "a" tp)`: what is handed arguments runs with them.
void Justfile::needed_recipes(const Recipe& recipe, const Scope& scope, const std::string& name, int depth) {
  constexpr int kDeepest = 5;
  const std::size_t to = recipe.needs.to;
  for (std::size_t at = source_.text.find('(', recipe.needs.from); at < to; at = source_.text.find('(', at)) {
    at = behind_blanks(at + 1, to);
    const std::string called = name_at(at, to);
    const auto other = std::ranges::find(recipes_, called, &Recipe::name);
    std::vector<ShellText> given;
    for (at = behind_blanks(at + called.size(), to); at < to && source_.text[at] != ')'; at = behind_blanks(at, to)) {
      const std::size_t before = at;
      given.push_back(expression(at, to, scope));
      if (at == before) return;
    }
    if (other != recipes_.end() && depth < kDeepest && !given.empty()) start(*other, given, name, depth + 1);
  }
}

void Justfile::start(const Recipe& recipe, const std::vector<ShellText>& given, const std::string& name, int depth) {
  steps_ += 1 + recipes_.size() / 50 + (exported_ ? exported_->size() : 0);
  if (steps_ > kMostSteps && !error_)
    error_ = Error{"this file needs more steps than are followed: give what `just --dry-run RECIPE` prints"};
  if (error_) return;
  const Scope scope = scope_of(recipe, given);
  needed_recipes(recipe, scope, name, depth);
  if (recipe.lines.empty() || recipe.aside || error_) return;
  const RunContext context = context_of(recipe, scope, name);
  const Piece& first = recipe.lines.front();
  const std::size_t begin = std::min(first.from + recipe.indent, first.to);
  if (source_.text.substr(begin, 2) == "#!") return run_script(recipe, scope, context);
  for (std::size_t i = 0; i < recipe.lines.size() && !error_; ++i) {
    Piece line = recipe.lines[i];
    while (line.to > line.from && source_.text[line.to - 1] == '\\' && i + 1 < recipe.lines.size())
      line.to = recipe.lines[++i].to;
    run_line(line, recipe, scope, context);
  }
}

Result<bool> Justfile::run() {
  read_lines();
  if (shell_.empty() || !is_shell(shell_[0]))
    return tl::make_unexpected(
        Error{"just runs this file with another shell than is read: give what `just --dry-run RECIPE` prints"});
  for (const Recipe& recipe : recipes_) {
    start(recipe, {}, recipe.name, 0);
    if (error_) return tl::make_unexpected(*error_);
  }
  return true;
}

}  // namespace

Result<bool> read_justfile(const SourceText& source, LaunchFinder& finder) { return Justfile(source, finder).run(); }

}  // namespace preflight::sources
