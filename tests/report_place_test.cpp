// Where a finding points: into the command as it was given, or into the file an option came from.
#include <gtest/gtest.h>

#include "src/report/display_width.h"
#include "src/report/excerpt.h"

namespace preflight::report {
namespace {

TEST(DisplayWidth, CountsColumnsOfATerminal) {
  struct Row {
    std::string text;
    std::size_t columns;
  };
  const Row rows[] = {
      {"", 0},           {"--page-size", 11}, {"caf\u00E9", 4},  // one character
      {"cafe\u0301", 4},                                         // a letter and a combining accent
      {"模型名字", 8},                                           // wide
      {"한글", 4},                                               // wide
      {"ｶﾅ", 2},                                                 // half width forms
      {"a\u200Bb", 2},                                           // a space without width
      {"🚀", 2},                                                  // wide
      {"…", 1},                                                  // ambiguous: narrow outside East Asia
      {"\xFF\xC3", 2},                                           // no UTF-8: a column a byte
      {"\xE6\xA8", 2},                                           // cut short
  };
  for (const Row& row : rows) EXPECT_EQ(display_width(row.text), row.columns) << row.text;
}

TEST(Excerpt, TheCaretStandsUnderTheArgumentWhateverIsBeforeIt) {
  struct Row {
    std::string before;
    std::size_t column;
  };
  const Row rows[] = {
      {"--served-model-name name ", 25},      {"--served-model-name 模型名字 ", 29},
      {"--served-model-name caf\u00E9 ", 25}, {"--served-model-name cafe\u0301 ", 25},
      {"--served-model-name 'a\tb' ", 26},    {"first line\n--mo x ", 7},
  };
  for (const Row& row : rows) {
    ArgumentSource source{.text = row.before + "--page-size 7 --tp 1", .name = "command line"};
    source.arguments = {{row.before.size(), 11}, {row.before.size() + 12, 1}};
    const Excerpt excerpt = excerpt_of({.argv_index = 0, .length = 2}, source, 120);
    EXPECT_EQ(excerpt.caret_column, row.column) << row.before;
    EXPECT_EQ(excerpt.caret_width, 13U) << row.before;
    EXPECT_EQ(excerpt.place, "command line, argument 1");
  }
}

TEST(Excerpt, ALongLineIsCutAtCharacters) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "模";
  const std::size_t at = text.size();
  text += "--tp";
  for (int i = 0; i < 200; ++i) text += "é";
  const ArgumentSource source{.text = text, .name = "--command", .arguments = {{at, 4}}};
  const Excerpt excerpt = excerpt_of({.argv_index = 0, .line = 1, .column = 601}, source, 80);
  EXPECT_TRUE(excerpt.line.starts_with("… 模"));
  EXPECT_TRUE(excerpt.line.ends_with("é …"));
  EXPECT_EQ(excerpt.caret_width, 4U);
  EXPECT_EQ(display_width(std::string_view(excerpt.line).substr(0, excerpt.line.find("--tp"))), excerpt.caret_column);
}

TEST(Excerpt, AnOptionOfAFilePointsIntoTheFile) {
  struct Row {
    std::string text;
    int line;
    int column;
    std::string shown;
    std::size_t caret_column;
    std::size_t caret_width;
  };
  const Row rows[] = {
      {"model-path: m\npage-size: 7\n", 2, 1, "page-size: 7", 0, 12},
      {"model-path: m\npage-size: 7   # why\n", 2, 1, "page-size: 7   # why", 0, 12},
      {"served-model-name: 'a # b'  # c\n", 1, 1, "served-model-name: 'a # b'  # c", 0, 26},
      {"{model-path: m, page-size: 7}\n", 1, 17, "{model-path: m, page-size: 7}", 16, 12},
      {"  page-size: 7\r\n", 1, 3, "  page-size: 7", 2, 12},
      {"a: b", 1, 1, "a: b", 0, 4},
  };
  for (const Row& row : rows) {
    const ArgumentSource source{.text = "--config y.yaml", .name = "command line", .files = {{"y.yaml", row.text}}};
    const Excerpt excerpt = excerpt_of({.file = "y.yaml", .line = row.line, .column = row.column}, source, 100);
    EXPECT_EQ(excerpt.place, "y.yaml:" + std::to_string(row.line) + ":" + std::to_string(row.column));
    EXPECT_EQ(excerpt.line, row.shown);
    EXPECT_EQ(excerpt.caret_column, row.caret_column) << row.text;
    EXPECT_EQ(excerpt.caret_width, row.caret_width) << row.text;
  }
  // A file that is not at hand is still named.
  EXPECT_EQ(excerpt_of({.file = "gone.yaml", .line = 3, .column = 1}, {}, 100).place, "gone.yaml:3:1");
  EXPECT_EQ(excerpt_of({}, {}, 100).place, "");
}

}  // namespace
}  // namespace preflight::report
