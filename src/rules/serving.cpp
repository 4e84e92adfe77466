// SA: sampling, grammar, LoRA, caches and disaggregation.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/rules/disaggregation.h"
#include "src/rules/families.h"
#include "src/rules/foreign_features.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

std::optional<Finding> flashinfer_sampling(const LaunchFacts& f) {
  if (!f.is(Field::sampling_backend, "flashinfer")) return std::nullopt;
  return Finding{
      .message = fmt::format("sampling backend flashinfer does not exist on an Intel GPU in {}", f.release().text())};
}

std::optional<Finding> ascend_sampling(const LaunchFacts& f) {
  if (!f.is(Field::sampling_backend, "ascend")) return std::nullopt;
  return Finding{.message = "sampling backend ascend needs an Ascend NPU",
                 .remedies = {to_give("--sampling-backend", {f.since(21) ? "intel_xpu" : "pytorch"})}};
}

std::optional<Finding> grammar_package(const LaunchFacts& f) {
  if (!f.options().environment_notes) return std::nullopt;
  // Since 0.5.16 the parsers of tool calls import it, and the server's modules these.
  if (f.since(16)) {
    return Finding{.message = fmt::format("xgrammar is a package of its own, which every server of {} imports",
                                          f.release().text()),
                   .remedies = {in_words("install xgrammar")}};
  }
  if (!f.is(Field::grammar_backend, "xgrammar")) return std::nullopt;
  return Finding{.message = "grammar backend xgrammar is a package of its own"};
}

std::optional<Finding> lora_overlap(const LaunchFacts& f) {
  if (!f.on(Field::enable_lora_overlap_loading)) return std::nullopt;
  return Finding{.message = fmt::format("overlapped adapter loading uses CUDA streams in {}", f.release().text())};
}

std::optional<Finding> hierarchical_cache(const LaunchFacts& f) {
  if (!f.on(Field::enable_hierarchical_cache)) return std::nullopt;
  if (f.before(21)) {
    return Finding{.message = fmt::format("the host side of the hierarchical cache is registered through CUDA in {}",
                                          f.release().text())};
  }
  // From 0.5.21 the MLA pool binds its transfer operations; the ordinary pool does so in 0.5.23.
  if (!f.has_model() || f.model().is_mla()) return std::nullopt;
  Finding finding{.message = fmt::format("in {} the hierarchical cache of a model without MLA has no transfer "
                                         "operation on XPU",
                                         f.release().text())};
  // SGLang's own XPU tests of this time name the way of the transfer; the released source still says otherwise.
  if (f.since(22) && f.given(Field::hicache_io_backend)) finding.severity = Severity::kWarning;
  return finding;
}

std::optional<Finding> hierarchical_cache_of_hybrid(const LaunchFacts& f) {
  if (!f.on(Field::enable_hierarchical_cache) || !is_hybrid(f.model())) return std::nullopt;
  return Finding{.message = "the hierarchical cache has no host pool for the recurrent state of a hybrid on XPU"};
}

std::optional<Finding> memory_saver(const LaunchFacts& f) {
  if (!f.on(Field::enable_memory_saver)) return std::nullopt;
  if (f.since(20)) {
    return Finding{.message = "the memory saver works on XPU only with its package built from source for XPU",
                   .severity = Severity::kWarning,
                   .remedies = {in_words("build torch_memory_saver for XPU"), to_drop("--enable-memory-saver")}};
  }
  return Finding{.message =
                     fmt::format("no build of the memory saver package works with {} on XPU", f.release().text())};
}

// Whether the experts get adapters; where the adapters themselves decide, the runner asks for it.
bool adapts_experts(const LaunchFacts& f) {
  if (!f.on(Field::enable_lora) || !has_experts(f.model())) return false;
  if (f.text(Field::moe_runner_backend).starts_with("lora_")) return true;
  const Value& modules = f[Field::lora_target_modules];
  if (!modules.is_list()) return false;
  const auto names = [&](std::initializer_list<const char*> list) {
    return std::ranges::any_of(list, [&](const char* name) {
      return std::ranges::find(modules.as_list(), Value(name)) != modules.as_list().end();
    });
  };
  return names({"all"}) || (names({"gate_proj", "up_proj", "gate_up_proj"}) && names({"down_proj"}));
}

std::optional<Finding> adapters_of_experts(const LaunchFacts& f) {
  if (!adapts_experts(f)) return std::nullopt;
  return Finding{.message = fmt::format("adapters of experts in {}", f.release().text())};
}

// Of the kernels for adapters, Triton's alone follow the tokens of a group with requests of its own.
std::optional<Finding> adapters_of_groups(const LaunchFacts& f) {
  if (!f.on(Field::enable_lora) || f.attention_dp() == 1) return std::nullopt;
  if (f.on(Field::enable_lora_overlap_loading)) {
    return Finding{.message = "adapters that are loaded in overlap have no DP attention",
                   .field = Field::enable_lora_overlap_loading,
                   .remedies = {to_drop("--enable-lora-overlap-loading"), to_drop("--enable-dp-attention")}};
  }
  if (f.attention_dp() < f.tp()) {
    return Finding{
        .message = fmt::format("adapters with DP attention of {} groups over {} GPUs", f.attention_dp(), f.tp()),
        .remedies = {to_give(f.since(22) ? "--attn-dp-size" : "--dp-size", {std::to_string(f.tp())}),
                     to_drop("--enable-dp-attention")}};
  }
  if (f.is(Field::lora_backend, "triton")) return std::nullopt;
  return Finding{.message = fmt::format("--lora-backend {} has no DP attention", f.text(Field::lora_backend)),
                 .field = Field::lora_backend,
                 .remedies = {to_give("--lora-backend", {"triton"})}};
}

std::optional<Finding> experts_on_second_backend(const LaunchFacts& f) {
  if (!f.is(Field::lora_backend, "triton_v2") || !adapts_experts(f)) return std::nullopt;
  Finding finding{.message = "adapters of experts on --lora-backend triton_v2, which has them for NVIDIA GPUs alone"};
  Remedy other = to_give("--lora-backend", {"csgmv", "triton"});
  if (f.text(Field::moe_runner_backend).starts_with("lora_"))
    other = together({other, to_drop("--moe-runner-backend")});
  finding.remedies = {std::move(other)};
  return finding;
}

bool caches_prefixes(const LaunchFacts& f) { return f.radix_cache(); }
bool on_intel(const LaunchFacts& f) { return f.is(Field::device, "xpu"); }  // other installations bring it
// The storage is opened once the host's pool is built; before 0.5.23 that ends with SA005 where the cache is not MLA's.
bool opens_storage(const LaunchFacts& f) {
  return f.on(Field::enable_hierarchical_cache) && (f.since(23) || (f.has_model() && f.model().is_mla()));
}
// Extra settings may ask for a client that stands in for the package's.
bool opens_hf3fs(const LaunchFacts& f) {
  return opens_storage(f) && f.text(Field::hicache_storage_backend_extra_config).empty();
}

// Packages that an installation does not bring.
struct Package {
  Field field;
  std::string_view value;  // "": whatever turns it on
  std::string_view option;
  std::string_view name;
  bool (*used)(const LaunchFacts&) = always;
};
constexpr std::array kPackages = {
    Package{Field::enable_lmcache, "", "--enable-lmcache", "lmcache", caches_prefixes},
    Package{Field::enable_flexkv, "", "--enable-flexkv", "flexkv", caches_prefixes},
    Package{Field::tokenizer_backend, "fastokens", "--tokenizer-backend fastokens", "fastokens"},
    Package{Field::hicache_storage_backend, "mooncake", "--hicache-storage-backend mooncake", "mooncake",
            opens_storage},
    Package{Field::hicache_storage_backend, "nixl", "--hicache-storage-backend nixl", "nixl", opens_storage},
    Package{Field::hicache_storage_backend, "hf3fs", "--hicache-storage-backend hf3fs", "hf3fs_fuse", opens_hf3fs},
    Package{Field::hicache_storage_backend, "aibrix", "--hicache-storage-backend aibrix", "aibrix_kvcache",
            opens_storage},
    Package{Field::hicache_storage_backend, "eic", "--hicache-storage-backend eic", "eic", opens_storage},
    Package{Field::hicache_storage_backend, "simm", "--hicache-storage-backend simm", "simm", opens_storage},
    Package{Field::hicache_storage_backend, "mori", "--hicache-storage-backend mori", "mori", opens_storage},
    Package{Field::hicache_storage_backend, "seaweedfs", "--hicache-storage-backend seaweedfs", "boto3", opens_storage},
    Package{Field::hicache_storage_backend, "tensorcast", "--hicache-storage-backend tensorcast", "tensorcast",
            opens_storage},
    Package{Field::use_ray, "", "--use-ray", "ray"},
    Package{Field::enable_ssl_refresh, "", "--enable-ssl-refresh", "watchfiles", on_intel},
    Package{Field::enable_trace, "", "--enable-trace", "opentelemetry-sdk"},
    Package{Field::kt_weight_path, "", "--kt-weight-path", "kt_kernel", serves_experts}};

std::optional<Finding> package_of_its_own(const LaunchFacts& f) {
  for (const Package& row : kPackages) {
    if (row.value.empty() ? !f.on(row.field) : !f.is(row.field, row.value)) continue;
    if (!row.used(f)) continue;
    const std::string option(row.option.substr(0, row.option.find(' ')));
    return Finding{
        .message = fmt::format("{} needs the package {}, which SGLang does not install", row.option, row.name),
        .field = row.field,
        .remedies = {to_drop(option), in_words(fmt::format("install {}", row.name))}};
  }
  constexpr const char* kDecompresses = "SGLANG_ENABLE_REQUEST_DECOMPRESSION";
  if (f.before(15) || !on_intel(f) || !f.env_on(kDecompresses)) return std::nullopt;
  return Finding{.message = fmt::format("{} needs the package zstandard, which SGLang for Intel GPUs does not install",
                                        kDecompresses),
                 .remedies = {{.steps = {{StepKind::kUnset, kDecompresses}}}, in_words("install zstandard")}};
}

bool opens(const LaunchFacts& f, std::string_view storage) {
  return f.is(Field::hicache_storage_backend, storage) && opens_storage(f);
}

std::optional<Finding> storage_of_nothing(const LaunchFacts& f) {
  if (!opens(f, "shm")) return std::nullopt;
  return Finding{.message = "--hicache-storage-backend shm stores nothing: no page is ever found there"};
}

std::optional<Finding> storage_of_names(const LaunchFacts& f) {
  if (!opens(f, "sim")) return std::nullopt;
  return Finding{.message = "--hicache-storage-backend sim keeps the names of pages and not what is in them"};
}

// Settings that stand in a file are not known.
std::optional<Finding> storage_without_class(const LaunchFacts& f) {
  const std::string_view extra = f.text(Field::hicache_storage_backend_extra_config);
  if (!opens(f, "dynamic") || extra.starts_with('@')) return std::nullopt;
  for (const std::string_view key : {"backend_name", "module_path", "class_name"}) {
    if (extra.find(fmt::format("\"{}\"", key)) != std::string_view::npos) continue;
    return Finding{.message = fmt::format("--hicache-storage-backend dynamic without {} in "
                                          "--hicache-storage-backend-extra-config",
                                          key)};
  }
  return std::nullopt;
}

std::optional<Finding> cache_of_a_plugin(const LaunchFacts& f) {
  if (!f.on(Field::radix_cache_backend)) return std::nullopt;
  return Finding{.message = fmt::format("--radix-cache-backend {}: no release registers one of that name",
                                        f.text(Field::radix_cache_backend))};
}

constexpr std::string_view kSampler = "sglang/srt/layers/sampler.py";

// The tree that counts who of the sessions uses what.
std::optional<Finding> sessions_without_tree(const LaunchFacts& f) {
  if (!f.on(Field::enable_session_radix_cache) || f.on(Field::radix_cache_backend)) return std::nullopt;
  if (!f.radix_cache()) {
    const bool kept = f.integer(Field::chunked_prefill_size, 0) <= 0 ||
                      f.is(Field::disaggregation_decode_retraction_backup, "host_pool");
    if (kept) return std::nullopt;
    return Finding{.message = "a launch without a prefix cache keeps no sessions"};
  }
  const bool unified = f.since(19) || f.env_on("SGLANG_ENABLE_UNIFIED_RADIX_TREE") || is_hybrid(f.model()) ||
                       f.model().is_hybrid_swa || f.on(Field::enable_hierarchical_cache);
  if (unified) return std::nullopt;
  return Finding{.message = fmt::format("the usual prefix cache of {} keeps no sessions", f.release().text())};
}

}  // namespace

std::span<const Rule> serving_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "SA001",
       .refs = {"SA-1"},
       .field = Field::sampling_backend,
       .summary = "flashinfer sampling before 0.5.21",
       .why =
           "NameError at the first request with top-k, top-p or min-p; where the model's generation config sets one, "
           "at the first request.",
       .remedies = {give("--sampling-backend", "pytorch")},
       .source = kSampler,
       .until = v0_5(21),
       .need = RuleNeed::kNothing,
       .check = flashinfer_sampling,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --sampling-backend flashinfer"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --sampling-backend pytorch"},
                     {.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "SA002",
       .refs = {"SA-2"},
       .field = Field::sampling_backend,
       .summary = "ascend sampling on an Intel GPU",
       .why = "NameError at the first request that is not greedy.",
       .remedies = {give("--sampling-backend", "pytorch")},
       .source = kSampler,
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = ascend_sampling,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --sampling-backend ascend"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "SA003",
       .refs = {"GRM-1"},
       .severity = Severity::kInfo,
       .field = Field::grammar_backend,
       .summary = "xgrammar is not among the dependencies of an XPU installation",
       .why = "ModuleNotFoundError, if it is not installed: when the scheduler starts, and since 0.5.16 as soon as the "
              "server's modules are imported, whatever the grammar backend. Reported only when notes about the "
              "environment are asked for.",
       .remedies = {words("install xgrammar"), both(give("--grammar-backend", "none"), words("before 0.5.16"))},
       .source = "sglang/srt/constrained; sglang/srt/function_call/inkling_detector.py",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = grammar_package,
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "SA004",
       .refs = {"LO-1"},
       .field = Field::enable_lora_overlap_loading,
       .summary = "overlapped LoRA loading before 0.5.20",
       .why = "The first adapter load asks torch.cuda for a stream and fails.",
       .remedies = {drop("--enable-lora-overlap-loading"), in_release("0.5.20")},
       .source = "sglang/srt/lora/lora_overlap_loader.py",
       .until = v0_5(20),
       .need = RuleNeed::kNothing,
       .check = lora_overlap},
      {.id = "SA005",
       .refs = {"HC-2"},
       .field = Field::enable_hierarchical_cache,
       .summary = "the hierarchical cache before 0.5.23",
       .why =
           "Up to 0.5.20 the host pool fails while it is built. In 0.5.21 and 0.5.22 it is built, and a model without "
           "MLA meets a NameError at the first write-back or load; in 0.5.22 a warning where --hicache-io-backend is "
           "given, as SGLang's XPU tests do.",
       .remedies = {drop("--enable-hierarchical-cache"),
                    words("0.5.23 with a kernel package that has the transfer operations")},
       .source = "sglang/srt/mem_cache/memory_pool_host.py, sglang/srt/mem_cache/pool_host",
       .device = "xpu",
       .until = v0_5(23),
       .need = RuleNeed::kNothing,
       .check = hierarchical_cache,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-hierarchical-cache"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "SA008",
       .field = Field::enable_hierarchical_cache,
       .summary = "the hierarchical cache of a hybrid model on an Intel GPU",
       .why = "ValueError while the host pool of the recurrent state is built: its transfer kernels are compiled from "
              "CUDA source. Before 0.5.23 the launch fails as SA005 says.",
       .remedies = {drop("--enable-hierarchical-cache")},
       .source = "sglang/srt/mem_cache/pool_host/mamba.py",
       .device = "xpu",
       .since = v0_5(23),
       .check = hierarchical_cache_of_hybrid,
       .fires_on = {{{.model = "qwen3.5-9b", .args = "--device xpu --page-size 1 --enable-hierarchical-cache"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --enable-hierarchical-cache --mem-fraction-static 0.85",
                      .since = v0_5(23)},
                     {.model = "qwen3.5-9b", .args = "--device xpu --disable-radix-cache"}}}},
      {.id = "SA012",
       .certainty = Certainty::kLikely,
       .summary = "a hierarchical cache beyond the memory of a NUMA node",
       .why =
           "ValueError while the host pool is built: it may take what is free beyond 10 GiB, divided by the ranks of "
           "the host. A host of several nodes has more; how many it has is not looked at. Of a container's or a unit's "
           "limit SGLang knows nothing: the kernel ends the process. How large a pool by --hicache-ratio becomes is "
           "estimated.",
       .fix = "a smaller host pool",
       .source = "sglang/srt/mem_cache/pool_host/base.py: HostKVCache, host_memory_budget_bytes",
       .device = "xpu",
       .since = v0_5(21),
       .need = RuleNeed::kWholeModel,
       .doubtful = true,
       .check = host_pool_beyond_the_host,
       .quiet_on = {{{.model = "qwen3-8b",
                      .args =
                          "--device xpu --enable-hierarchical-cache --hicache-size 64 --mem-fraction-static 0.85"}}}},
      {.id = "SA006",
       .refs = {"MSV-1"},
       .field = Field::enable_memory_saver,
       .summary = "the memory saver on an Intel GPU",
       .why = "Up to 0.5.19 ImportError while the worker starts. Since, it needs a package built from source.",
       .remedies = {drop("--enable-memory-saver")},
       .source = "sglang/srt/utils/torch_memory_saver_adapter.py",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = memory_saver,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-memory-saver"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "SA007",
       .refs = {"PD-1"},
       .severity = Severity::kInfo,
       .field = Field::disaggregation_transfer_backend,
       .summary = "prefill/decode disaggregation over an untested transfer backend",
       .why = "SGLang's XPU tests use nixl; mooncake is in no XPU dependency list.",
       .remedies = {give("--disaggregation-transfer-backend", "nixl")},
       .source = "test/registered/xpu in the SGLang repository",
       .device = "xpu",
       .since = v0_5(20),
       .need = RuleNeed::kNothing,
       .check = transfer_backend,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --disaggregation-mode prefill"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl"}}}},
      {.id = "SA017",
       .field = Field::disaggregation_transfer_backend,
       .summary = "prefill/decode disaggregation over another vendor's transfer backend",
       .why = "ImportError when the server makes what sends the cache.",
       .remedies = {give("--disaggregation-transfer-backend", "nixl")},
       .source = "sglang/srt/disaggregation/ascend/transfer_engine.py, sglang/srt/disaggregation/mori/conn.py",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = transfer_of_others,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend ascend"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode decode --disaggregation-transfer-backend mori"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl"}}}},
      {.id = "SA013",
       .severity = Severity::kWarning,
       .field = Field::disaggregation_mode,
       .summary = "a prefill server that sends cached prefixes early, on an Intel GPU",
       .why = "With the overlap scheduler the early transfer waits for a torch.cuda.Event, which a torch without CUDA "
              "refuses to make: the scheduler ends at the first prefix that the cache holds.",
       .remedies = {set("SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX", "0"), give("--disable-overlap-schedule"),
                    give("--disable-radix-cache")},
       .source = "sglang/srt/disaggregation/prefill.py: maybe_send_cached_prefix_chunk",
       .device = "xpu",
       .since = v0_5(16),
       .need = RuleNeed::kNothing,
       .check = early_transfer,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl",
                      .env = "SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX=0"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode decode --disaggregation-transfer-backend nixl"}}}},
      {.id = "SA014",
       .severity = Severity::kWarning,
       .field = Field::disaggregation_transfer_backend,
       .summary = "prefill over mooncake on an Intel GPU",
       .why = "The page numbers of a transfer are copied beside a torch.cuda.Event, which a torch without CUDA refuses "
              "to make.",
       .remedies = {give("--disaggregation-transfer-backend", "nixl")},
       .source = "sglang/srt/disaggregation/prefill.py: send_kv_chunk; mooncake/conn.py: MooncakeKVSender",
       .device = "xpu",
       .since = v0_5(23),
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = mooncake_indices,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --disaggregation-mode prefill"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --disaggregation-mode prefill --disaggregation-transfer-backend nixl"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --disaggregation-mode decode"}}}},
      {.id = "SA015",
       .severity = Severity::kWarning,
       .field = Field::enable_lora,
       .summary = "adapters of experts before 0.5.20",
       .why = "All but the smallest batches with an adapter sort their tokens by a kernel that is compiled from CUDA "
              "source: an error at the first of them. From 0.5.20 an Intel GPU sorts in torch.",
       .remedies = {in_release("0.5.20"), drop("--enable-lora")},
       .source = "sglang/srt/lora/lora_moe_runners.py, sglang/jit_kernel/moe_lora_align.py",
       .device = "xpu",
       .until = v0_5(20),
       .check = adapters_of_experts,
       .fires_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --enable-lora --max-lora-rank 8 --lora-target-modules all"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --enable-lora --max-lora-rank 8 --lora-target-modules q_proj"},
                     {.model = "qwen3-8b",
                      .args = "--device xpu --enable-lora --max-lora-rank 8 --lora-target-modules all"}}}},
      {.id = "SA016",
       .severity = Severity::kWarning,
       .field = Field::disaggregation_decode_retraction_backup,
       .summary = "the host pool of a decode server before 0.5.21",
       .why =
           "Without the option a decode server of a model that has neither MLA nor a recurrent state backs retracted "
           "requests up in a host pool, and fails while it is built: torch.cuda.cudart() of a torch without CUDA.",
       .remedies = {give("--disaggregation-decode-retraction-backup", "cpu_tensor")},
       .source = "sglang/srt/mem_cache/kv_cache_builder.py: resolve_decode_retraction_backup, pool_host/common.py",
       .device = "xpu",
       .since = v0_5(18),
       .until = v0_5(21),
       .doubtful = true,
       .check = decode_host_pool,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --disaggregation-mode decode"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --disaggregation-mode decode --disaggregation-decode-retraction-backup "
                              "cpu_tensor"},
                     {.model = "minicpm3-4b", .args = "--device xpu --disaggregation-mode decode"}}}},
      {.id = "SA023",
       .severity = Severity::kWarning,
       .summary = "a decode server that copies what it retracts to the host through CUDA",
       .why = "When the cache is full a decode server takes back a request and copies its cache to the host: the pool "
              "waits for torch's CUDA device, AssertionError, and the scheduler ends. Every pool does up to "
              "0.5.12.post1, later that of DeepSeek's sparse attention alone.",
       .fix = "room for every request, so that none is taken back: fewer at once, or shorter ones",
       .source =
           "sglang/srt/mem_cache/memory_pool.py: get_cpu_copy; sglang/srt/mem_cache/index_key_cache.py: cpu_copy; "
           "sglang/srt/mem_cache/common.py, earlier managers/schedule_batch.py: release_req",
       .device = "xpu",
       .check = copies_retracted,
       .fires_on = {{{.model = "qwen3-8b", .args = "--device xpu --disaggregation-mode decode", .until = v0_5(13)},
                     {.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --disaggregation-mode decode",
                      .since = v0_5(20)}}},
       .quiet_on = {{{.model = "qwen3-8b", .args = "--device xpu --disaggregation-mode prefill"},
                     {.model = "deepseek-v3.2",
                      .args = "--device xpu --tp-size 8 --disaggregation-mode decode "
                              "--disaggregation-decode-retraction-backup none",
                      .since = v0_5(21)}}}},
      {.id = "SA009",
       .field = Field::enable_lora,
       .summary = "adapters with DP attention",
       .why = "ValueError in the constructor of the manager of adapters: each GPU must be a group of its own, the "
              "kernels Triton's, and no adapter is loaded in overlap.",
       .remedies = {give("--lora-backend", "triton"), drop("--enable-lora-overlap-loading"),
                    drop("--enable-dp-attention")},
       .source = "sglang/srt/lora/lora_manager.py",
       .since = v0_5(21),
       .need = RuleNeed::kNothing,
       .check = adapters_of_groups,
       .fires_on =
           {{{.model = "qwen3-8b",
              .args = "--device xpu --tp-size 4 --attn-dp-size 2 --enable-dp-attention --enable-lora --max-lora-rank 8 "
                      "--lora-target-modules all --lora-backend triton",
              .since = v0_5(22)},
             {.model = "qwen3-8b",
              .args = "--device xpu --tp-size 4 --attn-dp-size 4 --enable-dp-attention --enable-lora --max-lora-rank 8 "
                      "--lora-target-modules all",
              .since = v0_5(22)}}},
       .quiet_on =
           {{{.model = "qwen3-8b",
              .args = "--device xpu --tp-size 4 --attn-dp-size 4 --enable-dp-attention --enable-lora --max-lora-rank 8 "
                      "--lora-target-modules all --lora-backend triton",
              .since = v0_5(22)},
             {.model = "qwen3-8b",
              .args = "--device xpu --tp-size 4 --enable-lora --max-lora-rank 8 --lora-target-modules all"}}}},
      {.id = "SA010",
       .severity = Severity::kWarning,
       .summary = "a feature of a package that SGLang does not install",
       .why = "RuntimeError or ImportError when the server, the scheduler or the tokenizer starts, where the package "
              "is not installed.",
       .fix = "drop the option, or install the package",
       .source = "sglang/srt/mem_cache/storage (each backend's module), utils/hf_transformers/tokenizer.py, "
                 "observability/trace.py, layers/moe/kt_ep_wrapper.py, entrypoints/ssl_utils.py, "
                 "entrypoints/http_request_decompression.py, sglang/launch_server.py",
       .need = RuleNeed::kNothing,
       .check = package_of_its_own,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-lmcache"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tokenizer-backend fastokens"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-lmcache --disable-radix-cache"},
                     {.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "SA019",
       .severity = Severity::kWarning,
       .field = Field::hicache_storage_backend,
       .summary = "a storage of the hierarchical cache that stores nothing",
       .why =
           "The class behind the name takes every page, says that it is written, and finds none again. It is there for "
           "its way of allocating the host pool in shared memory.",
       .remedies = {give("--hicache-storage-backend", "file"), drop("--hicache-storage-backend")},
       .source =
           "sglang/srt/mem_cache/storage/shm/hicache_shm.py: HiCacheShm; sglang/srt/mem_cache/pool_host/common.py",
       .since = v0_5(17),
       .need = RuleNeed::kNothing,
       .check = storage_of_nothing,
       .fires_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend shm",
                      .since = v0_5(23)},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend shm"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend file"},
                     {.model = "qwen3-8b", .args = "--device xpu --tp-size 2 --hicache-storage-backend shm"}}}},
      {.id = "SA020",
       .severity = Severity::kWarning,
       .field = Field::hicache_storage_backend,
       .summary = "a storage of the hierarchical cache that is made for measurements",
       .why = "A prefix that is found there comes back as whatever the host pool held: the server answers wrongly, as "
              "fast as the bandwidth that the simulation was given.",
       .remedies = {give("--hicache-storage-backend", "file"), drop("--hicache-storage-backend")},
       .source = "sglang/srt/mem_cache/storage/sim_storage.py: SimHiCacheStorage",
       .since = v0_5(19),
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = storage_of_names,
       .fires_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend sim",
                      .since = v0_5(23)},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend sim"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend file"},
                     {.model = "qwen3-8b", .args = "--device xpu --tp-size 2 --hicache-storage-backend sim"}}}},
      {.id = "SA021",
       .field = Field::hicache_storage_backend,
       .summary = "a storage of the hierarchical cache whose class is not named",
       .why =
           "ValueError in every scheduler: the extra settings have to say backend_name, module_path and class_name, in "
           "JSON or in a file behind an @.",
       .remedies = {drop("--hicache-storage-backend"),
                    words("backend_name, module_path and class_name in --hicache-storage-backend-extra-config")},
       .source = "sglang/srt/mem_cache/storage/backend_factory.py: StorageBackendFactory",
       .need = RuleNeed::kNothing,
       .check = storage_without_class,
       .fires_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend dynamic",
                      .since = v0_5(23)},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend dynamic "
                              "--hicache-storage-backend-extra-config '{\"backend_name\": \"a\", \"module_path\": "
                              "\"b\"}'"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend dynamic "
                              "--hicache-storage-backend-extra-config '{\"backend_name\": \"a\", \"module_path\": "
                              "\"b\", \"class_name\": \"C\"}'",
                      .since = v0_5(23)},
                     {.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --tp-size 2 --enable-hierarchical-cache --hicache-storage-backend dynamic "
                              "--hicache-storage-backend-extra-config @storage.json"}}}},
      {.id = "SA011",
       .severity = Severity::kWarning,
       .field = Field::radix_cache_backend,
       .summary = "a prefix cache that a plugin must bring",
       .why = "ValueError in every scheduler, unless an installed plugin registers the name when it is imported.",
       .remedies = {drop("--radix-cache-backend")},
       .source = "sglang/srt/mem_cache/registry.py: create_tree_cache",
       .since = v0_5(13),
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = cache_of_a_plugin,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --radix-cache-backend mine", .since = v0_5(13)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "SA018",
       .field = Field::lora_backend,
       .summary = "adapters of experts on the second LoRA backend",
       .why = "While the layers of the adapters are made: ValueError with a runner of the first backend, else torch is "
              "asked for the capability of a CUDA device.",
       .remedies = {give("--lora-backend", "csgmv", "triton")},
       .source = "sglang/srt/lora/layers.py: FusedMoEWithLoRA; sglang/srt/lora/moe/runner.py",
       .device = "xpu",
       .since = v0_5(23),
       .check = experts_on_second_backend,
       .fires_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --enable-lora --max-lora-rank 16 --lora-target-modules all "
                              "--lora-backend triton_v2 --moe-runner-backend lora_triton"},
                     {.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --enable-lora --max-lora-rank 16 --lora-target-modules all "
                              "--lora-backend triton_v2"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --enable-lora --max-lora-rank 16 --lora-target-modules all "
                              "--lora-backend csgmv"},
                     {.model = "qwen3-8b",
                      .args = "--device xpu --enable-lora --max-lora-rank 16 --lora-target-modules all "
                              "--lora-backend triton_v2"}}}},
      {.id = "SA022",
       .field = Field::enable_session_radix_cache,
       .summary = "sessions in a prefix cache that keeps none",
       .why = "ValueError in every scheduler: in 0.5.17 and 0.5.18 only hybrid models have the unified tree that keeps "
              "sessions unless it is asked for, and up to 0.5.21 a launch without a prefix cache has no tree.",
       .remedies = {set("SGLANG_ENABLE_UNIFIED_RADIX_TREE", "1"), drop("--disable-radix-cache"),
                    drop("--enable-session-radix-cache")},
       .source = "sglang/srt/mem_cache/registry.py: default_radix_cache_factory, create_tree_cache (0.5.17 to 0.5.21)",
       .since = v0_5(17),
       .until = v0_5(22),
       .check = sessions_without_tree,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-session-radix-cache --disable-radix-cache"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --enable-session-radix-cache", .until = v0_5(19)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-session-radix-cache", .since = v0_5(19)},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-session-radix-cache",
                      .env = "SGLANG_ENABLE_UNIFIED_RADIX_TREE=1"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
