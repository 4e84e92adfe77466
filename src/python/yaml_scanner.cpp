// Behaviour: PyYAML 6.0, scanner.py. The text has "\n" line ends already (Python's text mode), so U+0085, U+2028 and
// U+2029 are the only other breaks.
#include "src/python/yaml_scanner.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/python/text.h"

namespace preflight::python {
namespace {

bool is_break(char32_t c) { return c == U'\n' || c == U'\r' || c == 0x85 || c == 0x2028 || c == 0x2029; }
bool is_blank(char32_t c) { return c == U' ' || c == U'\t'; }
bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_word(char32_t c) {
  return is_digit(c) || (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z') || c == U'-' || c == U'_';
}
bool is_hex(char32_t c) { return is_digit(c) || (c >= U'A' && c <= U'F') || (c >= U'a' && c <= U'f'); }
bool is_in(char32_t c, std::u32string_view set) { return c != U'\0' && set.find(c) != set.npos; }

constexpr std::size_t kSimpleKeyReach = 1024;  // a key's ":" must follow within so many characters

}  // namespace

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

void YamlScanner::forward(std::size_t n) {
  for (; n > 0 && at_ < text_.size(); --n) {
    const char32_t c = text_[at_++];
    if (is_break(c)) {
      ++line_;
      column_ = 0;
    } else if (c != 0xFEFF) {
      ++column_;
    }
  }
}

bool YamlScanner::line_break_ahead(std::size_t n) const { return is_break(ahead(n)); }
bool YamlScanner::line_end_ahead(std::size_t n) const { return ahead(n) == U'\0' || is_break(ahead(n)); }
bool YamlScanner::blank_ahead(std::size_t n) const { return line_end_ahead(n) || is_blank(ahead(n)); }
bool YamlScanner::document_marker_ahead(char32_t c) const {
  return ahead() == c && ahead(1) == c && ahead(2) == c && blank_ahead(3);
}

void YamlScanner::fail(std::string message) const { throw YamlFault{"ScannerError", std::move(message), mark()}; }

const YamlToken& YamlScanner::peek() {
  while (needs_more()) fetch();
  return tokens_.front();
}

YamlToken YamlScanner::take() {
  while (needs_more()) fetch();
  if (tokens_.front().kind == YamlToken::kStreamEnd) return tokens_.front();  // stays: nothing follows it
  YamlToken token = std::move(tokens_.front());
  tokens_.pop_front();
  ++taken_;
  return token;
}

bool YamlScanner::needs_more() {
  if (done_) return false;
  if (tokens_.empty()) return true;
  drop_stale_keys();
  return !keys_.empty() && keys_.front().token_number == taken_;
}

// Keys are ordered by age, so stale ones are at the front.
void YamlScanner::drop_stale_keys() {
  while (!keys_.empty() && (keys_.front().mark.line != line_ || at_ - keys_.front().index > kSimpleKeyReach)) {
    if (keys_.front().required) fail("a key without its ':'");
    keys_.pop_front();
  }
}

void YamlScanner::save_key() {
  if (!allow_key_) return;
  remove_key();
  const bool required = flow_level_ == 0 && indent_ == column_;
  keys_.push_back({taken_ + tokens_.size(), required, at_, mark(), flow_level_});
}

void YamlScanner::remove_key() {
  if (keys_.empty() || keys_.back().level != flow_level_) return;
  if (keys_.back().required) fail("a key without its ':'");
  keys_.pop_back();
}

void YamlScanner::unwind(int column) {
  if (flow_level_ > 0) return;
  while (indent_ > column) {
    indent_ = indents_.back();
    indents_.pop_back();
    tokens_.push_back({.kind = YamlToken::kBlockEnd, .mark = mark()});
  }
}

bool YamlScanner::indent_to(int column) {
  if (indent_ >= column) return false;
  indents_.push_back(indent_);
  indent_ = column;
  return true;
}

void YamlScanner::push(YamlToken::Kind kind, std::size_t length) {
  tokens_.push_back({.kind = kind, .mark = mark()});
  forward(length);
}

void YamlScanner::fetch() {
  skip_to_token();
  drop_stale_keys();
  unwind(column_);
  if (fetch_structure()) return;
  const char32_t c = ahead();
  const bool is_literal = c == U'|' && flow_level_ == 0;
  const bool is_folded = c == U'>' && flow_level_ == 0;
  if (is_literal || is_folded) {
    allow_key_ = true;
    remove_key();
    tokens_.push_back(block_scalar(is_folded));
    return;
  }
  const bool is_node = c == U'*' || c == U'&' || c == U'!' || c == U'\'' || c == U'"';
  if (!is_node && !plain_starts()) fail(fmt::format("a token cannot start with \"{}\"", to_utf8({&c, 1})));
  save_key();
  allow_key_ = false;
  if (c == U'*') {
    tokens_.push_back(anchor(YamlToken::kAlias));
  } else if (c == U'&') {
    tokens_.push_back(anchor(YamlToken::kAnchor));
  } else if (c == U'!') {
    tokens_.push_back(tag());
  } else if (c == U'\'' || c == U'"') {
    tokens_.push_back(quoted_scalar(c == U'"'));
  } else {
    tokens_.push_back(plain_scalar());
  }
}

// Indicators; false when a node's content comes next.
bool YamlScanner::fetch_structure() {
  const char32_t c = ahead();
  if (c == U'\0') {
    unwind(-1);
    remove_key();
    allow_key_ = false;
    keys_.clear();
    tokens_.push_back({.kind = YamlToken::kStreamEnd, .mark = mark()});
    done_ = true;
    return true;
  }
  if (c == U'%' && column_ == 0) {
    unwind(-1);
    remove_key();
    allow_key_ = false;
    tokens_.push_back(directive());
    return true;
  }
  if (column_ == 0 && document_marker_ahead(U'-')) return fetch_document_marker(YamlToken::kDocumentStart), true;
  if (column_ == 0 && document_marker_ahead(U'.')) return fetch_document_marker(YamlToken::kDocumentEnd), true;
  const bool spaced = flow_level_ > 0 || blank_ahead(1);
  switch (c) {
    case U'[':
      return fetch_flow_start(YamlToken::kFlowSequenceStart), true;
    case U'{':
      return fetch_flow_start(YamlToken::kFlowMappingStart), true;
    case U']':
      return fetch_flow_end(YamlToken::kFlowSequenceEnd), true;
    case U'}':
      return fetch_flow_end(YamlToken::kFlowMappingEnd), true;
    case U',':
      allow_key_ = true;
      remove_key();
      push(YamlToken::kFlowEntry, 1);
      return true;
    case U'-':
      return blank_ahead(1) && (fetch_block_entry(), true);
    case U'?':
      return spaced && (fetch_key(), true);
    case U':':
      return spaced && (fetch_value(), true);
    default:
      return false;
  }
}

void YamlScanner::fetch_document_marker(YamlToken::Kind kind) {
  unwind(-1);
  remove_key();
  allow_key_ = false;
  push(kind, 3);
}

void YamlScanner::fetch_flow_start(YamlToken::Kind kind) {
  save_key();
  ++flow_level_;
  allow_key_ = true;
  push(kind, 1);
}

void YamlScanner::fetch_flow_end(YamlToken::Kind kind) {
  remove_key();
  // PyYAML's level goes below zero at a stray bracket; its parser refuses the token next, so zero does as well.
  if (flow_level_ > 0) --flow_level_;
  allow_key_ = false;
  push(kind, 1);
}

void YamlScanner::fetch_block_entry() {
  if (flow_level_ == 0) {
    if (!allow_key_) fail("a list entry cannot stand here");
    if (indent_to(column_)) tokens_.push_back({.kind = YamlToken::kBlockSequenceStart, .mark = mark()});
  }
  allow_key_ = true;
  remove_key();
  push(YamlToken::kBlockEntry, 1);
}

void YamlScanner::fetch_key() {
  if (flow_level_ == 0) {
    if (!allow_key_) fail("a key cannot stand here");
    if (indent_to(column_)) tokens_.push_back({.kind = YamlToken::kBlockMappingStart, .mark = mark()});
  }
  allow_key_ = flow_level_ == 0;
  remove_key();
  push(YamlToken::kKey, 1);
}

void YamlScanner::fetch_value() {
  if (!keys_.empty() && keys_.back().level == flow_level_) {
    const SimpleKey key = keys_.back();
    keys_.pop_back();
    const auto place = tokens_.begin() + static_cast<std::ptrdiff_t>(key.token_number - taken_);
    const auto inserted = tokens_.insert(place, {.kind = YamlToken::kKey, .mark = key.mark});
    if (flow_level_ == 0 && indent_to(key.mark.column)) {
      tokens_.insert(inserted, {.kind = YamlToken::kBlockMappingStart, .mark = key.mark});
    }
    allow_key_ = false;
  } else {
    if (flow_level_ == 0) {
      if (!allow_key_) fail("a ':' cannot stand here");
      if (indent_to(column_)) tokens_.push_back({.kind = YamlToken::kBlockMappingStart, .mark = mark()});
    }
    allow_key_ = flow_level_ == 0;
    remove_key();
  }
  push(YamlToken::kValue, 1);
}

bool YamlScanner::plain_starts() const {
  const char32_t c = ahead();
  if (!blank_ahead() && !is_in(c, U"-?:,[]{}#&*!|>'\"%@`")) return true;
  return !blank_ahead(1) && (c == U'-' || (flow_level_ == 0 && (c == U'?' || c == U':')));
}

void YamlScanner::skip_to_token() {
  if (at_ == 0 && ahead() == 0xFEFF) forward();
  for (;;) {
    while (ahead() == U' ') forward();
    if (ahead() == U'#') {
      while (!line_end_ahead()) forward();
    }
    if (line_break() == U'\0') return;
    if (flow_level_ == 0) allow_key_ = true;
  }
}

// Steps over one line break and says what it stands for in a scalar; U+0000 when there is none.
char32_t YamlScanner::line_break() {
  const char32_t c = ahead();
  if (!is_break(c)) return U'\0';
  forward(c == U'\r' && ahead(1) == U'\n' ? 2 : 1);
  return c == 0x2028 || c == 0x2029 ? c : U'\n';
}

std::u32string YamlScanner::word() {
  std::size_t length = 0;
  while (is_word(ahead(length))) ++length;
  std::u32string out = text_.substr(at_, length);
  forward(length);
  return out;
}

// The rest of a directive's or block indicator's line: spaces and a comment.
void YamlScanner::ignored_line() {
  while (ahead() == U' ') forward();
  if (ahead() == U'#') {
    while (!line_end_ahead()) forward();
  }
  if (!line_end_ahead()) fail("only a comment may follow on this line");
  line_break();
}

std::string YamlScanner::version_number() {
  std::string digits;
  while (is_digit(ahead())) {
    digits += static_cast<char>(ahead());
    forward();
  }
  if (digits.empty()) fail("a version number is missing");
  const auto significant = digits.find_first_not_of('0');
  return significant == digits.npos ? "0" : digits.substr(significant);
}

YamlToken YamlScanner::directive() {
  YamlToken token{.kind = YamlToken::kDirective, .mark = mark()};
  forward();
  const std::u32string name = word();
  const auto ends = [&] { return ahead() == U' ' || line_end_ahead(); };
  if (name.empty() || !ends()) fail("a directive has a bad name");
  token.handle = to_utf8(name);
  const auto skip_spaces = [&] {
    while (ahead() == U' ') forward();
  };
  if (name == U"YAML") {
    skip_spaces();
    token.text = version_number();
    if (ahead() != U'.') fail("a version number needs a '.'");
    forward();
    version_number();
    if (!ends()) fail("a version number has a bad end");
  } else if (name == U"TAG") {
    skip_spaces();
    const std::string handle = tag_handle();
    if (ahead() != U' ') fail("a space must follow the tag handle");
    skip_spaces();
    token.text = tag_uri();
    if (!ends()) fail("a tag prefix has a bad end");
    token.handle = "TAG " + handle;
  } else {
    while (!line_end_ahead()) forward();
  }
  ignored_line();
  return token;
}

YamlToken YamlScanner::anchor(YamlToken::Kind kind) {
  YamlToken token{.kind = kind, .mark = mark()};
  forward();
  const std::u32string name = word();
  if (name.empty() || !(blank_ahead() || is_in(ahead(), U"?:,]}%@`"))) fail("an anchor or alias has a bad name");
  token.text = to_utf8(name);
  return token;
}

YamlToken YamlScanner::tag() {
  YamlToken token{.kind = YamlToken::kTag, .mark = mark()};
  if (ahead(1) == U'<') {
    forward(2);
    token.text = tag_uri();
    if (ahead() != U'>') fail("a tag needs a '>'");
    forward();
  } else if (blank_ahead(1)) {
    token.text = "!";
    forward();
  } else {
    bool has_second = false;
    for (std::size_t n = 1; ahead(n) != U' ' && !line_end_ahead(n) && !has_second; ++n) has_second = ahead(n) == U'!';
    token.handle = "!";
    token.has_handle = true;
    if (has_second) {
      token.handle = tag_handle();
    } else {
      forward();
    }
    token.text = tag_uri();
  }
  if (ahead() != U' ' && !line_end_ahead()) fail("a space must follow a tag");
  return token;
}

std::string YamlScanner::tag_handle() {
  if (ahead() != U'!') fail("a tag handle starts with '!'");
  std::size_t length = 1;
  if (ahead(1) != U' ') {
    while (is_word(ahead(length))) ++length;
    if (ahead(length) != U'!') fail("a tag handle ends with '!'");
    ++length;
  }
  std::string out = to_utf8(std::u32string_view(text_).substr(at_, length));
  forward(length);
  return out;
}

std::string YamlScanner::tag_uri() {
  std::string out;
  while (is_word(ahead()) || is_in(ahead(), U";/?:@&=+$,.!~*'()[]%")) {
    if (ahead() == U'%') {
      uri_escapes(out);
    } else {
      out += static_cast<char>(ahead());
      forward();
    }
  }
  if (out.empty()) fail("a tag is empty");
  return out;
}

void YamlScanner::uri_escapes(std::string& out) {
  std::string bytes;
  while (ahead() == U'%') {
    forward();
    if (!is_hex(ahead()) || !is_hex(ahead(1))) fail("'%' must be followed by two hexadecimal digits");
    bytes += static_cast<char>(std::stoi(to_utf8(std::u32string_view(text_).substr(at_, 2)), nullptr, 16));
    forward(2);
  }
  if (!is_valid_utf8(bytes)) fail("escaped bytes are no text");
  out += bytes;
}

std::u32string YamlScanner::block_breaks(int indent) {
  std::u32string out;
  const auto skip_indent = [&] {
    while (column_ < indent && ahead() == U' ') forward();
  };
  skip_indent();
  while (line_break_ahead()) {
    out += line_break();
    skip_indent();
  }
  return out;
}

YamlToken YamlScanner::block_scalar(bool folded) {
  YamlToken token{.kind = YamlToken::kScalar, .mark = mark()};
  forward();
  char32_t chomping = U'\0';
  int increment = 0;
  // One sign and one digit in either order.
  for (int n = 0; n < 2; ++n) {
    const char32_t c = ahead();
    if ((c == U'+' || c == U'-') && chomping == U'\0') {
      chomping = c;
      forward();
    } else if (is_digit(c) && increment == 0) {
      if (c == U'0') fail("an indentation indicator is 1 to 9");
      increment = static_cast<int>(c - U'0');
      forward();
    }
  }
  if (ahead() != U' ' && !line_end_ahead()) fail("a block scalar has bad indicators");
  ignored_line();
  const int least = std::max(indent_ + 1, 1);
  std::u32string breaks;
  int indent = least + increment - 1;
  if (increment == 0) {
    int most = 0;
    while (ahead() == U' ' || line_break_ahead()) {
      if (line_break_ahead()) {
        breaks += line_break();
      } else {
        forward();
        most = std::max(most, column_);
      }
    }
    indent = std::max(least, most);
  } else {
    breaks = block_breaks(indent);
  }
  std::u32string out;
  char32_t last_break = U'\0';
  while (column_ == indent && ahead() != U'\0') {
    out += breaks;
    const bool starts_dark = !is_blank(ahead());
    std::size_t length = 0;
    while (!line_end_ahead(length)) ++length;
    out.append(text_, at_, length);
    forward(length);
    last_break = line_break();
    breaks = block_breaks(indent);
    if (column_ != indent || ahead() == U'\0') break;
    if (folded && last_break == U'\n' && starts_dark && !is_blank(ahead())) {
      if (breaks.empty()) out += U' ';
    } else if (last_break != U'\0') {
      out += last_break;
    }
  }
  if (chomping != U'-' && last_break != U'\0') out += last_break;
  if (chomping == U'+') out += breaks;
  token.text = to_utf8(out);
  return token;
}

YamlToken YamlScanner::quoted_scalar(bool is_double) {
  YamlToken token{.kind = YamlToken::kScalar, .mark = mark()};
  const char32_t quote = ahead();
  forward();
  std::u32string out;
  quoted_text(is_double, out);
  while (ahead() != quote) {
    quoted_spaces(out);
    quoted_text(is_double, out);
  }
  forward();
  token.text = to_utf8(out);
  return token;
}

void YamlScanner::quoted_text(bool is_double, std::u32string& out) {
  for (;;) {
    std::size_t length = 0;
    while (!blank_ahead(length) && !is_in(ahead(length), U"'\"\\")) ++length;
    out.append(text_, at_, length);
    forward(length);
    const char32_t c = ahead();
    if (!is_double && c == U'\'' && ahead(1) == U'\'') {
      out += U'\'';
      forward(2);
    } else if (is_double ? c == U'\'' : (c == U'"' || c == U'\\')) {
      out += c;
      forward();
    } else if (is_double && c == U'\\') {
      forward();
      quoted_escape(out);
    } else {
      return;
    }
  }
}

void YamlScanner::quoted_escape(std::u32string& out) {
  constexpr std::u32string_view kNames = U"0abt\tnvfre \"\\/N_LP";
  constexpr char32_t kMeanings[] = {0,    0x07, 0x08, 0x09, 0x09, 0x0A, 0x0B, 0x0C,   0x0D,
                                    0x1B, 0x20, 0x22, 0x5C, 0x2F, 0x85, 0xA0, 0x2028, 0x2029};
  const char32_t c = ahead();
  if (const auto i = kNames.find(c); c != U'\0' && i != kNames.npos) {
    out += kMeanings[i];
    forward();
    return;
  }
  const std::size_t digits = c == U'x' ? 2 : c == U'u' ? 4 : c == U'U' ? 8 : 0;
  if (digits > 0) {
    forward();
    for (std::size_t k = 0; k < digits; ++k) {
      if (!is_hex(ahead(k))) fail(fmt::format("an escape needs {} hexadecimal digits", digits));
    }
    const auto code = std::stoul(to_utf8(std::u32string_view(text_).substr(at_, digits)), nullptr, 16);
    if (code > 0x7FFFFFFF) throw YamlFault{"OverflowError", "an escape is no character", mark()};
    if (code > 0x10FFFF) throw YamlFault{"ValueError", "an escape is no character", mark()};
    out += static_cast<char32_t>(code);
    forward(digits);
    return;
  }
  if (!line_break_ahead()) fail("an unknown escape");
  line_break();
  out += quoted_breaks();
}

void YamlScanner::quoted_spaces(std::u32string& out) {
  std::size_t length = 0;
  while (is_blank(ahead(length))) ++length;
  const std::u32string spaces = text_.substr(std::min(at_, text_.size()), length);
  forward(length);
  if (ahead() == U'\0') fail("a quoted text has no end");
  if (!line_break_ahead()) {
    out += spaces;
    return;
  }
  const char32_t first = line_break();
  const std::u32string breaks = quoted_breaks();
  if (first != U'\n') {
    out += first;
  } else if (breaks.empty()) {
    out += U' ';
  }
  out += breaks;
}

std::u32string YamlScanner::quoted_breaks() {
  std::u32string out;
  for (;;) {
    if (document_marker_ahead(U'-') || document_marker_ahead(U'.')) fail("a document ends inside a quoted text");
    while (is_blank(ahead())) forward();
    if (!line_break_ahead()) return out;
    out += line_break();
  }
}

YamlToken YamlScanner::plain_scalar() {
  YamlToken token{.kind = YamlToken::kScalar, .mark = mark(), .plain = true};
  const int indent = indent_ + 1;
  const bool in_flow = flow_level_ > 0;
  std::u32string out;
  std::u32string spaces;
  while (ahead() != U'#') {
    std::size_t length = 0;
    for (;; ++length) {
      const char32_t c = ahead(length);
      const bool ends_at_colon =
          c == U':' && (blank_ahead(length + 1) || (in_flow && is_in(ahead(length + 1), U",[]{}")));
      if (blank_ahead(length) || ends_at_colon || (in_flow && is_in(c, U",?[]{}"))) break;
    }
    if (length == 0) break;
    allow_key_ = false;
    out += spaces;
    out.append(text_, at_, length);
    forward(length);
    spaces.clear();
    if (!plain_spaces(spaces) || spaces.empty() || ahead() == U'#' || (!in_flow && column_ < indent)) break;
  }
  token.text = to_utf8(out);
  return token;
}

// Spaces and line breaks inside a plain scalar; false where a document marker ends it.
bool YamlScanner::plain_spaces(std::u32string& out) {
  std::size_t length = 0;
  while (ahead(length) == U' ') ++length;
  const std::u32string spaces(length, U' ');
  forward(length);
  if (!line_break_ahead()) {
    out += spaces;
    return true;
  }
  const char32_t first = line_break();
  allow_key_ = true;
  const auto marker = [&] { return document_marker_ahead(U'-') || document_marker_ahead(U'.'); };
  if (marker()) return false;
  std::u32string breaks;
  while (ahead() == U' ' || line_break_ahead()) {
    if (ahead() == U' ') {
      forward();
      continue;
    }
    breaks += line_break();
    if (marker()) return false;
  }
  if (first != U'\n') {
    out += first;
  } else if (breaks.empty()) {
    out += U' ';
  }
  out += breaks;
  return true;
}

}  // namespace preflight::python
