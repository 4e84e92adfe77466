// The fields of one change. Tested by tests/launch_fields_test.cpp.
#include <utility>

#include "preflight/launch.h"

namespace preflight {

FieldValues::FieldValues(const FieldValues& other) = default;
FieldValues::FieldValues(FieldValues&& other) noexcept = default;
FieldValues& FieldValues::operator=(const FieldValues& other) = default;
FieldValues& FieldValues::operator=(FieldValues&& other) noexcept = default;
FieldValues::~FieldValues() = default;

void FieldValues::push_back(FieldValue item) {
  if (size_ == 0) {
    one_ = std::move(item);
  } else {
    if (size_ == 1) several_.assign(1, one_);
    several_.push_back(std::move(item));
  }
  ++size_;
}

}  // namespace preflight
