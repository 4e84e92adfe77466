// Cases through kernels that are not ours: sample batch, child process, reference, verdict.
// Tested by tests/kernels/peer_test.cpp.
#include <algorithm>
#include <array>
#include <chrono>
#include <future>

#include <fmt/format.h>

#include "preflight/kernel.h"
#include "preflight/reference.h"
#include "src/kernels/peer/peer_process.h"
#include "src/kernels/tensor_parallel.h"
#include "src/sample/case_options.h"
#include "src/sample/convolution.h"

namespace preflight {
namespace {

using Clock = std::chrono::steady_clock;

// What SGLang's kernel of the same job gives, of what ours does: its decode attention keeps log-sum-exps to itself, a
// table of token indices is all that its builder writes.
struct Judged {
  std::string_view kernel;
  std::array<std::string_view, 2> outputs;
};
constexpr std::array kJudged{
    Judged{"paged_decode", {"out"}},
    Judged{"mla_decode", {"out"}},
    Judged{"merge_state", {"out", "lse"}},
    Judged{"kv_indices", {"kv_indices"}},
    Judged{"local_decode", {"local_seqlens", "local_page_table"}},
    Judged{"gated_delta_step", {"o", "state"}},
    Judged{"gated_delta_chunk", {"o", "state"}},
    Judged{"causal_conv1d", {"y", "state"}},
};

std::vector<OutputSpec> wanted_of(const SampleBatch& batch) {
  std::vector<OutputSpec> wanted;
  const auto* row = std::ranges::find(kJudged, batch.kernel_case.kernel, &Judged::kernel);
  if (row == kJudged.end()) return wanted;
  const auto is_wanted = [&](std::string_view name) {
    return std::ranges::find(row->outputs, name) != row->outputs.end();
  };
  for (const OutputSpec& output : batch.outputs) {
    if (is_wanted(output.name)) wanted.push_back(output);
  }
  for (const std::string& name : batch.in_place) {
    if (is_wanted(name)) wanted.push_back({name, batch.input(name).dtype, batch.input(name).shape});
  }
  return wanted;
}

bool takes(const peer::Ready& ready, DType type) {
  return std::ranges::find(ready.types, name_of(type)) != ready.types.end();
}

// The case in a type that the other side can compute in. An interpreter without bf16 gets fp16: what it shows is the
// kernel's logic, and that is the same.
std::string adapt(KernelCase& c, const peer::Ready& ready) {
  if (!takes_option(c.kernel, "--dtype")) return {};  // tables and indices
  if (!takes(ready, c.dtype) && c.dtype == DType::kBf16 && takes(ready, DType::kF16)) {
    c.dtype = DType::kF16;
    if (c.kv_dtype == DType::kBf16) c.kv_dtype = DType::kF16;
  }
  for (const DType type : {c.dtype, c.cache_dtype()}) {
    if (takes(ready, type)) continue;
    return fmt::format("{} has no {} tensors", ready.peer.interpreted ? "Triton's interpreter" : ready.peer.device,
                       name_of(type));
  }
  return {};
}

std::string why_not(const Kernel* kernel, const KernelCase& c, const PeerChoice& choice) {
  if (kernel == nullptr) return fmt::format("no kernel {} in this build", c.kernel);
  if (std::ranges::find(kJudged, c.kernel, &Judged::kernel) == kJudged.end()) {
    return fmt::format("{} has no kernel that does this and nothing else, as far as is known here",
                       choice.from == "torch" ? "PyTorch" : "SGLang");
  }
  if (c.must_fail) return "it plants a mistake into our own kernel";
  const std::string reason = tensor_parallel::why_not(c);
  return reason.empty() ? why_too_large(c, choice.large_cases) : reason;
}

struct Execution {
  std::vector<Tensor> outputs;
  peer::Answer last;
};

// All ranks' shares one after the other, gathered.
Result<Execution> execute(peer::PeerProcess& process, const SampleBatch& batch) {
  Execution done;
  for (std::int64_t rank = 0; rank < batch.kernel_case.tp; ++rank) {
    const SampleBatch part = batch.kernel_case.tp == 1 ? batch : tensor_parallel::shard(batch, rank);
    auto answer = process.run(part, wanted_of(part));
    if (!answer) return tl::make_unexpected(answer.error());
    const std::vector<std::string> broken = done.last.ran ? done.last.ran->broken : std::vector<std::string>{};
    done.last = std::move(*answer);
    if (!done.last.ran) return done;
    done.last.ran->broken.insert(done.last.ran->broken.end(), broken.begin(), broken.end());
    if (batch.kernel_case.tp == 1) {
      done.outputs = std::move(done.last.ran->outputs);
    } else {
      tensor_parallel::gather(batch, rank, done.last.ran->outputs, done.outputs);
    }
  }
  return done;
}

// The batch with those outputs alone that can be judged, so that what ranks give is put together in that order.
SampleBatch judged_alone(SampleBatch batch) {
  const auto wanted = wanted_of(batch);
  const auto is_wanted = [&](std::string_view name) {
    return std::ranges::find(wanted, name, &OutputSpec::name) != wanted.end();
  };
  std::erase_if(batch.outputs, [&](const OutputSpec& output) { return !is_wanted(output.name); });
  std::erase_if(batch.in_place, [&](const std::string& name) { return !is_wanted(name); });
  return batch;
}

// Our delta rule keeps its intermediates in fp32. SGLang's chunks keep five of them (the inverse, w, u, the new values
// and the states of chunks) in the type of the queries, its decode keeps beta so: each is rounded once, as the output
// is.
// Its convolution rounds each product to that type before it is added: as many roundings as there are taps, and where
// products cancel a value may be off by more than itself.
int rounded_between(const KernelCase& c) {
  if (c.kernel == "causal_conv1d") return static_cast<int>(sample::convolution_window(c) + 1);
  if (c.kernel == "gated_delta_chunk") return 5;
  const bool decode = std::ranges::all_of(c.query_lens, [](std::int64_t length) { return length == 1; });
  return c.kernel == "gated_delta_step" && decode ? 1 : 0;
}

Tolerance tolerance_of(const Kernel& kernel, const KernelCase& c, std::string_view output) {
  Tolerance limit = kernel.tolerance(c, output);
  const int rounded = rounded_between(c);
  if (rounded == 0) return limit;
  limit.rel_rms += rounded * attention_tolerance(c.dtype, 0.0).rel_rms;
  if (limit.bias >= 0.0) limit.bias += rounded * attention_tolerance(c.dtype, 0.0).bias;
  limit.cosine = std::max(limit.cosine, limit.rel_rms * limit.rel_rms / 2.0);
  if (c.kernel == "causal_conv1d" && output == "y") limit.abs = limit.rel = -1.0;
  return limit;
}

void judge_answer(const Kernel& kernel, const SampleBatch& batch, Execution done, CaseReport& report) {
  if (!done.last.skipped.empty()) {
    report.verdict = {VerdictWord::kSkipped, done.last.skipped, {}};
    report.lacking = done.last.lacking;
    return;
  }
  if (!done.last.ran) {
    report.verdict = {VerdictWord::kError, done.last.error, {}};
    report.fault = DeviceError{DeviceErrorKind::kInternal, "the kernel raised " + done.last.error};
    return;
  }
  report.function = done.last.ran->function;
  report.imported = done.last.ran->imported;
  report.notes = done.last.ran->notes;
  std::vector<Tolerance> limits;
  for (const Tensor& output : done.outputs) limits.push_back(tolerance_of(kernel, batch.kernel_case, output.name));
  const auto start = Clock::now();
  const auto expected = kernel.reference(batch);
  report.reference_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  report.verdict = judge(done.outputs, expected, limits, done.last.ran->broken);
}

// An error of the conversation ends it for all cases that follow.
CaseReport run_one(peer::PeerProcess& process, const KernelCase& asked, const PeerChoice& choice, std::string& ended) {
  const Kernel* kernel = find_kernel(asked.kernel);
  KernelCase c = asked;
  c.first_page = 0;  // what lies in front of a pool is never made, and cannot be handed over
  CaseReport report{.kernel_case = asked, .case_line = print_case(asked)};
  std::string reason = why_not(kernel, c, choice);
  if (reason.empty()) reason = adapt(c, process.ready());
  if (!reason.empty()) {
    report.verdict = {VerdictWord::kSkipped, reason, {}};
    return report;
  }
  report.kernel_case = c;
  report.case_line = print_case(c);
  auto sampled = kernel->sample(c);
  if (!sampled) {
    report.verdict = {VerdictWord::kError, sampled.error().text(), {}};
    return report;
  }
  const auto start = Clock::now();
  auto done = execute(process, judged_alone(*sampled));
  report.kernel_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (done) {
    judge_answer(*kernel, *sampled, std::move(*done), report);
  } else {
    ended = done.error().text();
    report.verdict = {VerdictWord::kSkipped, ended, {}};
  }
  return report;
}

}  // namespace

KernelReport run_cases_by_peer(const std::vector<KernelCase>& cases, const PeerChoice& choice,
                               const RunObserver& observer) {
  KernelReport report;
  auto process = peer::PeerProcess::start(choice);
  if (process) {
    report.peer = process->ready().peer;
  } else {
    report.peer_gone = process.error().text();
  }
  for (const KernelCase& kernel_case : cases) {
    if (!report.peer_gone.empty()) {
      report.cases.push_back({.kernel_case = kernel_case,
                              .case_line = print_case(kernel_case),
                              .verdict = {VerdictWord::kSkipped, report.peer_gone, {}}});
    } else {
      report.cases.push_back(run_one(*process, kernel_case, choice, report.peer_gone));
    }
    if (observer.finished) observer.finished(report.cases.back());
  }
  return report;
}

}  // namespace preflight
