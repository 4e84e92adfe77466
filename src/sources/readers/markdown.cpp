// Code blocks of Markdown and of reStructuredText: shells' and those that hold a file. Tested by
// tests/sources_test.cpp.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/sources/mentions.h"
#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

struct Language {
  std::string_view word;
  std::string_view file;  // a name whose reader reads it; empty: by its text
};
constexpr std::array<Language, 34> kLanguages = {{{"bash", "a.sh"},
                                                  {"sh", "a.sh"},
                                                  {"shell", "a.sh"},
                                                  {"console", "a.sh"},
                                                  {"zsh", "a.sh"},
                                                  {"terminal", "a.sh"},
                                                  {"cmd", "a.sh"},
                                                  {"commandline", "a.sh"},
                                                  {"", ""},
                                                  {"text", ""},
                                                  {"txt", ""},
                                                  {"plaintext", ""},
                                                  {"yaml", "a.yaml"},
                                                  {"yml", "a.yaml"},
                                                  {"py", "a.py"},
                                                  {"python", "a.py"},
                                                  {"python3", "a.py"},
                                                  {"json", "a.json"},
                                                  {"jsonc", "a.json"},
                                                  {"dockerfile", "Dockerfile"},
                                                  {"docker", "Dockerfile"},
                                                  {"containerfile", "Dockerfile"},
                                                  {"makefile", "Makefile"},
                                                  {"make", "Makefile"},
                                                  {"ini", ""},
                                                  {"systemd", ""},
                                                  {"service", ""},
                                                  {"conf", ""},
                                                  {"hcl", "a.hcl"},
                                                  {"nomad", "a.hcl"},
                                                  {"just", "justfile"},
                                                  {"justfile", "justfile"},
                                                  {"procfile", "Procfile"},
                                                  {"log", ""}}};

// The first word of what stands behind a fence, in small letters: "```Bash title=…", "```{code-block} bash".
std::string language_of(std::string_view info) {
  std::string out;
  for (const char c : info) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+';
    if (!word && (c != '-' || out.empty())) {
      if (out.empty() && c != '{' && c != '.' && c != ' ') break;
      if (out == "code-block" || out == "code" || out == "code-cell" || out == "sourcecode") {
        out.clear();
        continue;
      }
      if (!out.empty()) break;
      continue;
    }
    if (!(out.empty() && c == '}')) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::optional<FileKind> kind_of_block(const std::string& language, std::string_view text) {
  if (language.starts_with("bash") || language.starts_with("shell") || language.starts_with("sh-"))
    return FileKind::kShell;
  if (language == "cmd" && text.find("^\n") != std::string_view::npos) return std::nullopt;  // of Windows
  for (const Language& one : kLanguages) {
    if (one.word == language) return kind_of(text, one.file);
  }
  return std::nullopt;
}

// Of how many bytes the prompt at a line's beginning is: "$ ", "user@host:~$ ", "(venv) user@host:/srv# ".
std::size_t prompt_of(std::string_view line) {
  if (line.starts_with("$ ")) return 2;
  std::size_t from = 0;
  if (line.starts_with('(')) from = std::min(line.find(") "), line.size() - 2) + 2;
  if (from > 0 && line.substr(from).starts_with("$ ")) return from + 2;
  if (const auto close = line.find(']', from); line.substr(from).starts_with('[') && close != line.npos) {
    const std::string_view place = line.substr(from, close - from);  // "[user@host srv]$ "
    const std::string_view sign = line.substr(close + 1, 2);
    if (place.find('@') != place.npos && (sign == "$ " || sign == "# ")) return close + 3;
  }
  for (const std::string_view shell : {"bash-", "sh-"}) {  // "bash-5.1$ "
    const auto sign = line.find_first_not_of("0123456789.", from + shell.size());
    const bool begins = line.substr(from).starts_with(shell) && sign != line.npos;
    if (begins && (line.substr(sign, 2) == "$ " || line.substr(sign, 2) == "# ")) return sign + 2;
  }
  const auto sign = line.find_first_of("$#", from);
  const auto host = line.find('@', from);
  if (sign == std::string_view::npos || host == std::string_view::npos || host > sign || host == from) return 0;
  const bool apart = sign + 1 < line.size() && line[sign + 1] == ' ';
  const std::string_view front = line.substr(from, sign - from);
  return apart && front.find_first_of(" \t='\"") == std::string_view::npos ? sign + 2 : 0;
}

// Without the prompts in front of commands; where such stand, other lines are what was printed.
ShellText without_prompts(const ShellText& block) {
  const auto line_at = [&](std::size_t from) {
    const std::size_t end = std::min(block.text.find('\n', from), block.text.size());
    return std::string_view(block.text).substr(from, end - from);
  };
  bool prompts = false;
  for (std::size_t from = 0; from < block.text.size(); from += line_at(from).size() + 1)
    prompts = prompts || prompt_of(line_at(from)) > 0;
  if (!prompts) return block;
  ShellText out;
  bool continued = false;
  for (std::size_t from = 0; from < block.text.size();) {
    const std::size_t end = std::min(block.text.find('\n', from), block.text.size() - 1) + 1;
    const std::size_t first = prompt_of(line_at(from));
    const bool command = first > 0;
    const bool second = continued && block.text.compare(from, 1, ">") == 0;  // the prompt of a line that goes on
    const std::size_t prompt = command ? first : second ? (block.text.compare(from, 2, "> ") == 0 ? 2 : 1) : 0;
    if (command || continued) append(out, slice(block, from + prompt, end));
    continued = (command || continued) && end >= 2 && block.text[end - 1] == '\n' && block.text[end - 2] == '\\';
    from = end;
  }
  return out;
}

// Lines from `from` to `to` without the indentation and the ">" of a quotation that the block's fence has.
ShellText block_text(std::string_view text, std::size_t from, std::size_t to, std::size_t indent) {
  if (indent == 0) return piece(text, from, to);
  ShellText out;
  for (std::size_t line = from; line < to;) {
    const std::size_t end = std::min(text.find('\n', line), to - 1) + 1;
    std::size_t begin = line;
    while (begin < end && begin < line + indent && (text[begin] == ' ' || text[begin] == '\t' || text[begin] == '>'))
      ++begin;
    append(out, piece(text, begin, end));
    line = end;
  }
  return out;
}

constexpr std::string_view kLogged = "server_args=ServerArgs(";

// A line of a server's log: its time stands in front, or what it was started with.
bool begins_log(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto dated = [](std::string_view from) { return from.starts_with("[20") || from.starts_with("20"); };
  return dated(line) || dated(line.substr(std::min(line.find_first_not_of("> \t"), line.size()))) ||
         line.find(kLogged) != std::string_view::npos;
}

// Collects blocks, one after another.
class Blocks {
 public:
  Blocks(const SourceText& source, LaunchFinder& finder) : source_(source), finder_(finder) {}

  void take(std::size_t from, std::size_t to, std::size_t indent, const std::string& language,
            const std::string& heading) {
    if (from >= to || finder_.error()) return;
    const std::string_view raw = source_.text.substr(from, to - from);
    const bool logged = raw.find(kLogged) != std::string_view::npos;
    if (!logged && raw.find("sglang") == std::string_view::npos && raw.find("sgl.") == std::string_view::npos) return;
    const ShellText block = block_text(source_.text, from, to, indent);
    if (logged && !language.starts_with("py")) return take_log(block, from, language, heading);
    take_text(block, from, indent, language, heading);
  }

 private:
  // What was typed stands in front of what the server logged.
  void take_log(const ShellText& block, std::size_t from, const std::string& language, const std::string& heading) {
    std::size_t first = 0;
    while (first < block.text.size() && !begins_log(std::string_view(block.text).substr(first)))
      first = std::min(block.text.find('\n', first), block.text.size() - 1) + 1;
    if (first > 0) take_text(slice(block, 0, first), from, 1, language, heading);
    tell(read_part(tail(block, first), FileKind::kLog, heading, source_, finder_), from);
  }

  void take_text(const ShellText& block, std::size_t from, std::size_t indent, const std::string& language,
                 const std::string& heading) {
    const auto kind = kind_of_block(language, block.text);
    if (!kind || *kind == FileKind::kMarkdown || *kind == FileKind::kOther) return;
    const bool shell = *kind == FileKind::kShell;
    auto done = shell && indent == 0
                    ? finder_.script(without_prompts(block), {.name = heading})
                    : read_part(shell ? without_prompts(block) : block, *kind, heading, source_, finder_);
    tell(done, names_server(block.text) ? from : std::string_view::npos);
  }

  // A block in which no launch is named is a text of something else.
  void tell(const Result<bool>& done, std::size_t from) {
    if (!done && from != std::string_view::npos)
      finder_.note({.rule = "SH002",
                    .message = fmt::format("a code block is not understood: {}", done.error().text()),
                    .offset = from,
                    .why_unread = true});
  }

  const SourceText& source_;
  LaunchFinder& finder_;
};

}  // namespace

namespace {

bool has_fence(std::string_view block) {
  for (std::size_t from = 0; from < block.size();) {
    const std::size_t end = std::min(block.find('\n', from), block.size());
    const std::string_view line = block.substr(std::min(block.find_first_not_of(" \t", from), end));
    if (line.starts_with("```") || line.starts_with("~~~")) return true;
    from = end + 1;
  }
  return false;
}

// Lines that are indented as code is, behind an empty line and outside a list; 0 where none begin at `from`.
std::size_t behind_indented(std::string_view text, std::size_t from) {
  std::size_t behind = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    const bool empty = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (!empty && !line.starts_with("    ") && !line.starts_with('\t')) break;
    from = std::min(end + 1, text.size());
    if (!empty) behind = from;
  }
  return behind;
}

bool is_list_item(std::string_view line) {
  const std::size_t digits = line.find_first_not_of("0123456789");
  const bool numbered = digits != 0 && digits != std::string_view::npos && (line[digits] == '.' || line[digits] == ')');
  return numbered || line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ");
}

// <pre>, on a line of its own or in front of its first one: code, as long as nothing in it is HTML, too.
struct Preformatted {
  std::size_t begin;
  std::size_t end;
  std::size_t behind;
  bool plain;
};

std::optional<Preformatted> preformatted_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kClose = "</pre>";
  if (text.substr(at, 4) != "<pre" || text.substr(at + 4).find_first_of(" >") != 0) return std::nullopt;
  std::size_t begin = text.find('>', at);
  const std::size_t close = text.find(kClose, at);
  if (close == std::string_view::npos || begin > close) return std::nullopt;
  ++begin;
  const std::size_t line = std::min(text.find('\n', close), text.size());
  constexpr std::string_view kCode = "<code>";
  std::size_t end = close;
  if (text.substr(begin).starts_with(kCode) && text.substr(begin, close - begin).ends_with("</code>")) {
    begin += kCode.size();
    end -= kCode.size() + 1;
  }
  if (begin < end && text[begin] == '\n') ++begin;
  const bool plain = text.substr(begin, end - begin).find_first_of("<&") == std::string_view::npos;
  return Preformatted{begin, std::max(begin, end), std::min(line + 1, text.size()), plain};
}

}  // namespace

Result<bool> read_markdown(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  Blocks blocks(source, finder);
  std::size_t open = std::string_view::npos;
  std::size_t indent = 0;
  std::string_view fence;
  std::string language;
  std::string heading;
  bool listed = false;  // in a list, whose text is indented too
  bool behind_empty = true;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::size_t begin = std::min(text.find_first_not_of(" \t>", from), end);
    const bool empty = text.find_first_not_of(" \t\r", from) >= end;
    if (open == std::string_view::npos && text.substr(begin, 4) == "<!--") {  // nobody sees what stands in it
      const std::size_t behind = text.find("-->", begin + 4);
      const std::size_t last = std::min(text.find('\n', std::min(behind, text.size())), text.size());
      finder.account(piece(text, begin, last));
      from = last + 1;
      continue;
    }
    if (const auto block = open == std::string_view::npos ? preformatted_at(text, begin) : std::nullopt) {
      if (block->plain) {
        blocks.take(block->begin, block->end, 0, "", heading);
      } else if (text.substr(block->begin, block->end - block->begin).find("sglang") != std::string_view::npos) {
        finder.note({"SH004",
                     "what stands in <pre> names a launch and has HTML in it, which is not read: give the command",
                     block->begin});
      }
      from = block->behind;
      continue;
    }
    if (open == std::string_view::npos && !empty && begin == from)
      listed = is_list_item(text.substr(from, end - from)) || (listed && !behind_empty);
    if (open == std::string_view::npos && behind_empty && !listed && !empty) {
      const std::size_t behind = behind_indented(text, from);
      listed = behind > from && has_fence(text.substr(from, behind - from));  // a tab's text, or a note's
      if (behind > from && !listed) {
        blocks.take(from, behind, text[from] == '\t' ? 1 : 4, "", heading);
        from = behind;
        continue;
      }
    }
    behind_empty = empty;
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t ticks = std::min(line.find_first_not_of(line.starts_with('~') ? '~' : '`'), line.size());
    const bool fenced = ticks >= 3 && (line[0] == '`' || line[0] == '~');
    if (open == std::string_view::npos && fenced) {
      fence = line.substr(0, ticks);
      language = language_of(line.substr(ticks));
      indent = begin - from;
      open = std::min(end + 1, text.size());
    } else if (open != std::string_view::npos && fenced && line.starts_with(fence) &&
               line.find_first_not_of(" \t\r", ticks) == std::string_view::npos) {
      blocks.take(open, from, indent, language, heading);
      open = std::string_view::npos;
    } else if (open == std::string_view::npos && line.starts_with('[') && begins_log(line) &&
               line.find(kLogged) != std::string_view::npos) {
      blocks.take(from, std::min(end + 1, text.size()), begin - from, "log", heading);
    } else if (open == std::string_view::npos && line.starts_with('#')) {
      heading = line.substr(std::min(line.find_first_not_of("# "), line.size()));
    }
    from = end + 1;
  }
  return true;
}

// ".. code-block:: bash", and the lines behind it that are indented deeper.
Result<bool> read_restructured(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  Blocks blocks(source, finder);
  std::string heading;
  const auto blanks = [&](std::size_t from, std::size_t end) {
    return std::min(text.find_first_not_of(" \t\r", from), end) - from;
  };
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = std::min(text.find('\n', from), text.size());
    const std::size_t indent = blanks(from, end);
    const std::string_view line = text.substr(from + indent, end - from - indent);
    const bool ruled = line.size() > 2 && line.find_first_not_of(line[0]) == std::string_view::npos &&
                       std::string_view("=-~^\"'`#*+").find(line[0]) != std::string_view::npos;
    if (!ruled && indent == 0 && !line.empty() && !line.starts_with("..")) heading = line;
    const auto directive = line.find("::");
    const bool code = line.starts_with(".. code") || line.starts_with(".. sourcecode") || line.starts_with(".. tab");
    const bool literal = !line.starts_with("..") && line.substr(0, line.find_last_not_of(" \r") + 1).ends_with("::");
    from = end + 1;
    if ((!code || directive == std::string_view::npos) && !literal) continue;
    const std::string language = literal ? std::string() : language_of(line.substr(directive + 2));
    std::size_t first = 0;
    std::size_t deep = 0;
    std::size_t to = from;
    while (from < text.size()) {
      end = std::min(text.find('\n', from), text.size());
      const std::size_t here = blanks(from, end);
      const bool empty = from + here == end;
      if (!empty && here <= indent) break;
      const bool option = first == 0 && text[std::min(from + here, text.size() - 1)] == ':';
      if (!empty && first == 0 && !option) {
        first = from;
        deep = here;
      }
      from = end + 1;
      if (!empty) to = std::min(from, text.size());
    }
    if (first != 0 && !line.starts_with(".. tab")) blocks.take(first, to, deep, language, heading);
    if (line.starts_with(".. tab")) from = first == 0 ? from : first;
  }
  return true;
}

}  // namespace preflight::sources
