#include "tests/support/run_tool.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace preflight::testing {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "preflight-test-XXXXXX";
  path_ = mkdtemp(name.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::file(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  write_file(path, text);
  return path;
}

ToolRun run_tool(const std::vector<std::string>& arguments, const std::string& input,
                 const std::vector<std::string>& env) {
  const TemporaryDirectory scratch;
  const std::string in = scratch.file("in", input);
  const std::string out = scratch.file("out", "");
  const std::string err = scratch.file("err", "");
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY), STDERR_FILENO);
    if (chdir(PREFLIGHT_SOURCE_DIR) != 0) _exit(127);
    std::vector<std::string> copy = env;
    for (auto& e : copy) putenv(e.data());
    std::vector<const char*> argv = {PREFLIGHT_BINARY};
    for (const auto& a : arguments) argv.push_back(a.c_str());
    argv.push_back(nullptr);
    execv(PREFLIGHT_BINARY, const_cast<char* const*>(argv.data()));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ToolRun run;
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.out = read_file(out);
  run.err = read_file(err);
  return run;
}

}  // namespace preflight::testing
