// Context parallelism of the prefill. Upstream: arg_groups/parallel_hook.py (handle_context_parallelism),
// cp_tp_group_sharing_hook.py and model_override_base.py. Tested by tests/resolve_parallel_test.cpp.
#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/resolve/models/model_queries.h"
#include "src/resolve/models/model_questions.h"
#include "src/resolve/parallel/parallel.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

// Attention fed scattered rows: some models never enter that mode, and say so.
std::vector<FieldValue> boundary_parallelism(Resolution& r, const ModelFacts& model, const std::string& arch) {
  constexpr const char* kFunction = "_boundary_parallelism_overrides";
  const Value model_type = model.text("model_type");
  const bool nemotron = is_text(model_type, "nemotron_h") || is_text(model_type, "nemotron_h_puzzle");
  const bool longcat = is_text(model_type, "longcat_flash");
  if (nemotron && r.integer(Field::attn_cp_size) > 1) {
    r.refuse(RF::kOther, "ValueError", kFunction, "Nemotron-H has no context parallelism (--attn-cp-size)");
  }
  if (longcat && r.on(Field::enable_prefill_cp) && r.integer(Field::attn_cp_size) > 1) {
    r.refuse(RF::kOther, "ValueError", kFunction, "LongCat-Flash has no prefill context parallelism");
  }
  const bool inkling = contains({"InklingForConditionalGeneration", "InklingForConditionalGenerationMTP"}, arch);
  const bool never_scattered =
      nemotron || longcat || (r.since(v0_5(23)) && inkling) ||
      (r.since(v0_5(22)) && contains({"KimiK3ForConditionalGeneration", "KimiK3LinearForCausalLM"}, arch));
  if (!never_scattered || !r.on(Field::enable_attn_tp_input_scattered)) return {};
  r.warn(kFunction, "--enable-attn-tp-input-scattered is off: this model's attention never takes scattered rows");
  return {{Field::enable_attn_tp_input_scattered, false}};
}

void check_model_and_strategy(Resolution& r, const ModelFacts& model, const std::string& arch) {
  if (!r.on(Field::enable_prefill_cp)) return;
  const std::string_view function = "_handle_context_parallelism";
  if (r.since(v0_5(20)) && arch == "DeepseekV32ForCausalLM" && r.is(Field::cp_strategy, "zigzag")) {
    r.refuse(RF::kOther, "ValueError", function, "DeepSeek V3.2 splits prefill with --cp-strategy interleave only");
  }
  if (r.before(v0_5(16)) || !contains({"MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"}, arch)) return;
  if (r.before(v0_5(20)) && !r.env_bool("SGLANG_ENABLE_CP_V2", true)) return;
  if (!r.is(Field::cp_strategy, "zigzag")) {
    r.refuse(RF::kOther, "ValueError", function, "MiMo V2 splits prefill with --cp-strategy zigzag only");
  }
  if (model.is_multimodal && !r.on(Field::language_only) && !r.on(Field::language_model_only)) {
    r.refuse(RF::kOther, "ValueError", function, "MiMo V2 splits text prefill only; add --language-only");
  }
}

// The linear-attention heads that every rank of the group needs a share of.
void check_linear_heads(Resolution& r, const ModelFacts& model) {
  constexpr const char* kFunction = "resolve_cp_tp_group_sharing";
  if (!is_mambaish(model))  // a configuration of another class than the architecture's own
    r.refuse(RF::kOther, "AttributeError", kFunction, "config.json describes no linear attention");
  std::vector<std::pair<std::string, Value>> heads;
  if (!model.text("linear_num_key_heads").is_none()) {
    for (const char* name : {"linear_num_key_heads", "linear_num_value_heads"})
      heads.emplace_back(name, model.text(name));
  } else {
    const Value linear = model.text("linear_attn_config");
    const Value* count = linear.find("num_heads");
    heads.emplace_back("num_heads", count == nullptr ? Value() : *count);
  }
  for (const auto& [name, count] : heads) {
    if (!count.is_int()) r.refuse(RF::kOther, "TypeError", kFunction, name + " of the configuration is not a number");
    if (operators::modulo(r, kFunction, count.as_int(), r.integer(Field::tp_size)) != 0) {
      r.refuse(RF::kOther, "ValueError", kFunction, name + " is not a multiple of --tp-size");
    }
  }
}

void check_group_sharing_drafts(Resolution& r, bool glm) {
  constexpr const char* kFunction = "resolve_cp_tp_group_sharing";
  if (r.none(Field::speculative_algorithm)) return;
  if (!glm)
    r.refuse(RF::kOther, "ValueError", kFunction, "speculative decoding does not go with a shared CP and TP group");
  const bool dflash = r.since(v0_5(23));
  if (dflash && r.is(Field::speculative_algorithm, "DFLASH")) return;
  const bool native = contains({"EAGLE", "NEXTN"}, ascii_upper(r.text(Field::speculative_algorithm)));
  const bool own_draft =
      r.none(Field::speculative_draft_model_path) || r[Field::speculative_draft_model_path] == r[Field::model_path];
  const bool one_branch = r.none(Field::speculative_eagle_topk) || r[Field::speculative_eagle_topk] == Value(1);
  if (!native || !own_draft || !one_branch) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             fmt::format("a shared CP and TP group drafts with {}the model's own layers, top-k 1",
                         dflash ? "DFLASH or " : ""));
  }
}

void refuse_beside_group_sharing(Resolution& r, bool glm) {
  const bool disaggregated = !r.is(Field::disaggregation_mode, "null");
  const bool decode = r.is(Field::disaggregation_mode, "decode");
  const bool experts_split = r.integer(Field::ep_size) > 1;
  const bool pipelined = r.integer(Field::pp_size) > 1;
  struct Use {
    bool used;
    const char* what;
  };
  // --dcp-size above 1 beside --enable-prefill-cp is refused before, by handle_decode_context_parallelism.
  const Use uses[] = {
      {r.on(Field::enable_dsa_cache_layer_split), "--enable-dsa-cache-layer-split"},
      {r.on(Field::enable_mixed_chunk), "--enable-mixed-chunk"},
      {r.integer(Field::moe_dp_size) > 1, "--moe-dp-size"},
      {r.before(v0_5(23)) && disaggregated, "--disaggregation-mode"},
      {!glm && experts_split, "--ep-size"},
      {!glm && !r.is(Field::moe_a2a_backend, "none"), "--moe-a2a-backend"},
      {!glm && r.on(Field::enable_waterfill), "--enable-waterfill"},
      {!glm && pipelined, "--pp-size"},
      {!glm && decode, "a decode server"},
      {glm && disaggregated && decode, "a decode server"},
      {glm && disaggregated && !r.is(Field::disaggregation_transfer_backend, "mooncake"), "transfers but mooncake"},
      {glm && disaggregated && !r.is(Field::speculative_algorithm, "DFLASH"), "disaggregation without DFLASH"},
      {glm && disaggregated && pipelined, "--pp-size"},
      {glm && disaggregated && r.integer(Field::dp_size) > 1, "--dp-size"},
      {glm && disaggregated && experts_split, "--ep-size"},
  };
  for (const auto& [used, what] : uses) {
    if (used) {
      r.refuse(RF::kOther, "ValueError", "resolve_cp_tp_group_sharing",
               std::string("a shared CP and TP group does not go with ") + what);
    }
  }
}

// Hybrid linear-attention models whose prefill context group is the TP group.
void resolve_group_sharing(Resolution& r, const ModelFacts& model, const std::string& arch) {
  constexpr const char* kFunction = "resolve_cp_tp_group_sharing";
  const bool glm = arch == "Glm5NextForConditionalGeneration";
  if (r.before(v0_5(22)) || !r.on(Field::enable_prefill_cp) || r.integer(Field::attn_cp_size) <= 1) return;
  if (!glm && (r.before(v0_5(23)) || arch != "Qwen4ExpForConditionalGeneration")) return;
  const auto refuse = [&](const char* message) { r.refuse(RF::kOther, "ValueError", kFunction, message); };
  if (r[Field::attn_cp_size] != r[Field::tp_size]) refuse("this model needs --attn-cp-size equal to --tp-size");
  if (!r.is(Field::cp_strategy, glm ? "interleave" : "zigzag")) {
    refuse(glm ? "this model needs --cp-strategy interleave" : "this model needs --cp-strategy zigzag");
  }
  check_group_sharing_drafts(r, glm);
  refuse_beside_group_sharing(r, glm);
  if (r.is(Field::disaggregation_mode, "prefill") && r.env_bool("SGLANG_DISAGG_STAGING_BUFFER", false)) {
    refuse("SGLANG_DISAGG_STAGING_BUFFER does not go with a shared CP and TP group");
  }
  check_linear_heads(r, model);
  std::vector<FieldValue> declared = {{Field::enable_cp_tp_group_sharing, true}};
  if (!glm || r.before(v0_5(23)))
    declared.emplace_back(Field::cuda_graph_config, graph_with(r, kPrefill, {{"backend", "disabled"}}));
  r.declare(kFunction, std::move(declared));
}

void check_sizes(Resolution& r) {
  const std::string_view function = "_handle_context_parallelism";
  const std::int64_t tp = r.integer(Field::tp_size);
  const std::int64_t cp = r.integer(Field::attn_cp_size);
  const std::int64_t moe_dp = r.integer(Field::moe_dp_size);
  const std::int64_t ep = r.integer(Field::ep_size);
  const Value group_count = r[r.since(v0_5(22)) ? Field::attn_dp_size : Field::dp_size];
  const auto require = [&](bool condition, const char* message) {
    r.require(RF::kOther, condition, function, message);
  };
  if (cp > 1) {
    const Value& ranks = r[Field::tp_size];
    require(operators::divides(r, function, r[Field::attn_cp_size], ranks), "--attn-cp-size does not divide --tp-size");
    require(operators::divides(r, function, integer::times(group_count, r[Field::attn_cp_size]), ranks),
            "the attention data- and context-parallel sizes do not divide --tp-size");
    require(!r.on(Field::enable_aiter_allreduce_fusion),
            "context parallelism excludes --enable-aiter-allreduce-fusion");
  }
  if (moe_dp > 1) {
    require(operators::divides(r, function, r[Field::moe_dp_size], r[Field::tp_size]),
            "--moe-dp-size does not divide --tp-size");
    require(integer::bounded_times(ep, moe_dp) <= tp, "--ep-size times --moe-dp-size is above --tp-size");
    require(r[Field::pp_size] == Value(1), "--moe-dp-size needs --pp-size 1");
    require(ep <= 1 || integer::bounded_times(ep, moe_dp) == tp, "--ep-size times --moe-dp-size is not --tp-size");
    require(!r.on(Field::enable_aiter_allreduce_fusion), "--moe-dp-size excludes --enable-aiter-allreduce-fusion");
  }
  require(cp == moe_dp || moe_dp == 1, "--moe-dp-size must be 1 or equal to --attn-cp-size");
}

}  // namespace

std::int64_t context_parallel_attn_dp_size(Resolution& r) {
  constexpr const char* kFunction = "context_parallel_attn_dp_size";
  const std::int64_t groups = r.integer(Field::attn_dp_size);
  const std::int64_t replicas = r.integer(Field::dp_size);
  r.require(RF::kOther, !(groups > 1 && replicas > 1), kFunction, "--dp-size replicas do not go with --attn-dp-size");
  if (replicas > 1) {
    r.warn(kFunction, "--dp-size under context parallelism counts attention groups; write --attn-dp-size instead");
  }
  return groups * replicas;
}

void handle_context_parallelism(Resolution& r) {
  const std::string_view function = "_handle_context_parallelism";
  if (r.since(v0_5(15)) && !model_is_remote_instance(r)) {
    const ModelFacts& model = r.model();
    const std::string arch = first_architecture(r, function);
    if (r.since(v0_5(21))) r.declare("boundary_parallelism", boundary_parallelism(r, model, arch));
    check_model_and_strategy(r, model, arch);
    resolve_group_sharing(r, model, arch);
  }
  if (r.on(Field::enable_prefill_cp) && r.none(Field::cp_strategy)) {
    r.refuse(RF::kOther, "ValueError", function, "--enable-prefill-cp needs --cp-strategy");
  }
  if (r.since(v0_5(13)) && r.before(v0_5(20)) && r.on(Field::enable_prefill_context_parallel) &&
      r.on(Field::enable_dsa_prefill_context_parallel)) {
    r.refuse(RF::kOther, "ValueError", function,
             "--enable-prefill-context-parallel and --enable-dsa-prefill-context-parallel exclude each other");
  }
  check_sizes(r);
}

}  // namespace preflight::resolve
