// Tested by tests/kernels/peer_test.cpp.
#include "src/report/peer_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/counted.h"
#include "src/report/printable.h"

namespace preflight::report {
namespace {

std::string title(const Report& report) {
  const bool torch = report.peer && report.peer->peer && report.peer->peer->from == "torch";
  return torch ? "Kernel of PyTorch" : "Kernel of SGLang";
}

std::string_view trouble(const Report& report) {
  switch (report.peer_outcome()) {
    case KernelOutcome::kNotRun:
      return report.peer ? "not all of it ran, and it was asked for" : "not run, and asked for";
    case KernelOutcome::kMistrusted:
      return "mistrusted";
    case KernelOutcome::kWrong:
      return "wrong";
    case KernelOutcome::kDeviceFailed:
      return "raised an error";
    default:
      return "";
  }
}

std::string case_text(const CaseReport& c, const Style& style) {
  const bool good = c.verdict.word == VerdictWord::kPass;
  const std::string word = fmt::format("{:<10}", name_of(c.verdict.word));
  std::string out = fmt::format("  {}  {}\n", good ? style.green(word) : style.red(word), printable(c.case_line));
  const auto line = [&](const std::string& text) { out += fmt::format("              {}\n", printable(text)); };
  if (!c.verdict.reason.empty()) line(c.verdict.reason);
  if (!c.function.empty()) line(fmt::format("{} of {}", c.function, c.imported));
  for (const std::string& note : c.notes) line(note);
  return out;
}

// One line for cases that share a reason.
std::string skipped_text(const KernelReport& k, const Style& style) {
  std::vector<std::pair<std::string, int>> reasons;
  for (const CaseReport& c : k.cases) {
    if (c.verdict.word != VerdictWord::kSkipped || c.verdict.reason == k.peer_gone) continue;
    const std::string reason = c.kernel_case.kernel + ": " + c.verdict.reason;
    const auto known = std::ranges::find(reasons, reason, &std::pair<std::string, int>::first);
    if (known == reasons.end()) {
      reasons.emplace_back(reason, 1);
    } else {
      ++known->second;
    }
  }
  std::string out;
  for (const auto& [reason, cases] : reasons) {
    out += fmt::format("  {} {} ({})\n", style.yellow("not run"), printable(reason), counted(cases, "case"));
  }
  return out;
}

}  // namespace

std::string versions_text(const KernelPeer& peer) {
  std::string out;
  for (auto row = peer.versions.rbegin(); row != peer.versions.rend(); ++row) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", row->first == "sglang" ? "SGLang" : row->first, row->second);
  }
  return out;
}

std::string scope_of(const Report& report) {
  const KernelPeer& peer = *report.peer->peer;
  if (peer.from == "torch") return "This is PyTorch's attention, which no launch of SGLang here runs.";
  std::string scope =
      peer.interpreted ? "Triton's interpreter ran the kernels on a CPU: a pass shows their logic, tables and strides, "
                         "not the code that is generated for a GPU."
                       : fmt::format("These are the kernels of that package, compiled for {}.", peer.device_name);
  if (!report.plan) return scope;
  // Plan::served_cases
  scope +=
      " The batches are as SGLang's server fills them: a padded request has one token, a side without tokens holds "
      "zeros.";
  const auto own = report.plan->all_cases();
  const auto windowed = std::ranges::find_if(own, [](const KernelCase& c) { return c.window > 0; });
  if (report.plan->decode_backend == "triton" && windowed != own.end()) {
    scope += fmt::format(" A window of {} tokens is {} there: SGLang's Triton backend decodes with one less.",
                         windowed->window + 1, windowed->window);
  }
  return scope;
}

std::string peer_section(const Report& report, const TextOptions& options, const Style& style) {
  if (!report.peer_asked) return "";
  std::string out = style.bold(title(report));
  if (const std::string_view what = trouble(report); !what.empty()) out += ": " + style.red(std::string(what));
  out += "\n";
  if (!report.peer) return out + fmt::format("  {} {}\n\n", style.yellow("not run:"), report.peer_not_run);
  const KernelReport& k = *report.peer;
  if (k.peer) {
    out += fmt::format("  {} ({}), by {}\n", k.peer->device, printable(k.peer->device_name),
                       printable(k.peer->interpreter));
    out += fmt::format("  {}\n", printable(versions_text(*k.peer)));
  }
  int passed = 0;
  int ran = 0;
  for (const CaseReport& c : k.cases) {
    const bool skipped = c.verdict.word == VerdictWord::kSkipped;
    passed += c.verdict.word == VerdictWord::kPass ? 1 : 0;
    ran += skipped ? 0 : 1;
    if (!skipped && (options.details || c.verdict.word != VerdictWord::kPass)) out += case_text(c, style);
  }
  out += skipped_text(k, style);
  if (!k.peer_gone.empty()) out += fmt::format("  {} {}\n", style.red("not run:"), printable(k.peer_gone));
  const std::string line =
      fmt::format("{} of {} cases pass, {} not run", passed, k.cases.size(), std::ssize(k.cases) - ran);
  const bool good = passed > 0 && passed == ran && k.peer_gone.empty() && !k.lacking();
  out += fmt::format("  {}: {}\n",
                     good ? style.green("pass") : style.red(passed == ran ? "not run" : name_of(k.worst())), line);
  if (good && k.peer) out += style.dim("  " + scope_of(report)) + "\n";
  for (const auto& skip : k.skipped)
    out += fmt::format("  {} {}: {}\n", style.yellow("skipped"), skip.kernel, skip.reason);
  return out + "\n";
}

}  // namespace preflight::report
