#include "src/rules/draft_checkpoint.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// An option of the model's loading, and the one that says otherwise for the draft.
struct Pair {
  Field model;
  Field draft;
  std::string_view option;
  std::string_view of_draft;
};
constexpr std::array kPairs = {
    Pair{Field::quantization, Field::speculative_draft_model_quantization, "--quantization",
         "--speculative-draft-model-quantization"},
    Pair{Field::load_format, Field::speculative_draft_load_format, "--load-format", "--speculative-draft-load-format"}};

bool given(const Launch& launch, Field field) { return launch.args.last_given(field) != nullptr; }

void rename_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The draft takes the model's value where it is given none; only then is there nothing of its own to drop.
void rename_step(RemedyStep& step, const Launch& launch) {
  const auto* pair = std::ranges::find(kPairs, std::string_view(step.name), &Pair::option);
  if (pair == kPairs.end()) return;
  const bool own = given(launch, pair->draft);
  if (pair->model == Field::load_format && !own) return;
  step.name = pair->of_draft;
  if (!own && step.kind == StepKind::kDrop) {
    step.kind = StepKind::kGive;
    step.values = {"unquant"};
  }
}

}  // namespace

std::optional<Launch> launch_of_draft(const Launch& launch, const ModelFacts& draft) {
  const bool own_format = !launch[Field::speculative_draft_load_format].is_none();
  const bool as_model = launch[Field::quantization] == launch[Field::speculative_draft_model_quantization];
  if (launch.model && launch.model->path == draft.path && as_model && !own_format) return std::nullopt;
  Launch own = launch;
  own.model = std::make_shared<ModelFacts>(draft);
  own.resolved.set(Field::quantization, launch[Field::speculative_draft_model_quantization]);
  if (own_format) own.resolved.set(Field::load_format, launch[Field::speculative_draft_load_format]);
  for (const Pair& pair : kPairs) {
    if (!given(launch, pair.draft)) continue;
    std::erase_if(own.args.given, [&](const GivenOption& option) { return option.field == pair.model; });
    for (GivenOption& option : own.args.given) {
      if (option.field == pair.draft) option.field = pair.model;
    }
  }
  return own;
}

Finding said_of_draft(const Rule& rule, Finding finding, const Launch& launch) {
  finding.message = "the draft model: " + finding.message;
  finding.field = finding.field ? finding.field : rule.field;
  for (const Pair& pair : kPairs) {
    if (!given(launch, pair.draft)) continue;
    rename_all(finding.message, pair.option, pair.of_draft);
    if (finding.field == pair.model) finding.field = pair.draft;
  }
  if (finding.field && !given(launch, *finding.field)) finding.field = Field::speculative_draft_model_path;
  if (finding.remedies.empty()) finding.remedies = remedies_of(rule);
  // What names another checkpoint names one of the model.
  std::erase_if(finding.remedies, [](const Remedy& remedy) { return !remedy.stored_as.empty() || !remedy.acts(); });
  for (Remedy& remedy : finding.remedies) {
    for (RemedyStep& step : remedy.steps) rename_step(step, launch);
  }
  finding.remedies.push_back(to_drop("--speculative-algorithm"));
  finding.remedies.push_back(in_words("another draft model"));
  return finding;
}

}  // namespace preflight::rules
