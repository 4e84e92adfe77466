// Tested by tests/shell_arithmetic_test.cpp.
#include "src/sources/shell/arithmetic.h"

#include <array>
#include <limits>

#include "src/base/limits.h"
#include "src/sources/shell/parser.h"

namespace preflight::sources {
namespace {

std::int64_t wrapped(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// As bash: digits, lower case, upper case, @ and _; up to base 36 case does not matter.
int digit_of(char c, int base) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + (base <= 36 ? 10 : 36);
  if (c == '@') return 62;
  return c == '_' ? 63 : 64;
}

std::optional<std::int64_t> digits(std::string_view text, int base) {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const int digit = digit_of(c, base);
    if (digit >= base) return std::nullopt;
    value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit);
  }
  return wrapped(value);
}

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  std::uint64_t out = 1;
  std::uint64_t square = bits(base);
  for (std::uint64_t left = bits(exponent); left > 0; left >>= 1) {
    if ((left & 1) != 0) out *= square;
    square *= square;
  }
  return wrapped(out);
}

struct Operator {
  std::string_view text;
  int level;  // binds tighter the higher it is
};
// Longer ones first where one begins with another.
constexpr std::array<Operator, 20> kOperators = {
    {{"**", 11}, {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&&", 2}, {"||", 1}, {"*", 10},
     {"/", 10},  {"%", 10}, {"+", 9},  {"-", 9},  {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},  {"|", 3},  {",", 0}}};
constexpr int kPower = 11;

std::optional<std::int64_t> computed(std::string_view op, std::int64_t a, std::int64_t b) {
  if (op == "**") return power(a, b);
  if (op == "*") return wrapped(bits(a) * bits(b));
  if (op == "+") return wrapped(bits(a) + bits(b));
  if (op == "-") return wrapped(bits(a) - bits(b));
  if (op == "/" || op == "%") {
    if (b == 0) return std::nullopt;
    if (b == -1) return op == "/" ? wrapped(0 - bits(a)) : 0;
    return op == "/" ? a / b : a % b;
  }
  if (op == "<<") return wrapped(bits(a) << (bits(b) & 63));
  if (op == ">>") return a >> (bits(b) & 63);
  if (op == "<=") return a <= b ? 1 : 0;
  if (op == ">=") return a >= b ? 1 : 0;
  if (op == "<") return a < b ? 1 : 0;
  if (op == ">") return a > b ? 1 : 0;
  if (op == "==") return a == b ? 1 : 0;
  if (op == "!=") return a != b ? 1 : 0;
  if (op == "&") return a & b;
  if (op == "^") return a ^ b;
  if (op == "|") return a | b;
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string_view text, const ArithmeticNames& names) : text_(text), names_(names) {}

  std::optional<std::int64_t> whole() {
    skip();
    if (at_ == text_.size()) return 0;
    const auto out = comma();
    skip();
    return ok_ && at_ == text_.size() ? std::optional(out) : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (shell_blank(text_[at_]) || text_[at_] == '\n')) ++at_;
  }
  [[nodiscard]] bool begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    skip();
    if (!begins(what)) return false;
    at_ += what.size();
    return true;
  }
  std::int64_t fail() {
    ok_ = false;
    return 0;
  }
  // Operands that a short circuit leaves out are read, not looked up and not assigned.
  template <typename Read>
  std::int64_t aside(bool taken, const Read& read) {
    aside_ += taken ? 0 : 1;
    const std::int64_t out = read();
    aside_ -= taken ? 0 : 1;
    return out;
  }

  std::int64_t comma() {
    std::int64_t out = assignment();
    while (ok_ && take(",")) out = assignment();
    return out;
  }

  std::string name() {
    skip();
    std::size_t end = at_;
    if (end < text_.size() && shell_name_start(text_[end])) {
      while (end < text_.size() && shell_name_char(text_[end])) ++end;
    }
    return std::string(text_.substr(at_, end - at_));
  }

  // The operator of an assignment at the reader's place: "" for =, nullopt where none stands there.
  std::optional<std::string_view> assigning() {
    skip();
    for (const std::string_view op : {"**", "<<", ">>", "*", "/", "%", "+", "-", "&", "^", "|"}) {
      if (op == "**" || !begins(op) || text_.substr(at_ + op.size(), 1) != "=") continue;
      at_ += op.size() + 1;
      return op;
    }
    if (!begins("=") || begins("==")) return std::nullopt;
    ++at_;
    return std::string_view();
  }

  std::int64_t assignment() {
    if (++depth_ > limits::kArithmeticDepth) return fail();
    const std::size_t before = at_;
    const std::string target = name();
    std::int64_t out = 0;
    at_ += target.size();
    const auto op = target.empty() ? std::nullopt : assigning();
    if (op) {
      const std::int64_t right = assignment();
      out = op->empty() ? right : apply(*op, value_of(target), right);
      assign(target, out);
    } else {
      at_ = before;
      out = conditional();
    }
    --depth_;
    return out;
  }

  std::int64_t conditional() {
    const std::int64_t condition = binary(1);
    if (!ok_ || !take("?")) return condition;
    const std::int64_t yes = aside(condition != 0, [&] { return comma(); });
    if (!take(":")) return fail();
    const std::int64_t no = aside(condition == 0, [&] { return assignment(); });
    return condition != 0 ? yes : no;
  }

  // ++ and -- are operators of their own only in front of a name; elsewhere they are two signs.
  bool steps_a_name() {
    skip();
    if (!begins("++") && !begins("--")) return false;
    std::size_t next = at_ + 2;
    while (next < text_.size() && (shell_blank(text_[next]) || text_[next] == '\n')) ++next;
    return next < text_.size() && shell_name_start(text_[next]);
  }

  const Operator* next_operator() {
    if (steps_a_name()) return nullptr;
    for (const Operator& one : kOperators) {
      if (!begins(one.text)) continue;
      const bool assigns = one.level >= 3 && one.level != 7 && one.level != 6 && one.level != kPower &&
                           text_.substr(at_ + one.text.size(), 1) == "=";
      return assigns ? nullptr : &one;
    }
    return nullptr;
  }

  std::int64_t binary(int least) {
    if (++depth_ > limits::kArithmeticDepth) return fail();
    std::int64_t left = unary();
    for (const Operator* op = next_operator(); ok_ && op != nullptr && op->level >= least; op = next_operator()) {
      at_ += op->text.size();
      if (op->text == "&&" || op->text == "||") {
        const bool looks = (left != 0) == (op->text == "&&");
        const std::int64_t right = aside(looks, [&] { return binary(op->level + 1); });
        left = looks ? (right != 0 ? 1 : 0) : (left != 0 ? 1 : 0);
        continue;
      }
      const std::int64_t right = binary(op->level == kPower ? kPower : op->level + 1);
      left = apply(op->text, left, right);
    }
    --depth_;
    return left;
  }

  std::int64_t apply(std::string_view op, std::int64_t a, std::int64_t b) {
    if (!ok_ || aside_ > 0) return 0;
    const auto out = computed(op, a, b);
    return out ? *out : fail();
  }

  std::int64_t unary() {
    if (++depth_ > limits::kArithmeticDepth) return fail();
    std::int64_t out = 0;
    if (steps_a_name()) {
      at_ += 2;
      out = stepped(text_[at_ - 1] == '+', true);
    } else if (take("!")) {
      out = unary() == 0 ? 1 : 0;
    } else if (take("~")) {
      out = ~unary();
    } else if (take("-")) {
      out = wrapped(0 - bits(unary()));
    } else if (take("+")) {
      out = unary();
    } else {
      out = operand();
    }
    --depth_;
    return out;
  }

  // ++NAME, NAME++ and their kin.
  std::int64_t stepped(bool up, bool before) {
    const std::string target = name();
    if (target.empty()) return fail();
    at_ += target.size();
    const std::int64_t old = value_of(target);
    const std::int64_t now = apply("+", old, up ? 1 : -1);
    assign(target, now);
    return before ? now : old;
  }

  std::int64_t operand() {
    if (take("(")) {
      const std::int64_t out = comma();
      return take(")") ? out : fail();
    }
    const std::string word = name();
    if (!word.empty()) {
      const std::size_t begin = at_;
      at_ += word.size();
      if (text_.substr(at_, 1) == "[") return fail();
      skip();
      if (!begins("++") && !begins("--")) return value_of(word);
      const bool up = begins("++");
      at_ = begin;
      const std::int64_t out = stepped(up, false);
      skip();
      at_ += 2;
      return out;
    }
    std::size_t end = at_;
    while (end < text_.size() && (shell_name_char(text_[end]) || text_[end] == '#' || text_[end] == '@')) ++end;
    const auto number = arithmetic_constant(text_.substr(at_, end - at_));
    at_ = end;
    return number ? *number : fail();
  }

  std::int64_t value_of(const std::string& name) {
    if (aside_ > 0 || !ok_) return 0;
    const auto value = names_.value(name);
    return value ? *value : fail();
  }
  void assign(const std::string& name, std::int64_t value) {
    if (aside_ == 0 && ok_) names_.assign(name, value);
  }

  std::string_view text_;
  const ArithmeticNames& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int aside_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<std::int64_t> arithmetic_constant(std::string_view text) {
  const auto sharp = text.find('#');
  if (sharp != std::string_view::npos) {
    const auto base = digits(text.substr(0, sharp), 10);
    if (!base || *base < 2 || *base > 64) return std::nullopt;
    return digits(text.substr(sharp + 1), static_cast<int>(*base));
  }
  if (text.starts_with("0x") || text.starts_with("0X")) return digits(text.substr(2), 16);
  if (text.size() > 1 && text.front() == '0') return digits(text.substr(1), 8);
  return digits(text, 10);
}

std::optional<std::int64_t> arithmetic(std::string_view text, const ArithmeticNames& names) {
  return Reader(text, names).whole();
}

bool is_arithmetic(std::string_view text) {
  if (text.find('[') != std::string_view::npos) return true;  // of an array, which is not read here
  const ArithmeticNames ones = {.value = [](const std::string&) { return std::optional<std::int64_t>(1); },
                                .assign = [](const std::string&, std::int64_t) {}};
  return arithmetic(text, ones).has_value();
}

}  // namespace preflight::sources
