// Which of the places that name a server a shell text accounts for while it is followed: a launch is found there, it is
// told, or it is only printed. Tested by tests/sources_test.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

// What became of the places that name a server while a text was followed. A variable's value stands at the place where
// it is used: what it was written as is found through the places that it passed.
class MentionTrail {
 public:
  void assigned(const std::string& name, const ShellText& value);
  void inserted(const std::string& name, std::size_t place, const ShellText& value);
  void told(const ShellText& text);     // a launch was found in it, or a finding tells of it
  void spoken(const ShellText& text);   // it was printed, for people
  void written(const ShellText& text);  // it was printed into a file

  // Whether what is not known of this text may name a server.
  [[nodiscard]] bool may_name_server(const ShellText& text) const;
  // Places, of those in a text, that nothing accounts for.
  [[nodiscard]] std::vector<std::size_t> left(std::string_view text) const;

 private:
  using Places = std::set<std::size_t>;
  struct Carried {
    Places from = {};
    std::set<std::string> names = {};  // of variables whose value is not known: whatever they were given
  };
  [[nodiscard]] Places closure(const Places& roots, bool arguments_alone) const;

  std::map<std::string, Places> assigned_;
  std::map<std::size_t, Carried> variables_;
  std::map<std::size_t, Carried> arguments_;
  Places told_;
  Places spoken_;
  Places written_;
};

}  // namespace preflight::sources
