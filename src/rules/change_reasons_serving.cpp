// Reasons of steps around the server: old names, defaults, disaggregation, loading, diffusion models.
#include "src/rules/change_reasons.h"

namespace preflight::rules {
namespace {

bool is_text(const Value& v, std::string_view text) { return v.is_string() && v.as_string() == text; }

const Value& given(const FieldChange& c, Field field) { return c.launch.launch().args[field]; }

bool was(const FieldChange& c, std::string_view text) { return is_text(c.before, text); }

// The seed of remote weights is needed for every loader but modelexpress.
bool lacks_seed(const FieldChange& c) {
  return !c.launch.is(Field::remote_instance_weight_loader_backend, "modelexpress") &&
         (given(c, Field::remote_instance_weight_loader_seed_instance_ip).is_none() ||
          given(c, Field::remote_instance_weight_loader_seed_instance_service_port).is_none());
}

bool names_url(const Value& config) {
  if (!config.is_string()) return false;
  const auto parsed = Value::parse_json(config.as_string());
  const Value* url = parsed ? parsed->find("url") : nullptr;
  return url != nullptr && !url->is_none();
}

bool drops_adapters(const FieldChange& c) { return c.before.is_list() && c.now.is_list() && c.now.as_list().empty(); }

constexpr std::string_view kOld = "handle_deprecated_args";
constexpr std::string_view kDefaults = "handle_missing_default_values";
constexpr std::string_view kTokenizer = "handle_tokenizer_batching";
constexpr std::string_view kLoad = "handle_load_format";
constexpr std::string_view kPd = "handle_pd_disaggregation";
constexpr std::string_view kDllm = "handle_dllm_inference";
constexpr std::string_view kWatermark = "What --watermark-config says counts, whatever the option says.";
constexpr std::string_view kLora = "check_lora_server_args";
constexpr std::string_view kOther = "handle_other_validations";
constexpr std::string_view kDelayer = "handle_prefill_delayer_env_compat";

constexpr std::string_view kCompressed = "compressed is the old name of dsv4.";
constexpr std::string_view kTokenSpeed = "Since 0.5.23 tokenspeed_mla is another name of cutedsl_mla.";
constexpr std::string_view kNoTokenizer = "--skip-tokenizer-init leaves nothing to tokenize.";
constexpr std::string_view kModelPath = "Not given: the model path.";
constexpr std::string_view kDelayerVariable = "An environment variable of the prefill delayer is set.";

constexpr ChangeReason kReasons[] = {
    {{kOld}, Field::attention_backend, kCompressed, [](const FieldChange& c) { return was(c, "compressed"); }},
    {{kOld}, Field::decode_attention_backend, kCompressed, [](const FieldChange& c) { return was(c, "compressed"); }},
    {{kOld}, Field::prefill_attention_backend, kCompressed, [](const FieldChange& c) { return was(c, "compressed"); }},
    {{kOld},
     Field::speculative_draft_attention_backend,
     kCompressed,
     [](const FieldChange& c) { return was(c, "compressed"); }},
    {{kOld}, Field::attention_backend, kTokenSpeed},
    {{kOld}, Field::decode_attention_backend, kTokenSpeed},
    {{kOld},
     Field::prefill_attention_backend,
     "Since 0.5.23 tokenspeed_mla is another name of cutedsl_mla, which only decodes; trtllm_mla prefills."},
    {{kOld}, Field::speculative_draft_attention_backend, kTokenSpeed},
    {{kOld}, Field::kv_cache_dtype, "tokenspeed_mla kept its cache in fp8_e4m3, and cutedsl_mla does so in its place."},
    {{kOld}, Field::speculative_attention_mode, "tokenspeed_mla verified drafts as decode, and so does cutedsl_mla."},
    {{kOld}, Field::tool_call_parser, "An old name of the parser."},
    {{kOld}, Field::image_processor_backend, "--disable-fast-image-processor is the old way to say pil."},
    {{kOld},
     Field::enable_flashinfer_allreduce_fusion,
     "The switch is old; --flashinfer-allreduce-fusion-backend says it, and deterministic inference turns that off.",
     [](const FieldChange& c) {
       return c.launch.on(Field::enable_deterministic_inference) &&
              !c.launch.on(Field::flashinfer_allreduce_fusion_backend);
     }},
    {{kOld},
     Field::enable_flashinfer_allreduce_fusion,
     "The switch is old; --flashinfer-allreduce-fusion-backend says it since 0.5.14."},
    {{kOld},
     Field::flashinfer_allreduce_fusion_backend,
     "--enable-flashinfer-allreduce-fusion is the old way to say auto."},
    {{kOld}, Field::grpc_worker_threads, "SGLANG_GRPC_WORKER_THREADS, or 4."},
    {{kOld}, Field::grpc_port, "SGLANG_GRPC_PORT; under the old gRPC mode --port + 10000."},
    {{kOld}, Field::smg_grpc_mode, "--grpc-mode is its old name."},

    {{kDefaults}, Field::tokenizer_path, kModelPath},
    {{kDefaults}, Field::served_model_name, kModelPath},
    {{kDefaults},
     Field::device,
     "Not given: the accelerator that torch finds.",
     [](const FieldChange& c) { return c.before.is_none(); }},
    {{kDefaults}, Field::device, "The card's number is cut off and not used; --base-gpu-id chooses the first card."},
    {{kDefaults}, Field::mm_process_config, "Not given: no settings."},
    {{kDefaults},
     Field::quantization,
     "unquant asks for no quantization.",
     [](const FieldChange& c) { return was(c, "unquant"); }},
    {{"post_init__", "handle_quantization_unquant"}, Field::quantization, "unquant asks for no quantization."},
    {{kDefaults},
     Field::speculative_draft_model_quantization,
     "unquant asks for no quantization.",
     [](const FieldChange& c) { return was(c, "unquant"); }},
    {{kDefaults},
     Field::speculative_draft_model_quantization,
     "A draft is quantized as its target unless told otherwise."},
    {{"handle_media_url_security"}, Field::allowed_media_domains, "Names are sorted and brought to one form."},
    {{"handle_grammar_backend"}, Field::grammar_backend, "Not given: xgrammar is the default."},
    {{"handle_load_balance_method"},
     Field::load_balance_method,
     "auto is follow_bootstrap_room on a prefill server, else round_robin."},
    {{"handle_return_hidden_states_mode"},
     Field::enable_return_hidden_states,
     "--return-hidden-states-mode was given."},
    {{"handle_return_hidden_states_mode"},
     Field::return_hidden_states_mode,
     "Hidden states are returned whole by default."},
    {{"handle_environment_variables"},
     Field::debug_cuda_graph,
     "--debug-cuda-graph works on NVIDIA and AMD devices only."},
    {{"handle_multimodal_feature_transport"},
     Field::mm_feature_transport,
     "An encoder sends its outputs by --encoder-transfer-backend, so that features stay on the host.",
     [](const FieldChange& c) { return c.launch.on(Field::encoder_only); }},
    {{"handle_multimodal_feature_transport"},
     Field::mm_feature_transport,
     "Features travel through host memory; the other ways need NVIDIA devices."},
    {{"handle_multimodal_feature_transport"},
     Field::keep_mm_feature_on_device,
     "The switch is old; --mm-feature-transport says it, and its way over the device needs NVIDIA devices."},
    {{kDelayer}, Field::enable_prefill_delayer, kDelayerVariable},
    {{kDelayer}, Field::prefill_delayer_max_delay_passes, kDelayerVariable},
    {{kDelayer}, Field::prefill_delayer_token_usage_low_watermark, kDelayerVariable},
    {{"prefill_decode_interval_default"}, Field::prefill_decode_interval, "Not given: no interval."},
    {{"handle_debug_utils"}, Field::soft_watchdog_timeout, "SGLANG_IS_IN_CI is set."},

    {{kTokenizer},
     Field::tokenizer_worker_num,
     "--skip-tokenizer-init leaves nothing to tokenize; up to 0.5.15 that ends at one worker."},
    {{kTokenizer}, Field::detokenizer_worker_num, "--skip-tokenizer-init leaves nothing to detokenize."},
    {{kTokenizer}, Field::enable_dynamic_batch_tokenizer, kNoTokenizer},
    {{kTokenizer}, Field::enable_tokenizer_batch_encode, kNoTokenizer},

    {{kLoad},
     Field::load_format,
     "Weights of a remote instance need its address and port.",
     [](const FieldChange& c) { return was(c, "remote_instance") && lacks_seed(c); }},
    {{kLoad},
     Field::load_format,
     "Weights of a remote instance over NCCL need --remote-instance-weight-loader-send-weights-group-ports.",
     [](const FieldChange& c) {
       return was(c, "remote_instance") && c.launch.is(Field::remote_instance_weight_loader_backend, "nccl");
     }},
    {{kLoad},
     Field::load_format,
     "--modelexpress-config names no url.",
     [](const FieldChange& c) {
       return was(c, "remote_instance") && c.launch.is(Field::remote_instance_weight_loader_backend, "modelexpress") &&
              !names_url(given(c, Field::modelexpress_config));
     }},
    {{kLoad},
     Field::load_format,
     "Weights of a remote instance need mooncake's TransferEngine, which is no part of an XPU installation.",
     [](const FieldChange& c) { return was(c, "remote_instance"); }},
    {{kLoad}, Field::load_format, "The model's path and files tell how it is stored."},
    {{"gguf_quantization", kLoad}, Field::quantization, "The model is a GGUF file."},
    {{kLoad}, Field::speculative_draft_load_format, "The draft's path tells how it is stored."},
    {{kLoad}, Field::custom_weight_loader, "Not given."},
    {{kLoad},
     Field::remote_instance_weight_loader_start_seed_via_transfer_engine,
     "Seeding weights needs mooncake's TransferEngine, which is no part of an XPU installation."},

    {{kPd},
     Field::disable_radix_cache,
     "A decode server receives its caches from prefill servers and keeps no radix cache.",
     [](const FieldChange& c) { return c.now.truthy(); }},
    {{kPd}, Field::disable_radix_cache, "--disaggregation-decode-enable-radix-cache was given."},
    {{kPd}, Field::disaggregation_transfer_backend, "mooncake_tcp is mooncake with MC_FORCE_TCP set."},
    {{kPd}, Field::disaggregation_ib_device, "mooncake over TCP uses no InfiniBand devices."},
    {{"handle_encoder_disaggregation"},
     Field::disaggregation_ib_device,
     "The devices are read into their normal form."},
    {{kPd},
     Field::disaggregation_decode_extra_slots,
     "Up to 32 requests a worker get twice as many slots more, else none."},
    {{kPd},
     Field::disaggregation_decode_retraction_backup,
     "Receiving into host memory backs retracted requests up there."},
    {{kPd}, Field::disable_cuda_graph, "A prefill server without piecewise graphs has no graphs."},
    {{kPd}, Field::optimistic_prefill_attempts, "The allocation policy prefill_complete needs one attempt."},
    {{"alias_bootstrap_port_to_api_port"},
     Field::disaggregation_bootstrap_port,
     "The Rust server answers bootstrap requests on --port."},
    {{"handle_encoder_disaggregation"},
     Field::encoder_transfer_backend,
     "auto is zmq_to_tokenizer for Kimi K3 on several ranks, else zmq_to_scheduler."},

    {{"handle_watermark_config"}, Field::watermark_key, kWatermark},
    {{"handle_watermark_config"}, Field::watermark_context_window, kWatermark},

    {{"dllm_overlap_disable", kDllm},
     Field::disable_overlap_schedule,
     "Diffusion models run without the overlap schedule."},
    {{"dllm_page_size", kDllm},
     Field::page_size,
     "With the radix cache a page holds whole diffusion blocks.",
     [](const FieldChange& c) { return c.launch.radix_cache(); }},
    {{"dllm_page_size", kDllm}, Field::page_size, "A page must not be larger than the diffusion block."},
    {{kDllm}, Field::enable_hierarchical_cache, "Diffusion models work without the hierarchical cache."},
    {{kDllm}, Field::enable_lmcache, "Diffusion models work without LMCache."},
    {{kDllm}, Field::enable_flexkv, "Diffusion models work without FlexKV."},
    {{kDllm}, Field::pp_size, "Diffusion models work without pipeline parallelism."},
    {{kDllm}, Field::enable_lora, "Diffusion models work without LoRA."},
    {{kDllm}, Field::disaggregation_mode, "Diffusion models work without disaggregation."},
    {{kDllm}, Field::enable_mixed_chunk, "Diffusion models work without mixed chunked prefill."},
    {{"Gemma4Renoise"}, Field::disable_radix_cache, "Gemma4Renoise works without the radix cache."},
    {{"Gemma4Renoise"}, Field::chunked_prefill_size, "Gemma4Renoise computes prompts whole."},
    {{"Gemma4Renoise"}, Field::cuda_graph_config, "Gemma4Renoise captures prefill graphs whole or not at all."},

    {{kLora}, Field::enable_lora, "--lora-paths was given."},
    {{kLora}, Field::lora_target_modules, "The names become a set, each once."},
    {{kLora}, Field::enable_lora_overlap_loading, "Not given: off."},
    {{kLora}, Field::lora_paths, "Adapters are read into records, one after the other.", drops_adapters},
    {{kLora, kDerived}, Field::lora_paths, "Adapters are read into records."},
    {{kOther}, Field::optimistic_prefill_attempts, "Optimistic prefill does not work with this launch."},
    {{kOther}, Field::optimistic_prefill_retries, "Optimistic prefill does not work with this launch."},
    {{kOther}, Field::disable_cuda_graph, "Dumping tensors works without graphs."},
    {{kOther}, Field::cuda_graph_config, "Dumping tensors works without graphs."},
    {{kOther}, Field::skip_server_warmup, "Dumping tensors works without a warm-up."},
};

}  // namespace

std::span<const ChangeReason> serving_reasons() { return kReasons; }

}  // namespace preflight::rules
