// Independent validators, and check_server_args, which the launcher runs after resolution.
//
// Upstream: arg_groups/validation_hook.py (methods of server_args.py up to 0.5.18). What stands behind it in families
// of its own: lora.cpp, hisparse.cpp, buckets.cpp, watermark.cpp, kv_events.cpp.
// Tested by tests/resolve_validation_test.cpp and parity.
#include "src/resolve/core/validation.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "src/base/ascii_case.h"
#include "src/python/integer.h"
#include "src/resolve/serving/buckets.h"
#include "src/resolve/cache/hisparse.h"
#include "src/resolve/cache/kv_events.h"
#include "src/resolve/serving/lora.h"
#include "src/resolve/core/queries.h"
#include "src/resolve/serving/watermark.h"

namespace preflight::resolve {
namespace {

constexpr auto kCheck = "check_server_args";

void check_sizes(Resolution& r) {
  const auto require = [&](RF rule, bool condition, std::string_view message) {
    r.require(rule, condition, kCheck, message);
  };
  if (!r.is(Field::ep_join_mode, "scale")) {
    const std::int64_t nodes = r.integer(Field::nnodes);
    if (nodes == 0) r.refuse(RF::kOther, "ZeroDivisionError", kCheck, "--nnodes is 0; it has to be 1 or more.");
    require(RF::kRanksOverNodes,
            !integer::modulo(integer::times(r[Field::tp_size], r[Field::pp_size]), r[Field::nnodes]).truthy(),
            "--tp-size times --pp-size has to be a multiple of --nnodes.");
  }
  require(RF::kOther, r.none(Field::pp_max_micro_batch_size) || r.integer(Field::pp_max_micro_batch_size) >= 1,
          "--pp-max-micro-batch-size has to be 1 or more.");
  const bool unpadded = r.since(v0_5(12)) && r.on(Field::disable_cuda_graph_padding);
  require(RF::kOther, !(unpadded && r.on(Field::enable_torch_compile)),
          "--disable-cuda-graph-padding would have --enable-torch-compile compile every batch size; drop one of them.");
}

// Speculation under pipeline parallelism: known for 0.5.23.
void check_pipeline_speculation(Resolution& r) {
  const auto require = [&](bool condition, std::string_view message) {
    r.require(RF::kPipelineSchedule, condition, "check_pipeline_parallel_compat", message);
  };
  if (r.none(Field::speculative_algorithm)) return;
  const bool gated = r.env_bool("SGLANG_ENABLE_PP_SPEC", false);
  const bool prefill = r.is(Field::disaggregation_mode, "prefill");
  if (r.is(Field::speculative_algorithm, "DSPARK")) {
    require(prefill, "DSPARK under --pp-size needs --disaggregation-mode prefill.");
    require(!gated, "SGLANG_ENABLE_PP_SPEC does not know DSPARK; unset it.");
    return;
  }
  const bool eagle = ascii_lower(r.text(Field::speculative_algorithm)) == "eagle";
  require(eagle && !r.on(Field::enable_multi_layer_eagle),
          "Under --pp-size, EAGLE without --enable-multi-layer-eagle is the only speculation.");
  if (gated) {
    require(r.is(Field::disaggregation_mode, "null"), "SGLANG_ENABLE_PP_SPEC excludes --disaggregation-mode.");
    require(!r.on(Field::speculative_adaptive), "SGLANG_ENABLE_PP_SPEC excludes --speculative-adaptive.");
    require(!attn_dp_enabled(r), "SGLANG_ENABLE_PP_SPEC excludes attention data parallelism.");
  } else {
    require(prefill, "Speculation under --pp-size works on prefill servers only (--disaggregation-mode prefill).");
  }
}

void check_pipeline_parallelism(Resolution& r) {
  if (r.integer(Field::pp_size) <= 1) return;
  constexpr auto kOverlap = "--pp-size above 1 needs --disable-overlap-schedule.";
  if (r.before(v0_5(21))) {
    r.require(RF::kPipelineSchedule, r.on(Field::disable_overlap_schedule) && r.none(Field::speculative_algorithm),
              kCheck, "--pp-size above 1 works without overlap schedule and without speculative decoding.");
    r.require(RF::kOther, r.before(v0_5(18)) || r.none(Field::min_free_slots_delay), kCheck,
              "--min-free-slots-delay may wait for ever under --pp-size; drop it.");
    return;
  }
  r.require(RF::kPipelineSchedule, r.on(Field::disable_overlap_schedule), "check_pipeline_parallel_compat", kOverlap);
  check_pipeline_speculation(r);
  r.require(RF::kOther, r.none(Field::min_free_slots_delay), "check_pipeline_parallel_compat",
            "--min-free-slots-delay may wait for ever under --pp-size; drop it.");
}

void check_placement(Resolution& r) {
  const auto require = [&](bool condition, std::string_view message) {
    r.require(RF::kOther, condition, kCheck, message);
  };
  const bool replicas_allowed = r.before(v0_5(22)) && r.on(Field::enable_dp_attention);
  require(!(r.integer(Field::dp_size) > 1 && r.integer(Field::nnodes) != 1 && !replicas_allowed),
          "--dp-size replicas stay on one node; use attention data parallelism across nodes.");
  require(r.integer(Field::base_gpu_id) >= 0, "--base-gpu-id must not be negative.");
  require(r.integer(Field::gpu_id_step) >= 1, "--gpu-id-step has to be 1 or more.");
  const Value& dense = r[Field::moe_dense_tp_size];
  require(dense.is_none() || dense == Value(1) || (r.since(v0_5(13)) && dense == r[Field::tp_size]),
          "--moe-dense-tp-size is 1, --tp-size, or left out.");
}

bool is_object_store_uri(std::string_view name) {
  const std::string lower = ascii_lower(name);
  return lower.starts_with("s3://") || lower.starts_with("gs://") || lower.starts_with("az://");
}

// A colon separates model and adapter in requests. A dummy model has no name at all, which Python cannot search.
void check_served_name(Resolution& r) {
  if (r.none(Field::served_model_name)) {
    r.refuse(RF::kOther, "TypeError", kCheck, "The model has no served name; give --served-model-name.");
  }
  const std::string name = r.text(Field::served_model_name);
  r.require(RF::kOther, is_object_store_uri(name) || name.find(':') == std::string::npos, kCheck,
            "--served-model-name holds a colon, which separates model and LoRA adapter in requests; rename it.");
}

void check_mixed_chunk(Resolution& r) {
  if (r.none(Field::speculative_algorithm) || !r.on(Field::enable_mixed_chunk)) return;
  const bool supported =
      r.since(v0_5(19)) && r.one_of(Field::speculative_algorithm, {"EAGLE", "EAGLE3", "DFLASH", "DSPARK", "NEXTN"});
  r.require(RF::kOther, supported, kCheck,
            fmt::format("--enable-mixed-chunk does not work with {} speculation; drop one of them.",
                        r.text(Field::speculative_algorithm)));
}

// Python refuses to compare None: the launch of a dummy model without sizes ends so.
std::int64_t require_integer(Resolution& r, Field field) {
  if (r.none(field)) {
    r.refuse(RF::kOther, "TypeError", kCheck, fmt::format("{} has no value to compare; set it.", field_name(field)));
  }
  return r.integer(field);
}

void check_chunked_prefill(Resolution& r) {
  const std::int64_t chunk = require_integer(r, Field::chunked_prefill_size);
  if (chunk > 0 && !r.is(Field::disaggregation_mode, "decode")) {
    const std::int64_t page = require_integer(r, Field::page_size);
    if (page == 0) r.refuse(RF::kOther, "ZeroDivisionError", kCheck, "--page-size is 0; it has to be 1 or more.");
    const Value& tokens = r[Field::chunked_prefill_size];
    r.require(RF::kChunkInPages, !integer::modulo(tokens, r[Field::page_size]).truthy(), kCheck,
              fmt::format("--chunked-prefill-size {} is no multiple of --page-size {}.", tokens.repr(), page));
  }
  if (!r.on(Field::enable_pdmux)) return;
  r.require(RF::kOther, r.integer(Field::pp_size) == 1, kCheck, "--enable-pdmux works without pipeline parallelism.");
  r.require(RF::kOther, chunk == -1, kCheck,
            "--enable-pdmux works without chunked prefill; use --chunked-prefill-size -1.");
  r.require(RF::kOther, r.is(Field::disaggregation_mode, "null"), kCheck,
            "--enable-pdmux works without --disaggregation-mode.");
  r.require(RF::kOther, r.on(Field::disable_overlap_schedule), kCheck,
            "--enable-pdmux needs --disable-overlap-schedule.");
  r.warn(kCheck, "--enable-pdmux is slow with torch after 2.6, which this release brings.");
}

void check_workers_and_buckets(Resolution& r) {
  const auto require = [&](Field field, std::int64_t least, std::string_view option) {
    r.require(RF::kOther, r.none(field) || r.integer(field) >= least, kCheck,
              fmt::format("{} is {} or more.", option, least));
  };
  require(Field::tokenizer_worker_num, 1, "--tokenizer-worker-num");
  require(Field::detokenizer_worker_num, 1, "--detokenizer-worker-num");
  require(Field::mm_processor_worker_num, 0, "--mm-processor-worker-num");
  require(Field::mm_io_worker_num, 0, "--mm-io-worker-num");
  validate_buckets_rule(r, Field::prompt_tokens_buckets, "--prompt-tokens-buckets");
  validate_buckets_rule(r, Field::generation_tokens_buckets, "--generation-tokens-buckets");
}

void check_priorities(Resolution& r) {
  if (r.on(Field::enable_priority_scheduling)) {
    r.require(RF::kOther, r.one_of(Field::schedule_policy, {"fcfs", "lof"}), kCheck,
              fmt::format("--enable-priority-scheduling works with --schedule-policy fcfs and lof, not with {}.",
                          r.text(Field::schedule_policy)));
    if (r.none(Field::default_priority_value)) {
      r.warn(kCheck, "Without --default-priority-value, requests that name no priority have none.");
    }
  } else {
    constexpr auto kIdle = "{} has no effect without --enable-priority-scheduling.";
    if (r.on(Field::disable_priority_preemption)) r.warn(kCheck, fmt::format(kIdle, "--disable-priority-preemption"));
    if (!r.none(Field::default_priority_value)) r.warn(kCheck, fmt::format(kIdle, "--default-priority-value"));
    if (r.is(Field::retraction_policy, "priority")) {
      r.refuse(RF::kOther, "ValueError", kCheck, "--retraction-policy priority needs --enable-priority-scheduling.");
    }
  }
}

void check_loading_and_metrics(Resolution& r) {
  const auto refuse = [&](std::string message) { r.refuse(RF::kOther, "ValueError", kCheck, std::move(message)); };
  r.require(RF::kOther, r.number(Field::schedule_conservativeness) >= 0, kCheck,
            "--schedule-conservativeness must not be negative.");
  r.require(RF::kOther, !r.is(Field::model_impl, "mindspore"), kCheck,
            "--model-impl mindspore runs on Ascend devices only.");
  if (r.is(Field::load_format, "instanttensor") && !r.is(Field::device, "cuda")) {
    refuse("--load-format instanttensor loads to CUDA and ROCm devices only; use auto.");
  }
  if (!r.on(Field::tokenizer_metrics_custom_labels_header) && r.on(Field::tokenizer_metrics_allowed_custom_labels)) {
    refuse("--tokenizer-metrics-allowed-custom-labels needs --tokenizer-metrics-custom-labels-header.");
  }
  if (r.on(Field::export_metrics_to_file) && r.none(Field::export_metrics_to_file_dir)) {
    refuse("--export-metrics-to-file needs --export-metrics-to-file-dir.");
  }
}

void check_two_batch_overlap(Resolution& r) {
  if (!r.on(Field::enable_two_batch_overlap)) return;
  const bool no_a2a = r.is(Field::moe_a2a_backend, "none");
  if (r.since(v0_5(15))) {  // the way through attention data parallelism: known for 0.5.23
    if (!no_a2a || attn_dp_enabled(r)) return;
    r.refuse(RF::kOther, "ValueError", "check_two_batch_overlap",
             "--enable-two-batch-overlap needs a --moe-a2a-backend or attention data parallelism.");
  }
  if (no_a2a) r.refuse(RF::kOther, "ValueError", kCheck, "--enable-two-batch-overlap needs a --moe-a2a-backend.");
  if (r.since(v0_5(12)) && r.before(v0_5(14)) && r.on(Field::enforce_shared_experts_fusion)) {
    r.refuse(RF::kOther, "ValueError", kCheck,
             "--enable-two-batch-overlap and --enforce-shared-experts-fusion exclude each other; drop one of them.");
  }
}

void check_communication(Resolution& r) {
  const auto refuse = [&](std::string message) { r.refuse(RF::kOther, "ValueError", kCheck, std::move(message)); };
  if (r.on(Field::enable_quant_communications) && (r[Field::tp_size] == Value(1) || !r.is(Field::device, "npu"))) {
    refuse("--enable-quant-communications works on Ascend devices with --tp-size above 1 only.");
  }
  if (r.is(Field::sampling_backend, "intel_xpu") && !r.is(Field::device, "xpu") && r.since(v0_5(21))) {
    r.refuse(RF::kOther, "ValueError", "validate_device_sampling_backend",
             "--sampling-backend intel_xpu needs --device xpu.");
  }
  const bool field = field_exists(Field::grpc_port, r.release());
  const Value grpc_port = field ? r[Field::grpc_port] : r.attribute("grpc_port");
  if (!field && grpc_port.is_none()) {  // 0.5.13 sets the port in a step that a dummy model does not reach
    r.refuse(RF::kOther, "AttributeError", kCheck,
             "SGLang looks for a gRPC port that no step has set; give a real model.");
  }
  const bool native = field ? !r.on(Field::smg_grpc_mode) && !r.on(Field::grpc_mode)
                            : r.env_bool("SGLANG_ENABLE_GRPC", false);  // 0.5.13
  if (native && !grpc_port.is_none() && grpc_port == r[Field::port]) {
    refuse("The gRPC port equals --port; choose another.");
  }
  const Value& thresholds = r[Field::gc_threshold];
  if (thresholds.truthy() && thresholds.as_list().size() > 3) refuse("--gc-threshold takes 1 to 3 integers.");
  const Value& sweep = r[Field::kv_canary_sweep_interval];
  if (!sweep.is_none() && sweep.as_number() > 0 && r.is(Field::kv_canary, "none")) {
    refuse("--kv-canary-sweep-interval sweeps nothing without --kv-canary log or raise.");
  }
}

}  // namespace

void validate_prefill_decode_interval(Resolution& r) {
  const auto check = [&](Field field, std::string_view option) {
    if (!r.none(field) && r.number(field) < 0) {
      r.refuse(RF::kOther, "ValueError", "validate_prefill_decode_interval",
               fmt::format("{} must not be negative.", option));
    }
  };
  check(Field::prefill_decode_interval, "--prefill-decode-interval");
  check(Field::prefill_decode_interval_min_bs, "--prefill-decode-interval-min-bs");
}

void default_unset_prefill_decode_interval(Resolution& r) {
  if (r.since(v0_5(20)) && r.none(Field::prefill_decode_interval)) {
    r.declare("prefill_decode_interval_default", {{Field::prefill_decode_interval, 0}});
  }
}

void validate_response_store(Resolution& r) {
  if (!r.on(Field::enable_response_store) || r.is(Field::disaggregation_mode, "null")) return;
  r.refuse(RF::kOther, "ValueError", "validate_response_store",
           "--enable-response-store does not work with --disaggregation-mode; drop one of them.");
}

void validate_sampling_mask_max_tokens(Resolution& r) {
  constexpr auto kFunction = "validate_sampling_mask_max_tokens";
  if (r.env_text("SGLANG_DISAGGREGATION_SAMPLING_MASK_MAX_TOKENS") != nullptr) {
    r.refuse(RF::kOther, "ValueError", kFunction,
             "SGLANG_DISAGGREGATION_SAMPLING_MASK_MAX_TOKENS is gone; unset it and use --sampling-mask-max-tokens.");
  }
  const Value& most = r[Field::sampling_mask_max_tokens];
  if (!most.is_none() && most.as_number() <= 0) {
    r.refuse(RF::kOther, "ValueError", kFunction, "--sampling-mask-max-tokens has to be positive.");
  }
}

// Capturing hidden states without a draft model: --speculative-algorithm only names the convention and is taken back.
void handle_aux_hidden_state_capture(Resolution& r) {
  constexpr auto kFunction = "handle_aux_hidden_state_capture";
  const auto refuse = [&](std::string message) { r.refuse(RF::kOther, "ValueError", kFunction, std::move(message)); };
  const Value& layers = r[Field::return_aux_hidden_state_layer_ids];
  if (!r.on(Field::enable_return_aux_hidden_states)) {
    if (!layers.is_none()) refuse("--return-aux-hidden-state-layer-ids needs --enable-return-aux-hidden-states.");
    return;
  }
  const std::string method = ascii_lower(r.text(Field::speculative_algorithm));
  if (method != "eagle3" && method != "dflash" && method != "dspark") {
    refuse("--enable-return-aux-hidden-states needs --speculative-algorithm EAGLE3, DFLASH or DSPARK.");
  }
  if (!r.none(Field::speculative_draft_model_path)) {
    refuse("--enable-return-aux-hidden-states works without a draft; drop --speculative-draft-model-path.");
  }
  if (r[Field::pp_size] != Value(1)) refuse("--enable-return-aux-hidden-states needs --pp-size 1.");
  if (method != "eagle3" && !layers.truthy()) {
    refuse("--enable-return-aux-hidden-states needs --return-aux-hidden-state-layer-ids with this convention.");
  }
  if (layers.is_list()) {
    std::set<std::int64_t> distinct;
    for (const Value& layer : layers.as_list()) {
      if (layer.as_int() < 0) refuse("--return-aux-hidden-state-layer-ids has a negative layer.");
      distinct.insert(layer.as_int());
    }
    if (distinct.empty()) refuse("--return-aux-hidden-state-layer-ids is empty.");
    if (distinct.size() != layers.as_list().size()) refuse("--return-aux-hidden-state-layer-ids repeats a layer.");
  }
  r.declare("_handle_aux_hidden_state_capture",
            {{Field::speculative_algorithm, nullptr}, {Field::aux_hidden_state_capture, method}});
}

// The experimental Marlin MoE runner with LoRA: lora/marlin_lora_temp/policy.py (known for 0.5.23).
void validate_experimental_sgl_marlin(Resolution& r) {
  if (!r.is(Field::moe_runner_backend, "experimental_sgl_marlin")) return;
  const auto refuse = [&](std::string_view what) {
    r.refuse(RF::kOther, "ValueError", "validate_experimental_sgl_marlin_server_args",
             fmt::format("--moe-runner-backend experimental_sgl_marlin {}.", what));
  };
  const bool parallel = r.integer(Field::ep_size) > 1;
  if (parallel && !r.is(Field::moe_a2a_backend, "none")) refuse("under --ep-size needs --moe-a2a-backend none");
  const bool lora = r.on(Field::enable_lora) || (r.none(Field::enable_lora) && r.on(Field::lora_paths));
  if (!lora) return;
  if (!r.on(Field::lora_use_virtual_experts)) refuse("with LoRA needs --lora-use-virtual-experts");
  if (!r.is(Field::lora_backend, "triton")) refuse("with LoRA needs --lora-backend triton");
  const bool moved = !r.is(Field::init_expert_location, "trivial") || r[Field::ep_num_redundant_experts] != Value(0) ||
                     r.on(Field::enable_eplb) || !r.none(Field::elastic_ep_backend) ||
                     r.on(Field::enable_elastic_expert_backup);
  if (parallel && moved) refuse("under --ep-size with LoRA needs experts in their trivial places");
}

void check_server_args(Resolution& r) {
  check_sizes(r);
  check_pipeline_parallelism(r);
  check_placement(r);
  check_served_name(r);
  check_lora_server_args(r);
  check_mixed_chunk(r);
  check_chunked_prefill(r);
  check_workers_and_buckets(r);
  check_priorities(r);
  validate_hisparse(r);
  check_loading_and_metrics(r);
  check_two_batch_overlap(r);
  check_communication(r);
  if (r.since(v0_5(15))) {  // known for 0.5.23
    if (r.since(v0_5(22))) check_watermark_server_args(r);
    check_load_publish_args(r);
  }
}

}  // namespace preflight::resolve
