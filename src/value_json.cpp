// JSON text into a Value, as Python's json.loads reads it (NaN and the infinities included), except that integers
// beyond 64 bits become floats. Tested by tests/value_test.cpp and fuzzed by tests/fuzz/json_fuzz.cpp.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "preflight/value.h"

namespace preflight {
namespace {

constexpr int kDeepest = 512;  // nothing SGLang reads is nested so deep

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes of the UTF-8 character at the front, 0 when it is none.
std::size_t character_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && follows(2) ? 3 : 0;
  }
  if (first < 0xF0 || first > 0xF4) return 0;
  const bool second = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
  return second && follows(2) && follows(3) ? 4 : 0;
}

void append_utf8(std::string& out, unsigned code) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  bool read(Value& out) {
    if (!value(out, 0)) return false;
    space();
    return at_ == text_.size();
  }
  // Where reading ended.
  [[nodiscard]] std::size_t position() const { return std::min(at_, text_.size()); }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  bool word(std::string_view expected, Value meaning, Value& out) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    out = std::move(meaning);
    return true;
  }

  bool value(Value& out, int depth) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    space();
    switch (peek()) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"': {
        std::string text;
        if (!string(text)) return false;
        out = Value(std::move(text));
        return true;
      }
      case 'n':
        return word("null", Value(), out);
      case 't':
        return word("true", true, out);
      case 'f':
        return word("false", false, out);
      case 'N':
        return word("NaN", std::numeric_limits<double>::quiet_NaN(), out);
      case 'I':
        return word("Infinity", kInfinity, out);
      default:
        return (peek() == '-' && word("-Infinity", -kInfinity, out)) || number(out);
    }
  }

  bool object(Value& out, int depth) {
    if (depth >= kDeepest) return false;
    Value::Dict items;
    ++at_;
    space();
    if (peek() == '}') {
      ++at_;
      out = Value::dict({});
      return true;
    }
    while (true) {
      space();
      std::string key;
      if (peek() != '"' || !string(key)) return false;
      space();
      if (peek() != ':') return false;
      ++at_;
      // Python keeps the last of repeated keys, at the place of the first.
      const auto repeated = std::find_if(items.begin(), items.end(), [&](const auto& i) { return i.first == key; });
      Value& item = repeated != items.end() ? repeated->second : items.emplace_back(std::move(key), Value()).second;
      item = Value();
      if (!value(item, depth + 1)) return false;
      space();
      const char next = peek();
      if (next != ',' && next != '}') return false;
      ++at_;
      if (next == '}') break;
    }
    out = Value::dict(std::move(items));
    return true;
  }

  bool array(Value& out, int depth) {
    if (depth >= kDeepest) return false;
    Value::List items;
    ++at_;
    space();
    if (peek() == ']') {
      ++at_;
      out = Value::list({});
      return true;
    }
    while (true) {
      if (!value(items.emplace_back(), depth + 1)) return false;
      space();
      const char next = peek();
      if (next != ',' && next != ']') return false;
      ++at_;
      if (next == ']') break;
    }
    out = Value::list(std::move(items));
    return true;
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const std::size_t from = at_;
      while (at_ < text_.size() && text_[at_] >= ' ' && text_[at_] != '"' && text_[at_] != '\\') ++at_;  // plain ASCII
      out.append(text_.substr(from, at_ - from));
      if (at_ >= text_.size()) return false;
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\') {
        if (!escape(out)) return false;
        continue;
      }
      if (static_cast<unsigned char>(text_[at_]) < 0x80) return false;  // a control character
      const std::size_t length = character_length(text_.substr(at_));
      if (length == 0) return false;
      out.append(text_.substr(at_, length));
      at_ += length;
    }
    return false;
  }

  bool escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    if (const auto letter = kLetters.find(peek()); letter != std::string_view::npos && at_ < text_.size()) {
      out += kMeanings[letter];
      ++at_;
      return true;
    }
    unsigned code = 0;
    if (!hex(code)) return false;
    if (code >= 0xD800 && code <= 0xDBFF) {  // the first half of a pair
      unsigned low = 0;
      if (peek() != '\\') return false;
      ++at_;
      if (!hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
      return false;
    }
    append_utf8(out, code);
    return true;
  }

  // "uXXXX"
  bool hex(unsigned& code) {
    if (peek() != 'u' || text_.size() - at_ < 5) return false;
    const char* first = text_.data() + at_ + 1;
    const auto [end, error] = std::from_chars(first, first + 4, code, 16);
    if (error != std::errc{} || end != first + 4) return false;
    at_ += 5;
    return true;
  }

  bool number(Value& out) {
    const std::size_t from = at_;
    if (peek() == '-') ++at_;
    if (!is_digit(peek())) return false;
    const bool zero = peek() == '0';
    ++at_;
    while (!zero && is_digit(peek())) ++at_;
    bool whole = true;
    if (peek() == '.') {
      whole = false;
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    const char* first = text_.data() + from;
    const char* last = text_.data() + at_;
    std::int64_t integer = 0;
    if (whole && std::from_chars(first, last, integer).ec == std::errc{}) {
      out = Value(integer);
      return true;
    }
    double real = 0.0;
    if (std::from_chars(first, last, real).ec == std::errc::result_out_of_range) {
      real = std::strtod(std::string(first, last).c_str(), nullptr);  // inf or 0, as Python has it
    }
    out = Value(real);
    return true;
  }

  bool digits() {
    if (!is_digit(peek())) return false;
    while (is_digit(peek())) ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Value> Value::parse_json(std::string_view text) {
  JsonReader reader(text);
  Value value;
  if (reader.read(value)) return value;
  const std::size_t at = reader.position();
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i < at; ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n' ? 1 : 0;
  }
  return failure("not valid JSON at line " + std::to_string(line) + ", column " + std::to_string(column));
}

}  // namespace preflight
