// Tested by tests/memory_sheet_test.cpp.
#include "src/report/complaint.h"
#include "src/commands/memory.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include "src/commands/adapters.h"
#include "src/commands/findings.h"
#include "src/commands/options.h"
#include "src/commands/subcommand.h"
#include "src/intake/conceal.h"
#include "src/report/memory_report.h"
#include "src/report/print.h"
#include "src/commands/variation.h"
#include "src/facts/device_profiles.h"
#include "src/facts/draft_model.h"
#include "src/facts/model_weights.h"
#include "src/launch/launch_view.h"
#include "src/plan/stored_weights.h"
#include "src/rules/certainty.h"

namespace preflight::commands {
namespace {

struct MemoryFlags {
  LaunchFlags launch;
  plan::MemoryInputs given;  // measured values in place of estimates
};

using plan::MemoryInputs;
using plan::MemorySheet;
using report::MemoryReport;
using report::MemoryRow;

constexpr std::string_view kWeightsOverBudget = "PL002";

// What SGLang takes when no fraction is given: the rest of the device is its reserve for activations and graphs.
std::optional<double> default_fraction(const LaunchInputs& inputs) {
  const auto other = resolve_words(inputs, with_options(inputs, {Field::mem_fraction_static}, {}), {}, inputs.env);
  if (!other || other->launch.resolved.empty()) return std::nullopt;
  const Value& fraction = other->launch[Field::mem_fraction_static];
  return fraction.is_number() ? std::optional(fraction.as_number()) : std::nullopt;
}

// Draft, adapters, and the files of the checkpoint where they are on this machine.
void take_parts(const Launch& launch, facts::ModelFiles& models, MemoryInputs& given) {
  plan::take_parts(launch, facts::draft_model_of(launch, models).get(), facts::weights_of(launch, models).get(), given);
  given.adapter_bytes = adapter_bytes(launch, models);
}

std::optional<MemorySheet> sheet_of(const LaunchInputs& inputs, const std::vector<std::string>& argv,
                                    MemoryInputs given, std::string& why) {
  const auto resolved = resolve_words(inputs, argv, {}, inputs.env);
  if (!resolved) return std::nullopt;
  LaunchInputs varied = inputs;
  varied.argv = argv;
  given.advised_most = default_fraction(varied);
  take_parts(resolved->launch, *inputs.models, given);
  return plan::memory_sheet(resolved->launch, given, why);
}

// The same arguments on every card we know.
std::vector<MemoryRow> on_other_devices(const LaunchInputs& inputs, MemoryInputs given) {
  std::vector<MemoryRow> rows;
  given.free_gib.reset();
  for (const auto& profile : facts::device_profiles()) {
    LaunchInputs there = inputs;
    there.device.name = profile.device.name;
    there.device.memory_mib = profile.device.memory_mib;
    there.device.has_fp64 = profile.device.has_fp64;
    std::string why;
    if (auto sheet = sheet_of(there, inputs.argv, given, why)) rows.push_back({profile.id, std::move(*sheet)});
  }
  return rows;
}

// Errors of the rules; those about the size of weights are left out where `measured` knows better.
std::vector<Diagnostic> errors_of(const PreparedLaunch& like, const std::vector<std::string>& argv, bool measured) {
  PreparedLaunch other;
  other.inputs.models = like.inputs.models;
  other.inputs.sharing = like.inputs.sharing;
  other.inputs.memory = like.inputs.memory;
  other.facts_by_option = like.facts_by_option;
  other.assumed_facts = like.assumed_facts;
  auto resolved = resolve_words(like.inputs, argv, {}, like.inputs.env);
  if (!resolved) return {{.message = resolved.error().text()}};
  other.launch = std::move(resolved->launch);
  Coverage coverage;
  std::vector<Diagnostic> found = findings_of(other, {.changes = false, .log_lines = false}, coverage);
  const bool guessed = like.machine && like.machine->count_origin == Origin::kAssumed;
  std::erase_if(found, [&](const Diagnostic& d) {
    return d.severity != Severity::kError || (measured && d.rule == kWeightsOverBudget) ||
           (guessed && rules::counts_cards(d.rule));
  });
  return found;
}

// Single changes after which the launch fits, when it does not, and which the rules have nothing against.
std::vector<MemoryRow> changes_that_fit(const PreparedLaunch& prepared, const MemoryInputs& given,
                                        const MemorySheet& now) {
  const LaunchInputs& inputs = prepared.inputs;
  const Launch& launch = prepared.launch;
  std::vector<MemoryRow> rows;
  const auto attempt = [&](const std::vector<Field>& dropped, const std::vector<std::string>& added) {
    std::string why;
    const std::vector<std::string> argv = with_options(inputs, dropped, added);
    const auto sheet = sheet_of(inputs, argv, given, why);
    if (!sheet || !sheet->fits()) return false;
    if (!errors_of(prepared, argv, given.weights_gib.has_value()).empty()) return false;
    rows.push_back({fmt::format("{}", fmt::join(added, " ")), *sheet});
    return true;
  };
  if (now.any_fraction()) {
    // With some room for a cache; where the weights leave little, with what there is.
    const double least = plan::advised_fraction(now.least);
    const double most = least < 0.945 ? 0.95 : 0.98;
    for (const double more : {0.05, 0.03, 0.015, 0.005}) {
      const double raised = least + more;
      if (raised > most) continue;
      if (attempt({Field::mem_fraction_static}, {"--mem-fraction-static", fmt::format("{:.3f}", raised)})) break;
    }
  }
  attempt({Field::chunked_prefill_size}, {"--chunked-prefill-size", "2048"});
  if (given.weights_gib) return rows;  // measured weights do not shrink with more ranks
  int told = 0;
  for (std::int64_t wider = LaunchView(launch).tp() + 1; wider <= launch.device.count && told < 2; ++wider) {
    if (attempt({Field::tp_size}, {"--tp-size", std::to_string(wider)})) ++told;
  }
  return rows;
}

// CLI11's own takes nan for positive.
CLI::Validator gibibytes() {
  constexpr double kMost = 1'000'000;  // more than any machine has, and what a table has room for
  return CLI::Validator(
      [](std::string& text) {
        double number = 0.0;
        const bool holds = CLI::detail::lexical_cast(text, number) && number > 0.0 && number <= kMost;
        return holds ? std::string() : "expected a number of GiB above 0, a million at most, not " + text;
      },
      "POSITIVE");
}

void add_memory_options(CLI::App& app, MemoryFlags& flags) {
  add_launch_options(app, flags.launch);
  app.add_option("--weights-gib", flags.given.weights_gib,
                 "Weights of one GPU as the server's log told, instead of an estimate")
      ->check(gibibytes());
  app.add_option("--draft-gib", flags.given.draft_gib, "The draft model's weights on one GPU")->check(gibibytes());
  app.add_option("--free-gib", flags.given.free_gib, "Free memory before loading, instead of the card's")
      ->check(gibibytes());
}

int run_memory(const MemoryFlags& flags, const std::vector<std::string>& arguments) {
  if (!launch_given(flags.launch, arguments)) return refuse({kNoLaunch});
  const auto input = launch_input(flags.launch, arguments);
  if (!input) return refuse(input.error());
  const OutputOptions output = output_options(flags.launch);
  const auto prepared = prepare_launch(*input);
  if (!prepared) return refuse(prepared.error());
  const Launch& launch = prepared->launch;
  const bool json = output.format == Format::kJson;
  const auto no_sheet = [&](const std::string& why) {
    report::complain(fmt::format("no memory sheet: {}", why));
    if (json) report::print(report::no_memory_json(why, prepared->machine));
    return kFindings;
  };
  if (prepared->unknown_model) return no_sheet("nothing is known about the model " + prepared->unknown_model->path);
  if (launch.usage) return no_sheet(launch.usage->message);
  if (launch.refusal) return no_sheet("SGLang refuses the launch: " + launch.refusal->message);
  std::string why;
  const auto sheet = sheet_of(prepared->inputs, prepared->inputs.argv, flags.given, why);
  if (!sheet) return no_sheet(why);
  MemoryReport sheets{
      .machine = prepared->machine, .sheet = *sheet, .errors = errors_of(*prepared, prepared->inputs.argv, true)};
  conceal(sheets.errors, prepared->inputs);
  if (!sheet->fits()) sheets.changes = changes_that_fit(*prepared, flags.given, *sheet);
  sheets.devices = on_other_devices(prepared->inputs, flags.given);
  report::print(json ? report::memory_json(sheets) : report::memory_text(sheets, launch, report::Style(output.colour)));
  return sheet->fits() && sheets.errors.empty() ? kOk : kFindings;
}

}  // namespace

Subcommand memory_subcommand() {
  return with_flags(
      std::make_shared<MemoryFlags>(),
      {.name = "memory",
       .what = "What one GPU holds, and which --mem-fraction-static works",
       .examples = {"memory --device-profile b60 --device-count 2 -- --model-path Qwen/Qwen3-8B --tp-size 2"}},
      add_memory_options, run_memory);
}

std::optional<MemorySummary> memory_summary(const PreparedLaunch& prepared, std::string* why_not) {
  // A few facts about a model are no base for counting its weights.
  if (prepared.unknown_model || prepared.facts_by_option || !prepared.launch.accepted()) return std::nullopt;
  std::string why;
  MemoryInputs given;
  take_parts(prepared.launch, *prepared.inputs.models, given);
  const auto s = plan::memory_sheet(prepared.launch, given, why);
  if (why_not != nullptr) *why_not = why;
  if (!s || s->fraction <= 0.0) return std::nullopt;
  constexpr std::int64_t kLeastRequest = 4096;
  const bool asked = prepared.launch.args.last_given(Field::context_length) != nullptr;
  return MemorySummary{
      .device = s->device_gib,
      .weights = s->loaded_gib(),
      .draft = s->counted_draft_gib(),
      .adapters = s->adapters_gib,
      .exact = s->weights_exact && s->draft_gib == 0.0 && s->adapters_known,
      .fraction = s->fraction,
      .least = s->least,
      .cache = s->fits() && s->cost.keeps_no_keys() ? 0.0 : s->cache_gib,  // what is left stays free
      .states = s->state_gib,
      .tokens = s->tokens,
      .context = s->context,
      .requests = s->at_once,
      .full_requests = s->full_requests,
      .from_files = s->weights_from_files,
      .wanted = asked || s->context <= 0 ? std::max<std::int64_t>(s->context, 1) : std::min(s->context, kLeastRequest)};
}

}  // namespace preflight::commands
