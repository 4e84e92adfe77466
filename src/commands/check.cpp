// `check`: the flow of the whole tool, from arguments to verdict. Tested by tests/check_cli_test.cpp.
#include <algorithm>
#include <array>
#include <iostream>

#include <fmt/format.h>

#include "src/commands/commands.h"
#include "src/kernels/inject.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"

namespace preflight::commands {
namespace {

// Rules that would be decided by a stand-in value if the fact was not given; by reference id.
struct FactRules {
  std::string_view fact;
  std::array<std::string_view, 8> refs;
};
constexpr std::array kDecidedBy = {
    FactRules{"num_q_heads", {"TP-1", "TP-2", "TP-3", "R-1", "K-2", "K-11", "DCP-X2"}},
    FactRules{"num_kv_heads", {"TP-2", "K-11"}},
    FactRules{"head_dim", {"K-10", "K-13", "R-15"}},
    FactRules{"kv_lora_rank", {"K-1"}},
    FactRules{"dtype", {"K-12", "Q-DT-1"}},
};

bool undecided(const Diagnostic& finding, const PreparedLaunch& prepared) {
  const auto& assumed = prepared.assumed_facts;
  const auto has = [&](std::string_view ref) {
    return std::find(finding.refs.begin(), finding.refs.end(), ref) != finding.refs.end();
  };
  if (prepared.facts_by_option && has("MEM-1")) return true;  // weights cannot be counted from a few facts
  return std::any_of(kDecidedBy.begin(), kDecidedBy.end(), [&](const FactRules& row) {
    if (std::find(assumed.begin(), assumed.end(), row.fact) == assumed.end()) return false;
    return std::any_of(row.refs.begin(), row.refs.end(),
                       [&](std::string_view ref) { return !ref.empty() && has(ref); });
  });
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

Diagnostic unknown_model(const std::string& path, const Launch& launch) {
  const bool directory_like = path.starts_with('/') || path.starts_with('.');
  return {.rule = "MD001",
          .severity = Severity::kWarning,
          .field = Field::model_path,
          .message = fmt::format("nothing is known about the model {}", path),
          .why = directory_like
                     ? "There is no config.json in that directory, so everything that depends on the model (head "
                       "counts, MLA, memory, backends chosen by architecture) and the kernel are not checked."
                     : "It is neither a directory with a config.json nor an id this build knows, so everything that "
                       "depends on the model (head counts, MLA, memory, backends chosen by architecture) and the "
                       "kernel are not checked.",
          .fix =
              "Give --model-config FILE with its config.json, or its facts: --mla or --no-mla, --fact "
              "num_q_heads=N, --fact num_kv_heads=N, --fact head_dim=N.",
          .where = launch.args.last_given(Field::model_path) != nullptr
                       ? launch.args.last_given(Field::model_path)->where
                       : SourceRange{}};
}

Diagnostic assumed_facts(const std::vector<std::string>& assumed) {
  return {.rule = "MD002",
          .severity = Severity::kWarning,
          .message = fmt::format("these facts about the model were not given: {}", joined(assumed)),
          .why = "Rules that depend on them are not decided, and the kernel runs on stand-in shapes where it runs.",
          .fix = fmt::format("Add --fact {}=VALUE, or give --model-config FILE.", assumed.front())};
}

// Findings of one resolved launch, with what the input itself adds.
void add_findings(const PreparedLaunch& prepared, const CheckOptions& options, Report& report) {
  report.findings = prepared.notes;
  CheckResult result = preflight::check(prepared.launch, options);
  report.coverage = std::move(result.coverage);
  if (prepared.unknown_model) report.findings.push_back(unknown_model(*prepared.unknown_model, prepared.launch));
  if (!prepared.assumed_facts.empty()) report.findings.push_back(assumed_facts(prepared.assumed_facts));
  for (auto& d : result.diagnostics) {
    if (!undecided(d, prepared)) report.findings.push_back(std::move(d));
  }
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
}

void run_kernel(const KernelOptions& options, Report& report) {
  if (!report.launch.accepted()) {
    report.kernel_not_run = "SGLang refuses this launch";
    return;
  }
  if (!report.plan) {
    report.kernel_not_run = "the model's shapes are not known";
    return;
  }
  if (!options.run) {
    report.kernel_not_run = "--no-kernel was given";
    return;
  }
  Plan plan = *report.plan;
  std::size_t cases = 0;
  for (auto& kernel : plan.kernels) {
    for (auto& c : kernel.cases) {
      if (options.seed) c.seed = *options.seed;
      ++cases;
    }
  }
  if (cases == 0) {
    report.kernel_not_run = plan.skipped.empty() ? "the launch selects no kernel"
                                                 : plan.skipped.front().kernel + ": " + plan.skipped.front().reason;
    return;
  }
  RunObserver observer;
  std::size_t done = 0;
  if (options.progress) {
    std::cerr << "\ropening the OpenCL device …" << std::flush;
    observer.opened = [&](const DeviceInfo&) { std::cerr << fmt::format("\r\033[Kkernel cases: 0 of {}", cases); };
    observer.finished = [&](const CaseReport&) {
      std::cerr << fmt::format("\r\033[Kkernel cases: {} of {}", ++done, cases) << std::flush;
    };
  }
  KernelReport kernel =
      run_plan_apart(plan, DeviceChoice{options.device.value_or("")}, RunOptions{}, options.limits, observer);
  if (options.progress) std::cerr << "\r\033[K" << std::flush;
  if (kernel.error && is_absence(kernel.error->kind)) {
    report.kernel_not_run = kernel.error->message;
    report.absence = std::move(kernel.error);
    return;
  }
  report.kernel = std::move(kernel);
}

void run_injections(const KernelOptions& options, Report& report) {
  if (options.inject.empty()) return;
  std::vector<KernelCase> cases;
  if (report.plan && report.kernel) cases = report.plan->all_cases();
  if (options.seed) {
    for (KernelCase& c : cases) c.seed = *options.seed;
  }
  const std::vector<int> ids =
      options.inject == "all" ? defects::ids_for(cases) : std::vector{std::stoi(options.inject)};
  if (ids.empty()) {
    report.injections.push_back({.what = "none was planted", .reason = report.kernel_not_run});
  }
  for (const int id : ids) {
    if (!report.kernel || report.kernel->worst() != VerdictWord::kPass) {
      report.injections.push_back({.defect = id,
                                   .what = defects::describe(id),
                                   .reason = report.kernel ? "the sound kernel does not pass" : report.kernel_not_run});
      continue;
    }
    if (options.progress) std::cerr << fmt::format("\r\033[Kplanting defect {} …", id) << std::flush;
    report.injections.push_back(defects::inject(id, cases, DeviceChoice{options.device.value_or("")}, options.limits));
  }
  if (options.progress) std::cerr << "\r\033[K" << std::flush;
}

int exit_status(const Report& report, const CheckCommand& command) {
  if (command.fail_on && report.has_at_least(*command.fail_on)) return kFindings;
  if (report.verdict() == ReportVerdict::kKernelFailed) return kKernelFailed;
  if ((command.kernel.device || !command.kernel.inject.empty()) && report.absence) return kNoDevice;
  return kOk;
}

Report make_report(PreparedLaunch prepared, const CheckCommand& command) {
  Report report;
  add_findings(prepared, command.rules, report);
  report.incomplete = prepared.unknown_model.has_value() || !prepared.assumed_facts.empty();
  report.launch = std::move(prepared.launch);
  report.source = std::move(prepared.source);
  if (report.launch.accepted() && report.launch.model && !prepared.unknown_model) {
    report.plan = derive_plan(report.launch);
  }
  run_kernel(command.kernel, report);
  run_injections(command.kernel, report);
  return report;
}

}  // namespace

int check(const CheckCommand& command) {
  auto prepared = prepare_launch(command.input);
  if (!prepared) {
    std::cerr << "xpu-preflight: " << prepared.error().text() << '\n';
    return kBadInput;
  }
  const Report report = make_report(std::move(*prepared), command);
  const int status = exit_status(report, command);
  if (command.output.format == Format::kJson) {
    std::cout << report::report_json(report, status);
  } else {
    std::cout << report::report_text(report, {command.output.colour, command.output.width, command.output.details});
  }
  return status;
}

int check_batch(const CheckCommand& command, const CaseFile& file) {
  return for_each_case(file, [&](const ResolvedCase& c) {
    PreparedLaunch prepared;
    prepared.launch = c.launch;
    std::cout << report::batch_line(make_report(std::move(prepared), command), c.id);
  });
}

}  // namespace preflight::commands
