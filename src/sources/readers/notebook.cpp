// Jupyter notebooks: their code cells are one Python program, in which lines with "!" are commands of a shell and
// "%%bash" makes a script of a cell; cells of text are pages, whose code blocks are for a terminal. Tested by
// tests/sources_test.cpp.
#include <algorithm>
#include <cctype>
#include <functional>

#include <fmt/format.h>

#include "src/base/limits.h"
#include "src/sources/mentions.h"
#include "src/sources/program/follower.h"
#include "src/sources/readers/readers.h"
#include "src/sources/yaml_tree.h"

namespace preflight::sources {
namespace {

using python::YamlNode;

struct Cell {
  std::size_t number = 0;  // from 1, code cells and others alike
  ShellText text;
};

std::string label(std::size_t number) { return fmt::format("cell {}", number); }

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// A cell of one line that begins with the name of a magic, which may stand without its sign there and nowhere else.
bool is_bare_magic(std::string_view text) {
  constexpr auto kNames = std::to_array<std::string_view>({"pip", "conda", "mamba", "uv",  "cd",   "ls",      "ll",
                                                           "pwd", "mkdir", "rmdir", "cat", "cp",   "mv",      "rm",
                                                           "man", "less",  "more",  "who", "whos", "load_ext"});
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::string_view word = text.substr(0, text.find(' '));
  const std::string_view rest = text.substr(std::min(word.size() + 1, text.size()));
  const bool operates = !rest.empty() && std::string_view("=(.,[+*/%<>!&|^").find(rest.front()) != rest.npos &&
                        !rest.starts_with("./") && !rest.starts_with("..") && !rest.starts_with('/');
  return text.find('\n') == text.npos && std::ranges::find(kNames, word) != kNames.end() && !operates;
}

// A page with a code block that may hold a launch.
bool shows_code(const YamlNode& text) {
  const auto says = [&](std::string_view part) {
    if (!is_list(&text)) return text.text.find(part) != std::string::npos;
    return std::ranges::any_of(text.items,
                               [&](const YamlNode* line) { return line->text.find(part) != line->text.npos; });
  };
  return says("sglang") && (says("```") || says("~~~"));
}

// What a cell's first line makes of it: "%%bash" and its kin.
struct Magic {
  std::string word;
  std::string rest;
};
std::optional<Magic> magic_of(std::string_view text) {
  if (!text.starts_with("%%")) return std::nullopt;
  std::string_view line = first_line(text).substr(2);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  const auto blank = std::min(line.find(' '), line.size());
  const auto behind = std::min(line.find_first_not_of(' ', blank), line.size());
  return Magic{std::string(line.substr(0, blank)), std::string(line.substr(behind))};
}

class Notebook {
 public:
  Notebook(const SourceText& source, LaunchFinder& finder) : source_(source), finder_(finder) {}

  Result<bool> run() {
    const std::string plain = plain_json(source_.text);
    auto tree = YamlTree::read(plain);
    if (!tree) return tl::make_unexpected(tree.error());
    for (std::size_t from = 0; from < plain.size();) {
      const std::size_t end = std::min(plain.find('\n', from), plain.size());
      longest_ = std::max(longest_, end - from);
      from = end + 1;
    }
    for (const YamlNode* root : tree->documents()) {
      tree->enter(*root);
      collect(*tree, *root);
    }
    if (places_ > limits::kCellPlaces)
      return failure("this notebook has too many lines of code on one line of its file: save it with line breaks");
    for (Cell& cell : cells_) {
      if (auto done = take(cell); !done) return done;
    }
    if (auto done = run_program(); !done) return done;
    for (const auto& [name, text] : files_) {
      if (auto done = read_part(text, kind_of(text.text, name), name, source_, finder_); !done) return done;
    }
    for (const Cell& page : pages_) {
      if (auto done = read_part(page.text, FileKind::kMarkdown, label(page.number), source_, finder_); !done)
        return done;
    }
    return true;
  }

 private:
  void collect(const YamlTree& tree, const YamlNode& root) {
    const YamlNode* cells = is_map(&root) ? value_of(root, "cells") : nullptr;
    if (!is_list(cells)) return;
    std::size_t number = 0;
    for (const YamlNode* node : cells->items) {
      if (++number > limits::kCells) return;
      const YamlNode* text = is_map(node) ? value_of(*node, "source") : nullptr;
      const bool code = text != nullptr && text_of(*node, "cell_type") == "code";
      const bool page = text != nullptr && text_of(*node, "cell_type") == "markdown" && shows_code(*text);
      if (!code && !page) continue;
      const std::size_t places = longest_ * (is_list(text) ? text->items.size() : 1);
      if (page && places_ + places > limits::kCellPlaces) continue;
      places_ += places;
      if (places_ > limits::kCellPlaces) return;
      Cell cell{.number = number, .text = {}};
      for (const ShellWord& line : tree.words(*text)) append(cell.text, line);
      if (!cell.text.text.empty()) (code ? cells_ : pages_).push_back(std::move(cell));
    }
  }

  // A file that a cell writes is read on its own; the rest is appended to the program, as IPython itself rewrites it.
  Result<bool> take(Cell& cell) {
    ShellText text = std::move(cell.text);
    starts_.emplace_back(program_.text.size(), cell.number);
    while (const auto magic = magic_of(text.text)) {
      const std::size_t line = std::min(text.text.find('\n'), text.text.size() - 1) + 1;
      const ShellText first = slice(text, 0, line);
      text = tail(text, line);
      const bool timing = magic->word == "time" || magic->word == "timeit" || magic->word == "capture" ||
                          magic->word == "prun" || magic->word == "memray_flamegraph";
      if (timing) continue;
      if (magic->word == "writefile" || magic->word == "file") {
        const std::string name = magic->rest.substr(magic->rest.rfind(' ') + 1);
        if (text.text.find("sglang") == std::string::npos) return true;
        files_.emplace_back(name, std::move(text));
        return true;
      }
      put("get_ipython().run_cell_magic(", first);
      put_quoted(at_place_of(magic->word, first));
      put(", ", first);
      put_quoted(at_place_of(magic->rest, first));
      put(", ", first);
      put_quoted(text);
      put(")\n", first);
      return true;
    }
    const std::size_t from = program_.text.size();
    if (is_bare_magic(text.text))
      put("pass\n", text);
    else
      lines_of(text);
    check_cell(from, text, cell.number);
    return true;
  }

  static ShellText at_place_of(const std::string& word, const ShellText& of) {
    return {word, std::vector<std::size_t>(word.size(), of.origin.empty() ? 0 : of.origin.front()), {}};
  }

  // Words of ours, at the place of what they stand for.
  void put(std::string_view words, const ShellText& at) { append(program_, at_place_of(std::string(words), at)); }

  void put_quoted(const ShellText& text) {
    put("\"", text);
    for (std::size_t i = 0; i < text.text.size(); ++i) {
      const char c = text.text[i];
      const ShellText one = slice(text, i, i + 1);
      if (c == '\n') {
        put("\\n", one);
        continue;
      }
      if (c == '"' || c == '\\') put("\\", one);
      append(program_, one);
    }
    put("\"", text);
  }

  // Lines for a shell and magics become calls; what they are assigned to stays in front of them.
  void lines_of(const ShellText& text) {
    bool inside = false;  // a text of several lines
    for (std::size_t from = 0; from < text.text.size();) {
      std::size_t end = std::min(text.text.find('\n', from), text.text.size());
      const std::size_t sign = inside ? end : sign_of(text.text, from, end);
      if (sign < end) {
        while (end < text.text.size() && text.text[end - 1] == '\\')
          end = std::min(text.text.find('\n', end + 1), text.text.size());
        append(program_, slice(text, from, sign));
        put_call(slice(text, sign, end), text.text.find('=', from) < sign);
      } else {
        const std::string_view line = std::string_view(text.text).substr(from, end - from);
        for (const std::string_view quotes : {"\"\"\"", "'''"}) {
          for (auto at = line.find(quotes); at != std::string_view::npos; at = line.find(quotes, at + 3))
            inside = !inside;
        }
        append(program_, slice(text, from, end));
      }
      put("\n", slice(text, std::min(end, text.text.size() - 1), text.text.size()));
      from = end + 1;
    }
  }

  // Where `!` or `%` stands that makes a line IPython's: at its beginning, or behind NAME =.
  static std::size_t sign_of(std::string_view text, std::size_t from, std::size_t end) {
    const std::size_t at = std::min(text.find_first_not_of(" \t", from), end);
    if (at >= end || text[at] == '!' || text[at] == '%' || text[at] == '?') return at;
    const std::string_view line = text.substr(at, end - at);
    if (line.back() == '?' && line.find_first_of("'\"#") == std::string_view::npos) return at;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) return end;
    constexpr std::string_view kTarget = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_., ()[]*\t";
    const std::size_t value = line.find_first_not_of(" \t", equals + 1);
    const bool plain = line.substr(0, equals).find_first_not_of(kTarget) == std::string_view::npos;
    const bool sign = value != std::string_view::npos && (line[value] == '!' || line[value] == '%');
    return plain && sign ? at + value : end;
  }

  void put_call(const ShellText& line, bool assigned) {
    const std::string& s = line.text;
    if (s.front() == '!') {
      const bool doubled = s.starts_with("!!");
      put(assigned || doubled ? "get_ipython().getoutput(" : "get_ipython().system(", line);
      put_quoted(tail(line, doubled ? 2 : 1));
      return put(")", line);
    }
    if (s.front() != '%') return put("pass", line);  // a question
    const std::size_t word = std::min(s.find_first_not_of('%'), s.size());
    const std::size_t blank = std::min(s.find(' ', word), s.size());
    const std::string magic = s.substr(word, blank - word);
    const ShellText rest = tail(line, std::min(blank + 1, s.size()));
    const bool timing = magic == "time" || magic == "timeit";
    const bool again = !rest.text.empty() && (rest.text.front() == '!' || rest.text.front() == '%');
    if (timing && again) return put_call(rest, assigned);
    if (timing && !rest.text.empty() && rest.text.front() != '-') return append(program_, rest);
    put("get_ipython().run_line_magic(", line);
    put_quoted(at_place_of(magic, line));
    put(", ", line);
    put_quoted(rest);
    put(")", line);
  }

  // NAME of a line that begins with `NAME =` or `NAME +=`.
  static std::string_view target_of(std::string_view line) {
    constexpr std::string_view kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::size_t behind = std::min(line.find_first_not_of(kName), line.size());
    const std::size_t sign = std::min(line.find_first_not_of(" \t+", behind), line.size());
    const bool assigns = line.substr(sign).starts_with('=') && !line.substr(sign).starts_with("==");
    const bool name = behind > 0 && std::isdigit(static_cast<unsigned char>(line.front())) == 0;
    return assigns && name ? line.substr(0, behind) : std::string_view();
  }

  // A cell that is no Python does not run: its names are not known behind it, for it may be that it is not understood.
  void check_cell(std::size_t from, const ShellText& text, std::size_t number) {
    const std::string cell = program_.text.substr(from);
    if (program::parse_program(cell).fault == std::string_view::npos) return;
    program_ = slice(program_, 0, from);
    put(fmt::format("get_ipython().cell({})\n", number), text);
    for (std::size_t line = 0; line < cell.size();) {
      const std::size_t end = std::min(cell.find('\n', line), cell.size());
      const std::string_view target = target_of(std::string_view(cell).substr(line, end - line));
      line = end + 1;
      if (!target.empty()) put(fmt::format("{} = get_ipython().cell({})\n", target, number), text);
    }
    const auto meant = meant_mentions(text.text, FileKind::kShell);
    if (meant.empty()) return;
    finder_.note({"SH004", fmt::format("cell {} is not understood as Python, and the launch in it is not read", number),
                  text.origin[meant.front()]});
  }

  Result<bool> run_program() {
    LaunchFinder inner(program_.text, source_.given);
    if (!finder_.descend(inner, program_.text.size())) return failure("this notebook is longer than what is followed");
    const auto place = [&](std::size_t at) {
      return program_.origin.empty() ? 0 : program_.origin[std::min(at, program_.origin.size() - 1)];
    };
    const program::Program tree = program::parse_program(program_.text);
    if (tree.fault != std::string_view::npos) return failure("this notebook's cells are not understood as one program");
    const std::function<int(std::size_t)> line = [&](std::size_t at) { return finder_.place(place(at)).line; };
    const SourceText source{program_.text, source_.given, {}, nullptr, &line};
    auto done = program::Follower(source, inner, tree).run();
    for (const std::size_t at : meant_mentions(program_.text, FileKind::kWords)) {
      if (!inner.accounts_for(at))
        inner.note({"SH004", "a launch is named here, and it is not read: give the command that it runs", at});
    }
    finder_.adopt(inner, place, [&](std::size_t at) { return cell_at(at); });
    return done;
  }

  [[nodiscard]] std::string cell_at(std::size_t at) const {
    std::size_t number = 0;
    for (const auto& [start, cell] : starts_) {
      if (start <= at) number = cell;
    }
    return label(number);
  }

  const SourceText& source_;
  LaunchFinder& finder_;
  std::vector<Cell> cells_;
  std::vector<Cell> pages_;
  std::size_t longest_ = 0;                                  // line of the file
  std::size_t places_ = 0;                                   // what it takes to find the places of what is read of it
  std::vector<std::pair<std::string, ShellText>> files_;     // that cells write, with their names
  ShellText program_;                                        // with its places in the notebook
  std::vector<std::pair<std::size_t, std::size_t>> starts_;  // of cells in the program
};

}  // namespace

Result<bool> read_notebook(const SourceText& source, LaunchFinder& finder) { return Notebook(source, finder).run(); }

}  // namespace preflight::sources
