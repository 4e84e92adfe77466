#include "tests/support/run_tool.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/paths.h"

namespace preflight::testing {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void wait_until_settled() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }

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

namespace {

ToolRun run_program(std::vector<std::string> argv, const std::string& input, std::vector<std::string> env) {
  const TemporaryDirectory scratch;
  const std::string in = scratch.file("in", input);
  const std::string out = scratch.file("out", "");
  const std::string err = scratch.file("err", "");
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY), STDERR_FILENO);
    if (chdir(source_directory().c_str()) != 0) _exit(127);
    for (auto& e : env) putenv(e.data());
    std::vector<char*> pointers;
    for (auto& a : argv) pointers.push_back(a.data());
    pointers.push_back(nullptr);
    execv(pointers.front(), pointers.data());
    _exit(127);
  }
  int status = 0;
  struct rusage usage {};
  wait4(child, &status, 0, &usage);
  ToolRun run;
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.peak_kilobytes = usage.ru_maxrss;
  run.out = read_file(out);
  run.err = read_file(err);
  return run;
}

}  // namespace

ToolRun run_tool(const std::vector<std::string>& arguments, const std::string& input,
                 const std::vector<std::string>& env) {
  std::vector<std::string> argv = {tool_path()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_program(std::move(argv), input, env);
}

ToolRun run_command_line(const std::string& text) {
  const std::filesystem::path program(tool_path());
  const char* const path = std::getenv("PATH");
  return run_program({"/bin/sh", "-c", text}, {},
                     {"PATH=" + program.parent_path().string() + ":" + (path == nullptr ? "/usr/bin:/bin" : path)});
}

}  // namespace preflight::testing
