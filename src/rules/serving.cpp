// SA: sampling, grammar, LoRA, caches and disaggregation.
#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/rules/families.h"
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
  if (!f.options().environment_notes || !f.is(Field::grammar_backend, "xgrammar")) return std::nullopt;
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

std::optional<Finding> transfer_backend(const LaunchFacts& f) {
  const bool disaggregated = !f.text(Field::disaggregation_mode).empty() && !f.is(Field::disaggregation_mode, "null");
  if (!disaggregated || f.is(Field::disaggregation_transfer_backend, "nixl")) return std::nullopt;
  return Finding{.message = fmt::format("disaggregation over {}: on XPU nixl is the tested transfer backend",
                                        f.text(Field::disaggregation_transfer_backend))};
}

constexpr std::string_view kSampler = "sglang/srt/layers/sampler.py";

const Rule kRules[] = {
    {.id = "SA001",
     .refs = {"SA-1"},
     .field = Field::sampling_backend,
     .summary = "flashinfer sampling before 0.5.21",
     .why = "NameError at the first request with top-k, top-p or min-p; where the model's generation config sets one, "
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
     .why = "ModuleNotFoundError when the scheduler starts, if it is not installed. Reported only when notes about the "
            "environment are asked for.",
     .remedies = {words("install xgrammar"), give("--grammar-backend", "none")},
     .source = "sglang/srt/constrained",
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
     .why = "Up to 0.5.20 the host pool fails while it is built. In 0.5.21 and 0.5.22 it is built, and a model without "
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
};

}  // namespace

std::span<const Rule> serving_rules() { return kRules; }

}  // namespace preflight::rules
