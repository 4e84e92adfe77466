// Tested by tests/toml_test.cpp.
#include "src/python/toml.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/python/text.h"

namespace preflight::python {
namespace {

constexpr int kMostLevels = 60;

struct Fault {};

struct Table;
struct Entry {
  Value value = {};  // of a key: nothing is added to it any more
  std::unique_ptr<Table> table = {};
  std::vector<std::unique_ptr<Table>> tables = {};  // [[name]]
};
struct Table {
  std::vector<std::pair<std::string, Entry>> entries = {};
  std::map<std::string, std::size_t> places = {};
  bool declared = false;  // by a header of its own
  int dotted_in = -1;     // the section whose dotted keys made or filled it

  Entry* find(const std::string& key) {
    const auto it = places.find(key);
    return it == places.end() ? nullptr : &entries[it->second].second;
  }
  Entry& add(const std::string& key) {
    places.emplace(key, entries.size());
    return entries.emplace_back(key, Entry{}).second;
  }
};

Value value_of(const Table& table);

Value value_of(const Entry& entry) {
  if (entry.table != nullptr) return value_of(*entry.table);
  if (entry.tables.empty()) return entry.value;
  Value::List items;
  for (const auto& one : entry.tables) items.push_back(value_of(*one));
  return Value::list(std::move(items));
}

Value value_of(const Table& table) {
  Value::Dict out;
  for (const auto& [key, entry] : table.entries) out.emplace_back(key, value_of(entry));
  return Value::dict(std::move(out));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_bare(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// Digits with a line between two of them, as `allowed` says.
std::string digits_of(std::string_view word, std::string_view allowed) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool line = word[i] == '_' && i > 0 && i + 1 < word.size() && word[i - 1] != '_';
    if (line) continue;
    if (allowed.find(word[i]) == std::string_view::npos) throw Fault{};
    out += word[i];
  }
  if (out.empty()) throw Fault{};
  return out;
}

Value whole_number(std::string_view word, bool minus) {
  const std::string digits = digits_of(word, "0123456789");
  if (digits.size() > 1 && digits[0] == '0') throw Fault{};
  return Value::integer((minus ? "-" : "") + digits);
}

Value number_of_base(std::string_view word) {
  const int base = word[1] == 'x' ? 16 : word[1] == 'o' ? 8 : 2;
  const std::string digits =
      digits_of(word.substr(2), std::string_view("0123456789abcdefABCDEF").substr(0, base == 16 ? 22 : base));
  constexpr std::size_t kMostBits = 62;
  if (digits.size() * (base == 16 ? 4 : base == 8 ? 3 : 1) > kMostBits) throw Fault{};
  return Value(static_cast<std::int64_t>(std::stoll(digits, nullptr, base)));
}

Value fraction(std::string_view word, bool minus) {
  const std::size_t power = word.find_first_of("eE");
  const std::string_view mantissa = word.substr(0, power);
  const std::size_t point = mantissa.find('.');
  const Value front = whole_number(mantissa.substr(0, point), minus);
  std::string text = (minus ? "-" : "") + digits_of(mantissa.substr(0, point), "0123456789");
  if (point != std::string_view::npos) text += "." + digits_of(mantissa.substr(point + 1), "0123456789");
  if (power != std::string_view::npos) {
    std::string_view exponent = word.substr(power + 1);
    const bool has_sign = exponent.starts_with('-') || exponent.starts_with('+');
    text += "e" + std::string(exponent.substr(0, has_sign ? 1 : 0)) +
            digits_of(exponent.substr(has_sign ? 1 : 0), "0123456789");
  }
  const auto number = to_float(text);
  if (!number) throw Fault{};
  return Value(*number);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Value run() {
    Table* section = &root_;
    for (;;) {
      skip_lines();
      if (at_end()) return value_of(root_);
      if (peek() == '[') {
        section = header();
        ++section_;
      } else {
        pair_into(*section, 0);
      }
      skip_blanks();
      skip_comment();
      if (!at_end() && !take('\n')) throw Fault{};
    }
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  void skip_comment() {
    if (peek() != '#') return;
    while (!at_end() && peek() != '\n') text_byte();
  }
  void skip_lines() {
    do {
      skip_blanks();
      skip_comment();
    } while (take('\n'));
  }
  // No control sign but a tab stands in a text or a comment.
  char text_byte() {
    const char c = peek();
    if (at_end() || (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) throw Fault{};
    ++at_;
    return c;
  }

  std::string key() {
    if (peek() == '"') return quoted('"');
    if (peek() == '\'') return quoted('\'');
    std::string out;
    while (is_bare(peek())) out += text_[at_++];
    if (out.empty()) throw Fault{};
    return out;
  }
  std::vector<std::string> keys() {
    std::vector<std::string> out;
    do {
      skip_blanks();
      out.push_back(key());
      skip_blanks();
    } while (take('.'));
    if (out.size() > kMostLevels) throw Fault{};
    return out;
  }

  Table* header() {
    const bool many = take("[[");
    if (!many) ++at_;
    const std::vector<std::string> path = keys();
    if (!take(many ? "]]" : "]")) throw Fault{};
    Table* table = &root_;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      Entry* entry = table->find(path[i]);
      if (entry == nullptr) (entry = &table->add(path[i]))->table = std::make_unique<Table>();
      if (entry->table == nullptr && entry->tables.empty()) throw Fault{};
      table = entry->table != nullptr ? entry->table.get() : entry->tables.back().get();
    }
    Entry* entry = table->find(path.back());
    if (many) {
      if (entry == nullptr)
        entry = &table->add(path.back());
      else if (entry->tables.empty())
        throw Fault{};
      return entry->tables.emplace_back(std::make_unique<Table>()).get();
    }
    if (entry == nullptr) (entry = &table->add(path.back()))->table = std::make_unique<Table>();
    if (entry->table == nullptr || entry->table->declared || entry->table->dotted_in >= 0) throw Fault{};
    entry->table->declared = true;
    return entry->table.get();
  }

  void pair_into(Table& section, int depth) {
    const std::vector<std::string> path = keys();
    if (!take('=')) throw Fault{};
    skip_blanks();
    Table* table = &section;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      Entry* entry = table->find(path[i]);
      if (entry == nullptr) (entry = &table->add(path[i]))->table = std::make_unique<Table>();
      table = entry->table.get();
      const bool closed =
          table == nullptr || table->declared || (table->dotted_in >= 0 && table->dotted_in != section_);
      if (closed) throw Fault{};
      table->dotted_in = section_;
    }
    if (table->find(path.back()) != nullptr) throw Fault{};
    Value v = value(depth);
    table->add(path.back()).value = std::move(v);
  }

  Value value(int depth) {
    if (depth > kMostLevels) throw Fault{};
    switch (peek()) {
      case '"':
      case '\'': {
        const char quote = peek();
        const std::string three(3, quote);
        return Value(take(three) ? long_text(quote) : quoted(quote));
      }
      case '[':
        return list(depth);
      case '{':
        return inline_table(depth);
      default:
        return word();
    }
  }

  Value list(int depth) {
    ++at_;
    Value::List out;
    for (;;) {
      skip_lines();
      if (take(']')) return Value::list(std::move(out));
      out.push_back(value(depth + 1));
      skip_lines();
      if (take(']')) return Value::list(std::move(out));
      if (!take(',')) throw Fault{};
    }
  }

  Value inline_table(int depth) {
    ++at_;
    Table table;
    const int outer = std::exchange(section_, most_sections_++);
    skip_blanks();
    bool open = !take('}');
    while (open) {
      skip_blanks();
      pair_into(table, depth + 1);
      skip_blanks();
      open = !take('}');
      if (open && !take(',')) throw Fault{};
    }
    section_ = outer;
    return value_of(table);
  }

  // A number, true or false. Dates and times are none.
  Value word() {
    std::string_view w = text_.substr(at_);
    std::size_t size = 0;
    while (size < w.size() && (is_bare(w[size]) || w[size] == '+' || w[size] == '.' || w[size] == ':')) ++size;
    w = w.substr(0, size);
    at_ += size;
    if (w == "true" || w == "false") return Value(w == "true");
    const bool minus = w.starts_with('-');
    const bool has_sign = minus || w.starts_with('+');
    const std::string_view number = w.substr(has_sign ? 1 : 0);
    if (number == "inf" || number == "nan")
      return Value(*to_float(std::string(minus ? "-" : "") + std::string(number)));
    const bool based = !has_sign && number.size() > 2 && number[0] == '0' &&
                       std::string_view("xob").find(number[1]) != std::string_view::npos;
    if (based) return number_of_base(number);
    if (number.empty() || !is_digit(number[0])) throw Fault{};
    return number.find_first_of(".eE") != std::string_view::npos ? fraction(number, minus)
                                                                 : whole_number(number, minus);
  }

  std::string quoted(char quote) {
    ++at_;
    std::string out;
    while (!take(quote)) {
      if (quote == '"' && peek() == '\\')
        escape(out);
      else
        out += text_byte();
    }
    return out;
  }

  // Behind its three quotes; as many as two more may stand in front of the last ones.
  std::string long_text(char quote) {
    (void)take('\n');
    const std::string three(3, quote);
    std::string out;
    while (!take(three)) {
      if (at_end()) throw Fault{};
      if (take('\n')) {
        out += '\n';
      } else if (quote == '"' && peek() == '\\') {
        if (!skip_line_end()) escape(out);
      } else {
        out += text_byte();
      }
    }
    for (int more = 0; more < 2 && take(quote); ++more) out += quote;
    return out;
  }

  // A backslash at the end of a line takes away the blanks and line ends behind it.
  bool skip_line_end() {
    const std::size_t line = text_.find_first_not_of(" \t", at_ + 1);
    if (line == std::string_view::npos || text_[line] != '\n') return false;
    at_ = std::min(text_.find_first_not_of(" \t\n", line), text_.size());
    return true;
  }

  void escape(std::string& out) {
    ++at_;
    const char c = at_end() ? '\0' : text_[at_++];
    constexpr std::string_view kSigns = "btnfr\"\\";
    constexpr std::string_view kMeant = "\b\t\n\f\r\"\\";
    if (const auto i = kSigns.find(c); i != std::string_view::npos && c != '\0') {
      out += kMeant[i];
      return;
    }
    const std::size_t size = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const std::string digits(text_.substr(at_, size));
    if (size == 0 || digits.size() != size || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos)
      throw Fault{};
    at_ += size;
    const unsigned long code = std::stoul(digits, nullptr, 16);
    constexpr unsigned long kLast = 0x10FFFF;
    if (code > kLast || (code >= 0xD800 && code <= 0xDFFF)) throw Fault{};
    append_utf8(out, static_cast<char32_t>(code));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Table root_;
  int section_ = 0;
  int most_sections_ = 1 << 20;  // of inline tables, apart from those with headers
};

}  // namespace

std::optional<Value> toml_loads(std::string_view text) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 >= text.size() || text[i + 1] != '\n') lines += text[i];
  }
  if (!is_valid_utf8(lines)) return std::nullopt;
  try {
    return Reader(lines).run();
  } catch (const Fault&) {
    return std::nullopt;
  }
}

}  // namespace preflight::python
