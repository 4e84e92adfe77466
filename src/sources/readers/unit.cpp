// systemd units (ExecStart=, Environment=), quadlets (Exec=, Image=) and supervisor's programs. No shell reads these
// lines: variables are filled in word by word. Tested by tests/sources_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/container_command.h"
#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

// A line with those that it is continued on; `next` is where the following one begins.
ShellText whole_line(std::string_view text, std::size_t from, std::size_t& next) {
  ShellText out;
  for (;;) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::size_t last = end;
    while (last > from && (text[last - 1] == '\r' || text[last - 1] == ' ' || text[last - 1] == '\t')) --last;
    const auto first = text.find_first_not_of(" \t", from);
    const bool comment = !out.text.empty() && first < end && (text[first] == '#' || text[first] == ';');
    const bool continued = last > from && text[last - 1] == '\\';
    if (!comment) append(out, piece(text, from, continued ? last - 1 : last));
    next = end + 1;
    if ((!continued && !comment) || end == text.size()) return out;
    if (!comment) append(out, {" ", {last - 1}, {}});
    from = next;
  }
}

// %i and its kin are filled in by systemd, %(NAME)s by supervisor.
ShellText without_specifiers(const ShellText& text, std::string_view who = "systemd") {
  ShellText out;
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    if (text.text[i] != '%' || i + 1 >= text.text.size()) {
      append(out, slice(text, i, i + 1));
    } else if (text.text[i + 1] == '%') {
      append(out, slice(text, i, i + 1));
      ++i;
    } else {
      const bool named = text.text[i + 1] == '(';
      const std::size_t close = named ? std::min(text.text.find(')', i), text.text.size() - 1) : i + 1;
      append(out, unknown_text(fmt::format("{} is filled in by {}", text.text.substr(i, close + 1 - i), who),
                               text.origin[i]));
      i = named && text.text.substr(close).starts_with(")s") ? close + 1 : close;
    }
  }
  return out;
}

// K="V",K2='V 2': what supervisor puts into a program's environment.
void supervised_environment(const ShellText& value, Values& env) {
  ShellText plain = value;
  char quote = '\0';
  for (char& c : plain.text) {
    if (quote == '\0' && c == ',')
      c = ' ';
    else if (c == quote)
      quote = '\0';
    else if (quote == '\0' && (c == '"' || c == '\''))
      quote = c;
  }
  for (const ShellWord& word : plain_words(plain)) assign(word, env);
}

// [program:NAME] of supervisor: no shell, and %(NAME)s is filled in by it.
void read_supervised(std::string_view text, LaunchFinder& finder) {
  RunContext context;
  ShellText command;
  const auto start = [&] {
    if (!command.text.empty()) finder.words(plain_words(command), context);
    command = {};
    context = {};
  };
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = std::min(text.find('\n', from), text.size());
    while (end + 1 < text.size() && (text[end + 1] == ' ' || text[end + 1] == '\t'))  // goes on where it is indented
      end = std::min(text.find('\n', end + 1), text.size());
    ShellText line = piece(text, from, end);
    from = end + 1;
    if (line.text.starts_with('[')) {
      start();
      if (line.text.starts_with("[program:")) context.name = line.text.substr(9, line.text.find(']') - 9);
    }
    if (const auto comment = line.text.find(" ;"); comment != std::string::npos) line = slice(line, 0, comment);
    const auto equals = line.text.find('=');
    if (equals == std::string::npos || line.text[0] == ';' || line.text[0] == '#') continue;
    const std::string key = line.text.substr(0, line.text.find_last_not_of(" \t", equals - 1) + 1);
    const ShellText value = without_specifiers(tail(line, equals + 1), "supervisor");
    if (key == "command" && !context.name.empty()) command = value;
    if (key == "environment") supervised_environment(value, context.env);
  }
  start();
}

}  // namespace

Result<bool> read_unit(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
  if (text.find("[program:") != std::string_view::npos) {
    read_supervised(text, finder);
    return true;
  }
  RunContext context;
  std::vector<ShellText> starts;
  bool container = false;
  ShellText overrides;  // a file of variables, which wins over Environment=
  for (std::size_t from = 0; from < text.size();) {
    std::size_t next = 0;
    const ShellText line = whole_line(text, from, next);
    from = next;
    if (line.text.starts_with('[')) container = line.text.starts_with("[Container]");
    const auto equals = line.text.find('=');
    if (equals == std::string::npos || line.text[0] == '#' || line.text[0] == ';') continue;
    const std::string key = line.text.substr(0, line.text.find_last_not_of(" \t", equals - 1) + 1);
    const ShellText value = without_specifiers(tail(line, equals + 1));
    if (key == "Environment") {
      for (const ShellWord& word : plain_words(value)) assign(word, context.env);
    } else if (key == "EnvironmentFile") {
      overrides = value;
      finder.note({"SH002", fmt::format("EnvironmentFile {} is not read: what it sets is not known", value.text),
                   line.origin.front()});
    } else if (key == "ExecStart" || (container && key == "Exec")) {
      if (value.text.find_first_not_of(" \t") == std::string::npos)
        starts.clear();
      else
        starts.push_back(value);
    } else if (key == "Image") {
      context.image = value.text;
    } else if (key == "Description") {
      context.name = value.text;
    }
  }
  if (!overrides.text.empty()) {
    for (auto& [name, value] : context.env) {
      value = unknown_text(
          fmt::format("{} may be set by EnvironmentFile {}; give it with {}", name, overrides.text, how_to_set(name)),
          overrides.origin.front());
    }
  }
  for (const ShellText& start : starts) {
    std::size_t skip = start.text.find_first_not_of(" \t");
    while (skip < start.text.size() && std::string_view("@-:+!").find(start.text[skip]) != std::string_view::npos)
      ++skip;
    std::vector<ShellWord> words;
    for (const ShellWord& word : plain_words(tail(start, skip))) {
      auto filled = interpolate(word, Interpolation::kCompose, text, source.given, context.env);
      if (!filled) return tl::make_unexpected(filled.error());
      const bool splits = word.text.starts_with('$') && word.text.find_first_of("{$", 1) == std::string::npos;
      if (!splits) {
        words.push_back(std::move(*filled));
      } else {
        for (ShellWord& one : plain_words(*filled)) words.push_back(std::move(one));
      }
    }
    if (!words.empty() && container && words.front().text.starts_with("--")) {
      context.unknown.push_back(
          {"the image's own entry point takes these words, and nobody knows here what it is", words.front().begin, {}});
      finder.arguments(words, context);
    } else {
      finder.words(words, context);
    }
  }
  return true;
}

}  // namespace preflight::sources
