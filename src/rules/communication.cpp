// DC: decode context parallelism and collectives.
#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

bool dcp_on_xpu(const LaunchFacts& f) { return f.dcp() > 1 && f.uses_xpu(); }

std::optional<Finding> no_group(const LaunchFacts& f) {
  if (f.dcp() <= 1) return std::nullopt;
  return Finding{.message = fmt::format("--dcp-size {} needs a process group that {} creates for CUDA and ROCm only",
                                        f.dcp(), f.release().text())};
}

std::optional<Finding> window(const LaunchFacts& f) {
  if (!dcp_on_xpu(f) || !runtime_window(f.model())) return std::nullopt;
  return Finding{.message = fmt::format("--dcp-size {} with a sliding window of {} tokens on intel_xpu", f.dcp(),
                                        *runtime_window(f.model()))};
}

std::optional<Finding> cache_type(const LaunchFacts& f) {
  if (!dcp_on_xpu(f)) return std::nullopt;
  const std::string dtype = f.kv_dtype();
  if (dtype.empty() || dtype == "bfloat16" || dtype == "float16") return std::nullopt;
  return Finding{.message = fmt::format("--dcp-size {} with a {} KV cache on intel_xpu", f.dcp(), dtype)};
}

std::optional<Finding> graph(const LaunchFacts& f) {
  if (!dcp_on_xpu(f) || !f.any_graph()) return std::nullopt;
  return Finding{.message = fmt::format("--dcp-size {} on intel_xpu with a graph: it runs eagerly only", f.dcp())};
}

std::optional<Finding> sinks(const LaunchFacts& f) {
  if (!dcp_on_xpu(f) || !f.model().has_attention_sinks) return std::nullopt;
  return Finding{.message = fmt::format("--dcp-size {} with attention sinks on intel_xpu", f.dcp())};
}

std::optional<Finding> overlap(const LaunchFacts& f) {
  if (!f.uses_xpu() || f.tp() < 2 || f.on(Field::disable_overlap_schedule)) return std::nullopt;
  return Finding{.message = fmt::format("intel_xpu over {} GPUs with the overlap schedule on", f.tp())};
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py";

const Rule kRules[] = {
    {.id = "DC001",
     .refs = {"DCP-X1"},
     .field = Field::dcp_size,
     .summary = "decode context parallelism on an Intel GPU before 0.5.22",
     .why = "RuntimeError while the process groups are created.",
     .remedies = {drop("--dcp-size"), in_release("0.5.22")},
     .source = "sglang/srt/distributed/parallel_state.py",
     .device = "xpu",
     .since = v0_5(17),
     .until = v0_5(22),
     .need = RuleNeed::kNothing,
     .check = no_group,
     .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2 --dcp-size 2"}}},
     .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --tp-size 2"}}}},
    {.id = "DC002",
     .refs = {"DCP-X2"},
     .field = Field::dcp_size,
     .summary = "decode context parallelism with a sliding window on intel_xpu",
     .why = "ValueError in the backend's constructor.",
     .remedies = {drop("--dcp-size")},
     .source = kBackend,
     .device = "xpu",
     .since = v0_5(22),
     .check = window,
     .fires_on = {{{.model = "gemma-3-1b-it",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 4 --dcp-size 2"}}},
     .quiet_on = {{{.model = "qwen3.5-9b",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 2 --dcp-size 2 --disable-radix-cache "
                            "--chunked-prefill-size 256"}}}},
    {.id = "DC003",
     .refs = {"DCP-X3"},
     .field = Field::kv_cache_dtype,
     .summary = "decode context parallelism with a quantised KV cache on intel_xpu",
     .why = "ValueError in the backend's constructor; a checkpoint that asks for an FP8 cache counts.",
     .remedies = {give("--kv-cache-dtype", "bfloat16"), drop("--dcp-size")},
     .source = kBackend,
     .device = "xpu",
     .since = v0_5(22),
     .decided_by = {"dtype"},
     .check = cache_type,
     .fires_on = {{{.model = "qwen3-30b-a3b",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 8 --dcp-size 2 "
                            "--kv-cache-dtype fp8_e4m3"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 8 --dcp-size 2"}}}},
    {.id = "DC004",
     .refs = {"DCP-X4"},
     .field = Field::cuda_graph_backend_decode,
     .summary = "decode context parallelism with a graph on intel_xpu",
     .why = "ValueError in the backend's constructor.",
     .remedies = {give("--disable-cuda-graph"), drop("--dcp-size")},
     .source = kBackend,
     .device = "xpu",
     .since = v0_5(22),
     .need = RuleNeed::kNothing,
     .check = graph,
     .fires_on = {{{.model = "qwen3-30b-a3b",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 8 --dcp-size 2 "
                            "--cuda-graph-backend-decode full"}}},
     .quiet_on = {{{.model = "qwen3-30b-a3b",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 8 --dcp-size 2"}}}},
    {.id = "DC005",
     .refs = {"DCP-X5"},
     .field = Field::dcp_size,
     .summary = "decode context parallelism with attention sinks on intel_xpu",
     .why = "An assertion at the first forward pass.",
     .remedies = {drop("--dcp-size")},
     .source = kBackend,
     .device = "xpu",
     .since = v0_5(22),
     .check = sinks},
    {.id = "DC006",
     .refs = {"XC-1"},
     .severity = Severity::kInfo,
     .certainty = Certainty::kNeedsHardware,
     .field = Field::disable_overlap_schedule,
     .summary = "overlap schedule over several GPUs on intel_xpu",
     .why = "SGLang's own XPU tests switch the overlap schedule off, remarking that concurrent prefill can wedge the "
            "driver.",
     .remedies = {both(give("--disable-overlap-schedule"), words("when the server hangs under load"))},
     .source = "test/registered/xpu in the SGLang repository",
     .device = "xpu",
     .since = v0_5(15),
     .need = RuleNeed::kNothing,
     .check = overlap,
     .fires_on = {{{.model = "llama-3.1-8b-instruct",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 2"}}},
     .quiet_on = {{{.model = "llama-3.1-8b-instruct",
                    .args = "--device xpu --attention-backend intel_xpu --tp-size 2 --disable-overlap-schedule"}}}},
};

}  // namespace

std::span<const Rule> communication_rules() { return kRules; }

}  // namespace preflight::rules
