// The table behind vllm_options.h.
#include "src/args/vllm_options.h"

namespace preflight::args {
namespace {

constexpr VllmOption kOptions[] = {
    {"--model", "--model-path", ""},
    {"--max-model-len", "--context-length", ""},
    {"--gpu-memory-utilization", "--mem-fraction-static",
     "weights and KV cache only, so the same number asks for less than vLLM's"},
    {"--tensor-parallel-size", "--tp-size", ""},
    {"--pipeline-parallel-size", "--pp-size", ""},
    {"--data-parallel-size", "--dp-size", ""},
    {"--decode-context-parallel-size", "--dcp-size", ""},
    {"--enable-expert-parallel", "--ep-size", "the number of expert-parallel ranks"},
    {"-tp", "--tp-size", ""},
    {"-pp", "--pp-size", ""},
    {"-dp", "--dp-size", ""},
    {"--max-num-seqs", "--max-running-requests", ""},
    {"--max-num-batched-tokens", "--chunked-prefill-size", "the largest prefill of one step"},
    {"--enforce-eager", "", "drop it: SGLang runs eagerly on XPU unless a decode graph is asked for"},
    {"--block-size", "--page-size", ""},
    {"--swap-space", "", "drop it: SGLang has no swap space"},
    {"--tokenizer", "--tokenizer-path", ""},
    {"--hf-overrides", "--json-model-override-args", ""},
    {"--no-enable-prefix-caching", "--disable-radix-cache", ""},
    {"--enable-prefix-caching", "", "drop it: the prefix cache is on by default"},
    {"--enable-chunked-prefill", "", "drop it: chunked prefill is on by default"},
    {"--no-enable-chunked-prefill", "--chunked-prefill-size", "-1 turns it off"},
    {"--enable-auto-tool-choice", "", "drop it: --tool-call-parser is enough"},
    {"--limit-mm-per-prompt", "--limit-mm-data-per-request", ""},
    {"--speculative-config", "--speculative-algorithm", "and the other --speculative options, one each"},
    {"--num-speculative-tokens", "--speculative-num-draft-tokens", ""},
    {"--speculative-model", "--speculative-draft-model-path", ""},
    {"--compilation-config", "--cuda-graph-config", ""},
    {"--distributed-executor-backend", "", "drop it: SGLang starts its own workers"},
    {"--disable-log-requests", "", "drop it: requests are not logged by default"},
    {"--async-scheduling", "", "drop it: the overlap schedule is on by default"},
    {"--kv-transfer-config", "--disaggregation-mode", "and --disaggregation-transfer-backend"},
    {"--runner", "--is-embedding", "for embedding models"},
    {"--task", "--is-embedding", "for embedding models"},
    {"--guided-decoding-backend", "--grammar-backend", ""},
    {"--seed", "--random-seed", ""},
    {"--max-loras", "--max-loras-per-batch", ""},
    {"--lora-modules", "--lora-paths", ""},
};

}  // namespace

std::span<const VllmOption> vllm_options() { return kOptions; }

const VllmOption* find_vllm_option(std::string_view name) {
  for (const VllmOption& o : kOptions) {
    if (o.vllm == name) return &o;
  }
  return nullptr;
}

}  // namespace preflight::args
