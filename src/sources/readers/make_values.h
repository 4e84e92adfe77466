// Variables and functions of make, as far as they can be followed without running a command. Tested by
// tests/traps_test.cpp, with make as the judge.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

struct MakeVariable {
  ShellText text;
  bool simple = false;                      // expanded when it was set (:=), else wherever it is used
  bool overrides = false;                   // the command line, too
  std::optional<ShellText> stands_in = {};  // of ?=: nothing else sets the name
};
using MakeScope = std::map<std::string, MakeVariable>;

class MakeValues {
 public:
  // `evaluate` is handed what $(eval …) adds to the Makefile, which is `pasted`.
  // `file` is the Makefile from the root, "" where it is no file.
  MakeValues(std::string_view pasted, const Variables& given, const std::string& file,
             std::function<void(const ShellText&)> evaluate)
      : pasted_(pasted),
        given_(given),
        folder_(std::filesystem::path(file).parent_path().string()),
        makefiles_(std::filesystem::path(file).filename().string()),
        evaluate_(std::move(evaluate)) {}

  // What is not known stands as a hole, with how to give it; what was taken for names that nothing sets goes with it.
  [[nodiscard]] ShellText expand(const ShellText& text);
  // As expand; what nothing sets is empty, which is told.
  [[nodiscard]] ShellText expand_asked(const ShellText& text);
  [[nodiscard]] ShellText value(const std::string& name, std::size_t at);
  [[nodiscard]] const MakeVariable* find(const std::string& name) const;  // nullptr: set nowhere in the Makefile
  [[nodiscard]] bool is_given(const std::string& name) const { return given_.contains(name); }
  // Whether nothing sets the name, where a choice asks for that.
  [[nodiscard]] bool is_unset(const std::string& name) const;

  // NAME = VALUE with one of =, :=, ::=, :::=, ?=, += and !=, in the innermost scope.
  void set(const std::string& name, std::string_view how, const ShellText& value, std::size_t at, bool overrides);
  void set_text(const std::string& name, const ShellText& value);  // as it is
  void command(const std::string& name, const ShellText& value);   // as `make NAME=VALUE` does
  void erase(const std::string& name) { scopes_.back().erase(name); }

  // Variables of one target or one call, until they are taken away again.
  void enter() { scopes_.emplace_back(); }
  void leave() { scopes_.pop_back(); }
  [[nodiscard]] std::size_t depth() const { return scopes_.size(); }
  [[nodiscard]] std::vector<std::string> names() const;
  // What was set before a file that nobody reads may be set otherwise there, and what is not set may be set.
  void doubt(const std::string& why);

  // A Makefile that is included.
  void reads_too(const std::string& file) { makefiles_ += " " + file; }

  // A file that is not there.
  void take_missing(const std::string& path, std::size_t at);

 private:
  [[nodiscard]] std::optional<std::string> unset_name(const ShellText& text) const;
  std::optional<ShellText> files(const ShellText& patterns, std::size_t at);
  ShellText placed(const std::string& name, const std::string& text, std::size_t at);
  std::optional<ShellText> own_place(const std::string& name, std::size_t at);
  std::optional<ShellText> whole_paths(const ShellText& words, bool real, std::size_t at);
  ShellText expanded(const ShellText& text);
  [[nodiscard]] ShellText unread(const std::string& name, std::size_t at) const;
  void take(const std::string& name, const std::optional<ShellText>& value, std::size_t at);
  ShellText reference(const ShellText& inside, std::size_t at);
  ShellText function(std::string_view name, const ShellText& inside, std::size_t from, std::size_t at);
  ShellText lazy(std::string_view name, const std::vector<ShellText>& arguments, const ShellText& inside,
                 std::size_t at);
  ShellText for_each(const std::vector<ShellText>& arguments, std::size_t at);
  ShellText call(const std::vector<ShellText>& arguments, std::size_t at);
  ShellText replaced(const ShellText& inside, std::size_t at);
  ShellText condition(const ShellText& argument);
  ShellText first_of(const std::vector<ShellText>& arguments);
  ShellText choice(std::string_view name, const std::vector<ShellText>& arguments);
  std::optional<ShellText> printed(const ShellText& command, std::size_t at);

  std::string_view pasted_;
  const Variables& given_;
  std::string folder_;
  std::string makefiles_;  // those that are read, as make names them
  std::function<void(const ShellText&)> evaluate_;
  std::vector<MakeScope> scopes_ = std::vector<MakeScope>(1);
  std::string unread_ = {};   // why a name that nothing here sets may be set
  TakenDefaults taken_ = {};  // by the text that is being expanded
  int nested_ = 0;
  std::size_t steps_ = 0;
  bool asks_ = false;  // for what may be set by nothing
};

// "a b" -> a, b
std::vector<std::string> make_words(std::string_view text);
// Whether `word` fits `pattern`, in which the first % stands for anything; `stem` is what it stands for.
bool fits_pattern(std::string_view pattern, std::string_view word, std::string* stem = nullptr);
// A name that an environment may have.
bool is_shell_name(std::string_view name);
// The index of what closes the reference whose parenthesis or brace stands at `open`; the text's size when none does.
std::size_t reference_end(std::string_view text, std::size_t open);

}  // namespace preflight::sources
