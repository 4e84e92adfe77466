// Commands of shell text: lists, pipelines, compound commands, redirections. Tested by tests/shell_test.cpp.
#include "src/sources/shell/parser.h"
#include "src/base/limits.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace preflight::sources {
namespace {

bool declares(std::string_view word) {
  return word == "export" || word == "declare" || word == "typeset" || word == "local" || word == "readonly";
}

}  // namespace

std::size_t ShellParser::outer(std::size_t offset) const {
  const auto& origin = script_.origin;
  if (origin.empty()) return offset;
  return offset < origin.size() ? origin[offset] : origin.back() + 1;
}

void ShellParser::fail(std::string message, std::size_t at) {
  if (failed()) return;
  error_ = std::move(message);
  error_at_ = at;
}

void ShellParser::give_up(std::string message, std::size_t at) {
  gave_up_ = gave_up_ || !failed();
  fail(std::move(message), at);
}

// What a shell does not take, either.
void ShellParser::refuse(std::string message, std::size_t at) {
  refused_ = refused_ || !failed();
  fail(std::move(message), at);
}

void ShellParser::refuse_here() {
  refuse(fmt::format("{} is not expected here", at_end() ? "the end" : std::string(1, peek())), at_);
}

Error ShellParser::error() const {
  const LineColumn at = line_column(pasted_, fault_at());
  return {error_, fmt::format("{}:{}", at.line, at.column)};
}

bool ShellParser::count(std::size_t at) {
  if (++nodes_ > limits::kShellNodes) give_up("this text has more words than are followed", at);
  return !failed();
}

// --- between words ---

void ShellParser::skip_blanks() {
  for (;;) {
    if (shell_blank(peek())) {
      ++at_;
    } else if (peek() == '\\' && peek(1) == '\n') {
      at_ += 2;
    } else if (peek() == '\\' && peek(1) == '\r' && peek(2) == '\n') {
      at_ += 3;
    } else if (peek() == '#') {
      comment();
    } else {
      return;
    }
  }
}

void ShellParser::comment() {
  while (!at_end() && peek() != '\n') ++at_;
}

void ShellParser::newline() {
  ++at_;
  line_begins_ = true;
  read_here_documents();
}

void ShellParser::skip_lines() {
  for (;;) {
    skip_blanks();
    if (peek() != '\n' || at_end()) return;
    newline();
  }
}

// A word of plain letters at this place, or one of the signs that are words of their own; nothing is taken.
std::string ShellParser::reserved() const {
  std::size_t i = at_;
  while (i < text_.size() && text_[i] >= 'a' && text_[i] <= 'z') ++i;
  const auto ends = [&](std::size_t at) {
    return at >= text_.size() || shell_blank(text_[at]) ||
           std::string_view("\n;&|<>()").find(text_[at]) != std::string_view::npos;
  };
  if (i > at_) return ends(i) ? std::string(text_.substr(at_, i - at_)) : std::string();
  if ((peek() == '{' || peek() == '}' || peek() == '!') && ends(at_ + 1)) return std::string(1, peek());
  if (peek() == '[' && peek(1) == '[' && ends(at_ + 2)) return "[[";
  if (peek() == ']' && peek(1) == ']' && ends(at_ + 2)) return "]]";
  return {};
}

bool ShellParser::take_reserved(std::string_view word) {
  skip_lines();
  if (reserved() != word) return false;
  at_ += word.size();
  return true;
}

// --- lists ---

NodePtr ShellParser::next() {
  for (;;) {
    skip_lines();
    if (at_end() || failed()) return nullptr;
    if (line_begins_) choices_now_ = choices_at_line_.value_or(true);
    line_begins_ = false;
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::kList;
    node->begin = at_;
    do {
      NodePtr one = and_or();
      if (failed() || !one) return nullptr;
      line_begins_ = false;
      skip_blanks();
      const bool apart = peek() == '&' && peek(1) != '&';
      node->children.push_back(std::move(one));
      node->operators.emplace_back(apart ? "&" : ";");
      if (peek() == '&' || peek() == ';') ++at_;
      skip_blanks();
      if (peek() == '\n') newline();  // a here-document stands behind the rest of its line
    } while (!pending_.empty() && !at_end());
    node->end = at_;
    return node;
  }
}

NodePtr ShellParser::all() {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kList;
  while (NodePtr one = next()) {
    node->children.insert(node->children.end(), one->children.begin(), one->children.end());
    node->operators.insert(node->operators.end(), one->operators.begin(), one->operators.end());
  }
  node->end = text_.size();
  return node;
}

// Commands up to one of these words (or ")" and ";;"), which is not taken.
NodePtr ShellParser::list(const std::set<std::string>& until, std::size_t from) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kList;
  node->begin = at_;
  while (!failed()) {
    skip_lines();
    if (at_end()) {
      fail(fmt::format("what begins here is not closed: {} is missing", *until.begin()), from);
      break;
    }
    if (peek() == ')' && until.contains(")")) break;
    if (peek() == ';' && peek(1) == ';' && until.contains(";;")) break;
    if (peek() == ';' && peek(1) == '&' && until.contains(";;")) break;
    if (const std::string word = reserved(); !word.empty() && until.contains(word)) break;
    NodePtr one = and_or();
    if (failed()) break;
    skip_blanks();
    const bool apart = peek() == '&' && peek(1) != '&';
    node->children.push_back(std::move(one));
    node->operators.emplace_back(apart ? "&" : ";");
    if (apart || (peek() == ';' && peek(1) != ';' && peek(1) != '&')) ++at_;
  }
  // Between `then` and `fi`, say, has to be a command; a comment is none. An arm of `case` may be empty.
  if (!failed() && node->children.empty() && !until.contains(";;")) {
    const std::string word = peek() == ')' ? ")" : reserved();
    refuse(fmt::format("a command has to stand in front of {}", word), at_);
  }
  node->end = at_;
  return node;
}

NodePtr ShellParser::and_or() {
  NodePtr first = pipeline();
  skip_blanks();
  if (failed() || !((peek() == '&' && peek(1) == '&') || (peek() == '|' && peek(1) == '|'))) return first;
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kList;
  node->begin = first->begin;
  node->children.push_back(std::move(first));
  node->operators.emplace_back(";");
  while (!failed() && ((peek() == '&' && peek(1) == '&') || (peek() == '|' && peek(1) == '|'))) {
    node->operators.emplace_back(2, peek());
    at_ += 2;
    skip_lines();
    if (at_end()) {
      refuse_here();
      break;
    }
    node->children.push_back(pipeline());
    skip_blanks();
  }
  node->end = at_;
  return node;
}

NodePtr ShellParser::pipeline() {
  skip_blanks();
  bool negated = false;
  while (reserved() == "!") {
    negated = !negated;
    ++at_;
    skip_blanks();
  }
  skip_time();
  NodePtr first = command();
  if (failed()) return first;
  skip_blanks();
  if (peek() == '|' && peek(1) != '|') {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::kPipeline;
    node->begin = first->begin;
    node->children.push_back(std::move(first));
    while (!failed() && peek() == '|' && peek(1) != '|') {
      at_ += peek(1) == '&' ? 2 : 1;
      skip_lines();
      node->children.push_back(command());
      skip_blanks();
    }
    node->end = at_;
    first = std::move(node);
  }
  if (negated) {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::kGroup;
    node->begin = first->begin;
    node->end = first->end;
    node->negated = true;
    node->children.push_back(std::move(first));
    return node;
  }
  return first;
}

// `time` in front of a compound command is bash's own word, in front of any other a program as good.
void ShellParser::skip_time() {
  if (reserved() != "time") return;
  const std::size_t from = std::exchange(at_, at_ + 4);
  skip_blanks();
  constexpr std::array<std::string_view, 8> kCompound = {"{", "[[", "if", "while", "until", "for", "case", "select"};
  if (peek() != '(' && std::ranges::find(kCompound, reserved()) == kCompound.end()) at_ = from;
}

// --- commands ---

NodePtr ShellParser::command() {
  skip_blanks();
  const std::size_t from = at_;
  if (++depth_ > limits::kShellDepth) give_up("commands are nested too deep", at_);
  NodePtr node;
  if (!failed() && count(at_)) {
    if (const std::string word = reserved(); !word.empty()) node = compound(word);
    if (!node && !failed() && peek() == '(') node = peek(1) == '(' ? math_command(from) : nullptr;
    if (!node && !failed() && peek() == '(') {
      ++at_;
      node = std::make_shared<Node>();
      node->kind = Node::Kind::kSubshell;
      node->children.push_back(list({")"}, from));
      if (!failed()) ++at_;
    }
    if (node && !failed()) {
      node->begin = from;
      redirections(*node);
      if (node->kind != Node::Kind::kFunction && node->name != "coproc") end_of_compound();
    }
    if (!node && !failed()) {
      if (auto name = function_name()) {
        node = function(std::move(*name), from);
      } else {
        node = simple();
      }
    }
  }
  --depth_;
  if (!node) node = std::make_shared<Node>();
  node->begin = from;
  node->end = at_;
  if (at_ == from && !failed()) refuse_here();
  return node;
}

// Behind `}`, `)`, `fi` and their kin stands the end of the command, or a word that ends what is around it.
void ShellParser::end_of_compound() {
  if (failed()) return;
  skip_blanks();
  if (at_end() || std::string_view("\n;&|)").find(peek()) != std::string_view::npos) return;
  const std::string word = reserved();
  constexpr std::array<std::string_view, 8> kClosing = {"then", "do", "done", "fi", "elif", "else", "esac", "}"};
  if (std::ranges::find(kClosing, word) != kClosing.end()) return;
  refuse("behind a compound command stands a word; ; or a line's end is missing", at_);
}

NodePtr ShellParser::compound(const std::string& word) {
  const std::size_t from = at_;
  if (word == "if") return if_command();
  if (word == "while" || word == "until") return while_command();
  if (word == "for" || word == "select") return for_command(word == "select");
  if (word == "case") return case_command();
  if (word == "[[") return test_command();
  if (word == "{") {
    ++at_;
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::kGroup;
    node->children.push_back(list({"}"}, from));
    if (!failed()) ++at_;
    return node;
  }
  if (word == "function") {
    at_ += word.size();
    skip_blanks();
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n(){;&|<>", at_), text_.size());
    const std::string name(text_.substr(at_, end - at_));
    at_ = end;
    skip_blanks();
    const std::size_t close = peek() == '(' ? text_.find_first_not_of(" \t", at_ + 1) : std::string_view::npos;
    if (close != std::string_view::npos && text_[close] == ')') at_ = close + 1;
    return function(name, from);
  }
  if (word == "coproc") {
    at_ += word.size();
    skip_blanks();
    std::size_t name = at_;  // NAME in front of a compound command
    while (name < text_.size() && shell_name_char(text_[name])) ++name;
    const std::size_t body = text_.find_first_not_of(" \t", name);
    const bool named = name > at_ && body > name && body < text_.size() && (text_[body] == '{' || text_[body] == '(');
    if (named) at_ = body;
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::kSubshell;
    node->name = word;
    node->children.push_back(command());
    return node;
  }
  for (const std::string_view stray : {"then", "else", "elif", "fi", "do", "done", "esac", "in", "}", "]]"}) {
    if (word == stray) refuse(fmt::format("{} stands here without its beginning", word), at_);
  }
  return nullptr;
}

NodePtr ShellParser::if_command() {
  const std::size_t from = at_;
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kIf;
  at_ += 2;
  for (;;) {
    node->children.push_back(list({"then"}, from));
    if (failed() || !take_reserved("then")) return node;
    node->children.push_back(list({"elif", "else", "fi"}, from));
    if (failed()) return node;
    if (take_reserved("elif")) continue;
    if (take_reserved("else")) node->children.push_back(list({"fi"}, from));
    if (!failed()) take_reserved("fi");
    return node;
  }
}

NodePtr ShellParser::while_command() {
  const std::size_t from = at_;
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kWhile;
  if (text_.substr(at_, 5) == "until") node->name = "until";
  at_ += 5;
  node->children.push_back(list({"do"}, from));
  if (failed() || !take_reserved("do")) return node;
  node->children.push_back(list({"done"}, from));
  if (!failed()) take_reserved("done");
  return node;
}

NodePtr ShellParser::for_command(bool select) {
  const std::size_t from = at_;
  auto node = std::make_shared<Node>();
  node->kind = select ? Node::Kind::kSelect : Node::Kind::kFor;
  at_ += select ? 6 : 3;
  skip_blanks();
  if (peek() == '(' && peek(1) == '(') {
    const std::size_t end = behind_parenthesis(text_, at_);
    if (end == std::string_view::npos) {
      fail("a parenthesis is not closed", at_);
      return node;
    }
    node->kind = Node::Kind::kMath;
    node->name = text_.substr(at_ + 2, end - at_ - 4);
    at_ = end;
  } else {
    const std::size_t name_at = at_;
    while (shell_name_char(peek())) ++at_;
    node->name = text_.substr(name_at, at_ - name_at);
    if (node->name.empty()) fail("a loop without a variable", from);
    skip_lines();
    if (reserved() == "in") {
      node->has_list = true;
      at_ += 2;
      for (skip_blanks(); !failed() && !at_end() && peek() != ';' && peek() != '\n'; skip_blanks()) {
        const std::size_t before = at_;
        node->words.push_back(word());
        if (at_ == before) fail("a loop's list is not understood", at_);
      }
    }
  }
  skip_lines();
  if (peek() == ';') ++at_;
  const bool braces = !failed() && take_reserved("{");
  if (!braces && !failed() && !take_reserved("do")) refuse("a loop without do", from);
  if (failed()) return node;
  node->children.push_back(list({braces ? "}" : "done"}, from));
  if (!failed()) take_reserved(braces ? "}" : "done");
  return node;
}

NodePtr ShellParser::case_command() {
  const std::size_t from = at_;
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kCase;
  at_ += 4;
  skip_blanks();
  node->words.push_back(word());
  if (!take_reserved("in")) refuse("a case without in", from);
  while (!failed()) {
    skip_lines();
    if (at_end()) fail("what begins here is not closed: esac is missing", from);
    if (failed() || take_reserved("esac")) break;
    if (peek() == '(') ++at_;
    CaseArm arm;
    for (;;) {
      skip_blanks();
      const std::size_t before = at_;
      in_pattern_ = true;
      saw_choices_ = false;
      arm.patterns.push_back(word());
      in_pattern_ = false;
      if (saw_choices_ && !choices_now_)
        fail("bash takes this pattern for a syntax error: shopt -s extglob has to stand on a line in front of it",
             before);
      skip_blanks();
      if (at_ == before) fail("a pattern of case is not understood", at_);
      if (failed() || peek() != '|') break;
      ++at_;
    }
    if (failed()) break;
    if (peek() != ')') {
      fail("a pattern of case is not understood", at_);
      break;
    }
    ++at_;
    arm.body = list({";;", "esac"}, from);
    if (failed()) break;
    if (peek() == ';') {
      const bool two = peek(1) == ';';
      if (peek(1) == '&') arm.behind = CaseArm::Behind::kRunsNext;
      if (two && peek(2) == '&') arm.behind = CaseArm::Behind::kTestsOthers;
      at_ += two && peek(2) == '&' ? 3 : 2;
    }
    node->arms.push_back(std::move(arm));
  }
  return node;
}

// name() in front of a body; nothing is taken where there is none.
std::optional<std::string> ShellParser::function_name() {
  std::size_t i = at_;
  while (i < text_.size() && (shell_name_char(text_[i]) || text_[i] == '-' || text_[i] == '.' || text_[i] == ':')) ++i;
  if (i == at_) return std::nullopt;
  const std::size_t end = i;
  while (i < text_.size() && shell_blank(text_[i])) ++i;
  if (i >= text_.size() || text_[i] != '(') return std::nullopt;
  std::size_t close = i + 1;
  while (close < text_.size() && shell_blank(text_[close])) ++close;
  if (close >= text_.size() || text_[close] != ')') return std::nullopt;
  std::string name(text_.substr(at_, end - at_));
  at_ = close + 1;
  return name;
}

NodePtr ShellParser::function(std::string name, std::size_t from) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kFunction;
  node->name = std::move(name);
  skip_lines();
  if (at_end()) {
    fail("a function without a body", from);
    return node;
  }
  const std::size_t body = at_;
  node->children.push_back(command());
  const Node::Kind kind = node->children.back()->kind;
  if ((kind == Node::Kind::kSimple || kind == Node::Kind::kFunction) && !is_for_sh())
    refuse("the body of a function has to be a compound command, as { …; }", body);
  return node;
}

// [[ … ]]: its words, operators among them.
// Whether a line may end behind these words of [[ … ]]: bash takes that in front of a term and behind a whole one, and
// a word alone or an operator is none yet.
static bool ends_a_line(std::string_view text, const std::vector<Word>& words) {
  enum class At { kTerm, kLone, kOperand, kBehind } at = At::kTerm;
  constexpr auto kBinary = std::to_array<std::string_view>(
      {"=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"});
  for (const Word& one : words) {
    const std::string_view w = text.substr(one.begin, one.end - one.begin);
    if (w == "&&" || w == "||" || (at == At::kTerm && (w == "!" || w == "(")))
      at = At::kTerm;
    else if (w == ")" || at == At::kOperand)
      at = At::kBehind;
    else if (at == At::kTerm)
      at = w.size() == 2 && w[0] == '-' ? At::kOperand : At::kLone;
    else if (at == At::kLone && std::ranges::find(kBinary, w) != kBinary.end())
      at = At::kOperand;
  }
  return at == At::kTerm || at == At::kBehind;
}

NodePtr ShellParser::test_command() {
  const std::size_t from = at_;
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kTest;
  at_ += 2;
  while (!failed()) {
    skip_blanks();
    if (peek() == '\n' && !at_end() && !ends_a_line(text_, node->words))
      fail("a line ends in the middle of a test in [[ … ]]", at_);
    skip_lines();
    if (at_end()) fail("[[ is not closed", from);
    if (failed()) break;
    if (peek() == ']' && peek(1) == ']') {
      at_ += 2;
      break;
    }
    const std::size_t before = at_;
    const bool behind_match = !node->words.empty() && text_.substr(node->words.back().begin, 2) == "=~" &&
                              node->words.back().end - node->words.back().begin == 2;
    if (!behind_match && std::string_view("&|<>()").find(peek()) != std::string_view::npos) {
      const bool doubled = peek(1) == peek() && peek() != '(' && peek() != ')';
      at_ += doubled ? 2 : 1;
      node->words.push_back({{{.begin = before, .end = at_}}, before, at_});
      continue;
    }
    in_pattern_ = true;
    Word w = behind_match ? regular_expression() : word();
    in_pattern_ = false;
    node->words.push_back(std::move(w));
    if (at_ == before) fail("[[ … ]] is not understood", at_);
  }
  return node;
}

// (( … )); nullptr where it is two subshells.
NodePtr ShellParser::math_command(std::size_t from) {
  const std::size_t end = behind_parenthesis(text_.substr(0, at_ + limits::kArgumentBytes), at_);
  if (end == std::string_view::npos || end < from + 4 || text_[end - 2] != ')') return nullptr;
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kMath;
  node->name = text_.substr(from + 2, end - from - 4);
  at_ = end;
  return node;
}

NodePtr ShellParser::simple() {
  constexpr std::array<std::string_view, 3> kTakeLists = {"eval", "let", "alias"};  // as declare and its kin

  auto node = std::make_shared<Node>();
  bool declaring = false;
  const auto written = [&](const Word& one) { return text_.substr(one.begin, one.end - one.begin); };
  while (!failed()) {
    skip_blanks();
    if (at_end() || !count(at_)) break;
    if (redirection(*node)) continue;
    if (peek() == '(' || (word_ends() && placeholder().empty() && !(peek() == '<' && peek(1) == '('))) {
      if (peek() == '(') fail("a parenthesis is not expected here", at_);
      break;
    }
    if (node->words.empty() || declaring) {
      if (opens_subscript()) refuse("the bracket of an element is not closed", at_);
      if (auto assigned = assignment()) {
        if (declaring) {
          node->words.push_back(assigned->whole);
          node->declared.resize(node->words.size());
          node->declared.back() = std::move(*assigned);
        } else {
          node->assignments.push_back(std::move(*assigned));
        }
        continue;
      }
    }
    const std::size_t before = at_;
    takes_lists_ =
        !node->words.empty() && std::ranges::find(kTakeLists, written(node->words.front())) != kTakeLists.end();
    Word w = word();
    takes_lists_ = false;
    if (failed()) break;
    if (at_ == before) break;
    if (w.parts.empty()) continue;  // a continuation alone
    if (node->words.empty()) declaring = declares(written(w));
    node->words.push_back(std::move(w));
  }
  node->declared.resize(node->words.size());
  return node;
}

// --- redirections ---

void ShellParser::redirections(Node& node) {
  do skip_blanks();
  while (!failed() && redirection(node));
}

// Behind the {NAME} of {NAME}>word, which has no blank in front of its sign; 0 where there is none.
std::size_t ShellParser::behind_descriptor_name() const {
  if (peek() != '{' || !shell_name_start(peek(1))) return 0;
  std::size_t i = at_ + 1;
  while (i < text_.size() && shell_name_char(text_[i])) ++i;
  const bool named = i + 1 < text_.size() && text_[i] == '}' && (text_[i + 1] == '<' || text_[i + 1] == '>');
  return named ? i + 1 : 0;
}

// [n]>word and its kin; nothing is taken where there is none.
bool ShellParser::redirection(Node& node) {
  std::size_t i = at_;
  while (i < text_.size() && text_[i] >= '0' && text_[i] <= '9') ++i;
  if (const std::size_t behind = behind_descriptor_name(); behind > 0) i = behind;
  if (i < text_.size() && text_[i] == '&' && i == at_ && i + 1 < text_.size() && text_[i + 1] == '>') ++i;
  if (i >= text_.size() || (text_[i] != '<' && text_[i] != '>')) return false;
  if (i == at_ && (!placeholder().empty() || peek(1) == '(')) return false;
  Redirection r;
  const std::size_t from = i;
  const std::string_view descriptor = text_.substr(at_, from - at_);
  while (i < text_.size() && (text_[i] == '<' || text_[i] == '>') && i - from < 3) ++i;
  r.op = text_.substr(from, i - from);
  constexpr std::array<std::string_view, 6> kSigns = {"<", ">", ">>", "<<", "<<<", "<>"};
  if (std::ranges::find(kSigns, r.op) == kSigns.end()) refuse(fmt::format("{} is not expected here", r.op), from);
  if (descriptor.starts_with('{')) r.variable = descriptor.substr(1, descriptor.size() - 2);
  at_ = i;
  if (r.op == "<<") {
    here_document(node, r.op);
    return true;
  }
  r.of_output = r.op.front() == '>' && (descriptor.empty() || descriptor == "1" || descriptor == "&");
  r.to_file = r.op.front() == '>' && peek() != '&' && (descriptor.empty() || descriptor == "1" || descriptor == "&");
  r.names_file = peek() != '&' && (r.op.front() == '>' || r.op == "<");
  if (peek() == '&' || peek() == '|') ++at_;
  skip_blanks();
  r.target = word();
  if (r.target.begin == r.target.end) refuse(fmt::format("nothing stands behind {}", r.op), from);
  node.redirections.push_back(std::move(r));
  return true;
}

void ShellParser::here_document(Node& node, const std::string& op) {
  HereDocument document;
  if (peek() == '-') {
    document.indented = true;
    ++at_;
  }
  while (shell_blank(peek())) ++at_;
  const std::size_t from = at_;
  std::string end;
  char quote = '\0';
  for (; !at_end(); ++at_) {
    const char c = peek();
    const bool ends = shell_blank(c) || std::string_view("\n;&|<>()").find(c) != std::string_view::npos;
    if (quote == '\0' && ends) break;
    if (c == quote || (quote == '\0' && (c == '\'' || c == '"'))) {
      quote = quote == '\0' ? c : '\0';
      document.expands = false;
    } else if (c == '\\' && quote != '\'') {
      document.expands = false;
      if (++at_; !at_end()) end += peek();
    } else {
      end += c;
    }
  }
  if (quote != '\0' || at_ == from) refuse("the word that ends a here-document is not closed, or missing", from);
  Redirection r;
  r.op = op;
  r.here_document = static_cast<int>(here_documents_.size());
  node.redirections.push_back(std::move(r));
  pending_.push_back({std::move(end), here_documents_.size()});
  here_documents_.push_back(document);
}

void ShellParser::read_here_documents() {
  for (const Pending& one : std::exchange(pending_, {})) {
    HereDocument& document = here_documents_[one.index];
    document.begin = document.end = at_;
    bool found = false;
    while (!at_end() && !found) {
      const std::size_t line_end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, line_end - at_);
      while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      found = line == one.end;
      at_ = std::min(line_end + 1, text_.size());
      if (!found) document.end = at_;
    }
  }
}

// `\` followed by blanks and then the line's end or a comment: the shell takes an escaped blank and ends the command.
void ShellParser::note_broken_continuation() {
  std::size_t i = at_ + 1;
  if (!shell_blank(text_[i])) return;
  while (i < text_.size() && shell_blank(text_[i])) ++i;
  if (i == text_.size() || text_[i] == '\n' || text_[i] == '#') {
    notes_.push_back({"SH001", "this backslash is not the last character of its line, so the command ends on this line",
                      outer(at_)});
  }
}

}  // namespace preflight::sources
