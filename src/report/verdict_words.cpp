// The verdict over a whole report. Tested by tests/check_cli_test.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "preflight/report.h"
#include "src/base/counted.h"
#include "src/rules/certainty.h"

namespace preflight {

namespace {

// Of several faults, that of the device as a whole; else the first.
const DeviceError* fault_of(const KernelReport& kernel) {
  if (kernel.error) return &*kernel.error;
  const auto faulty = std::ranges::find_if(kernel.cases, [](const CaseReport& c) { return c.fault.has_value(); });
  return faulty == kernel.cases.end() ? nullptr : &*faulty->fault;
}

std::string_view name_of(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::kPass:
      return "pass";
    case ReportVerdict::kClean:
      return "clean";
    case ReportVerdict::kDoubtful:
      return "doubtful";
    case ReportVerdict::kIncomplete:
      return "incomplete";
    case ReportVerdict::kNotRun:
      return "not-run";
    case ReportVerdict::kMistrusted:
      return "mistrusted";
    case ReportVerdict::kFail:
      return "fail";
    case ReportVerdict::kRefused:
      return "refused";
    case ReportVerdict::kGateFailed:
      return "gate-failed";
    case ReportVerdict::kDeviceFailed:
      return "device-failed";
    case ReportVerdict::kKernelFailed:
      return "kernel-failed";
  }
  return "";
}

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kChange:
      return "change";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

bool Report::has_at_least(Severity severity) const {
  return std::any_of(findings.begin(), findings.end(), [&](const Diagnostic& d) { return d.severity >= severity; });
}

KernelOutcome Report::kernel_outcome() const {
  if (!peer_asked) return own_outcome();
  return own_asked ? std::max(own_outcome(), peer_outcome()) : peer_outcome();
}

KernelOutcome Report::peer_outcome() const {
  if (!peer) return KernelOutcome::kNotRun;
  if (peer->has(VerdictWord::kFail)) return KernelOutcome::kWrong;
  if (peer->has(VerdictWord::kError)) return KernelOutcome::kDeviceFailed;
  if (peer->has(VerdictWord::kMistrusted)) return KernelOutcome::kMistrusted;
  if (!peer->peer_gone.empty() || peer->lacking() || !peer->has(VerdictWord::kPass)) return KernelOutcome::kNotRun;
  const bool all_ran = peer->skipped.empty() && peer->worst() == VerdictWord::kPass;
  if (all_ran) return KernelOutcome::kRight;
  return kernel_required ? KernelOutcome::kNotRun : KernelOutcome::kUnproven;
}

bool Report::is_unplanted(const Injection& injection) const {
  const bool sound = !kernel || kernel->worst() == VerdictWord::kPass || kernel->worst() == VerdictWord::kSkipped;
  return sound && !absence && injection.cases == 0;
}

KernelOutcome Report::own_outcome() const {
  if (kernel && kernel->has(VerdictWord::kFail)) return KernelOutcome::kWrong;
  if (kernel && kernel->worst() == VerdictWord::kError) return KernelOutcome::kDeviceFailed;
  const auto unplanted = [this](const Injection& i) { return is_unplanted(i); };
  const bool gate_failed = std::ranges::any_of(
      injections, [&](const Injection& i) { return i.outcome != InjectionOutcome::kCaught && !unplanted(i); });
  if (gate_failed && !absence) return KernelOutcome::kGateFailed;
  if (kernel && kernel->has(VerdictWord::kMistrusted)) return KernelOutcome::kMistrusted;
  if (absence && (device_required || kernel_required)) return KernelOutcome::kNoDevice;
  if (std::ranges::any_of(injections, unplanted)) return KernelOutcome::kNotRun;
  const bool all_ran = kernel && kernel->skipped.empty() && kernel->worst() == VerdictWord::kPass;
  if (all_ran) return KernelOutcome::kRight;
  return kernel_required ? KernelOutcome::kNotRun : KernelOutcome::kUnproven;
}

const DeviceError* Report::device_fault() const {
  const KernelOutcome outcome = kernel_outcome();
  if (outcome == KernelOutcome::kNoDevice) return &*absence;
  if (outcome != KernelOutcome::kDeviceFailed) return nullptr;
  return own_asked && own_outcome() == outcome ? fault_of(*kernel) : fault_of(*peer);
}

DeviceErrorKind Report::fault_kind() const {
  const DeviceError* fault = device_fault();
  return fault == nullptr ? DeviceErrorKind::kInternal : fault->kind;
}

// The first of what leaves no server; null: nothing.
static const Diagnostic* server_lost_by(const std::vector<Diagnostic>& findings) {
  const auto at = std::ranges::find_if(findings, rules::leaves_no_server);
  return at == findings.end() ? nullptr : &*at;
}

ReportVerdict Report::verdict() const {
  if (!launch.accepted()) return ReportVerdict::kRefused;
  const KernelOutcome outcome = kernel_outcome();
  if (outcome == KernelOutcome::kWrong) return ReportVerdict::kKernelFailed;
  if (outcome == KernelOutcome::kDeviceFailed) return ReportVerdict::kDeviceFailed;
  if (outcome == KernelOutcome::kGateFailed) return ReportVerdict::kGateFailed;
  const bool fails = !fixed && fail_on && has_at_least(*fail_on);
  if (fails || has_at_least(Severity::kError)) return ReportVerdict::kFail;
  if (outcome == KernelOutcome::kMistrusted) return ReportVerdict::kMistrusted;
  if (outcome == KernelOutcome::kNoDevice) return ReportVerdict::kDeviceFailed;
  if (outcome == KernelOutcome::kNotRun) return ReportVerdict::kNotRun;
  if ((memory && memory->serves_nothing()) || server_lost_by(findings) != nullptr) return ReportVerdict::kDoubtful;
  if (incomplete) return ReportVerdict::kIncomplete;
  return outcome == KernelOutcome::kRight ? ReportVerdict::kPass : ReportVerdict::kClean;
}

// --max-total-tokens where it decides, whatever the card holds: what fits is as much, in whole pages.
static std::optional<std::int64_t> deciding_limit(const Launch& launch, std::int64_t tokens) {
  if (launch.resolved.empty() || tokens <= 0) return std::nullopt;
  const Value& most = launch[Field::max_total_tokens];
  const Value& page = launch[Field::page_size];
  const bool decides = most.is_int() && page.is_int() && tokens > most.as_int() - page.as_int();
  return decides ? std::optional(most.as_int()) : std::nullopt;
}

bool doubt_is_by_limit(const Launch& launch, const MemorySummary& memory) {
  return deciding_limit(launch, memory.tokens).has_value();
}

// Where the card's memory is known from, after "the card's memory ".
static std::string_view words_of(Origin origin) {
  switch (origin) {
    case Origin::kAssumed:
      return "is assumed";
    case Origin::kGiven:
      return "as it was given";
    case Origin::kSystem:
      return "as the system tells it";
    case Origin::kFile:
      return "as the facts file tells it";
    default:
      return "as the launch tells it";
  }
}

std::string certainty_of_sheet(bool counted_from_files, const MachineFacts* machine, ComparedWith with) {
  const std::string weights =
      fmt::format("weights {}", counted_from_files ? "counted from the files" : "estimated from the model's shapes");
  if (machine == nullptr) return weights;
  return with == ComparedWith::kHost
             ? fmt::format("{}, the host's memory {}", weights, words_of(machine->host_origin))
             : fmt::format("{}, the card's memory {}", weights, words_of(machine->memory_origin));
}

std::string doubt_of(const Launch& launch, const MemorySummary& memory, const MachineFacts* machine) {
  if (!launch.accepted() || !memory.serves_nothing()) return "";
  if (const auto most = deciding_limit(launch, memory.tokens)) {
    return fmt::format("--max-total-tokens {} does not hold one request of {}", *most, memory.wanted);
  }
  const std::string what =
      memory.tokens <= 0
          ? fmt::format("by the memory sheet {}", memory.cache_and_states() > 0.0 ? "no request fits into the KV cache"
                                                                                  : "nothing is left for the KV cache")
          : fmt::format("by the memory sheet {} {}, not one request of {}", counted(memory.tokens, "token"),
                        memory.tokens == 1 ? "fits" : "fit", memory.wanted);
  return fmt::format("{} ({})", what, certainty_of_sheet(memory.counted(), machine));
}

std::string Report::doubt() const {
  if (std::ranges::any_of(findings, rules::holds_no_request)) return "";  // it is no doubt of the sheet's
  std::string of_sheet = memory ? doubt_of(launch, *memory, machine ? &*machine : nullptr) : "";
  const Diagnostic* kept = launch.accepted() ? server_lost_by(findings) : nullptr;
  return of_sheet.empty() && kept != nullptr ? kept->message : of_sheet;
}

std::string_view Report::verdict_word() const {
  const ReportVerdict word = verdict();
  return word == ReportVerdict::kDeviceFailed ? name_of(fault_kind()) : name_of(word);
}

}  // namespace preflight
