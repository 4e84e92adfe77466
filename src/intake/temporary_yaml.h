// A --config text as a file under a name of its own, gone with the object.
#pragma once

#include <string>
#include <utility>

namespace preflight::commands {

class TemporaryYaml {
 public:
  explicit TemporaryYaml(const std::string& text);
  TemporaryYaml(const TemporaryYaml&) = delete;
  TemporaryYaml& operator=(const TemporaryYaml&) = delete;
  TemporaryYaml(TemporaryYaml&& other) noexcept : path_(std::exchange(other.path_, {})), written_(other.written_) {}
  TemporaryYaml& operator=(TemporaryYaml&&) = delete;
  ~TemporaryYaml();
  [[nodiscard]] bool written() const { return written_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // "" when it cannot be made

 private:
  std::string path_;
  bool written_ = false;
};

}  // namespace preflight::commands
