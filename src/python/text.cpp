// Unicode tables are those of Unicode 14, which Python 3.11 carries.
#include "src/python/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace preflight::python {
namespace {

// First code point (the zero) of every run of ten decimal digits outside ASCII.
constexpr std::array<char32_t, 65> kZeros = {
    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,   0xc66,   0xce6,
    0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,  0x1810,  0x1946,  0x19d0,
    0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,  0xa900,  0xa9d0,  0xa9f0,
    0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450,
    0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0,
    0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0};

constexpr std::size_t kMaxIntDigits = 4300;  // sys.get_int_max_str_digits()

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_c_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// What int() and float() do first: Unicode spaces become ' ', Unicode digits ASCII ones, other characters '?'.
// Text that is ASCII already stays as it is, separators such as 0x1C included.
std::string plain_number_text(std::string_view s) {
  if (std::all_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    return std::string(s);
  }
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    const auto [code, length] = character_at(s, i);
    i += length;
    if (is_space(code)) {
      out += ' ';
    } else if (const int digit = decimal_value(code); digit >= 0) {
      out += static_cast<char>('0' + digit);
    } else {
      out += code < 0x80 ? static_cast<char>(code) : '?';
    }
  }
  return out;
}

std::string_view strip_c(std::string_view s) {
  while (!s.empty() && is_c_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_c_space(s.back())) s.remove_suffix(1);
  return s;
}

// Removes underscores that stand between two digits; false where one stands elsewhere.
bool drop_underscores(std::string& s) {
  std::string out;
  out.reserve(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') {
      out += s[i];
      continue;
    }
    if (i == 0 || i + 1 == s.size() || !is_ascii_digit(s[i - 1]) || !is_ascii_digit(s[i + 1])) return false;
  }
  s = std::move(out);
  return true;
}

bool equals_ignoring_case(std::string_view s, std::string_view lower) {
  return std::equal(s.begin(), s.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b; });
}

}  // namespace

Character character_at(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(s[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  const Character invalid{static_cast<char32_t>(0xDC00 + first), 1};
  if (first < 0xC2 || first > 0xF4 || at + length > s.size()) return invalid;
  char32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return invalid;
    code = (code << 6U) | (byte(at + i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return invalid;
  return {code, length};
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t v) { out += static_cast<char>(v); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6U));
    put(0x80 | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12U));
    put(0x80 | ((code >> 6U) & 0x3FU));
    put(0x80 | (code & 0x3FU));
  } else {
    put(0xF0 | (code >> 18U));
    put(0x80 | ((code >> 12U) & 0x3FU));
    put(0x80 | ((code >> 6U) & 0x3FU));
    put(0x80 | (code & 0x3FU));
  }
}

bool is_valid_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    constexpr std::uint64_t kNotAscii = 0x8080808080808080;
    std::uint64_t eight = 0;
    if (i + sizeof(eight) <= s.size()) {
      std::memcpy(&eight, s.data() + i, sizeof(eight));
      if ((eight & kNotAscii) == 0) {
        i += sizeof(eight);
        continue;
      }
    }
    const auto [code, length] = character_at(s, i);
    if (code >= 0xDC80 && code <= 0xDCFF) return false;
    i += length;
  }
  return true;
}

bool is_space(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

int decimal_value(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9' ? static_cast<int>(c - '0') : -1;
  const auto* after = std::upper_bound(kZeros.begin(), kZeros.end(), c);
  if (after == kZeros.begin()) return -1;
  const char32_t zero = *(after - 1);
  return c < zero + 10 ? static_cast<int>(c - zero) : -1;
}

std::string_view strip(std::string_view s) {
  std::size_t begin = s.size();
  std::size_t end = 0;
  for (std::size_t i = 0; i < s.size();) {
    const auto [code, length] = character_at(s, i);
    if (!is_space(code)) {
      begin = std::min(begin, i);
      end = i + length;
    }
    i += length;
  }
  return begin < end ? s.substr(begin, end - begin) : std::string_view();
}

bool has_space(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto [code, length] = character_at(s, i);
    if (is_space(code)) return true;
    i += length;
  }
  return false;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool looks_like_negative_number(std::string_view s) {
  if (s.empty() || s.front() != '-') return false;
  if (s.back() == '\n') s.remove_suffix(1);  // a regular expression's $ matches before a final line feed
  std::size_t digits_before = 0;
  std::size_t digits_after = 0;
  bool point = false;
  for (std::size_t i = 1; i < s.size();) {
    const auto [code, length] = character_at(s, i);
    i += length;
    if (decimal_value(code) >= 0) {
      (point ? digits_after : digits_before)++;
    } else if (code == '.' && !point) {
      point = true;
    } else {
      return false;
    }
  }
  return point ? digits_after > 0 : digits_before > 0;
}

std::optional<std::string> to_integer(std::string_view s) {
  std::string text(strip_c(plain_number_text(s)));
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.erase(0, 1);
  }
  if (text.empty() || !drop_underscores(text) || text.size() > kMaxIntDigits) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), is_ascii_digit)) return std::nullopt;
  if (negative) text.insert(0, 1, '-');
  return text;
}

std::optional<std::int64_t> to_int(std::string_view s) {
  const auto text = to_integer(s);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  if (std::from_chars(text->data(), text->data() + text->size(), value).ec == std::errc::result_out_of_range) {
    return text->front() == '-' ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  return value;
}

std::optional<double> to_float(std::string_view s) {
  std::string text(strip_c(plain_number_text(s)));
  if (!drop_underscores(text)) return std::nullopt;
  std::string_view body = text;
  double sign = 1.0;
  if (!body.empty() && (body.front() == '-' || body.front() == '+')) {
    if (body.front() == '-') sign = -1.0;
    body.remove_prefix(1);
  }
  if (equals_ignoring_case(body, "inf") || equals_ignoring_case(body, "infinity")) {
    return sign * std::numeric_limits<double>::infinity();
  }
  if (equals_ignoring_case(body, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (body.empty() || !(is_ascii_digit(body.front()) || body.front() == '.')) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (error == std::errc::invalid_argument || end != body.data() + body.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(body).c_str(), nullptr);
  return sign * value;
}

}  // namespace preflight::python
