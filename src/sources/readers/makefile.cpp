// Recipes of Makefiles: each line is a shell of its own, make's variables are filled in before. Tested by
// tests/sources_test.cpp.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "src/sources/readers/readers.h"

namespace preflight::sources {
namespace {

constexpr int kDeepest = 20;
constexpr std::size_t kLongest = 64 * 1024;

class Makefile {
 public:
  Makefile(const SourceText& source, LaunchFinder& finder) : source_(source), finder_(finder) {}

  Result<bool> run() {
    const std::string_view text = source_.text;
    int conditions = 0;
    for (std::size_t from = 0; from < text.size();) {
      std::size_t end = std::min(text.find('\n', from), text.size());
      const std::size_t begin = from;
      while (end < text.size() && end > begin && text[end - 1] == '\\')
        end = std::min(text.find('\n', end + 1), text.size());
      const ShellText line = piece(text, begin, end);
      from = end + 1;
      if (line.text.starts_with('\t')) {
        if (auto done = recipe(line); !done) return done;
        continue;
      }
      const std::size_t first = line.text.find_first_not_of(' ');
      if (first == std::string::npos || line.text[first] == '#') continue;
      const std::string_view rest = std::string_view(line.text).substr(first);
      if (rest.starts_with("if"))
        ++conditions;
      else if (rest.starts_with("endif"))
        conditions = std::max(0, conditions - 1);
      else if (!variable(line, conditions > 0))
        target(rest);
    }
    return true;
  }

 private:
  void target(std::string_view line) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos) target_ = line.substr(0, line.find_last_not_of(' ', colon - 1) + 1);
  }

  bool variable(const ShellText& line, bool conditional) {
    std::string_view text = line.text;
    if (text.starts_with("export ")) text.remove_prefix(7);
    const std::size_t shift = line.text.size() - text.size();
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return false;
    std::size_t name_end = equals;
    bool appends = false;
    bool weak = false;
    while (name_end > 0 && std::string_view(":?+!").find(text[name_end - 1]) != std::string_view::npos) {
      appends = appends || text[name_end - 1] == '+';
      weak = weak || text[name_end - 1] == '?';
      --name_end;
    }
    std::string name(text.substr(0, name_end));
    while (!name.empty() && name.back() == ' ') name.pop_back();
    if (name.empty() || name.find_first_of(" :\t") != std::string::npos) return false;
    const std::size_t from = line.text.find_first_not_of(" \t", shift + equals + 1);
    ShellText value = from == std::string::npos ? ShellText{} : tail(line, from);
    const std::size_t comment = value.text.find(" #");
    if (comment != std::string::npos) value = slice(value, 0, comment);
    while (!value.text.empty() && value.text.back() == ' ') value = slice(value, 0, value.text.size() - 1);
    if (conditional) {
      value = unknown_text(
          fmt::format("{} depends on a condition of the Makefile; give it with {}", name, how_to_set(name)),
          line.origin.front());
    } else if (appends && variables_.contains(name)) {
      ShellText all = variables_[name];
      append(all, {" ", {line.origin.front()}, {}});
      append(all, value);
      value = std::move(all);
    } else if (weak && variables_.contains(name)) {
      return true;
    }
    variables_.insert_or_assign(std::move(name), std::move(value));
    return true;
  }

  // $(NAME), ${NAME}, $X and $$.
  ShellText filled(const ShellText& text, int depth) {
    ShellText out;
    for (std::size_t i = 0; i < text.text.size() && out.text.size() < kLongest; ++i) {
      if (text.text[i] != '$' || i + 1 >= text.text.size()) {
        append(out, slice(text, i, i + 1));
        continue;
      }
      const char next = text.text[i + 1];
      const std::size_t at = text.origin[i];
      if (next == '$') {
        append(out, slice(text, i, i + 1));
        ++i;
        continue;
      }
      std::string name(1, next);
      std::size_t behind = i + 2;
      if (next == '(' || next == '{') {
        int open = 0;
        const char close = next == '(' ? ')' : '}';
        std::size_t end = i + 1;
        for (; end < text.text.size(); ++end) {
          if (text.text[end] == next) ++open;
          if (text.text[end] == close && --open == 0) break;
        }
        name = text.text.substr(i + 2, std::min(end, text.text.size()) - i - 2);
        behind = std::min(end, text.text.size() - 1) + 1;
      }
      const auto given = source_.given.find(name);
      const auto known = variables_.find(name);
      if (given != source_.given.end()) {
        append(out, {given->second, std::vector<std::size_t>(given->second.size(), at), {}});
      } else if (known != variables_.end() && depth < kDeepest) {
        ShellText value = filled(known->second, depth + 1);
        value.origin.assign(value.text.size(), at);
        append(out, value);
      } else {
        append(out,
               unknown_text(fmt::format("$({}) of make is not known; give it with {}", name, how_to_set(name)), at));
      }
      i = behind - 1;
    }
    return out;
  }

  Result<bool> recipe(const ShellText& line) {
    if (line.text.find("sglang") == std::string::npos && line.text.find("$(") == std::string::npos) return true;
    std::size_t from = line.text.find_first_not_of("\t @-+");
    if (from == std::string::npos) return true;
    return finder_.script(filled(tail(line, from), 0), {.name = target_});
  }

  const SourceText& source_;
  LaunchFinder& finder_;
  std::string target_;
  Values variables_;
};

}  // namespace

Result<bool> read_makefile(const SourceText& source, LaunchFinder& finder) { return Makefile(source, finder).run(); }

}  // namespace preflight::sources
