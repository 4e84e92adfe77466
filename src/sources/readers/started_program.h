// A program in Python that a command starts, with what is known of its start.
#pragma once

#include <string>
#include <vector>

#include "src/sources/readers/readers.h"

namespace preflight::sources {

struct ProgramStart {
  std::string file = {};                  // that it stands in, from the root; "" for a text
  std::string folder = {};                // that it runs in, from the root; "" where that is not known
  std::vector<ShellWord> arguments = {};  // behind its name
};

// `start`: null where nobody says how it is started.
Result<bool> read_program(const SourceText& source, LaunchFinder& finder, const ProgramStart* start);

// A program that a command in `source` starts. What it starts is told where the command stands, its lines are those of
// its own file where it has one.
Result<bool> read_started(const ShellText& program, const ProgramStart& start, const SourceText& source,
                          LaunchFinder& finder);

}  // namespace preflight::sources
