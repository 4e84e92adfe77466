// Upstream's sites; see refusal_sites.h. Source: sglang/srt/server_args.py, arg_groups/, configs/model_config.py of
// 0.5.11 to 0.5.23, transformers and torch as those releases pin them.
#include "src/resolve/core/refusal_sites.h"

#include <algorithm>

namespace preflight::resolve {
namespace {

constexpr RefusalSite kSites[] = {
    {RF::kMlaPrefill, "ValueError", "handle_attention_backend_compatibility", "only supported on decode for MLA"},
    {RF::kDeterministicBackend, "ValueError", "handle_deterministic_inference", "deterministic inference"},
    {RF::kDeterministicBackend, "ValueError", "deterministic_attention_backend", "deterministic inference"},
    {RF::kTreeWithPages, "ValueError", "handle_eagle_family", "with page_size > 1"},
    {RF::kTreeWithPages, "ValueError", "handle_speculative_decoding", "with page_size > 1"},
    {RF::kTreeWithPages, "ValueError", "handle_ngram", "> 1 is unstable"},
    // Up to 0.5.12 one method holds all algorithms.
    {RF::kPartialTree, "AssertionError", "handle_eagle_family", {}, true},
    {RF::kPartialTree, "AssertionError", "handle_speculative_decoding", {}, true},
    {RF::kPartialTree, "TypeError", "handle_eagle_family", "NoneType"},
    {RF::kPartialTree, "TypeError", "handle_speculative_decoding", "NoneType"},
    {RF::kAlgorithmForOthers, "ValueError", "handle_ngram", "Ngram speculative decoding only supports"},
    {RF::kAlgorithmForOthers, "ValueError", "handle_speculative_decoding", "Ngram speculative decoding only supports"},
    {RF::kAlgorithmForOthers, "ValueError", "handle_dflash", "DFLASH speculative decoding only supports CUDA"},
    {RF::kAlgorithmForOthers, "ValueError", "handle_dflash", "DFLASH speculative decoding is not supported by"},
    {RF::kAlgorithmForOthers, "ValueError", "handle_dspark", "DSpark speculative decoding only supports CUDA"},
    {RF::kChunkInPages, "AssertionError", "check_server_args", "divisible by page_size"},
    {RF::kRanksOverNodes, "AssertionError", "check_server_args", "divisible by number of nodes"},
    {RF::kPipelineSchedule, "AssertionError", "check_server_args", "Pipeline parallelism is not compatible"},
    {RF::kPipelineSchedule, "AssertionError", "check_pipeline_parallel_compat", "Pipeline parallel"},
    {RF::kPipelineSchedule, "AssertionError", "check_pipeline_parallel_compat", "PP + speculative decoding"},
    {RF::kPipelineSchedule, "AssertionError", "check_pipeline_parallel_compat", "SGLANG_ENABLE_PP_SPEC"},
    {RF::kCacheForOthers, "RuntimeError", "handle_kv4_compatibility", "KV4"},
    {RF::kCacheForOthers, "ValueError", "handle_mxfp8_kv_cache_compatibility", "--kv-cache-dtype mxfp8"},
    {RF::kHostCacheWithoutTree, "ValueError", "handle_cache_compatibility",
     "disable-radix-cache are mutually exclusive"},
    {RF::kHybridCache, "AssertionError", "validate_mamba_no_buffer", {}},
    {RF::kHybridCache, "AssertionError", "validate_mamba_extra_buffer", {}},
    {RF::kHybridCache, "AssertionError", "handle_mamba_radix_cache", {}},
    {RF::kHybridCache, "ValueError", "handle_mamba_radix_cache", "is not compatible with radix cache"},
    {RF::kContextParallelDecode, "ValueError", "check_xpu_dcp", {}},
    {RF::kContextParallelDecode, "ValueError", "handle_decode_context_parallelism",
     "does not support --enable-prefill-cp"},
    {RF::kLongerContext, "ValueError", "derive_context_length", "greater than the derived context_length"},
    {RF::kQuantizationMismatch, "ValueError", "verify_quantization", "does not match the quantization"},
    {RF::kQuantizationMissing, "ValueError", "verify_quantization", "Unknown quantization method"},
    {RF::kUnknownArchitecture, "ValueError", "parse", "does not recognize this architecture"},
    {RF::kUnknownArchitecture, "ValueError", "get_config", "does not recognize this architecture"},
    {RF::kSparseOnCudaOnly, "AssertionError", "no_cuda", "not compiled with CUDA"},
    {RF::kSparseOnCudaOnly, "AssertionError", "_lazy_init", "not compiled with CUDA"},
    {RF::kNoSuchModel, "ValueError", "create_remote_connector", "Invalid connector type"},
    {RF::kNoSuchModel, "OSError", "load_pointer_head", "Repo id must"},
};

constexpr std::string_view bare_name(std::string_view function) {
  return function.starts_with('_') ? function.substr(1) : function;
}

}  // namespace

std::span<const RefusalSite> refusal_sites() { return kSites; }

RF rule_of_refusal(std::string_view exception, std::string_view function, std::string_view message) {
  const auto* site = std::ranges::find_if(kSites, [&](const RefusalSite& s) {
    return s.exception == exception && bare_name(s.function) == bare_name(function) &&
           (s.bare ? message.empty() : message.find(s.words) != std::string_view::npos);
  });
  return site == std::end(kSites) ? RF::kOther : site->rule;
}

}  // namespace preflight::resolve
