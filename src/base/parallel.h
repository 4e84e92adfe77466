// Independent pieces of work on as many threads as there are cores; the caller waits. The order is nobody's business.
// Tested by tests/sample_test.cpp: a sample batch is the same however many threads made it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace preflight {

template <typename Work>
void for_each_index(std::int64_t count, const Work& work) {
  constexpr std::int64_t kMostThreads = 16;
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t helpers = std::min({count, cores, kMostThreads}) - 1;
  std::atomic<std::int64_t> next{0};
  const auto take = [&] {
    for (std::int64_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> threads;
  for (std::int64_t i = 0; i < helpers; ++i) threads.emplace_back(take);
  take();
}

}  // namespace preflight
