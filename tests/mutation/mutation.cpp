#include "tests/mutation/mutation.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace preflight::mutation {
namespace {

constexpr std::size_t kPlaces = 1 << 26;

struct Choice {
  std::int64_t site = -1;
  int shift = 0;
  const char* reached_file = nullptr;  // where to write which sites a run came by
};

Choice read_choice() {
  Choice choice;
  if (const char* mutant = std::getenv("PREFLIGHT_MUTANT")) {
    char* end = nullptr;
    choice.site = std::strtoll(mutant, &end, 10);
    choice.shift = *end == ':' ? std::atoi(end + 1) : 0;
  }
  choice.reached_file = std::getenv("PREFLIGHT_REACHED");
  return choice;
}

std::array<std::atomic<bool>, kPlaces>& reached() {
  static std::array<std::atomic<bool>, kPlaces> places;
  return places;
}

// Before every table of the program is made.
__attribute__((init_priority(101))) const Choice kChoice = read_choice();

__attribute__((destructor)) void write_reached() {
  if (kChoice.reached_file == nullptr) return;
  std::FILE* file = std::fopen(kChoice.reached_file, "a");  // a test may start processes
  if (file == nullptr) return;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    if (reached()[place].load(std::memory_order_relaxed)) std::fprintf(file, "%zu\n", place);
  }
  std::fclose(file);
}

}  // namespace

bool altered(std::int64_t site) {
  if (kChoice.reached_file != nullptr)
    reached()[static_cast<std::size_t>(site) % kPlaces].store(true, std::memory_order_relaxed);
  return site == kChoice.site;
}

int shift() { return kChoice.shift; }

}  // namespace preflight::mutation
