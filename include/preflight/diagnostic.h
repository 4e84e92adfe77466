// Diagnostic: one finding as data. Rules and resolution create them, only report/ turns them into text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/fields.h"
#include "preflight/remedy.h"

namespace preflight {

enum class Severity { kInfo, kChange, kWarning, kError };  // ascending: --fail-on compares with >=

// Where an argument stood: the position in argv, and the source text when there is one (pasted command, file).
struct SourceRange {
  int argv_index = -1;    // index in the launch arguments, -1 = not from the arguments
  int length = 1;         // how many argv entries the option spans (name and values)
  std::string file = {};  // file it came from; empty = command line
  int line = 0;           // 1-based; 0 = unknown
  int column = 0;         // 1-based, in bytes
};

struct Diagnostic {
  std::string rule;               // our id, e.g. "PG003"
  std::vector<std::string> refs;  // ids of the reference documents, e.g. "K-6"
  Severity severity = Severity::kError;
  std::optional<Field> field = {};  // the argument it points at
  std::string message;              // the fault in this launch, with its values
  std::string why = {};             // what happens and when
  std::string fix = {};             // the way out in words; made from `remedies` where there are any
  std::string source = {};          // SGLang file and release, or PR
  SourceRange where = {};
  std::vector<Remedy> remedies = {};
  // Whether the weights that it names were counted from the checkpoint's files; nullopt: as the memory sheet's were.
  std::optional<bool> counted = {};
  // Of what is past a limit, how far, as a part of the limit: a remedy of another finding may take it further.
  std::optional<double> excess = {};
  std::vector<std::string> meant = {};  // options that an unknown one may be a slip of the pen for; `fix` asks for them
  std::vector<Field> concerns = {};     // fields whose values led to it, the nearest first; of a refusal only
};

}  // namespace preflight
