// How fast launches are resolved inside one process: parsing, resolution and the outcome line, as `resolve --batch`
// does them. tests/bench/process_bench.py times whole processes.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "src/args/parse.h"
#include "src/facts/model_files.h"
#include "src/report/outcome_json.h"
#include "src/resolve/core/parsed_launch.h"
#include "src/resolve/core/pipeline.h"

namespace preflight {
namespace {

// MODEL OPTION…, over dense, latent-attention, hybrid, sliding-window and quantized models; some are refused.
constexpr const char* kLaunches[] = {
    "qwen3-8b",
    "qwen3-8b --attention-backend intel_xpu --page-size 32 --tp-size 2",
    "qwen3-32b --tp-size 4 --mem-fraction-static 0.85 --chunked-prefill-size 4096 --max-running-requests 64",
    "qwen3-30b-a3b-fp8 --tp-size 4 --ep-size 4 --decode-attention-backend intel_xpu",
    "deepseek-v3 --tp-size 8 --page-size 64 --enable-dp-attention --dp-size 8",
    "deepseek-v2-lite-chat --trust-remote-code --tp 2 --decode-attention-backend intel_xpu --page-size 128",
    "qwen3.5-9b --mamba-ssm-dtype float32 --disable-radix-cache",
    "qwen3-next-80b-a3b --tp-size 8 --speculative-algorithm NEXTN --speculative-num-steps 3",
    "gpt-oss-20b --attention-backend triton",
    "gemma-3-27b-it --tp-size 4 --context-length 32768 --swa-full-tokens-ratio 0.5",
    "llama-3.1-8b-instruct --speculative-algorithm EAGLE3 --speculative-num-draft-tokens 4",
    "llama-4-scout-17b-16e --tp-size 8 --kv-cache-dtype fp8_e4m3",
    "qwen3-8b-awq --quantization awq --dtype float16",
    "qwen3-8b --page-sise 64",
    "qwen3-8b --tp-size 2 --page-size x",
};

std::vector<std::vector<std::string>> command_lines() {
  std::vector<std::vector<std::string>> out;
  for (const char* text : kLaunches) {
    std::istringstream words(text);
    std::string word;
    words >> word;
    auto& argv = out.emplace_back();
    argv = {"--model-path", std::string(PREFLIGHT_SOURCE_DIR "/tests/data/models/") + word};
    while (words >> word) argv.push_back(word);
  }
  return out;
}

double resident_kib() {
  std::ifstream statm("/proc/self/statm");
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * 4;
}

// As a batch does it: all of them abreast.
std::size_t resolve_all(Release release, const std::vector<std::vector<std::string>>& command_lines,
                        facts::ModelSource& models) {
  std::vector<resolve::Unresolved> unresolved;
  std::vector<Launch> launches;
  for (const auto& argv : command_lines) {
    ParseOutcome parsed = args::parse(release, argv);
    if (auto* args = std::get_if<ServerArgs>(&parsed)) {
      unresolved.push_back({std::move(*args), models, DeviceFacts{}, {}});
    } else {
      launches.push_back(resolve::refused_by_parser(release, std::move(parsed)));
    }
  }
  for (Launch& launch : resolve::resolve_abreast(std::move(unresolved))) launches.push_back(std::move(launch));
  std::size_t bytes = 0;
  for (const Launch& launch : launches) bytes += report::outcome_json(launch, "id", {}).size();
  return bytes;
}

void resolve_launches(benchmark::State& state) {
  const Release release = v0_5(static_cast<int>(state.range(0)));
  const auto launches = command_lines();
  facts::ModelFiles models;
  resolve_all(release, launches, models);
  const double before = resident_kib();
  std::size_t bytes = 0;
  for (auto _ : state) {
    bytes += resolve_all(release, launches, models);
  }
  benchmark::DoNotOptimize(bytes);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * launches.size()));
  state.counters["growth_KiB"] = resident_kib() - before;
}
BENCHMARK(resolve_launches)->Arg(13)->Arg(23)->Unit(benchmark::kMicrosecond);

// The same with every model read anew: what a batch over ever new models costs.
void resolve_launches_of_new_models(benchmark::State& state) {
  const Release release = v0_5(static_cast<int>(state.range(0)));
  const auto launches = command_lines();
  for (auto _ : state) {
    facts::ModelFiles models;
    benchmark::DoNotOptimize(resolve_all(release, launches, models));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * launches.size()));
}
BENCHMARK(resolve_launches_of_new_models)->Arg(13)->Arg(23)->Unit(benchmark::kMicrosecond);

void parse_command_lines(benchmark::State& state) {
  const auto launches = command_lines();
  for (auto _ : state) {
    for (const auto& argv : launches) benchmark::DoNotOptimize(args::parse(v0_5(23), argv));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * launches.size()));
}
BENCHMARK(parse_command_lines)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace preflight

BENCHMARK_MAIN();
