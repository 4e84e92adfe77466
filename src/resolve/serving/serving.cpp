// Serving front end: small checks and defaults that depend on nothing but their own options.
//
// Upstream: arg_groups/serving_hook.py (methods of server_args.py up to 0.5.18). TLS is in serving_tls.cpp, defaults
// and deprecated options in serving_defaults.cpp, variables in serving_environment.cpp, the closing checks in
// serving_validations.cpp, media domains in media_url.cpp, watermarks in watermark.cpp.
// Tested by tests/resolve_serving_test.cpp and parity.
#include "src/resolve/serving/serving.h"

#include <fmt/format.h>

#include "src/python/text.h"

namespace preflight::resolve {

void handle_return_hidden_states_mode(Resolution& r) {
  constexpr auto kSource = "_handle_return_hidden_states_mode";
  if (!r.none(Field::return_hidden_states_mode) && !r.one_of(Field::return_hidden_states_mode, {"last", "full"})) {
    r.refuse(RF::kOther, "ValueError", kSource,
             "--return-hidden-states-mode takes last or full; use one of them or leave it out.");
  }
  if (!r.none(Field::return_hidden_states_mode)) {
    r.change(kSource, Field::enable_return_hidden_states, true);
  } else if (r.on(Field::enable_return_hidden_states) || r.on(Field::enable_return_aux_hidden_states)) {
    r.change(kSource, Field::return_hidden_states_mode, "full");
  }
}

void handle_multimodal(Resolution& r) {
  const std::string_view function = "_handle_multimodal";
  const Value& cache = r[Field::mm_preprocess_cache_size_mb];
  if (!cache.is_none() && cache.as_number() < 0) {
    r.refuse(RF::kOther, "ValueError", function, "--mm-preprocess-cache-size-mb is negative; give 0 or more MiB.");
  }
  const Value& config = r[Field::mm_process_config];
  if (config.is_none()) return;
  if (!config.is_dict()) {
    r.refuse(RF::kOther, "TypeError", function, "--mm-process-config is no JSON object; write it as {\"image\": {…}}.");
  }
  for (const std::string_view key : {"image", "video", "audio"}) {
    const Value* part = config.find(key);
    if (part != nullptr && !part->is_dict()) {
      r.refuse(RF::kOther, "TypeError", function,
               fmt::format("\"{}\" in --mm-process-config is {}, where an object of settings is needed.", key,
                           part->repr()));
    }
  }
}

void handle_asr_validation(Resolution& r) {
  const std::string_view function = "_handle_asr_validation";
  const auto require_positive = [&](Field field, std::string_view option) {
    if (!r.none(field) && r.number(field) <= 0) {
      r.refuse(RF::kOther, "ValueError", function,
               fmt::format("{} is {}; it has to be positive.", option, r[field].repr()));
    }
  };
  require_positive(Field::asr_max_buffer_seconds, "--asr-max-buffer-seconds");
  require_positive(Field::asr_max_concurrent_sessions, "--asr-max-concurrent-sessions");
}

void handle_load_balance_method(Resolution& r) {
  constexpr auto kSource = "_handle_load_balance_method";
  if (!r.one_of(Field::disaggregation_mode, {"null", "prefill", "decode"})) {
    r.refuse(RF::kOther, "ValueError", kSource,
             fmt::format("--disaggregation-mode {} is unknown; use null, prefill or decode.",
                         r[Field::disaggregation_mode].repr()));
  }
  if (!r.is(Field::load_balance_method, "auto")) return;
  const bool prefill = r.is(Field::disaggregation_mode, "prefill");
  r.change(kSource, Field::load_balance_method, prefill ? "follow_bootstrap_room" : "round_robin");
}

void handle_grammar_backend(Resolution& r) {
  if (r.none(Field::grammar_backend)) r.change("_handle_grammar_backend", Field::grammar_backend, "xgrammar");
}

void handle_prefill_delayer_env_compat(Resolution& r) {
  constexpr auto kSource = "_handle_prefill_delayer_env_compat";
  if (r.env_bool("SGLANG_SCHEDULER_DECREASE_PREFILL_IDLE", false)) {
    r.change(kSource, Field::enable_prefill_delayer, true);
  }
  constexpr std::string_view kPasses = "SGLANG_PREFILL_DELAYER_MAX_DELAY_PASSES";
  if (r.env_int(kPasses, 0) != 0) {
    const auto digits = python::to_integer(*r.env_text(kPasses));
    r.change(kSource, Field::prefill_delayer_max_delay_passes,
             digits ? Value::integer(*digits) : r.env_int(kPasses, 0));
  }
  const std::string* watermark = r.env_text("SGLANG_PREFILL_DELAYER_TOKEN_USAGE_LOW_WATERMARK");
  if (watermark == nullptr) return;
  if (const auto usage = python::to_float(*watermark); usage && *usage != 0.0) {
    r.change(kSource, Field::prefill_delayer_token_usage_low_watermark, *usage);
  }
}

void handle_tokenizer_batching(Resolution& r) {
  constexpr auto kSource = "_handle_tokenizer_batching";
  const std::string_view function = kSource;
  if (r.on(Field::enable_tokenizer_batch_encode) && r.on(Field::enable_dynamic_batch_tokenizer)) {
    r.refuse(RF::kOther, "ValueError", function,
             "--enable-tokenizer-batch-encode and --enable-dynamic-batch-tokenizer are two ways to batch the "
             "tokenizer; keep one of them.");
  }
  if (!r.on(Field::skip_tokenizer_init)) return;
  // The Rust server brings its own tokenizer processes.
  if (r.since(v0_5(17)) && r.env_bool("SGLANG_RUST_SERVER", false)) return;
  const auto reset = [&](Field field, const Value& idle, std::string_view what) {
    if (r[field] == idle) return;
    r.warn(function, fmt::format("{} has no effect with --skip-tokenizer-init and is reset.", what));
    r.change(kSource, field, idle);
  };
  // Up to 0.5.15 tokenizer workers are dropped too; later they still serve HTTP.
  if (r.before(v0_5(16))) reset(Field::tokenizer_worker_num, 1, "--tokenizer-worker-num");
  if (r.since(v0_5(12))) reset(Field::detokenizer_worker_num, 1, "--detokenizer-worker-num");
  reset(Field::enable_tokenizer_batch_encode, false, "--enable-tokenizer-batch-encode");
  reset(Field::enable_dynamic_batch_tokenizer, false, "--enable-dynamic-batch-tokenizer");
}

void handle_debug_utils(Resolution& r) {
  if (r.env_bool("SGLANG_IS_IN_CI", false) && r.none(Field::soft_watchdog_timeout)) {
    r.change("_handle_debug_utils", Field::soft_watchdog_timeout, 300);
  }
}

}  // namespace preflight::resolve
