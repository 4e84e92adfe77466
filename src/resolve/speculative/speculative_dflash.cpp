// DFLASH: a draft model proposes a whole block; the block's size comes from the arguments or from the draft's
// configuration. Tested by tests/resolve_speculative_test.cpp.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "src/resolve/core/queries.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

constexpr std::string_view kStep = "_handle_dflash";

constexpr ValueErrorOf refuse{kStep};  // NOLINT(readability-identifier-naming): called as a function is

void check_placement(Resolution& r) {
  const std::string device = r.text(Field::device);  // npu, which upstream exempts, is refused long before
  const bool cuda = device.starts_with("cuda");
  const bool runs = cuda || (device == "xpu" && r.since(v0_5(20)));
  if (r.since(v0_5(16)) && !runs) refuse(r, RF::kAlgorithmForOthers, "DFLASH does not run on device " + device);
  if (attn_dp_enabled(r)) {
    if (r.before(v0_5(23))) refuse(r, RF::kOther, "DFLASH does not work with data-parallel attention");
    if (!cuda) refuse(r, RF::kOther, "DFLASH with data-parallel attention needs CUDA");
    if (!r.on(Field::enable_dp_lm_head))
      refuse(r, RF::kOther, "DFLASH with data-parallel attention needs --enable-dp-lm-head");
    if (r.integer(Field::attn_cp_size) != 1)
      refuse(r, RF::kOther, "DFLASH has no context parallelism under data parallelism");
    if (r.env_bool("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION", false)) {
      refuse(r, RF::kOther, "DFLASH with data-parallel attention needs SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION=0");
    }
  }
  if (r.integer(Field::pp_size) != 1) refuse(r, RF::kOther, "DFLASH does not work with pipeline parallelism");
  if (r.none(Field::speculative_draft_model_path)) refuse(r, RF::kOther, "DFLASH needs --speculative-draft-model-path");
}

void take_block_size(Resolution& r) {
  if (r.none(Field::speculative_dflash_block_size)) return;
  const Value size = r[Field::speculative_dflash_block_size];
  if (r.integer(Field::speculative_dflash_block_size) <= 0)
    refuse(r, RF::kOther, "--speculative-dflash-block-size must be positive");
  if (!r.none(Field::speculative_num_draft_tokens) && r[Field::speculative_num_draft_tokens] != size) {
    refuse(r, RF::kOther,
           "--speculative-dflash-block-size and --speculative-num-draft-tokens are one number and differ");
  }
  r.change(kStep, Field::speculative_num_draft_tokens, size);
}

Field window_size(const Resolution& r) {
  return r.since(v0_5(12)) ? Field::speculative_draft_window_size : Field::speculative_dflash_draft_window_size;
}

void take_window(Resolution& r) {
  const Field field = window_size(r);
  if (r.since(v0_5(13)) || r.none(field)) return;
  const std::int64_t window = r.integer(field);
  if (window <= 0) refuse(r, RF::kOther, "the draft's window must be positive");
  r.set(kStep, field, window);
}

// A configuration that cannot be read or that SGLang refuses costs a warning, and the default block of 16.
void infer_block_size(Resolution& r) {
  if (!r.none(Field::speculative_num_draft_tokens)) return;
  if (auto overrides = Value::parse_json(r.text(Field::json_model_override_args)); !overrides) {
    r.refuse(RF::kOther, "JSONDecodeError", std::string(kStep), "--json-model-override-args is not JSON");
  }
  const auto config = load_draft_config(r, DraftConfig::kWithOverrides);
  BlockDraft draft;
  if (const auto* value = std::get_if<Value>(&config)) draft = parse_dflash_draft(r, *value);
  if (!draft.valid) r.warn(kStep, "the draft model's configuration does not tell its block size");
  if (!draft.block_size) r.warn(kStep, "DFLASH drafts blocks of 16 tokens by default");
  r.change(kStep, Field::speculative_num_draft_tokens, draft.block_size.value_or(16));
}

void check_window(Resolution& r) {
  const Field field = window_size(r);
  if (r.none(field)) return;
  if (r.integer(field) < r.integer(Field::speculative_num_draft_tokens)) {
    refuse(r, RF::kOther, "the draft's window must hold at least one block");
  }
}

Value member(const Value& config, std::string_view key) {
  const Value* value = config.find(key);
  return value == nullptr ? Value() : *value;
}

// trtllm_mha drafts only where every layer slides or the draft is causal.
bool suits_trtllm_mha(Resolution& r, std::string_view function) {
  const auto loaded = load_draft_config(r, DraftConfig::kWithOverrides);
  if (const auto* refused = std::get_if<Refusal>(&loaded)) {
    Refusal named = *refused;
    if (named.function.empty()) named.function = function;
    throw RefusedByStep{std::move(named)};
  }
  const auto& config = std::get<Value>(loaded);
  const Value text = member(config, "text_config").truthy() ? member(config, "text_config") : config;
  Value types = member(text, "layer_types");
  if (text.find("layer_types") == nullptr) types = member(config, "layer_types");
  if (!types.is_none() && !types.is_list()) {
    r.refuse(RF::kOther, "ValueError", "get_dflash_layer_types", "the draft's layer_types must be a list");
  }
  const bool all_slide =
      types.truthy() && Value(static_cast<std::int64_t>(types.as_list().size())) == member(text, "num_hidden_layers") &&
      std::all_of(types.as_list().begin(), types.as_list().end(),
                  [](const Value& t) { return is_text(t, "sliding_attention"); });
  const Value causal = member(text, "is_causal");
  return all_slide || (causal.is_bool() && causal.as_bool());
}

void choose_draft_attention(Resolution& r) {
  constexpr std::string_view kHere = "_resolve_dflash_draft_attention_backend";
  // XPU is told from CUDA since 0.5.20.
  const std::string_view fallback = r.since(v0_5(20)) ? "triton" : "flashinfer";
  const auto known = [&](std::string_view backend) {
    if (backend == "trtllm_mha") return r.since(v0_5(17));
    if (backend == "intel_xpu") return r.since(v0_5(20));
    return std::ranges::find(kDraftAttentionBackends, backend) != std::end(kDraftAttentionBackends);
  };
  Value backend = r[Field::speculative_draft_attention_backend];
  if (backend.is_none()) backend = attention_backends(r).prefill;
  if (backend.is_none()) {
    backend = fallback;
  } else if (!known(backend.as_string())) {
    r.warn(kHere, fmt::format("DFLASH cannot draft with attention backend {} and uses {}", backend.repr(), fallback));
    backend = fallback;
  } else if (is_text(backend, "trtllm_mha") && !suits_trtllm_mha(r, kHere)) {
    r.warn(kHere, fmt::format("trtllm_mha needs a causal or sliding draft; DFLASH uses {}", fallback));
    backend = fallback;
  }
  r.declare(kHere, {{Field::speculative_draft_attention_backend, std::move(backend)}});
}

}  // namespace

void handle_dflash(Resolution& r) {
  check_placement(r);
  force_one(r, Field::speculative_num_steps, kStep);
  force_one(r, Field::speculative_eagle_topk, kStep);
  take_block_size(r);
  take_window(r);
  infer_block_size(r);
  check_window(r);
  if (r.since(v0_5(15))) choose_draft_attention(r);
  cap_running_requests(r, kStep);
  if (r.before(v0_5(14))) {
    r.set(kStep, Field::disable_overlap_schedule, true);
    r.warn(kStep, "DFLASH runs without overlap scheduling");
  }
  if (r.before(v0_5(19)) && r.on(Field::enable_mixed_chunk)) disable_mixed_chunk(r, kStep);
}

}  // namespace preflight::resolve::speculative
