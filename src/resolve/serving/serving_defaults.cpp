// Deprecated options rewritten to what replaced them, the gRPC port, and defaults that are known once parsing is done.
//
// Upstream: handle_deprecated_args, handle_missing_default_values. Tested by tests/resolve_serving_test.cpp and parity.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/resolve/models/model_path.h"
#include "src/python/text.h"
#include "src/python/integer.h"
#include "src/resolve/core/queries.h"
#include "src/resolve/serving/serving.h"

namespace preflight::resolve {
namespace {

constexpr auto kDeprecated = "_handle_deprecated_args";
constexpr auto kDefaults = "_handle_missing_default_values";

std::string dashed(Field field) {
  std::string name = "--" + std::string(field_name(field));
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

void rename_image_processor(Resolution& r, std::string_view function) {
  // In 0.5.13 the switch stands alone; the backend that replaces it was seen first in 0.5.18.
  if (!r.on(Field::disable_fast_image_processor) || !field_exists(Field::image_processor_backend, r.release())) return;
  if (!r.one_of(Field::image_processor_backend, {"auto", "pil"})) {
    r.refuse(RF::kOther, "ValueError", function,
             fmt::format("--disable-fast-image-processor asks for the PIL processor, --image-processor-backend for {}; "
                         "keep one of the two options.",
                         r.text(Field::image_processor_backend)));
  }
  r.warn(function, "--disable-fast-image-processor is old; --image-processor-backend pil replaces it.");
  r.change(kDeprecated, Field::image_processor_backend, "pil");
}

void rename_tool_call_parser(Resolution& r, std::string_view function) {
  for (const auto& [old, current] : {std::pair{"qwen25", "qwen"}, {"glm45", "glm"}}) {
    if (!r.is(Field::tool_call_parser, old)) continue;
    r.warn(function, fmt::format("--tool-call-parser {} is an old name of {}.", old, current));
    r.change(kDeprecated, Field::tool_call_parser, current);
    return;
  }
}

// The fusion switch became a choice of backend.
void rename_allreduce_fusion(Resolution& r, std::string_view function) {
  if (r.before(v0_5(14))) return;
  if (r.on(Field::enable_flashinfer_allreduce_fusion) && r.none(Field::flashinfer_allreduce_fusion_backend)) {
    r.warn(function,
           "--enable-flashinfer-allreduce-fusion is old; --flashinfer-allreduce-fusion-backend auto replaces it.");
    r.declare(kDeprecated, {{Field::flashinfer_allreduce_fusion_backend, "auto"}});
  }
  r.declare(kDeprecated, {{Field::enable_flashinfer_allreduce_fusion, false}});
}

// The switch became two variables, and is gone in 0.5.13.
void replace_nan_detection(Resolution& r, std::string_view function) {
  if (!r.on(Field::enable_nan_detection)) return;
  r.warn(function,
         "--enable-nan-detection is old; SGLANG_SPEC_NAN_DETECTION=1 and SGLANG_SPEC_OOB_DETECTION=1 say it.");
  r.env()["SGLANG_SPEC_NAN_DETECTION"] = "True";
  r.env()["SGLANG_SPEC_OOB_DETECTION"] = "True";
}

constexpr Field kAttentionBackends[] = {Field::attention_backend, Field::decode_attention_backend,
                                        Field::prefill_attention_backend, Field::speculative_draft_attention_backend};

// One declaration for all renamed backends, and for what the old name tokenspeed_mla implied besides.
void rename_attention_backends(Resolution& r, std::string_view function) {
  std::vector<FieldValue> renamed;
  for (const Field field : kAttentionBackends) {
    const Value& old = r.raw(field);
    const bool compressed = is_text(old, "compressed");
    if (!compressed && (r.before(v0_5(23)) || !is_text(old, "tokenspeed_mla"))) continue;
    const std::string_view current = compressed ? "dsv4" : "cutedsl_mla";
    r.warn(function, fmt::format("{} {} is an old name of {}.", dashed(field), old.as_string(), current));
    const bool decode_only = !compressed && field == Field::prefill_attention_backend;
    renamed.emplace_back(field, decode_only ? "trtllm_mla" : current);
  }
  const bool decoded_fp8 =
      r.is(Field::attention_backend, "tokenspeed_mla") || r.is(Field::decode_attention_backend, "tokenspeed_mla");
  if (decoded_fp8 && r.since(v0_5(23))) {
    if (!r.is(Field::kv_cache_dtype, "fp8_e4m3")) {
      r.warn(function, "tokenspeed_mla kept its cache in FP8; --kv-cache-dtype becomes fp8_e4m3.");
      renamed.emplace_back(Field::kv_cache_dtype, "fp8_e4m3");
    }
    if (!r.none(Field::speculative_algorithm) && r.is(Field::speculative_attention_mode, "prefill")) {
      renamed.emplace_back(Field::speculative_attention_mode, "decode");
    }
  }
  if (!renamed.empty()) r.declare(kDeprecated, std::move(renamed));
}

void require_grpc_port_range(Resolution& r, std::string_view function, const Value& port) {
  if (port.as_int() >= 1 && port.as_int() <= 65535) return;
  r.refuse(
      RF::kOther, "ValueError", function,
      fmt::format("The gRPC port is {}, outside 1…65535. Without SGLANG_GRPC_PORT it is --port + 10000.", port.repr()));
}

// 0.5.13: the port is an attribute beside the fields, always derived and always checked, so that --port above 55535
// is refused even without gRPC.
void derive_grpc_port(Resolution& r, std::string_view function) {
  const auto port = r.env_int("SGLANG_GRPC_PORT", integer::bounded_plus(r.integer(Field::port), 10000));
  r.set_attribute("grpc_port", port);
  require_grpc_port_range(r, function, port);
}

void check_sidecar(Resolution& r, std::string_view function, bool legacy_grpc) {
  const auto refuse = [&](std::string message) { r.refuse(RF::kOther, "ValueError", function, std::move(message)); };
  const Value& args = r[Field::sidecar_args];
  if (!args.is_none()) {
    if (r.none(Field::sidecar)) refuse("--sidecar-args has no meaning without --sidecar.");
    bool texts = args.is_list();
    if (texts) {
      for (const Value& arg : args.as_list()) texts = texts && arg.is_string();
    }
    if (!texts) refuse("--sidecar-args is no JSON array of strings; write it as [\"--flag\", \"value\"].");
  }
  if (r.none(Field::sidecar)) return;
  if (python::strip(r.text(Field::sidecar)).empty()) refuse("--sidecar is empty; name the program to start.");
  if (legacy_grpc) {
    refuse("--sidecar needs the native gRPC server, --smg-grpc-mode starts the old one; drop --smg-grpc-mode.");
  }
  if (r.none(Field::grpc_port)) refuse("--sidecar talks over gRPC; give --grpc-port.");
  if (r.release() == v0_5(22) && r.env_bool("SGLANG_RUST_SERVER", false)) {
    refuse("SGLANG_RUST_SERVER starts no sidecar; drop one of them.");
  }
}

void check_native_grpc(Resolution& r, std::string_view function) {
  const auto refuse = [&](std::string message) { r.refuse(RF::kOther, "ValueError", function, std::move(message)); };
  if (r.on(Field::use_ray)) refuse("--grpc-port does nothing under --use-ray; drop one of them.");
  if (r.on(Field::encoder_only)) refuse("--encoder-only runs its own server, without gRPC; drop --grpc-port.");
  if (r.integer(Field::tokenizer_worker_num) > 1) {
    refuse("The native gRPC server works with one tokenizer worker; set --tokenizer-worker-num 1 or drop --grpc-port.");
  }
  if (r.on(Field::api_key) || r.on(Field::admin_api_key)) {
    refuse("gRPC requests would pass by --api-key; drop --grpc-port or the keys.");
  }
}

void resolve_grpc(Resolution& r, std::string_view function) {
  if (r.on(Field::grpc_mode) && !r.on(Field::smg_grpc_mode)) {
    r.warn(function, "--grpc-mode is old; --smg-grpc-mode replaces it, and --grpc-port is the native server.");
    r.change(kDeprecated, Field::smg_grpc_mode, true);
  }
  r.change(kDeprecated, Field::grpc_worker_threads, r.env_int("SGLANG_GRPC_WORKER_THREADS", 4));
  const std::string* env_port = r.env_text("SGLANG_GRPC_PORT");
  if (r.none(Field::grpc_port) && env_port != nullptr) {
    if (const auto port = python::to_integer(*env_port)) r.change(kDeprecated, Field::grpc_port, Value::integer(*port));
  }
  const bool legacy = r.on(Field::smg_grpc_mode) || r.on(Field::grpc_mode);
  if (legacy && r.none(Field::grpc_port)) {
    r.change(kDeprecated, Field::grpc_port, integer::plus(r[Field::port], 10000));
  }
  if (!r.none(Field::grpc_response_timeout_secs) && r.number(Field::grpc_response_timeout_secs) <= 0) {
    r.refuse(RF::kOther, "ValueError", function, "--grpc-response-timeout-secs has to be positive.");
  }
  if (!r.none(Field::grpc_port)) {
    require_grpc_port_range(r, function, r[Field::grpc_port]);
    if (r.integer(Field::grpc_worker_threads) < 1) {
      r.refuse(RF::kOther, "ValueError", function, "SGLANG_GRPC_WORKER_THREADS has to be 1 or more.");
    }
  }
  check_sidecar(r, function, legacy);
  if (!r.none(Field::grpc_port) && !legacy) check_native_grpc(r, function);
}

// get_device(): the first accelerator torch offers. Without any, releases with a platform for XPU (0.5.17) get an
// object from it in place of a name, which the next statement cannot split at its colon.
std::string default_device(Resolution& r) {
  if (r.device().count > 0) return "xpu";
  const bool by_platform = r.since(v0_5(17));
  r.refuse(RF::kOther, by_platform ? "AttributeError" : "RuntimeError",
           by_platform ? kDefaults : std::string_view("get_device"),
           "torch sees no accelerator and --device is not given; check the driver and ONEAPI_DEVICE_SELECTOR.");
}

// `unquant` is no method: the model is read unquantized, whatever its checkpoint says.
void leave_unquantized(Resolution& r, StepName step) {
  if (r.is(Field::quantization, "unquant")) r.change(step, Field::quantization, nullptr);
}

// The draft model is quantized as the target unless its own option says otherwise.
void resolve_draft_quantization(Resolution& r) {
  constexpr Field kDraft = Field::speculative_draft_model_quantization;
  constexpr Field kExplicit = Field::_speculative_draft_quantization_explicitly_set;
  if (field_exists(kExplicit, r.release()) && r.none(kExplicit)) r.change(kDefaults, kExplicit, !r.none(kDraft));
  if (r.none(kDraft)) r.change(kDefaults, kDraft, r[Field::quantization]);
  leave_unquantized(r, kDefaults);  // up to 0.5.14 the step before has done it
  if (r.is(kDraft, "unquant")) r.change(kDefaults, kDraft, nullptr);
}

}  // namespace

void handle_deprecated_args(Resolution& r) {
  const std::string_view function = kDeprecated;
  rename_image_processor(r, function);
  rename_tool_call_parser(r, function);
  replace_nan_detection(r, function);
  rename_allreduce_fusion(r, function);
  rename_attention_backends(r, function);
  if (field_exists(Field::grpc_port, r.release())) {
    resolve_grpc(r, function);
  } else {
    derive_grpc_port(r, function);
  }
}

// Its own step up to 0.5.14; part of handle_missing_default_values since.
void handle_quantization_unquant(Resolution& r) { leave_unquantized(r, "__post_init__"); }

void handle_missing_default_values(Resolution& r) {
  if (r.none(Field::tokenizer_path)) r.change(kDefaults, Field::tokenizer_path, r[Field::model_path]);
  if (r.none(Field::served_model_name)) r.change(kDefaults, Field::served_model_name, r[Field::model_path]);
  if (r.none(Field::device)) r.change(kDefaults, Field::device, default_device(r));
  r.change(kDefaults, Field::device, python::split(r.text(Field::device), ':').front());  // "xpu:1" is "xpu"
  // Drawn anew by every launch, so there is no value to predict: the entry stands for the draw.
  if (r.none(Field::random_seed)) r.declare(kDefaults, {});
  if (r.none(Field::mm_process_config)) r.change(kDefaults, Field::mm_process_config, Value::dict({}));
  if (r.env_bool("SGLANG_USE_MODELSCOPE", false)) handle_modelscope_paths(r);
  // 0.5.14 and later resolve the strategy with the model.
  if (r.before(v0_5(14)) && r.is(Field::mamba_scheduler_strategy, "auto")) {
    r.set(kDefaults, Field::mamba_scheduler_strategy, "no_buffer");
  }
  resolve_draft_quantization(r);
}

}  // namespace preflight::resolve
