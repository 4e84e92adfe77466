#include "src/sources/shell/bash_only.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "src/sources/shell/parser.h"

namespace preflight::sources {
namespace {

struct BashOnly {
  std::string what;    // as it is written: [[ … ]]
  std::size_t at = 0;  // in the script
};

constexpr int kDeep = 8;  // substitutions in each other

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Of ${NAME…}: all but POSIX's own.
bool is_operator_of_bash(std::string_view op) {
  if (op.starts_with(':')) return op.size() < 2 || std::string_view("-=+?").find(op[1]) == std::string_view::npos;
  return op.starts_with('/') || op.starts_with('^') || op.starts_with(',') || op.starts_with('@');
}

// {a,b} or {1..3}; '\0' stands for what is quoted or expanded.
bool expands_braces(std::string_view word) {
  for (auto open = word.find('{'); open != std::string_view::npos; open = word.find('{', open + 1)) {
    const auto close = word.find_first_of("{}", open + 1);
    if (close == std::string_view::npos || word[close] == '{') continue;
    const std::string_view inside = word.substr(open + 1, close - open - 1);
    const auto dots = inside.find("..");
    const bool counts = dots != std::string_view::npos && dots > 0 && dots + 2 < inside.size() &&
                        inside.find('\0') == std::string_view::npos;
    if (counts || inside.find(',') != std::string_view::npos) return true;
  }
  return false;
}

// NAME=~/x, NAME=a:~
bool has_value_of_tilde(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos || !shell_name_start(word[0])) return false;
  return std::ranges::all_of(word.substr(0, equals), shell_name_char) &&
         (word.substr(equals).starts_with("=~") || word.find(":~") != std::string_view::npos);
}

class Finder {
 public:
  Finder(const ShellText& script, int depth) : text_(script.text), script_(script), depth_(depth) {}

  // The complete commands that begin up to `last`; a shell reads one before it runs any of it.
  std::optional<BashOnly> run(std::size_t last) {
    ShellParser parser(script_, script_.text);
    while (const NodePtr node = parser.next()) {
      if (parser.failed() || node->begin > last) break;
      visit(*node);
    }
    return first_;
  }

 private:
  void found(std::string_view what, std::size_t at) {
    if (!first_ || at < first_->at) first_ = BashOnly{std::string(what), at};
  }

  void visit(const Node& node) {
    using Kind = Node::Kind;
    if (node.kind == Kind::kTest) return found("[[ … ]]", node.begin);
    if (node.kind == Kind::kMath) return found("(( … ))", node.begin);
    if (node.kind == Kind::kSelect) return found("select", node.begin);
    if (node.kind == Kind::kSubshell && node.name == "coproc") found("coproc", node.begin);
    const std::string_view text = text_.substr(std::min(node.begin, text_.size()));
    if (node.kind == Kind::kFunction && text.starts_with("function") && text.size() > 8 && shell_blank(text[8]))
      found("the word `function`", node.begin);
    if (node.kind == Kind::kPipeline) pipes(node);
    if (node.kind == Kind::kSimple) simple(node);
    for (const Assignment& one : node.assignments) assignment(one);
    for (const Assignment& one : node.declared) assignment(one);
    for (const Word& one : node.words) word(one);
    for (const Redirection& one : node.redirections) redirection(one);
    for (const CaseArm& arm : node.arms) {
      for (const Word& one : arm.patterns) word(one);
      if (arm.behind != CaseArm::Behind::kLeaves) found(";& or ;;&", node.begin);
      if (arm.body) visit(*arm.body);
    }
    const bool kept = node.kind == Kind::kPipeline || node.kind == Kind::kFunction || !node.redirections.empty();
    functions_ += node.kind == Kind::kFunction ? 1 : 0;
    kept_ += kept ? 1 : 0;
    for (const NodePtr& child : node.children) {
      if (child) visit(*child);
    }
    functions_ -= node.kind == Kind::kFunction ? 1 : 0;
    kept_ -= kept ? 1 : 0;
  }

  void pipes(const Node& node) {
    for (std::size_t i = 0; i + 1 < node.children.size(); ++i) {
      const std::size_t from = node.children[i]->end;
      const std::size_t to = node.children[i + 1]->begin;
      if (from < to && text_.substr(from, to - from).find("|&") != std::string_view::npos) found("|&", from);
    }
  }

  void assignment(const Assignment& one) {
    if (one.is_array) found("NAME=( … )", one.whole.begin);
    if (one.appends) found("NAME+=", one.whole.begin);
    if (!one.subscript.empty()) found("NAME[ … ]=", one.whole.begin);
    word(one.whole);
    for (const Word& item : one.items) word(item);
  }

  // <<<, &>FILE, >&FILE
  void redirection(const Redirection& one) {
    if (!one.variable.empty()) found("{NAME}" + one.op, one.target.begin);
    if (one.op == "<<<") found("<<<", one.target.begin);
    const std::string_view front = text_.substr(0, std::min(one.target.begin, text_.size()));
    const auto end = front.find_last_not_of(" \t");
    const auto sign = end == std::string_view::npos ? end : front.find_last_not_of('>', end);
    const bool both = one.of_output && sign != std::string_view::npos && sign < end && front[sign] == '&';
    if (both) found("&>", one.target.begin);
    const std::string_view target = written(one.target);
    const bool descriptor = target == "-" || target.find_first_not_of("0123456789") == std::string_view::npos;
    const bool duplicates = end != std::string_view::npos && end > 0 && front[end] == '&' && front[end - 1] == '>';
    if (duplicates && !descriptor && target.find('$') == std::string_view::npos) found(">&FILE", one.target.begin);
    word(one.target);
  }

  [[nodiscard]] std::string_view written(const Word& word) const {
    return text_.substr(std::min(word.begin, text_.size()), word.end - word.begin);
  }

  void word(const Word& one) {
    std::string plain;
    for (const Part& part : one.parts) {
      const bool bare = part.kind == Part::Kind::kText && !part.quoted;
      plain += bare ? std::string(text_.substr(part.begin, part.end - part.begin)) : std::string(1, '\0');
    }
    if (expands_braces(plain)) found("{ … } that is expanded", one.begin);
    if (plain.size() > 1 && plain[0] == '~' &&
        std::string_view("+-0123456789").find(plain[1]) != std::string_view::npos)
      found(plain.substr(0, 2), one.begin);
    parts(one.parts);
  }

  void parts(const Parts& all) {
    for (const Part& part : all) {
      const std::string_view text = text_.substr(std::min(part.begin, text_.size()));
      const bool parameter = part.kind == Part::Kind::kParameter;
      const bool decoded = part.kind == Part::Kind::kDecoded || part.kind == Part::Kind::kUnclear;
      if (decoded && part.quoted && text.starts_with("$'")) found("$' … '", part.begin);
      if (part.kind == Part::Kind::kUnclear && (text.starts_with("<(") || text.starts_with(">(")))
        found("<( … )", part.begin);
      if (parameter && part.prefix == '!') found("${! … }", part.begin);
      if (parameter && !part.subscript.empty()) found("${NAME[ … ]}", part.begin);
      if (parameter && is_operator_of_bash(part.op)) found("${NAME" + part.op.substr(0, 1) + " … }", part.begin);
      if (part.kind == Part::Kind::kSubstitution && text.starts_with("$(") && depth_ < kDeep) inside(part);
      if (part.kind == Part::Kind::kArithmetic) sums(text.substr(0, part.end - part.begin), part.begin);
      parts(part.argument);
      parts(part.replacement);
    }
  }

  void inside(const Part& part) {
    if (part.end < part.begin + 3 || part.end > text_.size()) return;
    const ShellText command = slice(script_, part.begin + 2, part.end - 1);
    if (const auto one = Finder(command, depth_ + 1).run(command.text.size()))
      found(one->what, part.begin + 2 + one->at);
  }

  // i++, 2**3, 3,4 and 16#ff of an arithmetic expression
  void sums(std::string_view text, std::size_t at) {
    constexpr std::size_t kOpening = 3;
    const bool holds_commands =
        text.find("$(", kOpening) != std::string_view::npos || text.find('`') != std::string_view::npos;
    if (holds_commands) return;  // with signs of their own
    for (const std::string_view sign : {"++", "--", "**", ","}) {
      if (text.find(sign) != std::string_view::npos) found(fmt::format("{} in arithmetic", sign), at);
    }
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '#' && text[i - 1] >= '0' && text[i - 1] <= '9') found("BASE#NUMBER", at);
    }
  }

  void simple(const Node& node) {
    if (node.words.empty()) return;
    const std::string_view name = written(node.words.front());
    const std::size_t at = node.words.front().begin;
    const bool special = is_one_of(name, {":", ".", "eval", "export", "readonly", "set", "shift", "trap", "unset"});
    if (special && !node.assignments.empty()) found(fmt::format("NAME=… for {} alone", name), at);
    if (name == "local" && functions_ == 0) found("local outside of a function", at);
    if (is_one_of(name, {"source", "declare", "typeset", "mapfile", "readarray", "shopt", "let", "pushd", "popd"}))
      found(name, at);
    for (std::size_t i = 1; i < node.words.size(); ++i) {
      const std::string_view word = written(node.words[i]);
      if (node.declared[i].name.empty() && has_value_of_tilde(word)) found("NAME=~ as an argument", at);
      const bool option = word.starts_with('-') && i == 1;
      if (name == "set" && word == "pipefail") found("set -o pipefail", at);
      if ((name == "[" || name == "test") && word == "==") found("[ … == … ]", at);
      if (name == "trap" && i > 1 && is_one_of(word, {"ERR", "DEBUG", "RETURN"})) found("trap … ERR", at);
      if (option && is_one_of(name, {"local", "wait", "export"}) && word != "-p")
        found(std::string(name) + " " + std::string(word), at);
      if (option && name == "printf" && word == "-v") found("printf -v", at);
      const bool kept = depth_ > 0 || kept_ > 0 || !node.redirections.empty();
      if (option && name == "echo" && word.find('e') != std::string_view::npos && kept) found("echo -e", at);
      if (option && name == "read" && word.find_first_not_of("-rp") != std::string_view::npos) found("read -a", at);
    }
  }

  std::string_view text_;
  const ShellText& script_;
  int depth_;
  int functions_ = 0;  // that what is looked at stands in
  int kept_ = 0;       // nodes around it whose output goes elsewhere, or may
  std::optional<BashOnly> first_;
};

}  // namespace

bool begins_for_sh(std::string_view script) {
  const std::string_view line = script.substr(0, script.find_first_of("\r\n"));
  if (!line.starts_with("#!")) return false;
  const std::string_view words = line.substr(0, line.find(" -"));
  return words.ends_with("/sh") || words.ends_with(" sh") || words.ends_with("dash") || words.ends_with("/ash");
}

static bool stands_in_function(const Node& node, std::size_t at) {
  if (node.kind == Node::Kind::kFunction) return at >= node.begin && at < node.end;
  return std::ranges::any_of(node.children, [&](const NodePtr& one) { return one && stands_in_function(*one, at); });
}

// Whether it is called from somewhere behind it, too.
static bool is_called(const ShellText& script, std::size_t at) {
  ShellParser parser(script, script.text);
  for (NodePtr node = parser.next(); node && node->begin <= at; node = parser.next()) {
    if (stands_in_function(*node, at)) return true;
  }
  return false;
}

void ask_of_sh(const ShellText& script, std::vector<LaunchUnknown>& unknown) {
  const auto last = script.text.rfind("sglang");
  if (last == std::string::npos) return;
  const auto end = is_called(script, last) ? script.text.size() : script.text.find('\n', last);
  const auto one = Finder(script, 0).run(end);
  if (!one) return;
  unknown.push_back({fmt::format("sh runs this, and {} is bash's: the sh of Debian and Ubuntu ends there or takes it "
                                 "otherwise; let bash run it",
                                 one->what),
                     script.origin.empty() ? one->at : script.origin[std::min(one->at, script.origin.size() - 1)],
                     {}});
}

}  // namespace preflight::sources
