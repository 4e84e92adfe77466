// Tested by tests/limits_test.cpp.
#include "src/sources/file_steps.h"

#include <algorithm>

#include "src/base/limits.h"

namespace preflight::sources {
namespace {

thread_local std::size_t* steps_left = nullptr;  // of the file that this thread reads
thread_local RunSteps* run = nullptr;            // of all files

}  // namespace

FileSteps::FileSteps()
    : given_(run == nullptr ? limits::kFileSteps : std::min(limits::kFileSteps, run->left_)),
      left_(given_),
      outermost_(steps_left == nullptr) {
  if (outermost_) steps_left = &left_;
}

FileSteps::~FileSteps() {
  if (!outermost_) return;
  steps_left = nullptr;
  if (run == nullptr) return;
  run->left_ -= given_ - left_;
  run->cut_off_ = left_ == 0;
}

RunSteps::RunSteps() : left_(limits::kFileSteps) { run = this; }

RunSteps::~RunSteps() { run = nullptr; }

void RunSteps::add_text(std::size_t bytes) { left_ += bytes * limits::kRunStepsOfAByte; }

bool FileSteps::spent() { return steps_left != nullptr && *steps_left == 0; }

bool FileSteps::take(std::size_t steps) {
  if (steps_left == nullptr) return true;
  const bool enough = steps <= *steps_left;
  *steps_left = enough ? *steps_left - steps : 0;
  return enough;
}

}  // namespace preflight::sources
