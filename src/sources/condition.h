// What stands in front of a launch in its file: the branch or the turn of a loop that it runs in, what may have ended
// the file before. Each says what it means for the launch and which of its words are the file's own, for those may be
// secret: nobody reads the sentence again. Tested by tests/condition_test.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace preflight::sources {

// A piece of a sentence.
struct Said {
  enum class Whose {
    kOurs,
    kName,   // what the file calls a function, a variable, a program
    kTheirs  // any other words of the file
  };
  std::string text;
  Whose whose = Whose::kOurs;
};
Said named(std::string_view name);
Said written(std::string_view text);
Said at_line(std::size_t line);  // " at line 3"

struct Condition {
  enum class Kind {
    kTurn,        // it runs, in this turn of a loop
    kPart,        // it runs, as this one of several, or for something else
    kIf,          // nobody knows whether it runs
    kDecorated,   // what stands around the function that it stands in calls it
    kUncalled,    // nothing here calls the function that it stands in
    kUnless,      // it runs, unless the file has ended before
    kUnsetEnds,   // …because it uses a variable that is not set,
    kNoFileEnds,  // …a pattern that no file has,
    kNoValueEnds  // …an expansion that fails
  };
  struct Part {
    std::size_t begin = 0;
    std::size_t size = 0;
    bool name = false;
  };

  Kind kind = Kind::kIf;
  std::string text = {};           // "unless TP is not set at line 3"
  std::vector<Part> written = {};  // of the text: the file's own words, by rising place
  std::string variable = {};       // that has a value in this turn, or is not set

  [[nodiscard]] bool empty() const { return text.empty(); }
  // "the script ends at line 3", of what begins with "unless".
  [[nodiscard]] std::string_view ending() const;
};
bool operator==(const Condition& a, const Condition& b);
bool operator<(const Condition& a, const Condition& b);  // by what they say

Condition in_branch(std::size_t line);
Condition in_loop(std::size_t line);
Condition in_turn(std::size_t turn);
Condition with_value(std::string_view variable, std::string_view value);
Condition as(const std::vector<Said>& said);                      // "as worker 1"
Condition where(const std::vector<Said>& said);                   // "where …"
Condition unless(const std::vector<Said>& said);                  // "unless …"
Condition unless_ended(std::string_view what, std::size_t line);  // "unless the script ends at line 3"
Condition unless_unset(std::string_view variable, std::size_t line);
Condition unless_no_file(std::size_t line);
Condition unless_no_value(std::size_t line);
Condition called_by(std::string_view decorator, std::string_view function);  // "as @decorator calls function"
Condition left_by(std::string_view decorator, std::string_view function);  // "as @decorator leaves what function gives"
Condition uncalled(std::string_view function);

struct Conditions {
  std::vector<Condition> all = {};

  [[nodiscard]] bool empty() const { return all.empty(); }
  [[nodiscard]] bool has(Condition::Kind kind) const;
  void add(Condition one);
  void add(const Conditions& more);
  // What holds further out stands in front.
  void put_in_front(const Conditions& outer);
  [[nodiscard]] std::string text() const;  // "" without any
};
bool operator==(const Conditions& a, const Conditions& b);
bool operator<(const Conditions& a, const Conditions& b);
// Texts of conditions, one for each, as one.
std::string joined(const Conditions& conditions, const std::vector<std::string>& texts);

}  // namespace preflight::sources
