// Commands that are lists of words: JSON, /proc/PID/cmdline, lists in Python and Nomad, and the keyword arguments of
// sglang.Engine(…). What is no literal is not known. Tested by tests/sources_test.cpp.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "src/sources/readers/readers.h"
#include "src/sources/shell/parser.h"

namespace preflight::sources {
namespace {

constexpr std::size_t kMostWords = 10'000;

std::size_t skip_blanks(std::string_view text, std::size_t i) {
  while (i < text.size()) {
    if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' || text[i] == '\\')
      ++i;
    else if (text[i] == '#')
      i = std::min(text.find('\n', i), text.size());
    else
      break;
  }
  return i;
}

// A literal text at `i`, which moves behind it; nullopt where there is none.
std::optional<ShellWord> text_literal(std::string_view text, std::size_t& i) {
  std::size_t at = i;
  bool raw = false;
  while (at < text.size() && (text[at] == 'r' || text[at] == 'u')) raw = text[at++] == 'r';
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'') || text.substr(at).starts_with("\"\"\""))
    return std::nullopt;
  const char quote = text[at];
  ShellWord word;
  word.begin = at + 1;
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
    char c = text[at];
    const std::size_t place = at;
    if (c == '\\' && !raw) {
      if (++at >= text.size()) return std::nullopt;
      c = text[at] == 'n' ? '\n' : text[at] == 't' ? '\t' : text[at];
    }
    word.text += c;
    word.origin.push_back(place);
  }
  if (at >= text.size() || text[at] != quote) return std::nullopt;
  word.end = at;
  i = at + 1;
  return word;
}

// The end of an expression: the comma or bracket behind it.
std::size_t expression_end(std::string_view text, std::size_t i) {
  int open = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      for (++i; i < text.size() && text[i] != c; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (c == '(' || c == '[' || c == '{') {
      ++open;
    } else if (c == ')' || c == ']' || c == '}') {
      if (--open < 0) return i;
    } else if (c == ',' && open == 0) {
      return i;
    }
  }
  return text.size();
}

ShellWord unknown_word(std::string_view text, std::size_t from, std::size_t to) {
  std::string shown(text.substr(from, std::min<std::size_t>(to - from, 60)));
  while (!shown.empty() && (shown.back() == ' ' || shown.back() == '\n' || shown.back() == '\r')) shown.pop_back();
  return {unknown_text(fmt::format("{} is computed where the program runs", shown), from), from,
          std::max(from + 1, to)};
}

// A value at `i`: literal texts, numbers, and what str() makes of them.
ShellWord value_at(std::string_view text, std::size_t i, std::size_t end) {
  const std::size_t from = i;
  if (auto word = text_literal(text, i)) {
    if (skip_blanks(text, i) >= end) return *word;
    return unknown_word(text, from, end);
  }
  std::string_view rest = text.substr(from, end - from);
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\n' || rest.back() == '\r')) rest.remove_suffix(1);
  std::size_t shift = 0;
  if (rest.starts_with("str(") && rest.ends_with(")")) {
    rest = rest.substr(4, rest.size() - 5);
    shift = 4;
  }
  const bool number = !rest.empty() && rest.find_first_not_of("0123456789.-") == std::string_view::npos;
  if (!number && rest != "sys.executable") return unknown_word(text, from, end);
  ShellWord word;
  word.text = number ? std::string(rest) : "python";
  word.begin = from + shift;
  word.end = from + shift + rest.size();
  word.origin.assign(word.text.size(), word.begin);
  return word;
}

// Words of a list whose bracket stands at `open`.
std::vector<ShellWord> list_words(std::string_view text, std::size_t open) {
  std::vector<ShellWord> out;
  for (std::size_t i = skip_blanks(text, open + 1); i < text.size() && text[i] != ']' && out.size() < kMostWords;) {
    const std::size_t end = expression_end(text, i);
    out.push_back(value_at(text, i, end));
    i = end < text.size() && text[end] == ',' ? skip_blanks(text, end + 1) : end;
    if (i == end && (end >= text.size() || text[end] != ']')) break;
  }
  return out;
}

// The bracket that is open at `at`, on the lines in front of it.
std::optional<std::size_t> open_bracket(std::string_view text, std::size_t at) {
  int closed = 0;
  const std::size_t from = at > 4000 ? at - 4000 : 0;
  for (std::size_t i = at; i-- > from;) {
    if (text[i] == ']') ++closed;
    if (text[i] == '[' && closed-- == 0) return i;
    if (text[i] == '=' && closed == 0) return std::nullopt;
  }
  return std::nullopt;
}

// The name a list is assigned to, and whether it grows behind `open`. Each name is looked for once in the text.
class GrowingLists {
 public:
  explicit GrowingLists(std::string_view text) : text_(text) {}

  // The name of the list at `open`, when words are added to it later; else "".
  std::string name_of(std::size_t open) {
    std::size_t end = text_.find_last_not_of(" \t", open == 0 ? 0 : open - 1);
    if (end == std::string_view::npos || text_[end] != '=' || end == 0) return {};
    end = text_.find_last_not_of(" \t", end - 1);
    if (end == std::string_view::npos) return {};
    std::size_t begin = end;
    while (begin > 0 && shell_name_char(text_[begin - 1])) --begin;
    const std::string name(text_.substr(begin, end - begin + 1));
    const auto [known, is_new] = last_.try_emplace(name, 0);
    if (is_new) {
      for (const char* way : {".append(", ".extend(", " +=", "+=", ".insert("}) {
        const auto at = text_.rfind(name + way);
        if (at != std::string_view::npos) known->second = std::max(known->second, at);
      }
    }
    return known->second > open ? name : std::string();
  }

 private:
  std::string_view text_;
  std::map<std::string, std::size_t> last_;  // where words are added last
};

// sglang.Engine(model_path="…", tp_size=2): keyword arguments as options.
void engine(std::string_view text, std::size_t open, LaunchFinder& finder) {
  std::vector<ShellWord> words;
  RunContext context{.name = "Engine"};
  const auto add = [&](std::string word, std::size_t at, std::size_t end) {
    const std::size_t length = word.size();
    words.push_back({{std::move(word), std::vector<std::size_t>(length, at), {}}, at, end});
  };
  for (std::size_t i = skip_blanks(text, open + 1); i < text.size() && text[i] != ')' && words.size() < kMostWords;) {
    const std::size_t end = expression_end(text, i);
    std::size_t name_end = i;
    while (name_end < end && shell_name_char(text[name_end])) ++name_end;
    const std::size_t equals = skip_blanks(text, name_end);
    if (name_end == i || equals >= end || text[equals] != '=' || text.substr(equals).starts_with("==")) {
      context.unknown.push_back({fmt::format("{} hands over arguments that are not known here",
                                             text.substr(i, std::min<std::size_t>(end - i, 40))),
                                 i,
                                 {}});
    } else {
      std::string option = "--" + std::string(text.substr(i, name_end - i));
      std::replace(option.begin(), option.end(), '_', '-');
      const std::size_t value = skip_blanks(text, equals + 1);
      std::string_view plain = text.substr(value, end - value);
      while (!plain.empty() && (plain.back() == ' ' || plain.back() == '\n' || plain.back() == '\r'))
        plain.remove_suffix(1);
      if (plain == "True") {
        add(option, i, name_end);
      } else if (plain != "False" && plain != "None") {
        add(option, i, name_end);
        if (plain.starts_with('[')) {
          for (ShellWord& word : list_words(text, value)) words.push_back(std::move(word));
        } else {
          words.push_back(value_at(text, value, end));
        }
      }
    }
    i = end < text.size() && text[end] == ',' ? skip_blanks(text, end + 1) : end;
    if (i == end && (end >= text.size() || text[end] != ')')) break;
  }
  finder.arguments(words, context);
}

void program_text(std::string_view text, LaunchFinder& finder) {
  std::size_t behind = 0;
  GrowingLists lists(text);
  for (const std::string_view marker : {"sglang.launch_server\"", "sglang.launch_server'"}) {
    behind = 0;
    for (auto at = text.find(marker); at != std::string_view::npos; at = text.find(marker, at + 1)) {
      if (at < behind) continue;
      const auto open = open_bracket(text, at);
      if (!open) continue;
      auto words = list_words(text, *open);
      RunContext context;
      if (const std::string name = lists.name_of(*open); !name.empty())
        context.unknown.push_back({fmt::format("{} gets more words behind its list", name), *open, {}});
      // Nomad has the program beside its arguments.
      if (!words.empty() && words.front().text == "-m") {
        words.insert(words.begin(),
                     ShellWord{{"python", {*open, *open, *open, *open, *open, *open}, {}}, *open, *open});
      }
      if (!words.empty()) behind = words.back().end;
      finder.words(words, context);
    }
  }
  for (const std::string_view marker : {"sgl.Engine(", "sglang.Engine(", "sglang.srt.entrypoints.engine.Engine("}) {
    for (auto at = text.find(marker); at != std::string_view::npos; at = text.find(marker, at + 1)) {
      engine(text, at + marker.size() - 1, finder);
    }
  }
}

}  // namespace

Result<bool> read_words(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  std::vector<ShellWord> words;
  if (text.find('\0') != std::string_view::npos) {
    for (std::size_t from = 0; from < text.size() && words.size() < kMostWords;) {
      const std::size_t end = std::min(text.find('\0', from), text.size());
      words.push_back({piece(text, from, end), from, end});
      from = end + 1;
    }
    if (words.empty() || words.front().text.find('\n') != std::string::npos)
      return failure("the command holds a NUL byte", "1:1");
  } else if (auto list = json_words(text, 0, text.size())) {
    words = std::move(*list);
  } else {
    program_text(text, finder);
    return true;
  }
  if (!words.empty() && words.front().text.starts_with("--"))
    finder.arguments(words, {});
  else
    finder.words(words, {});
  return true;
}

Result<bool> read_config(const SourceText& source, LaunchFinder& finder) {
  if (source.name.empty())
    return failure("these are options of a --config file: give the file itself, behind -- --config");
  const std::string path(source.name);
  const ShellWord option{{"--config", std::vector<std::size_t>(8, 0), {}}, 0, 0};
  const ShellWord file{{path, std::vector<std::size_t>(path.size(), 0), {}}, 0, 0};
  finder.arguments({option, file}, {});
  return true;
}

// What a running server told of itself: the values it resolved, not the words it was given.
Result<bool> read_log(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  constexpr std::string_view kMarker = "server_args=ServerArgs(";
  for (auto at = text.find(kMarker); at != std::string_view::npos; at = text.find(kMarker, at + 1)) {
    engine(text, at + kMarker.size() - 1, finder);
  }
  return true;
}

}  // namespace preflight::sources
