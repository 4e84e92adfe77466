// Reads the words of a Python program into its tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/sources/program/syntax.h"
#include "src/sources/readers/python_tokens.h"

namespace preflight::sources::program {

class Parser {
 public:
  Parser(std::string_view text, std::vector<PythonToken> tokens, Program& out);

  Block program();
  const Expr* whole_expression();  // of a field in an f-string

 private:
  struct Fault {};
  using Kind = PythonToken::Kind;

  // Words.
  [[nodiscard]] std::string_view word(std::size_t ahead = 0) const;
  [[nodiscard]] bool at_line_end() const { return at_ >= tokens_.size() || tokens_[at_].kind == Kind::kLine; }
  [[nodiscard]] bool is(std::string_view sign, std::size_t ahead = 0) const;
  [[nodiscard]] bool joined(std::string_view signs) const;  // several tokens without a blank between them
  bool take(std::string_view sign);
  void need(std::string_view sign);
  std::string take_name();
  [[nodiscard]] std::size_t begin() const;
  [[nodiscard]] std::size_t last_end() const { return at_ == 0 ? 0 : tokens_[at_ - 1].end; }
  Expr& make(Expr::Kind kind, std::size_t begin);
  const Expr* done(Expr& node);

  // Statements.
  void statements(Block& out);
  void block(Block& out, std::size_t indent);
  void simple_line(Block& out);
  const Stmt* simple();
  const Stmt* compound(const std::vector<const Expr*>& decorators);
  [[nodiscard]] bool begins_compound() const;
  [[nodiscard]] bool begins_match() const;
  Stmt& make_statement(Stmt::Kind kind);
  void expression_statement(Stmt& out);
  void import_statement(Stmt& out);
  void from_statement(Stmt& out);
  std::string dotted();
  void if_statement(Stmt& out, std::size_t indent);
  void else_block(Block& out, std::size_t indent);
  void try_statement(Stmt& out, std::size_t indent);
  void with_statement(Stmt& out, std::size_t indent);
  bool with_in_brackets(Stmt& out);
  void function_statement(Stmt& out, std::size_t indent);
  void class_statement(Stmt& out, std::size_t indent);
  void match_statement(Stmt& out, std::size_t indent);
  void type_parameters();
  bool next_clause(std::string_view keyword, std::size_t indent);

  // Expressions, by falling weakness.
  const Expr* tuple_or_one();  // a, b
  const Expr* target_list();
  const Expr* star_or_one();
  const Expr* expression();
  const Expr* lambda();
  const Expr* disjunction();
  const Expr* conjunction();
  const Expr* negation();
  const Expr* comparison();
  std::optional<std::string> comparison_sign();
  const Expr* binary(int level);
  std::optional<std::string> binary_sign(int level);
  const Expr* unary();
  const Expr* power();
  const Expr* primary();
  const Expr* trailers(const Expr* base);
  const Expr* subscript(const Expr* base);
  const Expr* slice();
  const Expr* call(const Expr* base);
  const Expr* atom();
  const Expr* texts();
  void add_text(const PythonToken& token, Expr& out);
  std::vector<TextPart> format_parts(const ShellText& text, int depth);
  TextPart format_field(const ShellText& text, std::size_t& i, int depth);
  const Expr* brackets();
  const Expr* list();
  const Expr* braces();
  const Expr* comprehension(Expr& out, std::string_view close);
  std::vector<Clause> clauses();
  std::vector<Parameter> parameters(std::string_view close, bool annotated);

  std::string_view text_;
  std::vector<PythonToken> tokens_;
  Program& out_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int formats_ = 0;
  bool yields_ = false;
  bool in_pattern_ = false;  // of a case, where `if` begins its guard
  struct Deeper {
    explicit Deeper(int& depth);
    ~Deeper() { --depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth;
  };
  friend Program parse_program(std::string_view text);
};

}  // namespace preflight::sources::program
