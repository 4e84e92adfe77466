// A reader without recursion: the nesting lives in a vector, so that absurd input costs memory, never the stack.
#include "src/python/json_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <unordered_map>

#include "src/python/text.h"

namespace preflight::python {
namespace {

constexpr std::size_t kPythonDepth = 990;   // Python's recursion limit less the frames below
constexpr std::size_t kOrjsonDepth = 1024;  // orjson's own limit
constexpr std::size_t kIndexFrom = 16;      // dicts longer than this look up repeated keys by hash

// An open container. What it holds so far stands at the end of the reader's items, from `first` on.
struct Frame {
  bool is_dict = false;
  std::size_t first = 0;
  std::string key = {};
  std::unique_ptr<std::unordered_map<std::string, std::size_t>> index = {};  // of a long dict: key to item
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  Reader(std::string_view text, JsonReader reader) : text_(text), python_(reader == JsonReader::kPython) {
    frames_.reserve(4);
    list_items_.reserve(16);
    dict_items_.reserve(16);
  }

  std::string repeated;  // the first key that an object has twice

  tl::expected<Value, JsonFault> read() {
    if (!python_ && !is_valid_utf8(text_)) return fault();
    if (!document()) return fault();
    skip_space();
    if (at_ != text_.size()) return fault();
    return std::move(result_);
  }

 private:
  [[nodiscard]] tl::unexpected<JsonFault> fault() const { return tl::make_unexpected(JsonFault{kind_, at_}); }
  [[nodiscard]] bool more() const { return at_ < text_.size(); }
  [[nodiscard]] char peek() const { return more() ? text_[at_] : '\0'; }

  void skip_space() {
    while (more() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }
  bool take(char c) {
    if (!more() || peek() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // One value; open containers continue in the loop instead of a nested call.
  bool document() {
    for (;;) {
      skip_space();
      bool opened = false;
      if (!value(opened)) return false;
      if (opened) continue;
      if (!close_finished()) return false;
      if (frames_.empty()) return true;
    }
  }

  // After a complete value: a comma leads to the next one, a bracket completes the container itself.
  bool close_finished() {
    while (!frames_.empty()) {
      skip_space();
      const bool is_dict = frames_.back().is_dict;
      if (take(',')) return !is_dict || member_key();
      if (!take(is_dict ? '}' : ']')) return false;
      close();
    }
    return true;
  }

  void close() {
    const bool is_dict = frames_.back().is_dict;
    const std::size_t first = frames_.back().first;
    frames_.pop_back();
    put(is_dict ? Value::dict(taken_from(dict_items_, first)) : Value::list(taken_from(list_items_, first)));
  }

  // The items from `first` on, in a vector of just their number.
  template <typename Items>
  static Items taken_from(Items& items, std::size_t first) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
    Items taken(std::make_move_iterator(begin), std::make_move_iterator(items.end()));
    items.erase(begin, items.end());
    return taken;
  }

  bool member_key() {
    skip_space();
    std::string key;
    if (!take('"') || !string(key)) return false;
    frames_.back().key = std::move(key);
    skip_space();
    return take(':');
  }

  void put(Value v) {
    if (frames_.empty()) {
      result_ = std::move(v);
      return;
    }
    Frame& top = frames_.back();
    if (!top.is_dict) {
      list_items_.push_back(std::move(v));
      return;
    }
    // Python keeps the place of the first of repeated keys and the value of the last.
    if (Value* earlier = earlier_value(top); earlier != nullptr) {
      *earlier = std::move(v);
      if (repeated.empty()) repeated = top.key;
    } else {
      dict_items_.emplace_back(std::move(top.key), std::move(v));
    }
  }

  // The value that the open dict has for its present key.
  Value* earlier_value(Frame& top) {
    const std::size_t size = dict_items_.size() - top.first;
    if (size < kIndexFrom) {
      for (std::size_t i = top.first; i < dict_items_.size(); ++i) {
        if (dict_items_[i].first == top.key) return &dict_items_[i].second;
      }
      return nullptr;
    }
    if (top.index == nullptr) {
      top.index = std::make_unique<std::unordered_map<std::string, std::size_t>>();
      for (std::size_t i = top.first; i < dict_items_.size(); ++i) top.index->emplace(dict_items_[i].first, i);
    }
    const auto [found, fresh] = top.index->emplace(top.key, dict_items_.size());
    return fresh ? nullptr : &dict_items_[found->second].second;
  }

  bool open(bool is_dict, bool& opened) {
    if (frames_.size() >= (python_ ? kPythonDepth : kOrjsonDepth)) {
      kind_ = python_ ? JsonFault::kTooDeep : JsonFault::kSyntax;
      return false;
    }
    frames_.push_back({.is_dict = is_dict, .first = is_dict ? dict_items_.size() : list_items_.size()});
    skip_space();
    if (take(is_dict ? '}' : ']')) {
      close();
      return true;
    }
    opened = true;
    return !is_dict || member_key();
  }

  bool value(bool& opened) {
    switch (peek()) {
      case '{':
      case '[': {
        const bool is_dict = peek() == '{';
        ++at_;
        return open(is_dict, opened);
      }
      case '"': {
        ++at_;
        std::string s;
        if (!string(s)) return false;
        put(std::move(s));
        return true;
      }
      case 'n':
        return take("null") && (put({}), true);
      case 't':
        return take("true") && (put(true), true);
      case 'f':
        return take("false") && (put(false), true);
      case 'N':
        return python_ && take("NaN") && (put(std::numeric_limits<double>::quiet_NaN()), true);
      case 'I':
        return python_ && take("Infinity") && (put(std::numeric_limits<double>::infinity()), true);
      default:
        return number();
    }
  }

  bool number() {
    const std::size_t start = at_;
    const bool negative = take('-');
    if (negative && python_ && take("Infinity")) return put(-std::numeric_limits<double>::infinity()), true;
    if (!is_digit(peek())) return false;
    if (!take('0')) skip_digits();
    const std::size_t whole_end = at_;
    bool is_float = false;
    if (peek() == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
      is_float = true;
      ++at_;
      skip_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      std::size_t digits = at_ + 1;
      if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
      if (digits < text_.size() && is_digit(text_[digits])) {
        is_float = true;
        at_ = digits;
        skip_digits();
      }
    }
    const std::string token(text_.substr(start, at_ - start));  // ends with a zero byte
    if (!is_float) return integer(token, whole_end - start - (negative ? 1 : 0), negative);
    const double d = std::strtod(token.c_str(), nullptr);
    if (!python_ && std::isinf(d)) return false;
    put(d);
    return true;
  }

  bool integer(const std::string& token, std::size_t digits, bool negative) {
    if (python_ && digits > 4300) {
      kind_ = JsonFault::kTooManyDigits;
      return false;
    }
    std::int64_t v = 0;
    if (std::from_chars(token.data(), token.data() + token.size(), v).ec == std::errc()) {
      if (!python_ && negative && v == 0) return put(-0.0), true;
      return put(v), true;
    }
    if (python_) return put(Value::integer(token)), true;
    const double d = std::strtod(token.c_str(), nullptr);
    if (std::isinf(d)) return false;
    put(d);
    return true;
  }

  void skip_digits() {
    while (is_digit(peek())) ++at_;
  }

  bool hex4(char32_t& code) {
    if (at_ + 4 > text_.size()) return false;
    unsigned v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, v, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4) return false;
    at_ += 4;
    code = v;
    return true;
  }

  bool escape(std::string& out) {
    if (!more()) return false;
    const char c = text_[at_++];
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (const auto i = kNames.find(c); i != std::string_view::npos) {
      out += kMeanings[i];
      return true;
    }
    char32_t code = 0;
    if (c != 'u' || !hex4(code)) return false;
    if (code >= 0xD800 && code <= 0xDBFF && text_.substr(at_, 2) == "\\u") {
      const std::size_t back = at_;
      char32_t low = 0;
      at_ += 2;
      if (hex4(low) && low >= 0xDC00 && low <= 0xDFFF) {
        append_utf8(out, 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00));
        return true;
      }
      at_ = back;
    }
    if (!python_ && code >= 0xD800 && code <= 0xDFFF) return false;
    append_utf8(out, code);
    return true;
  }

  bool string(std::string& out) {
    for (;;) {
      const std::size_t from = at_;
      while (more() && peek() != '"' && peek() != '\\' && static_cast<unsigned char>(peek()) >= 0x20) ++at_;
      out += text_.substr(from, at_ - from);
      if (take('"')) return true;
      if (!take('\\') || !escape(out)) return false;
    }
  }

  std::string_view text_;
  bool python_;
  std::size_t at_ = 0;
  JsonFault::Kind kind_ = JsonFault::kSyntax;
  std::vector<Frame> frames_;
  Value::List list_items_;  // of the open lists, the outer ones first
  Value::Dict dict_items_;  // of the open dicts
  Value result_;
};

void append_quoted(std::string& out, std::string_view s) {
  const auto unit = [&](char32_t code) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[(code >> shift) & 0xFU];
  };
  out += '"';
  for (std::size_t i = 0; i < s.size();) {
    const auto [code, length] = character_at(s, i);
    i += length;
    constexpr std::string_view kNames = "\"\\bfnrt";
    constexpr std::string_view kMeanings = "\"\\\b\f\n\r\t";
    const auto named = code < 0x80 ? kMeanings.find(static_cast<char>(code)) : std::string_view::npos;
    if (named != std::string_view::npos) {
      out += '\\';
      out += kNames[named];
    } else if (code >= 0x20 && code < 0x7F) {
      out += static_cast<char>(code);
    } else if (code == 0x7F) {
      out += '\x7F';
    } else if (code < 0x10000) {
      unit(code);
    } else {
      unit(0xD800 + ((code - 0x10000) >> 10U));
      unit(0xDC00 + ((code - 0x10000) & 0x3FFU));
    }
  }
  out += '"';
}

void append_dump(std::string& out, const Value& v) {
  if (v.is_none()) {
    out += "null";
  } else if (v.is_bool()) {
    out += v.as_bool() ? "true" : "false";
  } else if (v.is_int()) {
    out += v.repr();
  } else if (v.is_float()) {
    const double d = v.as_number();
    out += std::isnan(d) ? "NaN" : std::isinf(d) ? (d > 0 ? "Infinity" : "-Infinity") : python_float_repr(d);
  } else if (v.is_string()) {
    append_quoted(out, v.as_string());
  } else if (v.is_list()) {
    out += '[';
    bool first = true;
    for (const auto& item : v.as_list()) {
      if (!first) out += ", ";
      first = false;
      append_dump(out, item);
    }
    out += ']';
  } else {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : v.as_dict()) {
      if (!first) out += ", ";
      first = false;
      append_quoted(out, key);
      out += ": ";
      append_dump(out, item);
    }
    out += '}';
  }
}

}  // namespace

tl::expected<Value, JsonFault> json_loads(std::string_view text, JsonReader reader, std::string* repeated) {
  Reader json(text, reader);
  auto value = json.read();
  if (repeated != nullptr) *repeated = std::move(json.repeated);
  return value;
}

std::string json_dumps(const Value& value) {
  std::string out;
  append_dump(out, value);
  return out;
}

}  // namespace preflight::python
