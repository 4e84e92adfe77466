// DSPARK: a draft proposes a block of gamma tokens and a Markov head corrects it; verification takes gamma + 1. The
// draft comes as a model of its own, inside the target's checkpoint, or in its dspark/ folder. Tested by
// tests/resolve_speculative_test.cpp.
#include <string>

#include <fmt/format.h>

#include "src/resolve/core/queries.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

constexpr std::string_view kStep = "_handle_dspark";
constexpr std::int64_t kDefaultGamma = 7;

constexpr ValueErrorOf refuse{kStep};  // NOLINT(readability-identifier-naming): called as a function is

// Data-parallel attention narrows what DSPARK works with (Ascend devices, exempt from most of it, are refused before).
void check_data_parallel(Resolution& r) {
  if (r.integer(Field::attn_dp_size) <= 1) return;
  if (!r.on(Field::enable_dp_lm_head))
    refuse(r, RF::kOther, "DSPARK with data-parallel attention needs --enable-dp-lm-head");
  const bool mori = r.since(v0_5(21));
  const bool exchanges =
      r.one_of(Field::moe_a2a_backend, {"none", "megamoe"}) || (mori && r.is(Field::moe_a2a_backend, "mori"));
  if (!exchanges) {
    refuse(r, RF::kOther,
           fmt::format("DSPARK with data-parallel attention works with --moe-a2a-backend {}",
                       mori ? "none, megamoe or mori" : "none or megamoe"));
  }
  const bool needs_static = !r.is(Field::moe_a2a_backend, "none") ||
                            (r.since(v0_5(22)) && r.env_bool("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION", false));
  if (needs_static && ragged_verify_mode(r) != RaggedVerify::kStatic) {
    refuse(r, RF::kOther, "DSPARK with expert exchange or prefill coordination needs SGLANG_RAGGED_VERIFY_MODE=static");
  }
  if (r.integer(Field::attn_cp_size) > 1)
    refuse(r, RF::kOther, "DSPARK has no context parallelism under data parallelism");
  if (!r.none(Field::speculative_moe_a2a_backend) &&
      r[Field::speculative_moe_a2a_backend] != r[Field::moe_a2a_backend]) {
    refuse(r, RF::kOther, "DSPARK ignores --speculative-moe-a2a-backend: it must equal --moe-a2a-backend");
  }
}

void check_placement(Resolution& r) {
  const std::string device = r.text(Field::device);
  const bool xpu = r.since(v0_5(23)) && device.starts_with("xpu");
  if (!device.starts_with("cuda") && !xpu) {
    refuse(r, RF::kAlgorithmForOthers, "DSPARK does not run on device " + device);
  }
  check_data_parallel(r);
  const bool prefills = r.since(v0_5(21)) && r.is(Field::disaggregation_mode, "prefill");
  if (r.integer(Field::pp_size) != 1 && !prefills) {
    refuse(r, RF::kOther, "DSPARK with pipeline parallelism works on prefill servers only");
  }
}

bool bundles_draft(Resolution& r) {
  const ModelFacts& model = r.model();
  for (const std::string_view key :
       {"dspark_block_size", "dspark_markov_rank", "dspark_noise_token_id", "dspark_target_layer_ids"}) {
    if (!model.root(key).is_none()) return true;
  }
  return false;
}

void default_draft_model(Resolution& r) {
  if (!r.none(Field::speculative_draft_model_path)) return;
  if (bundles_draft(r)) {
    r.declare(kStep, {{Field::speculative_draft_model_path, r[Field::model_path]}});
    r.declare(kStep, {{Field::speculative_draft_model_revision, r[Field::revision]}});
    return;
  }
  std::string folder = r.text(Field::model_path);
  if (!folder.ends_with('/')) folder += '/';
  folder += "dspark";
  if (r.before(v0_5(23)) || !r.models().has_file(folder, "config.json")) {
    refuse(r, RF::kOther, "DSPARK needs --speculative-draft-model-path: the target's checkpoint holds no draft");
  }
  r.declare(kStep, {{Field::speculative_draft_model_path, folder}});
}

// An unreadable draft configuration costs a warning; the arguments or the default decide then.
std::optional<std::int64_t> resolve_gamma(Resolution& r) {
  const auto config = load_draft_config(r, DraftConfig::kWithOverrides);
  BlockDraft draft;
  if (const auto* value = std::get_if<Value>(&config)) draft = parse_dspark_draft(r, *value);
  if (!draft.valid) r.warn(kStep, "the draft model's configuration cannot be used");
  if (!r.none(Field::speculative_dspark_block_size)) {
    const std::int64_t given = r.integer(Field::speculative_dspark_block_size);
    if (given <= 0) refuse(r, RF::kOther, "--speculative-dspark-block-size must be positive");
    return given;
  }
  if (draft.block_size || !r.none(Field::speculative_num_draft_tokens)) return draft.block_size;
  r.warn(kStep, "DSPARK drafts 7 tokens by default");
  return kDefaultGamma;
}

void fit_draft_tokens(Resolution& r) {
  if (const auto gamma = resolve_gamma(r)) {
    const Value window = *gamma + 1;
    if (!r.none(Field::speculative_num_draft_tokens) && r[Field::speculative_num_draft_tokens] != window) {
      refuse(r, RF::kOther,
             "--speculative-num-draft-tokens must be the draft's block size + 1, which is " + window.repr());
    }
    r.declare(kStep, {{Field::speculative_num_draft_tokens, window}});
  }
  if (r.integer(Field::speculative_num_draft_tokens) < 2) {
    refuse(r, RF::kOther, "--speculative-num-draft-tokens must be at least 2");
  }
}

void note_idle_options(Resolution& r) {
  const RaggedVerify mode = ragged_verify_mode(r);
  if (r.on(Field::speculative_dspark_align_verify_tokens_to_graph_tier) && mode != RaggedVerify::kCompact) {
    r.warn(kStep, "--speculative-dspark-align-verify-tokens-to-graph-tier needs SGLANG_RAGGED_VERIFY_MODE=compact");
  }
  if (r.on(Field::speculative_dspark_sps_table_path) && mode == RaggedVerify::kStatic) {
    r.warn(kStep, "--speculative-dspark-sps-table-path does nothing under SGLANG_RAGGED_VERIFY_MODE=static");
  }
}

}  // namespace

void handle_dspark(Resolution& r) {
  check_placement(r);
  default_draft_model(r);
  force_one(r, Field::speculative_num_steps, kStep);
  force_one(r, Field::speculative_eagle_topk, kStep);
  fit_draft_tokens(r);
  cap_running_requests(r, kStep);
  note_idle_options(r);
}

}  // namespace preflight::resolve::speculative
