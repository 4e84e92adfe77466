// Edits of one "key: value" entry in a block mapping. Tested by tests/fix_write_back_test.cpp.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "src/python/yaml_document.h"
#include "src/fix/write_back.h"

namespace preflight::fix {
namespace {

// Plain where YAML reads back the same characters, else in single quotes.
std::string scalar(const std::string& word) {
  const bool digits = !word.empty() && word.size() < 18 && word.find_first_not_of("0123456789") == std::string::npos &&
                      (word.front() != '0' || word.size() == 1);
  const bool safe = !word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
                    word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-") ==
                        std::string::npos &&
                    python::implicit_tag(word) == "str";
  if (digits || safe) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string value_text(const std::vector<std::string>& words) {
  if (words.size() == 1) return "true";  // a switch
  if (words.size() == 2) return scalar(words[1]);
  std::string out;
  for (std::size_t i = 1; i < words.size(); ++i) out += (i > 1 ? ", " : "") + scalar(words[i]);
  return "[" + out + "]";
}

std::string key_of(const std::string& option) { return option.substr(option.starts_with("--") ? 2 : 0); }

struct Entry {
  std::size_t line = 0;   // offset where its first line begins
  std::size_t key = 0;    // offset of the key
  std::size_t value = 0;  // offset of the value
  std::size_t value_end = 0;
  std::size_t end = 0;  // behind its last line
};

std::size_t line_end(const std::string& text, std::size_t at) {
  const auto end = text.find('\n', at);
  return end == std::string::npos ? text.size() : end;
}

std::size_t next_line(const std::string& text, std::size_t at) { return std::min(line_end(text, at) + 1, text.size()); }

// Where the value that starts at `at` ends on its line: behind the quote, the bracket or the last character in front of
// a comment.
std::size_t end_of_value(const std::string& text, std::size_t at, std::size_t end) {
  if (at >= end) return at;
  const char open = text[at];
  if (open == '\'' || open == '"') {
    const auto close = text.find(open, at + 1);
    return close == std::string::npos ? end : close + 1;
  }
  if (open == '[' || open == '{') {
    const auto close = text.rfind(open == '[' ? ']' : '}', end - 1);
    if (close != std::string::npos && close > at) return close + 1;
  }
  auto comment = text.find(" #", at);
  if (comment == std::string::npos || comment > end) comment = end;
  while (comment > at && std::isspace(static_cast<unsigned char>(text[comment - 1])) != 0) --comment;
  return comment;
}

Result<Entry> entry_at(const std::string& text, int line, int column, const std::string& key) {
  Entry e;
  for (int n = 1; n < line; ++n) e.line = next_line(text, e.line);
  e.key = e.line + static_cast<std::size_t>(std::max(column - 1, 0));
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  if (!std::all_of(text.begin() + static_cast<std::ptrdiff_t>(e.line),
                   text.begin() + static_cast<std::ptrdiff_t>(e.key), blank) ||
      text.compare(e.key, key.size(), key) != 0) {
    return failure(fmt::format("line {} is no plain \"{}: …\"", line, key));
  }
  const std::size_t end = line_end(text, e.line);
  const auto colon = text.find(':', e.key + key.size());
  if (colon == std::string::npos || colon > end) return failure(fmt::format("line {} has no colon", line));
  e.value = colon + 1;
  while (e.value < end && blank(text[e.value])) ++e.value;
  if (e.value < end && text[e.value] == '#') e.value = colon + 1;
  e.value_end = e.value == colon + 1 ? e.value : end_of_value(text, e.value, end);
  // Deeper lines, and the items of a list at the same depth, belong to the entry; comments between entries do not.
  e.end = next_line(text, e.line);
  const std::size_t depth = e.key - e.line;
  for (std::size_t at = e.end; at < text.size();) {
    const std::size_t stop = next_line(text, at);
    const auto first = text.find_first_not_of(" \t\r\n", at);
    if (first == std::string::npos) break;
    if (first >= stop || text[first] == '#') {
      at = stop;
      continue;
    }
    const std::size_t here = first - at;
    if (here < depth || (here == depth && text.compare(first, 2, "- ") != 0)) break;
    e.end = at = stop;
  }
  return e;
}

}  // namespace

Result<std::string> edit_yaml(const std::string& text, const std::string& file, const CheckedFix& fix,
                              bool with_added) {
  std::vector<const ArgumentChange*> here;
  for (const ArgumentChange& c : fix.changes) {
    if (c.where.file == file && c.where.line > 0) here.push_back(&c);
  }
  std::sort(here.begin(), here.end(), [](const auto* a, const auto* b) { return a->where.line > b->where.line; });
  std::string out = text;
  for (const ArgumentChange* c : here) {
    const auto entry = entry_at(out, c->where.line, c->where.column, key_of(c->before.front()));
    if (!entry) return tl::make_unexpected(entry.error());
    if (c->kind == ArgumentChange::Kind::kDrop) {
      out.erase(entry->line, entry->end - entry->line);
      continue;
    }
    const std::size_t first_end = next_line(out, entry->line);
    if (entry->end > first_end) out.erase(first_end, entry->end - first_end);  // a value over several lines
    const bool tight = entry->value > 0 && out[entry->value - 1] == ':';
    if (c->after.size() > 1 || c->before.size() > 1) {
      out.replace(entry->value, entry->value_end - entry->value, (tight ? " " : "") + value_text(c->after));
    }
    if (c->after.front() != c->before.front()) {
      const std::string key = key_of(c->before.front());
      out.replace(entry->key, key.size(), key_of(c->after.front()));
    }
  }
  if (!with_added) return out;
  const std::string newline = text.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  for (const ArgumentChange& c : fix.changes) {
    if (c.kind != ArgumentChange::Kind::kAdd) continue;
    if (!out.empty() && out.back() != '\n') out += newline;
    out += key_of(c.after.front()) + ": " + value_text(c.after) + newline;
  }
  return out;
}

}  // namespace preflight::fix
