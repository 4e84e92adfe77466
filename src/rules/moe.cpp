// MO: mixture-of-experts kernels. From 0.5.19 the XPU kernel package runs them unless --moe-runner-backend is triton.
#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

bool on_kernel_package(const LaunchFacts& f) {
  return experts(f.model()).count > 0 && !f.is(Field::moe_runner_backend, "triton");
}

std::optional<Finding> fp8_experts(const LaunchFacts& f) {
  if (!on_kernel_package(f) || !has_quantization(f.model(), "fp8")) return std::nullopt;
  const bool blocks = is_fp8_checkpoint(f.model()) && fp8_block(f.model());
  Finding finding{.message = fmt::format("{}FP8 experts with --moe-runner-backend {}", blocks ? "block-scaled " : "",
                                         f.text(Field::moe_runner_backend))};
  // SGLang's own XPU tests of the later releases launch the form with blocks, though the source still says otherwise.
  // The form without is what newer kernels have a path for.
  if (f.since(22) || !blocks) finding.severity = Severity::kWarning;
  return finding;
}

std::optional<Finding> device_without_kernel(const LaunchFacts& f) {
  if (!on_kernel_package(f) || f.is_battlemage_or_later()) return std::nullopt;
  return Finding{.message = fmt::format("the expert kernels are built for Battlemage, not for {}", f.device().name)};
}

std::optional<Finding> triton_activation(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (experts(m).count == 0 || !f.is(Field::moe_runner_backend, "triton")) return std::nullopt;
  if (m.quantization || m.hf_quant_config.is_dict()) return std::nullopt;  // quantised experts take another path
  const std::string act = activation(m);
  if (act.empty() || act == "silu") return std::nullopt;
  return Finding{.message = fmt::format("experts with activation {} on the triton runner, which knows silu only", act)};
}

std::optional<Finding> native_topk(const LaunchFacts& f) {
  const Experts e = experts(f.model());
  if (e.count <= 256 && e.per_token <= 8) return std::nullopt;
  return Finding{.message = fmt::format("{} experts, {} a token: routing runs in plain torch, the kernel takes up to "
                                        "256 and 8",
                                        e.count, e.per_token)};
}

std::optional<Finding> dispatcher_of_others(const LaunchFacts& f) {
  if (experts(f.model()).count == 0) return std::nullopt;
  const std::string_view dispatcher = f.text(Field::moe_a2a_backend);
  if (dispatcher != "deepep" && dispatcher != "mooncake" && dispatcher != "nixl") return std::nullopt;
  return Finding{.message = fmt::format("--moe-a2a-backend {} has no package for Intel GPUs", dispatcher)};
}

std::optional<Finding> unquantised_on_hpc_ops(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (experts(m).count == 0 || !f.is(Field::moe_runner_backend, "hpc_ops")) return std::nullopt;
  if (m.quantization || m.hf_quant_config.is_dict()) return std::nullopt;
  return Finding{.message = "--moe-runner-backend hpc_ops for experts that are not quantised"};
}

const Rule kRules[] = {
    {.id = "MO001",
     .refs = {"MOE-1"},
     .field = Field::moe_runner_backend,
     .summary = "FP8 experts outside the triton runner",
     .why = "An assertion at the first forward pass. Kernels newer than August 2026 have an FP8 path, yet SGLang does "
            "not hand them the block shape. From 0.5.22 a warning: SGLang's XPU tests launch this form.",
     .remedies = {give("--moe-runner-backend", "triton")},
     .source = "sglang/srt/layers/quantization/fp8.py; sgl-kernel-xpu python/sgl_kernel/moe.py",
     .device = "xpu",
     .since = v0_5(19),
     .check = fp8_experts,
     .fires_on = {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2"},
                   {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 2 --quantization fp8"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2 --moe-runner-backend triton"},
                   {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"}}}},
    {.id = "MO002",
     .refs = {"MOE-2"},
     .field = Field::moe_runner_backend,
     .summary = "experts on a device the kernel package is not built for",
     .why = "The first forward pass is refused.",
     .remedies = {give("--moe-runner-backend", "triton"), remedy::on_another_card()},
     .source = "sgl-kernel-xpu python/sgl_kernel/moe.py",
     .device = "xpu",
     .since = v0_5(19),
     .check = device_without_kernel,
     .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4", .device = "max1550"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"},
                   {.model = "qwen3-30b-a3b",
                    .args = "--device xpu --tp-size 4 --moe-runner-backend triton",
                    .device = "max1550"}}}},
    {.id = "MO003",
     .refs = {"MOE-3"},
     .certainty = Certainty::kLikely,
     .field = Field::moe_runner_backend,
     .summary = "experts with another activation than silu on the triton runner",
     .why = "An assertion at the first forward pass.",
     .remedies = {drop("--moe-runner-backend")},
     .source = "sglang/srt/layers/quantization/unquant.py",
     .since = v0_5(19),
     .check = triton_activation,
     .fires_on = {{{.model = "gemma-4-26b-a4b-it", .args = "--device xpu --tp-size 4 --moe-runner-backend triton"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend triton"},
                   {.model = "gpt-oss-20b",
                    .args = "--device xpu --tp-size 8 --moe-runner-backend triton",
                    .since = v0_5(20)}}}},
    {.id = "MO004",
     .refs = {"MOE-4"},
     .severity = Severity::kInfo,
     .summary = "more experts than the routing kernel takes",
     .why = "Routing falls back to plain torch operations: slower, without a message.",
     .remedies = {words("nothing to do; expect lower throughput")},
     .source = "sglang/srt/layers/moe/topk.py",
     .since = v0_5(13),
     .check = native_topk,
     .fires_on = {{{.model = "qwen3-next-80b-a3b", .args = "--device xpu --tp-size 8 --disable-radix-cache"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"}}}},
    {.id = "MO005",
     .field = Field::moe_a2a_backend,
     .summary = "experts sent by a package of other devices",
     .why = "DeepEP, Mooncake EP and NIXL EP are built for CUDA (DeepEP for Ascend, too). The class of each asks for "
            "its package when the first layer with experts is built: ImportError.",
     .remedies = {drop("--moe-a2a-backend")},
     .source = "sglang/srt/layers/moe/token_dispatcher/: deepep.py, mooncake.py, nixl.py (0.5.14 to 0.5.23)",
     .device = "xpu",
     .since = v0_5(14),
     .check = dispatcher_of_others,
     .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-a2a-backend deepep"},
                   {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-a2a-backend mooncake"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"},
                   {.model = "qwen3-8b", .args = "--device xpu --tp-size 4 --moe-a2a-backend deepep"}}}},
    {.id = "MO006",
     .field = Field::moe_runner_backend,
     .summary = "unquantised experts on a runner for FP8 alone",
     .why = "Experts that are not quantised take another runner, and the layer refuses it where this one was asked "
            "for: ValueError while the model is built.",
     .remedies = {drop("--moe-runner-backend")},
     .source = "sglang/srt/layers/moe/moe_runner/runner.py (0.5.19, 0.5.23): MoeRunner",
     .since = v0_5(19),
     .check = unquantised_on_hpc_ops,
     .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend hpc_ops"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend triton"},
                   {.model = "qwen3-8b", .args = "--device xpu --moe-runner-backend hpc_ops"}}}},
};

}  // namespace

std::span<const Rule> moe_rules() { return kRules; }

}  // namespace preflight::rules
