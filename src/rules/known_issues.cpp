// KI: defects that people reported of launches on Intel GPUs, where SGLang itself has no condition to read. Each names
// its thread, the releases and hardware it was seen on, whether it is still open, and what helped.
// Tested by the rules' own examples.
#include <algorithm>

#include <fmt/format.h>

#include "src/facts/device_profiles.h"
#include "src/facts/kinds.h"
#include "src/launch/ranks.h"
#include "src/python/environment.h"
#include "src/python/integer.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

bool is_card(const LaunchFacts& f, std::string_view name) { return f.device().name.find(name) != std::string::npos; }

// BMG-G31: Arc Pro B65 and B70.
bool is_g31(const LaunchFacts& f) { return is_card(f, "B70") || is_card(f, "B65"); }

std::optional<Finding> garbage_on_g31(const LaunchFacts& f) {
  const bool same_chip = is_card(f, "B65");
  if (!f.uses_xpu() || !(is_card(f, "B70") || same_chip)) return std::nullopt;
  return Finding{.message = fmt::format("intel_xpu on {}: garbage from the first request was reported{}",
                                        f.device().name, same_chip ? " of Arc Pro B70, which has the same chip" : ""),
                 .field = f.field_naming("intel_xpu")};
}

// What a prefill chunk is cut down to with deterministic inference on triton.
std::int64_t truncation(const LaunchFacts& f) {
  constexpr std::int64_t kDefault = 4096;
  const std::int64_t size =
      python::environment_int(f.launch().env, "SGLANG_TRITON_PREFILL_TRUNCATION_ALIGN_SIZE", kDefault);
  return size > 0 ? size : kDefault;
}

std::optional<Finding> deterministic_chunk(const LaunchFacts& f) {
  const std::int64_t chunk = f.integer(Field::chunked_prefill_size, 0);
  const std::int64_t whole = truncation(f);
  if (!f.on(Field::enable_deterministic_inference) || f.base_backend() != "triton" || chunk <= 0 || chunk >= whole) {
    return std::nullopt;
  }
  return Finding{.message = fmt::format("deterministic inference on triton cuts prefill chunks to multiples of {}, and "
                                        "--chunked-prefill-size is {}: a prompt longer than that waits for ever",
                                        whole, chunk),
                 .remedies = {to_give("--chunked-prefill-size", {std::to_string(whole)})}};
}

std::optional<Finding> several_cards(const LaunchFacts& f) {
  if (f.tp() * f.pp() < 2 || !f.is_battlemage_or_later()) return std::nullopt;
  if (f.launch().env.contains("CCL_ALLREDUCE")) return std::nullopt;
  return Finding{.message = fmt::format("{} ranks over oneCCL: with torch 2.13 (oneCCL 2022) the first all-reduce was "
                                        "reported to hang on Battlemage",
                                        f.tp() * f.pp())};
}

// What the container's own text says of the way that memory handles take.
std::optional<Finding> handles_in(const facts::SharingRights& container, std::int64_t ranks) {
  if (container.may_trace) return std::nullopt;
  const std::string what =
      fmt::format("{} ranks exchange memory handles, and this container shuts the way by pidfd", ranks);
  if (container.has_card_paths) {
    return Finding{.message = what +
                              ": oneCCL takes another, which was reported to hang where each rank sees another "
                              "GPU"};
  }
  return Finding{.message = what + " and has no /dev/dri/by-path for the other one: oneCCL ends as it starts",
                 .severity = Severity::kWarning};
}

std::optional<Finding> ranks_in_a_container(const LaunchFacts& f) {
  const std::int64_t here = node_ranks(f).count();
  if (here < 2) return std::nullopt;
  const auto& env = f.launch().env;
  const auto mask = env.find("ZE_AFFINITY_MASK");
  const auto cards = mask == env.end() ? 0 : 1 + std::ranges::count(mask->second, ',');
  if (mask != env.end() && !mask->second.empty() && cards < here) {
    return Finding{
        .message = fmt::format("ZE_AFFINITY_MASK={} shows {} of the {} GPUs that the ranks of this node take",
                               mask->second, cards, here),
        .severity = Severity::kWarning,
        .remedies = {in_words("a mask that names as many GPUs as the node has ranks, the same for all ranks"),
                     {.steps = {{StepKind::kUnset, "ZE_AFFINITY_MASK"}}}}};
  }
  if (here / f.ordinary_dp() < 2) return std::nullopt;  // replicas share nothing
  if (f.sharing()) return handles_in(*f.sharing(), here);
  return Finding{.message =
                     fmt::format("{} ranks exchange memory handles: in a container oneCCL needs SYS_PTRACE and the "
                                 "whole of /dev/dri",
                                 here)};
}

std::optional<Finding> fused_sdpa(const LaunchFacts& f) {
  if (!f.any_phase_on("torch_native")) return std::nullopt;
  return Finding{.message =
                     "torch_native attends by torch's fused kernel, which was seen to leave part of its output "
                     "unwritten where few keys meet many queries",
                 .field = f.field_naming("torch_native")};
}

std::optional<Finding> fp8_cache_on_g31(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu") || !f.kv_is_fp8() || !is_g31(f)) return std::nullopt;
  return Finding{.message = fmt::format("an {} KV cache on {}: doubled tokens were reported of another server there",
                                        f.kv_dtype(), f.device().name)};
}

std::optional<Finding> graph_on_several_cards(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu") || !f.decode_graph_full() || f.tp() < 2 || !is_card(f, "B70")) return std::nullopt;
  return Finding{.message = fmt::format("decode graphs over {} GPUs {}: garbage was reported of another server there",
                                        f.tp(), f.device().name)};
}

std::optional<Finding> prefill_behind_a_prefix(const LaunchFacts& f) {
  const bool prefix = f.radix_cache() || f.integer(Field::chunked_prefill_size, 0) > 0;
  if (!f.prefill_on_xpu() || f.model().is_mla() || !prefix) return std::nullopt;
  return Finding{.message = "intel_xpu takes the keys before a prefill chunk, or of a cached prefix, for new ones",
                 .field = f.prefill_field()};
}

bool is_on_several_battlemage(const LaunchFacts& f) { return f.is_battlemage_or_later() && node_ranks(f).count() > 1; }

std::optional<Finding> nan_products(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu") || f.is(Field::dtype, "float32") || f.is(Field::dtype, "float")) return std::nullopt;
  if (!is_card(f, "B70") && !is_card(f, "B580")) return std::nullopt;
  return Finding{.message = fmt::format("matrix products in 16 bits on {} were reported to give NaN, zeros or garbage",
                                        f.device().name)};
}

// Weights and cache of all ranks here, in MiB.
std::optional<Finding> host_shadow(const LaunchFacts& f) {
  if (!is_on_several_battlemage(f)) return std::nullopt;
  const auto share = f.static_share();
  if (!share) return std::nullopt;
  const double taken = *share * static_cast<double>(f.device().memory_mib) * static_cast<double>(node_ranks(f).count());
  const auto host = f.device().host_memory_mib;
  constexpr double kMibOfGib = 1024;
  return Finding{
      .message = fmt::format("{} GPUs hold about {:.0f} GiB; torch on Battlemage was reported to take as much of the "
                             "host's memory{}",
                             node_ranks(f).count(), taken / kMibOfGib,
                             host ? fmt::format(", of which {} {:.0f} GiB",
                                                f.memory_limit() != nullptr ? "the launch may take" : "a NUMA node has",
                                                static_cast<double>(*host) / kMibOfGib)
                                  : std::string()),
      .severity = host && static_cast<double>(*host) < taken ? Severity::kWarning : Severity::kInfo};
}

std::optional<Finding> cards_not_counted(const LaunchFacts& f) {
  if (!is_on_several_battlemage(f)) return std::nullopt;
  return Finding{.message = fmt::format("{} Battlemage GPUs: with drivers from 25.44 to 26.09 torch was reported not "
                                        "to count more than one",
                                        node_ranks(f).count())};
}

std::optional<Finding> ipc_exchange(const LaunchFacts& f) {
  const auto& env = f.launch().env;
  const auto it = env.find("CCL_ZE_IPC_EXCHANGE");
  if (node_ranks(f).count() < 2 || it == env.end()) return std::nullopt;
  if (it->second != "sockets" && it->second != "none") return std::nullopt;
  return Finding{.message = fmt::format("CCL_ZE_IPC_EXCHANGE={} is not followed where the kernel or the container "
                                        "keeps oneCCL from pidfd",
                                        it->second),
                 .remedies = {{.steps = {{StepKind::kUnset, "CCL_ZE_IPC_EXCHANGE"}}},
                              in_words("docker run --cap-add SYS_PTRACE, so that pidfd works")}};
}

std::optional<Finding> fp8_experts_on_two(const LaunchFacts& f) {
  const bool fp8 = f.model().quantization && f.model().quantization->find("fp8") != std::string::npos;
  if (!f.is(Field::device, "xpu") || !is_card(f, "B70") || f.tp() < 2 || !fp8 || !has_experts(f.model())) {
    return std::nullopt;
  }
  return Finding{.message =
                     fmt::format("FP8 experts over {} GPUs {}: wrong tokens were reported of another server there",
                                 f.tp(), f.device().name)};
}

std::optional<Finding> lunar_lake(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu") || !is_card(f, "140V")) return std::nullopt;
  return Finding{.message = fmt::format("{}: where Linux is 6.18, the first allocation was reported to fail; which one "
                                        "runs there is not looked at",
                                        f.device().name)};
}

// A card that has a profile, and is neither Battlemage nor of its architecture. The package's norm is SGLang's on XPU,
// whatever attends.
std::optional<Finding> not_compiled_for(const LaunchFacts& f) {
  const auto& cards = facts::device_profiles();
  const auto card =
      std::ranges::find_if(cards, [&](const auto& profile) { return profile.device.name == f.device().name; });
  if (!f.is(Field::device, "xpu") || card == cards.end()) return std::nullopt;
  if (card->architecture == "bmg" || card->architecture == "lnl") return std::nullopt;
  // BERT's configurations may name both norms.
  const ModelFacts& m = f.model();
  if (m.text("rms_norm_eps").is_none() || !m.text("layer_norm_eps").is_none()) return std::nullopt;
  return Finding{.message = fmt::format("sgl-kernel-xpu is compiled for Battlemage, not for {}: the norms that its "
                                        "kernels compute belong to every attention backend",
                                        f.device().name)};
}

}  // namespace

std::span<const Rule> known_issue_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "KI001",
       .refs = {"sgl-kernel-xpu#243"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::attention_backend,
       .summary = "intel_xpu on Arc Pro B70 gave garbage",
       .why = "Reported in June 2026 on BMG-G31 with a kernel package of that time; the same checkpoint was right on "
              "triton and on the same card under another server, and right with intel_xpu on B580 (BMG-G21). Open.",
       .remedies = {give("--attention-backend", "triton"), words("a newer kernel package that was seen to be right")},
       .source = "sgl-project/sgl-kernel-xpu#243",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = garbage_on_g31,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu", .device = "b70"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton", .device = "b70"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"}}}},
      {.id = "KI002",
       .refs = {"sglang#36344"},
       .severity = Severity::kWarning,
       .field = Field::chunked_prefill_size,
       .summary = "deterministic inference on triton with small prefill chunks hangs",
       .why =
           "Chunks are cut to multiples of SGLANG_TRITON_PREFILL_TRUNCATION_ALIGN_SIZE tokens, 4096 unless it is set. "
           "Where a chunk is "
           "smaller nothing is left of it, and the request is never taken up, while /health stays good. Closed: "
           "0.5.22 no longer cuts chunks on triton.",
       .remedies = {give("--chunked-prefill-size", "4096")},
       .source = "sgl-project/sglang#36344; sglang/srt/managers/schedule_policy.py: add_one_req",
       .until = v0_5(22),
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = deterministic_chunk,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-deterministic-inference --attention-backend triton "
                              "--chunked-prefill-size 4032"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-deterministic-inference --attention-backend triton "
                              "--chunked-prefill-size 4096"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend triton --chunked-prefill-size 128"}}}},
      {.id = "KI003",
       .refs = {"oneCCL#215"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::tp_size,
       .summary = "several Battlemage GPUs with torch 2.13 hang in the first all-reduce",
       .why = "Reported on Arc Pro B60 with the oneCCL 2022 that torch 2.13 brings: the warm-up never ends, the driver "
              "reports time-outs and DEVICE_LOST. torch 2.11 was right.",
       .remedies = {words("torch 2.11 or 2.12"), both(set("CCL_ALLREDUCE", "ring"), words("(slower)"))},
       .source = "uxlfoundation/oneCCL#215, vllm-project/vllm#50545",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = several_cards,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .env = "CCL_ALLREDUCE=ring"}}}},
      {.id = "KI004",
       .refs = {"oneCCL#217"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kLikely,
       .field = Field::tp_size,
       .summary = "ranks in a container, or behind affinity masks, wait for each other",
       .why =
           "Ranks of a node pass memory handles to each other. Under docker's default rules the way by pidfd is shut, "
           "and the other one hangs where each rank sees another single GPU by its ZE_AFFINITY_MASK; without "
           "/dev/dri/by-path it ends at once. Open.",
       .fix = "docker run --cap-add SYS_PTRACE --device /dev/dri -v /dev/dri/by-path:/dev/dri/by-path, and one "
              "ZE_AFFINITY_MASK for all ranks",
       .source = "uxlfoundation/oneCCL#217",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .doubtful = true,
       .check = ranks_in_a_container,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .env = "ZE_AFFINITY_MASK=0"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --tp-size 2 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000"}}}},
      {.id = "KI005",
       .refs = {"torch-xpu-ops#5179"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::attention_backend,
       .summary = "torch_native on an Intel GPU may leave output unwritten",
       .why =
           "Reported in September 2026 of torch's fused attention on XPU with 16 keys and 4096 queries: now and then a "
           "tile keeps what memory held before. Open.",
       .remedies = {give("--attention-backend", "triton")},
       .source = "intel/torch-xpu-ops#5179",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = fused_sdpa,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend torch_native"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "KI006",
       .refs = {"llm-scaler#721"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::kv_cache_dtype,
       .summary = "an FP8 KV cache on Arc Pro B65 or B70 doubled tokens",
       .why = "Reported of a vLLM on Arc Pro B65: every second token repeats the one before, without an error. Whether "
              "SGLang's kernels share the cause is not known. Open.",
       .remedies = {give("--kv-cache-dtype", "auto"), words("compare outputs token by token with it")},
       .source = "intel/llm-scaler#721",
       .check = fp8_cache_on_g31,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend triton --kv-cache-dtype fp8_e5m2",
                      .device = "b65"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend triton --kv-cache-dtype fp8_e5m2"}}}},
      {.id = "KI007",
       .refs = {"llm-scaler#698"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::cuda_graph_backend_decode,
       .summary = "decode graphs over several Arc Pro B70 gave garbage",
       .why = "Reported of a vLLM with gpt-oss-120b over four cards: right without graphs, garbage with them. Whether "
              "SGLang's graphs share the cause is not known. Open.",
       .remedies = {give("--disable-decode-cuda-graph"), words("compare outputs with it")},
       .source = "intel/llm-scaler#698, vllm-project/vllm#48327",
       .since = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = graph_on_several_cards,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --tp-size 2 --cuda-graph-backend-decode full",
                      .device = "b70"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --tp-size 2 --cuda-graph-backend-decode disabled",
                      .device = "b70"}}}},
      {.id = "KI008",
       .refs = {"sgl-kernel-xpu#196"},
       .severity = Severity::kWarning,
       .field = Field::attention_backend,
       .summary = "intel_xpu answers wrongly behind a cached prefix before 0.5.13",
       .why =
           "The kernel was given the lengths of new keys, and then misreads a prefill of several tokens over a cache "
           "that is not empty: repetitions and wrong answers, without an error. Closed by sgl-project/sglang#23280, "
           "which 0.5.13 has.",
       .remedies = {in_release("0.5.13"), both(give("--chunked-prefill-size", "-1"), give("--disable-radix-cache")),
                    give("--attention-backend", "triton")},
       .source = "sgl-project/sgl-kernel-xpu#196; sglang/srt/layers/attention/xpu_backend.py: cu_seqlens_k_new",
       .device = "xpu",
       .until = v0_5(13),
       .check = prefill_behind_a_prefix,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend intel_xpu --disable-radix-cache"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend intel_xpu --disable-radix-cache "
                              "--chunked-prefill-size -1"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton"}}}},
      {.id = "KI009",
       .refs = {"torch-xpu-ops#5220"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::dtype,
       .summary = "matrix products in 16 bits on Arc B580 and Arc Pro B70 gave NaN",
       .why =
           "Reported in September 2026 with torch 2.8 and 2.14 and drivers 26.27 and 26.35: products of 512 by 512 and "
           "larger are NaN, zero or garbage in float16 and bfloat16, and right in float32; small ones are right. The "
           "same products were right on other machines with these cards. Open.",
       .remedies = {words(
           "multiply two matrices of 512 by 512 in bfloat16 on the card before serving, and compare with "
           "float32")},
       .source = "intel/torch-xpu-ops#5220, intel/compute-runtime#1000 and #1001",
       .need = RuleNeed::kNothing,
       .check = nan_products,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .device = "b70"},
                     {.model = "qwen3-0.6b", .args = "--device xpu", .device = "b580"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --dtype float32", .device = "b70"}}}},
      {.id = "KI010",
       .refs = {"torch-xpu-ops#5428"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::tp_size,
       .summary = "device memory on Battlemage took as much host memory",
       .why =
           "Reported in 2026 of torch on Arc Pro B70 (torch 2.14, Linux 7.1, drivers 26.27 and 26.31): each allocation "
           "on the card takes the same of MemAvailable, which no process is charged for; weights of 45 GiB over two "
           "cards ended a host of 64 GiB. llama.cpp, which allocates otherwise, does not. Open.",
       .remedies = {words("more host memory than the cards hold, or --mem-fraction-static lower")},
       .source = "intel/torch-xpu-ops#5428, intel/compute-runtime#981, pytorch/pytorch#180145",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = host_shadow,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .device = "max1100"}}}},
      {.id = "KI011",
       .refs = {"compute-runtime#921", "llm-scaler#347"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::tp_size,
       .summary = "torch does not count several Battlemage GPUs with some drivers",
       .why = "Reported from 25.44 to 26.09 of Intel's compute runtime on Arc Pro B50, B60 and B70: device_count ends "
              "with UR_RESULT_ERROR_UNKNOWN as soon as two cards are visible, while each works alone; 25.31 and 25.40 "
              "were right. Closed, mended in a later driver.",
       .remedies = {words("the newest driver; python -c 'import torch; print(torch.xpu.device_count())' tells")},
       .source = "intel/compute-runtime#921, intel/llm-scaler#347",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = cards_not_counted,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .device = "max1100"}}}},
      {.id = "KI012",
       .refs = {"oneCCL#213", "oneCCL#217"},
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::tp_size,
       .summary = "oneCCL does not follow CCL_ZE_IPC_EXCHANGE",
       .why = "Read in oneCCL 2021.15.9 and its main branch in July 2026: without pidfd, which docker's default rules "
              "shut, sockets and none give way to drmfd, which ends the process or waits for ever. Open.",
       .fix = "unset CCL_ZE_IPC_EXCHANGE, and docker run --cap-add SYS_PTRACE",
       .source = "uxlfoundation/oneCCL#213, uxlfoundation/oneCCL#217",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = ipc_exchange,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .env = "CCL_ZE_IPC_EXCHANGE=sockets"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .env = "CCL_ZE_IPC_EXCHANGE=none"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .env = "CCL_ZE_IPC_EXCHANGE=sockets"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .env = "CCL_ZE_IPC_EXCHANGE=pidfd"}}}},
      {.id = "KI013",
       .refs = {"llm-scaler#633"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::tp_size,
       .summary = "FP8 experts over several Arc Pro B70 gave wrong tokens",
       .why = "Reported in August 2026 of a vLLM with Gemma 4 26B-A4B in FP8 on Triton's experts: right on one card, "
              "silently wrong tokens on two. Whether SGLang's kernels share the cause is not known. Open.",
       .remedies = {give("--tp-size", "1"), words("compare outputs token by token with one GPU")},
       .source = "intel/llm-scaler#633",
       .check = fp8_experts_on_two,
       .fires_on = {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2", .device = "b70"}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b-fp8", .args = "--device xpu --tp-size 2"},
                     {.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4", .device = "b70"}}}},
      {.id = "KI014",
       .refs = {"compute-runtime#883"},
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::device,
       .summary = "Lunar Lake with Linux 6.18 failed at the first allocation",
       .why =
           "Reported in January 2026 of Arc 130V and 140V with compute runtime 25.48 and the xe driver of Linux 6.18: "
           "torch ends with UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, or the driver aborts in bindless_heaps_helper.cpp. "
           "Linux 6.17.12 was right. Closed.",
       .remedies = {words("Linux 6.17, or a driver newer than 25.48")},
       .source = "intel/compute-runtime#883",
       .need = RuleNeed::kNothing,
       .check = lunar_lake,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .device = "140v"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "KI015",
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::device,
       .summary = "a kernel package that is compiled for Battlemage alone",
       .why = "Its build files, read up to August 2026, compile ahead for Battlemage and put in nothing that a driver "
              "could compile for another card. SGLang takes the norms, activations and rotary embedding of every "
              "attention backend from it, so that the first forward pass would end with a kernel that is not found.",
       .remedies = {words("a kernel package that was built for the card"), remedy::on_another_card()},
       .source = "sgl-kernel-xpu cmake/BuildFlags.cmake, src/BuildOnLinux.cmake; sglang/srt/layers/layernorm.py",
       .device = "xpu",
       .check = not_compiled_for,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu", .device = "a770"},
                     {.model = "qwen3-0.6b", .args = "--device xpu", .device = "max1550"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "bge-reranker-v2-m3", .args = "--device xpu", .device = "max1550"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
