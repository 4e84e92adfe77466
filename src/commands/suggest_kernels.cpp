#include "src/commands/suggest_kernels.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace preflight::commands {
namespace {

enum class Kind { kWhole, kPart, kNotRun, kBad };

struct Judged {
  Kind kind = Kind::kNotRun;
  report::SuggestedKernel kernel;
  std::string why_bad;
  Exit status = kOk;
};

std::string skipped_text(const KernelReport& kernel) {
  std::vector<std::string> parts;
  for (const PlanSkip& skip : kernel.skipped) parts.push_back(fmt::format("{}: {}", skip.kernel, skip.reason));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The first case that was not right.
std::string fault_text(const Report& report) {
  if (const DeviceError* fault = report.device_fault())
    return fmt::format("{}: {}", name_of(fault->kind), fault->message);
  const auto& cases = report.kernel->cases;
  const auto bad = std::ranges::find_if(cases, [](const CaseReport& c) {
    return c.verdict.word == VerdictWord::kFail || c.verdict.word == VerdictWord::kMistrusted;
  });
  return bad == cases.end() ? std::string(name_of(report.kernel->worst()))
                            : fmt::format("{} in {}", name_of(bad->verdict.word), bad->case_line);
}

Judged not_run(const Report& report) {
  Judged out;
  out.kernel.not_run = report.absence ? fmt::format("{}: {}", name_of(report.absence->kind), report.absence->message)
                                      : report.kernel_not_run;
  out.status = report.absence ? exit_of(report.absence->kind) : kNotRun;
  return out;
}

Judged judged(const Report& report) {
  if (!report.kernel) return not_run(report);
  const KernelReport& k = *report.kernel;
  Judged out;
  out.kernel.cases = k.cases.size();
  out.kernel.passed = static_cast<std::size_t>(
      std::ranges::count_if(k.cases, [](const CaseReport& c) { return c.verdict.word == VerdictWord::kPass; }));
  if (k.device) out.kernel.device = k.device->name;
  switch (report.own_outcome()) {
    case KernelOutcome::kRight:
      out.kind = Kind::kWhole;
      break;
    case KernelOutcome::kUnproven:
      out.kind = out.kernel.passed > 0 ? Kind::kPart : Kind::kNotRun;
      out.kernel.not_run = skipped_text(k);
      out.status = out.kernel.passed > 0 ? kOk : kNotRun;
      break;
    default:
      out.kind = Kind::kBad;
      out.why_bad = fault_text(report);
      out.status = exit_of(report);
  }
  return out;
}

// Launches of the same cases are run once; without a device nothing is run again.
class Runs {
 public:
  Runs(const Search& s, const KernelOptions& options) : search_(s), options_(options) {}

  Judged of(const Suggestion& c) {
    if (absent_) return *absent_;
    Report report;
    auto resolved = resolve_words(search_.inputs, c.arguments, {}, environment_of(search_, c));
    if (!resolved) {
      report.kernel_not_run = resolved.error().text();
      return not_run(report);
    }
    report.launch = std::move(resolved->launch);
    if (report.launch.accepted() && report.launch.model) report.plan = derive_plan(report.launch);
    const auto [known, fresh] = known_.try_emplace(key_of(report));
    if (fresh) {
      run_kernel(options_, report);
      known->second = judged(report);
      if (report.absence) absent_ = known->second;
    }
    return known->second;
  }

 private:
  static std::vector<std::string> key_of(const Report& report) {
    std::vector<std::string> key;
    if (!report.plan) return key;
    for (const KernelCase& c : report.plan->all_cases()) key.push_back(print_case(c));
    for (const PlanSkip& skip : report.plan->skipped) key.push_back(skip.kernel + ": " + skip.reason);
    return key;
  }

  const Search& search_;
  const KernelOptions& options_;
  std::map<std::vector<std::string>, Judged> known_;
  std::optional<Judged> absent_;
};

}  // namespace

JudgedLaunches judge_kernels(const Search& s, const KernelOptions& options, int most) {
  JudgedLaunches out;
  Runs runs(s, options);
  std::vector<std::pair<const Suggestion*, Judged>> kept;
  int passed = 0;
  Exit bad = kOk;
  for (const Suggestion& c : s.found) {
    if (passed >= most) break;
    Judged one = runs.of(c);
    if (one.kind == Kind::kBad) {
      out.left_out.push_back({.arguments = c.arguments, .env = c.env, .why = one.why_bad});
      bad = heavier(bad, one.status);
      continue;
    }
    passed += one.kind == Kind::kWhole || one.kind == Kind::kPart ? 1 : 0;
    kept.emplace_back(&c, std::move(one));
  }
  std::ranges::stable_sort(kept, {}, [](const auto& k) { return k.second.kind; });
  out.status = kept.empty() ? bad : kept.front().second.status;
  for (auto& [launch, one] : kept) {
    out.kept.push_back(*launch);
    out.kernels.push_back(std::move(one.kernel));
  }
  return out;
}

}  // namespace preflight::commands
