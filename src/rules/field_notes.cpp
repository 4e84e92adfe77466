// Tested by tests/explain_test.cpp.
#include "src/rules/field_notes.h"

#include <algorithm>
#include <array>

namespace preflight::rules {
namespace {

struct Note {
  std::string_view field;
  std::string_view text;
};

constexpr std::array kNotes = {
    Note{"model_path", "The model: a directory with config.json and weights, or an id of the hub."},
    Note{"tokenizer_path", "Another tokenizer than the one beside the weights."},
    Note{"device", "What the server computes on; on an Intel GPU `xpu`."},
    Note{"dtype", "Number format of weights and activations; `auto` takes the checkpoint's."},
    Note{"quantization", "How the weights are quantised; normally read from the checkpoint."},
    Note{"kv_cache_dtype", "Number format of cached keys and values; `auto` takes the model's."},
    Note{"context_length", "Longest request in tokens; by default what the model's configuration says."},
    Note{"trust_remote_code", "Allows configuration and tokenizer code that comes with the model to run."},
    Note{"load_format", "How weights are read; `dummy` fills in random ones."},
    Note{"mem_fraction_static",
         "Share of GPU memory for weights and cache together; the rest is left for activations."},
    Note{"max_total_tokens", "Upper bound of the cache in tokens; by default what fits."},
    Note{"max_running_requests", "Most requests decoded together."},
    Note{"max_queued_requests", "Most requests that wait; further ones are turned away."},
    Note{"max_prefill_tokens", "Most new tokens in one prefill step over all its requests."},
    Note{"chunked_prefill_size", "Longest piece of a prompt computed in one step; -1 computes prompts whole."},
    Note{"enable_mixed_chunk", "Decodes running requests in the same step as a piece of a prompt."},
    Note{"page_size", "Tokens per page of the KV cache: the unit of allocation, prefix sharing and the page table."},
    Note{"attention_backend",
         "Kernels for attention in prefill and decode; the backend limits page sizes and head sizes."},
    Note{"prefill_attention_backend", "Attention kernels for prefill alone; goes before attention_backend."},
    Note{"decode_attention_backend", "Attention kernels for decode alone; goes before attention_backend."},
    Note{"mm_attention_backend", "Attention kernels of the vision or audio encoder."},
    Note{"linear_attn_backend", "Kernels of linear-attention layers in hybrid models."},
    Note{"sampling_backend", "What draws the next token from the logits."},
    Note{"grammar_backend", "What constrains output to a grammar or JSON schema."},
    Note{"schedule_policy", "Order in which waiting requests are taken up."},
    Note{"schedule_conservativeness",
         "How much cache is held back for running requests; higher means fewer retractions."},
    Note{"disable_radix_cache", "Turns prefix sharing between requests off."},
    Note{"disable_overlap_schedule", "Plans a step only after the one before has ended, instead of meanwhile."},
    Note{"enable_hierarchical_cache", "Moves cold cache pages to host memory instead of dropping them."},
    Note{"hicache_ratio", "Size of the host cache as a multiple of the GPU's."},
    Note{"hicache_size", "Size of the host cache in GB; goes before hicache_ratio."},
    Note{"tp_size", "Tensor parallelism: GPUs that share every layer, so heads must divide by it."},
    Note{"pp_size", "Pipeline parallelism: groups of layers on GPUs behind each other."},
    Note{"dp_size", "Data parallelism: copies of the model, or of its attention with enable_dp_attention."},
    Note{"ep_size", "Expert parallelism: over how many GPUs a layer's experts are spread."},
    Note{"attn_cp_size", "Context parallelism: GPUs that share one long prompt in attention."},
    Note{"dcp_size", "Decode context parallelism: GPUs that share one request's cache while decoding."},
    Note{"enable_dp_attention",
         "Each data-parallel group computes attention for its own requests; other layers stay shared."},
    Note{"enable_dp_lm_head",
         "Splits the vocabulary within a data-parallel attention group instead of over all ranks."},
    Note{"moe_runner_backend", "Kernels that compute the experts."},
    Note{"moe_a2a_backend", "How tokens travel to the GPUs of their experts."},
    Note{"ep_num_redundant_experts", "Extra copies of busy experts."},
    Note{"enable_eplb", "Moves experts between GPUs by how busy they are."},
    Note{"nnodes", "Machines of this launch."},
    Note{"node_rank", "Which of the machines this one is, from 0."},
    Note{"dist_init_addr", "HOST:PORT of node 0, where the ranks of all machines meet."},
    Note{"base_gpu_id", "The first GPU of this machine to use."},
    Note{"disable_cuda_graph", "Runs every step eagerly instead of replaying a captured graph."},
    Note{"cuda_graph_max_bs_decode", "Largest decode batch that a graph is captured for; graphs cost memory."},
    Note{"cuda_graph_bs_decode", "The decode batch sizes that graphs are captured for."},
    Note{"cuda_graph_config", "Graph capture of decode and prefill in one JSON value."},
    Note{"enable_torch_compile", "Compiles the model with torch.compile for small batches."},
    Note{"speculative_algorithm", "Draft several tokens and verify them at once; names the way of drafting."},
    Note{"speculative_draft_model_path", "The draft model or head."},
    Note{"speculative_num_steps", "Draft steps before each verification."},
    Note{"speculative_eagle_topk", "Branches that each draft step keeps; above 1 the drafts form a tree."},
    Note{"speculative_num_draft_tokens", "Tokens verified at once."},
    Note{"enable_lora", "Serves LoRA adapters beside the base model."},
    Note{"lora_paths", "Adapters to load at the start, as name=path."},
    Note{"max_loras_per_batch", "Adapters that one batch may use; memory is reserved for as many."},
    Note{"max_lora_rank", "Highest rank of the adapters."},
    Note{"cpu_offload_gb", "GB of weights kept in host memory and fetched when used."},
    Note{"disaggregation_mode", "Runs only prefill or only decode, with the cache sent from one to the other."},
    Note{"disaggregation_transfer_backend", "What sends the cache between prefill and decode servers."},
    Note{"host", "Address that the HTTP server listens on."},
    Note{"port", "Port that the HTTP server listens on."},
    Note{"api_key", "Key that requests must bring."},
    Note{"served_model_name", "Name of the model in the API."},
    Note{"chat_template", "Template that turns chat messages into a prompt."},
    Note{"tool_call_parser", "How tool calls are read from the model's text."},
    Note{"reasoning_parser", "How the reasoning part is told from the answer."},
    Note{"random_seed", "Seed for sampling; drawn anew for each launch when not given."},
    Note{"enable_metrics", "Offers Prometheus metrics at /metrics."},
    Note{"watchdog_timeout", "Seconds that a step may take before the server ends itself."},
    Note{"json_model_override_args", "JSON that overrides values of the model's configuration."},
    Note{"is_embedding", "Serves the model as an embedding model."},
    Note{"enable_multimodal", "Serves images and audio with models that take them."},
    Note{"enable_deterministic_inference", "Same output whatever else is in the batch; needs certain backends."},
    Note{"mamba_full_memory_ratio", "Memory for linear-attention states relative to that of full attention's cache."},
    Note{"max_mamba_cache_size", "Requests' linear-attention states that are kept."},
    Note{"swa_full_tokens_ratio", "Cache of sliding-window layers relative to that of full layers, in tokens."},
};

}  // namespace

std::string_view field_note(std::string_view field) {
  const auto at = std::find_if(kNotes.begin(), kNotes.end(), [&](const Note& n) { return n.field == field; });
  return at == kNotes.end() ? std::string_view() : at->text;
}

std::string_view term_note(std::string_view term) {
  if (term != "BV") return {};
  return "Rows of a value head's state that one program of the gated delta rule's Triton decode keeps "
         "(Qwen3-Next, Qwen3.5): the next power of two of the head, at most 16 in SGLang's kernel for Intel GPUs from "
         "0.5.13 on, where others take up to 32; a larger tile spills out of the registers. "
         "Source: sglang/srt/hardware_backend/xpu/kernels/fla/fused_sigmoid_gating_recurrent.py.";
}

std::string_view page_sets_note(Field field) {
  if (field != Field::page_size) return {};
  return "intel_xpu takes 64 and 128, for MLA models also 16 and 32, and any other size becomes 128: up to 0.5.19 "
         "where "
         "intel_xpu decodes, since 0.5.20 where it prefills or decodes. flashmla takes 64, cutlass_mla 128 (up to "
         "0.5.19), hpc_ops 64, trtllm_mla and cutedsl_mla 32 and 64, trtllm_mha 16, 32 and 64 (128 too since 0.5.17). "
         "Of the models, DeepSeek sparse attention takes 64 up to 0.5.19 and 128 after it, DeepSeek V4 256, Qwen4-Exp "
         "64, and the "
         "radix "
         "cache of a hybrid model without an extra state buffer 1. SGLang sets no limit for triton.";
}

}  // namespace preflight::rules
