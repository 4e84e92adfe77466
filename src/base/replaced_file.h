// A new file that takes the place of an old one has what that had beside its text: whoever could read it can still, and
// nobody else. Tested by tests/fix_write_back_test.cpp.
#pragma once

#include <sys/stat.h>

#include <csignal>

#include <string>
#include <string_view>

namespace preflight {

// The file that is open at `fd` gets owner, mode and extended attributes (access lists are some) of the one at `path`.
// What of it cannot be kept, as in "its owner"; empty: all is.
std::string_view take_after(int fd, const std::string& path, const struct stat& old);

// What would end the program waits while this lives: a file that is half made would stay behind, under a name that
// nobody knows.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

}  // namespace preflight
