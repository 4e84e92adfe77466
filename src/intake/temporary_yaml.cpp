// Tested by tests/case_file_test.cpp and tests/fix_write_back_test.cpp.
#include "src/intake/temporary_yaml.h"

#include <unistd.h>

#include <cstdlib>

namespace preflight::commands {

TemporaryYaml::TemporaryYaml(const std::string& text) {
  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/xpu-preflight-XXXXXX.yaml";
  const int fd = mkstemps(name.data(), 5);
  if (fd < 0) return;
  path_ = name;
  written_ = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
}

TemporaryYaml::~TemporaryYaml() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace preflight::commands
