// The gate that a mutant of a kernel meets: `mutant_gate KERNEL FORM [DIR [CASE]]` runs what `check` runs by default
// for small launches of that kernel, then the kernel's own case lines, until one is off by three times what is allowed.
// DIR holds the kernel sources, the built-in ones without it or where it is empty. Prints one line: "killed check CASE:
// REASON", "killed cases …", "killed by a hair …" where all that fail are off by less, or "survived". Where the only
// device is a simulator it runs the simulator's lines instead, and what that sees of accesses kills, too. With a CASE
// that line is all that is run, as when the sound kernel has to pass what killed; "first" is that of `check`.
// ./dev kernel-mutate starts it once a mutant (tests/mutants/kernel_mutate.py), in a process that may crash or hang.
#include <algorithm>
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
#include "src/opencl/opencl.h"
#include "src/plan/planners.h"
#include "tests/kernels/far_pages.h"
#include "tests/kernels/kernel_lines.h"
#include "tests/kernels/simulator.h"

namespace preflight {
namespace {

std::vector<KernelCase> cases_of_check(std::string_view kernel) {
  std::vector<KernelCase> cases;
  const auto shapes = parse_cases(testing::kernel_lines(kernel, "gate"), "gate");
  if (!shapes || shapes->empty()) {
    std::cout << "broken: " << (shapes ? "no line of the gate runs it" : shapes.error().text()) << '\n';
    std::exit(2);
  }
  for (const KernelCase& shape : *shapes) {
    const auto some = plan::planned_cases(shape);
    cases.insert(cases.end(), some.begin(), some.end());
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

std::vector<KernelCase> far_pages_of(std::string_view kernel) {
  std::vector<KernelCase> cases = far_pages();
  std::erase_if(cases, [&](const KernelCase& c) { return c.kernel != kernel; });
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
bool dies(std::string_view gate, std::vector<KernelCase> cases, const RunOptions& options, bool wants_gpu, Hair& hair,
          std::string& killed) {
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
      killed = "killed " + text;
      return true;
    }
    if (times > hair.times_allowed) hair = {times, text};
    cases.erase(cases.begin(), cases.begin() + (failed - report.cases.begin()) + 1);
  }
  return false;
}

constexpr std::string_view kFirstCase = "first";

std::vector<KernelCase> one_case(std::string_view line) {
  const auto c = parse_case(line);
  if (!c) {
    std::cout << "broken: " << c.error().text() << '\n';
    std::exit(2);
  }
  return {*c};
}

std::vector<KernelCase> simulated_cases(std::string_view kernel, const RunOptions& options) {
  const bool tiles = options.plain_tiles || options.emulated_lanes > 0;
  const auto cases = parse_cases(testing::kernel_lines(kernel, tiles ? "simulator tiles" : "simulator"), "simulated");
  if (!cases) {
    std::cout << "broken: " << cases.error().text() << '\n';
    std::exit(2);
  }
  return *cases;
}

bool dies_of_its_accesses(const std::vector<KernelCase>& cases, const RunOptions& options, Hair& hair,
                          std::string& killed) {
  for (const KernelCase& c : cases) {
    if (dies("simulator", {c}, options, false, hair, killed)) return true;
    if (const std::string said = simulator_said(); !said.empty()) {
      const std::size_t first = said.find_first_not_of("\n ");
      killed =
          fmt::format("killed simulator {}: {}", print_case(c), said.substr(first, said.find('\n', first) - first));
      return true;
    }
  }
  return false;
}

// The line to print of the kernels in options.kernel_dir.
std::string judged(std::string_view kernel, std::string_view form, const std::vector<KernelCase>& only,
                   const RunOptions& options) {
  const bool on_gpu = form.starts_with("gpu");
  Hair hair;
  std::string killed;
  const auto dies_of = [&](std::string_view gate, const std::vector<KernelCase>& cases) {
    return dies(gate, cases, options, on_gpu, hair, killed);
  };
  if (!simulator_log().empty()) {
    if (dies_of_its_accesses(only.empty() ? simulated_cases(kernel, options) : only, options, hair, killed))
      return killed;
  } else if (!only.empty()) {
    if (dies_of("again", only)) return killed;
  } else if (dies_of("check", cases_of_check(kernel)) || dies_of("cases", cases_of_its_file(kernel)) ||
             // Not of a GPU: NVIDIA's driver says that it fills memory behind 4 GiB, and does not.
             dies_of("far pages", on_gpu ? std::vector<KernelCase>{} : far_pages_of(kernel))) {
    return killed;
  }
  if (hair.times_allowed == 0.0) return "survived";
  return fmt::format("killed by a hair, {:.1f} times what is allowed: {}", hair.times_allowed, hair.text);
}

// One line for each folder, as soon as it is known, and one for the sound kernel behind them, of a single case. PoCL
// reads its library of built-ins once for all of them.
int judge_each(std::string_view kernel, std::string_view form, std::span<char*> folders, RunOptions options) {
  const opencl::Session keeps_what_was_read{{}};
  for (const char* folder : folders) {
    options.kernel_dir = folder;
    std::cout << judged(kernel, form, {}, options) << std::endl;
  }
  options.kernel_dir.clear();
  std::cout << judged(kernel, form, {cases_of_check(kernel).front()}, options) << std::endl;
  return 0;
}

int run(std::span<char*> words) {
  if (words.size() < 3) {
    std::cerr << "usage: mutant_gate KERNEL FORM [DIR [CASE] | --each DIR...], FORM one of plain, items, tiles, "
                 "\"sub-groups\", \"narrow sub-groups\", gpu, \"gpu items\"\n";
    return 2;
  }
  const std::string_view kernel = words[1];
  const std::string_view form = words[2];
  RunOptions options{.stop_at_failure = true, .large_cases = true};
  options.as_gpu = form != "plain" && form != "gpu";
  options.plain_tiles = form == "tiles";
  options.emulated_lanes = form == "sub-groups" ? 16 : form == "narrow sub-groups" ? 8 : 0;
  if (words.size() > 3 && words[3] == std::string_view("--each")) {
    return judge_each(kernel, form, words.subspan(4), options);
  }
  if (words.size() > 3) options.kernel_dir = words[3];
  const std::string_view line_of = words.size() > 4 ? words[4] : "";
  const auto only = line_of.empty()         ? std::vector<KernelCase>{}
                    : line_of == kFirstCase ? std::vector{cases_of_check(kernel).front()}
                                            : one_case(line_of);
  const std::string line = judged(kernel, form, only, options);
  std::cout << line << '\n';
  return line == "survived" ? 0 : 1;
}

}  // namespace
}  // namespace preflight

int main(int count, char** words) { return preflight::run({words, static_cast<std::size_t>(count)}); }
