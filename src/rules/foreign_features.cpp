#include "src/rules/foreign_features.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "src/facts/fp4_experts.h"
#include "src/facts/kinds.h"
#include "src/facts/model_classes.h"
#include "src/python/text.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

// Of SGLang's own classes, those with load_kv_cache_scales, inherited ones too; the file is read for this cache alone.
bool reads_no_scales(const LaunchFacts& f) {
  constexpr std::array<std::string_view, 24> kRead = {"ApertusForCausalLM",
                                                      "ArceeForCausalLM",
                                                      "Cosmos3EdgeForConditionalGeneration",
                                                      "Exaone4ForCausalLM",
                                                      "Glm4ForCausalLM",
                                                      "Glm5NextForConditionalGeneration",
                                                      "HunYuanDenseV1ForCausalLM",
                                                      "HunYuanMoEV1ForCausalLM",
                                                      "IQuestCoderForCausalLM",
                                                      "InternLM3ForCausalLM",
                                                      "Llama4ForCausalLM",
                                                      "LlamaForCausalLM",
                                                      "MiMoForCausalLM",
                                                      "MiMoV2ASRForCausalLM",
                                                      "MiMoV2FlashForCausalLM",
                                                      "MiMoV2ForCausalLM",
                                                      "Ministral3ForCausalLM",
                                                      "MistralForCausalLM",
                                                      "OPTForCausalLM",
                                                      "Phi3ForCausalLM",
                                                      "Qwen2ForCausalLM",
                                                      "Qwen3ForCausalLM",
                                                      "Qwen3Model",
                                                      "TeleFLMForCausalLM"};
  const auto& names = f.model().architectures;
  return f.is(Field::kv_cache_dtype, "fp8_e4m3") && !f.is(Field::model_impl, "transformers") && !names.empty() &&
         std::ranges::all_of(names, [&](const std::string& name) {
           return is_own(facts::model_class(name, f.release())) && std::ranges::find(kRead, name) == kRead.end();
         });
}
bool apart(const LaunchFacts& f) { return f.is_disaggregated(); }
bool with_adapters(const LaunchFacts& f) { return f.on(Field::enable_lora); }
bool in_groups(const LaunchFacts& f) {
  return f.integer(Field::offload_group_size, 0) > 0 && f.number(Field::cpu_offload_gb, 0) <= 0;
}
bool without_embedding_tables(const LaunchFacts& f) {
  return !f.model().has_architecture("Qwen4ExpForConditionalGeneration");
}
bool of_one_pool(const LaunchFacts& f) { return !is_hybrid(f.model()) && !f.model().is_hybrid_swa; }
bool of_two_pools(const LaunchFacts& f) { return !of_one_pool(f); }
bool decodes_windows(const LaunchFacts& f) { return f.only_decodes() && f.model().is_hybrid_swa_compress; }
bool hybrid_without_indexer(const LaunchFacts& f) { return is_hybrid(f.model()) && !has_qwen_indexer(f.model()); }
bool cuts_attention(const LaunchFacts& f) { return f.attention_tp() > 1; }
// The host's pools are built: before, SA005 says what they fail with.
bool host_pools(const LaunchFacts& f) {
  return f.on(Field::enable_hierarchical_cache) && (f.model().is_mla() || f.since(23));
}
// Its store is found by what the extra settings say; those of a file are not known.
bool storage_without_endpoint(const LaunchFacts& f) {
  const std::string_view extra = f.text(Field::hicache_storage_backend_extra_config);
  return host_pools(f) && !extra.starts_with('@') && extra.find("\"endpoint\"") == std::string_view::npos;
}
bool latent_host_pools(const LaunchFacts& f) { return host_pools(f) && f.model().is_mla(); }
bool sums_cache(const LaunchFacts& f) { return !f.is(Field::kv_canary, "none"); }
// Its table of pools knows those of keys and values, of windows, and DeepSeek-V4's.
bool sums_unknown_pool(const LaunchFacts& f) {
  return sums_cache(f) && (is_hybrid(f.model()) || (f.model().is_mla() && !is_deepseek_v4(f.model(), f.release())));
}
bool sums_in_graph(const LaunchFacts& f) { return sums_cache(f) && f.decode_graph_full(); }
// Encoders asked over gRPC answer another way.
bool receives_images(const LaunchFacts& f) {
  const Value& encoders = f[Field::encoder_urls];
  const auto over_grpc = [](const Value& url) { return url.is_string() && url.as_string().starts_with("grpc://"); };
  return f.on(Field::language_only) && !(encoders.is_list() && std::ranges::any_of(encoders.as_list(), over_grpc));
}

// A value, or any that turns the option on, and what it ends with.
struct Feature {
  Field field;
  std::string_view value;  // "": any
  std::string_view ends;
  std::string_view instead;  // "": nothing
  bool (*reached)(const LaunchFacts&) = always;
  Release since = v0_5(0);  // where a release before had the option, or the value, too
  Release until = kNoEnd;
};
constexpr std::array kFeatures = {
    Feature{Field::startup_weight_load_mode, "overlap", "ValueError while the weights are loaded: for CUDA alone", ""},
    Feature{Field::weight_cache_mode, "daemon",
            "RuntimeError in the daemon: weights are shared through CUDA's handles of memory", ""},
    Feature{Field::elastic_ep_backend, "", "NotImplementedError in every rank: for CUDA and CPUs alone", ""},
    Feature{Field::lora_backend, "ascend", "AttributeError at the first batch with an adapter: Ascend's operations", "",
            with_adapters},
    Feature{Field::enable_layerwise_nvtx_marker, "", "RuntimeError at the first forward pass: NVTX is CUDA's", ""},
    Feature{Field::enable_pdmux, "", "an error in the scheduler: it divides a CUDA device into green contexts", ""},
    Feature{Field::offload_group_size, "",
            "an error while the model is built: it moves weights of DeepSeek's classes alone, on CUDA streams", "",
            in_groups},
    Feature{Field::ple_offload_embedding, "", "ValueError while the weights are loaded: for Qwen4-Exp alone", "",
            without_embedding_tables},
    Feature{Field::enable_unified_memory, "",
            "ValueError while the cache is built: for models with two kinds of cache alone", "", of_one_pool},
    Feature{Field::enable_unified_memory, "",
            "an error when cache is first freed: its allocator waits on CUDA's "
            "stream",
            "", of_two_pools, v0_5(20)},
    Feature{Field::kv_cache_dtype, "fp4_e2m1",
            "ValueError while the cache is built: the release has the name no longer", "auto", always, v0_5(16),
            v0_5(21)},
    Feature{Field::bf16_gemm_backend, "cutedsl", "ValueError in the scheduler: for NVIDIA's SM100 and SM103 alone",
            "auto"},
    Feature{Field::bf16_gemm_backend, "flashinfer_pr4266",
            "ValueError in the scheduler: for NVIDIA's SM100 and SM103 alone", "auto"},
    Feature{Field::bf16_gemm_backend, "gemv", "an error in the scheduler: it asks for the capability of a CUDA device",
            "auto"},
    Feature{Field::disaggregation_decode_enable_radix_cache, "",
            "ValueError while the cache is built: for none of a model whose windows are compressed", "",
            decodes_windows, v0_5(23)},
    Feature{Field::qsa_indexer_dtype, "bfloat16", "ValueError while the cache is built: the model has no indexer",
            "auto", hybrid_without_indexer},
    Feature{Field::qsa_indexer_dtype, "fp8_e4m3", "ValueError while the cache is built: the model has no indexer",
            "auto", hybrid_without_indexer},
    Feature{Field::quantization_param_path, "",
            "RuntimeError once the weights are loaded: the model's class reads no scales of a cache", "",
            reads_no_scales},
    Feature{Field::enable_return_routed_experts, "",
            "AssertionError while the worker starts: the host's side is registered through CUDA", "", serves_experts,
            v0_5(20), v0_5(21)},
    Feature{Field::disaggregation_enable_kv_checksum, "",
            "AssertionError at the first transfer: the sums are taken of CUDA's memory", "", apart},
    Feature{Field::hicache_io_backend, "kernel_ascend", "an error at the first transfer: Ascend's operations", "kernel",
            host_pools, v0_5(21)},
    Feature{Field::hicache_mem_layout, "page_first_kv_split",
            "ValueError while the host's pool is built or at the first transfer: Ascend's layout", "page_first",
            host_pools, v0_5(21)},
    Feature{Field::hicache_mem_layout, "page_head",
            "ValueError while the host's pool is built: MLA's has no such layout", "page_first", latent_host_pools,
            v0_5(21)},
    Feature{Field::enable_symm_mem, "", "an error before the first token: its memory is taken through CUDA and NCCL",
            "", cuts_attention, v0_5(0), v0_5(19)},
    Feature{Field::hicache_storage_backend, "npu_memcache", "ImportError of memcache_hybrid, Ascend's package", "",
            host_pools, v0_5(21)},
    Feature{Field::kv_canary, "", "an error before the first token: its kernels are compiled for CUDA", "none",
            sums_cache, v0_5(0), v0_5(21)},
    Feature{Field::kv_canary, "", "NotImplementedError while the cache is built: it knows no such cache", "none",
            sums_unknown_pool, v0_5(21)},
    Feature{Field::kv_canary, "",
            "ValueError while the cache is built: without CUDA it is not captured in a decode graph", "none",
            sums_in_graph, v0_5(21)},
    Feature{Field::encoder_transfer_backend, "mooncake",
            "an error at the first image: it is received into CUDA's memory", "zmq_to_scheduler", receives_images,
            v0_5(13)},
    Feature{Field::hicache_storage_backend, "seaweedfs",
            "ValidationError in every scheduler: --hicache-storage-backend-extra-config names no endpoint", "",
            storage_without_endpoint, v0_5(23)}};

}  // namespace

bool serves_experts(const LaunchFacts& f) { return f.has_model() && has_experts(f.model()); }

bool has_qwen_indexer(const ModelFacts& m) { return !m.text("indexer_n_heads").is_none(); }

std::string option_of(Field field) {
  std::string name = "--" + std::string(field_name(field));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::optional<Finding> feature_of_others(const LaunchFacts& f) {
  for (const Feature& row : kFeatures) {
    if (f.release() < row.since || f.release() >= row.until) continue;
    if (row.value.empty() ? !f.on(row.field) : !f.is(row.field, row.value)) continue;
    if (!row.reached(f)) continue;
    const std::string name = option_of(row.field);
    const std::string_view given = f.text(row.field);
    return Finding{.message = fmt::format("{}{}{} ends with {}", name, given.empty() ? "" : " ", given, row.ends),
                   .field = row.field,
                   .remedies = {row.instead.empty() ? to_drop(name) : to_give(name, {std::string(row.instead)})}};
  }
  return std::nullopt;
}

}  // namespace preflight::rules
