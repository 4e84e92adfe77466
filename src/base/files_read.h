// The files that this run has read and those that a launch names for its server to read, so that nothing is written
// over one of them: a report whose name is mistaken for that of its script would be all that is left of it.
#pragma once

#include <string>

namespace preflight {

void remember_read(const std::string& path);
// Of a folder, and of no use: an earlier report, say.
void forget_read(const std::string& path);
// Under whatever name it was read.
bool was_read(const std::string& path);

// By a launch, whose server may read it; this run need not.
void remember_named(const std::string& path);
bool was_named(const std::string& path);

}  // namespace preflight
