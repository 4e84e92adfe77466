// DC: decode context parallelism and collectives.
#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

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
  return Finding{.message = fmt::format("--dcp-size {} with a KV cache in {} on intel_xpu", f.dcp(), dtype)};
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

// Before 0.5.20 a class shares out its prompts itself, or is on a list of those that the runner does it for.
bool class_shares_prompts(const LaunchFacts& f) {
  if (f.since(20)) return true;
  if (has_class(f.model(), {"Qwen3MoeForCausalLM"})) return true;
  if (f.since(13) && f.on(Field::enable_prefill_context_parallel) &&
      has_class(f.model(), {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"}))
    return true;
  const bool by_runner = f.since(14) && f.env_on("SGLANG_ENABLE_CP_V2");
  const auto given = f.launch().env.find("SGLANG_ENABLE_CP_V2");
  const bool listed = f.since(16) && given == f.launch().env.end() &&
                      has_class(f.model(), {"DeepseekV3ForCausalLM", "GptOssForCausalLM", "MiMoV2ForCausalLM",
                                            "MiMoV2FlashForCausalLM"});
  return by_runner || listed;
}

struct TypedOption {
  Field field;
  std::string name;
};

// The options that ask for it, as they were typed: since 0.5.14 the older names are carried over to a new one.
std::vector<TypedOption> options_of_shared_prompts(const LaunchFacts& f) {
  std::vector<TypedOption> out;
  for (const Field field :
       {Field::enable_prefill_cp, Field::enable_prefill_context_parallel, Field::enable_dsa_prefill_context_parallel}) {
    if (const GivenOption* given = f.launch().args.last_given(field)) {
      out.push_back({field, std::string(given->option)});
    }
  }
  if (out.empty() && f.since(14)) out.push_back({Field::enable_prefill_cp, "--enable-prefill-cp"});
  if (out.empty()) out.push_back({Field::enable_prefill_context_parallel, "--enable-prefill-context-parallel"});
  return out;
}

// Most classes that share one group of ranks for contexts and tensors gather the parts themselves.
bool gathers_its_own_parts(const LaunchFacts& f) {
  return f.on(Field::enable_cp_tp_group_sharing) && !has_class(f.model(), {"Glm5NextForConditionalGeneration"});
}

std::optional<Finding> shared_prompts(const LaunchFacts& f) {
  const std::int64_t ranks = f.tp() / (f.attention_dp() * f.attention_tp());  // that share a prompt
  const bool asked = f.on(Field::enable_prefill_cp) || f.on(Field::enable_prefill_context_parallel);
  if (!asked || ranks <= 1 || gathers_its_own_parts(f) || !class_shares_prompts(f)) return std::nullopt;
  const std::vector<TypedOption> options = options_of_shared_prompts(f);
  Remedy without = to_drop(options.front().name);
  for (std::size_t i = 1; i < options.size(); ++i) without = together({without, to_drop(options[i].name)});
  return Finding{.message = fmt::format("{} over {} ranks: the gathering of their parts asks for a CUDA stream",
                                        options.front().name, ranks),
                 .field = options.front().field,
                 .remedies = {together({without, to_drop("--attn-cp-size")})}};
}

// Classes whose layers are run in two halves of a batch, and those that try it without a plan for their layers.
std::optional<Finding> two_batches(const LaunchFacts& f) {
  if (!f.on(Field::enable_two_batch_overlap) || f.attention_dp() <= 1) return std::nullopt;
  if (has_class(f.model(),
                {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM",
                 "MistralLarge3ForCausalLM", "KimiVLForConditionalGeneration", "KimiK25ForConditionalGeneration",
                 "Qwen3MoeForCausalLM", "MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"})) {
    return Finding{.message =
                       "--enable-two-batch-overlap plans its stages by the properties of a CUDA device: "
                       "AssertionError"};
  }
  if (has_class(f.model(), {"Qwen2MoeForCausalLM", "Glm4MoeForCausalLM", "Glm4vMoeForConditionalGeneration",
                            "Glm4MoeLiteForCausalLM", "Glm5NextForConditionalGeneration", "MiniMaxM2ForCausalLM",
                            "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration",
                            "MellumForCausalLM", "Dots3NoteForCausalLM"})) {
    return Finding{.message = "--enable-two-batch-overlap has no stages for this model's layers: NotImplementedError"};
  }
  return std::nullopt;
}

// tp_worker.py asserts what is left; 0.5.23 leaves each group one.
std::optional<Finding> no_request_each(const LaunchFacts& f) {
  const std::int64_t asked = f.integer(Field::max_running_requests, 0);
  const std::int64_t groups = f.attention_dp();
  if (asked < 1 || asked >= groups) return std::nullopt;
  return Finding{
      .message = fmt::format("--max-running-requests {} over {} attention groups leaves none to each", asked, groups),
      .remedies = {to_give("--max-running-requests", {std::to_string(groups)}), with_release("0.5.23")}};
}

constexpr std::string_view kBackend = "sglang/srt/layers/attention/xpu_backend.py";

}  // namespace

std::span<const Rule> communication_rules() {
  static const auto kRules = std::to_array<Rule>({
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
                      .args =
                          "--device xpu --attention-backend intel_xpu --tp-size 2 --dcp-size 2 --disable-radix-cache "
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
      {.id = "DC007",
       .field = Field::enable_prefill_cp,
       .summary = "prompts shared out over ranks on an Intel GPU",
       .why =
           "The first prompt that is long enough to be shared out ends every rank: AssertionError, torch is asked for "
           "a CUDA stream.",
       .remedies = {both(drop("--enable-prefill-cp"), drop("--attn-cp-size"))},
       .source = "sglang/srt/model_executor/runner/eager_runner.py, sglang/srt/layers/cp; before 0.5.20 also "
                 "sglang/srt/models: qwen3_moe.py, qwen2_moe.py, deepseek_v2.py",
       .device = "xpu",
       .check = shared_prompts,
       .fires_on = {{{.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --attn-cp-size 4 --enable-prefill-cp --cp-strategy zigzag",
                      .since = v0_5(14)},
                     {.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 4 --attn-cp-size 4 --enable-prefill-cp --cp-strategy interleave",
                      .since = v0_5(20)}}},
       .quiet_on = {{{.model = "qwen3-30b-a3b", .args = "--device xpu --tp-size 4"}}}},
      {.id = "DC008",
       .field = Field::enable_two_batch_overlap,
       .summary = "two-batch overlap on an Intel GPU",
       .why = "The first batch of prompts that is cut in two ends every rank.",
       .remedies = {drop("--enable-two-batch-overlap")},
       .source = "sglang/srt/batch_overlap/operations_strategy.py",
       .device = "xpu",
       .check = two_batches,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --tp-size 4 --dp-size 4 --enable-dp-attention --enable-two-batch-overlap",
                      .since = v0_5(15),
                      .until = v0_5(22)},
                     {.model = "qwen3-30b-a3b",
                      .args = "--device xpu --tp-size 4 --attn-dp-size 4 --enable-dp-attention "
                              "--enable-two-batch-overlap",
                      .since = v0_5(22)}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat",
                      .args = "--device xpu --tp-size 4 --dp-size 4 --enable-dp-attention"}}}},
      {.id = "DC028",
       .field = Field::max_running_requests,
       .summary = "fewer requests than attention groups",
       .why = "Each group takes an even share, rounded down, and a worker that may run none ends once the weights are "
              "loaded: AssertionError in tp_worker.py.",
       .remedies = {words("--max-running-requests with a request for each group"), in_release("0.5.23")},
       .source = "sglang/srt/managers/tp_worker.py, resolve_max_num_reqs of sglang/srt/mem_cache/"
                 "kv_cache_configurator.py; before 0.5.16 model_runner_kv_cache_mixin.py",
       .until = v0_5(23),
       .need = RuleNeed::kNothing,
       .check = no_request_each,
       .fires_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 4 --dp-size 4 --enable-dp-attention --max-running-requests 3"}}},
       .quiet_on = {{{.model = "qwen3-8b",
                      .args = "--device xpu --tp-size 4 --dp-size 4 --enable-dp-attention --max-running-requests 4"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
