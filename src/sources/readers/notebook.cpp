// Jupyter notebooks: their code cells are one Python program, in which lines with "!" are commands of a shell and
// "%%bash" makes a script of a cell. Tested by tests/sources_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "src/sources/mentions.h"
#include "src/sources/readers/python_program.h"
#include "src/sources/readers/readers.h"
#include "src/sources/yaml_tree.h"

namespace preflight::sources {
namespace {

using python::YamlNode;

constexpr std::size_t kMostCells = 5'000;
constexpr std::size_t kMostPlaces = 1'500'000'000;  // lines of code times the file's longest line

struct Cell {
  std::size_t number = 0;  // from 1, code cells and others alike
  ShellText text;
};

std::string label(std::size_t number) { return fmt::format("cell {}", number); }

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

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
    if (places_ > kMostPlaces)
      return failure("this notebook has too many lines of code on one line of its file: save it with line breaks");
    for (Cell& cell : cells_) {
      if (auto done = take(cell); !done) return done;
    }
    return run_program();
  }

 private:
  struct Line {  // a command of a shell, or a variable that is set
    std::size_t at;
    std::size_t to;
    std::size_t indent;
    bool variable;
  };

  void collect(const YamlTree& tree, const YamlNode& root) {
    const YamlNode* cells = is_map(&root) ? value_of(root, "cells") : nullptr;
    if (!is_list(cells)) return;
    std::size_t number = 0;
    for (const YamlNode* node : cells->items) {
      if (++number > kMostCells) return;
      const YamlNode* text =
          is_map(node) && text_of(*node, "cell_type") == "code" ? value_of(*node, "source") : nullptr;
      if (text == nullptr) continue;
      places_ += longest_ * (is_list(text) ? text->items.size() : 1);
      if (places_ > kMostPlaces) return;
      Cell cell{.number = number, .text = {}};
      for (const ShellWord& line : tree.words(*text)) append(cell.text, line);
      if (!cell.text.text.empty()) cells_.push_back(std::move(cell));
    }
  }

  // Cells of other languages are read on their own; the rest is appended to the program.
  Result<bool> take(Cell& cell) {
    ShellText text = std::move(cell.text);
    while (const auto magic = magic_of(text.text)) {
      const std::size_t line = std::min(text.text.find('\n'), text.text.size() - 1) + 1;
      text = tail(text, line);
      const bool timing = magic->word == "time" || magic->word == "timeit" || magic->word == "capture" ||
                          magic->word == "prun" || magic->word == "memray_flamegraph";
      if (timing) continue;
      const bool script = magic->word == "bash" || magic->word == "sh" ||
                          (magic->word == "script" && magic->rest.find("sh") != std::string::npos);
      if (script) return read_part(text, FileKind::kShell, label(cell.number), source_, finder_);
      if (magic->word == "writefile" || magic->word == "file") {
        const std::string name = magic->rest.substr(magic->rest.rfind(' ') + 1);
        if (text.text.find("sglang") == std::string::npos) return true;
        return read_part(text, kind_of(text.text, name), name, source_, finder_);
      }
      return true;
    }
    starts_.emplace_back(program_.size(), cell.number);
    lines_of(text);
    return true;
  }

  // The program's lines, those for a shell blanked.
  void lines_of(const ShellText& text) {
    bool inside = false;  // a text of several lines
    for (std::size_t from = 0; from < text.text.size();) {
      std::size_t end = std::min(text.text.find('\n', from), text.text.size());
      const std::size_t first = std::min(text.text.find_first_not_of(" \t", from), end);
      const std::string_view line = std::string_view(text.text).substr(first, end - first);
      const bool command = !inside && line.starts_with('!');
      const bool variable = !inside && (line.starts_with("%env ") || line.starts_with("%set_env "));
      const bool other = !inside && line.starts_with('%');
      if (command || variable || other) {
        while (end < text.text.size() && text.text[end - 1] == '\\')
          end = std::min(text.text.find('\n', end + 1), text.text.size());
        const std::size_t skip = command ? 1 : line.find(' ') + 1;
        if (command || variable)
          lines_.push_back(
              {program_.size() + first + skip - from, program_.size() + end - from, first - from, variable});
      } else {
        for (const std::string_view quotes : {"\"\"\"", "'''"}) {
          for (auto at = line.find(quotes); at != std::string_view::npos; at = line.find(quotes, at + 3))
            inside = !inside;
        }
      }
      const std::size_t to = std::min(end + 1, text.text.size());
      whole_ += text.text.substr(from, to - from);
      program_ +=
          command || variable || other ? std::string(to - from - 1, ' ') + '\n' : text.text.substr(from, to - from);
      origin_.insert(origin_.end(), text.origin.begin() + static_cast<std::ptrdiff_t>(from),
                     text.origin.begin() + static_cast<std::ptrdiff_t>(to));
      from = to;
    }
    program_ += '\n';
    whole_ += '\n';
    origin_.push_back(text.origin.empty() ? 0 : text.origin.back());
  }

  Result<bool> run_program() {
    LaunchFinder inner(program_, source_.given);
    if (!finder_.descend(inner, program_.size())) return failure("this notebook is longer than what is followed");
    const SourceText source{program_, source_.given, {}};
    PythonProgram program(source, inner);
    for (const Line& line : lines_) {
      if (line.variable) program.set_variable(line.at, text_between(line));
    }
    auto done = program.run();
    for (const Line& line : lines_) {
      if (!done) break;
      if (!line.variable) done = program.system(line.at, line.indent, text_between(line));
    }
    for (const std::size_t at : meant_mentions(program_, FileKind::kWords)) {
      if (!inner.accounts_for(at))
        inner.note({"SH004", "a launch is named here, and it is not read: give the command that it runs", at});
    }
    finder_.adopt(
        inner, [&](std::size_t at) { return origin_.empty() ? 0 : origin_[std::min(at, origin_.size() - 1)]; },
        [&](std::size_t at) { return cell_at(at); });
    return done;
  }

  [[nodiscard]] ShellText text_between(const Line& line) const { return piece(whole_, line.at, line.to); }

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
  std::size_t longest_ = 0;  // line of the file
  std::size_t places_ = 0;   // what it takes to find the places of all code in it
  std::string program_;
  std::string whole_;  // the same with its commands
  std::vector<std::size_t> origin_;
  std::vector<std::pair<std::size_t, std::size_t>> starts_;  // of cells in the program
  std::vector<Line> lines_;
};

}  // namespace

Result<bool> read_notebook(const SourceText& source, LaunchFinder& finder) { return Notebook(source, finder).run(); }

}  // namespace preflight::sources
