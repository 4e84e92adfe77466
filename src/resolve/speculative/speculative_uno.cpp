// UNO: the target drafts with a LoRA adapter of its own, as a chain or as a tree. It needs CUDA with FA3 attention, so
// no launch on an Intel GPU passes; the order of its checks decides what such a launch hears. Tested by
// tests/resolve_speculative_test.cpp.
#include <algorithm>
#include <string>

#include "src/resolve/core/queries.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

constexpr std::string_view kStep = "_handle_uno";

void refuse(Resolution& r, std::string message) {
  r.refuse(RF::kOther, "ValueError", std::string(kStep), std::move(message));
}

void check_inputs(Resolution& r) {
  if (!r.text(Field::device).starts_with("cuda")) refuse(r, "UNO needs CUDA");
  if (!r.none(Field::speculative_draft_model_path)) refuse(r, "UNO drafts with the target: no draft model path");
  if (r.none(Field::uno_lora_path)) refuse(r, "UNO needs --uno-lora-path");
  if (r.on(Field::enable_deterministic_inference)) refuse(r, "UNO is not deterministic");
  if (r.on(Field::enable_strict_thinking)) refuse(r, "UNO does not work with --enable-strict-thinking");
}

std::int64_t verify_width(Resolution& r) {
  if (r.none(Field::speculative_num_draft_tokens) || r.integer(Field::speculative_num_draft_tokens) < 1) {
    refuse(r, "UNO needs a positive --speculative-num-draft-tokens");
  }
  const std::int64_t width = r.integer(Field::speculative_num_draft_tokens);
  r.declare(kStep, {{Field::speculative_num_draft_tokens, width}});
  return width;
}

// A tree of `steps` levels with `branches` children a node must hold `width` nodes, in EAGLE's parent list too.
void check_tree_capacity(Resolution& r, std::int64_t width, std::int64_t steps, std::int64_t branches) {
  if (width < steps + 1) refuse(r, "a UNO tree must verify at least steps + 1 tokens");
  if (width > 128) refuse(r, "a UNO tree verifies at most 128 tokens");
  if (width * branches > 2048) refuse(r, "a UNO tree has at most 2048 candidates: draft tokens times topk");
  std::int64_t capacity = 1;
  std::int64_t level = 1;
  for (std::int64_t i = 0; i < steps && capacity < width; ++i) {
    level *= branches;
    capacity += level;
  }
  if (width > capacity) refuse(r, "so few steps and branches cannot make that many draft tokens");
  if (width - 1 > branches * std::max<std::int64_t>(steps - 1, 0) + 1) {
    refuse(r, "EAGLE's parent list cannot hold that many draft tokens for so few steps and branches");
  }
}

void shape_tree(Resolution& r, std::int64_t width, std::int64_t branches) {
  if (r.none(Field::speculative_num_steps)) refuse(r, "a UNO tree needs --speculative-num-steps");
  const std::int64_t steps = r.integer(Field::speculative_num_steps);
  if (steps < 1) refuse(r, "a UNO tree needs a positive --speculative-num-steps");
  check_tree_capacity(r, width, steps, branches);
  if (r.on(Field::enable_pdmux)) refuse(r, "a UNO tree does not work with PD multiplexing");
  if (r.on(Field::enable_two_batch_overlap)) refuse(r, "a UNO tree does not work with two-batch overlap");
  if (r[Field::speculative_accept_threshold_single] != Value(1.0) ||
      r[Field::speculative_accept_threshold_acc] != Value(1.0)) {
    refuse(r, "a UNO tree needs both accept thresholds at 1.0");
  }
  r.declare(kStep, {{Field::speculative_num_steps, steps}, {Field::speculative_eagle_topk, branches}});
}

void shape_chain(Resolution& r) {
  for (const Field f : {Field::speculative_num_steps, Field::speculative_eagle_topk}) {
    if (!is_none_or_one(r[f])) r.warn(kStep, "UNO without a tree sets " + std::string(field_name(f)) + " to 1");
  }
  r.declare(kStep, {{Field::speculative_num_steps, 1}, {Field::speculative_eagle_topk, 1}});
}

void check_deployment(Resolution& r) {
  if (r.integer(Field::tp_size) != 1 || r.integer(Field::pp_size) != 1) refuse(r, "UNO runs on one GPU");
  if (attn_dp_enabled(r) || r.integer(Field::attn_cp_size) != 1) refuse(r, "UNO does not split attention");
  if (r.on(Field::enable_lora) || r.on(Field::lora_paths)) refuse(r, "UNO does not work with other LoRA adapters");
  r.declare(kStep, {{Field::enable_lora_overlap_loading, false}, {Field::lora_strict_loading, true}});
  if (r.on(Field::speculative_use_rejection_sampling)) refuse(r, "UNO does not use rejection sampling");
  if (r.on(Field::enable_mixed_chunk)) disable_mixed_chunk(r, kStep);
  const AttentionBackends backends = attention_backends(r);
  if (!is_text(backends.prefill, "fa3") || !is_text(backends.decode, "fa3")) {
    refuse(r, "UNO needs the fa3 attention backend for prefill and decode");
  }
}

}  // namespace

void handle_uno(Resolution& r) {
  check_inputs(r);
  const std::int64_t width = verify_width(r);
  const std::int64_t branches = r.none(Field::speculative_eagle_topk) ? 1 : r.integer(Field::speculative_eagle_topk);
  if (branches < 1) refuse(r, "UNO needs --speculative-eagle-topk of at least 1");
  if (branches > 1) {
    shape_tree(r, width, branches);
  } else {
    shape_chain(r);
  }
  check_deployment(r);
}

}  // namespace preflight::resolve::speculative
