// Tested by tests/shell_test.cpp.
#include "src/sources/shell/calculators.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/limits.h"

namespace preflight::sources {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Goes through a text sign by sign.
class Signs {
 public:
  explicit Signs(std::string_view text) : text_(text) {}
  bool take(std::string_view what) {
    skip();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  [[nodiscard]] char next() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string_view while_true(bool (*fits)(char)) {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && fits(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }
  [[nodiscard]] bool done() { return next() == '\0'; }
  // Up to the quote that ends it, escapes as they stand.
  std::optional<std::string_view> quoted() {
    if (!take("\"")) return std::nullopt;
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return std::nullopt;
    return text_.substr(from, at_++ - from);
  }

 private:
  void skip() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

// --- bc ---

// value / 10^scale
struct Decimal {
  std::int64_t value = 0;
  int scale = 0;
};
constexpr std::int64_t kLargest = 1'000'000'000'000'000;
constexpr int kMostDigits = 9;

class Bc {
 public:
  explicit Bc(std::string_view text) : signs_(text) {}
  // False where a part of the line is not followed.
  bool line(int& scale, std::string& out) {
    scale_ = scale;
    if (signs_.take("scale")) {
      const bool sets = signs_.take("=");
      const std::string_view number = signs_.while_true(is_digit);
      if (!sets || number.empty() || number.size() > 1 || !signs_.done()) return false;
      scale = number[0] - '0';
      return true;
    }
    const Decimal left = sum();
    for (const std::string_view op : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!ok_ || !signs_.take(op)) continue;
      Decimal other = sum();
      Decimal mine = left;
      const int most = std::max(mine.scale, other.scale);
      if (!signs_.done() || !widen(mine, most) || !widen(other, most)) return false;
      const std::int64_t a = mine.value;
      const std::int64_t b = other.value;
      const bool holds = op == "<="   ? a <= b
                         : op == ">=" ? a >= b
                         : op == "==" ? a == b
                         : op == "!=" ? a != b
                         : op == "<"  ? a < b
                                      : a > b;
      out += holds ? "1\n" : "0\n";
      return true;
    }
    if (!ok_ || !signs_.done()) return false;
    out += shown(left) + "\n";
    return true;
  }

 private:
  Decimal fail() {
    ok_ = false;
    return {};
  }
  static bool widen(Decimal& number, int scale) {
    for (; number.scale < scale; ++number.scale) {
      if (std::abs(number.value) > kLargest / 10) return false;
      number.value *= 10;
    }
    return true;
  }
  static void narrow(Decimal& number, int scale) {
    for (; number.scale > scale; --number.scale) number.value /= 10;
  }
  // Without a 0 in front of the point.
  static std::string shown(Decimal number) {
    if (number.value == 0) return "0";
    std::string digits = std::to_string(std::abs(number.value));
    if (number.scale > 0) {
      while (static_cast<int>(digits.size()) < number.scale) digits.insert(0, "0");
      digits.insert(digits.size() - static_cast<std::size_t>(number.scale), ".");
    }
    return (number.value < 0 ? "-" : "") + digits;
  }
  Decimal sum() {
    Decimal left = product();
    while (ok_ && (signs_.next() == '+' || signs_.next() == '-')) {
      const bool adds = signs_.take("+") || !signs_.take("-");
      Decimal right = product();
      const int most = std::max(left.scale, right.scale);
      if (!widen(left, most) || !widen(right, most)) return fail();
      left.value += adds ? right.value : -right.value;
    }
    return left;
  }
  Decimal product() {
    Decimal left = factor();
    while (ok_ && (signs_.next() == '*' || signs_.next() == '/' || signs_.next() == '%')) {
      const char op = signs_.next();
      signs_.take({&op, 1});
      const Decimal right = factor();
      if (op == '*') {
        if (right.value != 0 && std::abs(left.value) > kLargest / std::abs(right.value)) return fail();
        const int most = std::max({scale_, left.scale, right.scale});
        left = {left.value * right.value, left.scale + right.scale};
        narrow(left, most);
        continue;
      }
      Decimal above = left;
      if (right.value == 0 || (op == '%' && (scale_ != 0 || left.scale != 0 || right.scale != 0))) return fail();
      if (op == '%') {
        left = {left.value % right.value, 0};
        continue;
      }
      if (!widen(above, right.scale + scale_)) return fail();
      left = {above.value / right.value, above.scale - right.scale};
      narrow(left, scale_);
    }
    return left;
  }
  Decimal factor() {
    if (++depth_ > limits::kArithmeticDepth) return fail();
    Decimal out;
    if (signs_.take("-")) {
      out = factor();
      out.value = -out.value;
    } else if (signs_.take("(")) {
      out = sum();
      if (!signs_.take(")")) return fail();
    } else {
      const std::string whole(signs_.while_true(is_digit));
      const bool has_point = signs_.next() == '.' && signs_.take(".");
      const std::string part = has_point ? std::string(signs_.while_true(is_digit)) : std::string();
      if ((whole + part).empty() || (whole + part).size() > kMostDigits) return fail();
      out = {std::atoll((whole + part).c_str()), static_cast<int>(part.size())};
    }
    if (signs_.next() == '^') return fail();
    --depth_;
    return out;
  }

  Signs signs_;
  int scale_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

// --- awk ---

class AwkBegin {
 public:
  explicit AwkBegin(std::string_view text) : signs_(text) {}
  std::map<std::string, double> names = {};

  std::optional<std::string> run() {
    std::string out;
    if (!signs_.take("BEGIN") || !signs_.take("{")) return std::nullopt;
    while (ok_ && !signs_.take("}")) {
      if (signs_.take(";")) continue;
      if (!statement(out)) return std::nullopt;
      if (signs_.next() != ';' && signs_.next() != '}') return std::nullopt;
    }
    return ok_ && signs_.done() ? std::optional(out) : std::nullopt;
  }

 private:
  double fail() {
    ok_ = false;
    return 0;
  }
  static std::string shown(double value) {
    return value == std::trunc(value) ? fmt::format("{}", static_cast<std::int64_t>(value))
                                      : fmt::format("{:.6g}", value);
  }
  static bool fits(double value) { return std::isfinite(value) && std::abs(value) < 1e9; }

  bool statement(std::string& out) {
    const std::string word(signs_.while_true(is_letter));
    if (word == "print") {
      const double value = sum();
      out += shown(value) + "\n";
      return ok_ && fits(value);
    }
    if (word == "printf") return print_formatted(out);
    if (word.empty() || word == "exit" || !signs_.take("=") || signs_.next() == '=') return false;
    names[word] = sum();
    return ok_;
  }
  bool print_formatted(std::string& out) {
    const bool around = signs_.take("(");
    const auto format = signs_.quoted();
    if (!format) return false;
    for (std::size_t i = 0; i < format->size(); ++i) {
      const char c = (*format)[i];
      const char next = i + 1 < format->size() ? (*format)[i + 1] : '\0';
      if (c == '\\' && next != 'n') return false;
      if (c != '%' || next == '%') {
        out += c == '\\' ? '\n' : c;
        i += c == '\\' || c == '%' ? 1 : 0;
        continue;
      }
      const std::size_t end = std::min(format->find_first_not_of("0123456789.", i + 1), format->size() - 1);
      std::string directive(format->substr(i, end + 1 - i));
      i = end;
      if (directive.size() > 5 || !signs_.take(",")) return false;
      const double value = sum();
      if (!ok_ || !fits(value)) return false;
      std::array<char, 128> text{};
      if (directive.back() == 'd' || directive.back() == 'i') {
        directive.insert(directive.size() - 1, "ll");
        std::snprintf(text.data(), text.size(), directive.c_str(), static_cast<long long>(value));
      } else if (directive.back() == 'f' || directive.back() == 'g') {
        std::snprintf(text.data(), text.size(), directive.c_str(), value);
      } else {
        return false;
      }
      out += text.data();
    }
    return !around || signs_.take(")");
  }
  double sum() {
    double left = product();
    while (ok_ && (signs_.next() == '+' || signs_.next() == '-')) {
      const bool adds = signs_.take("+") || !signs_.take("-");
      const double right = product();
      left = adds ? left + right : left - right;
    }
    return left;
  }
  double product() {
    double left = factor();
    while (ok_ && (signs_.next() == '*' || signs_.next() == '/' || signs_.next() == '%')) {
      const char op = signs_.next();
      signs_.take({&op, 1});
      const double right = factor();
      if (op != '*' && right == 0) return fail();
      left = op == '*' ? left * right : op == '/' ? left / right : std::fmod(left, right);
    }
    return left;
  }
  double factor() {
    if (++depth_ > limits::kArithmeticDepth) return fail();
    double out = 0;
    if (signs_.take("-")) {
      out = -factor();
    } else if (signs_.take("(")) {
      out = sum();
      if (!signs_.take(")")) return fail();
    } else if (is_letter(signs_.next())) {
      const std::string name(signs_.while_true(is_letter));
      const auto known = names.find(name);
      if (name == "int" && signs_.take("(")) {
        out = std::trunc(sum());
        if (!signs_.take(")")) return fail();
      } else if (known == names.end()) {
        return fail();
      } else {
        out = known->second;
      }
    } else {
      const std::string number(signs_.while_true([](char c) { return is_digit(c) || c == '.'; }));
      if (number.empty() || number.size() > kMostDigits || number.find('.') != number.rfind('.')) return fail();
      out = std::strtod(number.c_str(), nullptr);
    }
    if (signs_.next() == '^' || signs_.next() == '(' || is_letter(signs_.next()) || is_digit(signs_.next()))
      return fail();  // powers, and texts that stand beside each other
    --depth_;
    return out;
  }

  Signs signs_;
  int depth_ = 0;
  bool ok_ = true;
};

// --- jq ---

std::optional<std::string> shown(const nlohmann::json& value, bool raw) {
  if (value.is_string()) return raw ? value.get<std::string>() : value.dump();
  return value.is_number_integer() || value.is_boolean() ? std::optional(value.dump()) : std::nullopt;
}

// .name, ."name", ["name"], [N] and, at the end, []
const nlohmann::json* member(const nlohmann::json& value, Signs& path) {
  const bool item = path.take("[");
  if (!item && (!path.take(".") || path.next() == '\0')) return nullptr;
  if (!item && path.next() == '[') return &value;
  if (item && is_digit(path.next())) {
    const std::string index(path.while_true(is_digit));
    const bool fits = index.size() < 5 && path.take("]") && value.is_array();
    return fits && std::strtoul(index.c_str(), nullptr, 10) < value.size()
               ? &value[std::strtoul(index.c_str(), nullptr, 10)]
               : nullptr;
  }
  std::string name;
  if (path.next() == '"') {
    name = path.quoted().value_or("\\");
    if (name.find('\\') != std::string::npos) return nullptr;
  } else if (!item) {
    name = path.while_true([](char c) { return is_letter(c) || is_digit(c); });
  }
  if (name.empty() || (item && !path.take("]")) || !value.is_object()) return nullptr;
  const auto found = value.find(name);
  return found == value.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> of_bc(const std::vector<std::string>& words, std::string_view input) {
  int scale = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "-q" && words[i] != "-l") return std::nullopt;
    if (words[i] == "-l") scale = 20;
  }
  std::string out;
  for (std::size_t from = 0; from < input.size();) {
    const std::size_t end = std::min(input.find_first_of(";\n", from), input.size());
    const std::string_view line = input.substr(from, end - from);
    from = end + 1;
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (!Bc(line).line(scale, out)) return std::nullopt;
  }
  return out;
}

std::optional<std::string> of_awk_begin(const std::vector<std::string>& words) {
  std::map<std::string, double> names;
  std::size_t i = 1;
  for (; i + 1 < words.size() && words[i] == "-v"; i += 2) {
    const auto equals = words[i + 1].find('=');
    const std::string value = equals == std::string::npos ? "" : words[i + 1].substr(equals + 1);
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool plain = !value.empty() && value.find_first_not_of("0123456789.-") == std::string::npos;
    if (!plain || *end != '\0') return std::nullopt;
    names[words[i + 1].substr(0, equals)] = number;
  }
  if (i + 1 != words.size() || words[i].size() > limits::kMatchedBytes) return std::nullopt;
  AwkBegin program(words[i]);
  program.names = std::move(names);
  return program.run();
}

namespace {

std::string_view without_blanks(std::string_view text) {
  const auto from = std::min(text.find_first_not_of(" \t\n"), text.size());
  return text.substr(from, text.find_last_not_of(" \t\n") + 1 - from);
}

// What `.NAME.NAME` is, null where it is missing; none of another query, or where jq fails.
std::optional<nlohmann::json> named_in(const nlohmann::json& root, std::string_view query) {
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  nlohmann::json at = root;
  query = without_blanks(query);
  if (!query.starts_with('.')) return std::nullopt;
  for (std::size_t from = 1; from <= query.size();) {
    const std::size_t end = std::min(query.find('.', from), query.size());
    const std::string name(query.substr(from, end - from));
    if (name.empty() || name.find_first_not_of(kName) != std::string::npos || (name[0] >= '0' && name[0] <= '9'))
      return std::nullopt;
    if (!at.is_object() && !at.is_null()) return std::nullopt;
    at = at.is_object() && at.contains(name) ? nlohmann::json(at[name]) : nlohmann::json();
    from = end + 1;
  }
  return at;
}

// .NAME // LITERAL
std::optional<nlohmann::json> alternative(const nlohmann::json& root, std::string_view query) {
  const auto sign = query.find("//");
  if (sign == std::string_view::npos) return std::nullopt;
  const auto other = nlohmann::json::parse(without_blanks(query.substr(sign + 2)), nullptr, false);
  const auto value = named_in(root, query.substr(0, sign));
  if (!value || other.is_discarded() || other.is_structured()) return std::nullopt;
  const bool nothing = value->is_null() || (value->is_boolean() && !value->get<bool>());
  return nothing ? other : *value;
}

// .NAME | join("SEPARATOR")
std::optional<nlohmann::json> joined(const nlohmann::json& root, std::string_view query) {
  constexpr std::string_view kJoin = "join(";
  const auto pipe = query.find('|');
  if (pipe == std::string_view::npos) return std::nullopt;
  const std::string_view filter = without_blanks(query.substr(pipe + 1));
  if (!filter.starts_with(kJoin) || !filter.ends_with(')')) return std::nullopt;
  const auto between =
      nlohmann::json::parse(filter.substr(kJoin.size(), filter.size() - kJoin.size() - 1), nullptr, false);
  const auto list = named_in(root, query.substr(0, pipe));
  if (!list || !list->is_array() || !between.is_string()) return std::nullopt;
  std::string out;
  for (const nlohmann::json& item : *list) {
    const auto text = item.is_string() || item.is_number_integer() ? shown(item, true) : std::nullopt;
    if (!text) return std::nullopt;
    out += (&item == &list->front() ? "" : between.get<std::string>()) + *text;
  }
  return nlohmann::json(out);
}

}  // namespace

std::optional<std::string> of_jq(const std::vector<std::string>& words, std::string_view input) {
  bool raw = false;
  std::optional<std::string> query;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-r" || words[i] == "--raw-output")
      raw = true;
    else if (words[i].starts_with('-') || query)
      return std::nullopt;
    else
      query = words[i];
  }
  if (!query || input.size() > limits::kPrintBytes) return std::nullopt;
  const nlohmann::json root = nlohmann::json::parse(input, nullptr, false);
  const nlohmann::json* at = root.is_discarded() ? nullptr : &root;
  for (const auto& made : {alternative, joined}) {
    const auto value = at == nullptr ? std::nullopt : made(root, *query);
    const auto text = value ? shown(*value, raw) : std::nullopt;
    if (text) return *text + "\n";
  }
  const bool every = query->ends_with("[]");
  Signs path(std::string_view(*query).substr(0, query->size() - (every ? 2 : 0)));
  for (int depth = 0; at != nullptr && !path.done(); ++depth)
    at = depth > limits::kManifestDepth ? nullptr : member(*at, path);
  if (at == nullptr || (every && !at->is_array())) return std::nullopt;
  if (!every) {
    const auto text = shown(*at, raw);
    return text ? std::optional(*text + "\n") : std::nullopt;
  }
  std::string out;
  for (const nlohmann::json& item : *at) {
    const auto text = shown(item, raw);
    if (!text) return std::nullopt;
    out += *text + "\n";
  }
  return out;
}

}  // namespace preflight::sources
