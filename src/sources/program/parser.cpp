// Statements of a Python program. Tested by tests/traps_test.cpp, with Python as the judge.
#include "src/sources/program/parser.h"
#include "src/base/limits.h"

#include <algorithm>
#include <array>

namespace preflight::sources::program {
namespace {

constexpr std::array<std::string_view, 12> kCompound = {"if",    "while", "for",  "try",  "with",   "def",
                                                        "class", "async", "elif", "else", "except", "finally"};

}  // namespace

Parser::Deeper::Deeper(int& d) : depth(d) {
  if (++depth > limits::kProgramDepth) {
    --depth;
    throw Fault{};
  }
}

Parser::Parser(std::string_view text, std::vector<PythonToken> tokens, Program& out)
    : text_(text), tokens_(std::move(tokens)), out_(out) {}

// --- words ---

std::string_view Parser::word(std::size_t ahead) const {
  if (at_ + ahead >= tokens_.size()) return {};
  const PythonToken& token = tokens_[at_ + ahead];
  return text_.substr(token.begin, token.end - token.begin);
}

bool Parser::is(std::string_view sign, std::size_t ahead) const {
  if (at_ + ahead >= tokens_.size()) return false;
  const Kind kind = tokens_[at_ + ahead].kind;
  return (kind == Kind::kSign || kind == Kind::kName) && word(ahead) == sign;
}

bool Parser::joined(std::string_view signs) const {
  std::size_t i = at_;
  std::size_t length = 0;
  while (length < signs.size()) {
    if (i >= tokens_.size() || tokens_[i].kind != Kind::kSign) return false;
    if (length > 0 && tokens_[i].begin != tokens_[i - 1].end) return false;
    length += tokens_[i].end - tokens_[i].begin;
    ++i;
  }
  return length == signs.size() && text_.substr(tokens_[at_].begin, length) == signs;
}

bool Parser::take(std::string_view sign) {
  if (!is(sign)) return false;
  ++at_;
  return true;
}

void Parser::need(std::string_view sign) {
  if (!take(sign)) throw Fault{};
}

std::string Parser::take_name() {
  // The words that no name can be; None, True and False are read as names, too.
  constexpr auto kKeywords = std::to_array<std::string_view>(
      {"if",    "else", "for",   "in",       "is",     "and",      "or",    "not",    "as",      "import", "from",
       "while", "def",  "class", "try",      "with",   "elif",     "del",   "except", "finally", "lambda", "return",
       "yield", "pass", "break", "continue", "global", "nonlocal", "raise", "assert", "await",   "async"});
  if (at_ >= tokens_.size() || tokens_[at_].kind != Kind::kName) throw Fault{};
  if (std::ranges::find(kKeywords, word()) != kKeywords.end()) throw Fault{};
  std::string out(word());
  ++at_;
  return out;
}

std::size_t Parser::begin() const { return at_ < tokens_.size() ? tokens_[at_].begin : text_.size(); }

Expr& Parser::make(Expr::Kind kind, std::size_t begin) {
  Expr& node = out_.expressions.emplace_back();
  node.kind = kind;
  node.begin = begin;
  return node;
}

const Expr* Parser::done(Expr& node) {
  node.end = last_end();
  int right = 0;  // a and b and c is a and (b and (c))
  for (const Expr* kid : node.kids) {
    node.depth = std::max(node.depth, kid == nullptr ? 0 : kid->depth + 1 + right);
    if (node.kind == Expr::Kind::kBoolean && right <= limits::kTreeDepth) ++right;
  }
  for (const Argument& one : node.arguments) node.depth = std::max(node.depth, one.value->depth + 1);
  if (node.depth > limits::kTreeDepth) throw Fault{};
  return &node;
}

// --- statements ---

Block Parser::program() {
  Block out;
  std::optional<std::size_t> own;  // a program may be indented as a whole
  while (at_ < tokens_.size()) {
    if (at_line_end()) {
      ++at_;
      continue;
    }
    if (!own) own = tokens_[at_].indent;
    if (tokens_[at_].indent != *own) throw Fault{};
    statements(out);
  }
  return out;
}

// One line of simple statements, or one compound statement.
void Parser::statements(Block& out) {
  std::vector<const Expr*> decorators;
  while (is("@")) {
    ++at_;
    decorators.push_back(expression());
    if (!at_line_end()) throw Fault{};
    while (at_ < tokens_.size() && at_line_end()) ++at_;
  }
  if (begins_compound() || begins_match())
    out.push_back(compound(decorators));
  else
    simple_line(out);
}

void Parser::block(Block& out, std::size_t indent) {
  const Deeper deeper(depth_);
  need(":");
  if (!at_line_end()) return simple_line(out);
  while (at_ < tokens_.size() && at_line_end()) ++at_;
  if (at_ >= tokens_.size() || tokens_[at_].indent <= indent) throw Fault{};
  const std::size_t own = tokens_[at_].indent;
  while (at_ < tokens_.size()) {
    if (at_line_end()) {
      ++at_;
      continue;
    }
    if (tokens_[at_].indent < own) break;
    if (tokens_[at_].indent > own) throw Fault{};
    statements(out);
  }
}

void Parser::simple_line(Block& out) {
  while (true) {
    out.push_back(simple());
    if (!take(";")) break;
    if (at_line_end()) break;
  }
  if (!at_line_end()) throw Fault{};
  if (at_ < tokens_.size()) ++at_;
}

bool Parser::begins_compound() const {
  if (at_ >= tokens_.size() || tokens_[at_].kind != Kind::kName) return false;
  return std::find(kCompound.begin(), kCompound.end(), word()) != kCompound.end();
}

// "match" is a keyword where a line that begins with it ends with a colon.
bool Parser::begins_match() const {
  if (!is("match") || is("=", 1) || is(".", 1) || is(":", 1)) return false;
  std::size_t i = at_;
  while (i < tokens_.size() && tokens_[i].kind != Kind::kLine) ++i;
  return i > at_ + 1 && tokens_[i - 1].kind == Kind::kSign && text_[tokens_[i - 1].begin] == ':';
}

Stmt& Parser::make_statement(Stmt::Kind kind) {
  Stmt& node = out_.statements.emplace_back();
  node.kind = kind;
  node.begin = begin();
  return node;
}

const Stmt* Parser::simple() {
  struct Word {
    std::string_view word;
    Stmt::Kind kind;
  };
  constexpr std::array<Word, 10> kWords = {{{"pass", Stmt::Kind::kPass},
                                            {"break", Stmt::Kind::kBreak},
                                            {"continue", Stmt::Kind::kContinue},
                                            {"return", Stmt::Kind::kReturn},
                                            {"raise", Stmt::Kind::kRaise},
                                            {"del", Stmt::Kind::kDelete},
                                            {"global", Stmt::Kind::kGlobal},
                                            {"nonlocal", Stmt::Kind::kNonlocal},
                                            {"import", Stmt::Kind::kImport},
                                            {"assert", Stmt::Kind::kAssert}}};
  Stmt& out = make_statement(Stmt::Kind::kExpr);
  const auto known = std::find_if(kWords.begin(), kWords.end(), [&](const Word& one) { return is(one.word); });
  if (is("from")) {
    from_statement(out);
  } else if (known == kWords.end()) {
    expression_statement(out);
  } else {
    out.kind = known->kind;
    ++at_;
    if (out.kind == Stmt::Kind::kImport) {
      import_statement(out);
    } else if (out.kind == Stmt::Kind::kGlobal || out.kind == Stmt::Kind::kNonlocal) {
      do out.names.push_back(take_name());
      while (take(","));
    } else if (out.kind == Stmt::Kind::kDelete) {
      out.targets.push_back(tuple_or_one());
    } else if (!at_line_end() && !is(";")) {
      out.value = out.kind == Stmt::Kind::kAssert || out.kind == Stmt::Kind::kRaise ? expression() : tuple_or_one();
      if (out.kind == Stmt::Kind::kRaise && take("from")) (void)expression();
      if (out.kind == Stmt::Kind::kAssert && take(",")) (void)expression();
    } else if (out.kind == Stmt::Kind::kAssert) {
      throw Fault{};
    }
  }
  out.end = last_end();
  return &out;
}

void Parser::expression_statement(Stmt& out) {
  constexpr std::array<std::string_view, 13> kGrow = {
      "+=", "-=", "*=", "/=", "//=", "%=", "**=", ">>=", "<<=", "&=", "|=", "^=", "@="};
  const Expr* first = is("yield") ? expression() : tuple_or_one();
  out.value = first;
  for (const std::string_view sign : kGrow) {
    if (!joined(sign)) continue;
    const std::size_t end = begin() + sign.size();
    while (at_ < tokens_.size() && tokens_[at_].begin < end) ++at_;
    out.kind = Stmt::Kind::kGrow;
    out.name = std::string(sign.substr(0, sign.size() - 1));
    out.targets = {first};
    out.value = tuple_or_one();
    return;
  }
  if (take(":")) {
    (void)expression();
    out.kind = Stmt::Kind::kAssign;
    out.annotated = true;
    out.targets = {first};
    out.value = take("=") ? tuple_or_one() : nullptr;
    return;
  }
  while (take("=")) {
    out.kind = Stmt::Kind::kAssign;
    out.targets.push_back(out.value);
    out.value = tuple_or_one();
  }
}

std::string Parser::dotted() {
  std::string out;
  while (is(".")) {
    out += '.';
    ++at_;
  }
  if (at_ < tokens_.size() && tokens_[at_].kind == Kind::kName && !is("import")) out += take_name();
  while (take(".")) out += "." + take_name();
  return out;
}

void Parser::import_statement(Stmt& out) {
  do {
    out.names.push_back(dotted());
    if (out.names.back().empty()) throw Fault{};
    out.names.push_back(take("as") ? take_name() : std::string());
  } while (take(","));
}

void Parser::from_statement(Stmt& out) {
  out.kind = Stmt::Kind::kImportFrom;
  ++at_;
  out.name = dotted();
  if (out.name.empty()) throw Fault{};
  need("import");
  if (take("*")) {
    out.names = {"*", ""};
    return;
  }
  const bool bracket = take("(");
  do {
    if (is(")")) break;
    out.names.push_back(take_name());
    out.names.push_back(take("as") ? take_name() : std::string());
  } while (take(","));
  if (bracket) need(")");
}

// The keyword of a clause at the statement's own depth: else, except, finally.
bool Parser::next_clause(std::string_view keyword, std::size_t indent) {
  std::size_t i = at_;
  while (i < tokens_.size() && tokens_[i].kind == Kind::kLine) ++i;
  if (i >= tokens_.size() || tokens_[i].indent != indent) return false;
  const std::size_t before = std::exchange(at_, i);
  if (take(keyword)) return true;
  at_ = before;
  return false;
}

const Stmt* Parser::compound(const std::vector<const Expr*>& decorators) {
  const std::size_t indent = tokens_[at_].indent;
  Stmt& out = make_statement(Stmt::Kind::kIf);
  out.waits = take("async");
  if (take("if")) {
    if_statement(out, indent);
  } else if (take("while")) {
    out.kind = Stmt::Kind::kWhile;
    out.value = expression();
    block(out.body, indent);
    else_block(out.other, indent);
  } else if (take("for")) {
    out.kind = Stmt::Kind::kFor;
    out.targets = {target_list()};
    need("in");
    out.value = tuple_or_one();
    block(out.body, indent);
    else_block(out.other, indent);
  } else if (take("try")) {
    try_statement(out, indent);
  } else if (take("with")) {
    with_statement(out, indent);
  } else if (take("def")) {
    out.values = decorators;
    function_statement(out, indent);
  } else if (take("class")) {
    out.values = decorators;
    class_statement(out, indent);
  } else if (take("match")) {
    match_statement(out, indent);
  } else {
    throw Fault{};
  }
  out.end = last_end();
  return &out;
}

void Parser::if_statement(Stmt& out, std::size_t indent) {
  out.value = expression();
  block(out.body, indent);
  if (next_clause("elif", indent)) {
    const Deeper deeper(depth_);
    Stmt& next = make_statement(Stmt::Kind::kIf);
    next.begin = tokens_[at_ - 1].begin;
    if_statement(next, indent);
    next.end = last_end();
    out.other.push_back(&next);
    return;
  }
  else_block(out.other, indent);
}

void Parser::else_block(Block& out, std::size_t indent) {
  if (next_clause("else", indent)) block(out, indent);
}

void Parser::try_statement(Stmt& out, std::size_t indent) {
  out.kind = Stmt::Kind::kTry;
  block(out.body, indent);
  while (next_clause("except", indent)) {
    Handler handler;
    (void)take("*");
    if (!is(":")) handler.what = tuple_or_one();
    if (take("as")) handler.name = take_name();
    block(handler.body, indent);
    out.handlers.push_back(std::move(handler));
  }
  else_block(out.other, indent);
  if (next_clause("finally", indent)) block(out.last, indent);
}

void Parser::with_statement(Stmt& out, std::size_t indent) {
  out.kind = Stmt::Kind::kWith;
  if (!with_in_brackets(out)) {
    do {
      out.values.push_back(expression());
      out.targets.push_back(take("as") ? star_or_one() : nullptr);
    } while (take(","));
  }
  block(out.body, indent);
}

// with (a as b, c as d):
bool Parser::with_in_brackets(Stmt& out) {
  if (!is("(")) return false;
  std::size_t depth = 0;
  bool named = false;
  std::size_t i = at_;
  for (; i < tokens_.size() && tokens_[i].kind != Kind::kLine; ++i) {
    const std::string_view w = text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
    if (w == "(" || w == "[" || w == "{") ++depth;
    if ((w == ")" || w == "]" || w == "}") && --depth == 0) break;
    named = named || (depth == 1 && w == "as" && tokens_[i].kind == Kind::kName);
  }
  if (!named) return false;
  ++at_;
  do {
    if (is(")")) break;
    out.values.push_back(expression());
    out.targets.push_back(take("as") ? star_or_one() : nullptr);
  } while (take(","));
  need(")");
  return true;
}

void Parser::type_parameters() {
  if (!take("[")) return;
  for (std::size_t depth = 1; depth > 0; ++at_) {
    if (at_line_end()) throw Fault{};
    if (is("[")) ++depth;
    if (is("]")) --depth;
  }
}

void Parser::function_statement(Stmt& out, std::size_t indent) {
  out.kind = Stmt::Kind::kFunction;
  out.name = take_name();
  type_parameters();
  need("(");
  out.parameters = parameters(")", true);
  need(")");
  if (take("->")) (void)expression();
  const bool outer = std::exchange(yields_, false);
  block(out.body, indent);
  out.generates = std::exchange(yields_, outer);
}

void Parser::class_statement(Stmt& out, std::size_t indent) {
  out.kind = Stmt::Kind::kClass;
  out.name = take_name();
  type_parameters();
  if (is("(")) out.arguments = call(nullptr)->arguments;
  block(out.body, indent);
}

// case A | B: are read as expressions; | is told from an operator where they are matched.
void Parser::match_statement(Stmt& out, std::size_t indent) {
  out.kind = Stmt::Kind::kMatch;
  out.value = tuple_or_one();
  need(":");
  while (at_ < tokens_.size() && at_line_end()) ++at_;
  if (at_ >= tokens_.size() || tokens_[at_].indent <= indent) throw Fault{};
  const std::size_t own = tokens_[at_].indent;
  while (next_clause("case", own)) {
    Handler handler;
    in_pattern_ = true;
    handler.what = tuple_or_one();
    in_pattern_ = false;
    if (take("as")) handler.name = take_name();
    if (take("if")) handler.guard = expression();
    block(handler.body, own);
    out.handlers.push_back(std::move(handler));
  }
}

std::vector<Parameter> Parser::parameters(std::string_view close, bool annotated) {
  std::vector<Parameter> out;
  bool keyword_only = false;
  while (!is(close)) {
    if (take("/")) {
      for (Parameter& one : out) one.positional_only = true;
      if (!take(",")) break;
      continue;
    }
    Parameter one;
    if (take("**"))
      one.stars = 2;
    else if (take("*"))
      one.stars = 1;
    if (one.stars == 1 && (is(",") || is(close))) {
      keyword_only = true;
      if (!take(",")) break;
      continue;
    }
    one.keyword_only = keyword_only && one.stars == 0;
    one.name = take_name();
    keyword_only = keyword_only || one.stars == 1;
    if (annotated && take(":")) one.annotation = star_or_one();
    if (take("=")) one.fallback = expression();
    out.push_back(std::move(one));
    if (!take(",")) break;
  }
  return out;
}

Program parse_program(std::string_view text) {
  Program out;
  auto tokens = python_tokens(text);
  // A text that ends in an open quote, or one that is too long, is not read to its end.
  const std::size_t read = tokens.back().end;
  const bool whole = tokens.size() < limits::kPythonTokens && read >= text.size();
  if (!whole) {
    out.fault = read;
    return out;
  }
  Parser parser(text, std::move(tokens), out);
  try {
    out.body = parser.program();
  } catch (const Parser::Fault&) {
    out.fault = std::min(parser.begin(), text.size());
  }
  return out;
}

}  // namespace preflight::sources::program
