// GR: XPU graphs and torch.compile. No graphs before 0.5.15.
#include <fmt/format.h>

#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

std::optional<Finding> graph_with_replicas(const LaunchFacts& f) {
  if (!f.decode_graph_full() || f.attention_dp() <= 1) return std::nullopt;
  return Finding{.message = fmt::format("a decode graph with attention data parallelism {}: the XPU graph runner does "
                                        "not synchronise its ranks",
                                        f.attention_dp())};
}

// Without replicas the same assertion meets launches whose attention input is scattered over the ranks.
std::optional<Finding> graph_with_scattered_input(const LaunchFacts& f) {
  if (!f.decode_graph_full() || f.attention_dp() > 1) return std::nullopt;
  if (f.exchanges_tokens()) {
    return Finding{.message = fmt::format("a decode graph with --moe-a2a-backend {}", f.text(Field::moe_a2a_backend)),
                   .field = Field::moe_a2a_backend};
  }
  if (f.integer(Field::moe_dense_tp_size, 0) == 1) {
    return Finding{.message = "a decode graph with --moe-dense-tp-size 1", .field = Field::moe_dense_tp_size};
  }
  return std::nullopt;
}

std::optional<Finding> graph_with_ranks_to_synchronise(const LaunchFacts& f) {
  const auto replicas = graph_with_replicas(f);
  return replicas ? replicas : graph_with_scattered_input(f);
}

std::optional<Finding> graph_with_memory_saver(const LaunchFacts& f) {
  if (!f.decode_graph_full() || !f.on(Field::enable_memory_saver)) return std::nullopt;
  return Finding{.message = "a decode graph together with --enable-memory-saver"};
}

std::optional<Finding> graph_with_two_batches(const LaunchFacts& f) {
  if (!f.decode_graph_full() || !f.on(Field::enable_two_batch_overlap)) return std::nullopt;
  return Finding{.message = "a decode graph together with --enable-two-batch-overlap"};
}

std::optional<Finding> graph_without_runner(const LaunchFacts& f) {
  const bool asked = f.is(Field::cuda_graph_backend_decode, "full") && f.given(Field::cuda_graph_backend_decode);
  if (!asked) return std::nullopt;
  return Finding{.message = "a decode graph was asked for, and 0.5.14 has none for XPU"};
}

std::optional<Finding> compile_without_graph(const LaunchFacts& f) {
  if (!f.on(Field::enable_torch_compile) || f.decode_graph_full()) return std::nullopt;
  return Finding{.message = "torch.compile has no effect without a decode graph",
                 .remedies = f.since(15) ? std::vector<Remedy>{} : std::vector{to_drop("--enable-torch-compile")}};
}

// Asked for, since XPU captures none by itself.
std::optional<Finding> graph_to_capture(const LaunchFacts& f) {
  if (!f.decode_graph_full()) return std::nullopt;
  return Finding{.message = "the decode graph is captured while the server starts, and a capture that fails ends it"};
}

constexpr std::string_view kRunner = "sglang/srt/hardware_backend/xpu/graph_runner/xpu_graph_runner.py";

}  // namespace

std::span<const Rule> graph_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "GR001",
       .refs = {"GR-X1"},
       .field = Field::cuda_graph_backend_decode,
       .summary = "a decode graph with ranks that must synchronise",
       .why = "An assertion when the graph runner is built.",
       .remedies = {give("--cuda-graph-backend-decode", "disabled")},
       .source = kRunner,
       .device = "xpu",
       .since = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = graph_with_ranks_to_synchronise,
       .fires_on = {{{.model = "deepseek-v2-lite-chat",
                      .args =
                          "--device xpu --tp-size 4 --dp-size 4 --enable-dp-attention --cuda-graph-backend-decode full "
                          "--moe-runner-backend triton"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat",
                      .args =
                          "--device xpu --tp-size 4 --cuda-graph-backend-decode full --moe-runner-backend triton"}}}},
      {.id = "GR002",
       .refs = {"GR-X2"},
       .field = Field::enable_memory_saver,
       .summary = "a decode graph with the memory saver",
       .why = "An assertion when the graph runner is built.",
       .remedies = {give("--cuda-graph-backend-decode", "disabled"), drop("--enable-memory-saver")},
       .source = kRunner,
       .since = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = graph_with_memory_saver,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --cuda-graph-backend-decode full --enable-memory-saver"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --cuda-graph-backend-decode full"}}}},
      {.id = "GR003",
       .refs = {"GR-X3"},
       .field = Field::enable_two_batch_overlap,
       .summary = "a decode graph with two-batch overlap",
       .why = "An assertion when the graph runner is built.",
       .remedies = {give("--cuda-graph-backend-decode", "disabled"), drop("--enable-two-batch-overlap")},
       .source = kRunner,
       .since = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = graph_with_two_batches},
      {.id = "GR004",
       .refs = {"GR-X4"},
       .severity = Severity::kWarning,
       .field = Field::cuda_graph_backend_decode,
       .summary = "a decode graph in 0.5.14",
       .why = "The option exists and the XPU runner does not: decode runs eagerly, without a message.",
       .remedies = {drop("--cuda-graph-backend-decode"), in_release("0.5.15")},
       .source = "sglang/srt/model_executor/model_runner.py",
       .device = "xpu",
       .since = v0_5(14),
       .until = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = graph_without_runner,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --cuda-graph-backend-decode full"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "GR005",
       .refs = {"GR-9"},
       .severity = Severity::kWarning,
       .field = Field::enable_torch_compile,
       .summary = "torch.compile without a decode graph",
       .why =
           "Compilation happens only while a graph is captured, and XPU captures none unless asked; before 0.5.15 it "
           "captures none at all.",
       .remedies = {give("--cuda-graph-backend-decode", "full"), drop("--enable-torch-compile")},
       .source = "sglang/srt/hardware_backend/xpu/graph_runner/xpu_graph_runner.py; before 0.5.15 "
                 "sglang/srt/model_executor/model_runner.py: init_device_graphs",
       .device = "xpu",
       .need = RuleNeed::kNothing,
       .check = compile_without_graph,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --enable-torch-compile"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-torch-compile --cuda-graph-backend-decode full",
                      .since = v0_5(15)}}}},
      {.id = "GR006",
       .severity = Severity::kInfo,
       .certainty = Certainty::kNeedsHardware,
       .field = Field::cuda_graph_backend_decode,
       .summary = "a decode graph that is to be captured on an Intel GPU",
       .why =
           "SGLang's message of it names what went wrong behind its colon, and its advice is written for CUDA. Whether "
           "a capture succeeds depends on the driver, torch and the kernels of the model: nothing here tells.",
       .remedies = {give("--cuda-graph-backend-decode", "disabled"), lower("--cuda-graph-max-bs-decode")},
       .source = kRunner,
       .device = "xpu",
       .since = v0_5(15),
       .need = RuleNeed::kNothing,
       .check = graph_to_capture,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --cuda-graph-backend-decode full"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
