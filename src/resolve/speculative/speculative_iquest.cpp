// IQuest Q1 drafts with a separate checkpoint of its own kind, whose shape must fit the target.
// Tested by tests/resolve_speculative_test.cpp.
#include <string>

#include "src/resolve/core/queries.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

constexpr std::string_view kStep = "_handle_iquest_q1_mtp_draft";

void refuse(Resolution& r, std::string message) {
  r.refuse(RF::kOther, "ValueError", std::string(kStep), std::move(message));
}

Value member(const Value& config, std::string_view key) {
  const Value* value = config.find(key);
  return value == nullptr ? Value() : *value;
}

void check_draft_fits(Resolution& r, const Value& draft) {
  if (!is_text(member(draft, "model_type"), "iquest_q1_mtp")) {
    refuse(r, "the draft model of an IQuest Q1 target must be an IQuest Q1 MTP checkpoint");
  }
  const ModelFacts& target = r.model();
  if (member(draft, "hidden_size") != target.root("hidden_size") ||
      member(draft, "vocab_size") != target.root("vocab_size")) {
    refuse(r, "the draft's hidden size and vocabulary must be the target's");
  }
  if (member(draft, "num_target_layers") != target.root("num_hidden_layers")) {
    refuse(r, "the draft was made for a target with another number of layers");
  }
}

}  // namespace

void fit_iquest_q1_draft(Resolution& r, std::string_view architecture) {
  if (architecture != "IQuestQ1ForCausalLM") return;
  const Value& path = r[Field::speculative_draft_model_path];
  if (path.is_none() || path == r[Field::model_path]) refuse(r, "IQuest Q1 needs a draft model of its own");
  auto loaded = load_draft_config(r, DraftConfig::kPlain);
  if (auto* refused = std::get_if<Refusal>(&loaded)) throw RefusedByStep{std::move(*refused)};
  const Value draft = std::get<Value>(std::move(loaded));
  check_draft_fits(r, draft);
  if (!r.none(Field::speculative_token_map)) refuse(r, "an IQuest Q1 draft has its own vocabulary: no token map");
  const std::int64_t slots = member(draft, "num_draft_slots").is_int() ? member(draft, "num_draft_slots").as_int() : 7;
  const std::int64_t steps = r.none(Field::speculative_num_steps) ? slots : r.integer(Field::speculative_num_steps);
  if (steps < 1) refuse(r, "--speculative-num-steps must be positive");
  if (steps > slots) r.warn(kStep, "more draft steps than the draft checkpoint has slots");
  if (!is_none_or_one(r[Field::speculative_eagle_topk])) refuse(r, "--speculative-eagle-topk must be 1");
  const Value& tokens = r[Field::speculative_num_draft_tokens];
  if (!tokens.is_none() && tokens != Value(steps + 1)) refuse(r, "--speculative-num-draft-tokens must be steps + 1");
  r.declare(kStep, {{Field::speculative_num_steps, steps},
                    {Field::speculative_eagle_topk, 1},
                    {Field::speculative_num_draft_tokens, steps + 1}});
}

}  // namespace preflight::resolve::speculative
