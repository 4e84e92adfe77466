// A child process that runs kernels which are not ours on batches in files: src/kernels/peer/ask_kernels.py, in the
// interpreter that holds them. Every answer is read as a stranger's: what is not understood is a reason, not a result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/kernel_run.h"
#include "src/base/child_process.h"

namespace preflight::peer {

// A folder that only this user can look into; gone with the object.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  PrivateFolder(const PrivateFolder&) = delete;
  ~PrivateFolder();
  [[nodiscard]] std::string file(std::string_view name) const;

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct Ready {
  KernelPeer peer;
  std::vector<std::string> types;  // of tensors that it can take
};

struct Ran {
  std::vector<Tensor> outputs;
  std::string function;
  std::string imported;
  std::vector<std::string> notes;
  std::vector<std::string> broken;  // outputs around which something was written
};

struct Answer {
  std::optional<Ran> ran;
  std::string skipped;   // why it was not run
  std::string error;     // what the kernel raised
  bool lacking = false;  // of a skipped one: the environment does not hold the kernel
};

class PeerProcess {
 public:
  // Starts the interpreter and waits until it has found its kernels.
  static Result<PeerProcess> start(const PeerChoice& choice);

  [[nodiscard]] const Ready& ready() const { return ready_; }
  // The kernel's outputs `wanted`. An error of this function ends the conversation: nothing more is to be had.
  Result<Answer> run(const SampleBatch& batch, const std::vector<OutputSpec>& wanted);
  [[nodiscard]] const std::string& log() const { return child_.log(); }

 private:
  PeerProcess(ChildProcess child, PrivateFolder folder, PeerChoice choice)
      : child_(std::move(child)), folder_(std::move(folder)), choice_(std::move(choice)) {}
  Result<std::string> ask(const std::string& line, const std::string& doing);

  ChildProcess child_;
  PrivateFolder folder_;
  PeerChoice choice_;
  Ready ready_;
};

}  // namespace preflight::peer
