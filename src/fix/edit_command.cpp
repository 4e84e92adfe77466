// Tested by tests/fix_write_back_test.cpp.
#include <algorithm>

#include "src/fix/write_back.h"
#include "src/report/shell_words.h"

namespace preflight::fix {
namespace {

struct Splice {
  std::size_t begin;
  std::size_t end;
  std::string text;
};

// The blanks in front of `at`, and the backslash that ends the line before when nothing else stands on this one.
std::size_t before_blanks(const std::string& text, std::size_t at) {
  for (;;) {
    if (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) {
      --at;
    } else if (at > 1 && text[at - 1] == '\n' && text[at - 2] == '\\') {
      at -= 2;
    } else if (at > 2 && text.compare(at - 3, 3, "\\\r\n") == 0) {
      at -= 3;
    } else {
      return at;
    }
  }
}

}  // namespace

Result<std::string> edit_command(const std::string& text, const std::vector<TextSpan>& spans, const CheckedFix& fix) {
  std::vector<Splice> splices;
  std::string added;
  for (const ArgumentChange& c : fix.changes) {
    if (!c.where.file.empty()) continue;
    if (c.kind == ArgumentChange::Kind::kUnset) {
      return failure("the variable " + c.before.front() + " is not set by an argument; unset it where it is set");
    }
    if (c.kind == ArgumentChange::Kind::kAdd) {
      added += " " + report::shell_words(c.after);
      continue;
    }
    const auto first = static_cast<std::size_t>(std::max(c.where.argv_index, 0));
    const std::size_t last = first + c.before.size();
    if (c.where.argv_index < 0 || last > spans.size()) return failure("an option has no place in the text");
    if (c.kind == ArgumentChange::Kind::kDrop) {
      splices.push_back({before_blanks(text, spans[first].begin), spans[last - 1].end, ""});
    } else if (c.before.size() == c.after.size()) {
      for (std::size_t i = 0; i < c.before.size(); ++i) {
        if (c.before[i] == c.after[i]) continue;
        splices.push_back({spans[first + i].begin, spans[first + i].end, report::shell_word(c.after[i])});
      }
    } else {
      splices.push_back({spans[first].begin, spans[last - 1].end, report::shell_words(c.after)});
    }
  }
  if (!added.empty()) {
    if (spans.empty()) return failure("there is no argument to add to");
    splices.push_back({spans.back().end, spans.back().end, added});
  }
  std::sort(splices.begin(), splices.end(), [](const Splice& a, const Splice& b) { return a.begin > b.begin; });
  std::string out = text;
  std::size_t limit = text.size();
  for (const Splice& s : splices) {
    if (s.end > limit) return failure("one word of the text gives several arguments");
    out.replace(s.begin, s.end - s.begin, s.text);
    limit = s.begin;
  }
  return out;
}

}  // namespace preflight::fix
