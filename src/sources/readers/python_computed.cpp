// Texts that a Python program makes of others: "… %s" % (…), "…{}".format(…), " ".join([…]) and sums. Tested by
// tests/sources_test.cpp and, against Python itself, by tests/traps_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/readers/python_program.h"

namespace preflight::sources {
namespace {

using Kind = PythonToken::Kind;

bool is_text(const PythonToken& token) { return token.kind == Kind::kText || token.kind == Kind::kFormatText; }

}  // namespace

// A value as a text, unknown where it is not one.
ShellText PythonProgram::text_or_unknown(Span value, int depth) const {
  if (auto text = literal(value, depth + 1)) return std::move(*text);
  return word(value);
}

// The last `sign` of an expression outside brackets; kNowhere where there is none.
std::size_t PythonProgram::last_sign(Span value, std::string_view sign) const {
  std::size_t found = kNowhere;
  for (std::size_t i = value.begin; i < value.end; ++i) {
    if (is_sign(i, "(") || is_sign(i, "[") || is_sign(i, "{"))
      i = std::max(i, std::min(close_of_[i], value.end));
    else if (i > value.begin && is_sign(i, sign))
      found = i;
  }
  return found;
}

// An expression with a text among its operands; nullopt where it is none of those that are followed.
std::optional<ShellText> PythonProgram::computed(Span value, int depth) const {
  if (depth > 16 || !spend(value.end - value.begin)) return std::nullopt;
  const auto has_text = [&](Span part) {
    return part.begin < part.end && (is_text(tokens_[part.begin]) || is_text(tokens_[part.end - 1]));
  };
  if (const std::size_t plus = last_sign(value, "+"); plus != kNowhere) {
    const Span left{value.begin, plus};
    const Span right{plus + 1, value.end};
    if (!has_text(left) && !has_text(right) && last_sign(left, "+") == kNowhere) return std::nullopt;
    auto out = literal(left, depth + 1);
    if (!out && !has_text(left) && last_sign(left, "+") != kNowhere) return std::nullopt;
    if (!out) out = word(left);
    append(*out, text_or_unknown(right, depth));
    return out;
  }
  if (const std::size_t percent = last_sign(value, "%"); percent != kNowhere && is_text(tokens_[value.begin])) {
    const auto format = literal({value.begin, percent}, depth + 1);
    return format ? std::optional(filled_in(*format, {percent + 1, value.end}, depth)) : std::nullopt;
  }
  // TEXT.format(…), NAME.format(…), TEXT.join(…)
  if (!is_sign(value.end - 1, ")")) return std::nullopt;
  std::size_t open = value.end - 1;
  while (open > value.begin && !(is_sign(open, "(") && close_of_[open] == value.end - 1)) --open;
  if (open < value.begin + 3 || !is_sign(open - 2, ".")) return std::nullopt;
  const bool joins = text_of(open - 1) == "join";
  if (!joins && text_of(open - 1) != "format") return std::nullopt;
  const auto own = literal({value.begin, open - 2}, depth + 1);
  if (!own) return std::nullopt;
  if (joins) return joined(*own, open);
  return formatted_by_call(*own, open, depth);
}

// "… %s %d" % (…): one value, or a tuple of them.
ShellText PythonProgram::filled_in(const ShellText& format, Span values, int depth) const {
  std::vector<Span> all = {values};
  if (is_sign(values.begin, "(") && close_of_[values.begin] == values.end - 1) all = items(values.begin);
  ShellText out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.text.size(); ++i) {
    const char kind = i + 1 < format.text.size() ? format.text[i + 1] : '\0';
    if (format.text[i] != '%') {
      append(out, slice(format, i, i + 1));
      continue;
    }
    if (kind == '%') {
      append(out, slice(format, i, i + 1));
    } else if ((kind == 's' || kind == 'd' || kind == 'i') && next < all.size() && !is_sign(values.begin, "{")) {
      append(out, text_or_unknown(all[next++], depth));
    } else {
      return unknown_text("what % makes of this text is not followed", format.origin.front());
    }
    ++i;
  }
  return out;
}

// "…{}…{name}".format(…).
ShellText PythonProgram::formatted_by_call(const ShellText& format, std::size_t open, int depth) const {
  const std::vector<Span> all = items(open);
  std::size_t next = 0;
  return filled_in(format, [&](const std::string& name, std::size_t origin) -> std::optional<ShellText> {
    const bool number = name.find_first_not_of("0123456789") == std::string::npos && name.size() < 4;
    const std::size_t at = !number ? all.size() : name.empty() ? next++ : std::stoul(name);
    const auto named = number ? std::nullopt : keyword(open, name);
    if (named) return text_or_unknown(*named, depth);
    if (at < all.size()) return text_or_unknown(all[at], depth);
    return unknown_text(fmt::format("{{{}}} is filled in where the program runs", name), origin);
  });
}

// " ".join([…]); a list that names the server by a word of its own is read as that list.
std::optional<ShellText> PythonProgram::joined(const ShellText& between, std::size_t open) const {
  Words words;
  const auto all = items(open);
  if (!all.empty()) add_values(all.front(), words, 0);
  ShellText out;
  for (std::size_t i = 0; i < words.words.size(); ++i) {
    const std::string& word = words.words[i].text;
    if (word == "sglang.launch_server" || word == "sglang") return std::nullopt;
    if (i > 0) append(out, between);
    append(out, words.words[i]);
  }
  for (const LaunchUnknown& unknown : words.unknown) {
    append(out, between);
    append(out, unknown_text(unknown.what, unknown.offset));
  }
  return out;
}

}  // namespace preflight::sources
