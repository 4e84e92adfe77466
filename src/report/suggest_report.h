// What `suggest` found: launches that hold what is asked, best first, else the nearest miss and what would do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preflight/facts.h"
#include "preflight/report.h"
#include "src/report/style.h"

namespace preflight::report {

// What its kernels did on this machine's device.
struct SuggestedKernel {
  std::string device = {};
  std::size_t cases = 0;
  std::size_t passed = 0;
  std::string not_run = {};  // and why: all of them, or those that the cases do not stand for
};

// One launch that was resolved and checked.
struct SuggestedLaunch {
  std::vector<std::string> arguments;
  Environment env = {};  // variables that it needs
  std::int64_t cards = 1;
  std::int64_t replicas = 1;  // data-parallel, DP attention's ranks included: each holds the tokens of `memory`
  std::int64_t tokens = 0;    // of all replicas
  std::int64_t requests = 0;  // at once
  std::int64_t held = 0;      // of the context asked for
  MemorySummary memory = {};
  int warnings = 0;
  std::vector<std::string> gives_up = {};
  std::optional<SuggestedKernel> kernel = {};  // where kernels were asked for
};

struct NearestMiss {
  std::string why;
  std::vector<std::string> arguments;
  Environment env = {};
};

// Would hold what is asked, but its kernels were wrong here.
struct LeftOut {
  std::vector<std::string> arguments;
  Environment env = {};
  std::string why;
};

// What would do where nothing fits: a shorter context, the checkpoint in another form, more cards.
struct WayOut {
  std::string what;
  std::vector<std::string> arguments;
  Environment env = {};
  std::int64_t tokens = 0;
};

struct Suggestions {
  std::int64_t context = 0;                    // tokens of one request
  std::size_t found = 0;                       // launches that hold it
  std::vector<SuggestedLaunch> launches = {};  // of these, told
  std::vector<LeftOut> left_out = {};
  std::optional<NearestMiss> nearest = {};
  std::vector<WayOut> remedies = {};
  int attempts = 0;
  bool lacks_room = true;  // false: every launch is refused, on any number of cards
  int most_cards = 0;      // that a way out counts with
  bool uncounted = false;  // nothing is known of what the model's weights take
  bool cut_off = false;    // there were more launches to try
};

std::string suggestions_text(const Suggestions& s, const MachineFacts& facts, const Style& style);
std::string suggestions_json(const Suggestions& s, const MachineFacts& facts);

}  // namespace preflight::report
