// How much of the stack what is inside each other may take. Tested by tests/limits_test.cpp.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace preflight {

// Half of what the system gives a thread, which is 1 MB in some services; frames are larger in some builds.
inline std::size_t stack_room() {
  static constexpr rlim_t kUsual = rlim_t{8} << 20U;
  static const std::size_t room = [] {
    rlimit limit{};
    const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return static_cast<std::size_t>((known ? std::min(limit.rlim_cur, kUsual) : kUsual) / 2);
  }();
  return room;
}

// Where the stack is now.
[[gnu::always_inline]] inline std::uintptr_t stack_place() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

}  // namespace preflight
