// Shell text to syntax: words with their quotes, pieces and expansions (parser_words.cpp), commands, lists, compound
// commands and here-documents (parser.cpp). Bash's grammar as far as scripts of operators go.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"
#include "src/sources/shell/syntax.h"

namespace preflight::sources {

class ShellParser {
 public:
  // `words` of texts around this one are counted, too.
  ShellParser(const ShellText& script, std::string_view pasted, std::size_t words = 0)
      : script_(script), text_(script.text), pasted_(pasted), nodes_(words) {}

  // The next complete command at the top, nullptr at the end of the text. Throws nothing; see failed().
  NodePtr next();
  // All of the text as one list.
  NodePtr all();
  // All of the text as it would stand inside double quotes, or as one word.
  Parts quoted_text();

  // Whether extglob holds where the next line is read: bash reads all of a line before it runs any of it.
  void set_choices(bool on) { choices_at_line_ = on; }

  [[nodiscard]] bool failed() const { return !error_.empty(); }
  [[nodiscard]] Error error() const;
  // Where the text stops being shell text, in the pasted text.
  [[nodiscard]] std::size_t fault_at() const { return std::min(outer(error_at_), pasted_.size()); }
  // Whether it failed because there is more than is followed: a shell would go on.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  // Whether a shell refuses the text, too.
  [[nodiscard]] bool refused() const { return refused_; }
  // Whether what comes next begins a line of commands: a shell reads a whole line before it runs any of it.
  [[nodiscard]] bool line_begins() const { return line_begins_; }
  [[nodiscard]] std::size_t words() const { return nodes_; }
  [[nodiscard]] const std::vector<HereDocument>& here_documents() const { return here_documents_; }
  std::vector<ShellNote> take_notes() { return std::move(notes_); }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] std::size_t outer(std::size_t offset) const;
  void fail(std::string message, std::size_t at);
  void give_up(std::string message, std::size_t at);
  void refuse(std::string message, std::size_t at);
  void refuse_here();
  bool count(std::size_t at);

  // parser.cpp
  void skip_blanks();
  void skip_lines();
  void comment();
  void newline();
  [[nodiscard]] std::string reserved() const;
  bool take_reserved(std::string_view word);
  NodePtr list(const std::set<std::string>& until, std::size_t from);
  NodePtr and_or();
  NodePtr pipeline();
  void skip_time();
  NodePtr command();
  NodePtr simple();
  NodePtr compound(const std::string& word);
  NodePtr if_command();
  NodePtr while_command();
  NodePtr for_command(bool select);
  NodePtr case_command();
  NodePtr function(std::string name, std::size_t from);
  NodePtr test_command();
  NodePtr math_command(std::size_t from);
  [[nodiscard]] std::optional<std::string> function_name();
  void end_of_compound();
  void redirections(Node& node);
  [[nodiscard]] std::size_t behind_descriptor_name() const;
  bool redirection(Node& node);
  void here_document(Node& node, const std::string& op);
  void read_here_documents();
  void note_broken_continuation();

  // parser_words.cpp
  bool word_ends() const;
  Word word();
  Word regular_expression();
  void choices(Parts& parts);
  void piece(Parts& parts);
  void put(Parts& parts, std::size_t i, bool quoted);
  void put_text(Parts& parts, std::size_t begin, std::size_t end, bool quoted);
  void put_quote(Parts& parts, std::size_t at);
  void backslash(Parts& parts);
  void single_quotes(Parts& parts, bool ansi);
  bool ansi_escape(std::string& decoded);
  void double_quotes(Parts& parts);
  void quoted_piece(Parts& parts);
  void dollar(Parts& parts, bool quoted);
  void demand_commands(std::size_t from, std::size_t end);
  void braces(Parts& parts, bool quoted);
  void backquotes(Parts& parts, bool quoted);
  void parameter(Parts& parts, std::string name, std::size_t from, bool quoted) const;
  Parts argument(std::size_t close, bool quoted);
  [[nodiscard]] std::size_t replacement_at(std::size_t i, std::size_t close) const;
  [[nodiscard]] bool is_for_sh() const;
  bool closes_bracket(std::size_t from);
  bool opens_subscript();
  [[nodiscard]] std::size_t closing_brace(std::size_t i, bool quoted) const;
  [[nodiscard]] std::string_view placeholder() const;
  std::optional<Assignment> assignment();

  const ShellText& script_;
  std::string_view text_;
  std::string_view pasted_;
  std::size_t at_ = 0;
  std::size_t nodes_;
  std::optional<std::size_t> last_bracket_;  // ]
  int depth_ = 0;
  bool in_pattern_ = false;   // @(a|b) is one
  bool takes_lists_ = false;  // the command's words may be NAME=(…)
  bool saw_choices_ = false;
  std::optional<bool> choices_at_line_;  // none: they are read wherever they stand
  bool choices_now_ = true;
  bool line_begins_ = true;
  std::vector<HereDocument> here_documents_;
  struct Pending {
    std::string end;
    std::size_t index;
  };
  std::vector<Pending> pending_;
  std::vector<ShellNote> notes_;
  std::string error_;
  bool gave_up_ = false;
  bool refused_ = false;
  std::size_t error_at_ = 0;
};

inline bool shell_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool shell_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool shell_name_char(char c) { return shell_name_start(c) || (c >= '0' && c <= '9'); }

}  // namespace preflight::sources
