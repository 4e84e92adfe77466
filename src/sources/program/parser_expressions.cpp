// Expressions of a Python program. Tested by tests/traps_test.cpp, with Python as the judge.
#include <algorithm>
#include <array>
#include <utility>

#include "src/sources/program/parser.h"

namespace preflight::sources::program {
namespace {

using ExprKind = Expr::Kind;

}  // namespace

const Expr* Parser::whole_expression() {
  const Expr* out = is("yield") ? expression() : tuple_or_one();
  if (!at_line_end()) throw Fault{};
  return out;
}

const Expr* Parser::tuple_or_one() {
  const std::size_t from = begin();
  const Expr* first = star_or_one();
  if (!is(",")) return first;
  Expr& out = make(ExprKind::kTuple, from);
  out.kids.push_back(first);
  while (take(",")) {
    if (at_line_end() || is("=") || is(")") || is("]") || is("}") || is(";") || is(":")) break;
    out.kids.push_back(star_or_one());
  }
  return done(out);
}

// What a for assigns to: up to its `in`.
const Expr* Parser::target_list() {
  const std::size_t from = begin();
  const auto one = [&]() -> const Expr* {
    if (!is("*")) return binary(0);
    Expr& star = make(ExprKind::kStar, begin());
    ++at_;
    star.kids = {binary(0)};
    return done(star);
  };
  const Expr* first = one();
  if (!is(",")) return first;
  Expr& out = make(ExprKind::kTuple, from);
  out.kids.push_back(first);
  while (take(",")) {
    if (is("in")) break;
    out.kids.push_back(one());
  }
  return done(out);
}

const Expr* Parser::star_or_one() {
  if (!is("*")) return expression();
  Expr& out = make(ExprKind::kStar, begin());
  ++at_;
  out.kids = {binary(0)};
  return done(out);
}

const Expr* Parser::expression() {
  const Deeper deeper(depth_);
  const std::size_t from = begin();
  if (is("lambda")) return lambda();
  if (take("yield")) {
    yields_ = true;
    Expr& out = make(ExprKind::kYield, from);
    if (take("from")) {
      out.name = "from";
      out.kids = {expression()};
    } else if (!at_line_end() && !is(")") && !is("]") && !is("}") && !is(";")) {
      out.kids = {tuple_or_one()};
    }
    return done(out);
  }
  const Expr* first = disjunction();
  if (is(":=")) {
    ++at_;
    Expr& out = make(ExprKind::kWalrus, from);
    out.kids = {first, expression()};
    return done(out);
  }
  if (in_pattern_ || !take("if")) return first;
  Expr& out = make(ExprKind::kChoice, from);
  const Expr* test = disjunction();
  need("else");
  const Expr* other = expression();
  out.kids = {test, first, other};
  return done(out);
}

const Expr* Parser::lambda() {
  Expr& out = make(ExprKind::kLambda, begin());
  ++at_;
  out.parameters = parameters(":", false);
  need(":");
  out.kids = {expression()};
  return done(out);
}

const Expr* Parser::disjunction() {
  const std::size_t from = begin();
  const Expr* first = conjunction();
  if (!is("or")) return first;
  Expr& out = make(ExprKind::kBoolean, from);
  out.name = "or";
  out.kids.push_back(first);
  while (take("or")) out.kids.push_back(conjunction());
  return done(out);
}

const Expr* Parser::conjunction() {
  const std::size_t from = begin();
  const Expr* first = negation();
  if (!is("and")) return first;
  Expr& out = make(ExprKind::kBoolean, from);
  out.name = "and";
  out.kids.push_back(first);
  while (take("and")) out.kids.push_back(negation());
  return done(out);
}

const Expr* Parser::negation() {
  if (!is("not")) return comparison();
  const Deeper deeper(depth_);
  Expr& out = make(ExprKind::kUnary, begin());
  ++at_;
  out.name = "not";
  out.kids = {negation()};
  return done(out);
}

std::optional<std::string> Parser::comparison_sign() {
  for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (is(sign)) {
      ++at_;
      return std::string(sign);
    }
  }
  if (take("in")) return "in";
  if (is("not") && is("in", 1)) {
    at_ += 2;
    return "not in";
  }
  if (!take("is")) return std::nullopt;
  return take("not") ? "is not" : "is";
}

const Expr* Parser::comparison() {
  const std::size_t from = begin();
  const Expr* first = binary(0);
  auto sign = comparison_sign();
  if (!sign) return first;
  Expr& out = make(ExprKind::kCompare, from);
  out.kids.push_back(first);
  for (; sign; sign = comparison_sign()) {
    out.names.push_back(*sign);
    out.kids.push_back(binary(0));
  }
  return done(out);
}

// | ^ & shifts sums products.
std::optional<std::string> Parser::binary_sign(int level) {
  constexpr std::array<std::array<std::string_view, 5>, 6> kSigns = {
      {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"//", "*", "/", "%", "@"}}};
  for (const std::string_view sign : kSigns[static_cast<std::size_t>(level)]) {
    if (sign.empty() || !joined(sign)) continue;
    const std::size_t tokens = sign.size();
    if (sign.size() == 1 && joined(std::string(sign) + "=")) continue;
    if (sign.size() == 2 && joined(std::string(sign) + "=")) continue;
    if (sign == "/" && joined("//=")) continue;
    at_ += tokens;
    return std::string(sign);
  }
  return std::nullopt;
}

const Expr* Parser::binary(int level) {
  if (level == 6) return unary();
  const std::size_t from = begin();
  const Expr* left = binary(level + 1);
  while (auto sign = binary_sign(level)) {
    const Expr* right = binary(level + 1);
    Expr& out = make(ExprKind::kBinary, from);
    out.name = *sign;
    out.kids = {left, right};
    left = done(out);
  }
  return left;
}

const Expr* Parser::unary() {
  if (!is("-") && !is("+") && !is("~")) return power();
  const Deeper deeper(depth_);
  Expr& out = make(ExprKind::kUnary, begin());
  out.name = std::string(word());
  ++at_;
  out.kids = {unary()};
  return done(out);
}

const Expr* Parser::power() {
  const std::size_t from = begin();
  const Expr* base = primary();
  if (!is("**") || joined("**=")) return base;
  const Deeper deeper(depth_);
  ++at_;
  Expr& out = make(ExprKind::kBinary, from);
  out.name = "**";
  out.kids = {base, unary()};
  return done(out);
}

const Expr* Parser::primary() {
  if (!is("await")) return trailers(atom());
  Expr& out = make(ExprKind::kAwait, begin());
  ++at_;
  out.kids = {trailers(atom())};
  return done(out);
}

const Expr* Parser::trailers(const Expr* base) {
  while (!at_line_end()) {
    if (is("(")) {
      base = call(base);
    } else if (is("[")) {
      base = subscript(base);
    } else if (is(".")) {
      ++at_;
      Expr& out = make(ExprKind::kAttribute, base->begin);
      out.kids = {base};
      out.name = take_name();
      base = done(out);
    } else {
      break;
    }
  }
  return base;
}

const Expr* Parser::slice() {
  const std::size_t from = begin();
  const Expr* first = is(":") ? nullptr : star_or_one();
  if (!is(":")) return first;
  Expr& out = make(ExprKind::kSlice, from);
  out.kids = {first, nullptr, nullptr};
  for (std::size_t i = 1; i < 3 && take(":"); ++i) {
    if (!is(":") && !is("]") && !is(",")) out.kids[i] = expression();
  }
  return done(out);
}

const Expr* Parser::subscript(const Expr* base) {
  const Deeper deeper(depth_);
  ++at_;
  Expr& out = make(ExprKind::kSubscript, base->begin);
  const std::size_t from = begin();
  const Expr* index = slice();
  if (is(",")) {
    Expr& tuple = make(ExprKind::kTuple, from);
    tuple.kids.push_back(index);
    while (take(",")) {
      if (is("]")) break;
      tuple.kids.push_back(slice());
    }
    index = done(tuple);
  }
  need("]");
  out.kids = {base, index};
  return done(out);
}

// `base` is none for the bases of a class.
const Expr* Parser::call(const Expr* base) {
  const Deeper deeper(depth_);
  Expr& out = make(ExprKind::kCall, base == nullptr ? begin() : base->begin);
  need("(");
  if (base != nullptr) out.kids.push_back(base);
  while (!is(")")) {
    Argument one;
    if (take("**"))
      one.stars = 2;
    else if (take("*"))
      one.stars = 1;
    if (one.stars == 0 && is("=", 1) && tokens_[at_].kind == Kind::kName) {
      one.name = take_name();
      ++at_;
      const bool again = std::ranges::any_of(out.arguments, [&](const Argument& a) { return a.name == one.name; });
      if (again) throw Fault{};
    }
    // Behind f(a=1, **b) nothing stands that has no name.
    const bool named = one.stars != 0 || !one.name.empty();
    if (!named && std::ranges::any_of(out.arguments, [](const Argument& a) { return a.stars == 2 || !a.name.empty(); }))
      throw Fault{};
    const std::size_t from = begin();
    one.value = expression();
    if (is("for") || (is("async") && is("for", 1))) {
      Expr& generator = make(ExprKind::kComprehension, from);
      generator.name = "generator";
      generator.kids = {one.value};
      generator.clauses = clauses();
      one.value = done(generator);
    }
    out.arguments.push_back(std::move(one));
    if (!take(",")) break;
  }
  need(")");
  return done(out);
}

std::vector<Clause> Parser::clauses() {
  std::vector<Clause> out;
  while (is("for") || (is("async") && is("for", 1))) {
    (void)take("async");
    ++at_;
    Clause one;
    one.target = target_list();
    need("in");
    one.items = disjunction();
    while (take("if")) one.tests.push_back(disjunction());
    out.push_back(std::move(one));
  }
  return out;
}

const Expr* Parser::atom() {
  if (at_line_end()) throw Fault{};
  const PythonToken& token = tokens_[at_];
  if (token.kind == Kind::kText || token.kind == Kind::kFormatText) return texts();
  if (is("(")) return brackets();
  if (is("[")) return list();
  if (is("{")) return braces();
  const bool fraction = is(".") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == Kind::kNumber;
  if (token.kind == Kind::kNumber || fraction) {
    Expr& out = make(ExprKind::kNumber, begin());
    at_ += fraction ? 2 : 1;
    out.name = std::string(text_.substr(out.begin, last_end() - out.begin));
    return done(out);
  }
  if (joined("...")) {
    Expr& out = make(ExprKind::kConstant, begin());
    out.name = "...";
    at_ += 3;
    return done(out);
  }
  const bool constant = is("None") || is("True") || is("False");
  Expr& out = make(constant ? ExprKind::kConstant : ExprKind::kName, begin());
  out.name = take_name();
  return done(out);
}

// --- texts ---

const Expr* Parser::texts() {
  Expr& out = make(ExprKind::kText, begin());
  while (at_ < tokens_.size() && (tokens_[at_].kind == Kind::kText || tokens_[at_].kind == Kind::kFormatText)) {
    add_text(tokens_[at_], out);
    ++at_;
  }
  return done(out);
}

void Parser::add_text(const PythonToken& token, Expr& out) {
  const std::string_view written = text_.substr(token.begin, token.end - token.begin);
  const std::string_view prefix = written.substr(0, written.find_first_of("'\""));
  if (prefix.find_first_of("bB") != std::string_view::npos) out.kind = ExprKind::kBytes;
  ShellText text = python_text(text_, token);
  if (token.kind == Kind::kText) {
    out.parts.push_back({std::move(text), nullptr, '\0', {}});
    return;
  }
  for (TextPart& part : format_parts(text, 0)) out.parts.push_back(std::move(part));
}

std::vector<TextPart> Parser::format_parts(const ShellText& text, int depth) {
  if (depth > 2) throw Fault{};
  std::vector<TextPart> out(1);
  const std::string& all = text.text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool twice = i + 1 < all.size() && all[i + 1] == all[i];
    if ((all[i] == '{' || all[i] == '}') && twice && depth == 0) {
      append(out.back().text, sources::slice(text, i, i + 1));
      ++i;
    } else if (all[i] == '{') {
      out.push_back(format_field(text, i, depth));
      out.emplace_back();
    } else if (all[i] == '}') {
      throw Fault{};
    } else {
      const std::size_t end = std::min(all.find_first_of("{}", i), all.size());
      append(out.back().text, sources::slice(text, i, end));
      i = end - 1;
    }
  }
  return out;
}

// {EXPRESSION!r:FORMAT} at `i`, which is left at its closing brace.
TextPart Parser::format_field(const ShellText& text, std::size_t& i, int depth) {
  const std::string& all = text.text;
  const std::size_t from = i + 1;
  std::size_t end = from;
  char quote = '\0';
  int brackets = 0;
  for (; end < all.size(); ++end) {
    const char c = all[end];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    if (brackets == 0 && (c == '}' || c == ':')) break;
    if (brackets == 0 && c == '!' && end + 1 < all.size() && all[end + 1] != '=') break;
    if (c == '(' || c == '[' || c == '{') ++brackets;
    if (c == ')' || c == ']' || c == '}') --brackets;
  }
  if (end >= all.size() || ++formats_ > 20'000) throw Fault{};
  TextPart out;
  std::string_view written = std::string_view(all).substr(from, end - from);
  const std::size_t last = written.find_last_not_of(" \t");
  // f"{x=}" writes the expression in front, and its repr() where no format is given.
  const bool named = last != std::string_view::npos && written[last] == '=' && last > 0 &&
                     std::string_view("=!<>").find(written[last - 1]) == std::string_view::npos;
  if (named) {
    out.text = sources::slice(text, from, end);
    written = written.substr(0, last);
  }
  // The field stands in the text as it is written, but for escapes, which none holds.
  const std::size_t at = text.origin[from];
  if (text_.substr(at, written.size()) != written) throw Fault{};
  auto tokens = python_tokens(written);
  for (PythonToken& token : tokens) {
    token.begin += at;
    token.end += at;
  }
  // As in brackets: line ends are blanks.
  std::erase_if(tokens, [](const PythonToken& token) { return token.kind == Kind::kLine; });
  Parser inner(text_, std::move(tokens), out_);
  inner.depth_ = depth_ + 1;
  inner.formats_ = formats_;
  out.field = inner.whole_expression();
  formats_ = inner.formats_;
  i = end;
  if (all[i] == '!') {
    if (i + 2 >= all.size()) throw Fault{};
    out.conversion = all[i + 1];
    i += 2;
  }
  if (all[i] == ':') {
    const std::size_t format = ++i;
    for (int open = 0; i < all.size() && (all[i] != '}' || open > 0); ++i) {
      if (all[i] == '{') ++open;
      if (all[i] == '}') --open;
    }
    if (i >= all.size()) throw Fault{};
    out.format = format_parts(sources::slice(text, format, i), depth + 1);
  } else if (named && out.conversion == '\0') {
    out.conversion = 'r';
  }
  if (i >= all.size() || all[i] != '}') throw Fault{};
  return out;
}

// --- brackets ---

const Expr* Parser::comprehension(Expr& out, std::string_view close) {
  out.kind = ExprKind::kComprehension;
  out.clauses = clauses();
  need(close);
  return done(out);
}

const Expr* Parser::brackets() {
  const Deeper deeper(depth_);
  const std::size_t from = begin();
  ++at_;
  if (take(")")) return done(make(ExprKind::kTuple, from));
  const Expr* first = is("*") ? star_or_one() : expression();
  if (is("for") || (is("async") && is("for", 1))) {
    Expr& out = make(ExprKind::kComprehension, from);
    out.name = "generator";
    out.kids = {first};
    return comprehension(out, ")");
  }
  if (take(")")) return first;
  Expr& out = make(ExprKind::kTuple, from);
  out.kids.push_back(first);
  while (take(",")) {
    if (is(")")) break;
    out.kids.push_back(star_or_one());
  }
  need(")");
  return done(out);
}

const Expr* Parser::list() {
  const Deeper deeper(depth_);
  Expr& out = make(ExprKind::kList, begin());
  ++at_;
  while (!is("]")) {
    out.kids.push_back(star_or_one());
    if (out.kids.size() == 1 && (is("for") || (is("async") && is("for", 1)))) {
      out.name = "list";
      return comprehension(out, "]");
    }
    if (!take(",")) break;
  }
  need("]");
  return done(out);
}

const Expr* Parser::braces() {
  const Deeper deeper(depth_);
  Expr& out = make(ExprKind::kDict, begin());
  ++at_;
  bool set = false;
  while (!is("}")) {
    const bool outer = std::exchange(set, false);
    const bool first = out.kids.empty();
    if (take("**")) {
      out.kids.push_back(nullptr);
      out.kids.push_back(binary(0));
    } else {
      out.kids.push_back(star_or_one());
      set = !take(":");
      if (!set) out.kids.push_back(expression());
    }
    if (!first && set != outer) throw Fault{};  // an item of a set among those of a dictionary
    const std::size_t one = set ? 1 : 2;
    if (out.kids.size() == one && out.kids[0] != nullptr && (is("for") || (is("async") && is("for", 1)))) {
      out.name = set ? "set" : "dict";
      return comprehension(out, "}");
    }
    if (!take(",")) break;
  }
  if (set) out.kind = ExprKind::kSet;
  need("}");
  return done(out);
}

}  // namespace preflight::sources::program
