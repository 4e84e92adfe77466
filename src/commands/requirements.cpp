#include "src/commands/requirements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/commands/findings.h"
#include "src/facts/cards.h"
#include "src/intake/model_options.h"
#include "src/launch/ranks.h"
#include "preflight/rule.h"

namespace preflight::commands {
namespace {

Diagnostic finding(std::string message, std::string fix) {
  const Rule* rule = find_rule("RQ001");
  return {.rule = std::string(rule->id),
          .severity = rule->severity,
          .message = std::move(message),
          .why = std::string(rule->why),
          .fix = std::move(fix)};
}

// "PG003, PG004 (the model's configuration is not known)" by reason.
std::string not_applied(const Coverage& coverage) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const NotChecked& n : coverage.not_checked) {
    auto at = std::ranges::find(reasons, n.reason, &std::pair<std::string, std::vector<std::string>>::first);
    if (at == reasons.end()) at = reasons.insert(reasons.end(), {n.reason, {}});
    at->second.emplace_back(n.rule->id);
  }
  std::string out;
  for (const auto& [reason, ids] : reasons) {
    constexpr std::size_t kShown = 3;
    const std::vector<std::string> shown(ids.begin(),
                                         ids.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, ids.size())));
    out += fmt::format("{}{}{} ({})", out.empty() ? "" : "; ", fmt::join(shown, ", "),
                       ids.size() > kShown ? fmt::format(" and {} more", ids.size() - kShown) : "", reason);
  }
  return out;
}

// The launch's ranks on this node take another GPU than the first; not where it was refused.
bool takes_further_devices(const Launch& launch) {
  return launch.accepted() && !launch.resolved.empty() && node_ranks(LaunchView(launch)).highest_gpu() > 0;
}

std::optional<Diagnostic> unknown_device(const MachineFacts& machine, const PreparedLaunch& prepared) {
  const auto assumed = [](Origin origin) { return origin == Origin::kAssumed; };
  if (assumed(machine.device_origin)) {
    return finding(fmt::format("--require device: {} was assumed, not given", prepared.inputs.device.name),
                   "--device-profile of the card that will run it, or --facts of its machine");
  }
  if (facts::is_unknown_card(prepared.inputs.device)) {
    return finding(fmt::format("--require device: nobody knows here what {} has", prepared.inputs.device.name),
                   "--device-profile of a card like it");
  }
  if (assumed(machine.memory_origin)) {
    return finding(fmt::format("--require device: the memory of {} is not known", prepared.inputs.device.name),
                   "--device-memory as torch reports it");
  }
  if (assumed(machine.count_origin) && takes_further_devices(prepared.launch)) {
    return finding(fmt::format("--require device: {} cards were assumed, not given", machine.device.count),
                   "--device-count N of the machine that will run it");
  }
  return std::nullopt;
}

}  // namespace

Result<Requirements> read_requirements(const std::vector<std::string>& words) {
  Requirements out;
  for (const std::string& text : words) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      bool known = word == "complete";
      for (const RequirementWord& row : kRequirementWords) {
        if (word != "complete" && word != row.word) continue;
        out.insert(row.requirement);
        known = true;
      }
      if (!known) {
        std::string list = "complete";
        for (const RequirementWord& row : kRequirementWords) list += fmt::format(", {}", row.word);
        return failure(fmt::format("--require {}: expected {}", word, list));
      }
    }
  }
  return out;
}

Diagnostic no_launch(const std::vector<std::string>& paths) {
  return finding(fmt::format("--require: no launch was found in {}", fmt::join(paths, ", ")),
                 "the files or folders that hold launches, or no --require");
}

std::vector<Diagnostic> unmet(const Requirements& wanted, const PreparedLaunch& prepared, const Coverage& coverage) {
  std::vector<Diagnostic> out;
  if (wanted.contains(Requirement::kModel) && prepared.unknown_model) {
    out.push_back(finding(fmt::format("--require model: nothing is known about {}", prepared.unknown_model->path),
                          "--model-config FILE with its config.json"));
  }
  if (wanted.contains(Requirement::kModel) && !prepared.assumed_facts.empty()) {
    std::vector<std::string> names;
    for (const AssumedFact& fact : prepared.assumed_facts) names.emplace_back(fact.name);
    out.push_back(finding(fmt::format("--require model: assumed, not given: {}", fmt::join(names, ", ")),
                          "--fact NAME=VALUE, or --model-config FILE"));
  }
  if (wanted.contains(Requirement::kModel) && own_code_not_run(prepared)) {
    out.push_back(finding("--require model: the checkpoint's own configuration code was not run",
                          "--resolver python:EXE asks the SGLang installed there, which runs it"));
  }
  const MachineFacts machine = prepared.machine.value_or(MachineFacts{});
  if (wanted.contains(Requirement::kRelease) && machine.release.origin == Origin::kAssumed) {
    out.push_back(finding(fmt::format("--require release: SGLang {} was taken as the newest, not given",
                                      prepared.launch.release().text()),
                          "--sglang-version X of the release that will run, or --python EXE that has it"));
  }
  if (wanted.contains(Requirement::kDevice)) {
    if (auto d = unknown_device(machine, prepared)) out.push_back(std::move(*d));
  }
  if (wanted.contains(Requirement::kRules) && prepared.launch.accepted()) {
    if (!coverage.not_checked.empty()) {
      out.push_back(
          finding("--require rules: not applied: " + not_applied(coverage),
                  "what each reason names: the model's configuration, or --kernel-date of the kernel package"));
    }
    if (!prepared.launch.unmodelled.empty()) {
      std::vector<std::string> names;
      for (const Field f : prepared.launch.unmodelled) names.emplace_back(field_name(f));
      out.push_back(finding(fmt::format("--require rules: the effect of {} is not computed", fmt::join(names, ", ")),
                            "--resolver python:EXE asks the SGLang installed there"));
    }
  }
  return out;
}

}  // namespace preflight::commands
