// EAGLE, EAGLE3 and STANDALONE: a draft model proposes a chain or a tree; and FROZEN_KV_MTP, the Gemma 4 assistant.
// The order of the checks is upstream's: it decides which of two faults a launch hears of. Tested by
// tests/resolve_speculative_test.cpp.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "src/resolve/core/queries.h"
#include "src/python/integer.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

constexpr std::string_view kStep = "_handle_eagle_family";

constexpr ValueErrorOf refuse{kStep};  // NOLINT(readability-identifier-naming): called as a function is

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string architecture(Resolution& r) {
  const auto& names = r.model().architectures;
  if (names.empty())
    r.refuse(RF::kOther, "TypeError", std::string(kStep), "the model's config.json names no architecture");
  return names.front();
}

// Releases before 0.5.19 announce the schedule either way; SGLANG_ENABLE_SPEC_V2=0 turned the overlap off.
void announce_schedule(Resolution& r) {
  // Trees needed the first version of speculative decoding, which has no overlap.
  const bool tree = r.before(v0_5(13)) && !r.none(Field::speculative_eagle_topk) &&
                    greater(r, Field::speculative_eagle_topk, 1, kStep);
  if (tree || (r.before(v0_5(14)) && !r.env_bool("SGLANG_ENABLE_SPEC_V2", true))) {
    r.set(kStep, Field::disable_overlap_schedule, true);
  }
  disable_overlap_schedule_for_cpu(r);
  if (r.on(Field::disable_overlap_schedule)) {
    r.warn(kStep, "speculative decoding runs without overlap scheduling");
  } else if (r.before(v0_5(14))) {
    r.warn(kStep, "speculative decoding runs with overlap scheduling");
  }
}

void restrict_mixed_chunk(Resolution& r) {
  const bool supported = r.since(v0_5(19)) && r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3"});
  if (r.on(Field::enable_mixed_chunk) && !supported) disable_mixed_chunk(r, kStep);
}

bool carries_own_draft(const Resolution& r, std::string_view arch) {
  if (arch == "DeepseekV4ForCausalLM") return r.since(v0_5(12));
  if (contains({"DeepseekV32ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM",
                "GlmMoeDsaForCausalLM", "BailingMoeForCausalLM", "BailingMoeV2ForCausalLM", "BailingMoeV2_5ForCausalLM",
                "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "HYV3ForCausalLM"},
               arch)) {
    return true;
  }
  return r.since(v0_5(20)) && contains({"HYV4ForCausalLM", "Qwen4ExpForConditionalGeneration"}, arch);
}

// Models whose checkpoint holds the draft layers draft with themselves.
void default_draft_model(Resolution& r, std::string_view arch) {
  if (!carries_own_draft(r, arch)) return;
  if (r.none(Field::speculative_draft_model_path)) {
    r.change(kStep, Field::speculative_draft_model_path, r[Field::model_path]);
    r.change(kStep, Field::speculative_draft_model_revision, r[Field::revision]);
  } else if (!contains({"MistralLarge3ForCausalLM", "PixtralForConditionalGeneration"}, arch)) {
    r.warn(kStep, "this model drafts with its own layers; --speculative-draft-model-path is not needed");
  }
}

struct Shape {
  int steps;
  int topk;
  int draft_tokens;
};

Shape automatic_shape(const Resolution& r, std::string_view arch) {
  const bool tree = contains({"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"}, arch);
  return tree && !r.is(Field::speculative_algorithm, "STANDALONE") ? Shape{5, 4, 8} : Shape{3, 1, 4};
}

void choose_shape(Resolution& r, std::string_view arch) {
  const bool adaptive_chose = r.since(v0_5(14)) && r.on(Field::speculative_adaptive);
  if (adaptive_chose || !r.none(Field::speculative_num_steps)) return;
  r.require(RF::kPartialTree, r.none(Field::speculative_eagle_topk) && r.none(Field::speculative_num_draft_tokens),
            kStep, "--speculative-eagle-topk and --speculative-num-draft-tokens need --speculative-num-steps");
  const Shape shape = automatic_shape(r, arch);
  if (r.before(v0_5(14))) {
    r.set(kStep, Field::speculative_num_steps, shape.steps);
    r.set(kStep, Field::speculative_eagle_topk, shape.topk);
    r.set(kStep, Field::speculative_num_draft_tokens, shape.draft_tokens);
    return;
  }
  r.declare("_handle_eagle_family.auto_params", {{Field::speculative_num_steps, shape.steps},
                                                 {Field::speculative_eagle_topk, shape.topk},
                                                 {Field::speculative_num_draft_tokens, shape.draft_tokens}});
}

void check_rejection_sampling(Resolution& r) {
  if (!r.on(Field::speculative_use_rejection_sampling)) return;
  if (!r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3"})) {
    r.refuse(RF::kOther, "NotImplementedError", std::string(kStep),
             "rejection sampling works with EAGLE, EAGLE3 and NEXTN only");
  }
  if (r.before(v0_5(16)) && r.on(Field::enable_multi_layer_eagle)) {
    r.refuse(RF::kOther, "NotImplementedError", std::string(kStep),
             "rejection sampling does not go with multi-layer EAGLE");
  }
  if (r[Field::speculative_eagle_topk] != Value(1)) {
    refuse(r, RF::kOther, "rejection sampling needs --speculative-eagle-topk 1");
  }
  const bool deterministic = r.on(Field::enable_deterministic_inference);
  if (deterministic && r.since(v0_5(23)) && !r.text(Field::device).starts_with("cuda")) {
    refuse(r, RF::kOther, "deterministic rejection sampling needs CUDA");
  }
  if (r[Field::speculative_accept_threshold_single] != Value(1.0) ||
      r[Field::speculative_accept_threshold_acc] != Value(1.0)) {
    refuse(r, RF::kOther, "rejection sampling ignores the accept thresholds: leave them at 1.0");
  }
  if (deterministic && r.before(v0_5(23))) refuse(r, RF::kOther, "rejection sampling is not deterministic");
}

void fit_draft_tokens(Resolution& r) {
  if (r[Field::speculative_eagle_topk] != Value(1)) return;
  if (r.none(Field::speculative_num_steps)) {
    r.refuse(RF::kPartialTree, "TypeError", std::string(kStep), "--speculative-num-steps has no value");
  }
  const Value& steps = r[Field::speculative_num_steps];
  const Value chain = steps.is_int() ? integer::plus(steps, 1) : Value(r.integer(Field::speculative_num_steps) + 1);
  if (r[Field::speculative_num_draft_tokens] == chain) return;
  r.warn(kStep, "a chain of drafts verifies steps + 1 tokens; --speculative-num-draft-tokens is adjusted");
  r.change(kStep, Field::speculative_num_draft_tokens, chain);
}

// Upstream refuses trees on trtllm_mha apart. A launch that still names it here runs it in no phase; its pages were
// made larger than 1 for it, so that these words refuse it as well.
void check_tree_pages(Resolution& r) {
  if (greater(r, Field::speculative_eagle_topk, 1, kStep) && greater(r, Field::page_size, 1, kStep) &&
      !r.one_of(Field::attention_backend, {"flashinfer", "fa3"}) &&
      !(r.since(v0_5(13)) && r.is(Field::attention_backend, "triton"))) {
    const bool takes_ones = !r.is(Field::attention_backend, "intel_xpu");  // whose pages are larger, whatever is given
    refuse(r, RF::kTreeWithPages,
           fmt::format("--speculative-eagle-topk above 1 needs {}{}",
                       takes_ones ? "--page-size 1" : "pages of one token, which intel_xpu does not have",
                       r.since(v0_5(13)) ? ", or the triton attention backend" : ""));
  }
}

}  // namespace

void handle_eagle_family(Resolution& r) {
  if (r.is(Field::speculative_algorithm, "STANDALONE") && attn_dp_enabled(r)) {
    refuse(r, RF::kOther, "STANDALONE does not work with data-parallel attention");
  }
  cap_running_requests(r, kStep);
  announce_schedule(r);
  restrict_mixed_chunk(r);
  const std::string arch = architecture(r);
  default_draft_model(r, arch);
  if (r.since(v0_5(21))) fit_iquest_q1_draft(r, arch);
  choose_shape(r, arch);
  check_rejection_sampling(r);
  fit_draft_tokens(r);
  check_tree_pages(r);
}

void handle_frozen_kv_mtp(Resolution& r) {
  constexpr std::string_view kHere = "_handle_frozen_kv_mtp";
  cap_running_requests(r, kHere);
  if (r.before(v0_5(14))) {
    r.set(kHere, Field::disable_overlap_schedule, true);
    r.warn(kHere, "FROZEN_KV_MTP runs without overlap scheduling");
  }
  if (r.on(Field::enable_mixed_chunk)) disable_mixed_chunk(r, kHere);
}

}  // namespace preflight::resolve::speculative
