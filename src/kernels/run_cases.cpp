// Runs and judges cases: sample batch, kernel beside reference, verdict. The entry points of kernel_run.h.
// Tested by tests/kernels/runner_test.cpp.
#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "preflight/reference.h"
#include "src/base/embedded.h"
#include "src/kernels/defects.h"
#include "src/kernels/kernel_run.h"
#include "src/kernels/tensor_parallel.h"

namespace preflight {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double timed_run(const Kernel& kernel, KernelRun& run) {
  const auto start = Clock::now();
  kernel.launch(run, run.batch());
  run.finish();
  return seconds_since(start);
}

Timing repeat_timing(const Kernel& kernel, KernelRun& run, const SampleBatch& batch, int repeat) {
  std::vector<double> seconds;
  run.leave_local_memory_alone();
  for (int i = 0; i < repeat; ++i) seconds.push_back(timed_run(kernel, run));
  std::ranges::sort(seconds);
  const Work work = kernel.work(batch.kernel_case);
  return {seconds[seconds.size() / 2], seconds.front(), repeat, work.flops, work.bytes};
}

// What the device wrote: outputs, the buffers whose guard bands were hit, and inputs.
struct Execution {
  std::vector<Tensor> outputs;
  std::vector<std::string> broken;
  std::vector<std::string> changed;
  double seconds = 0.0;

  void add_writes(KernelRun& run) {
    std::ranges::copy(run.broken_canaries(), std::back_inserter(broken));
    std::ranges::copy(run.changed_inputs(), std::back_inserter(changed));
  }
};

// All ranks' shares one after the other, gathered. The ranks of a launch run side by side; here only the result counts.
Execution execute(opencl::Session& session, const Kernel& kernel, const SampleBatch& batch, const RunOptions& options) {
  Execution done;
  for (std::int64_t rank = 0; rank < batch.kernel_case.tp; ++rank) {
    const SampleBatch part = tensor_parallel::shard(batch, rank, options.defect);
    KernelRun run(session, kernel, part, options);
    done.seconds += timed_run(kernel, run);
    tensor_parallel::gather(batch, rank, run.outputs(), done.outputs, options.defect);
    done.add_writes(run);
  }
  return done;
}

Execution execute_whole(const Kernel& kernel, KernelRun& run) {
  Execution done;
  done.seconds = timed_run(kernel, run);
  done.outputs = run.outputs();
  done.add_writes(run);
  return done;
}

// A case before the device takes it: whether it runs, and its sample batch, made in a thread of its own.
class Preparation {
 public:
  Preparation(const KernelCase& kernel_case, bool large) : kernel_(find_kernel(kernel_case.kernel)) {
    if (kernel_ == nullptr) {
      skip_ = fmt::format("no kernel {} in this build", kernel_case.kernel);
      return;
    }
    skip_ = tensor_parallel::why_not(kernel_case);
    if (skip_.empty()) skip_ = kernel_->why_not(tensor_parallel::rank_case(kernel_case));
    if (skip_.empty()) skip_ = why_too_large(kernel_case, large);
    if (!skip_.empty()) return;
    batch_ = std::async(std::launch::async, [kernel = kernel_, kernel_case] { return kernel->sample(kernel_case); });
  }

  [[nodiscard]] const Kernel& kernel() const { return *kernel_; }
  [[nodiscard]] const std::string& why_not() const { return skip_; }  // "" = the case runs
  Result<SampleBatch> batch() { return batch_.get(); }

 private:
  const Kernel* kernel_;
  std::string skip_;
  std::future<Result<SampleBatch>> batch_;
};

// The reference runs beside the compiler and the kernel.
void run_and_judge(opencl::Session& session, const Kernel& kernel, const SampleBatch& batch, const RunOptions& options,
                   CaseReport& report) {
  auto reference = std::async(std::launch::async, [&] {
    const auto start = Clock::now();
    auto expected = kernel.reference(batch);
    report.reference_seconds = seconds_since(start);
    return expected;
  });
  const std::optional<SampleBatch> spoiled =
      options.defect == 0 ? std::nullopt : std::optional(defects::spoil(batch, options.defect));
  const SampleBatch& given = spoiled ? *spoiled : batch;
  std::optional<KernelRun> run;
  if (batch.kernel_case.tp == 1) run.emplace(session, kernel, given, options);
  const Execution done = run ? execute_whole(kernel, *run) : execute(session, kernel, given, options);
  report.kernel_seconds = done.seconds;
  std::vector<Tolerance> limits;
  for (const Tensor& output : done.outputs) limits.push_back(kernel.tolerance(batch.kernel_case, output.name));
  report.verdict = judge(done.outputs, reference.get(), limits, done.broken, done.changed);
  if (batch.kernel_case.must_fail) report.verdict = refused_by_design(report.verdict);
  if (options.repeat > 0 && run) report.timing = repeat_timing(kernel, *run, batch, options.repeat);
}

bool ends_the_session(DeviceErrorKind kind) { return kind == DeviceErrorKind::kDeviceLost; }

CaseReport run_one(opencl::Session& session, const KernelCase& kernel_case, Preparation& prepared,
                   const RunOptions& options, std::optional<DeviceError>& lost) {
  CaseReport report{.kernel_case = kernel_case, .case_line = print_case(kernel_case)};
  if (!prepared.why_not().empty()) {
    report.verdict = {VerdictWord::kSkipped, prepared.why_not(), {}};
    return report;
  }
  const auto batch = prepared.batch();
  if (!batch) {
    report.verdict = {VerdictWord::kError, batch.error().text(), {}};
    return report;
  }
  try {
    run_and_judge(session, prepared.kernel(), *batch, options, report);
  } catch (const opencl::Failure& failure) {
    const DeviceError& error = failure.error();
    report.verdict = {
        VerdictWord::kError, error.log.empty() ? error.message : fmt::format("{}\n{}", error.message, error.log), {}};
    report.fault = error;
    if (ends_the_session(error.kind)) lost = error;
  }
  return report;
}

CaseReport not_run(const KernelCase& kernel_case, const std::string& why) {
  return {
      .kernel_case = kernel_case, .case_line = print_case(kernel_case), .verdict = {VerdictWord::kSkipped, why, {}}};
}

}  // namespace

VerdictWord KernelReport::worst() const {
  VerdictWord word = cases.empty() ? VerdictWord::kSkipped : VerdictWord::kPass;
  for (const CaseReport& report : cases) word = std::max(word, report.verdict.word);
  return error && !is_absence(error->kind) ? VerdictWord::kError : word;
}

bool KernelReport::has(VerdictWord word) const {
  return std::ranges::any_of(cases, [&](const CaseReport& report) { return report.verdict.word == word; });
}

bool KernelReport::lacking() const { return std::ranges::any_of(cases, &CaseReport::lacking); }

KernelReport run_cases(const std::vector<KernelCase>& cases, const DeviceChoice& device, const RunOptions& options,
                       const RunObserver& observer) {
  KernelReport report;
  std::optional<opencl::Session> session;
  // One case ahead, so that the device does not wait for the next batch, and no more than two of them are held.
  std::optional<Preparation> next;
  const auto prepare = [&](std::size_t i) {
    next.reset();
    if (i < cases.size()) next.emplace(cases[i], options.large_cases);
  };
  prepare(0);
  try {
    session.emplace(device);
    report.device = session->info();
    if (observer.opened) observer.opened(*report.device);
  } catch (const opencl::Failure& failure) {
    report.error = failure.error();
  }
  bool stopped = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const KernelCase& kernel_case = cases[i];
    if (stopped) {
      report.cases.push_back(not_run(kernel_case, "a case before it failed"));
    } else if (report.error) {
      report.cases.push_back(not_run(kernel_case, report.error->message));
    } else {
      Preparation prepared = std::move(*next);
      prepare(i + 1);
      report.cases.push_back(run_one(*session, kernel_case, prepared, options, report.error));
      stopped = options.stop_at_failure && report.cases.back().verdict.word >= VerdictWord::kFail;
    }
    if (observer.finished) observer.finished(report.cases.back());
  }
  return report;
}

Result<KernelReport> run_case(std::string_view case_line, const DeviceChoice& device, const RunOptions& options) {
  auto kernel_case = parse_case(case_line);
  if (!kernel_case) return tl::make_unexpected(kernel_case.error());
  return run_cases({*kernel_case}, device, options);
}

Result<std::vector<KernelCase>> built_in_cases(std::string_view kernel) {
  std::vector<KernelCase> cases;
  for (const Kernel& row : kernel_table()) {
    if (!kernel.empty() && row.name != kernel) continue;
    const auto files = embedded::kernel_cases();
    const auto file = std::ranges::find(files, row.cases, &embedded::EmbeddedFile::name);
    if (file == files.end()) return failure(fmt::format("{} has no case file {}", row.name, row.cases));
    auto parsed = parse_cases(file->text, file->name);
    if (!parsed) return parsed;
    cases.insert(cases.end(), parsed->begin(), parsed->end());
  }
  if (cases.empty()) return failure(fmt::format("no kernel is called '{}'", kernel));
  return cases;
}

std::vector<std::string_view> kernel_names() {
  std::vector<std::string_view> names;
  for (const Kernel& row : kernel_table()) names.push_back(row.name);
  return names;
}

}  // namespace preflight
