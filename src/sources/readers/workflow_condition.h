// Expressions of GitHub's workflows: what they come to where their names are known, and whether they hold. Tested by
// tests/sources_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/sources/shell.h"

namespace preflight::sources {

struct WorkflowValue {
  enum class Kind : std::uint8_t { kNull, kFlag, kNumber, kText } kind = Kind::kNull;
  ShellText text = {};  // as it is put into a script; one with a hole is not known
};
WorkflowValue workflow_text(ShellText text);

// What a name stands for, matrix.tp.
struct WorkflowOperand {
  std::optional<WorkflowValue> value = {};  // none: it is not known
  // Of one that nobody may give, in front of `||`: what its default is told as; `otherwise` is what it is where it is
  // given all the same.
  std::string not_given = {};
  std::optional<std::string> otherwise = {};
};
using WorkflowNames = std::function<WorkflowOperand(const std::string& path)>;

// What stands between ${{ and }} at `offset`; none where it is not known. GitHub compares texts without case, and what
// is of two kinds as numbers.
std::optional<ShellText> workflow_value(std::string_view expression, const WorkflowNames& names, std::size_t offset);

// Where the }} stands that ends the expression at `from`: none in its quotes. npos without one.
std::size_t end_of_workflow_expression(std::string_view text, std::size_t from);

// A row of a job's matrix: columns by their names. What a row has not is nothing.
using WorkflowRow = std::map<std::string, WorkflowValue>;
WorkflowNames names_of_row(const WorkflowRow& row);
// Whether an expression holds in a row; none where it asks for something else.
std::optional<bool> holds_in_row(std::string_view expression, const WorkflowRow& row);

// Columns of a matrix that the expressions of a text name.
std::set<std::string> columns_named_in(std::string_view text);
// What the names of an expression begin with (`env` of env.TP), and those of the expressions of a text.
std::set<std::string> contexts_of(std::string_view expression);
std::set<std::string> contexts_named_in(std::string_view text);

}  // namespace preflight::sources
