#include "src/sources/readers/workflow_condition.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/ascii_case.h"

namespace preflight::sources {
namespace {

using Kind = WorkflowValue::Kind;
constexpr std::string_view kMatrix = "matrix.";
constexpr std::string_view kBlanks = " \t\r\n";

WorkflowValue flag(bool holds) { return {Kind::kFlag, {holds ? "true" : "false"}}; }

// Of a text that is one, as JSON writes it, and in base 16 or 8.
std::optional<double> number(std::string_view text) {
  const bool based = text.starts_with("0x") || text.starts_with("0o");
  if (text.empty() || (!based && text.find_first_not_of("0123456789+-.eE") != std::string_view::npos))
    return std::nullopt;
  char* end = nullptr;
  const std::string digits(based ? text.substr(2) : text);
  const double value = based ? static_cast<double>(std::strtoull(digits.c_str(), &end, text[1] == 'x' ? 16 : 8))
                             : std::strtod(digits.c_str(), &end);
  return !digits.empty() && end == digits.c_str() + digits.size() ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) + 1 - from);
}

// What a value is among numbers; NaN is like none.
double as_number(const WorkflowValue& value) {
  const std::string_view text = trimmed(value.text.text);
  if (value.kind == Kind::kNull || text.empty()) return 0;
  if (value.kind == Kind::kFlag) return text == "true" ? 1 : 0;
  return number(text).value_or(std::nan(""));
}

bool is_true(const WorkflowValue& value) {
  if (value.kind == Kind::kText) return !value.text.text.empty();
  const double number = as_number(value);
  return number != 0 && !std::isnan(number);
}

bool equal(const WorkflowValue& a, const WorkflowValue& b) {
  if (a.kind == Kind::kText && b.kind == Kind::kText) return ascii_lower(a.text.text) == ascii_lower(b.text.text);
  return as_number(a) == as_number(b);
}

bool ordered(const WorkflowValue& a, std::string_view op, const WorkflowValue& b) {
  const bool texts = a.kind == Kind::kText && b.kind == Kind::kText;
  const std::string x = texts ? ascii_lower(a.text.text) : std::string();
  const std::string y = texts ? ascii_lower(b.text.text) : std::string();
  const bool less = texts ? x < y : as_number(a) < as_number(b);
  const bool greater = texts ? x > y : as_number(a) > as_number(b);
  if (op.ends_with('=') && equal(a, b)) return true;
  return op.starts_with('<') ? less : greater;
}

// What a part of an expression comes to.
struct Evaluated {
  std::optional<WorkflowValue> value = {};
  std::optional<bool> truth = {};  // known of more than of `value`: nothing && what nobody knows
  std::optional<ShellText> why = {};
  WorkflowOperand name = {};  // where it is a name alone that nobody may give

  static Evaluated of(WorkflowValue known) {
    Evaluated out;
    if (!known.text.unknowns.empty()) {
      out.why = std::move(known.text);
      return out;
    }
    out.truth = is_true(known);
    out.value = std::move(known);
    return out;
  }
  static Evaluated not_known(const Evaluated& a, const Evaluated& b) {
    Evaluated out;
    out.why = a.why ? a.why : b.why;
    return out;
  }
};

// format('{0}-{1}', …); none where a number is none of its values.
std::optional<std::string> formatted(std::string_view text, const std::vector<WorkflowValue>& values) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char sign = text[i];
    if (sign != '{' && sign != '}') {
      out += sign;
    } else if (i + 1 < text.size() && text[i + 1] == sign) {
      out += sign;
      ++i;
    } else {
      const auto close = text.find('}', i);
      if (sign == '}' || close == std::string_view::npos) return std::nullopt;
      const std::string_view digits = text.substr(i + 1, close - i - 1);
      const bool plain =
          !digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == std::string_view::npos;
      const std::size_t index = plain ? std::strtoul(std::string(digits).c_str(), nullptr, 10) : values.size();
      if (index >= values.size()) return std::nullopt;
      out += values[index].text.text;
      i = close;
    }
  }
  return out;
}

// fromJSON of a plain value.
std::optional<WorkflowValue> from_json(std::string_view text) {
  text = trimmed(text);
  if (text == "null") return WorkflowValue{};
  if (text == "true" || text == "false") return flag(text == "true");
  if (text.size() > 1 && text.front() == '"' && text.find_first_of("\"\\", 1) == text.size() - 1)
    return workflow_text({std::string(text.substr(1, text.size() - 2))});
  if (text.find_first_not_of("0123456789") == std::string_view::npos && !text.empty())
    return WorkflowValue{Kind::kNumber, {std::string(text)}};
  return std::nullopt;
}

// A function of values that are known. That the steps before went well is taken for granted.
std::optional<WorkflowValue> called(const std::string& name, const std::vector<WorkflowValue>& given) {
  if (given.empty()) return name == "always" || name == "success" ? std::optional(flag(true)) : std::nullopt;
  const std::string& first = given[0].text.text;
  if (name == "fromjson" && given.size() == 1) return from_json(first);
  if (name == "format") {
    auto text = formatted(first, {given.begin() + 1, given.end()});
    return text ? std::optional(workflow_text({std::move(*text)})) : std::nullopt;
  }
  if (given.size() != 2) return std::nullopt;
  const std::string text = ascii_lower(first);
  const std::string part = ascii_lower(given[1].text.text);
  if (name == "contains") return flag(text.find(part) != std::string::npos);
  if (name == "startswith") return flag(text.starts_with(part));
  if (name == "endswith") return flag(text.ends_with(part));
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string_view text, const WorkflowNames& names, std::size_t offset)
      : text_(text), names_(names), offset_(offset) {}

  Evaluated all() {
    Evaluated out = either();
    skip_blanks();
    return failed_ || at_ < text_.size() ? Evaluated{} : out;
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  bool sign(std::string_view wanted) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  // a || b: the first that holds, else the last.
  Evaluated either() {
    Evaluated left = both();
    while (sign("||")) left = chosen(left, both());
    return left;
  }
  // `right`, which `left` decided for.
  static Evaluated behind(const Evaluated& left, Evaluated right) {
    if (left.value && right.value) add_defaults(right.value->text.defaults, left.value->text.defaults);
    return right;
  }
  Evaluated chosen(const Evaluated& left, const Evaluated& right) const {
    if (left.truth == true) return left;
    if (left.truth == false) return behind(left, right);
    const bool told = !left.name.not_given.empty() && right.value &&
                      (!left.name.otherwise || *left.name.otherwise == right.value->text.text);
    if (told) {
      Evaluated out = right;
      add_defaults(out.value->text.defaults, taken_default(left.name.not_given, right.value->text.text, offset_));
      return out;
    }
    Evaluated out = Evaluated::not_known(left, right);
    if (right.truth == true) out.truth = true;
    return out;
  }
  // a && b: the first that does not hold, else the last.
  Evaluated both() {
    Evaluated left = one();
    while (sign("&&")) {
      const Evaluated right = one();
      if (left.truth == false) continue;
      if (left.truth == true) {
        left = behind(left, right);
        left.name = {};
        continue;
      }
      left = Evaluated::not_known(left, right);
      if (right.truth == false) left.truth = false;
    }
    return left;
  }
  Evaluated one() {
    const Evaluated left = plain();
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!sign(op)) continue;
      const Evaluated right = plain();
      if (!left.value || !right.value) return Evaluated::not_known(left, right);
      const bool holds = op == "==" || op == "!=" ? equal(*left.value, *right.value) == (op == "==")
                                                  : ordered(*left.value, op, *right.value);
      return with_defaults(flag(holds), {left.value->text.defaults, right.value->text.defaults});
    }
    return left;
  }
  Evaluated plain() {
    constexpr int kDeepest = 40;
    if (++depth_ > kDeepest) failed_ = true;
    Evaluated out;
    skip_blanks();
    if (!failed_ && !text_.substr(at_).starts_with("!=") && sign("!")) {
      const Evaluated inner = plain();
      if (inner.truth) out = Evaluated::of(flag(!*inner.truth));
      if (inner.value && out.value) add_defaults(out.value->text.defaults, inner.value->text.defaults);
      out.why = inner.why;
    } else if (!failed_ && sign("(")) {
      out = either();
      failed_ = failed_ || !sign(")");
    } else if (!failed_) {
      out = operand();
    }
    --depth_;
    return out;
  }
  static Evaluated with_defaults(WorkflowValue value, const std::vector<TakenDefaults>& all) {
    for (const TakenDefaults& one : all) add_defaults(value.text.defaults, one);
    return Evaluated::of(std::move(value));
  }

  // Two quotes in it are one.
  std::optional<std::string> quoted() {
    std::string out;
    if (at_ >= text_.size() || text_[at_] != '\'') return std::nullopt;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '\'') {
        out += text_[at_];
      } else if (text_.substr(at_ + 1).starts_with('\'')) {
        out += text_[at_++];
      } else {
        ++at_;
        return out;
      }
    }
    failed_ = true;
    return std::nullopt;
  }
  Evaluated operand() {
    skip_blanks();
    if (auto text = quoted()) return Evaluated::of(workflow_text({std::move(*text)}));
    constexpr std::string_view kSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+*";
    const std::size_t end = std::min(text_.find_first_not_of(kSigns, at_), text_.size());
    std::string name(text_.substr(at_, end - at_));
    failed_ = failed_ || name.empty();
    at_ = end;
    if (sign("(")) return call(ascii_lower(name));
    while (!failed_ && sign("[")) {  // matrix['tp']
      skip_blanks();
      const auto member = quoted();
      if (!member) return skip_index();
      failed_ = failed_ || !sign("]");
      name += "." + *member;
    }
    if (failed_) return {};
    if (name == "null") return Evaluated::of({});
    if (name == "true" || name == "false") return Evaluated::of(flag(name == "true"));
    if (number(name)) return Evaluated::of({Kind::kNumber, {name}});
    WorkflowOperand known = names_(name);
    Evaluated out = known.value ? Evaluated::of(std::move(*known.value)) : Evaluated{};
    if (!out.value) out.name = std::move(known);
    return out;
  }
  // matrix[…] of what is computed: not known, and read over.
  Evaluated skip_index() {
    either();
    failed_ = failed_ || !sign("]");
    while (!failed_ && at_ < text_.size() && (text_[at_] == '.' || text_[at_] == '[')) failed_ = true;
    return {};
  }
  Evaluated call(const std::string& name) {
    std::vector<WorkflowValue> given;
    std::vector<TakenDefaults> defaults;
    Evaluated unknown;
    bool known = true;
    for (bool first = true; !failed_ && !sign(")"); first = false) {
      failed_ = failed_ || (!first && !sign(","));
      const Evaluated one = either();
      known = known && one.value;
      unknown = Evaluated::not_known(unknown, one);
      if (one.value) given.push_back(*one.value);
      if (one.value) defaults.push_back(one.value->text.defaults);
    }
    auto value = known && !failed_ ? called(name, given) : std::nullopt;
    return value ? with_defaults(std::move(*value), defaults) : unknown;
  }

  std::string_view text_;
  const WorkflowNames& names_;
  std::size_t offset_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

WorkflowValue workflow_text(ShellText text) { return {Kind::kText, std::move(text)}; }

std::optional<ShellText> workflow_value(std::string_view expression, const WorkflowNames& names, std::size_t offset) {
  Evaluated out = Reader(expression, names, offset).all();
  if (out.value) return std::move(out.value->text);
  return out.why;
}

WorkflowNames names_of_row(const WorkflowRow& row) {
  return [&row](const std::string& path) -> WorkflowOperand {
    if (!path.starts_with(kMatrix)) return {};
    const std::string name = path.substr(kMatrix.size());
    const auto column = row.find(name);
    const auto part = row.lower_bound(name + ".");  // of a mapping, which is no plain value
    if (column == row.end() && part != row.end() && part->first.starts_with(name + ".")) return {};
    return {column == row.end() ? WorkflowValue{} : column->second};
  };
}

std::optional<bool> holds_in_row(std::string_view expression, const WorkflowRow& row) {
  return Reader(expression, names_of_row(row), 0).all().truth;
}

std::size_t end_of_workflow_expression(std::string_view text, std::size_t from) {
  bool quoted = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (!quoted && text.substr(i).starts_with("}}")) return i;
  }
  return std::string_view::npos;
}

namespace {

// Each name of the expression, or of those that stand in a text.
void hear_names(std::string_view expression, const std::function<void(const std::string&)>& hear) {
  const WorkflowNames names = [&](const std::string& path) -> WorkflowOperand {
    hear(path);
    return {};
  };
  workflow_value(expression, names, 0);
}

void hear_names_in(std::string_view text, const std::function<void(const std::string&)>& hear) {
  constexpr std::string_view kOpen = "${{";
  for (auto at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at + kOpen.size())) {
    const auto end = end_of_workflow_expression(text, at + kOpen.size());
    if (end != std::string_view::npos) hear_names(text.substr(at + kOpen.size(), end - at - kOpen.size()), hear);
  }
}

}  // namespace

std::set<std::string> columns_named_in(std::string_view text) {
  std::set<std::string> out;
  hear_names_in(text, [&](const std::string& path) {
    if (path.starts_with(kMatrix)) out.insert(path.substr(kMatrix.size()));
  });
  return out;
}

std::set<std::string> contexts_of(std::string_view expression) {
  std::set<std::string> out;
  hear_names(expression, [&](const std::string& path) { out.insert(path.substr(0, path.find('.'))); });
  return out;
}

std::set<std::string> contexts_named_in(std::string_view text) {
  std::set<std::string> out;
  hear_names_in(text, [&](const std::string& path) { out.insert(path.substr(0, path.find('.'))); });
  return out;
}

}  // namespace preflight::sources
