// LaunchFields: the value of every Field of one launch.
//
// A launch sets some 40 of 588 fields; all others are its release's defaults, which are read from their table. What
// copies, compares or destroys a launch's fields does so with those that were set.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "preflight/fields.h"

namespace preflight {

class LaunchFields {
 public:
  LaunchFields() = default;  // of no launch: empty, nothing can be read
  explicit LaunchFields(Release release) : defaults_(field_defaults(release).data()) {}
  LaunchFields(const LaunchFields& other);
  LaunchFields(LaunchFields&& other) noexcept;
  LaunchFields& operator=(LaunchFields other) noexcept;
  ~LaunchFields() = default;

  [[nodiscard]] bool empty() const { return defaults_ == nullptr; }
  [[nodiscard]] const Value& operator[](Field f) const {
    const auto i = static_cast<std::size_t>(f);
    return slots_[i] == 0 ? defaults_[i] : own(slots_[i] - 1U).value;
  }
  // References to the values of other fields stay good.
  void set(Field f, Value value);

  // visit(Field, const Value&) for every field that was set, in the enum's order.
  template <typename Visit>
  void for_each_set(const Visit& visit) const {
    std::array<std::uint64_t, (kFieldCount + 63) / 64> is_set{};
    for (std::size_t k = 0; k < size_; ++k) {
      const auto i = static_cast<std::size_t>(own(k).field);
      is_set[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    for (std::size_t word = 0; word < is_set.size(); ++word) {
      for (std::uint64_t left = is_set[word]; left != 0; left &= left - 1) {
        const auto f = static_cast<Field>(64 * word + static_cast<std::size_t>(std::countr_zero(left)));
        visit(f, (*this)[f]);
      }
    }
  }

 private:
  struct Own {
    Field field{};
    Value value;
  };
  // Values in blocks that never move.
  static constexpr std::size_t kBlock = 20;
  using Block = std::array<Own, kBlock>;

  [[nodiscard]] const Own& own(std::size_t k) const { return (*blocks_[k / kBlock])[k % kBlock]; }

  const Value* defaults_ = nullptr;                 // of the release, one per Field; they stay
  std::array<std::uint16_t, kFieldCount> slots_{};  // 0: the default; else 1 + its place among the own values
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t size_ = 0;  // own values
};

}  // namespace preflight
