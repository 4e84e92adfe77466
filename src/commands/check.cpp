// `check`: the flow of the whole tool, from arguments to verdict. Tested by tests/check_cli_test.cpp.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "src/base/log.h"
#include "src/commands/certainty.h"
#include "src/base/limits.h"
#include "src/commands/check_outputs.h"
#include "src/commands/commands.h"
#include "src/commands/doctor.h"
#include "src/intake/conceal.h"
#include "src/commands/findings.h"
#include "src/commands/fixing.h"
#include "src/commands/memory.h"
#include "src/commands/policy/finding_filter.h"
#include "src/fix/compared.h"
#include "src/fix/prove.h"
#include "src/fix/write_back.h"
#include "src/kernels/inject.h"
#include "src/launch/launch_view.h"
#include "src/report/complaint.h"
#include "src/report/print.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"

namespace preflight::commands {

void keep_kernel(KernelReport kernel, Report& report) {
  if (kernel.error && is_absence(kernel.error->kind)) {
    report.kernel_not_run = kernel.error->message;
    report.absence = std::move(kernel.error);
    return;
  }
  report.kernel = std::move(kernel);
}

namespace {

void no_kernel(std::string reason, Report& report) { report.kernel_not_run = report.peer_not_run = std::move(reason); }

// The launch's cases through kernels that are not ours; of SGLang's own, those of its decode backend.
void run_peer(const KernelOptions& options, const Plan& plan, Report& report) {
  PeerChoice choice = *options.peer;
  choice.backend = plan.decode_backend;
  choice.drafts = !LaunchView(report.launch).algorithm().empty();
  RunObserver observer;
  std::size_t done = 0;
  const report::ProgressLine line(options.progress);
  line.say(fmt::format("starting {} …", choice.interpreter));
  observer.finished = [&](const CaseReport&) {
    line.say(fmt::format("cases through {}: {}", choice.interpreter, ++done));
  };
  report.peer = run_cases_by_peer(plan.served_cases(), choice, observer);
  report.peer->skipped = plan.skipped;
}

bool draft_is_unknown(const Report& report) {
  return std::ranges::any_of(report.findings, [](const Diagnostic& d) {
    return d.rule == "MD001" && d.field == Field::speculative_draft_model_path;
  });
}

}  // namespace

void run_kernel(const KernelOptions& options, Report& report) {
  if (!report.launch.accepted()) {
    return no_kernel("SGLang refuses this launch", report);
  }
  if (!report.plan) {
    return no_kernel(
        draft_is_unknown(report) ? "nothing is known about the draft model" : "the model's shapes are not known",
        report);
  }
  if (!options.run) {
    return no_kernel(options.why_not, report);
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
    return no_kernel(plan.skipped.empty() ? "the launch selects no kernel"
                                          : plan.skipped.front().kernel + ": " + plan.skipped.front().reason,
                     report);
  }
  if (options.peer) run_peer(options, plan, report);
  if (!options.own) {
    report.kernel_not_run = "--kernel-from names other kernels";
    return;
  }
  RunObserver observer;
  std::size_t done = 0;
  const report::ProgressLine line(options.progress);
  line.say("opening the OpenCL device …");
  observer.opened = [&](const DeviceInfo&) { line.say(fmt::format("kernel cases: 0 of {}", cases)); };
  observer.finished = [&](const CaseReport&) { line.say(fmt::format("kernel cases: {} of {}", ++done, cases)); };
  KernelReport kernel =
      run_plan_apart(plan, DeviceChoice{options.device.value_or("")}, RunOptions{}, options.limits, observer);
  keep_kernel(std::move(kernel), report);
}

namespace {

// A device that was asked for by name is looked for even where nothing runs on it.
void look_for_device(const KernelOptions& options, Report& report) {
  if (!options.run || !options.own || !options.device || report.kernel || report.absence) return;
  KernelReport opened = run_cases_apart({}, DeviceChoice{*options.device}, RunOptions{}, options.limits);
  if (opened.error && is_absence(opened.error->kind)) report.absence = std::move(opened.error);
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
    report.injections.push_back({.what = "no defect was planted", .reason = report.kernel_not_run});
  }
  const report::ProgressLine line(options.progress);
  for (const int id : ids) {
    if (!report.kernel || report.kernel->worst() != VerdictWord::kPass) {
      report.injections.push_back({.defect = id,
                                   .what = defects::describe(id),
                                   .reason = report.kernel ? "the sound kernel does not pass" : report.kernel_not_run});
      continue;
    }
    line.say(fmt::format("planting defect {} …", id));
    report.injections.push_back(defects::inject(id, cases, DeviceChoice{options.device.value_or("")}, options.limits));
  }
}

}  // namespace

Exit exit_status(const Report& report, const CheckCommand& command) {
  // What was wrong in a launch that was mended is so no longer.
  if (!report.fixed && command.fail_on && report.has_at_least(*command.fail_on)) return kFindings;
  return exit_of(report);
}

LaunchPlace place_in_text(const PreparedLaunch& prepared, const LaunchInput& input) {
  LaunchPlace place;
  if (!input.command || !prepared.read) return place;
  if (input.command_is_file) place.file = input.command_name;
  place.name = input.command_name;
  place.launch = prepared.read->name;
  place.first_line = place.last_line = prepared.read->line;
  for (const SourceRange& at : prepared.inputs.positions) {
    if (at.file.empty()) place.last_line = std::max(place.last_line, at.line);
  }
  place.text = *input.command;
  return place;
}

namespace {

// Rules whose findings are errors to mend, as the rules and a policy have them, however sure the sheet is.
std::set<std::string> errors_to_mend(std::vector<Diagnostic> findings, const Told& told) {
  if (told) told(findings);
  std::set<std::string> errors;
  for (const Diagnostic& d : findings) {
    if (fix::is_of_sglang(d)) errors.insert(d.rule);
  }
  return errors;
}

// What is told of a launch that is tried in place of this one. A baseline counts what it lets pass, so that what it
// let pass here is let pass there.
Told told_by(const CheckCommand& command, const LaunchPlace& place, const std::vector<Ignored>& ignored) {
  if (!command.filter) return {};
  std::vector<Diagnostic> known;
  for (const Ignored& i : ignored) known.push_back(i.finding);
  return [filter = command.filter, place, known = std::move(known)](std::vector<Diagnostic>& findings) {
    filter->apply_to_trial(findings, place);
    std::erase_if(findings, [&](const Diagnostic& d) { return fix::is_in(d, known); });
  };
}

// What a search for fixes starts from.
struct Looked {
  Told told;
  bool failing = false;  // an error is among what is told
};

// What the rules, the host and the memory sheet find, less what a policy lets pass.
Looked look_for_findings(const PreparedLaunch& prepared, const CheckCommand& command, Report& report) {
  const log::Stage stage("rules");
  report.findings = findings_of(prepared, command.rules, report.coverage);
  std::vector<Diagnostic> of_host =
      command.host ? host_findings(command.input, prepared, report.coverage) : told_of_machine(command.input, prepared);
  std::ranges::move(of_host, std::back_inserter(report.findings));
  std::vector<Diagnostic> unweighed = report.findings;
  report.memory = memory_summary(prepared);
  weigh(report.findings, prepared.launch, report.memory, prepared.machine ? &*prepared.machine : nullptr);
  const LaunchPlace place = place_in_text(prepared, command.input);
  if (command.filter) report.ignored = command.filter->apply(report.findings, place);
  Looked out{.told = told_by(command, place, report.ignored)};
  for (Diagnostic& d : unmet(command.required, prepared, report.coverage)) {
    report.findings.insert(report.findings.begin(), std::move(d));
  }
  const std::set<std::string> errors = errors_to_mend(std::move(unweighed), out.told);
  out.failing = std::ranges::any_of(report.findings, [&](const Diagnostic& d) { return errors.contains(d.rule); });
  return out;
}

// Arguments that would be sound, one of them written where they belong, and which remedies hold.
void look_for_fixes(const PreparedLaunch& prepared, const CheckCommand& command, const Looked& looked, Report& report) {
  const bool changeable = prepared.mended.empty() && !prepared.refused_by_serve;
  const bool wanted = changeable && (command.fixes || command.proves) &&
                      std::ranges::any_of(report.findings, [](const Diagnostic& d) { return !d.fix.empty(); });
  if (wanted && command.tries->left == 0) ++command.tries->launches;
  if (command.fixes && changeable && looked.failing)
    report.fixes = search_fixes(prepared, command.rules, *command.tries, looked.told);
  if (command.write_fix && !report.fixes.fixes.empty()) {
    auto written = write_fix(command.input, prepared, report.fixes.fixes.front());
    report.fixed = written.has_value();
    report.fix_written =
        written ? std::move(*written) : std::vector<std::string>{"Fix not written: " + written.error().text()};
  }
  conceal(report.fixes, prepared.inputs);
  if (command.proves && changeable) {
    prove_remedies(prepared, command.rules, report.fixes, report.findings, *command.tries, looked.told);
  } else {
    fix::leave_untried(report.findings);
  }
}

}  // namespace

Report make_report(PreparedLaunch prepared, const CheckCommand& command) {
  Report report;
  const Looked looked = look_for_findings(prepared, command, report);
  report.read = std::move(prepared.read);
  const log::Stage stage("fixes, plan and kernels");
  look_for_fixes(prepared, command, looked, report);
  report.incomplete = prepared.unknown_model.has_value() || !prepared.assumed_facts.empty();
  report.machine = std::move(prepared.machine);
  report.launch = std::move(prepared.launch);
  report.source = std::move(prepared.source);
  if (report.launch.accepted() && report.launch.model && !prepared.unknown_model && !shapes_assumed(prepared)) {
    report.plan = derive_plan(report.launch);
  }
  report.fail_on = command.fail_on;
  report.device_required = command.kernel.device || !command.kernel.inject.empty();
  report.kernel_required = command.kernel.required;
  report.peer_asked = command.kernel.peer.has_value();
  report.own_asked = command.kernel.own;
  run_kernel(command.kernel, report);
  look_for_device(command.kernel, report);
  run_injections(command.kernel, report);
  return report;
}

namespace {

// --fix puts options back that a comment or a blank cut off from the launch, before anything else is looked at.
Result<std::vector<std::string>> put_back(const std::string& mended, LaunchInput& input) {
  if (!input.command_is_file) return failure("a command given on the command line cannot be written back");
  auto backup = fix::replace_file(input.command_name, *input.command, mended);
  if (!backup) return tl::make_unexpected(backup.error());
  input.command = mended;
  return std::vector<std::string>{"Fix written to " + input.command_name +
                                  ": options that were cut off are back; the old text is in " + *backup};
}

}  // namespace

std::string title_of(const ReadLaunch& read) {
  const std::string there = read.stands_in.empty() ? "" : fmt::format(", in {}:{}", read.stands_in, read.line_there);
  return fmt::format("{}:{}{}{}{}", read.file, read.line, there, read.name.empty() ? "" : " " + read.name,
                     read.when.empty() ? "" : ", " + read.when);
}

int check(const CheckCommand& asked) {
  CheckCommand command = asked;
  auto prepared = prepare_launch(command.input);
  std::vector<std::string> written;
  if (prepared && command.write_fix && !prepared->mended.empty()) {
    auto lines = put_back(prepared->mended, command.input);
    written = lines ? std::move(*lines) : std::vector<std::string>{"Fix not written: " + lines.error().text()};
    if (lines) prepared = prepare_launch(command.input);
  }
  if (!prepared) {
    report::complain(prepared.error().text());
    return kBadInput;
  }
  Report report = make_report(std::move(*prepared), command);
  report.fix_written.insert(report.fix_written.begin(), written.begin(), written.end());
  const Exit status = exit_status(report, command);
  report::CheckRun run;
  run.launches.push_back(checked_launch(std::move(report), command.input, status));
  run.exit_status = exit_number(status);
  keep_ignores(command, run);
  return write_outputs(run, command, status);
}

report::CheckedLaunch checked_launch(Report report, const LaunchInput& input, Exit status) {
  report::CheckedLaunch out;
  out.read = report.read;
  out.title = report.source.name.empty() ? "command line" : report.source.name;
  if (out.read) out.line = out.read->line;
  if (input.command && input.command_is_file) {
    out.file = input.command_name;
    out.title = title_of(*out.read);
    out.wide_lines = input.command.wide_lines();
  }
  out.exit_status = exit_number(status);
  out.report = std::move(report);
  return out;
}

void keep_ignores(const CheckCommand& command, report::CheckRun& run) {
  if (!command.filter) return;
  run.ignore_notes = command.filter->notes();
  run.policy_file = command.filter->policy_file();
}

}  // namespace preflight::commands
