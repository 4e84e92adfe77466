// How fast the decode kernels are, and what share that is of what the device can do: fp32 multiply-adds, memory read,
// memory copied, each measured in the same run and in turns with the kernel.
//
//   kernels_bench [--case 'CASE LINE']… [options of Google Benchmark]
//   PREFLIGHT_DEVICE      which device (as --device of check); first GPU, else first
//   PREFLIGHT_KERNEL_DIR  kernel sources there instead of the embedded ones
// Timed is launch to finish, work that is split merged again. docs/kernels.md keeps the results.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "src/kernels/kernel_run.h"
#include "tests/bench/device_peaks.h"

namespace preflight::bench {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

opencl::Session& session() {
  static opencl::Session opened({from_environment("PREFLIGHT_DEVICE")});
  return opened;
}

std::string repeated(std::string_view word, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += fmt::format("{}{}", i == 0 ? "" : ",", word);
  return out;
}

// What a CPU and a GPU are asked: a GPU needs a batch that fills it and that its caches cannot hold.
std::vector<std::string> default_cases(const DeviceInfo& device) {
  if (device.is_cpu) {
    return {"mla_decode --heads 16 --kv-splits 2 --cache-seqlens 4096",
            "mla_decode --heads 16 --cache-seqlens " + repeated("4096", 4),
            "mla_decode --heads 128 --cache-seqlens 4096",
            "paged_decode --heads 32 --kv-heads 8 --cache-seqlens " + repeated("4096", 8)};
  }
  return {"mla_decode --heads 16 --kv-splits 3 --cache-seqlens " + repeated("4096", 128),
          "mla_decode --heads 128 --cache-seqlens " + repeated("4096", 64),
          "paged_decode --heads 32 --kv-heads 8 --kv-splits 4 --cache-seqlens " + repeated("4096", 64)};
}

// One case with its buffers on the device.
struct Subject {
  KernelCase kernel_case;
  const Kernel* kernel = nullptr;
  SampleBatch batch;
  std::unique_ptr<KernelRun> run;
};

std::unique_ptr<Subject> prepare(const std::string& line, std::string& why_not) {
  const auto kernel_case = parse_case(line);
  if (!kernel_case) {
    why_not = kernel_case.error().text();
    return nullptr;
  }
  auto subject = std::make_unique<Subject>();
  subject->kernel_case = *kernel_case;
  subject->kernel = find_kernel(kernel_case->kernel);
  auto batch = subject->kernel->sample(*kernel_case);
  if (!batch) {
    why_not = batch.error().text();
    return nullptr;
  }
  subject->batch = std::move(*batch);
  RunOptions options;
  options.kernel_dir = from_environment("PREFLIGHT_KERNEL_DIR");
  options.repeat = 1;  // timed: compiled with the optimiser
  subject->run = std::make_unique<KernelRun>(session(), *subject->kernel, subject->batch, options);
  return subject;
}

Elapsed timed_launches(Subject& subject, int launches) {
  Elapsed time = elapsed(session().info().compute_units, [&] {
    for (int i = 0; i < launches; ++i) subject.kernel->launch(*subject.run, subject.batch);
    subject.run->finish();
  });
  return {time.wall / launches, time.busy / launches};
}

void run_case_line(benchmark::State& state, const std::string& line) try {
  std::string why_not;
  const auto subject = prepare(line, why_not);
  if (subject == nullptr) {
    state.SkipWithError(why_not.c_str());
    return;
  }
  // Several launches at a time where one is short beside the call that waits for it.
  timed_launches(*subject, 1);
  const double once = timed_launches(*subject, 1).wall;
  const int launches = once > 2e-3 ? 1 : static_cast<int>(2e-3 / once) + 1;
  DevicePeaks peaks(session());
  std::vector<double> wall;
  std::vector<double> busy;
  for (auto _ : state) {
    const Elapsed time = timed_launches(*subject, launches);
    wall.push_back(time.wall);
    busy.push_back(time.busy);
    state.SetIterationTime(time.wall);
    peaks.sample();
  }
  const Work work = subject->kernel->work(subject->kernel_case);
  // The processors' time says nothing about a device that is not made of them.
  const bool is_cpu = session().info().is_cpu;
  const auto report = [&](const std::string& suffix, double time, auto samples) {
    state.counters["us" + suffix] = time * 1e6;
    state.counters["GFLOP/s" + suffix] = work.flops / time / 1e9;
    state.counters["GB/s" + suffix] = work.bytes / time / 1e9;
    state.counters["fma_GFLOP/s" + suffix] = median(samples(peaks.flops())) / 1e9;
    state.counters["read_GB/s" + suffix] = median(samples(peaks.read_bytes())) / 1e9;
    state.counters["copy_GB/s" + suffix] = median(samples(peaks.copy_bytes())) / 1e9;
    state.counters["of_fma" + suffix] = work.flops / time / median(samples(peaks.flops()));
    state.counters["of_read" + suffix] = work.bytes / time / median(samples(peaks.read_bytes()));
    state.counters["of_copy" + suffix] = work.bytes / time / median(samples(peaks.copy_bytes()));
  };
  report("", median(wall), [](const DevicePeaks::Rate& rate) { return rate.wall; });
  const auto best = [](const std::vector<double>& values) { return *std::ranges::min_element(values); };
  state.counters["best_us"] = best(wall) * 1e6;
  if (is_cpu) state.counters["best_us_busy"] = best(busy) * 1e6;
  if (is_cpu) report("_busy", median(busy), [](const DevicePeaks::Rate& rate) { return rate.busy; });
} catch (const opencl::Failure& failure) {
  state.SkipWithError((failure.error().message + "\n" + failure.error().log).c_str());
}

// The sequence lengths of a batch make a line long: the same length many times is written once.
std::string short_name(const std::string& line) {
  const auto kernel_case = parse_case(line);
  if (!kernel_case) return line;
  const std::size_t at = line.find(" --cache-seqlens ");
  if (at == std::string::npos || kernel_case->num_requests() < 2) return line;
  return fmt::format("{} --cache-seqlens {}x{}", line.substr(0, at), kernel_case->num_requests(),
                     kernel_case->max_seqlen());
}

}  // namespace

// Takes "--case LINE" out of the arguments.
std::vector<std::string> take_cases(int& argc, char** argv) {
  std::vector<std::string> lines;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--case" && i + 1 < argc) {
      lines.emplace_back(argv[++i]);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return lines;
}

int run(int argc, char** argv) {
  std::vector<std::string> lines = take_cases(argc, argv);
  benchmark::Initialize(&argc, argv);
  try {
    const DeviceInfo& device = session().info();
    benchmark::AddCustomContext("device", fmt::format("{} ({})", device.name, device.driver));
    if (lines.empty()) lines = default_cases(device);
  } catch (const opencl::Failure& failure) {
    fmt::print(stderr, "kernels_bench: {}\n", failure.error().message);
    return 0;  // a machine without a device has nothing to time
  }
  for (const std::string& line : lines) {
    benchmark::RegisterBenchmark(short_name(line).c_str(), run_case_line, line)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->MinTime(0.2);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace preflight::bench

int main(int argc, char** argv) { return preflight::bench::run(argc, argv); }
