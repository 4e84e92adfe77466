#include "tests/mutation/mutation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace preflight::mutation {
namespace {

constexpr std::size_t kPlaces = 1 << 26;

struct Altered {
  std::int64_t site = -1;
  int shift = 0;
};

// Nothing to destroy: it is read to the very end.
struct Choice {
  std::array<Altered, 256> altered{};
  std::size_t count = 0;               // those in use, sorted
  const char* reached_file = nullptr;  // where to write which sites a run came by
};

Choice read_choice() {
  Choice choice;
  const char* at = std::getenv("PREFLIGHT_MUTANT");
  while (at != nullptr && *at != '\0' && choice.count < choice.altered.size()) {
    char* end = nullptr;
    Altered altered{.site = std::strtoll(at, &end, 10)};
    if (*end == ':') altered.shift = static_cast<int>(std::strtol(end + 1, &end, 10));
    choice.altered[choice.count++] = altered;
    at = *end == ',' ? end + 1 : nullptr;
  }
  std::ranges::sort(std::span(choice.altered).first(choice.count), {}, &Altered::site);
  choice.reached_file = std::getenv("PREFLIGHT_REACHED");
  return choice;
}

std::array<std::atomic<bool>, kPlaces>& reached() {
  static std::array<std::atomic<bool>, kPlaces> places;
  return places;
}

// Before every table of the program is made.
__attribute__((init_priority(101))) const Choice kChoice = read_choice();

// At whichever end: the tests return from main, the program leaves by quick_exit.
__attribute__((destructor)) void write_reached() {
  if (kChoice.reached_file == nullptr) return;
  std::FILE* file = std::fopen(kChoice.reached_file, "a");  // a test may start processes
  if (file == nullptr) return;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    if (reached()[place].load(std::memory_order_relaxed)) std::fprintf(file, "%zu\n", place);
  }
  std::fclose(file);
}

__attribute__((constructor)) void write_reached_at_a_quick_exit() { std::at_quick_exit(write_reached); }

}  // namespace

std::optional<int> shift_of(std::int64_t site) {
  if (kChoice.reached_file != nullptr)
    reached()[static_cast<std::size_t>(site) % kPlaces].store(true, std::memory_order_relaxed);
  const auto sites = std::span(kChoice.altered).first(kChoice.count);
  const auto at = std::ranges::lower_bound(sites, site, {}, &Altered::site);
  return at != sites.end() && at->site == site ? std::optional(at->shift) : std::nullopt;
}

}  // namespace preflight::mutation
