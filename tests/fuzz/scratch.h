// Files that a fuzz target has the library read.
#pragma once

#include <string>

namespace preflight::fuzz {

// A directory in memory that goes away with the process; files in it are written over.
const std::string& scratch_directory();
void write_scratch(const std::string& name, const std::string& text);

}  // namespace preflight::fuzz
