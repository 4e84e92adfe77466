// Behaviour: PyYAML 6.0, resolver.py (which tag a plain scalar gets) and constructor.py (what becomes of it).
// Tested by tests/args_config_test.cpp.
#include "src/python/yaml_scalars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "src/python/text.h"
#include "src/base/ascii_case.h"

namespace preflight::python {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all(std::string_view s, std::string_view allowed) { return s.find_first_not_of(allowed) == s.npos; }
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kDigitsAndUnderscore = "0123456789_";

std::string_view without_sign(std::string_view s) {
  if (s.starts_with('-') || s.starts_with('+')) s.remove_prefix(1);
  return s;
}

bool one_of(std::string_view s, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), s) != words.end();
}

// yes, Yes, YES and so on.
bool is_bool(std::string_view s) {
  return one_of(s, {"yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE", "on",
                    "On", "ON", "off", "Off", "OFF"});
}

// The ":59" groups of a base-60 number; true when at least one stands there and nothing else.
bool is_sexagesimal_tail(std::string_view s) {
  if (s.empty()) return false;
  while (!s.empty()) {
    if (s.front() != ':') return false;
    s.remove_prefix(1);
    std::size_t n = 0;
    while (n < s.size() && is_digit(s[n])) ++n;
    if (n == 0 || n > 2 || (n == 2 && s.front() > '5')) return false;
    s.remove_prefix(n);
  }
  return true;
}

bool is_int(std::string_view text) {
  const std::string_view s = without_sign(text);
  if (s.empty() || !is_digit(s.front())) return false;
  if (s == "0") return true;
  if (s.front() == '0') {
    if (s[1] == 'b') return s.size() > 2 && all(s.substr(2), "01_");
    if (s[1] == 'x') return s.size() > 2 && all(s.substr(2), "0123456789abcdefABCDEF_");
    return all(s.substr(1), "01234567_");
  }
  const auto colon = s.find(':');
  if (!all(s.substr(0, colon), kDigitsAndUnderscore)) return false;
  return colon == s.npos || is_sexagesimal_tail(s.substr(colon));
}

bool is_exponent(std::string_view s) {  // [eE][-+]digits, or nothing
  if (s.empty()) return true;
  return s.size() > 2 && (s[0] == 'e' || s[0] == 'E') && (s[1] == '-' || s[1] == '+') && all(s.substr(2), kDigits);
}

bool is_float(std::string_view text) {
  const std::string_view s = without_sign(text);
  const bool is_signed = s.size() != text.size();
  if (one_of(s, {".inf", ".Inf", ".INF"})) return true;
  if (!is_signed && one_of(s, {".nan", ".NaN", ".NAN"})) return true;
  const auto point = s.find('.');
  if (point == s.npos) return false;
  const std::string_view whole = s.substr(0, point);
  const std::string_view rest = s.substr(point + 1);
  const std::size_t fraction = std::min(rest.find_first_not_of(kDigitsAndUnderscore), rest.size());
  if (whole.empty()) {
    return !is_signed && !rest.empty() && is_digit(rest.front()) && is_exponent(rest.substr(fraction));
  }
  if (!is_digit(whole.front())) return false;
  const auto colon = whole.find(':');
  if (!all(whole.substr(0, colon), kDigitsAndUnderscore)) return false;
  if (colon == whole.npos) return is_exponent(rest.substr(fraction));
  return is_sexagesimal_tail(whole.substr(colon)) && fraction == rest.size();
}

struct Timestamp {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, microsecond = 0;
  bool has_time = false;
  bool has_zone = false;
  bool padded = true;  // month and day of two digits each
  int zone_minutes = 0;
};

// Reads what PyYAML's timestamp expression matches; nullopt when it does not.
class TimestampReader {
 public:
  explicit TimestampReader(std::string_view s) : s_(s) {}

  std::optional<Timestamp> read() {
    Timestamp t;
    if (!number(t.year, 4, 4) || !take('-') || !number(t.month, 1, 2) || !take('-') || !number(t.day, 1, 2)) return {};
    t.padded = at_ == 10;
    if (at_ == s_.size()) return t;
    if (!take('T') && !take('t') && !blanks()) return {};
    t.has_time = true;
    if (!number(t.hour, 1, 2) || !take(':') || !number(t.minute, 2, 2) || !take(':') || !number(t.second, 2, 2)) {
      return {};
    }
    if (take('.')) {
      int scale = 100'000;
      for (; at_ < s_.size() && is_digit(s_[at_]); ++at_, scale /= 10) t.microsecond += scale * (s_[at_] - '0');
    }
    if (at_ == s_.size()) return t;
    blanks();
    t.has_zone = true;
    if (take('Z')) return end(t);
    const bool negative = peek() == '-';
    if (!take('-') && !take('+')) return {};
    int hours = 0;
    int minutes = 0;
    if (!number(hours, 1, 2) || (take(':') && !number(minutes, 2, 2))) return {};
    t.zone_minutes = (negative ? -1 : 1) * (60 * hours + minutes);
    return end(t);
  }

 private:
  [[nodiscard]] char peek() const { return at_ < s_.size() ? s_[at_] : '\0'; }
  bool take(char c) { return peek() == c && (++at_, true); }
  bool blanks() {
    const std::size_t from = at_;
    while (peek() == ' ' || peek() == '\t') ++at_;
    return at_ > from;
  }
  bool number(int& out, std::size_t least, std::size_t most) {
    std::size_t n = 0;
    for (out = 0; n < most && is_digit(peek()); ++n) out = out * 10 + (s_[at_++] - '0');
    return n >= least;
  }
  [[nodiscard]] std::optional<Timestamp> end(const Timestamp& t) const {
    return at_ == s_.size() ? std::optional(t) : std::nullopt;
  }

  std::string_view s_;
  std::size_t at_ = 0;
};

bool is_timestamp(std::string_view s) {
  if (s.size() < 8 || !is_digit(s.front())) return false;
  const auto t = TimestampReader(s).read();
  return t && (t->has_time || t->padded);
}

[[noreturn]] void raise(std::string exception, std::string message) {
  throw YamlFault{std::move(exception), std::move(message)};
}

void check_date(const Timestamp& t) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = t.year % 4 == 0 && (t.year % 100 != 0 || t.year % 400 == 0);
  const bool month = t.month >= 1 && t.month <= 12;
  const int days = month ? kDays[static_cast<std::size_t>(t.month - 1)] + (leap && t.month == 2 ? 1 : 0) : 0;
  if (t.year < 1 || t.day < 1 || t.day > days) raise("ValueError", "no such day");
  if (t.hour > 23 || t.minute > 59 || t.second > 59) raise("ValueError", "no such time of day");
  if (std::abs(t.zone_minutes) >= 24 * 60) raise("ValueError", "no such time zone");
}

void construct_timestamp(std::string_view text, YamlObject& object) {
  const auto t = TimestampReader(text).read();
  if (!t) raise("AttributeError", "not a timestamp");
  check_date(*t);
  object.kind = YamlObject::kDate;
  object.text = fmt::format("{:04}-{:02}-{:02}", t->year, t->month, t->day);
  if (!t->has_time) {
    object.repr = fmt::format("datetime.date({}, {}, {})", t->year, t->month, t->day);
    return;
  }
  object.text += fmt::format(" {:02}:{:02}:{:02}", t->hour, t->minute, t->second);
  if (t->microsecond != 0) object.text += fmt::format(".{:06}", t->microsecond);
  object.repr = fmt::format("datetime.datetime({}, {}, {}, {}, {}", t->year, t->month, t->day, t->hour, t->minute);
  if (t->second != 0 || t->microsecond != 0) object.repr += fmt::format(", {}", t->second);
  if (t->microsecond != 0) object.repr += fmt::format(", {}", t->microsecond);
  if (t->has_zone) {
    const int m = t->zone_minutes;
    object.text += fmt::format("{}{:02}:{:02}", m < 0 ? '-' : '+', std::abs(m) / 60, std::abs(m) % 60);
    object.repr +=
        m == 0  ? ", tzinfo=datetime.timezone.utc"
        : m > 0 ? fmt::format(", tzinfo=datetime.timezone(datetime.timedelta(seconds={}))", 60 * m)
                : fmt::format(", tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds={}))", 86'400 + 60 * m);
  }
  object.repr += ')';
}

// A decimal number as digits, least significant first: value = value * factor + more.
void multiply_add(std::string& digits, unsigned factor, unsigned more) {
  unsigned carry = more;
  for (char& c : digits) {
    const unsigned v = static_cast<unsigned>(c - '0') * factor + carry;
    c = static_cast<char>('0' + v % 10);
    carry = v / 10;
  }
  for (; carry > 0; carry /= 10) digits += static_cast<char>('0' + carry % 10);
}

std::string from_least(std::string digits) {
  std::reverse(digits.begin(), digits.end());
  return digits.empty() ? "0" : digits;
}

constexpr std::size_t kLongest = 4300;  // digits that Python turns into an int, or prints of one

std::string int_digits(std::string_view s) {
  if (s.starts_with("0b")) return decimal_digits(s.substr(2), 2).value_or("");
  if (s.starts_with("0x")) return decimal_digits(s.substr(2), 16).value_or("");
  if (s.starts_with('0')) {
    if (s.size() > 1 && (s[1] == 'o' || s[1] == 'O')) s.remove_prefix(2);
    return decimal_digits(s, 8).value_or("");
  }
  std::string out;
  for (;;) {
    const auto colon = s.find(':');
    const std::string_view part = s.substr(0, colon);
    if (part.empty() || !all(part, kDigits) || part.size() > kLongest) return "";
    if (out.empty()) {
      out = std::string(part.rbegin(), part.rend());
      out.resize(out.find_last_not_of('0') + 1);
    } else {
      const auto v = to_int(part);
      multiply_add(out, 60, static_cast<unsigned>(std::min<std::int64_t>(*v, 1'000'000)));
    }
    if (colon == s.npos) return from_least(std::move(out));
    s.remove_prefix(colon + 1);
  }
}

void construct_int(std::string_view text, YamlObject& object) {
  std::string s(text);
  s.erase(std::remove(s.begin(), s.end(), '_'), s.end());
  if (without_sign(s).empty()) raise("IndexError", "not a number");
  const bool negative = s.front() == '-';
  std::string digits = int_digits(without_sign(s));
  if (digits.empty()) raise("ValueError", "not a number");
  object.kind = YamlObject::kInt;
  object.text = (negative && digits != "0" ? "-" : "") + digits;
}

void construct_float(std::string_view text, YamlObject& object) {
  std::string s(text);
  s.erase(std::remove(s.begin(), s.end(), '_'), s.end());
  std::transform(s.begin(), s.end(), s.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (s.empty()) raise("IndexError", "not a number");
  const double sign = s.front() == '-' ? -1.0 : 1.0;
  std::string_view body = without_sign(s);
  object.kind = YamlObject::kFloat;
  if (body == ".inf") {
    object.number = sign * std::numeric_limits<double>::infinity();
  } else if (body == ".nan") {
    object.number = std::numeric_limits<double>::quiet_NaN();
  } else {
    std::vector<double> parts;
    for (;;) {
      const auto colon = body.find(':');
      const auto v = to_float(body.substr(0, colon));
      if (!v) raise("ValueError", "not a number");
      parts.push_back(*v);
      if (colon == body.npos) break;
      body.remove_prefix(colon + 1);
    }
    double base = 1.0;
    double value = 0.0;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part, base *= 60.0) value += *part * base;
    object.number = sign * (parts.size() == 1 ? parts.front() : value);
  }
}

// base64 as Python decodes it: characters outside the alphabet are skipped.
void construct_binary(std::string_view text, YamlObject& object) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  object.kind = YamlObject::kBytes;
  unsigned bits = 0;
  std::size_t count = 0;
  std::size_t padding = 0;
  // The whole text becomes ASCII bytes first, what stands behind its padding too.
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    raise("ConstructorError", "base64 is ASCII");
  }
  for (const char c : text) {
    if (c == '=') {
      if (count % 4 >= 2 && count % 4 + ++padding >= 4) break;
      continue;
    }
    const auto v = kAlphabet.find(c);
    if (v == kAlphabet.npos) continue;
    padding = 0;
    bits = (bits << 6U) | static_cast<unsigned>(v);
    if (++count % 4 != 1) object.text += static_cast<char>((bits >> (6 - 2 * ((count - 1) % 4))) & 0xFFU);
  }
  if (count % 4 != 0 && count % 4 + padding < 4) raise("ConstructorError", "base64 text is cut short");
}

}  // namespace

std::optional<std::string> decimal_digits(std::string_view digits, unsigned base) {
  if (digits.empty()) return std::nullopt;
  std::string out;
  for (const char c : digits) {
    const unsigned v = is_digit(c)            ? static_cast<unsigned>(c - '0')
                       : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                       : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                              : 99;
    if (v >= base || out.size() > kLongest) return std::nullopt;
    multiply_add(out, base, v);
  }
  return from_least(std::move(out));
}

std::string_view implicit_tag(std::string_view text) {
  if (text.empty() || one_of(text, {"~", "null", "Null", "NULL"})) return "null";
  if (is_bool(text)) return "bool";
  if (is_float(text)) return "float";
  if (is_int(text)) return "int";
  if (text == "<<") return "merge";
  if (is_timestamp(text)) return "timestamp";
  if (text == "=") return "value";
  return "str";
}

bool construct_scalar(std::string_view tag, std::string_view text, YamlObject& object) {
  if (tag == "str") {
    object.kind = YamlObject::kText;
    object.text = text;
  } else if (tag == "null") {
    object.kind = YamlObject::kNone;
  } else if (tag == "bool") {
    const std::string lower = ascii_lower(text);
    object.kind = YamlObject::kBool;
    object.boolean = one_of(lower, {"yes", "true", "on"});
    if (!object.boolean && !one_of(lower, {"no", "false", "off"})) raise("KeyError", "not a truth value");
  } else if (tag == "int") {
    construct_int(text, object);
  } else if (tag == "float") {
    construct_float(text, object);
  } else if (tag == "timestamp") {
    construct_timestamp(text, object);
  } else if (tag == "binary") {
    construct_binary(text, object);
  } else {
    return false;
  }
  return true;
}

}  // namespace preflight::python
