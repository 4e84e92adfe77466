// MO: mixture-of-experts kernels. From 0.5.19 the XPU kernel package runs them unless --moe-runner-backend is triton;
// before, only where a variable asks for it, whatever the runner.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/base/counted.h"
#include "src/facts/kinds.h"
#include "src/python/integer.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/quantization_methods.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

constexpr const char* kKernelSwitch = "SGLANG_USE_SGL_XPU";

bool on_kernel_package(const LaunchFacts& f) {
  if (!has_experts(f.model())) return false;
  return f.since(19) ? !f.is(Field::moe_runner_backend, "triton") : f.env_on(kKernelSwitch);
}

Remedy onto_kernel_package(const LaunchFacts& f) {
  return f.since(19) ? to_drop("--moe-runner-backend") : Remedy{.steps = {{StepKind::kSet, kKernelSwitch, {"1"}}}};
}

Remedy off_kernel_package(const LaunchFacts& f) {
  return f.since(19) ? to_give("--moe-runner-backend", {"triton"})
                     : Remedy{.steps = {{StepKind::kUnset, kKernelSwitch}}};
}

// Of every runner but Triton's; the kernel package's where it runs them.
std::string runner_of(const LaunchFacts& f) {
  return f.since(19) ? fmt::format("--moe-runner-backend {}", f.text(Field::moe_runner_backend))
                     : std::string(kKernelSwitch);
}

// Experts in MXFP4 where the rest of the checkpoint is FP8.
bool has_packed_experts(const LaunchFacts& f) { return has_quantization(f.model(), "fp8") && has_experts_in_fp4(f); }

std::optional<Finding> packed_experts_on_triton(const LaunchFacts& f) {
  if (!has_packed_experts(f) || on_kernel_package(f)) return std::nullopt;
  return Finding{.message = fmt::format("MXFP4 experts with --moe-runner-backend {}, which takes them for FP8",
                                        f.text(Field::moe_runner_backend)),
                 .remedies = {onto_kernel_package(f)}};
}

std::optional<Finding> fp8_experts(const LaunchFacts& f) {
  if (!on_kernel_package(f) || !has_quantization(f.model(), "fp8") || has_packed_experts(f)) return std::nullopt;
  const bool blocks = is_fp8_checkpoint(f.model()) && fp8_block(f.model());
  if (f.before(19) && !blocks) return std::nullopt;  // QN030: they come no further than loading
  Finding finding{.message = fmt::format("{}FP8 experts with {}", blocks ? "block-scaled " : "", runner_of(f)),
                  .remedies = {off_kernel_package(f)}};
  // SGLang's own XPU tests of the later releases launch the form with blocks, though the source still says otherwise.
  // The form without is what newer kernels have a path for.
  if (f.since(22) || !blocks) finding.severity = Severity::kWarning;
  return finding;
}

std::optional<Finding> device_without_kernel(const LaunchFacts& f) {
  if (!on_kernel_package(f) || f.is_battlemage_or_later()) return std::nullopt;
  return Finding{.message = fmt::format("the expert kernels are built for Battlemage, not for {}", f.device().name),
                 .remedies = {off_kernel_package(f), on_another_card()}};
}

std::optional<Finding> triton_activation(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_experts(m) || on_kernel_package(f)) return std::nullopt;
  if (m.quantization || m.hf_quant_config.is_dict()) return std::nullopt;  // quantised experts take another path
  const std::string act = activation(m);
  if (act.empty() || act == "silu") return std::nullopt;
  return Finding{.message = fmt::format("experts with activation {} on the triton runner, which knows silu only", act),
                 .remedies = {onto_kernel_package(f)}};
}

std::optional<Finding> native_topk(const LaunchFacts& f) {
  const Experts e = experts(f.model());
  if (e.count <= 256 && e.per_token <= 8) return std::nullopt;
  return Finding{.message = fmt::format("{} experts, {} a token: routing runs in plain torch, the kernel takes up to "
                                        "256 and 8",
                                        e.count, e.per_token)};
}

std::optional<Finding> dispatcher_of_others(const LaunchFacts& f) {
  if (!has_experts(f.model())) return std::nullopt;
  const std::string_view dispatcher = f.text(Field::moe_a2a_backend);
  constexpr std::array kOthers = {"deepep", "deepep_v2", "mooncake",   "nixl",
                                  "mori",   "pplx",      "flashinfer", "ascend_fuseep"};
  if (std::ranges::find(kOthers, dispatcher) == kOthers.end()) return std::nullopt;
  return Finding{.message = fmt::format("--moe-a2a-backend {} has no package for Intel GPUs", dispatcher)};
}

std::optional<Finding> on_hpc_ops(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_experts(m) || !f.is(Field::moe_runner_backend, "hpc_ops")) return std::nullopt;
  if (!has_quantization(m, "fp8"))
    return Finding{.message = "--moe-runner-backend hpc_ops for experts that are not FP8"};
  if (!f.is(Field::device, "xpu")) return std::nullopt;
  return Finding{.message = "--moe-runner-backend hpc_ops asks a CUDA device for its capability"};
}

// Runners that prepare unquantised experts for their own kernels, on every device.
struct Runner {
  std::string_view name;
  std::string_view ends;
  bool gated_alone = false;  // experts without a gate are left as they are
  // Off the kernel package, which from 0.5.19 on is for every other name: since this release the layer wants the
  // weights on a runner of that name.
  std::optional<Release> not_triton = {};
};
constexpr std::string_view kNotTriton =
    "ends with AssertionError at the first forward pass: without "
    "SGLANG_USE_SGL_XPU=1 an Intel GPU runs them on triton alone";
constexpr std::array kRunners = {
    Runner{.name = "deep_gemm", .ends = kNotTriton, .not_triton = v0_5(12)},
    Runner{.name = "flashinfer_cutlass", .ends = kNotTriton, .not_triton = v0_5(15)},
    Runner{"flashinfer_trtllm", "ends with ModuleNotFoundError of flashinfer once the weights are loaded"},
    Runner{"flashinfer_trtllm_routed", "ends with ModuleNotFoundError of flashinfer once the weights are loaded"},
    Runner{"experimental_sgl_trtllm", "ends with ModuleNotFoundError of flashinfer once the weights are loaded"},
    Runner{"flashinfer_cutlass",
           "has gate and up projection loaded in FlashInfer's order, and the kernels of this device take them in the "
           "other: wrong output",
           true},
    Runner{"triton_kernel",
           "has the weights laid out for the package triton_kernels: an error at the first forward pass"}};

std::optional<Finding> prepared_for_others(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_experts(m) || m.quantization || m.hf_quant_config.is_dict()) return std::nullopt;
  const auto row = std::ranges::find_if(kRunners, [&](const Runner& r) {
    if (!f.is(Field::moe_runner_backend, r.name)) return false;
    return !r.not_triton || (f.release() >= *r.not_triton && !on_kernel_package(f));
  });
  if (row == kRunners.end()) return std::nullopt;
  if (row->gated_alone && activation(m) == "relu2") return std::nullopt;
  Finding finding{.message = fmt::format("--moe-runner-backend {} {}", row->name, row->ends)};
  // A step of resolution may have chosen the runner, and Triton's is not for every activation.
  if (row->not_triton) finding.remedies = {to_give("--moe-runner-backend", {"triton"}), onto_kernel_package(f)};
  return finding;
}

// Experts of ModelOpt's FP8 have Triton's runner for every other name. 0.5.23 keeps it for routers that declare no
// method, which the configuration does not tell.
std::optional<Finding> modelopt_on_flashinfer(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_experts(m) || m.quantization != "modelopt_fp8") return std::nullopt;
  const bool trtllm = f.before(23) && f.is(Field::moe_runner_backend, "flashinfer_trtllm");
  if (!trtllm && !f.is(Field::moe_runner_backend, "flashinfer_cutlass")) return std::nullopt;
  return Finding{.message = fmt::format("experts in ModelOpt's FP8 on --moe-runner-backend {}{}",
                                        f.text(Field::moe_runner_backend),
                                        f.given(Field::moe_runner_backend) ? "" : ", which SGLang chose itself")};
}

// srt/layers/quantization/mxfp4.py on XPU: auto and triton; the others are refused, or prepare the weights with
// packages or instructions of other vendors.
std::optional<Finding> mxfp4_for_others(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_experts(m) || !has_quantization(m, "mxfp4")) return std::nullopt;
  if (f.one_of(Field::moe_runner_backend, {"", "auto", "triton"})) return std::nullopt;
  return Finding{.message =
                     fmt::format("--moe-runner-backend {} for experts in MXFP4", f.text(Field::moe_runner_backend))};
}

// Classes whose experts --ep-size does not share out: they call the kernels themselves.
constexpr std::array kWithoutExpertRanks = {"AfmoeForCausalLM", "DbrxForCausalLM", "DeepseekForCausalLM",
                                            "XverseMoeForCausalLM"};

// The kernel package's runner in methods that hand it the routing as the dispatcher leaves it: unquantised experts, FP8
// ones and, whatever runner is asked for, MXFP4.
std::optional<Finding> experts_of_other_ranks(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!has_experts(m) || f.ep() <= 1 || f.exchanges_tokens()) return std::nullopt;
  if (f.integer(Field::dwdp_size, 1) > 1) return std::nullopt;  // every rank fetches the experts that it lacks
  if (std::ranges::any_of(kWithoutExpertRanks, [&](const char* name) { return m.has_architecture(name); }))
    return std::nullopt;
  const bool mxfp4 = f.since(20) && has_quantization(m, "mxfp4");
  const bool plain = !m.quantization && !m.hf_quant_config.is_dict();
  const bool fp8 = f.since(13) && has_quantization(m, "fp8");  // before, their method asks for no kernel package
  if (!mxfp4 && (!on_kernel_package(f) || (!plain && !fp8))) return std::nullopt;
  Finding finding{.message = fmt::format("--ep-size {} gives each rank a part of the experts, and the kernel package's "
                                         "runner does not leave out those of other ranks",
                                         f.ep())};
  const Value* stored = m.hf_config.find("expert_dtype");
  if (plain || (!mxfp4 && stored == nullptr)) finding.remedies.push_back(off_kernel_package(f));
  finding.remedies.push_back(to_drop("--ep-size"));
  // The newest kernels that were read are of August 2026; these releases ask for newer ones.
  if (f.since(20)) finding.severity = Severity::kWarning;
  return finding;
}

// What the kernel package's product of unquantised experts takes: bfloat16, and experts of a rank by the eight.
std::optional<Finding> form_of_experts(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  if (!on_kernel_package(f) || m.quantization || m.hf_quant_config.is_dict()) return std::nullopt;
  if (std::ranges::any_of(kWithoutExpertRanks, [&](const char* name) { return m.has_architecture(name); }))
    return std::nullopt;
  Finding finding;
  const std::int64_t extra = std::max<std::int64_t>(0, f.integer(Field::ep_num_redundant_experts, 0));
  const std::int64_t all = integer::bounded_plus(experts(m).count, extra);
  if (const std::string dtype = f.model_dtype(); dtype != "bfloat16") {
    finding.message = fmt::format("experts in {}: the kernel package multiplies them in bfloat16 alone", dtype);
    finding.field = Field::dtype;
    finding.remedies = {to_give("--dtype", {"bfloat16"})};
  } else if (const std::int64_t local = all / f.ep(); local % 8 != 0) {
    finding.message = fmt::format("{} a rank: the kernel package takes a multiple of 8", counted(local, "expert"));
    if (all % 8 == 0) finding.remedies = {to_drop("--ep-size")};
  } else {
    return std::nullopt;
  }
  if (activation(m) == "silu") finding.remedies.push_back(off_kernel_package(f));
  // The newest kernels that were read are of August 2026; these releases ask for newer ones.
  if (f.since(20)) finding.severity = Severity::kWarning;
  return finding;
}

// Of the rebalancing of experts: the recorder's buffer, and the share that it reports.
std::optional<Finding> rebalancing(const LaunchFacts& f) {
  if (!f.on(Field::enable_eplb)) return std::nullopt;
  const std::int64_t interval = f.integer(Field::eplb_rebalance_num_iterations, 0);
  const std::int64_t buffer = f.integer(Field::expert_distribution_recorder_buffer_size, 0);
  if (interval < buffer) {
    return Finding{.message = fmt::format("experts are rebalanced every {} iterations, and the recorder keeps {}",
                                          interval, buffer),
                   .field = Field::eplb_rebalance_num_iterations,
                   .remedies = {to_give("--eplb-rebalance-num-iterations", {std::to_string(buffer)}),
                                to_drop("--expert-distribution-recorder-buffer-size")}};
  }
  const bool reported =
      f.on(Field::enable_expert_distribution_metrics) ||
      (f.on(Field::expert_balancedness_report_mode) && !f.is(Field::expert_balancedness_report_mode, "off"));
  if (!f.is(Field::device, "xpu") || !reported || f.number(Field::eplb_min_rebalancing_utilization_threshold, 1) == 1)
    return std::nullopt;
  return Finding{.message = "the utilisation that a threshold below 1 asks for is sent through a CUDA device",
                 .field = Field::eplb_min_rebalancing_utilization_threshold,
                 .remedies = {to_drop("--eplb-min-rebalancing-utilization-threshold")}};
}

// What fetches weights from other ranks is written for CUDA.
std::optional<Finding> weights_between_ranks(const LaunchFacts& f) {
  if (f.integer(Field::dwdp_size, 1) <= 1) return std::nullopt;
  return Finding{.message = fmt::format("--dwdp-size {} moves the experts' weights between ranks with CUDA's driver",
                                        f.integer(Field::dwdp_size, 1)),
                 .severity = f.since(22) ? Severity::kWarning : Severity::kError};
}

// On an Intel GPU the pages are planned by the host, and the runner has to leave the sum over a token's experts to
// them.
std::optional<Finding> pages_on_xpu(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu")) return std::nullopt;
  if (f.any_graph()) {
    return Finding{
        .message = "graphs of experts in host memory are planned by a kernel that is compiled for CUDA",
        .field = Field::enable_paged_experts,
        .remedies = {to_give("--cuda-graph-backend-decode", {"disabled"}),
                     to_give("--cuda-graph-backend-prefill", {"disabled"}), to_drop("--enable-paged-experts")}};
  }
  if (!on_kernel_package(f)) return std::nullopt;
  return Finding{.message = fmt::format("experts in host memory want each expert's output, and with {} the kernel "
                                        "package sums them",
                                        runner_of(f)),
                 .field = Field::enable_paged_experts,
                 .remedies = {off_kernel_package(f), to_drop("--enable-paged-experts")}};
}

// What 0.5.23 asks of a launch that keeps experts in host memory.
std::optional<Finding> experts_in_pages(const LaunchFacts& f) {
  if (!f.on(Field::enable_paged_experts) || !has_experts(f.model())) return std::nullopt;
  const auto finding = [](std::string message, Field field, Remedy remedy) {
    return Finding{.message = std::move(message),
                   .field = field,
                   .remedies = {std::move(remedy), to_drop("--enable-paged-experts")}};
  };
  constexpr std::array kNotWith = {
      std::pair{Field::enable_eplb, "--enable-eplb"},
      std::pair{Field::speculative_algorithm, "--speculative-algorithm"},
      std::pair{Field::enable_fused_moe_sum_all_reduce, "--enable-fused-moe-sum-all-reduce"}};
  for (const auto& [field, name] : kNotWith) {
    if (f.on(field))
      return finding(fmt::format("experts in host memory do not go with {}", name), field, to_drop(name));
  }
  if (f.is(Field::load_format, "dummy")) {
    return finding("experts in host memory need weights to keep there, and --load-format dummy loads none",
                   Field::load_format, to_drop("--load-format"));
  }
  for (const auto& [field, name] : {std::pair{Field::tp_size, "--tp-size"}, std::pair{Field::ep_size, "--ep-size"},
                                    std::pair{Field::pp_size, "--pp-size"}, std::pair{Field::dp_size, "--dp-size"}}) {
    if (f.integer(field, 1) > 1)
      return finding(fmt::format("experts in host memory are for one GPU, and {} is {}", name, f.integer(field, 1)),
                     field, to_give(name, {"1"}));
  }
  const std::int64_t per_token = experts(f.model()).per_token;
  const std::int64_t resident = f.integer(Field::paged_experts_num_resident, 0);
  if (resident >= per_token) return pages_on_xpu(f);
  const std::string said = f[Field::paged_experts_num_resident].is_none() ? "" : fmt::format(", not {}", resident);
  return finding(
      fmt::format("--enable-paged-experts needs --paged-experts-num-resident of {} or more{}", per_token, said),
      Field::paged_experts_num_resident, to_give("--paged-experts-num-resident", {std::to_string(per_token)}));
}

}  // namespace

std::span<const Rule> moe_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "MO001",
       .refs = {"MOE-1"},
       .field = Field::moe_runner_backend,
       .summary = "FP8 experts outside the triton runner",
       .why =
           "Kernel packages up to August 2026 assert at the first forward pass that there is no FP8. Newer ones have a "
           "path for it; SGLang hands it no block shape, and whether its results are right was not seen. Before 0.5.19 "
           "the package runs experts where SGLANG_USE_SGL_XPU asks for it. From 0.5.22 on a warning: SGLang's own XPU "
           "tests launch this form.",
       .remedies = {give("--moe-runner-backend", "triton"), unset("SGLANG_USE_SGL_XPU")},
       .source = "sglang/srt/layers/quantization/fp8.py; sgl-kernel-xpu python/sgl_kernel/moe.py",
       .device = "xpu",
       .since = v0_5(13),
       .check = fp8_experts,
       .fires_on =
           {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2", .env = "SGLANG_USE_SGL_XPU=1"},
             {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 2 --quantization fp8", .since = v0_5(19)}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2 --moe-runner-backend triton"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"}}}},
      {.id = "MO002",
       .refs = {"MOE-2"},
       .field = Field::moe_runner_backend,
       .summary = "experts on a device the kernel package is not built for",
       .why = "AssertionError at the first forward pass. Before 0.5.19 the kernel package runs experts where "
              "SGLANG_USE_SGL_XPU asks for it.",
       .remedies = {give("--moe-runner-backend", "triton"), unset("SGLANG_USE_SGL_XPU"), remedy::on_another_card()},
       .source = "sgl-kernel-xpu python/sgl_kernel/moe.py",
       .device = "xpu",
       .check = device_without_kernel,
       .fires_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4",
                      .device = "max1550",
                      .env = "SGLANG_USE_SGL_XPU=1"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4", .env = "SGLANG_USE_SGL_XPU=1"},
                     {.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --moe-runner-backend triton",
                      .device = "max1550"}}}},
      {.id = "MO003",
       .refs = {"MOE-3"},
       .certainty = Certainty::kLikely,
       .field = Field::moe_runner_backend,
       .summary = "experts with another activation than silu on the triton runner",
       .why =
           "AssertionError at the first forward pass. Before 0.5.19 experts run there unless SGLANG_USE_SGL_XPU asks "
           "for the kernel package.",
       .remedies = {drop("--moe-runner-backend"), set("SGLANG_USE_SGL_XPU", "1")},
       .source = "sglang/srt/layers/quantization/unquant.py: forward_xpu",
       .device = "xpu",
       .check = triton_activation,
       .fires_on = {{{.model = "gemma-4-26b-a4b-it", .args = "--device xpu --tp-size 4 --moe-runner-backend triton"},
                     {.model = "gemma-4-26b-a4b-it", .args = "--device xpu --tp-size 4", .until = v0_5(19)}}},
       .quiet_on =
           {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend triton"},
             {.model = "gemma-4-26b-a4b-it", .args = "--device xpu --tp-size 4", .env = "SGLANG_USE_SGL_XPU=1"}}}},
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
       .why = "DeepEP, Mooncake, NIXL, MORI, pplx and the others are packages for NVIDIA's, AMD's or Ascend's devices. "
              "Each is imported when the first layer with experts is built: ImportError. Ascend's fused experts are "
              "asked for at the first forward pass.",
       .remedies = {drop("--moe-a2a-backend")},
       .source = "sglang/srt/layers/moe/token_dispatcher/: deepep.py, deepep_v2.py, mooncake.py, nixl.py, moriep.py, "
                 "pplx.py, flashinfer.py; sglang/srt/hardware_backend/npu/moe/fuseep.py (0.5.14 to 0.5.23)",
       .device = "xpu",
       .since = v0_5(14),
       .check = dispatcher_of_others,
       .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-a2a-backend deepep"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-a2a-backend mooncake"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"},
                     {.model = "qwen3-8b", .args = "--device xpu --tp-size 4 --moe-a2a-backend deepep"}}}},
      {.id = "MO006",
       .field = Field::moe_runner_backend,
       .summary = "a runner for FP8 experts on NVIDIA's Hopper alone",
       .why = "Experts that are not FP8 take another runner, and the layer refuses it where this one was asked for: "
              "ValueError while the model is built. With FP8 ones the runner asks torch for a CUDA device: "
              "AssertionError at the same place.",
       .remedies = {drop("--moe-runner-backend")},
       .source = "sglang/srt/layers/moe/moe_runner/runner.py (0.5.17 to 0.5.23): MoeRunner; "
                 "sglang/srt/layers/moe/fused_moe_triton/layer.py",
       .since = v0_5(17),
       .check = on_hpc_ops,
       .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend hpc_ops"},
                     {.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2 --moe-runner-backend hpc_ops"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend triton"},
                     {.model = "qwen3-8b", .args = "--device xpu --moe-runner-backend hpc_ops"}}}},
      {.id = "MO007",
       .field = Field::moe_runner_backend,
       .summary = "unquantised experts prepared for another device's kernels",
       .why = "The layer prepares the weights for the runner that is asked for, whatever the device; the kernels of an "
              "Intel GPU run all the same, over weights that are not laid out for them. Before 0.5.19 some of these "
              "runners are refused at the first forward pass.",
       .remedies = {drop("--moe-runner-backend")},
       .source = "sglang/srt/layers/quantization/unquant.py: UnquantizedFusedMoEMethod; "
                 "sglang/srt/layers/moe/fused_moe_triton/layer.py",
       .device = "xpu",
       .check = prepared_for_others,
       .fires_on =
           {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend flashinfer_trtllm"},
             {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --moe-runner-backend triton_kernel"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --moe-runner-backend deep_gemm",
                      .env = "SGLANG_USE_SGL_XPU=1"},
                     {.model = "qwen3-8b", .args = "--device xpu --moe-runner-backend triton_kernel"}}}},
      {.id = "MO010",
       .field = Field::moe_runner_backend,
       .summary = "MXFP4 experts with a runner that an Intel GPU has not",
       .why = "NotImplementedError while the layers with experts are built, or RuntimeError or ModuleNotFoundError "
              "once the weights are loaded.",
       .remedies = {drop("--moe-runner-backend"), give("--moe-runner-backend", "triton")},
       .source = "sglang/srt/layers/quantization/mxfp4.py: create_moe_runner, process_weights_after_loading",
       .device = "xpu",
       .since = v0_5(20),
       .check = mxfp4_for_others,
       .fires_on = {{{.model = "gpt-oss-20b", .args = "--device xpu --moe-runner-backend marlin"},
                     {.model = "gpt-oss-20b", .args = "--device xpu --moe-runner-backend flashinfer_mxfp4"}}},
       .quiet_on = {{{.model = "gpt-oss-20b", .args = "--device xpu --moe-runner-backend triton"},
                     {.model = "gpt-oss-20b", .args = "--device xpu"}}}},
      {.id = "MO021",
       .field = Field::moe_runner_backend,
       .summary = "experts in ModelOpt's FP8 on a runner of FlashInfer",
       .why =
           "The method hands the experts to FlashInfer on every device: RuntimeError or ModuleNotFoundError of the "
           "package, once the weights are loaded or at the first forward pass. SGLang chooses such a runner itself for "
           "Nemotron-H.",
       .remedies = {give("--moe-runner-backend", "triton")},
       .source = "sglang/srt/layers/quantization/modelopt_quant.py: ModelOptFp8MoEMethod (0.5.19 to 0.5.23); "
                 "sglang/srt/layers/moe/moe_runner/flashinfer_cutlass.py",
       .device = "xpu",
       .since = v0_5(19),
       .check = modelopt_on_flashinfer},
      {.id = "MO020",
       .certainty = Certainty::kLikely,
       .field = Field::ep_size,
       .summary = "expert parallelism on a runner that leaves no expert out",
       .why =
           "A rank numbers its own experts and has -1 for those of other ranks, which Triton's runner drops. The "
           "kernel package takes it for an index: it counts and writes outside its buffers and adds rows that no "
           "expert made. Wrong text, or a fault of the GPU. Read in kernels of up to August 2026; from 0.5.20, which "
           "asks for newer ones, a warning. Before 0.5.19 that package runs them where SGLANG_USE_SGL_XPU asks for it.",
       .remedies = {give("--moe-runner-backend", "triton"), unset("SGLANG_USE_SGL_XPU"), drop("--ep-size")},
       .source = "sglang/srt/layers/moe/token_dispatcher/standard.py; forward_xpu and apply in "
                 "sglang/srt/layers/quantization/unquant.py, fp8.py, mxfp4.py; sgl-kernel-xpu "
                 "src/sycl/MoEPrepareInputs.cpp",
       .device = "xpu",
       .doubtful = true,
       .check = experts_of_other_ranks,
       .fires_on =
           {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --ep-size 4", .env = "SGLANG_USE_SGL_XPU=1"},
             {.model = "gpt-oss-20b",
              .args = "--device xpu --tp-size 2 --ep-size 2 --moe-runner-backend triton",
              .since = v0_5(20)}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --ep-size 4 --moe-runner-backend triton"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"}}}},
      {.id = "MO022",
       .certainty = Certainty::kLikely,
       .field = Field::moe_runner_backend,
       .summary = "unquantised experts of a form that the kernel package does not take",
       .why =
           "RuntimeError at the first forward pass: the product of experts is made for bfloat16, and counts the "
           "experts of a rank by the eight. Read in kernels of November 2025 to August 2026; from 0.5.20, which asks "
           "for newer ones, a warning. Before 0.5.19 that package runs them where SGLANG_USE_SGL_XPU asks for it.",
       .remedies = {give("--dtype", "bfloat16"), give("--moe-runner-backend", "triton"), unset("SGLANG_USE_SGL_XPU"),
                    drop("--ep-size")},
       .source = "sgl-kernel-xpu src/sycl/GroupGemmXe20.cpp: moe_grouped_mm_nt_xe20; "
                 "sglang/srt/layers/quantization/unquant.py: forward_xpu",
       .device = "xpu",
       .doubtful = true,
       .decided_by = {"dtype"},
       .check = form_of_experts,
       .fires_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --dtype float16",
                      .env = "SGLANG_USE_SGL_XPU=1"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4", .env = "SGLANG_USE_SGL_XPU=1"},
                     {.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --dtype float16 --moe-runner-backend triton"}}}},
      {.id = "MO008",
       .field = Field::enable_eplb,
       .summary = "a rebalancing of experts that ends the ranks",
       .why =
           "AssertionError in every rank's constructor where the recorder keeps more iterations than pass between two "
           "rebalancings. A threshold below 1, with a report of the balance, asks torch for a CUDA device at the first "
           "rebalancing.",
       .remedies = {raise("--eplb-rebalance-num-iterations"), drop("--eplb-min-rebalancing-utilization-threshold")},
       .source = "sglang/srt/eplb/eplb_manager.py, sglang/srt/eplb/expert_distribution.py",
       .need = RuleNeed::kNothing,
       .check = rebalancing,
       .fires_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --ep-size 4 --enable-eplb --eplb-rebalance-num-iterations 100 "
                              "--expert-distribution-recorder-buffer-size 101"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --ep-size 4 --enable-eplb --eplb-rebalance-num-iterations 100 "
                              "--expert-distribution-recorder-buffer-size 100"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --ep-size 4 --enable-eplb"}}}},
      {.id = "MO009",
       .field = Field::enable_paged_experts,
       .summary = "experts in host memory in a launch that cannot have them",
       .why = "RuntimeError while the layers with experts are built; where the kernel package runs them, at the first "
              "forward pass.",
       .remedies = {drop("--enable-paged-experts")},
       .source = "sglang/srt/layers/moe/paged_experts: check_paged_experts_compat of method.py, executor.py, store.py; "
                 "sgl-kernel-xpu src/sycl/MoE_sum_reduce.cpp",
       .since = v0_5(23),
       .check = experts_in_pages,
       .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --enable-paged-experts", .since = v0_5(23)},
                     {.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --enable-paged-experts --paged-experts-num-resident 16",
                      .since = v0_5(23)}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --enable-paged-experts --paged-experts-num-resident 8 "
                              "--moe-runner-backend triton",
                      .since = v0_5(23)},
                     {.model = "qwen3-8b", .args = "--device xpu --enable-paged-experts", .since = v0_5(23)}}}},
      {.id = "MO012",
       .field = Field::dwdp_size,
       .summary = "experts' weights that ranks fetch from each other",
       .why =
           "ModuleNotFoundError of cuda once the weights are loaded, or AssertionError where cuda-python is installed: "
           "the fetching is written for CUDA's driver and asks torch for a CUDA device. From 0.5.22 a warning: a "
           "branch of SGLang launches this on Intel GPUs.",
       .remedies = {drop("--dwdp-size")},
       .source = "sglang/srt/layers/moe/dwdp: dwdp_manager.py, transport.py; maybe_init_dwdp in "
                 "sglang/srt/model_executor/model_runner.py (0.5.17 to 0.5.23)",
       .device = "xpu",
       .since = v0_5(17),
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = weights_between_ranks,
       .fires_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --dwdp-size 4"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4 --dwdp-size 1"}}}},
      {.id = "MO011",
       .field = Field::moe_runner_backend,
       .summary = "MXFP4 experts of an FP8 checkpoint on the triton runner",
       .why = "AssertionError at the first forward pass: the packed weights are half as wide as an FP8 expert's. The "
              "kernel package takes them; before 0.5.19 it is asked with SGLANG_USE_SGL_XPU.",
       .remedies = {drop("--moe-runner-backend"), set("SGLANG_USE_SGL_XPU", "1")},
       .source =
           "sglang/srt/layers/quantization/fp8.py: apply; sglang/srt/layers/moe/moe_runner/triton_utils/fused_moe.py",
       .device = "xpu",
       .since = v0_5(15),
       .check = packed_experts_on_triton,
       .fires_on = {{{.model = "deepseek-v4-flash",
                      .args = "--device xpu --tp-size 16 --moe-runner-backend triton",
                      .device = "b60x16",
                      .env = "SGLANG_OPT_FP8_WO_A_GEMM=false",
                      .since = v0_5(20)},
                     {.model = "deepseek-v4-flash",
                      .args = "--device xpu --tp-size 16",
                      .device = "b60x16",
                      .until = v0_5(19)}}},
       .quiet_on =
           {{{.model = "deepseek-v4-flash", .args = "--device xpu --tp-size 16", .device = "b60x16", .since = v0_5(19)},
             {.model = "deepseek-v4-flash",
              .args = "--device xpu --tp-size 16",
              .device = "b60x16",
              .env = "SGLANG_USE_SGL_XPU=1"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
