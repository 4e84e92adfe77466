#include "src/sources/readers/workflow_condition.h"

#include <cstdlib>

#include "src/base/ascii_case.h"

namespace preflight::sources {
namespace {

// A value of an expression. GitHub compares texts without case, and what is of two kinds as numbers.
struct Operand {
  std::string text;
  enum class Kind { kText, kNumber, kFlag, kColumn, kMissing } kind;  // of a column YAML says whether it is a text
};

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

bool is_flag(std::string_view text) { return text == "true" || text == "false"; }

std::optional<bool> equal(const Operand& a, const Operand& b) {
  using Kind = Operand::Kind;
  if (a.kind == Kind::kMissing && b.kind == Kind::kMissing) return true;
  if (a.kind == Kind::kMissing || b.kind == Kind::kMissing) {  // null is 0, and so is an empty text
    const Operand& other = a.kind == Kind::kMissing ? b : a;
    if (other.text.empty()) return true;
    return number(other.text) || is_flag(other.text) ? std::nullopt : std::optional(false);
  }
  const bool same = ascii_lower(a.text) == ascii_lower(b.text);
  if (same && (a.kind == Kind::kColumn || b.kind == Kind::kColumn)) {
    const Operand& other = a.kind == Kind::kColumn ? b : a;
    const bool of_two_kinds = is_flag(other.text) && other.kind == Kind::kText;  // true is no 'true'
    return of_two_kinds ? std::nullopt : std::optional(true);
  }
  if (same && a.kind == b.kind) return true;
  const auto x = number(a.text);
  const auto y = number(b.text);
  const bool may_be_one =
      (x && y && *x == *y) || is_flag(a.text) || is_flag(b.text) || a.text.empty() || b.text.empty();
  return may_be_one ? std::nullopt : std::optional(false);
}

// By their numbers.
std::optional<bool> ordered(const std::optional<Operand>& a, std::string_view op, const std::optional<Operand>& b) {
  const auto x = a ? number(a->text) : std::nullopt;
  const auto y = b ? number(b->text) : std::nullopt;
  const bool as_texts = a && b && a->kind != Operand::Kind::kNumber && b->kind != Operand::Kind::kNumber;
  if (!x || !y || as_texts) return std::nullopt;
  if (op.ends_with('=') && *x == *y) return true;
  return op.starts_with('<') ? *x < *y : *x > *y;
}

class Reader {
 public:
  Reader(std::string_view text, const std::map<std::string, ShellWord>& row) : text_(text), row_(row) {}

  std::optional<bool> all() {
    const std::optional<bool> value = either();
    skip_blanks();
    return failed_ || at_ < text_.size() ? std::nullopt : value;
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  bool sign(std::string_view wanted) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }
  std::optional<bool> either() {
    std::optional<bool> value = both();
    while (sign("||")) {
      const std::optional<bool> right = both();
      value = value == true || right == true ? std::optional(true) : value && right ? value : std::nullopt;
    }
    return value;
  }
  std::optional<bool> both() {
    std::optional<bool> value = one();
    while (sign("&&")) {
      const std::optional<bool> right = one();
      value = value == false || right == false ? std::optional(false) : value && right ? value : std::nullopt;
    }
    return value;
  }
  std::optional<bool> one() {
    constexpr int kDeepest = 40;
    if (++depth_ > kDeepest) failed_ = true;
    if (failed_) return std::nullopt;
    if (!text_.substr(at_).starts_with("!=") && sign("!")) {
      const std::optional<bool> value = one();
      return value ? std::optional(!*value) : value;
    }
    if (sign("(")) {
      const std::optional<bool> value = either();
      failed_ = failed_ || !sign(")");
      return value;
    }
    return comparison();
  }
  std::optional<bool> comparison() {
    const std::optional<Operand> left = operand();
    for (const std::string_view op : {"<=", ">=", "<", ">"}) {
      if (sign(op)) return ordered(left, op, operand());
    }
    const bool equals = sign("==");
    if (!equals && !sign("!=")) return left ? truth(*left) : std::nullopt;
    const std::optional<Operand> right = operand();
    const std::optional<bool> same = left && right ? equal(*left, *right) : std::nullopt;
    return same ? std::optional(*same == equals) : same;
  }
  static std::optional<bool> truth(const Operand& value) {
    const bool is_text = value.kind == Operand::Kind::kText;
    if (value.text.empty()) return false;
    if (!is_text && (value.text == "false" || number(value.text) == 0.0)) return false;
    return true;
  }
  // A literal or a column of the matrix; none of anything else, which is read over.
  std::optional<Operand> operand() {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '\'') {
      const std::size_t close = text_.find('\'', at_ + 1);
      failed_ = failed_ || close == text_.npos || text_.substr(close + 1).starts_with('\'');
      if (failed_) return std::nullopt;
      const std::string inside(text_.substr(at_ + 1, close - at_ - 1));
      at_ = close + 1;
      return Operand{inside, Operand::Kind::kText};
    }
    constexpr std::string_view kSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const std::size_t end = std::min(text_.find_first_not_of(kSigns, at_), text_.size());
    const std::string name(text_.substr(at_, end - at_));
    failed_ = failed_ || name.empty();
    at_ = end;
    if (sign("(")) return call(name);
    constexpr std::string_view kMatrix = "matrix.";
    if (name.starts_with(kMatrix)) {
      const auto column = row_.find(name.substr(kMatrix.size()));
      if (column == row_.end()) return Operand{{}, Operand::Kind::kMissing};
      return column->second.unknowns.empty() ? std::optional(Operand{column->second.text, Operand::Kind::kColumn})
                                             : std::nullopt;
    }
    if (is_flag(name)) return Operand{name, Operand::Kind::kFlag};
    return number(name) ? std::optional(Operand{name, Operand::Kind::kNumber}) : std::nullopt;
  }
  // That the steps before went well is taken for granted; contains() and its kin of two texts are known.
  std::optional<Operand> call(const std::string& name) {
    if (sign(")")) {
      return name == "always" || name == "success" ? std::optional(Operand{"true", Operand::Kind::kFlag})
                                                   : std::nullopt;
    }
    const std::optional<Operand> first = operand();
    failed_ = failed_ || !sign(",");
    const std::optional<Operand> second = failed_ ? std::nullopt : operand();
    failed_ = failed_ || !sign(")");
    if (!first || !second) return std::nullopt;
    const std::string text = ascii_lower(first->text);
    const std::string part = ascii_lower(second->text);
    const auto told = [](bool holds) { return Operand{holds ? "true" : "false", Operand::Kind::kFlag}; };
    if (name == "contains") return told(text.find(part) != std::string::npos);
    if (name == "startsWith") return told(text.starts_with(part));
    if (name == "endsWith") return told(text.ends_with(part));
    return std::nullopt;
  }

  std::string_view text_;
  const std::map<std::string, ShellWord>& row_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<bool> holds_in_row(std::string_view expression, const std::map<std::string, ShellWord>& row) {
  return Reader(expression, row).all();
}

}  // namespace preflight::sources
