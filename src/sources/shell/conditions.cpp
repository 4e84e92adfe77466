// Tests whose words are all known are decided; any other leaves both branches open. Tested by tests/shell_test.cpp and
// tests/traps_test.cpp.
#include <algorithm>

#include "src/base/number_text.h"
#include "src/sources/shell/evaluator.h"

namespace preflight::sources {
namespace {

Status status_of(bool holds) { return holds ? Status::kTrue : Status::kFalse; }

Status opposite(Status status) {
  if (status == Status::kUnknown) return status;
  return status == Status::kTrue ? Status::kFalse : Status::kTrue;
}

bool compares_numbers(std::string_view op) {
  return op == "-eq" || op == "-ne" || op == "-lt" || op == "-le" || op == "-gt" || op == "-ge";
}

Status compared(std::optional<std::int64_t> x, std::string_view op, std::optional<std::int64_t> y) {
  if (!x || !y) return Status::kUnknown;
  if (op == "-eq") return status_of(*x == *y);
  if (op == "-ne") return status_of(*x != *y);
  if (op == "-lt") return status_of(*x < *y);
  if (op == "-le") return status_of(*x <= *y);
  if (op == "-gt") return status_of(*x > *y);
  return status_of(*x >= *y);
}

bool is_unary(std::string_view op) {
  return op.size() == 2 && op[0] == '-' && std::string_view("abcdefghknoprstuvwxzGLNORS").find(op[1]) < 27;
}

}  // namespace

// `-z TEXT` and `-v NAME`; what it asks of files is known of those beside the script.
Status ShellEvaluator::unary_test(std::string_view op, const ShellText& word) {
  if (const Status status = file_test(op[1], word); status != Status::kUnknown) return status;
  if (!word.unknowns.empty()) return Status::kUnknown;
  if (op == "-z") return status_of(word.text.empty());
  if (op == "-n") return status_of(!word.text.empty());
  if (op != "-v" || word.text.empty()) return Status::kUnknown;
  if (const auto bracket = word.text.find('['); bracket != std::string::npos) return item_test(word.text, bracket);
  const auto value = lookup(word.text);
  if (value) add_defaults(taken_, value->defaults);
  if (value) return value->unknowns.empty() ? Status::kTrue : Status::kUnknown;
  if (!state_.variables.contains(word.text))
    take_default(word.text, std::nullopt, word.origin.empty() ? 0 : word.origin.front());
  return Status::kFalse;
}

// [[ -v NAME[subscript] ]]
Status ShellEvaluator::item_test(const std::string& word, std::size_t bracket) {
  const std::string name = word.substr(0, bracket);
  const std::string key = word.substr(bracket + 1, word.size() - bracket - 2);
  const ShellValue* value = state_.find(name);
  const bool plain = word.ends_with(']') && !key.empty() && key.find_first_of("$@*\"'`[]") == std::string::npos;
  if (!plain || value == nullptr || !value->is_array || value->open || is_given(name)) return Status::kUnknown;
  const auto variable = state_.variables.find(name);
  const bool by_name = variable != state_.variables.end() && variable->second.attribute == "-A";
  if (!by_name && key.find_first_not_of("0123456789") != std::string::npos) return Status::kUnknown;
  return status_of(std::ranges::any_of(value->items, [&](const auto& item) { return item.first == key; }));
}

// `[ … ]` and `test`, whose words are expanded as those of any command.
Status ShellEvaluator::test(const std::vector<ShellWord>& words) { return test(words, 0, words.size()); }

Status ShellEvaluator::test(const std::vector<ShellWord>& words, std::size_t from, std::size_t to) {
  const std::size_t count = to - from;
  if (count == 0) return Status::kFalse;
  const std::string& first = words[from].text;
  for (const std::string_view op : {"-o", "-a"}) {  // -a binds closer
    for (std::size_t i = from + 1; count > 4 && i + 1 < to; ++i) {
      if (words[i].text != op || words[i - 1].text == "=" || words[i - 1].text == "!=") continue;
      const Status left = test(words, from, i);
      const Status right = test(words, i + 1, to);
      const Status decides = op == "-o" ? Status::kTrue : Status::kFalse;
      if (left == decides || right == decides) return decides;
      return left == Status::kUnknown ? left : right;
    }
  }
  if (count == 3 && first == "!" && is_unary(words[from + 1].text))
    return opposite(unary_test(words[from + 1].text, words[from + 2]));
  if (count == 2 && is_unary(first) && words[from].unknowns.empty()) return unary_test(first, words[from + 1]);
  if (count == 3) {
    const std::string& op = words[from + 1].text;
    const auto same = same_place(words[from], words[from + 2]);
    if (same && (op == "=" || op == "==" || op == "!=")) return status_of(*same == (op != "!="));
  }
  for (std::size_t i = from; i < to; ++i) {
    if (!words[i].unknowns.empty()) return Status::kUnknown;
  }
  if (count == 1) return status_of(!first.empty());
  if (count == 3) {
    const std::string& op = words[from + 1].text;
    const std::string& last = words[from + 2].text;
    if (op == "=" || op == "==") return status_of(first == last);
    if (op == "!=") return status_of(first != last);
    if (compares_numbers(op)) return compared(number_in<std::int64_t>(first), op, number_in<std::int64_t>(last));
  }
  if (first == "!") return opposite(test(words, from + 1, to));
  return Status::kUnknown;
}

// [[ … ]]: each word as it stands, the right sides of == and =~ as patterns.
class ShellEvaluator::ConditionReader {
 public:
  ConditionReader(ShellEvaluator& shell, const std::vector<Word>& words) : shell_(shell), words_(words) {}

  Status all() {
    const Status status = either();
    return at_ == words_.size() ? status : Status::kUnknown;
  }

 private:
  [[nodiscard]] bool sign(std::string_view text) const { return at_ < words_.size() && written(at_) == text; }
  [[nodiscard]] std::string_view written(std::size_t i) const {
    return std::string_view(shell_.text_.script->text).substr(words_[i].begin, words_[i].end - words_[i].begin);
  }

  // What a side that is not reached sets is not set; what one that may not be reached sets is not known.
  Status joined(Status left, Status decides, Status (ConditionReader::*next)()) {
    ++at_;
    const ShellState before = shell_.state_;
    const Status right = (this->*next)();
    if (left == decides) shell_.state_ = before;
    if (left == decides || right == decides) return decides;
    return left == Status::kUnknown ? left : right;
  }
  Status either() {
    Status status = both();
    while (sign("||")) status = joined(status, Status::kTrue, &ConditionReader::both);
    return status;
  }
  Status both() {
    Status status = one();
    while (sign("&&")) status = joined(status, Status::kFalse, &ConditionReader::one);
    return status;
  }
  Status one() {
    if (at_ >= words_.size() || ++depth_ > 40) return Status::kUnknown;
    if (sign("!")) {
      ++at_;
      return opposite(one());
    }
    if (sign("(")) {
      ++at_;
      const Status status = either();
      if (!sign(")")) return Status::kUnknown;
      ++at_;
      return status;
    }
    return comparison();
  }
  Status comparison() {
    const std::size_t first = at_++;
    const bool more = at_ < words_.size() && !sign("&&") && !sign("||") && !sign(")");
    if (!more) {
      const ShellWord word = tested(words_[first]);
      return word.unknowns.empty() ? status_of(!word.text.empty()) : Status::kUnknown;
    }
    if (is_unary(written(first))) return shell_.unary_test(written(first), tested(words_[at_++]));
    const std::string_view op = written(at_++);
    if (at_ >= words_.size()) return Status::kUnknown;
    const ShellWord left = tested(words_[first]);
    const Word& right = words_[at_++];
    if (op == "=~") return shell_.matches_expression(left, right);
    if (op == "=" || op == "==" || op == "!=") {
      if (!left.unknowns.empty()) {
        const auto same = same_place(left, shell_.expand_single(right));
        return same ? status_of(*same == (op != "!=")) : Status::kUnknown;
      }
      const auto pattern = shell_.pattern_of(right.parts, false);
      if (!pattern || !left.unknowns.empty()) return Status::kUnknown;
      const Status same = shell_.matches(left.text, *pattern, true);
      return op == "!=" ? opposite(same) : same;
    }
    if (!compares_numbers(op)) return Status::kUnknown;
    return compared(value(left), op, value(shell_.expand_single(right)));
  }
  ShellWord tested(const Word& word) {
    if (shell_.asks_for_nothing(word)) return {{}, word.begin, word.end};
    const NothingSet around(shell_, &word);
    return shell_.expand_single(word);
  }
  std::optional<std::int64_t> value(const ShellWord& word) {
    if (!word.unknowns.empty()) return std::nullopt;
    Unknown why;
    return word.text.empty() ? std::optional<std::int64_t>(0) : shell_.computed(word, why);
  }

  ShellEvaluator& shell_;
  const std::vector<Word>& words_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Status ShellEvaluator::test_command(const Node& node) {
  const Taking taking(*this, printing_ != nullptr);
  const Status status = ConditionReader(*this, node.words).all();
  decide_by_taken();
  return status;
}

}  // namespace preflight::sources
