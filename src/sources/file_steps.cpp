// Tested by tests/limits_test.cpp.
#include "src/sources/file_steps.h"

#include "src/base/limits.h"

namespace preflight::sources {
namespace {

thread_local std::size_t* steps_left = nullptr;  // of the file that this thread reads

}  // namespace

FileSteps::FileSteps() : left_(limits::kFileSteps), outermost_(steps_left == nullptr) {
  if (outermost_) steps_left = &left_;
}

FileSteps::~FileSteps() {
  if (outermost_) steps_left = nullptr;
}

bool FileSteps::take(std::size_t steps) {
  if (steps_left == nullptr) return true;
  const bool enough = steps <= *steps_left;
  *steps_left = enough ? *steps_left - steps : 0;
  return enough;
}

}  // namespace preflight::sources
