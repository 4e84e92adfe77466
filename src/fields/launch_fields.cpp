// The fields of a launch. Tested by tests/launch_fields_test.cpp.
#include "preflight/launch_fields.h"

#include <utility>

namespace preflight {

LaunchFields::LaunchFields(const LaunchFields& other)
    : defaults_(other.defaults_), slots_(other.slots_), size_(other.size_) {
  blocks_.reserve(other.blocks_.size());
  for (const auto& block : other.blocks_) blocks_.push_back(std::make_unique<Block>(*block));
}

LaunchFields::LaunchFields(LaunchFields&& other) noexcept
    : defaults_(std::exchange(other.defaults_, nullptr)),
      slots_(other.slots_),
      blocks_(std::move(other.blocks_)),
      size_(std::exchange(other.size_, 0)) {}

LaunchFields& LaunchFields::operator=(LaunchFields other) noexcept {
  defaults_ = other.defaults_;
  slots_ = other.slots_;
  blocks_ = std::move(other.blocks_);
  size_ = other.size_;
  return *this;
}

void LaunchFields::set(Field f, Value value) {
  std::uint16_t& slot = slots_[static_cast<std::size_t>(f)];
  if (slot == 0) {
    if (size_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<Block>());
    slot = static_cast<std::uint16_t>(++size_);
  }
  const std::size_t k = slot - 1U;
  (*blocks_[k / kBlock])[k % kBlock] = {f, std::move(value)};
}

}  // namespace preflight
