// Follows the manual of GNU parallel: words are joined by blanks, and a value is quoted where it holds more than plain
// characters. Tested by tests/sources_test.cpp (tests/data/sources/shell.txt).
#include "src/sources/gnu_parallel.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "src/base/limits.h"
#include "src/base/listed.h"
#include "src/sources/container_command.h"

namespace preflight::sources {
namespace {

using Choice = std::vector<ShellText>;  // one of each source

// Index of the command behind options that change nothing of what runs; none where another stands there.
std::optional<std::size_t> behind_options(const std::vector<ShellWord>& words, std::size_t i) {
  constexpr std::string_view kValued =
      "-j --jobs -P --max-procs --delay --joblog --halt --halt-on-error --results --retries --timeout --load --memfree "
      "--nice --tmpdir --compress-program --tagstring";
  constexpr std::string_view kFlags =
      "-k --keep-order --lb --line-buffer -u --ungroup --group --tag --progress --bar --eta --verbose -v -t "
      "--will-cite "
      "--no-notice -r --no-run-if-empty --resume --files";
  for (; i < words.size() && words[i].text.starts_with('-'); ++i) {
    const std::string_view w = words[i].text;
    if (is_among(kFlags, w)) continue;
    if (is_among(kValued, w)) {
      ++i;
      continue;
    }
    const bool glued = w.starts_with("--") ? w.find('=') != w.npos && is_among(kValued, w.substr(0, w.find('=')))
                                           : w.size() > 2 && (w.starts_with("-j") || w.starts_with("-P"));
    if (!glued) return std::nullopt;
  }
  return i;
}

// `::: VALUE…`, each a source; none where another separator stands there.
std::optional<std::vector<Choice>> sources_of(const std::vector<ShellWord>& words, std::size_t from) {
  std::vector<Choice> out;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (words[i].text == ":::") {
      out.emplace_back();
    } else if (words[i].text.starts_with(":::") || words[i].several || !words[i].unknowns.empty()) {
      return std::nullopt;
    } else {
      out.back().push_back(words[i]);
    }
  }
  return out;
}

std::optional<Choice> lines_of(const std::vector<ShellText>& input) {
  if (input.size() != 1 || !input.front().unknowns.empty()) return std::nullopt;
  const ShellText& text = input.front();
  Choice out;
  for (std::size_t from = 0; from < text.text.size();) {
    const std::size_t end = std::min(text.text.find('\n', from), text.text.size());
    if (end == from || out.size() >= limits::kShellTurns) return std::nullopt;
    out.push_back(slice(text, from, end));
    from = end + 1;
  }
  return out;
}

// Every choice of one value of each source, the last source fastest.
std::optional<std::vector<Choice>> jobs_of(const std::vector<Choice>& sources) {
  std::vector<Choice> out = {{}};
  for (const Choice& source : sources) {
    std::vector<Choice> next;
    if (out.size() * source.size() > limits::kShellTurns) return std::nullopt;
    for (const Choice& job : out) {
      for (const ShellText& value : source) {
        next.push_back(job);
        next.back().push_back(value);
      }
    }
    out = std::move(next);
  }
  return out;
}

ShellText joined(const std::vector<ShellWord>& words, std::size_t from, std::size_t to) {
  ShellText out;
  for (std::size_t i = from; i < to; ++i) {
    if (i > from) append(out, {" ", {words[i].begin}, {}});
    append(out, words[i]);
  }
  return out;
}

bool is_plain(std::string_view value) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+/";
  return !value.empty() && value.find_first_not_of(kPlain) == std::string_view::npos;
}

// The value as it is put into the command, in which quotes may stand around it; none where that is not followed.
std::optional<ShellText> quoted(const ShellText& value, std::size_t at, bool among_quotes) {
  ShellText out{value.text, std::vector<std::size_t>(value.text.size(), at), {}};
  if (is_plain(value.text)) return out;
  if (among_quotes || value.text.find('\'') != std::string::npos) return std::nullopt;
  ShellText whole{"'", {at}, {}};
  append(whole, out);
  append(whole, {"'", {at}, {}});
  return whole;
}

// Which value {…} at `open` stands for: 0 for all of them; none where it is no replacement string that is followed.
std::optional<std::size_t> number_in(std::string_view text, std::size_t open, std::size_t close) {
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  if (inside.empty()) return 0;
  if (inside.size() == 1 && inside[0] >= '1' && inside[0] <= '9') return static_cast<std::size_t>(inside[0] - '0');
  return std::nullopt;
}

// What parallel itself takes for a replacement string of another kind: {.}, {/}, {#}, {%}, {= … =}, {1.}.
bool is_another(std::string_view inside) {
  return !inside.empty() && (std::string_view("./#%=+").find(inside[0]) != std::string_view::npos ||
                             (inside[0] >= '0' && inside[0] <= '9') || inside[0] == '-');
}

std::optional<ShellText> filled(const ShellText& command, const Choice& job) {
  const bool quotes = command.text.find_first_of("'\"") != std::string::npos;
  ShellText out;
  bool any = false;
  const auto put = [&](std::size_t which, std::size_t at) {
    for (std::size_t i = which == 0 ? 0 : which - 1; i < (which == 0 ? job.size() : which); ++i) {
      const auto value = i < job.size() ? quoted(job[i], at, quotes) : std::nullopt;
      if (!value) return false;
      if (which == 0 && i > 0) append(out, {" ", {at}, {}});
      append(out, *value);
    }
    return true;
  };
  const auto place = [&](std::size_t i) { return command.origin.empty() ? i : command.origin[i]; };
  std::size_t from = 0;
  for (auto open = command.text.find('{'); open != std::string::npos; open = command.text.find('{', open + 1)) {
    const auto close = command.text.find('}', open);
    if (close == std::string::npos) break;
    const auto which = number_in(command.text, open, close);
    if (!which && is_another(std::string_view(command.text).substr(open + 1, close - open - 1))) return std::nullopt;
    if (!which) continue;
    append(out, slice(command, from, open));
    if (!put(*which, place(open))) return std::nullopt;
    any = true;
    from = close + 1;
  }
  append(out, tail(command, from));
  if (any) return out;
  const std::size_t end = command.origin.empty() ? 0 : command.origin.back();
  append(out, {" ", {end}, {}});
  return put(0, end) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<ShellText>> texts_of_parallel(const std::vector<ShellWord>& words, std::size_t at,
                                                        const std::vector<ShellText>& input) {
  if (base_name(words[at].text) != "parallel") return std::nullopt;
  const auto first = behind_options(words, at + 1);
  if (!first) return std::nullopt;
  const auto separator = std::find_if(words.begin() + static_cast<std::ptrdiff_t>(*first), words.end(),
                                      [](const ShellWord& word) { return word.text.starts_with(":::"); });
  const auto end = static_cast<std::size_t>(separator - words.begin());
  auto sources = sources_of(words, end);
  if (separator == words.end()) {
    const auto lines = lines_of(input);
    sources = lines ? std::optional(std::vector<Choice>{*lines}) : std::nullopt;
  }
  const auto jobs = sources ? jobs_of(*sources) : std::nullopt;
  if (!jobs) return std::nullopt;
  const ShellText command = joined(words, *first, end);
  std::vector<ShellText> out;
  for (const Choice& job : *jobs) {
    if (command.text.empty() && job.size() != 1) return std::nullopt;
    auto text = command.text.empty() ? std::optional(job.front()) : filled(command, job);
    if (!text) return std::nullopt;
    out.push_back(std::move(*text));
  }
  return out;
}

}  // namespace preflight::sources
