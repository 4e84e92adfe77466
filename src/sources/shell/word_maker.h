// Words in the making: characters with their places, holes, and where one word ends and the next begins.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/limits.h"
#include "src/sources/shell/evaluator.h"
#include "src/sources/shell/parser.h"

namespace preflight::sources {

class ShellEvaluator::WordMaker {
 public:
  WordMaker(std::size_t begin, std::size_t end) : begin_(begin), end_(end) {}

  bool single = false;    // no splitting, no patterns
  bool assigned = false;  // the value of a variable
  std::vector<ShellWord> fields = {};
  // Fields that are patterns of files: as they stand, and with a backslash before every sign that is itself.
  struct Pattern {
    ShellWord word;
    std::string text;
  };
  std::map<std::size_t, Pattern> patterns = {};

  void open() { open_ = true; }
  [[nodiscard]] bool is_open() const { return open_; }
  void put(char c, std::size_t origin, bool may_match) {
    if (word_.text.size() >= limits::kArgumentBytes) return overflow(origin);
    if (may_match && !single && (c == '*' || c == '?')) pattern_ = true;
    if (!may_match || c == '\\') pattern_text_ += '\\';
    pattern_text_ += c;
    word_.text += c;
    word_.origin.push_back(origin);
  }
  void put_unknown(const Unknown& unknown) { put_unknown(unknown, unknown.offset); }
  // The hole stands at `origin`; what it tells of may be elsewhere.
  void put_unknown(Unknown unknown, std::size_t origin) {
    unknown.at = word_.text.size();
    if (unknown.offset == 0) unknown.offset = origin;
    open_ = true;
    pattern_text_ += kHole;
    word_.text += kHole;
    word_.origin.push_back(origin);
    word_.unknowns.push_back(std::move(unknown));
  }
  void put_all(const ShellText& text, std::size_t origin) {
    if (word_.text.size() + text.text.size() > limits::kArgumentBytes) return overflow(origin);
    for (std::size_t i = 0; i < text.text.size(); ++i) {
      if (const Unknown* hole = text.hole(i)) {
        put_unknown(*hole, origin);
      } else {
        pattern_text_ += {'\\', text.text[i]};
        word_.text += text.text[i];
        word_.origin.push_back(origin);
      }
    }
  }
  void end_field() {
    if (!open_) return;
    if (pattern_ && word_.text.find("://") == std::string::npos) {
      patterns[fields.size()] = {word_, pattern_text_};
      patterns[fields.size()].word.begin = begin_;
      patterns[fields.size()].word.end = end_;
      static_cast<ShellText&>(word_) =
          unknown_text("a pattern outside quotes becomes the files it matches, which are not known here", begin_);
    }
    word_.begin = begin_;
    word_.end = end_;
    fields.push_back(std::exchange(word_, {}));
    pattern_text_.clear();
    open_ = pattern_ = false;
  }

 private:
  // The name that a value is set under stays: NAME=VALUE, --option=VALUE.
  void overflow(std::size_t origin) {
    const std::size_t kept = word_.text.find('=') + 1;  // 0 without one
    word_.text.resize(kept);
    word_.origin.resize(kept);
    std::erase_if(word_.unknowns, [&](const Unknown& u) { return u.at >= kept; });
    put_unknown({.message = "a word of more than 128 KiB, which no program can be given"}, origin);
  }

  std::size_t begin_;
  std::size_t end_;
  ShellWord word_;
  std::string pattern_text_;
  bool open_ = false;
  bool pattern_ = false;
};

}  // namespace preflight::sources
