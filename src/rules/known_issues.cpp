// KI: defects that people reported of launches on Intel GPUs, where SGLang itself has no condition to read. Each names
// its thread, the releases and hardware it was seen on, whether it is still open, and what helped.
// Tested by the rules' own examples.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

bool is_card(const LaunchFacts& f, std::string_view name) { return f.device().name.find(name) != std::string::npos; }

// BMG-G31: Arc Pro B65 and B70.
bool is_g31(const LaunchFacts& f) { return is_card(f, "B70") || is_card(f, "B65"); }

std::optional<Finding> garbage_on_g31(const LaunchFacts& f) {
  if (!f.uses_xpu() || !is_card(f, "B70")) return std::nullopt;
  return Finding{
      .message = fmt::format("intel_xpu on {}: garbage from the first request was reported", f.device().name),
      .field = f.field_naming("intel_xpu")};
}

// What a prefill chunk is cut down to with deterministic inference on triton.
std::int64_t truncation(const LaunchFacts& f) {
  constexpr std::int64_t kDefault = 4096;
  const auto& env = f.launch().env;
  const auto it = env.find("SGLANG_TRITON_PREFILL_TRUNCATION_ALIGN_SIZE");
  if (it == env.end()) return kDefault;
  std::int64_t size = 0;
  std::from_chars(it->second.data(), it->second.data() + it->second.size(), size);
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
  if (!f.is(Field::device, "xpu") || f.tp() * f.pp() < 2 || !f.is_battlemage_or_later()) return std::nullopt;
  if (f.launch().env.contains("CCL_ALLREDUCE")) return std::nullopt;
  return Finding{.message = fmt::format("{} ranks over oneCCL: with torch 2.13 (oneCCL 2022) the first all-reduce was "
                                        "reported to hang on Battlemage",
                                        f.tp() * f.pp())};
}

std::optional<Finding> ranks_in_a_container(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu") || f.tp() * f.pp() < 2) return std::nullopt;
  const auto& env = f.launch().env;
  const auto mask = env.find("ZE_AFFINITY_MASK");
  const auto cards = mask == env.end() ? 0 : 1 + std::ranges::count(mask->second, ',');
  const std::int64_t here = f.tp() * f.pp() / std::max<std::int64_t>(1, f.integer(Field::nnodes, 1));
  if (mask != env.end() && !mask->second.empty() && cards < here) {
    return Finding{
        .message = fmt::format("ZE_AFFINITY_MASK={} shows {} of the {} GPUs that the ranks of this node take",
                               mask->second, cards, here),
        .severity = Severity::kWarning,
        .remedies = {in_words("a mask that names as many GPUs as the node has ranks, the same for all ranks"),
                     {.steps = {{StepKind::kUnset, "ZE_AFFINITY_MASK"}}}}};
  }
  return Finding{.message =
                     fmt::format("{} ranks exchange memory handles: in a container oneCCL needs SYS_PTRACE and the "
                                 "whole of /dev/dri",
                                 f.tp() * f.pp())};
}

std::optional<Finding> fused_sdpa(const LaunchFacts& f) {
  if (!f.is(Field::device, "xpu") || !f.any_phase_on("torch_native")) return std::nullopt;
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

const Rule kRules[] = {
    {.id = "KI001",
     .refs = {"sgl-kernel-xpu#243"},
     .severity = Severity::kWarning,
     .certainty = Certainty::kNeedsHardware,
     .field = Field::attention_backend,
     .summary = "intel_xpu on Arc Pro B70 gave garbage",
     .why =
         "Reported in June 2026 on BMG-G31 with a kernel package of that time; the same checkpoint was right on triton "
         "and on the same card under another server, and right with intel_xpu on B580 (BMG-G21). Open.",
     .remedies = {give("--attention-backend", "triton"), words("a newer kernel package that was seen to be right")},
     .source = "sgl-project/sgl-kernel-xpu#243",
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
     .why = "Chunks are cut to multiples of SGLANG_TRITON_PREFILL_TRUNCATION_ALIGN_SIZE tokens, 4096 unless it is set. "
            "Where a chunk is "
            "smaller nothing is left of it, and the request is never taken up, while /health stays good. Closed: "
            "0.5.22 no longer cuts chunks on triton.",
     .remedies = {give("--chunked-prefill-size", "4096")},
     .source = "sgl-project/sglang#36344; sglang/srt/managers/schedule_policy.py: add_one_req",
     .until = v0_5(22),
     .need = RuleNeed::kNothing,
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
     .why = "Ranks of a node pass memory handles to each other. Under docker's default rules the way by pidfd is shut, "
            "and the other one hangs where each rank sees another single GPU by its ZE_AFFINITY_MASK; without "
            "/dev/dri/by-path it ends at once. Open.",
     .fix = "docker run --cap-add SYS_PTRACE --device /dev/dri -v /dev/dri/by-path:/dev/dri/by-path, and one "
            "ZE_AFFINITY_MASK for all ranks",
     .source = "uxlfoundation/oneCCL#217",
     .need = RuleNeed::kNothing,
     .check = ranks_in_a_container,
     .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2", .env = "ZE_AFFINITY_MASK=0"}}},
     .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
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
     .why = "The kernel was given the lengths of new keys, and then misreads a prefill of several tokens over a cache "
            "that is not empty: repetitions and wrong answers, without an error. Closed by sgl-project/sglang#23280, "
            "which 0.5.13 has.",
     .remedies = {in_release("0.5.13"), both(give("--chunked-prefill-size", "-1"), give("--disable-radix-cache")),
                  give("--attention-backend", "triton")},
     .source = "sgl-project/sgl-kernel-xpu#196; sglang/srt/layers/attention/xpu_backend.py: cu_seqlens_k_new",
     .until = v0_5(13),
     .check = prefill_behind_a_prefix,
     .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --attention-backend intel_xpu"},
                   {.model = "qwen3-0.6b",
                    .args = "--device xpu --attention-backend intel_xpu --disable-radix-cache"}}},
     .quiet_on = {{{.model = "qwen3-0.6b",
                    .args = "--device xpu --attention-backend intel_xpu --disable-radix-cache "
                            "--chunked-prefill-size -1"},
                   {.model = "qwen3-0.6b", .args = "--device xpu --attention-backend triton"}}}},
};

}  // namespace

std::span<const Rule> known_issue_rules() { return kRules; }

}  // namespace preflight::rules
