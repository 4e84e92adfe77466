// Tested by tests/sources_test.cpp (tests/data/sources/shell.txt).
#include "src/sources/typed_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/base/listed.h"
#include "src/sources/container_command.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kOptionsOfTmux = "SLfcT";  // with a value
constexpr std::string_view kStarts =
    "new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw";
constexpr std::string_view kOptionsOfStart = "snctxyFelp";

// Index of the first word behind options, of which those with a letter of `valued` take a value, which `on` gets.
template <class On>
std::size_t behind_options(const std::vector<ShellWord>& words, std::size_t i, std::string_view valued, const On& on) {
  for (; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "--") return i + 1;
    if (w.size() < 2 || w[0] != '-') return i;
    const std::size_t letter = w.find_first_of(valued, 1);
    if (letter == std::string::npos) continue;
    if (letter + 1 < w.size())
      on(w[letter], ShellWord{tail(words[i], letter + 1), words[i].begin, words[i].end});
    else if (i + 1 < words.size())
      on(w[letter], words[++i]);
  }
  return i;
}

// Where the command of words[at], tmux, stands.
std::size_t verb_of_tmux(const std::vector<ShellWord>& words, std::size_t at) {
  return behind_options(words, at + 1, kOptionsOfTmux, [](char, const ShellWord&) {});
}

// A key that ends a line, or what stands for one.
bool is_line_end(std::string_view key) { return is_among("Enter ENTER KPEnter C-m C-j C-c C-d C-M C-J", key); }

void put_key(const ShellWord& key, bool literal, ShellText& out) {
  if (!literal && key.unknowns.empty() && is_line_end(key.text))
    append(out, {"\n", {key.begin}, {}});
  else if (!literal && key.text == "Space")
    append(out, {" ", {key.begin}, {}});
  else if (!literal && key.text == "Tab")
    append(out, {"\t", {key.begin}, {}});
  else
    append(out, key);
}

void name_pane(const ShellWord& name, TypedText& out) {
  out.pane = name.text;
  if (!name.unknowns.empty()) out.why = name.unknowns.front();
}

std::optional<TypedText> typed_by_tmux(const std::vector<ShellWord>& words, std::size_t at) {
  std::size_t i = verb_of_tmux(words, at);
  if (i >= words.size() || (words[i].text != "send-keys" && words[i].text != "send")) return std::nullopt;
  TypedText out;
  bool literal = false;
  const std::size_t first = i + 1;
  i = behind_options(words, first, "tNc", [&](char letter, const ShellWord& value) {
    if (letter == 't') name_pane(value, out);
  });
  for (std::size_t k = first; k < i; ++k) literal = literal || words[k].text == "-l";
  for (; i < words.size(); ++i) put_key(words[i], literal, out.text);
  return out;
}

// What `stuff` takes for other characters: ^M, \n, \015.
ShellText stuffed(const ShellWord& word) {
  constexpr auto kEnds = std::to_array<std::string_view>({"^M", "^J", "\\n", "\\r", "\\015", "\\012", "\r"});
  ShellText out;
  for (std::size_t i = 0; i < word.text.size();) {
    const auto* const end = std::ranges::find_if(
        kEnds, [&](std::string_view one) { return std::string_view(word.text).substr(i).starts_with(one); });
    if (end == kEnds.end()) {
      append(out, slice(word, i, i + 1));
      ++i;
    } else {
      append(out, {"\n", {word.origin.empty() ? word.begin : word.origin[i]}, {}});
      i += end->size();
    }
  }
  return out;
}

std::optional<TypedText> typed_by_screen(const std::vector<ShellWord>& words, std::size_t at) {
  TypedText out;
  ShellWord session;
  ShellWord window;
  std::size_t i = at + 1;
  for (; i < words.size() && words[i].text != "-X"; ++i) {
    const std::string& w = words[i].text;
    if ((w != "-S" && w != "-p" && w != "-r" && w != "-x") || i + 1 >= words.size()) continue;
    if (w == "-p")
      window = words[i + 1];
    else if (!words[i + 1].text.starts_with('-'))
      session = words[i + 1];
  }
  if (i + 2 >= words.size() || words[i + 1].text != "stuff") return std::nullopt;
  ShellText name = session;
  if (!window.text.empty()) {
    append(name, {":", {window.begin}, {}});
    append(name, window);
  }
  name_pane({name, session.begin, session.end}, out);
  out.text = stuffed(words[i + 2]);
  return out;
}

// "sgl", "sgl:0" and "sgl:0.1" may name one pane.
std::string_view session_of(std::string_view pane) { return pane.substr(0, pane.find(':')); }

bool names_pane_itself(std::string_view pane) {
  const auto dot = pane.rfind('.');
  return pane.starts_with('%') || (dot != std::string_view::npos && dot + 1 < pane.size());
}

// What all panes of a session have stands under its name and a colon.
bool is_session(std::string_view name) { return name.ends_with(':'); }

// What a command that makes panes, or goes to another one, says of them.
struct Moved {
  std::string target;
  std::string session;
  bool sets = false;   // variables
  bool stays = false;  // at the pane that is typed into
};

Moved moved_by(const std::vector<ShellWord>& words, std::size_t verb) {
  Moved out;
  const std::string_view valued = is_among(kStarts, words[verb].text) ? kOptionsOfStart : "tcneFlpbs";
  const std::size_t end = behind_options(words, verb + 1, valued, [&](char letter, const ShellWord& value) {
    if (letter == 't') out.target = value.text;
    if (letter == 's') out.session = value.text;
    out.sets = out.sets || letter == 'e';
  });
  for (std::size_t i = verb + 1; i < end; ++i) out.stays = out.stays || words[i].text == "-d";
  return out;
}

// Whether what is typed may leave the shell other variables.
bool may_set(std::string_view text) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"export", "source ", ". ", "set -a", "declare -x", "setenv"});
  return std::ranges::any_of(kWords, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

std::optional<TypedText> typed_text(const std::vector<ShellWord>& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  if (name == "tmux") return typed_by_tmux(words, at);
  return name == "screen" ? typed_by_screen(words, at) : std::nullopt;
}

std::vector<std::vector<ShellWord>> commands_of_tmux(const std::vector<ShellWord>& words, std::size_t at) {
  std::vector<std::vector<ShellWord>> out;
  if (base_name(words[at].text) != "tmux") return out;
  const std::size_t verb = verb_of_tmux(words, at);
  const auto ends = [](const ShellWord& word) { return word.text == ";" && word.unknowns.empty(); };
  const auto from = words.begin() + static_cast<std::ptrdiff_t>(std::min(verb, words.size()));
  if (std::none_of(from, words.end(), ends)) {
    const std::size_t first = verb < words.size() && is_among(kStarts, words[verb].text)
                                  ? behind_options(words, verb + 1, kOptionsOfStart, [](char, const ShellWord&) {})
                                  : words.size();
    if (first + 1 >= words.size()) return out;
    out.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());  // which no shell reads
    for (std::size_t i = verb; i + 1 < first; ++i) {
      if (words[i].text != "-e") continue;
      out.front().insert(out.front().begin(), words[i + 1]);
      out.front().insert(out.front().begin(), {{"env", {words[at].begin}, {}}, words[at].begin, words[at].begin});
    }
    return out;
  }
  for (auto begin = from;;) {
    const auto end = std::find_if(begin, words.end(), ends);
    if (begin != end) {
      out.emplace_back(1, words[at]);
      out.back().insert(out.back().end(), begin, end);
    }
    if (end == words.end()) return out;
    begin = end + 1;
  }
}

Panes::Pane& Panes::type(const TypedText& typed) {
  Pane& pane = panes_[typed.pane];
  for (const auto& [name, other] : panes_) {
    const bool two = names_pane_itself(name) && names_pane_itself(typed.pane);
    if (name == typed.pane || two || pane.why || !(is_session(name) || may_set(other.text.text))) continue;
    if (!typed.why && session_of(name) != session_of(typed.pane)) continue;
    if (is_session(name)) {
      pane.why = other.why;
      continue;
    }
    pane.why = Unknown{0, fmt::format("may be set by what is typed into \"{}\", which may be the same shell", name),
                       other.text.origin.empty() ? 0 : other.text.origin.front()};
  }
  append(pane.text, typed.text);
  return pane;
}

void Panes::move(const std::vector<ShellWord>& words, std::size_t at) {
  if (base_name(words[at].text) != "tmux") return;
  const std::size_t verb = verb_of_tmux(words, at);
  if (verb >= words.size()) return;
  constexpr std::string_view kWindow = "new-window neww";
  constexpr std::string_view kPane = "split-window splitw";
  constexpr std::string_view kOther =
      "select-window selectw select-pane selectp last-pane last-window next-window next previous-window prev swap-pane "
      "swapp rotate-window break-pane join-pane respawn-pane respawn-window kill-pane killp kill-window killw";
  const Moved moved = moved_by(words, verb);
  if (moved.sets) {
    const std::string_view session = session_of(moved.session.empty() ? moved.target : moved.session);
    const std::string why = fmt::format("may be set by -e of `tmux {}`", words[verb].text);
    panes_[std::string(session) + ":"].why = Unknown{0, why, words[verb].begin};
  }
  const bool window = is_among(kWindow, words[verb].text);
  const bool fresh = window || is_among(kPane, words[verb].text);
  if (!fresh && !is_among(kOther, words[verb].text)) return;
  if (fresh && moved.stays) return;
  for (auto& [name, pane] : panes_) {
    const bool another = !moved.target.empty() && session_of(moved.target) != session_of(name);
    if (another || names_pane_itself(name) || is_session(name)) continue;
    const bool of_window = name.find(':') != std::string::npos;
    if (window && of_window) continue;
    if (fresh && !of_window && !moved.target.empty()) {  // a shell in which nothing was typed
      pane = Pane{};
    } else if (may_set(pane.text.text)) {
      const std::string why = fmt::format("may be set by what was typed before `tmux {}`", words[verb].text);
      pane = Pane{.why = Unknown{0, why, words[verb].begin}};
    }
  }
}

}  // namespace preflight::sources
