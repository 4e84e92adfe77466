// Prefill/decode and encoder disaggregation.
//
// Upstream: arg_groups/pd_disaggregation_hook.py, handle_language_model_only of model_hook.py.
// Tested by tests/resolve_serving_test.cpp and parity.
#include "src/resolve/parallel/pd_disaggregation.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "src/python/integer.h"
#include "src/resolve/parallel/ib_devices.h"
#include "src/resolve/core/queries.h"

namespace preflight::resolve {
namespace {

constexpr auto kStep = "handle_pd_disaggregation";

bool is_prefill(const Resolution& r) { return r.is(Field::disaggregation_mode, "prefill"); }
bool is_decode(const Resolution& r) { return r.is(Field::disaggregation_mode, "decode"); }

bool rust_server(const Resolution& r) { return r.env_bool("SGLANG_RUST_SERVER", false); }

// A size that releases without the option count as 1.
std::int64_t width(const Resolution& r, Field field) { return r.none(field) ? 1 : r.integer(field); }

void add(std::string& list, bool given, std::string_view what) {
  if (given) list += (list.empty() ? "" : ", ") + std::string(what);
}

// mooncake over TCP is mooncake with a variable set and without InfiniBand devices.
void resolve_mooncake_tcp(Resolution& r) {
  if (!r.is(Field::disaggregation_transfer_backend, "mooncake_tcp")) return;
  r.env().try_emplace("MC_FORCE_TCP", "1");
  r.change(kStep, Field::disaggregation_transfer_backend, "mooncake");
  r.change(kStep, Field::disaggregation_ib_device, nullptr);
}

// What the allocation policy prefill_complete (0.5.23) cannot be combined with.
void validate_prefill_complete(Resolution& r) {
  std::string unsupported;
  const bool radix_or_hicache =
      r.on(Field::disaggregation_decode_enable_radix_cache) || r.on(Field::enable_hierarchical_cache);
  const bool plain_hicache = r.none(Field::hicache_storage_backend) && r.is(Field::hicache_write_policy, "write_back");
  const std::int64_t attn_dp = r.on(Field::enable_dp_attention) ? r.integer(Field::dp_size) : 1;
  add(unsupported, !is_prefill(r) && !is_decode(r), "serving without --disaggregation-mode");
  add(unsupported, !r.is(Field::disaggregation_transfer_backend, "mooncake"), "transfer backends other than mooncake");
  add(unsupported,
      width(r, Field::pp_size) != 1 || width(r, Field::attn_cp_size) != 1 || width(r, Field::dcp_size) != 1,
      "pipeline or context parallelism");
  add(unsupported, r.integer(Field::tp_size) != attn_dp, "attention tensor parallelism");
  add(unsupported, r.on(Field::enable_pdmux) || !r.is(Field::decoupled_spec_role, "null"),
      "--enable-pdmux or decoupled speculation");
  add(unsupported, r.on(Field::enable_pd_role_switch), "--enable-pd-role-switch");
  add(unsupported, r.on(Field::encoder_only) || r.on(Field::language_only), "encoder disaggregation");
  add(unsupported, r.on(Field::enable_hisparse), "--enable-hisparse");
  add(unsupported, r.number(Field::disaggregation_decode_host_receive_threshold) < 1,
      "--disaggregation-decode-host-receive-threshold below 1");
  add(unsupported, is_decode(r) && radix_or_hicache, "a radix or hierarchical cache on decode servers");
  add(unsupported, is_prefill(r) && r.on(Field::enable_hierarchical_cache) && !plain_hicache,
      "a hierarchical cache other than host memory with write_back");
  add(unsupported, r.env_bool("SGLANG_DISAGG_STAGING_BUFFER", false), "SGLANG_DISAGG_STAGING_BUFFER");
  add(unsupported, rust_server(r), "SGLANG_RUST_SERVER");
  if (!unsupported.empty()) {
    r.refuse(RF::kOther, "ValueError", "_validate_prefill_complete",
             fmt::format("--disaggregation-decode-allocation-policy prefill_complete does not work with {}; use early.",
                         unsupported));
  }
}

// Decode servers that buffer KV in host memory, and decode context parallelism: known for 0.5.23.
void check_host_receive_and_dcp(Resolution& r) {
  if (is_prefill(r) && width(r, Field::dcp_size) > 1) {
    r.warn(kStep, "--dcp-size on a prefill server costs communication and gains nothing there.");
  }
  const Value& threshold = r[Field::disaggregation_decode_host_receive_threshold];
  if (!threshold.is_none()) {
    const double share = threshold.as_number();
    if (!(0 <= share && share <= 1)) {
      r.refuse(RF::kOther, "ValueError", kStep,
               "--disaggregation-decode-host-receive-threshold is a share between 0 and 1.");
    }
    if (r.since(v0_5(22)) ? share < 1 : share > 0) {
      if (r.on(Field::enable_hisparse) || r.on(Field::enable_pd_role_switch)) {
        r.refuse(RF::kOther, "ValueError", kStep,
                 "Receiving into host memory does not work with --enable-hisparse or --enable-pd-role-switch.");
      }
      if (r.is(Field::disaggregation_decode_retraction_backup, "cpu_tensor")) {
        r.refuse(RF::kOther, "ValueError", kStep,
                 "Receiving into host memory needs --disaggregation-decode-retraction-backup host_pool.");
      }
      r.change(kStep, Field::disaggregation_decode_retraction_backup, "host_pool");
    }
  }
  if (is_decode(r) && width(r, Field::dcp_size) > 1 &&
      !r.one_of(Field::disaggregation_transfer_backend, {"mooncake", "nixl"}) &&
      (r.before(v0_5(19)) || !r.is(Field::disaggregation_transfer_backend, "fake")) &&
      (r.before(v0_5(22)) || !r.one_of(Field::disaggregation_transfer_backend, {"mori", "ascend"}))) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("--dcp-size on a decode server does not work with --disaggregation-transfer-backend {}.",
                         r.text(Field::disaggregation_transfer_backend)));
  }
  const bool caches = r.on(Field::disaggregation_decode_enable_radix_cache) || r.on(Field::enable_hierarchical_cache);
  if (is_decode(r) && width(r, Field::dcp_size) > 1 && caches && r.before(v0_5(21))) {
    r.refuse(RF::kOther, "ValueError", kStep,
             "--dcp-size on a decode server works without radix and hierarchical cache.");
  }
}

void enable_decode_radix_cache(Resolution& r) {
  constexpr auto kOption = "--disaggregation-decode-enable-radix-cache";
  const auto refuse = [&](std::string_view with) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("{} does not work with {}; drop one of them.", kOption, with));
  };
  if (r.on(Field::enable_hisparse)) refuse("--enable-hisparse");
  const std::string backend = r.text(Field::disaggregation_transfer_backend);
  if (r.before(v0_5(14))) {
    if (backend != "nixl" && (backend != "mooncake" || r.before(v0_5(12))))
      refuse("--disaggregation-transfer-backend " + backend);
    if (!r.none(Field::speculative_algorithm)) refuse("speculative decoding");
  } else if (backend == "fake") {
    refuse("--disaggregation-transfer-backend fake");
  } else if (r.before(v0_5(23)) && !r.none(Field::speculative_algorithm)) {
    const bool dspark = r.since(v0_5(21));
    if (!dspark || !r.is(Field::speculative_algorithm, "DSPARK"))  // as written, aliases come later
      refuse(dspark ? "speculative decoding other than DSPARK" : "speculative decoding");
  }
  if (attn_dp_enabled(r)) {
    r.warn(kStep, fmt::format("{} with attention data parallelism hits only what its rank has seen.", kOption));
  }
  r.change(kStep, Field::disable_radix_cache, false);
  r.warn(kStep, fmt::format("{} is experimental.", kOption));
}

void disable_decode_radix_cache(Resolution& r) {
  r.change(kStep, Field::disable_radix_cache, true);
  r.warn(kStep, "A decode server works without radix cache.");
  // Before strategies were resolved with the model; known for 0.5.13.
  if (r.before(v0_5(14)) && r.one_of(Field::mamba_scheduler_strategy, {"extra_buffer", "extra_buffer_lazy"})) {
    r.warn(kStep, "A decode server works without the mamba extra buffer; --mamba-scheduler-strategy is no_buffer.");
    r.set(kStep, Field::mamba_scheduler_strategy, "no_buffer");
  }
}

// Slots for requests whose KV is still arriving: small batches get twice their size more.
void default_extra_slots(Resolution& r) {
  constexpr Field kSlots = Field::disaggregation_decode_extra_slots;
  if (!field_exists(kSlots, r.release()) || !r.none(kSlots)) return;
  std::int64_t extra = 0;
  if (const Value& most = r[Field::max_running_requests]; !most.is_none()) {
    const std::int64_t ranks = r.since(v0_5(22))
                                   ? integer::bounded_times(r.integer(Field::dp_size), width(r, Field::attn_dp_size))
                                   : std::max<std::int64_t>(1, r.integer(Field::dp_size));
    if (ranks == 0) r.refuse(RF::kOther, "ZeroDivisionError", kStep, "--dp-size is 0; it has to be 1 or more.");
    const std::int64_t least = r.since(v0_5(23)) ? 1 : std::numeric_limits<std::int64_t>::min();
    const std::int64_t per_worker = std::max(least, integer::floor_div(most.as_int(), ranks));
    if (per_worker <= 32) extra = per_worker * 2;
  }
  r.change(kStep, kSlots, extra);
}

// The Rust server answers bootstrap requests on the API port itself.
void alias_bootstrap_port(Resolution& r) {
  constexpr auto kFunction = "_alias_bootstrap_port_to_api_port";
  constexpr Field kPort = Field::disaggregation_bootstrap_port;
  if (r.since(v0_5(23)) &&
      r.is(Field::disaggregation_transfer_backend, "mori")) {  // its bootstrap server comes with the package
    r.refuse(RF::kOther, "ModuleNotFoundError", "<module>",
             "The Python package mori is missing; install it or use mooncake.");
  }
  const Value& port = r[kPort];
  const Value& api = r[Field::port];
  if (port != field_default(kPort, r.release()) && port != api) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             fmt::format("SGLANG_RUST_SERVER bootstraps on --port {}; drop --disaggregation-bootstrap-port {}.",
                         api.repr(), port.repr()));
  }
  if (port != api) r.change(kFunction, kPort, api);
}

// Switching roles at run time (0.5.23) rebuilds less than these features hold.
void check_role_switch(Resolution& r) {
  if (!r.on(Field::enable_pd_role_switch)) return;
  std::string unsupported;
  const bool groups_follow = r.since(v0_5(23));
  add(unsupported, !groups_follow && attn_dp_enabled(r), "attention data parallelism");
  add(unsupported, !groups_follow && r.integer(Field::dp_size) > 1, "--dp-size above 1");
  add(unsupported, r.integer(Field::ep_size) > 1, "--ep-size above 1");
  add(unsupported, !r.is(Field::moe_a2a_backend, "none"), "--moe-a2a-backend");
  add(unsupported, r.integer(Field::pp_size) > 1, "--pp-size above 1");
  add(unsupported, groups_follow && attn_dp_enabled(r) && r.on(Field::enable_dp_attention_local_control_broadcast),
      "--enable-dp-attention-local-control-broadcast");
  add(unsupported, width(r, Field::dcp_size) > 1, "--dcp-size above 1");
  add(unsupported, !r.none(Field::speculative_algorithm), "speculative decoding");
  if (!unsupported.empty()) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("--enable-pd-role-switch does not work with {}.", unsupported));
  }
}

// Up to 0.5.12 a prefill server has graphs as long as the piecewise one was not turned off by hand.
void without_piecewise_graph(Resolution& r) {
  if (!r.on(Field::disable_piecewise_cuda_graph)) return;
  r.set(kStep, Field::disable_cuda_graph, true);
  r.warn(kStep, "A prefill server without the piecewise graph has no graphs at all.");
}

void handle_roles(Resolution& r) {
  if (is_decode(r)) {
    if (r.on(Field::disaggregation_decode_enable_radix_cache)) {
      enable_decode_radix_cache(r);
    } else {
      disable_decode_radix_cache(r);
    }
    default_extra_slots(r);
  } else if (is_prefill(r)) {
    r.require(RF::kOther, !r.is(Field::disaggregation_transfer_backend, "fake"), kStep,
              "--disaggregation-transfer-backend fake moves nothing; a prefill server needs a real one.");
    if (r.before(v0_5(13))) {
      without_piecewise_graph(r);
    } else if (r.before(v0_5(16))) {
      r.set(kStep, Field::disable_cuda_graph, true);
    }
    if (r.since(v0_5(17)) && rust_server(r)) alias_bootstrap_port(r);
  }
  if (!is_prefill(r) && !is_decode(r)) return;
  const bool staged = r.is(Field::disaggregation_transfer_backend, "mooncake") ||
                      (r.is(Field::disaggregation_transfer_backend, "nixl") && r.since(v0_5(12)));
  if (r.env_bool("SGLANG_DISAGG_STAGING_BUFFER", false) && !staged) {
    r.refuse(RF::kOther, "ValueError", kStep,
             fmt::format("SGLANG_DISAGG_STAGING_BUFFER works with mooncake (and nixl since 0.5.12), not with {}.",
                         r.text(Field::disaggregation_transfer_backend)));
  }
  check_role_switch(r);
}

// Serving a multimodal model as its language model alone: known for 0.5.23.
void handle_language_model_only(Resolution& r) {
  constexpr auto kFunction = "handle_language_model_only";
  if (!r.on(Field::language_model_only)) return;
  constexpr std::pair<Field, std::string_view> kOthers[] = {
      {Field::encoder_only, "--encoder-only"},
      {Field::language_only, "--language-only"},
      {Field::enable_prefix_mm_cache, "--enable-prefix-mm-cache"},
      {Field::enable_broadcast_mm_inputs_process, "--enable-broadcast-mm-inputs-process"},
      {Field::mm_enable_dp_encoder, "--mm-enable-dp-encoder"}};
  for (const auto& [field, option] : kOthers) {
    if (r.on(field)) {
      r.refuse(RF::kOther, "ValueError", kFunction,
               fmt::format("--language-model-only has no encoder for {}; drop one of them.", option));
    }
  }
  const ModelFacts& model = r.model();
  if (!r.is(Field::disaggregation_mode, "null") &&
      (r.before(v0_5(22)) || !is_text(model.root("model_type"), "deepseek_v41"))) {
    r.refuse(RF::kOther, "ValueError", kFunction, "--language-model-only does not work with --disaggregation-mode.");
  }
  for (const char* name : {"DeepseekV4ForCausalLM", "MuseGlimmerForConditionalGeneration",
                           "Cosmos3ForConditionalGeneration", "Cosmos3EdgeForConditionalGeneration"}) {
    if (model.has_architecture(name)) return;
  }
  r.refuse(RF::kOther, "ValueError", kFunction, "--language-model-only is not offered for this architecture; drop it.");
}

bool supports_encoder_disaggregation(const Resolution& r, std::string_view architecture) {
  static constexpr std::array<std::string_view, 11> kSince11 = {
      "Qwen2VLForConditionalGeneration",      "Qwen3VLForConditionalGeneration",
      "Qwen2_5_VLForConditionalGeneration",   "Qwen3VLMoeForConditionalGeneration",
      "Qwen3_5ForConditionalGeneration",      "Qwen3_5MoeForConditionalGeneration",
      "Qwen3OmniMoeForConditionalGeneration", "Qwen2AudioForConditionalGeneration",
      "Qwen2_5OmniForConditionalGeneration",  "KimiVLForConditionalGeneration",
      "KimiK25ForConditionalGeneration"};
  static constexpr std::array<std::string_view, 2> kSince23 = {"MiniMaxM3SparseForConditionalGeneration",
                                                               "MuseSparkForConditionalGeneration"};
  const auto among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), architecture) != names.end();
  };
  return among(kSince11) || (r.since(v0_5(12)) && architecture == "InternS2PreviewForConditionalGeneration") ||
         (r.since(v0_5(13)) && architecture == "MiMoV2ForCausalLM") ||
         (r.since(v0_5(17)) && architecture == "KimiK3ForConditionalGeneration") ||
         (r.since(v0_5(19)) && architecture == "Dots3NoteForCausalLM") ||
         (r.since(v0_5(20)) && architecture == "Glm5NextForConditionalGeneration") ||
         (r.since(v0_5(23)) && among(kSince23));
}

void check_encoder_options(Resolution& r, std::string_view function) {
  const auto refuse = [&](std::string message) { r.refuse(RF::kOther, "ValueError", function, std::move(message)); };
  if (r.on(Field::enable_prefix_mm_cache) && !r.on(Field::encoder_only)) {
    refuse("--enable-prefix-mm-cache caches encoder outputs; it needs --encoder-only.");
  }
  if (r.on(Field::encoder_only) && r.on(Field::language_only)) {
    refuse("--encoder-only and --language-only name the two halves of a deployment; give one to each server.");
  }
  if (r.on(Field::encoder_only) && !r.is(Field::disaggregation_mode, "null")) {
    refuse("--encoder-only servers have no prefill or decode role; drop --disaggregation-mode.");
  }
  if (r.before(v0_5(13)) && r.on(Field::language_only) && !r.on(Field::encoder_urls)) {
    refuse("--language-only needs --encoder-urls in this release, where encoders do not register by themselves.");
  }
}

}  // namespace

void handle_pd_disaggregation(Resolution& r) {
  resolve_mooncake_tcp(r);
  if (r.is(Field::disaggregation_decode_allocation_policy, "prefill_complete")) {
    validate_prefill_complete(r);
    if (is_prefill(r) && r.integer(Field::optimistic_prefill_attempts) == 0) {
      r.change(kStep, Field::optimistic_prefill_attempts, 1);
    }
  }
  if (r.since(v0_5(17))) check_host_receive_and_dcp(r);
  handle_roles(r);
}

void handle_encoder_disaggregation(Resolution& r) {
  constexpr auto kSource = "_handle_encoder_disaggregation";
  const std::string_view function = kSource;
  handle_language_model_only(r);
  check_encoder_options(r, function);
  const bool transfers = r.is(Field::disaggregation_transfer_backend, "mooncake") && (is_prefill(r) || is_decode(r));
  if (transfers || r.is(Field::encoder_transfer_backend, "mooncake")) {
    r.change(kSource, Field::disaggregation_ib_device, validated_ib_devices(r, Field::disaggregation_ib_device));
  }
  const ModelFacts& model = r.model();
  if (model.architectures.empty()) {
    r.refuse(RF::kOther, "TypeError", function, "config.json names no architecture; add \"architectures\".");
  }
  const std::string architecture = model.architectures.front();
  if (r.since(v0_5(17)) && r.is(Field::encoder_transfer_backend, "auto")) {
    const bool whole_tokens = architecture == "KimiK3ForConditionalGeneration" && r.integer(Field::tp_size) > 1;
    r.change(kSource, Field::encoder_transfer_backend, whole_tokens ? "zmq_to_tokenizer" : "zmq_to_scheduler");
  }
  const bool disaggregated = r.on(Field::encoder_only) || r.on(Field::language_only);
  if (disaggregated && !supports_encoder_disaggregation(r, architecture)) {
    r.refuse(RF::kOther, "ValueError", function,
             fmt::format("{} cannot be split into --encoder-only and --language-only servers; drop the option.",
                         architecture));
  }
  if (r.since(v0_5(23)) && architecture == "MuseSparkForConditionalGeneration" && r.on(Field::language_only) &&
      r.on(Field::enable_adaptive_dispatch_to_encoder)) {
    r.refuse(RF::kOther, "ValueError", function,
             "A --language-only server of Muse has no encoder for --enable-adaptive-dispatch-to-encoder.");
  }
}

}  // namespace preflight::resolve
