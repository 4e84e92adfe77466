// The gate that a mutant of a kernel meets: `mutant_gate KERNEL FORM [DIR]` runs what `check` runs by default for small
// launches of that kernel, then the kernel's own case lines, until one is off by three times what is allowed. DIR holds
// the kernel sources, the built-in ones without it. Prints one line: "killed check CASE: REASON", "killed cases …",
// "killed by a hair …" where all that fail are off by less, or "survived". Where the only device is a simulator it runs
// the simulator's lines instead, and what that sees of accesses kills, too.
// ./dev kernel-mutate starts it once a mutant (tests/mutants/kernel_mutate.py), in a process that may crash or hang.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "preflight/kernel_case.h"
#include "preflight/kernel_run.h"
#include "src/plan/planners.h"
#include "tests/kernels/far_pages.h"
#include "tests/kernels/simulator.h"

namespace preflight {
namespace {

// Few heads, as of one rank: what counts are the lengths, splits and regimes of the plan. Every kernel has a shape
// here.
constexpr std::array<std::string_view, 16> kLaunches{
    "mla_decode --heads 6 --latent 128 --rope 32 --cache-seqlens 1,63,64,65,161",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 64 --cache-seqlens 1,63,64,65,161",
    "paged_decode --heads 4 --kv-heads 2 --head-dim 64 --window 127 --sinks --kv-dtype fp8_e4m3 --k-scale 0.5 "
    "--v-scale 0.25 --cache-seqlens 127,128,129,256",
    "paged_decode --heads 6 --kv-heads 2 --head-dim 64 --v-head-dim 32 --softcap 50 --page 16 --cache-seqlens "
    "1,15,16,17,41,133",
    "local_decode --heads 4 --kv-heads 2 --head-dim 64 --chunk 128",
    "merge_state --heads 3 --head-dim 64",
    "mrope --heads 4 --kv-heads 1 --head-dim 96 --rotary 64 --sections 12,10,10 --interleaved",
    "mrope --heads 4 --kv-heads 2 --head-dim 64 --sections 8,12,12",
    "mrope --heads 4 --kv-heads 2 --head-dim 64 --sections 8,12,12 --adjacent-pairs",
    "gated_delta_step --heads 2 --v-heads 4 --head-dim 64 --l2norm",
    "gated_delta_chunk --heads 2 --v-heads 4 --head-dim 64 --l2norm",
    "causal_conv1d --heads 2 --v-heads 4 --head-dim 32 --window 3",
    "page_table --page 16",
    "page_table --page 64",
    "kv_indices --page 1",
    "kv_indices --page 64",
};

std::vector<KernelCase> cases_of_check(std::string_view kernel) {
  std::vector<KernelCase> cases;
  for (const std::string_view launch : kLaunches) {
    const auto shape = parse_case(launch);
    if (!shape || shape->kernel != kernel) continue;
    const auto some = plan::planned_cases(*shape);
    cases.insert(cases.end(), some.begin(), some.end());
  }
  if (cases.empty()) {
    std::cout << "broken: no launch here runs " << kernel << '\n';
    std::exit(2);
  }
  return cases;
}

std::vector<KernelCase> cases_of_its_file(std::string_view kernel) {
  auto cases = built_in_cases(kernel);
  if (!cases) {
    std::cout << "broken: " << cases.error().text() << '\n';
    std::exit(2);
  }
  std::erase_if(*cases, [](const KernelCase& c) { return c.must_fail; });
  return *cases;
}

std::vector<KernelCase> far_pages(std::string_view kernel) {
  std::vector<KernelCase> cases;
  for (const std::string_view line : kFarPages) {
    if (const auto c = parse_case(line); c && c->kernel == kernel) cases.push_back(*c);
  }
  return cases;
}

// Caught by less is caught by luck: another compiler, another order of sums, and it passes.
constexpr double kMargin = 3.0;

// What to print of a mutant that was off by more than is allowed, and by less than that times the margin.
struct Hair {
  double times_allowed = 0.0;
  std::string text;
};

double margin_of(const CaseReport& report) {
  return report.verdict.word == VerdictWord::kFail ? report.verdict.times_allowed
                                                   : std::numeric_limits<double>::infinity();
}

// Goes on behind a case that a mutant fails by a hair.
bool dies(std::string_view gate, std::vector<KernelCase> cases, const RunOptions& options, bool wants_gpu, Hair& hair) {
  while (!cases.empty()) {
    const KernelReport report = run_cases(cases, {}, options);
    if (wants_gpu && report.device && !report.device->is_gpu) {
      std::cout << "broken: " << report.device->name << " is no GPU\n";
      std::exit(2);
    }
    const auto failed =
        std::ranges::find_if(report.cases, [](const CaseReport& c) { return c.verdict.word != VerdictWord::kPass; });
    if (failed == report.cases.end()) return false;
    const double times = margin_of(*failed);
    const std::string text = fmt::format("{} {}: {}", gate, failed->case_line,
                                         failed->verdict.reason.substr(0, failed->verdict.reason.find('\n')));
    if (times >= kMargin) {
      std::cout << "killed " << text << '\n';
      return true;
    }
    if (times > hair.times_allowed) hair = {times, text};
    cases.erase(cases.begin(), cases.begin() + (failed - report.cases.begin()) + 1);
  }
  return false;
}

bool dies_of_its_accesses(std::string_view kernel, const RunOptions& options, Hair& hair) {
  const bool tiles = options.plain_tiles || options.emulated_lanes > 0;
  const std::span<const std::string_view> all = tiles ? std::span<const std::string_view>(kSimulatedTiles) : kSimulated;
  for (const std::string_view lines : all) {
    if (!lines.starts_with(std::string(kernel) + " ")) continue;
    const auto cases = parse_cases(lines, "simulated");
    for (const KernelCase& c : *cases) {
      if (dies("simulator", {c}, options, false, hair)) return true;
      if (const std::string said = simulator_said(); !said.empty()) {
        const std::size_t first = said.find_first_not_of("\n ");
        std::cout << "killed simulator " << print_case(c) << ": " << said.substr(first, said.find('\n', first) - first)
                  << '\n';
        return true;
      }
    }
  }
  return false;
}

int run(std::span<char*> words) {
  if (words.size() < 3) {
    std::cerr << "usage: mutant_gate KERNEL plain|items|tiles|sub-groups|\"narrow sub-groups\"|gpu [DIR]\n";
    return 2;
  }
  const std::string_view kernel = words[1];
  const std::string_view form = words[2];
  RunOptions options{.stop_at_failure = true, .large_cases = true};
  if (words.size() > 3) options.kernel_dir = words[3];
  options.as_gpu = form != "plain" && form != "gpu";
  options.plain_tiles = form == "tiles";
  options.emulated_lanes = form == "sub-groups" ? 16 : form == "narrow sub-groups" ? 8 : 0;
  const bool on_gpu = form == "gpu";
  Hair hair;
  if (!simulator_log().empty()) {
    if (dies_of_its_accesses(kernel, options, hair)) return 1;
  } else {
    // Not of a GPU: NVIDIA's driver says that it fills memory behind 4 GiB, and does not.
    const auto far = on_gpu ? std::vector<KernelCase>{} : far_pages(kernel);
    if (dies("check", cases_of_check(kernel), options, on_gpu, hair) ||
        dies("cases", cases_of_its_file(kernel), options, on_gpu, hair) ||
        dies("far pages", far, options, on_gpu, hair)) {
      return 1;
    }
  }
  if (hair.times_allowed == 0.0) {
    std::cout << "survived\n";
    return 0;
  }
  std::cout << fmt::format("killed by a hair, {:.1f} times what is allowed: {}\n", hair.times_allowed, hair.text);
  return 1;
}

}  // namespace
}  // namespace preflight

int main(int count, char** words) { return preflight::run({words, static_cast<std::size_t>(count)}); }
