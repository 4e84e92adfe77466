// Runs the built program as a user would and returns what it printed and its exit status.
#pragma once

#include <string>
#include <vector>

namespace preflight::testing {

struct ToolRun {
  int status = -1;  // exit status; 128 + signal when it was killed
  std::string out;
  std::string err;
  long peak_kilobytes = 0;  // the most memory that the program, or one it started, held
};

// Arguments go to the program as they are, without a shell; `input` is its standard input. `env` entries are NAME=VALUE
// added to this process's environment. The working directory is the source tree.
ToolRun run_tool(const std::vector<std::string>& arguments, const std::string& input = {},
                 const std::vector<std::string>& env = {});

// A command line as it stands in the documentation, run by a shell that finds the built program by its name.
ToolRun run_command_line(const std::string& text);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

// Until the files written so far are old enough to be remembered: one of this moment may be written again unseen.
void wait_until_settled();

// A directory that goes away with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }
  // Writes a file below the directory, making folders as needed; returns its path.
  std::string file(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace preflight::testing
