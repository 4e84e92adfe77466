// systemd units (ExecStart=, Environment=) and quadlets (Exec=, Image=). No shell reads these lines: variables are
// filled in word by word. Tested by tests/sources_test.cpp.
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

// %i and its kin are filled in by systemd.
ShellText without_specifiers(const ShellText& text) {
  ShellText out;
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    if (text.text[i] != '%' || i + 1 >= text.text.size()) {
      append(out, slice(text, i, i + 1));
    } else if (text.text[i + 1] == '%') {
      append(out, slice(text, i, i + 1));
      ++i;
    } else {
      append(out, unknown_text(fmt::format("%{} is filled in by systemd", text.text[i + 1]), text.origin[i]));
      ++i;
    }
  }
  return out;
}

}  // namespace

Result<bool> read_unit(const SourceText& source, LaunchFinder& finder) {
  const std::string_view text = source.text;
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
