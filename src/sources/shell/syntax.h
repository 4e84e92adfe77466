// What shell text says, before anything is expanded: commands, their words, and the pieces a word is made of. Made by
// parser.h, followed by evaluator.h. Places are indices in the script's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace preflight::sources {

// One piece of a word.
struct Part {
  enum class Kind : std::uint8_t {
    kText,          // the script's own bytes from begin to end
    kDecoded,       // `name` holds the text: an escape, an item of a brace expansion
    kParameter,     // $name, ${name op argument}
    kSubstitution,  // $(…), `…`: `name` holds "$(" command ")"
    kArithmetic,    // $((…))
    kUnclear,       // `name` says what it is and why nobody knows its text
  };
  Kind kind = Kind::kText;
  bool quoted = false;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string name = {};
  std::string op = {};         // of a parameter: "", "-", ":-", "##", ":2:3", …, or "?" for what is not understood
  char prefix = '\0';          // '#' of ${#name}, '!' of ${!name}
  std::string subscript = {};  // of ${name[subscript]}
  std::vector<Part> argument = {};
  std::vector<Part> replacement = {};  // of ${name/argument/replacement}
};
using Parts = std::vector<Part>;

struct Word {
  Parts parts;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Assignment {
  std::string name;
  std::string subscript = {};  // NAME[subscript]=…
  bool appends = false;        // NAME+=…
  bool is_array = false;       // NAME=(…)
  Word whole = {};             // NAME=VALUE as a word
  std::size_t value_at = 0;    // where VALUE begins
  std::vector<Word> items = {};
};

struct HereDocument {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool expands = true;    // no quote in its delimiter
  bool indented = false;  // <<-
};

struct Redirection {
  std::string op;
  Word target;
  int here_document = -1;     // index in Node::here_documents
  bool of_output = false;     // what the command prints goes elsewhere
  bool to_file = true;        // what the command prints, not what it reports; and a file, not another descriptor
  bool names_file = false;    // and not another descriptor
  std::string variable = {};  // {NAME}>: gets the number of the descriptor
};

struct Node;
using NodePtr = std::shared_ptr<Node>;

struct CaseArm {
  enum class Behind : std::uint8_t {
    kLeaves,      // ;;
    kRunsNext,    // ;& the next body, whatever its patterns are
    kTestsOthers  // ;;& the patterns behind it
  };
  std::vector<Word> patterns;
  NodePtr body;
  Behind behind = Behind::kLeaves;
};

struct Node {
  enum class Kind : std::uint8_t {
    kSimple,    // assignments, words
    kList,      // children, each behind an operator of `operators`: ";", "&", "&&" or "||"
    kPipeline,  // children
    kGroup,     // children[0]
    kSubshell,  // children[0]; `name` is "coproc" where it is one
    kIf,        // children: condition, body, condition, body, …, and the else body where their number is odd
    kWhile,     // children: condition, body; `name` is "until" where it is one
    kFor,       // name, words, children[0]
    kSelect,    // as kFor
    kCase,      // words[0], arms
    kFunction,  // name, children[0]
    kTest,      // [[ … ]]: words
    kMath,      // (( … )), for ((…)): nobody follows it; `name` holds its text
  };
  Kind kind = Kind::kSimple;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string name = {};
  bool negated = false;   // ! in front
  bool has_list = false;  // `for x in …`, not `for x`
  std::vector<Assignment> assignments = {};
  std::vector<Word> words = {};
  std::vector<Assignment> declared =
      {};  // of export, declare, …: by index of `words`, name empty where it is no assignment
  std::vector<Redirection> redirections = {};
  std::vector<NodePtr> children = {};
  std::vector<std::string> operators = {};
  std::vector<CaseArm> arms = {};
};

}  // namespace preflight::sources
