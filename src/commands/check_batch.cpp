// `check --batch`: case lines in, a line of findings for each out. Tested by tests/check_cli_test.cpp.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/limits.h"
#include "src/commands/commands.h"
#include "src/commands/fixing.h"
#include "src/commands/policy/finding_filter.h"
#include "src/intake/case_file.h"
#include "src/intake/conceal.h"
#include "src/report/complaint.h"
#include "src/report/outcome_json.h"
#include "src/report/print.h"
#include "src/report/report_json.h"

namespace preflight::commands {
namespace {

// All that an answer depends on: what the launch was resolved from, and what came of it.
std::string question_of(const ResolvedCase& c) {
  std::string key;
  const auto add = [&](std::string_view part) { key.append(fmt::format("{}:", part.size())).append(part); };
  for (const std::string& word : c.inputs.argv) add(word);
  key += '|';
  for (const auto& [name, value] : c.inputs.env) {
    add(name);
    add(value);
  }
  const DeviceFacts& device = c.inputs.device;
  add(fmt::format("{} {} {} {} {}", c.inputs.release.text(), device.memory_mib, device.count, device.has_fp64,
                  device.host_memory_mib.value_or(-1)));
  add(device.name);
  add(fmt::format("{} {} {} {}", c.own.card, c.own.memory, c.own.count, c.own.host));
  report::JsonText outcome(std::size_t{4} << 10U);
  report::append_outcome_line(outcome, c.launch, Value(std::string()), c.names, {});
  add(outcome.view());
  return key;
}

// Answers whose remedies were tried, for lines that ask the same again.
class Answers {
 public:
  // Kernels run anew each time, and a baseline counts what it lets pass.
  explicit Answers(const CheckCommand& command)
      : tries_(*command.tries),
        kept_(!command.kernel.run && command.proves && (!command.filter || !command.filter->counts())) {}

  template <typename Check>
  const Report& to(const ResolvedCase& c, const Check& check) {
    std::string question = kept_ ? question_of(c) : std::string();
    if (const auto known = known_.find(question); kept_ && known != known_.end()) return known->second;
    const std::size_t before = std::min(left_, limits::kTries);
    tries_.left = before;
    last_ = check();
    left_ -= before - tries_.left;
    const bool tried = tries_.left < before && tries_.left > 0;
    if (kept_ && tried && known_.size() < limits::kBatchAnswers) known_.emplace(std::move(question), last_);
    return last_;
  }

 private:
  Tries& tries_;
  bool kept_;
  std::size_t left_ = limits::kBatchTries;
  Report last_;
  std::unordered_map<std::string, Report> known_;
};

// What a line is judged against: its own words, else what is so of every line.
MachineFacts machine_of(const ResolvedCase& c, const MachineFacts& usual) {
  MachineFacts out = usual;
  out.device = c.inputs.device;
  for (auto [own, origin] : {std::pair{c.own.card, &out.device_origin}, std::pair{c.own.memory, &out.memory_origin},
                             std::pair{c.own.count, &out.count_origin}, std::pair{c.own.host, &out.host_origin}}) {
    if (own) *origin = Origin::kCommand;
  }
  if (c.own.host) out.host_memory_mib = c.inputs.device.host_memory_mib;
  out.model = model_fact(c.launch, *c.inputs.models, false);
  out.on_processor = runs_on_processor(c.launch);
  return out;
}

PreparedLaunch prepared_from(const ResolvedCase& c, const MachineFacts& usual) {
  PreparedLaunch prepared;
  prepared.machine = machine_of(c, usual);
  prepared.launch = c.launch;
  prepared.inputs = c.inputs;
  prepared.unknown_model = c.unknown_model ? c.unknown_model : absurd_model(c.inputs, c.launch);
  conceal(prepared);
  return prepared;
}

}  // namespace

void tell_left_out(const CaseFile& file, const LeftOutKeys& keys) {
  if (keys.empty()) return;
  report::complain(
      fmt::format("{}: left out of its lines, where only args, config, device, env, id and model count: {}", file.cases,
                  fmt::join(keys, ", ")));
}

int check_batch(const CheckCommand& command, const CaseFile& file) {
  Exit worst = kOk;
  command.tries->most = limits::kBatchTries;
  Answers answers(command);
  LeftOutKeys left_out;
  bool judged = false;
  const auto each = [&](const ResolvedCase& c) {
    judged = true;
    const Report& report =
        answers.to(c, [&] { return make_report(prepared_from(c, command.input.machine.facts), command); });
    report::print(report::batch_line(report, c.id));
    worst = heavier(worst, exit_status(report, command));
  };
  const auto stopped = for_each_case(
      file, each, [] {}, &left_out);
  tell_untried(*command.tries);
  tell_left_out(file, left_out);
  if (stopped) {
    report::complain(stopped->text());
    return kBadInput;
  }
  // A gate over no lines, a query that found none perhaps, must not pass for what it requires.
  if (judged || (command.required.empty() && !command.kernel.required)) return worst;
  report::complain(fmt::format("{}: no case in it, and something is required of each", file.cases));
  return kFindings;
}

}  // namespace preflight::commands
