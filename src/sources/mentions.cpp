// Tested by tests/sources_test.cpp.
#include "src/sources/mentions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/base/ascii_case.h"
#include "src/sources/readers/python_tokens.h"

namespace preflight::sources {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"sglang.launch_server", "sglang serve", "sglang/launch_server.py"};

bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::size_t> all_mentions(std::string_view text) {
  std::vector<std::size_t> out;
  for (const std::string_view name : kNames) {
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      const std::size_t behind = at + name.size();
      const bool part_of_a_name = at > 0 && (word_char(text[at - 1]) || text[at - 1] == '.');
      if (!part_of_a_name && (behind >= text.size() || !word_char(text[behind]))) out.push_back(at);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_talk(std::string_view program) {
  constexpr std::array<std::string_view, 14> kTalk = {"echo",  "printf", "grep",    "egrep", "fgrep", "rg",    "pgrep",
                                                      "pkill", "kill",   "killall", "ps",    "cat",   "print", "which"};
  return std::find(kTalk.begin(), kTalk.end(), program) != kTalk.end() || program.starts_with("log");
}

// In a comment, or behind the name of a program that only talks, on its line.
bool in_passing(std::string_view text, std::size_t at) {
  constexpr std::size_t kFar = 1024;  // a program's name stands near
  std::string_view line = text.substr(0, at);
  if (at > kFar) line.remove_prefix(at - kFar);
  line.remove_prefix(line.rfind('\n') + 1);  // npos + 1 is 0
  bool talks = false;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t first = std::min(line.find_first_not_of(" \t('\"`", i), line.size());
    const std::size_t last = std::min(line.find_first_of(" \t(;|&`'\"", first), line.size());
    const std::string_view word = line.substr(first, last - first);
    if (word.starts_with('#') || word.starts_with("//")) return true;
    if (word.empty() && first < line.size()) talks = false;  // ; | &: another command
    talks = talks || (!word.empty() && is_talk(word));
    i = word.empty() ? first + 1 : last;
  }
  return talks;
}

// Calls whose texts are for people.
bool tells_people(std::string_view callee) {
  const auto dot = callee.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? callee : callee.substr(dot + 1);
  constexpr std::array<std::string_view, 12> kCalls = {"print", "info",      "debug",  "warning", "warn",
                                                       "error", "exception", "rprint", "echo",    "print_highlight",
                                                       "fail",  "skip"};
  return std::find(kCalls.begin(), kCalls.end(), last) != kCalls.end() || last.ends_with("Error") ||
         last.ends_with("Exception") || last.ends_with("add_argument");
}

// Names that texts for people are assigned to, and keywords that take such texts.
bool is_prose(std::string_view name) {
  constexpr std::array<std::string_view, 8> kParts = {"usage",  "help",    "doc",     "descri",
                                                      "epilog", "example", "message", "prompt"};
  const std::string lower = ascii_lower(std::string(name));
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

// The name that is called around each token, "" where there is none.
std::vector<std::string_view> callees(std::string_view text, const std::vector<PythonToken>& tokens) {
  std::vector<std::string_view> out;
  std::vector<std::string_view> open;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view word = text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
    if (tokens[i].kind == PythonToken::Kind::kSign && (word == ")" || word == "]" || word == "}") && !open.empty())
      open.pop_back();
    out.push_back(open.empty() ? std::string_view() : open.back());
    if (tokens[i].kind != PythonToken::Kind::kSign || (word != "(" && word != "[" && word != "{")) continue;
    std::size_t first = i;
    while (first > 0 &&
           (tokens[first - 1].kind == PythonToken::Kind::kName || text.substr(tokens[first - 1].begin, 1) == ".") &&
           tokens[first - 1].end == tokens[first].begin)
      --first;
    open.push_back(first == i ? std::string_view()
                              : text.substr(tokens[first].begin, tokens[i].begin - tokens[first].begin));
  }
  return out;
}

// Texts of a Python program that are statements of their own, and its comments, say nothing to a machine.
std::vector<std::size_t> in_program(std::string_view text, const std::vector<std::size_t>& mentions) {
  const auto tokens = python_tokens(text);
  const auto around = callees(text, tokens);
  std::vector<std::size_t> out;
  std::size_t i = 0;
  for (const std::size_t at : mentions) {
    while (i < tokens.size() && tokens[i].end <= at) ++i;
    if (i == tokens.size() || tokens[i].begin > at) continue;  // a comment, or behind what is understood
    const auto line = [&](std::size_t k) { return tokens[k].kind == PythonToken::Kind::kLine; };
    const bool alone = (i == 0 || line(i - 1)) && (i + 1 == tokens.size() || line(i + 1));
    const auto token = [&](std::size_t k) {
      return k < tokens.size() ? text.substr(tokens[k].begin, tokens[k].end - tokens[k].begin) : std::string_view();
    };
    const bool asked = token(i + 1) == "in" || token(i + 1) == "not" || token(i + 1) == "==";
    if (asked || (i > 1 && token(i - 1) == "=" && is_prose(token(i - 2)))) continue;
    const bool text_token =
        tokens[i].kind == PythonToken::Kind::kText || tokens[i].kind == PythonToken::Kind::kFormatText;
    if (text_token && !alone && !tells_people(around[i])) out.push_back(at);
  }
  return out;
}

// A line of a page that is a command: indented as code, or in <pre>.
bool is_code_line(std::string_view line, std::size_t mention) {
  const std::size_t first = line.find_first_not_of(" \t");
  const bool indented = first != std::string_view::npos && (first >= 4 || line.starts_with('\t'));
  constexpr std::array<std::string_view, 9> kStarts = {"python", "sglang", "$ ",    "docker ", "podman ",
                                                       "nohup ", "exec ",  "sudo ", "uv "};
  const bool command = indented && std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) {
                         return line.substr(first).starts_with(start);
                       });
  return command || line.substr(0, mention).find("<pre") != std::string_view::npos;
}

// Markdown's prose is for people.
std::vector<std::size_t> in_blocks(std::string_view text, const std::vector<std::size_t>& mentions) {
  std::vector<std::size_t> out;
  bool open = false;
  std::size_t line = 0;
  for (const std::size_t at : mentions) {
    while (line <= at) {
      const std::size_t end = std::min(text.find('\n', line), text.size());
      if (end >= at) break;
      const std::size_t first = std::min(text.find_first_not_of(" \t>", line), end);
      if (text.substr(first, 3) == "```" || text.substr(first, 3) == "~~~") open = !open;
      line = end + 1;
    }
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const bool code = line <= at && is_code_line(text.substr(line, end - line), at - line);
    if ((open || code) && !in_passing(text, at)) out.push_back(at);
  }
  return out;
}

constexpr std::array<std::string_view, 5> kServers = {"sglang.launch_server", "sglang serve", "sglang/launch_server.py",
                                                      "sglang.srt.entrypoints.http_server", "Engine("};

// Whether options follow, as words of a shell or of a list; prose and patterns of pgrep go on otherwise.
bool has_arguments(std::string_view text, std::size_t behind) {
  const std::size_t from = behind;
  while (behind < text.size()) {
    const char c = text[behind];
    const bool continued =
        c == '\\' && behind + 1 < text.size() && (text[behind + 1] == '\n' || text[behind + 1] == '\r');
    const bool between = c == ' ' || c == '\t' || c == '"' || c == '\'' || c == ',' || c == '\\';
    if (!between && !continued) break;
    behind += continued ? 2 : 1;
  }
  return behind > from && behind < text.size() && (text[behind] == '-' || text[behind] == '$');
}

// Here-documents that are comments (`: <<END`) or are shown (`cat <<END`), as places of the text.
std::vector<std::pair<std::size_t, std::size_t>> shown_documents(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t line_end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, line_end - from);
    from = line_end + 1;
    const auto sign = line.find("<<");
    if (sign == std::string_view::npos || line.substr(sign).starts_with("<<<")) continue;
    const std::size_t word = line.find_first_not_of("-~ \t'\"\\", sign + 2);
    if (word == std::string_view::npos) continue;
    const std::string_view end = line.substr(word, line.find_first_of(" \t'\";|>&)", word) - word);
    std::size_t behind = from;
    while (behind < text.size()) {
      const std::size_t next = std::min(text.find('\n', behind), text.size());
      std::string_view one = text.substr(behind, next - behind);
      one.remove_prefix(std::min(one.find_first_not_of('\t'), one.size()));
      if (one.starts_with(end) && one.find_first_not_of("\r", end.size()) == std::string_view::npos) break;
      behind = next + 1;
    }
    const std::string_view front = line.substr(0, sign);
    const std::size_t command = front.find_last_of(";&({", front.find_last_not_of(" \t"));
    const std::size_t first = front.find_first_not_of(" \t;&({", command == std::string_view::npos ? 0 : command);
    const std::string_view program = first == std::string_view::npos
                                         ? std::string_view()
                                         : front.substr(first, front.find_first_of(" \t", first) - first);
    const bool goes_on = line.find('|') != std::string_view::npos ||
                         (line.find('>') != std::string_view::npos && line.find(">&2") == std::string_view::npos);
    if ((program == "cat" || program == ":" || program == "true") && !goes_on) out.emplace_back(from, behind);
    from = behind;
  }
  return out;
}

}  // namespace

std::vector<NamedServer> servers_named_in(std::string_view text) {
  const auto shown = shown_documents(text);
  std::vector<NamedServer> out;
  for (const std::string_view name : kServers) {
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      const std::size_t behind = at + name.size();
      const bool engine = name.back() == '(';
      const bool part_of_a_name = at > 0 && (word_char(text[at - 1]) || (text[at - 1] == '.' && !engine));
      const std::string_view call = text.substr(behind, 200);
      const bool given = engine ? call.find("model_path") != std::string_view::npos || call.starts_with("**")
                                : has_arguments(text, behind);
      if (part_of_a_name || !given) continue;
      const bool in_shown =
          std::any_of(shown.begin(), shown.end(), [&](const auto& one) { return at >= one.first && at < one.second; });
      out.push_back({at, in_shown || in_passing(text, at)});
    }
  }
  std::sort(out.begin(), out.end(), [](const NamedServer& a, const NamedServer& b) { return a.at < b.at; });
  return out;
}

bool names_server(std::string_view text) { return !servers_named_in(text).empty(); }

bool mentions_launch(std::string_view text) { return !all_mentions(text).empty(); }

std::vector<std::size_t> meant_mentions(std::string_view text, FileKind kind) {
  const auto mentions = all_mentions(text);
  if (kind == FileKind::kMarkdown) return in_blocks(text, mentions);
  if (kind == FileKind::kWords && text.find("import ") != std::string_view::npos) return in_program(text, mentions);
  std::vector<std::size_t> out;
  std::copy_if(mentions.begin(), mentions.end(), std::back_inserter(out),
               [&](std::size_t at) { return !in_passing(text, at); });
  return out;
}

}  // namespace preflight::sources
