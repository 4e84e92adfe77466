// Mamba and linear-attention caches and backends. Upstream: arg_groups/mamba_hook.py, model_hook.py
// (handle_mamba_radix_cache) and overrides.py (_mamba_radix_cache_resolution); releases that assign: the methods of
// ServerArgs of the same names. Tested by tests/resolve_model_test.cpp.
#include "src/resolve/attention/mamba.h"

#include <algorithm>

#include "src/resolve/models/model_queries.h"
#include "src/resolve/core/operators.h"

namespace preflight::resolve {
namespace {

bool keeps_state(Resolution& r, const ModelFacts& model, std::string_view function) {
  const std::string& arch = first_architecture(r, function);
  if (arch == "GraniteMoeHybridForCausalLM") return has_mamba_layer(r, model, function);
  if (arch == "Lfm2MoeForCausalLM" && r.before(v0_5(17))) return false;
  if (arch == "KimiK3ForConditionalGeneration") return r.since(v0_5(17));
  if (arch == "InternS2MobiusForConditionalGeneration") return r.since(v0_5(18));
  if (contains({"Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "BailingMoeV3ForCausalLM"}, arch)) {
    return r.since(v0_5(19));
  }
  if (contains({"Glm5NextForConditionalGeneration", "Qwen4ExpForConditionalGeneration", "NemotronH_Omni_Reasoning_V3"},
               arch)) {
    return r.since(v0_5(20));
  }
  if (arch == "MiniCPMV4_7ForConditionalGeneration") return r.since(v0_5(23));
  if (arch == "BailingMoeV3VLForConditionalGeneration") return r.since(v0_5(21));
  if (model.model_type == "gigachat3_5" || contains({"GigaChat35ForCausalLM", "GigaChat35ForCausalLMNextN"}, arch)) {
    return r.since(v0_5(21));
  }
  return contains({"KimiLinearForCausalLM", "BailingMoeV2_5ForCausalLM", "Qwen3NextForCausalLM",
                   "Qwen3_5MoeForConditionalGeneration", "InternS2PreviewForConditionalGeneration",
                   "Qwen3_5ForConditionalGeneration", "MiniCPMV4_6ForConditionalGeneration", "NemotronHForCausalLM",
                   "NemotronHPuzzleForCausalLM", "FalconH1ForCausalLM", "JetNemotronForCausalLM",
                   "JetVLMForConditionalGeneration", "Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "ZayaForCausalLM"},
                  arch);
}

// 0.5.18 and 0.5.19 take the extra buffer to XPU; later releases know that it has no kernels there, earlier ones
// choose it all the same and then refuse the device.
bool has_extra_buffer(Resolution& r, std::string_view function) {
  if (r.since(v0_5(20)) || !r.is(Field::linear_attn_backend, "triton")) return false;
  const std::string arch = first_architecture(r, function);
  if (arch == "KimiLinearForCausalLM") return r.since(v0_5(16));
  if (arch == "KimiK3ForConditionalGeneration") return r.since(v0_5(17));
  if (contains({"Qwen3_5MoeForCausalLM", "Qwen3_5ForCausalLM", "BailingMoeV3ForCausalLM"}, arch)) {
    return r.since(v0_5(19));
  }
  return contains(
      {"Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "Qwen3NextForCausalLM",
       "InternS2PreviewForConditionalGeneration", "MiniCPMV4_6ForConditionalGeneration", "BailingMoeV2_5ForCausalLM",
       "FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM", "NemotronHForCausalLM", "NemotronHPuzzleForCausalLM"},
      arch);
}

// A model that keeps states uses the cache for them; what `auto` becomes.
std::vector<FieldValue> chosen_strategy(Resolution& r, std::string_view function) {
  std::vector<FieldValue> chosen = {{Field::uses_mamba_radix_cache, true}};
  if (!r.is(Field::mamba_radix_cache_strategy, "auto")) return chosen;
  const bool wanted =
      !r.on(Field::disable_overlap_schedule) || (!r.none(Field::page_size) && r.integer(Field::page_size) > 1);
  if (wanted && has_extra_buffer(r, function)) {
    chosen.emplace_back(Field::mamba_radix_cache_strategy, "extra_buffer");
  } else {
    chosen.emplace_back(Field::mamba_radix_cache_strategy, "no_buffer");
    chosen.emplace_back(Field::disable_overlap_schedule, true);
  }
  return chosen;
}

void resolve_radix_cache(Resolution& r) {
  constexpr std::string_view kPass = "_mamba_radix_cache_resolution";
  if (!keeps_state(r, r.model(), kPass) || r.on(Field::disable_radix_cache)) return;
  r.declare(kPass, chosen_strategy(r, kPass));
}

// Where a state is kept during prefill: at multiples of the model's chunks and of pages, whichever are longer.
std::int64_t state_chunk(Resolution& r) {
  constexpr std::string_view kFunction = "mamba_cache_chunk_size";
  const Value given = r.model().root("mamba_chunk_size");
  const std::int64_t chunk = given.is_int() ? given.as_int() : 64;
  const std::int64_t page = r.integer(Field::page_size);
  r.require(RF::kOther, operators::modulo(r, std::string(kFunction), std::max(chunk, page), std::min(chunk, page)) == 0,
            kFunction, "neither --page-size nor the model's chunk of states is a multiple of the other");
  return std::max(chunk, page);
}

void validate_extra_buffer(Resolution& r) {
  constexpr std::string_view kFunction = "validate_mamba_extra_buffer";
  r.require(RF::kHybridCache, has_extra_buffer(r, kFunction), kFunction,
            "--mamba-radix-cache-strategy extra_buffer does not work here; use no_buffer");
  r.require(RF::kHybridCache, r.since(v0_5(18)), kFunction,
            "the extra state buffer of hybrid models needs another device; no_buffer does without it");
  r.require(RF::kHybridCache,
            !r.is(Field::mamba_radix_cache_strategy, "extra_buffer_lazy") || r.is(Field::disaggregation_mode, "null"),
            kFunction, "extra_buffer_lazy does not go with --disaggregation-mode; use extra_buffer");
  const std::int64_t interval = r.integer(Field::mamba_track_interval);
  r.require(RF::kHybridCache,
            r.none(Field::speculative_num_draft_tokens) || interval >= r.integer(Field::speculative_num_draft_tokens),
            kFunction, "--mamba-track-interval is below --speculative-num-draft-tokens");
  if (r.none(Field::page_size)) return;
  r.require(RF::kHybridCache, operators::modulo(r, std::string(kFunction), interval, r.integer(Field::page_size)) == 0,
            kFunction, "--mamba-track-interval is not a multiple of --page-size");
  const std::int64_t chunk = state_chunk(r);
  const Value& prefill = r[Field::chunked_prefill_size];
  if (prefill.is_int() && prefill.as_int() > 0 && prefill.as_int() < chunk) {
    r.warn(kFunction, "--chunked-prefill-size is below the chunk of states, so unfinished prefills keep none");
  }
}

void validate_no_buffer(Resolution& r, std::string_view function = "validate_mamba_no_buffer") {
  r.require(RF::kHybridCache, r.none(Field::page_size) || r[Field::page_size] == Value(1), function,
            "the radix cache of this model (no_buffer) needs --page-size 1; --disable-radix-cache frees it");
  r.require(RF::kHybridCache, r.on(Field::disable_overlap_schedule), function,
            "the radix cache of this model (no_buffer) needs --disable-overlap-schedule");
  r.require(RF::kHybridCache, !r.is(Field::attention_backend, "trtllm_mha"), function,
            "the radix cache of this model (no_buffer) does not go with trtllm_mha");
}

}  // namespace

bool has_mamba_layer(Resolution& r, const ModelFacts& model, std::string_view function) {
  if (!has_attribute(model, "layer_types")) return false;
  const Value types = model.root("layer_types");
  if (!types.is_list()) {
    r.refuse(RF::kOther, "TypeError", std::string(function), "layer_types of the configuration is not a list");
  }
  return std::find(types.as_list().begin(), types.as_list().end(), Value("mamba")) != types.as_list().end();
}

void mark_mamba_radix_cache(Resolution& r, std::string_view function, bool used) {
  if (field_exists(Field::uses_mamba_radix_cache, r.release())) {
    r.set(function, Field::uses_mamba_radix_cache, used);
  } else {
    r.set_silently(Field::uses_mamba_radix_cache, used);
  }
}

void handle_mamba_radix_cache(Resolution& r) {
  resolve_radix_cache(r);
  if (!r.on(Field::uses_mamba_radix_cache)) {
    if (r.since(v0_5(21)) && mamba_extra_buffer(r)) {
      r.refuse(RF::kOther, "ValueError", "handle_mamba_radix_cache",
               "--mamba-radix-cache-strategy " + r.text(Field::mamba_radix_cache_strategy) +
                   " is for models with Mamba state");
    }
    return;
  }
  if (mamba_extra_buffer(r) && r.before(v0_5(20))) return validate_extra_buffer(r);
  if (mamba_extra_buffer(r)) {
    r.refuse(RF::kHybridCache, "AssertionError", "validate_mamba_extra_buffer",
             "XPU has no kernels for --mamba-radix-cache-strategy extra_buffer; use no_buffer");
  }
  validate_no_buffer(r);
}

// 0.5.14: the strategy is chosen with the model, and checked in functions of its own.
void choose_mamba_radix_cache(Resolution& r) {
  constexpr std::string_view kFunction = "_handle_mamba_radix_cache";
  if (r.on(Field::disable_radix_cache)) return;
  r.declare(kFunction, chosen_strategy(r, kFunction));
  if (mamba_extra_buffer(r)) {
    r.refuse(RF::kHybridCache, "AssertionError", "_validate_mamba_extra_buffer",
             "XPU has no kernels for --mamba-radix-cache-strategy extra_buffer; use no_buffer");
  }
  validate_no_buffer(r, "_validate_mamba_no_buffer");
}

void assign_mamba_radix_cache(Resolution& r, MambaSupport support) {
  if (r.since(v0_5(14))) return choose_mamba_radix_cache(r);
  constexpr std::string_view kFunction = "_handle_mamba_radix_cache";
  mark_mamba_radix_cache(r, kFunction, true);
  if (!support.radix_cache) {
    r.warn(kFunction, "the radix cache is off: this architecture does not support it");
    r.set(kFunction, Field::disable_radix_cache, true);
    return;
  }
  const bool extra_buffer = r.one_of(Field::mamba_scheduler_strategy, {"extra_buffer", "extra_buffer_lazy"});
  r.require(RF::kHybridCache, support.extra_buffer || !extra_buffer, kFunction,
            "--mamba-scheduler-strategy extra_buffer does not work with this architecture");
  if (extra_buffer) {
    if (r.on(Field::disable_radix_cache)) {
      r.refuse(RF::kOther, "ValueError", std::string(kFunction),
               "--mamba-scheduler-strategy extra_buffer has no use with --disable-radix-cache; use no_buffer");
    }
    r.refuse(RF::kHybridCache, "AssertionError", std::string(kFunction),
             "XPU has no kernels for --mamba-scheduler-strategy extra_buffer");
  }
  if (r.on(Field::disable_radix_cache)) return;
  if (!r.none(Field::page_size) && r[Field::page_size] != Value(1)) {
    r.warn(kFunction, "the radix cache of this model needs pages of 1 token; the page size becomes 1");
    r.set(kFunction, Field::page_size, 1);
  }
  if (!r.none(Field::speculative_algorithm)) {
    r.refuse(RF::kHybridCache, "ValueError", std::string(kFunction),
             "speculative decoding of this model does not go with its radix cache (no_buffer); use "
             "--disable-radix-cache");
  }
  r.warn(kFunction, "the overlap schedule is off: the radix cache of this model (no_buffer) does not go with it");
  r.set(kFunction, Field::disable_overlap_schedule, true);
  if (r.is(Field::attention_backend, "trtllm_mha")) {
    r.warn(kFunction, "the radix cache is off: trtllm_mha has no pages of 1 token");
    r.set(kFunction, Field::disable_radix_cache, true);
    r.set(kFunction, Field::disable_overlap_schedule, false);
  }
}

void handle_mamba_backend(Resolution& r) {
  constexpr std::string_view function = "handle_mamba_backend";
  const auto refuse = [&](const char* message) { r.refuse(RF::kOther, "ValueError", function, message); };
  if (r.since(v0_5(15))) {
    if (r.integer(Field::mamba_cache_philox_rounds) < 0) refuse("--mamba-cache-philox-rounds is negative");
    const Value& states = r[Field::mamba_max_states_per_path];
    if (!states.is_none() && (states.as_int() == 0 || states.as_int() < -1))
      refuse("--mamba-max-states-per-path is neither -1 nor positive");
    if (r.on(Field::enable_mamba_cache_stochastic_rounding)) {
      if (!r.is(Field::mamba_ssm_dtype, "float16")) {
        refuse("--enable-mamba-cache-stochastic-rounding needs --mamba-ssm-dtype float16");
      }
      refuse("--enable-mamba-cache-stochastic-rounding works on NVIDIA devices only");
    }
  }
  if (r.is(Field::mamba_backend, "flashinfer")) {
    refuse("--mamba-backend flashinfer needs FlashInfer, which does not exist for XPU");
  }
}

void handle_int8_mamba_checkpoint(Resolution& r) {
  if (!r.on(Field::enable_int8_mamba_checkpoint)) return;
  const auto refuse = [&](const char* message) {
    r.refuse(RF::kOther, "ValueError", "handle_int8_mamba_checkpoint", message);
  };
  if (r.on(Field::enable_hierarchical_cache)) {
    refuse("--enable-int8-mamba-checkpoint does not go with --enable-hierarchical-cache");
  }
  if (!r.none(Field::radix_cache_backend)) {
    refuse("--enable-int8-mamba-checkpoint works with the built-in radix cache only");
  }
  if (r.since(v0_5(21)) && r.on(Field::enable_lmcache))
    refuse("--enable-int8-mamba-checkpoint does not go with --enable-lmcache");
}

}  // namespace preflight::resolve
