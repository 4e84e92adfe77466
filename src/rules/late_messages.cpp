// The table of late messages; see late_messages.h. Sources: sglang 0.5.11 to 0.5.23 and sgl-kernel-xpu, at the places
// that each rule names as its own.
#include "src/rules/late_messages.h"

namespace preflight::rules {
namespace {

constexpr LateMessage kTable[] = {
    // Memory. While the model loads it is the weights that are too many, afterwards what is computed beside them.
    {"not enough memory please try", "RuntimeError", "", "", {"PL002"}},
    {"leave no gpu memory", "ValueError", "", "", {"PL002"}},
    {"xpu out of memory", "", "load_model", "", {"PL002", "PL008", "PL007"}},
    {"xpu out of memory", "", "", "", {"PL007", "PL002", "PL008"}},
    {"ur_result_error_out_of_device_memory", "", "", "", {"PL007", "PL002", "PL008"}},
    {"ur_result_error_out_of_resources", "", "", "", {"PL007", "PL002", "PL008"}},
    // Placement.
    {"device index is out of range", "RuntimeError", "", "", {"PL001"}},
    {"invalid device ordinal", "", "", "", {"PL001"}},
    {"is not divisible by", "AssertionError", "", "", {"PL003", "PL004", "PL005"}},
    {"", "AssertionError", "ensure_divisibility", "", {"PL003", "PL004", "PL005"}},
    {"", "AssertionError", "divide", "", {"PL003", "PL004", "PL005"}},
    {"for quantized moe models", "", "", "", {"QN001"}},
    {"the output_size of gate s and up s weight", "", "", "", {"QN001"}},
    {"", "ValueError", "validate_block_quant_shapes", "", {"QN002"}},
    {"is not divisible by weight quantization", "", "", "", {"QN002", "QN001"}},
    {"ur_result_error_device_lost", "", "", "", {"KI003", "KI004"}},
    {"address already in use", "", "", "", {"HO005"}},
    {"too many open files", "", "", "", {"HO004"}},
    {"bus error", "", "", "", {"HO003"}},
    {"no space left on device", "", "", "", {"HO006", "HO003"}},
    // Model classes.
    {"are not supported for now", "ValueError", "", "", {"MC001"}},
    {"", "ValueError", "_raise_for_unsupported", "", {"MC001"}},
    // Attention backends.
    {"flashattention v3 backend requires", "", "", "", {"BK001"}},
    {"only encoder size 1", "", "", "", {"BK005"}},
    {"cross attention is not supported in the triton", "", "", "", {"BK004"}},
    {"sliding window and cross attention", "", "", "", {"BK003"}},
    {"intel_xpu attention backend require", "AssertionError", "", "", {"BK006"}},
    {"only supported on bmg and later", "", "", "vision.py", {"VI001"}},
    {"only supported on bmg and later", "", "", "", {"BK002", "VI001"}},
    {"current moe is only supported on bmg", "", "", "", {"MO002"}},
    {"unsupported xpu architecture", "", "", "", {"MO002", "BK002"}},
    {"only supported on bmg for now", "", "", "", {"HY010"}},
    {"is only available for", "Exception", "", "vision.py", {"VI002"}},
    {"visionflash3attention is only available", "", "", "", {"VI002"}},
    {"visionflash4attention is only available", "", "", "", {"VI002"}},
    {"visionflashinferattention is only available", "", "", "", {"VI002"}},
    {"visionascendattention is only available", "", "", "", {"VI002"}},
    {"aiter_attn is only available", "", "", "", {"VI002"}},
    {"unsupported page size for decode attention", "", "", "", {"PG001", "PG003"}},
    {"", "AssertionError", "flash_mla_decode", "", {"PG002"}, true},
    {"", "AssertionError", "forward_decode", "xpu_backend.py", {"PG002"}, true},
    {"", "AssertionError", "__init__", "xpu_backend.py", {"PL006"}, true},
    {"", "AssertionError", "make_local_attention_virtual_batches", "", {"LC004"}},
    {"unsupported head size for paged", "", "", "", {"AT001"}},
    {"unsupported head size", "", "", "vision.py", {"VI003"}},
    {"unsupported head size for", "", "", "", {"AT001", "VI003"}},
    {"unsupported q_group_size", "", "", "", {"AT002"}},
    {"only supports half and bfloat16", "", "", "", {"AT003"}},
    {"query and key must have the same dtype", "", "", "", {"AT003"}},
    {"requires k_descale and v_descale", "", "", "", {"AT003"}},
    {"mla prefill does not support logit_cap", "", "", "", {"ML004"}},
    {"attention does not support attention sinks", "AssertionError", "", "", {"LC006"}},
    {"with page size 1 sliding window attention", "AssertionError", "", "", {"LC005"}},
    {"cascade attention is not supported with mla", "", "", "", {"SP002"}},
    // Speculation and graphs.
    {"eagle is not supported in", "ValueError", "", "", {"SP001", "SP008"}},
    {"doesn t support speculative decoding yet", "AssertionError", "", "xpu_backend.py", {"SP001"}},
    {"xpuattentionbackend doesn t support speculative", "", "", "", {"SP001"}},
    {"support speculative decoding in xpu graph", "", "", "", {"SP007"}},
    {"name sgl_build_tree_kernel_efficient is", "NameError", "", "", {"SP003"}},
    {"argument intermediate_conv_window", "TypeError", "", "", {"SP006", "SP010"}},
    {"xpugraphrunner does not support torch memory saver", "", "", "", {"GR002"}},
    {"xpugraphrunner does not support two batch overlap", "", "", "", {"GR003"}},
    {"xpugraphrunner does not support mlp", "", "", "", {"GR001"}},
    {"xpugraphrunner does not support gathered buffer", "", "", "", {"GR001"}},
    // Decode context parallelism.
    {"supported on the amd hip platform", "RuntimeError", "", "", {"DC001"}},
    {"dcp with a quantized kv cache", "", "", "", {"DC003"}},
    {"dcp on intel_xpu requires cuda graph", "", "", "", {"DC004"}},
    // Quantisation and experts.
    {"current moe does not support use_fp8_w8a8", "", "", "", {"MO001"}},
    {"awq moe is not yet supported on xpu", "", "", "", {"QN003"}},
    {"is not supported for quantization", "ValueError", "", "", {"QN004"}},
    {"name gptq_shuffle is", "NameError", "", "", {"QN005"}},
    {"", "", "", "gptq_kernels.py", {"QN005"}},
    {"compiled with cuda enabled", "", "", "compressed_tensors.py", {"QN007"}},
    {"only support page size 64", "AssertionError", "", "", {"QN010"}},
    // Hybrids.
    {"page size must be 1 for mambaradixcache", "", "", "", {"HY001", "HY002"}},
    {"mambacomponent requires page_size 1", "", "", "", {"HY001", "HY002"}},
    {"compiled with cuda enabled", "", "", "layernorm_gated.py", {"HY004"}},
    {"name causal_conv1d_fn is", "NameError", "", "", {"HY005"}},
    {"compiled with cuda enabled", "", "", "kda_backend.py", {"HY006"}},
    // Sampling, adapters, caches.
    {"name top_k_top_p_sampling_from_probs is", "NameError", "", "", {"SA001"}},
    {"name top_k_renorm_prob is", "NameError", "", "", {"SA001"}},
    {"name min_p_sampling_from_probs is", "NameError", "", "", {"SA001"}},
    {"name torch_npu is", "NameError", "", "", {"SA002"}},
    {"no module named xgrammar", "", "", "", {"SA003"}},
    {"compiled with cuda enabled", "", "", "lora_overlap_loader.py", {"SA004"}},
    {"compiled with cuda enabled", "", "", "memory_pool_host.py", {"SA005"}},
    {"compiled with cuda enabled", "", "init_mem_pool_host", "", {"SA005"}},
    {"name transfer_kv_per_layer is", "NameError", "", "", {"SA005"}},
    {"name transfer_kv_all_layer is", "NameError", "", "", {"SA005"}},
    {"no module named torch_memory_saver", "", "", "", {"SA006"}},
    // The kernel package and SGLang are of different times.
    {"cannot import name flash_mla_decode_get_workspace_size", "", "", "", {"KR004"}},
    {"cannot import name store_cache_xpu", "", "", "", {"KR005"}},
    {"cannot import name min_p_sampling_from_probs", "", "", "", {"KR005"}},
    {"cannot import name top_k_renorm_prob", "", "", "", {"KR005"}},
    {"cannot import name top_p_renorm_prob", "", "", "", {"KR005"}},
    {"cannot import name top_k_top_p_sampling_from_probs", "", "", "", {"KR005"}},
    {"argument bidirectional_block_ids", "TypeError", "", "", {"KR006"}},
    {"cannot import name causal_conv1d", "", "", "", {"KR007"}},
    {"cannot import name causal_conv1d_fn_xpu", "", "", "", {"KR007"}},
    {"cannot import name causal_conv1d_update_xpu", "", "", "", {"KR007"}},
    {"cannot import name gdn_attention", "", "", "", {"KR007"}},
    {"unexpected keyword argument out", "TypeError", "", "", {"KR003"}},
    {"flash_mla_get_workspace_size", "TypeError", "", "", {"KR002", "KR001"}},
};

}  // namespace

std::span<const LateMessage> late_messages() { return kTable; }

}  // namespace preflight::rules
