// YamlScanner: the tokens of a YAML 1.1 file, exactly as PyYAML's SafeLoader sees them.
//
// SGLang reads --config with PyYAML, whose reading of YAML differs from yaml-cpp's and libyaml's in what it refuses
// (tabs, colons, anchors) and in which stage refuses it, and the exception type is part of the outcome. So this
// stage is our own. Tokens are made on demand, because the order of scanner and parser errors depends on it.
// Tested by tests/args_config_test.cpp.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace preflight::python {

struct YamlMark {
  int line = 0;    // 0-based
  int column = 0;  // 0-based, in characters
};

// What PyYAML (or Python below it) raises. Thrown and caught inside the YAML files only.
struct YamlFault {
  std::string exception;
  std::string message;
  YamlMark mark = {};
};

struct YamlToken {
  enum Kind : std::uint8_t {
    kStreamEnd,
    kDirective,
    kDocumentStart,
    kDocumentEnd,
    kBlockSequenceStart,
    kBlockMappingStart,
    kBlockEnd,
    kFlowSequenceStart,
    kFlowSequenceEnd,
    kFlowMappingStart,
    kFlowMappingEnd,
    kFlowEntry,
    kBlockEntry,
    kKey,
    kValue,
    kAlias,
    kAnchor,
    kTag,
    kScalar,
  } kind = kStreamEnd;
  YamlMark mark = {};
  std::string text = {};    // scalar, anchor, tag suffix, directive prefix or major version
  std::string handle = {};  // tag or directive handle, directive name
  bool plain = false;       // scalar without quotes or block indicator
  bool has_handle = false;  // a tag written with a handle
};

class YamlScanner {
 public:
  explicit YamlScanner(std::u32string text) : text_(std::move(text)) {}

  const YamlToken& peek();
  YamlToken take();

 private:
  struct SimpleKey {
    std::size_t token_number;
    bool required;
    std::size_t index;
    YamlMark mark;
    std::size_t level;
  };

  // Characters; the end of the text reads as U+0000.
  [[nodiscard]] char32_t ahead(std::size_t n = 0) const { return at_ + n < text_.size() ? text_[at_ + n] : U'\0'; }
  void forward(std::size_t n = 1);
  [[nodiscard]] YamlMark mark() const { return {line_, column_}; }
  [[nodiscard]] bool blank_ahead(std::size_t n = 0) const;       // end, space, tab or line break
  [[nodiscard]] bool line_end_ahead(std::size_t n = 0) const;    // end or line break
  [[nodiscard]] bool line_break_ahead(std::size_t n = 0) const;  // line break
  [[nodiscard]] bool document_marker_ahead(char32_t c) const;
  [[noreturn]] void fail(std::string message) const;

  bool needs_more();
  void fetch();
  void drop_stale_keys();
  void save_key();
  void remove_key();
  void unwind(int column);
  bool indent_to(int column);
  void push(YamlToken::Kind kind, std::size_t length);
  bool fetch_structure();
  void fetch_block_entry();
  void fetch_key();
  void fetch_value();
  void fetch_document_marker(YamlToken::Kind kind);
  void fetch_flow_start(YamlToken::Kind kind);
  void fetch_flow_end(YamlToken::Kind kind);
  [[nodiscard]] bool plain_starts() const;

  void skip_to_token();
  char32_t line_break();
  std::u32string word();
  void ignored_line();
  YamlToken directive();
  std::string version_number();
  YamlToken anchor(YamlToken::Kind kind);
  YamlToken tag();
  std::string tag_handle();
  std::string tag_uri();
  void uri_escapes(std::string& out);
  YamlToken block_scalar(bool folded);
  std::u32string block_breaks(int indent);
  YamlToken quoted_scalar(bool is_double);
  void quoted_text(bool is_double, std::u32string& out);
  void quoted_escape(std::u32string& out);
  void quoted_spaces(std::u32string& out);
  std::u32string quoted_breaks();
  YamlToken plain_scalar();
  bool plain_spaces(std::u32string& out);

  std::u32string text_;
  std::size_t at_ = 0;
  int line_ = 0;
  int column_ = 0;

  std::deque<YamlToken> tokens_;
  std::size_t taken_ = 0;
  bool done_ = false;
  std::size_t flow_level_ = 0;
  int indent_ = -1;
  std::vector<int> indents_;
  bool allow_key_ = true;
  std::deque<SimpleKey> keys_;  // places that may turn out to start "key: value", outermost first
};

std::string to_utf8(std::u32string_view text);

}  // namespace preflight::python
