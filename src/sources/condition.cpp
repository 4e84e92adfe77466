#include "src/sources/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace preflight::sources {
namespace {

constexpr std::string_view kUnless = "unless ";

Condition made(Condition::Kind kind, std::string_view front, const std::vector<Said>& said) {
  Condition out{.kind = kind, .text = std::string(front)};
  for (const Said& piece : said) {
    if (piece.whose != Said::Whose::kOurs)
      out.written.push_back({out.text.size(), piece.text.size(), piece.whose == Said::Whose::kName});
    out.text += piece.text;
  }
  return out;
}

}  // namespace

Said named(std::string_view name) { return {std::string(name), Said::Whose::kName}; }
Said written(std::string_view text) { return {std::string(text), Said::Whose::kTheirs}; }
Said at_line(std::size_t line) { return {fmt::format(" at line {}", line)}; }

std::string_view Condition::ending() const {
  const std::string_view all = text;
  return all.starts_with(kUnless) ? all.substr(kUnless.size()) : all;
}

bool operator==(const Condition& a, const Condition& b) { return a.text == b.text; }
bool operator<(const Condition& a, const Condition& b) { return a.text < b.text; }

Condition in_branch(std::size_t line) { return made(Condition::Kind::kIf, "in a branch", {at_line(line)}); }
Condition in_loop(std::size_t line) { return made(Condition::Kind::kIf, "in a loop", {at_line(line)}); }
Condition in_turn(std::size_t turn) {
  return {.kind = Condition::Kind::kTurn, .text = fmt::format("turn {} of a loop", turn)};
}
Condition with_value(std::string_view variable, std::string_view value) {
  Condition out = made(Condition::Kind::kTurn, "", {{fmt::format("{}=", variable)}, written(value)});
  out.variable = variable;
  return out;
}
Condition as(const std::vector<Said>& said) { return made(Condition::Kind::kPart, "as ", said); }
Condition where(const std::vector<Said>& said) { return made(Condition::Kind::kIf, "where ", said); }
Condition unless(const std::vector<Said>& said) { return made(Condition::Kind::kUnless, kUnless, said); }
Condition unless_ended(std::string_view what, std::size_t line) {
  return made(Condition::Kind::kUnless, kUnless, {{std::string(what)}, at_line(line)});
}
Condition unless_unset(std::string_view variable, std::size_t line) {
  Condition out = made(Condition::Kind::kUnsetEnds, kUnless, {named(variable), {" is not set"}, at_line(line)});
  out.variable = variable;
  return out;
}
Condition unless_no_file(std::size_t line) {
  return made(Condition::Kind::kNoFileEnds, kUnless, {{"the pattern is of no file"}, at_line(line)});
}
Condition unless_no_value(std::size_t line) {
  return made(Condition::Kind::kNoValueEnds, kUnless, {{"an expansion fails"}, at_line(line)});
}
Condition called_by(std::string_view decorator, std::string_view function) {
  return made(Condition::Kind::kDecorated, "as @", {named(decorator), {" calls "}, named(function)});
}
Condition left_by(std::string_view decorator, std::string_view function) {
  return made(Condition::Kind::kDecorated, "as @", {named(decorator), {" leaves what "}, named(function), {" gives"}});
}
Condition uncalled(std::string_view function) {
  return made(Condition::Kind::kUncalled, "in ", {named(function), {", which nothing here calls"}});
}

bool Conditions::has(Condition::Kind kind) const {
  return std::ranges::any_of(all, [&](const Condition& one) { return one.kind == kind; });
}

void Conditions::add(Condition one) {
  if (!one.empty()) all.push_back(std::move(one));
}

void Conditions::add(const Conditions& more) { all.insert(all.end(), more.all.begin(), more.all.end()); }

void Conditions::put_in_front(const Conditions& outer) { all.insert(all.begin(), outer.all.begin(), outer.all.end()); }

std::string Conditions::text() const {
  std::vector<std::string> texts;
  for (const Condition& one : all) texts.push_back(one.text);
  return joined(*this, texts);
}

bool operator==(const Conditions& a, const Conditions& b) { return a.all == b.all; }
bool operator<(const Conditions& a, const Conditions& b) { return a.all < b.all; }

std::string joined(const Conditions& conditions, const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto turns = [&](std::size_t at) { return conditions.all[at].kind == Condition::Kind::kTurn; };
    if (i > 0) out += turns(i - 1) && turns(i) ? ", " : "; ";
    out += texts[i];
  }
  return out;
}

}  // namespace preflight::sources
