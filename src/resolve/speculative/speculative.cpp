// The shared part of speculative decoding: names, window sizes, environment, and the dispatch to one family.
#include "src/resolve/speculative/speculative.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/resolve/core/queries.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve {
namespace speculative {
namespace {

constexpr std::string_view kStep = "handle_speculative_decoding";

std::string stripped(const std::string& text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const auto first = text.find_first_not_of(kSpace);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool is_gemma4_assistant(const Resolution& r, const Value& config) {
  const Value* names = config.find("architectures");
  if (names == nullptr || !names->is_list()) return false;
  const auto& list = names->as_list();
  return std::any_of(list.begin(), list.end(), [&r](const Value& name) {
    return is_text(name, "Gemma4AssistantForCausalLM") ||
           (r.since(v0_5(13)) && is_text(name, "Gemma4UnifiedAssistantForCausalLM"));
  });
}

// NEXTN is EAGLE, and EAGLE with a Gemma 4 assistant as its draft is FROZEN_KV_MTP. Every launch with a draft model
// reads its configuration here, whatever the algorithm.
Value algorithm_behind_alias(Resolution& r) {
  constexpr std::string_view kHere = "_resolve_speculative_algorithm_alias";
  if (r.before(v0_5(12))) {
    return r.is(Field::speculative_algorithm, "NEXTN") ? Value("EAGLE") : r[Field::speculative_algorithm];
  }
  bool gemma4_draft = false;
  if (r.on(Field::speculative_draft_model_path)) {
    auto config = load_draft_config(r, DraftConfig::kDecrypted);
    if (auto* refused = std::get_if<Refusal>(&config)) throw RefusedByStep{std::move(*refused)};
    gemma4_draft = is_gemma4_assistant(r, std::get<Value>(config));
  }
  if (r.is(Field::speculative_algorithm, "EAGLE3") && gemma4_draft) {
    r.refuse(RF::kOther, "ValueError", std::string(kHere),
             "a Gemma 4 assistant drafts with NEXTN or EAGLE, not with EAGLE3");
  }
  if (r.one_of(Field::speculative_algorithm, {"NEXTN", "EAGLE"})) return gemma4_draft ? "FROZEN_KV_MTP" : "EAGLE";
  return r[Field::speculative_algorithm];
}

void default_draft_revision(Resolution& r) {
  if (!r.none(Field::speculative_draft_model_path) && r.none(Field::speculative_draft_model_revision)) {
    r.change(kStep, Field::speculative_draft_model_revision, "main");
  }
}

// The draft's MoE layers run on the target's runner, except where that runner needs the target's prepared weights.
void default_moe_runner(Resolution& r) {
  if (!r.none(Field::speculative_moe_runner_backend)) {
    r.require(RF::kOther, r.since(v0_5(12)) || !r.is(Field::speculative_moe_runner_backend, "flashinfer_trtllm"), kStep,
              "--speculative-moe-runner-backend flashinfer_trtllm does not draft in this release; use auto");
    return;
  }
  Value runner = r[Field::moe_runner_backend];
  if (r.before(v0_5(12)) && r.one_of(Field::moe_runner_backend, {"flashinfer_trtllm", "flashinfer_trtllm_routed"})) {
    runner = "auto";
  }
  if (r.before(v0_5(15))) return r.set(kStep, Field::speculative_moe_runner_backend, std::move(runner));
  constexpr std::string_view kPass = "_speculative_moe_runner_default";
  if (!runner.is_string())
    r.refuse(RF::kOther, "AttributeError", std::string(kPass), "--moe-runner-backend has no value");
  if (r.since(v0_5(22)) && is_text(runner, "flashinfer_megamoe")) {
    runner = "flashinfer_trtllm";
  } else if (r.since(v0_5(23)) && runner.as_string().starts_with("lora_")) {
    runner = "auto";
  }
  r.declare(kPass, {{Field::speculative_moe_runner_backend, std::move(runner)}});
}

// Earlier releases check this among the disaggregation options, before aliases are resolved.
void check_decode_radix_cache(Resolution& r) {
  if (r.before(v0_5(23))) return;
  if (!r.is(Field::disaggregation_mode, "decode") || !r.on(Field::disaggregation_decode_enable_radix_cache)) return;
  if (r.none(Field::speculative_algorithm)) return;
  if (r.one_of(Field::speculative_algorithm, {"DSPARK", "EAGLE", "EAGLE3"})) return;
  r.refuse(RF::kOther, "ValueError", std::string(kStep),
           "a decode server's radix cache works with EAGLE, EAGLE3 and DSPARK only, not with " +
               r.text(Field::speculative_algorithm));
}

void check_block_verification(Resolution& r) {
  if (!r.on(Field::speculative_use_block_verification)) return;
  if (!r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3", "DFLASH", "DSPARK"})) {
    r.refuse(RF::kOther, "ValueError", std::string(kStep),
             "block verification works with EAGLE, EAGLE3, NEXTN, DFLASH and DSPARK");
  }
  if (!r.is(Field::device, "cuda")) {
    r.refuse(RF::kOther, "ValueError", std::string(kStep), "block verification needs CUDA or ROCm");
  }
  // It verifies sampled proposals; EAGLE has them only under rejection sampling.
  if (r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3"}) && !r.on(Field::speculative_use_rejection_sampling)) {
    r.declare(kStep, {{Field::speculative_use_rejection_sampling, true}});
  }
}

// int(value)
Value whole(const Value& value) { return value.is_int() ? value : Value(static_cast<std::int64_t>(value.as_number())); }

void check_draft_window(Resolution& r) {
  // Up to 0.5.12 the window is DFLASH's alone and checked there.
  if (!r.none(Field::speculative_draft_window_size) && r.since(v0_5(13))) {
    const std::int64_t window = r.integer(Field::speculative_draft_window_size);
    if (window <= 0) {
      r.refuse(RF::kOther, "ValueError", std::string(kStep), "--speculative-draft-window-size must be positive");
    }
    r.change(kStep, Field::speculative_draft_window_size, whole(r[Field::speculative_draft_window_size]));
    const bool honoured = r.one_of(Field::speculative_algorithm, {"EAGLE3", "DFLASH"}) ||
                          (r.since(v0_5(21)) && r.is(Field::speculative_algorithm, "EAGLE"));
    if (!honoured) r.warn(kStep, "--speculative-draft-window-size does nothing with this speculative algorithm");
  }
  if (!r.none(Field::speculative_draft_sink_size)) {
    const std::int64_t sink = r.integer(Field::speculative_draft_sink_size);
    if (sink < 0)
      r.refuse(RF::kOther, "ValueError", std::string(kStep), "--speculative-draft-sink-size must not be negative");
    if (r.none(Field::speculative_draft_window_size)) {
      r.refuse(RF::kOther, "ValueError", std::string(kStep),
               "--speculative-draft-sink-size needs --speculative-draft-window-size");
    }
    r.change(kStep, Field::speculative_draft_sink_size, whole(r[Field::speculative_draft_sink_size]));
  }
}

void check_prefill_coordination(Resolution& r) {
  if (r.before(v0_5(21)) || !r.env_bool("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION", false)) return;
  const bool dspark = r.since(v0_5(22));
  const bool drafts = r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3"}) ||
                      (dspark && r.is(Field::speculative_algorithm, "DSPARK"));
  if (drafts && !r.on(Field::enable_multi_layer_eagle)) {
    return;
  }
  r.refuse(RF::kOther, "ValueError", std::string(kStep),
           fmt::format("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION needs {} with one draft layer",
                       dspark ? "EAGLE, EAGLE3 or DSPARK" : "EAGLE or EAGLE3"));
}

void check_skipped_mlp_sync(Resolution& r) {
  if (!r.on(Field::speculative_skip_dp_mlp_sync)) return;
  r.require(RF::kOther, r.is(Field::speculative_algorithm, "EAGLE"), kStep,
            "--speculative-skip-dp-mlp-sync works with EAGLE only");
}

void handle_family(Resolution& r, Algorithm algorithm) {
  // Read for every algorithm, so that a wrong mode stops the launch and not a later request.
  if (r.since(v0_5(16))) ragged_verify_mode(r);
  switch (algorithm) {
    case Algorithm::kDflash:
      return handle_dflash(r);
    case Algorithm::kUno:
      return handle_uno(r);
    case Algorithm::kDspark:
      return handle_dspark(r);
    case Algorithm::kFrozenKvMtp:
      return handle_frozen_kv_mtp(r);
    case Algorithm::kEagle:
    case Algorithm::kEagle3:
    case Algorithm::kStandalone:
      return handle_eagle_family(r);
    case Algorithm::kNgram:
      return handle_ngram(r);
    case Algorithm::kNone:
      return;
  }
}

}  // namespace

Algorithm algorithm_from(Resolution& r, const Value& name) {
  if (name.is_none()) return Algorithm::kNone;
  static constexpr std::pair<std::string_view, Algorithm> kNames[] = {
      {"EAGLE", Algorithm::kEagle},
      {"EAGLE3", Algorithm::kEagle3},
      {"FROZEN_KV_MTP", Algorithm::kFrozenKvMtp},
      {"STANDALONE", Algorithm::kStandalone},
      {"NGRAM", Algorithm::kNgram},
      {"DFLASH", Algorithm::kDflash},
      {"NONE", Algorithm::kNone},
  };
  const std::string text = ascii_upper(name.as_string());
  for (const auto& [known, algorithm] : kNames) {
    if (text == known) return algorithm;
  }
  if (r.since(v0_5(16)) && text == "DSPARK") return Algorithm::kDspark;
  if (r.since(v0_5(20)) && text == "UNO") return Algorithm::kUno;
  if (r.since(v0_5(20)) && text == "NEXTN") return Algorithm::kEagle;
  r.refuse(RF::kOther, "ValueError", "from_string", "this release has no speculative algorithm called " + text);
}

void cap_running_requests(Resolution& r, std::string_view function) {
  if (!r.none(Field::max_running_requests)) return;
  r.change(function, Field::max_running_requests, 48);
  r.warn(function, "speculative decoding limits running requests to 48; --max-running-requests sets another limit");
}

void disable_mixed_chunk(Resolution& r, std::string_view function) {
  r.change(function, Field::enable_mixed_chunk, false);
  r.warn(function, "mixed chunked prefill is off: this speculative algorithm does not work with it");
}

void disable_overlap_schedule_for_cpu(Resolution& r) {
  constexpr std::string_view kHere = "_disable_overlap_schedule_for_cpu";
  if (r.before(v0_5(16)) || !r.is(Field::device, "cpu") || r.on(Field::disable_overlap_schedule)) return;
  r.declare(kHere, {{Field::disable_overlap_schedule, true}});
  r.warn(kHere, "speculative decoding on CPU has no overlap schedule");
}

void force_one(Resolution& r, Field field, std::string_view function) {
  if (!r.none(field)) {
    if (r.integer(field) == 1) return;
    r.warn(function, std::string(field_name(field)) + " must be 1 for this algorithm and becomes 1");
  }
  r.change(function, field, 1);
}

bool greater(Resolution& r, Field field, std::int64_t limit, std::string_view function) {
  if (r.none(field)) {
    const bool of_the_draft = field == Field::speculative_eagle_topk || field == Field::speculative_num_steps ||
                              field == Field::speculative_num_draft_tokens;
    r.refuse(of_the_draft ? RF::kPartialTree : RF::kOther, "TypeError", std::string(function),
             std::string(field_name(field)) + " has no value, and SGLang compares it with a number");
  }
  return r.number(field) > static_cast<double>(limit);
}

bool is_none_or_one(const Value& value) { return value.is_none() || value == Value(1); }

std::variant<Value, Refusal> load_draft_config(Resolution& r, DraftConfig kind) {
  facts::ConfigRequest request;
  request.path = r.text(Field::speculative_draft_model_path);
  request.trust_remote_code = r.on(Field::trust_remote_code);
  if (kind == DraftConfig::kDecrypted) {
    if (r.since(v0_5(13))) request.configuration_file = stripped(r.text(Field::decrypted_draft_config_file));
  } else if (kind == DraftConfig::kWithOverrides) {
    auto overrides = Value::parse_json(r.text(Field::json_model_override_args));
    if (!overrides) return Refusal{"JSONDecodeError", "", "--json-model-override-args: " + overrides.error().message};
    request.override_args = std::move(*overrides);
  }
  return r.load_config(std::move(request));
}

}  // namespace speculative

void handle_speculative_decoding(Resolution& r) {
  using namespace speculative;
  default_draft_revision(r);
  default_moe_runner(r);
  if (!r.none(Field::speculative_algorithm)) {
    r.change(kStep, Field::speculative_algorithm, ascii_upper(r.text(Field::speculative_algorithm)));
  }
  if (r.since(v0_5(14)) && r.before(v0_5(21)) && r.env_text("SGLANG_ENABLE_SPEC_V2") != nullptr) {
    r.warn(kStep, "SGLANG_ENABLE_SPEC_V2 is gone; --disable-overlap-schedule turns overlap scheduling off");
  }
  r.change(kStep, Field::speculative_algorithm, algorithm_behind_alias(r));
  check_decode_radix_cache(r);
  check_block_verification(r);
  check_draft_window(r);
  const bool given = !r.none(Field::speculative_algorithm);
  const Algorithm algorithm = algorithm_from(r, r[Field::speculative_algorithm]);
  check_prefill_coordination(r);
  check_skipped_mlp_sync(r);
  const auto adapt = [&r](void (*prepare)(Resolution&)) {
    if (!r.on(Field::speculative_adaptive)) return;
    maybe_disable_adaptive(r);
    if (r.on(Field::speculative_adaptive) && r.since(v0_5(13))) prepare(r);
  };
  if (r.since(v0_5(14))) adapt(init_adaptive_parameters);
  if (given) handle_family(r, algorithm);
  if (r.before(v0_5(14))) adapt(validate_adaptive_steps);
}

Value max_speculative_num_draft_tokens(Resolution& r) {
  using namespace speculative;
  if (r.since(v0_5(19))) algorithm_from(r, r[Field::speculative_algorithm]);
  const Value& tokens = r[Field::speculative_num_draft_tokens];
  if (tokens.is_none() || !r.on(Field::speculative_adaptive)) return tokens;
  const Value widest = integer::plus(adaptive_candidate_steps(r).back(), 1);
  if (r.since(v0_5(19)) && integer::less(widest, tokens)) {
    r.refuse(RF::kOther, "ValueError", "max_speculative_num_draft_tokens",
             "the adaptive configuration drafts fewer tokens than --speculative-num-draft-tokens");
  }
  return widest;
}

}  // namespace preflight::resolve
