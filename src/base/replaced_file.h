// A new file that takes the place of an old one has what that had beside its text: whoever could read it can still, and
// nobody else. Tested by tests/fix_write_back_test.cpp.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

namespace preflight {

// The file that is open at `fd` gets owner, mode and extended attributes (access lists are some) of the one at `path`.
// What of it cannot be kept, as in "its owner"; empty: all is.
std::string_view take_after(int fd, const std::string& path, const struct stat& old);

}  // namespace preflight
