// What a script types into shells that run already: `tmux send-keys`, `screen -X stuff`. Each pane is one shell, which
// keeps what was typed into it before.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

struct TypedText {
  std::string pane;            // by the name that it is called by
  std::optional<Unknown> why;  // that name is not known
  ShellText text;
};

// nullopt where words[at] types nothing.
std::optional<TypedText> typed_text(const std::vector<ShellWord>& words, std::size_t at);

// The commands of one `tmux … \; …`, each behind the program; empty: it is one.
std::vector<std::vector<ShellWord>> commands_of_tmux(const std::vector<ShellWord>& words, std::size_t at);

class Panes {
 public:
  struct Pane {
    ShellText text = {};              // typed so far
    std::size_t launches = 0;         // that were found in it
    std::optional<Unknown> why = {};  // what else may have been typed
  };
  // The pane that is typed into, with this behind what was typed before.
  Pane& type(const TypedText& typed);
  // A command that makes another pane the one that a name without a pane's own number means.
  void move(const std::vector<ShellWord>& words, std::size_t at);

 private:
  std::map<std::string, Pane> panes_;
};

}  // namespace preflight::sources
