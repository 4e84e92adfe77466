// A Python program as a tree. Nodes live as long as the Program that holds them; places are bytes of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources::program {

struct Expr;

struct Argument {
  std::string name = {};  // of a keyword
  int stars = 0;          // *x, **x
  const Expr* value = nullptr;
};

struct Parameter {
  std::string name;
  int stars = 0;
  const Expr* fallback = nullptr;
  const Expr* annotation = nullptr;
  bool keyword_only = false;
  bool positional_only = false;
};

// A piece of a text: as written, or the field of an f-string.
struct TextPart {
  ShellText text = {};
  const Expr* field = nullptr;
  char conversion = '\0';             // !r, !s, !a
  std::vector<TextPart> format = {};  // behind the colon
};

struct Clause {  // for TARGET in ITEMS if TEST
  const Expr* target = nullptr;
  const Expr* items = nullptr;
  std::vector<const Expr*> tests = {};
};

struct Expr {
  enum class Kind : std::uint8_t {
    kName,
    kNumber,
    kText,
    kBytes,
    kConstant,  // None, True, False, ...
    kList,
    kTuple,
    kSet,
    kDict,  // kids: key, value, key, value; no key: **
    kAttribute,
    kSubscript,
    kSlice,  // kids: three, or null
    kCall,
    kUnary,
    kBinary,
    kCompare,
    kBoolean,  // and, or
    kChoice,   // A if TEST else B: kids TEST, A, B
    kLambda,
    kComprehension,  // name: list, set, dict, generator; kids: one, or key and value
    kStar,
    kWalrus,
    kAwait,
    kYield,
  };
  Kind kind = Kind::kName;
  std::size_t begin = 0;
  std::size_t end = 0;
  int depth = 1;                        // of the tree below
  std::string name = {};                // of a name, attribute, operator; digits of a number
  std::vector<std::string> names = {};  // operators of a comparison
  std::vector<const Expr*> kids = {};
  std::vector<Argument> arguments = {};
  std::vector<Parameter> parameters = {};
  std::vector<TextPart> parts = {};
  std::vector<Clause> clauses = {};
};

struct Stmt;
using Block = std::vector<const Stmt*>;

struct Handler {  // of try, and a case of match
  const Expr* what = nullptr;
  const Expr* guard = nullptr;
  std::string name = {};
  Block body = {};
};

struct Stmt {
  enum class Kind : std::uint8_t {
    kExpr,
    kAssign,  // targets, value
    kGrow,    // name: the operator
    kReturn,
    kRaise,
    kPass,
    kBreak,
    kContinue,
    kDelete,
    kGlobal,
    kNonlocal,
    kImport,      // names: module, as, module, as
    kImportFrom,  // name: module; names: name, as
    kIf,
    kWhile,
    kFor,
    kTry,
    kWith,  // targets may be null, one for each value
    kFunction,
    kClass,
    kMatch,
    kAssert,
  };
  Kind kind = Kind::kPass;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string name = {};
  std::vector<std::string> names = {};
  std::vector<const Expr*> targets = {};
  const Expr* value = nullptr;
  std::vector<const Expr*> values = {};    // of with; decorators
  std::vector<Parameter> parameters = {};  // of a function
  std::vector<Argument> arguments = {};    // bases of a class
  Block body = {};
  Block other = {};  // else
  Block last = {};   // finally
  std::vector<Handler> handlers = {};
  bool annotated = false;  // NAME: TYPE, value may be null
  bool generates = false;  // a function with yield
  bool waits = false;      // async def, async with, async for
};

struct Program {
  std::deque<Expr> expressions;
  std::deque<Stmt> statements;
  Block body;
  std::size_t fault = static_cast<std::size_t>(-1);  // where it is no Python that is understood; npos: it is
};

Program parse_program(std::string_view text);

}  // namespace preflight::sources::program
