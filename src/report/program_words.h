// Every word of the command line as plain data: what completions and the manual are written from. Made from the parser
// itself (src/commands/program_words.cpp), so that neither can name an option that the program has not.
#pragma once

#include <string>
#include <vector>

namespace preflight::report {

enum class Takes { kNothing, kText, kFile, kDirectory };

struct OptionWords {
  std::vector<std::string> names;  // "--color", "--colour"; of a positional its one name, "PATH"
  std::string what = {};           // one sentence; "" of SGLang's options
  Takes takes = Takes::kText;
  std::vector<std::string> values = {};  // those known by name; files may stand beside them
  bool may_stand_alone = false;          // the value may be left out
  bool takes_several = false;            // values, one word each
  bool repeats = false;
  bool required = false;
};

enum class Behind { kNothing, kLaunch, kCommand };  // what stands behind a command's `--`

struct CommandWords {
  std::string name;
  std::string what;
  std::vector<std::string> examples = {};  // command lines as a shell takes them, without the program's name
  std::vector<OptionWords> options = {};
  std::vector<OptionWords> positionals = {};
  Behind behind = Behind::kLaunch;
};

struct ExitWords {
  int number;
  std::string meaning;
};

struct ProgramWords {
  std::string name;
  std::string version;
  std::string what;
  std::vector<CommandWords> commands = {};
  std::string sglang_release = {};
  std::vector<OptionWords> sglang = {};  // options of that release
  std::vector<ExitWords> exit_statuses = {};
};

}  // namespace preflight::report
