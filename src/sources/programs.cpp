// Tested by tests/launch_command_test.cpp.
#include "src/sources/programs.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "src/args/option_index.h"
#include "src/base/limits.h"
#include "src/base/listed.h"
#include "src/sources/container_command.h"

namespace preflight::sources {
namespace {

constexpr std::string_view kModule = "sglang.launch_server";
constexpr std::string_view kVllmModule = "vllm.entrypoints.openai.api_server";

// Modules whose words are not launch_server's own, and why.
struct OtherModule {
  std::string_view name;
  std::string_view why;
};
constexpr std::array<OtherModule, 1> kOtherModules = {
    {{"sglang.srt.entrypoints.http_server",
      "whether this module starts a server by itself is not known: sglang.launch_server does"}}};

// What sglang's benchmarks take in any release: python/sglang/bench_one_batch.py, bench_offline_throughput.py,
// bench_one_batch_server.py, and from 0.5.15 on the modules of python/sglang/benchmark.
constexpr std::array<std::string_view, 3> kBatchFlags = {"--correctness-test", "--profile", "--profile-record-shapes"};
constexpr std::array<std::string_view, 14> kBatchValues = {
    "--run-name",           "--batch-size",      "--input-len",      "--output-len",
    "--prompt-filename",    "--result-filename", "--cut-len",        "--log-decode-step",
    "--profile-activities", "--profile-stage",   "--profile-prefix", "--profile-filename-prefix",
    "--profile-start-step", "--profile-steps"};
constexpr auto kOfflineFlags =
    std::to_array<std::string_view>({"--skip-warmup", "--do-not-exit", "--profile", "--apply-chat-template",
                                     "--disable-ignore-eos", "--return-logprob"});
constexpr auto kOfflineValues = std::to_array<std::string_view>({"--backend",
                                                                 "--result-filename",
                                                                 "--dataset-name",
                                                                 "--dataset-path",
                                                                 "--num-prompts",
                                                                 "--sharegpt-output-len",
                                                                 "--sharegpt-context-len",
                                                                 "--random-input-len",
                                                                 "--random-output-len",
                                                                 "--random-range-ratio",
                                                                 "--gen-num-groups",
                                                                 "--gen-prompts-per-group",
                                                                 "--gen-system-prompt-len",
                                                                 "--gen-question-len",
                                                                 "--gen-output-len",
                                                                 "--gsp-num-groups",
                                                                 "--gsp-prompts-per-group",
                                                                 "--gsp-system-prompt-len",
                                                                 "--gsp-question-len",
                                                                 "--gsp-output-len",
                                                                 "--seed",
                                                                 "--logprob-start-len",
                                                                 "--profile-activities",
                                                                 "--profile-steps",
                                                                 "--extra-request-body",
                                                                 "--prompt-suffix"});
constexpr auto kServedFlags = std::to_array<std::string_view>(
    {"--return-logprob", "--skip-warmup", "--show-report", "--profile", "--profile-by-stage", "--parallel-batch",
     "--no-append-to-github-summary", "--fake-prefill", "--enable-multi-batch", "--apply-chat-template",
     "--disable-ignore-eos", "--skip-token-capacity-check", "--flush-hicache-storage"});
constexpr auto kServedValues = std::to_array<std::string_view>({"--run-name",
                                                                "--batch-size",
                                                                "--input-len",
                                                                "--output-len",
                                                                "--temperature",
                                                                "--client-stream-interval",
                                                                "--input-len-step-percentage",
                                                                "--input-len-list",
                                                                "--base-url",
                                                                "--local-tokenizer-path",
                                                                "--profile-activities",
                                                                "--profile-start-step",
                                                                "--profile-steps",
                                                                "--profile-prefix",
                                                                "--profile-output-dir",
                                                                "--dataset-path",
                                                                "--dataset-name",
                                                                "--fixed-prompt-file",
                                                                "--gsp-num-groups",
                                                                "--gsp-system-prompt-len",
                                                                "--gsp-question-len",
                                                                "--gsp-output-len",
                                                                "--result-filename",
                                                                "--pydantic-result-filename",
                                                                "--seed",
                                                                "--cache-hit-rate",
                                                                "--backend",
                                                                "--server-args-for-metrics",
                                                                "--lora-name",
                                                                "--lora-request-distribution",
                                                                "--lora-zipf-alpha"});
// Dynamo's worker, components/src/dynamo/sglang/args.py and backend_args.py,
// common/configuration/groups/runtime_args.py: it hands all others to ServerArgs as they are.
constexpr auto kDynamoFlags = std::to_array<std::string_view>({"--use-sglang-tokenizer",
                                                               "--no-use-sglang-tokenizer",
                                                               "--multimodal-processor",
                                                               "--multimodal-encode-worker",
                                                               "--multimodal-worker",
                                                               "--embedding-worker",
                                                               "--image-diffusion-worker",
                                                               "--video-generation-worker",
                                                               "--dedicated-mm-encoder",
                                                               "--enable-multimodal",
                                                               "--fpm-trace",
                                                               "--no-fpm-trace",
                                                               "--enable-local-indexer",
                                                               "--no-enable-local-indexer",
                                                               "--durable-kv-events",
                                                               "--no-durable-kv-events",
                                                               "--exclude-tools-when-tool-choice-none",
                                                               "--no-exclude-tools-when-tool-choice-none",
                                                               "--multimodal-embedding-cache-publisher",
                                                               "--tcp-tls-insecure",
                                                               "--nats-tls-insecure"});
constexpr auto kDynamoValues = std::to_array<std::string_view>({"--endpoint",
                                                                "--migration-limit",
                                                                "--namespace",
                                                                "--kv-state-endpoint",
                                                                "--store-kv",
                                                                "--discovery-backend",
                                                                "--request-plane",
                                                                "--response-plane",
                                                                "--event-plane",
                                                                "--connector",
                                                                "--custom-jinja-template",
                                                                "--endpoint-types",
                                                                "--dump-config-to",
                                                                "--disagg-config",
                                                                "--disagg-config-key",
                                                                "--multimodal-embedding-cache-capacity-gb",
                                                                "--output-modalities",
                                                                "--media-output-fs-url",
                                                                "--media-output-http-url",
                                                                "--health-check-payload",
                                                                "--engine-request-limit"});
constexpr auto kDynamoChanging = std::to_array<std::string_view>(
    {"--multimodal-processor", "--multimodal-encode-worker", "--multimodal-worker", "--embedding-worker",
     "--image-diffusion-worker", "--video-generation-worker", "--dedicated-mm-encoder", "--enable-multimodal",
     "--fpm-trace", "--disagg-config", "--use-sglang-tokenizer", "--disaggregation-mode agg",
     "--disaggregation-mode pd", "--disaggregation-mode encode"});
// The router's launcher, sglang_router/launch_server.py: it starts --dp-size servers, each with the words of one.
constexpr std::array<std::string_view, 1> kRouterValues = {"--worker-urls"};
constexpr OwnOptions dynamo(std::string_view module) {
  return {.module = module,
          .flags = kDynamoFlags,
          .values = kDynamoValues,
          .prefix = "--dyn-",
          .changing = kDynamoChanging,
          .takes_any = true,
          .when = "as a worker of Dynamo"};
}
constexpr OwnOptions client(std::string_view module) {
  return {.module = module, .flags = kServedFlags, .values = kServedValues, .connecting = "--base-url"};
}
constexpr std::array<OwnOptions, 12> kLaunchers = {
    {{"sglang.bench_one_batch", kBatchFlags, kBatchValues},
     {"sglang.bench_latency", kBatchFlags, kBatchValues},
     {"sglang.bench_offline_throughput", kOfflineFlags, kOfflineValues},
     {"sglang.benchmark.one_batch", kBatchFlags, kBatchValues},
     {"sglang.benchmark.offline_throughput", kOfflineFlags, kOfflineValues},
     client("sglang.bench_one_batch_server"),
     client("sglang.benchmark.one_batch_server"),
     {.module = "sglang_router.launch_server",
      .flags = {},
      .values = kRouterValues,
      .prefix = "--router-",
      .when = "behind a router, once for each --dp-size"},
     dynamo("dynamo.sglang"),
     dynamo("dynamo.sglang.unified_main"),
     dynamo("dynamo.sglang.worker"),
     dynamo("dynamo.sglang.decode_worker")}};

const OwnOptions* own_options_of(std::string_view module) {
  const auto* const one = std::ranges::find(kLaunchers, module, &OwnOptions::module);
  return one == kLaunchers.end() ? nullptr : one;
}

bool is_python(std::string_view word) {
  std::string_view name = base_name(word);
  for (const std::string_view family : {"python", "pypy"}) {
    if (!name.starts_with(family)) continue;
    name.remove_prefix(family.size());
    return name.find_first_not_of("0123456789.t") == std::string_view::npos;
  }
  return false;
}

// Programs that take `-m MODULE` behind options of their own.
bool runs_modules(std::string_view program) {
  return program == "torchrun" || program == "uv" || program == "accelerate" || program == "ipexrun" ||
         program == "opentelemetry-instrument" || program == "ddtrace-run" || program == "debugpy" ||
         program == "coverage" || program == "viztracer" || program == "memray" || program == "scalene";
}

// Modules that run another one: python -m cProfile -m MODULE.
bool runs_modules_as_module(std::string_view module) {
  constexpr auto kThose = std::to_array<std::string_view>(
      {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch", "coverage", "cProfile",
       "profile", "trace", "debugpy", "viztracer", "memray", "scalene", "pdb", "ipdb"});
  return std::ranges::find(kThose, module) != kThose.end();
}

// A benchmark's name that no release has.
bool is_no_benchmark(std::string_view module) {
  constexpr auto kOthers = std::to_array<std::string_view>(
      {"bench_serving", "benchmark.bench_utils", "benchmark.datasets", "benchmark.deepseek_utils",
       "benchmark.dspark_sps_profiler", "benchmark.dspark_sts_fit", "benchmark.endpoint", "benchmark.rust_client",
       "benchmark.serving", "benchmark.steady_state", "benchmark.steady_state_serving", "benchmark.stream_metrics",
       "benchmark.utils"});
  constexpr std::string_view kPackage = "sglang.";
  if (!module.starts_with("sglang.bench_") && !module.starts_with("sglang.benchmark.")) return false;
  return own_options_of(module) == nullptr && std::ranges::none_of(kOthers, [&](std::string_view one) {
           return module.substr(kPackage.size()).starts_with(one);
         });
}

std::optional<ServerWords> of_module(std::string_view module, std::size_t first) {
  if (module == kModule) return ServerWords{first, false, false, {}};
  if (module == kVllmModule) return ServerWords{first, false, true, {}};
  for (const OtherModule& other : kOtherModules) {
    if (module == other.name) return ServerWords{first, false, false, other.why};
  }
  if (const OwnOptions* own = own_options_of(module))
    return ServerWords{first, false, false, {}, own, std::string(module)};
  if (is_no_benchmark(module)) return ServerWords{.first = first, .module = std::string(module)};
  return std::nullopt;
}

// `-m MODULE` behind the options of what runs modules.
std::optional<ServerWords> behind_module_option(const std::vector<ShellWord>& words, std::size_t from) {
  for (std::size_t i = from; i + 1 < words.size(); ++i) {
    if (words[i].text == "-m" || words[i].text == "--module") return of_module(words[i + 1].text, i + 2);
    if (base_name(words[i].text) == "launch_server.py") return ServerWords{i + 1, false, false, {}};
    if (is_python(words[i].text)) return std::nullopt;
  }
  return std::nullopt;
}

// `-m MODULE` or a path to launch_server.py behind the interpreter's own options.
std::optional<ServerWords> after_python(const std::vector<ShellWord>& words, std::size_t at) {
  const std::size_t i = behind_python_options(words, at);
  if (i >= words.size()) return std::nullopt;
  const std::string& w = words[i].text;
  if (w.size() < 2 || w[0] != '-')
    return base_name(w) == "launch_server.py" ? std::optional(ServerWords{i + 1, false, false, {}}) : std::nullopt;
  const auto taking = w.find_first_of("mc", 1);
  if (w.starts_with("--") || taking == std::string::npos || w[taking] == 'c') return std::nullopt;
  if (taking + 1 < w.size()) return of_module(std::string_view(w).substr(taking + 1), i + 1);
  if (i + 1 < words.size() && runs_modules_as_module(words[i + 1].text)) return behind_module_option(words, i + 2);
  return i + 1 < words.size() ? of_module(words[i + 1].text, i + 2) : std::nullopt;
}

bool has(const auto& list, std::string_view name) { return std::find(list.begin(), list.end(), name) != list.end(); }

// Of SGLang, in any release.
bool begins_an_option(std::string_view name) {
  return std::ranges::any_of(supported_releases(), [&](Release release) {
    return !args::OptionIndex::of(release).starting_with(name).empty();
  });
}

}  // namespace

namespace {

enum class OwnOption { kNone, kFlag, kValue };

// Which of its own this is; argparse takes the beginning of a name for the one that has it.
OwnOption own_option(std::string_view name, const OwnOptions& own, std::string& unclear) {
  if (has(own.flags, name)) return OwnOption::kFlag;
  if (has(own.values, name) || (!own.prefix.empty() && name.starts_with(own.prefix))) return OwnOption::kValue;
  if (name.size() <= 2) return OwnOption::kNone;
  const auto is_short = [&](std::string_view whole) { return whole.starts_with(name); };
  const auto flags = std::ranges::count_if(own.flags, is_short);
  const auto values = std::ranges::count_if(own.values, is_short);
  const bool servers = begins_an_option(name);
  if (flags + values == 1 && !servers) return flags == 1 ? OwnOption::kFlag : OwnOption::kValue;
  if (flags + values > 0 && !(own.takes_any && servers) && unclear.empty())
    unclear = fmt::format("{} may be short for an option of {}: write it in full", name, own.module);
  if (flags + values == 0 && !servers && own.takes_any && unclear.empty())
    unclear = fmt::format("{} is no option of SGLang: whether {} takes it is not known here", name, own.module);
  return OwnOption::kNone;
}

}  // namespace

std::vector<ShellWord> without_own_options(const std::vector<ShellWord>& words, std::size_t first,
                                           const OwnOptions& own, std::string& unclear) {
  std::vector<ShellWord> out;
  bool dropping = false;  // the values of one of its own
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::string_view word = words[i].text;
    if (!word.starts_with("--")) {
      if (!dropping) out.push_back(words[i]);
      continue;
    }
    const std::string_view name = word.substr(0, word.find('='));
    const bool open = name.find(kHole) != std::string_view::npos;
    const OwnOption which = open ? OwnOption::kNone : own_option(name, own, unclear);
    const bool apart = name == word && i + 1 < words.size();
    const std::string value = apart ? words[i + 1].text : words[i].text.substr(std::min(name.size() + 1, word.size()));
    const std::string with_value = fmt::format("{} {}", name, value);
    for (const std::string& one : {std::string(name), with_value}) {
      if (has(own.changing, one) && unclear.empty())
        unclear = fmt::format("{} of {} changes what the server is given", one, own.module);
    }
    dropping = which == OwnOption::kValue && name == word;
    if (which == OwnOption::kNone) out.push_back(words[i]);
  }
  return out;
}

std::string missing_module(std::string_view module, Release release) {
  struct Known {
    std::string_view module;
    Release since;
    Release until;
    std::string_view other;
  };
  const Known known[] = {{"sglang.bench_latency", v0_5(0), v0_5(0),
                          "sglang.bench_one_batch, or from 0.5.15 on sglang.benchmark.one_batch"},
                         {"sglang.bench_one_batch", v0_5(0), v0_5(21), "sglang.benchmark.one_batch"},
                         {"sglang.bench_offline_throughput", v0_5(0), v0_5(21), "sglang.benchmark.offline_throughput"},
                         {"sglang.benchmark.one_batch", v0_5(15), kNoEnd, "sglang.bench_one_batch"},
                         {"sglang.benchmark.offline_throughput", v0_5(15), kNoEnd, "sglang.bench_offline_throughput"},
                         {"sglang.benchmark.one_batch_server", v0_5(14), kNoEnd, "sglang.bench_one_batch_server"}};
  const auto* const one = std::ranges::find(known, module, &Known::module);
  if (is_no_benchmark(module))
    return fmt::format(
        "SGLang {} has no module {} (No module named …): no release of SGLang known here has this module",
        release.text(), module);
  if (one == std::end(known) || (one->since <= release && release < one->until)) return {};
  return fmt::format("SGLang {} has no module {} (No module named …): run {}", release.text(), module, one->other);
}

std::size_t behind_python_options(const std::vector<ShellWord>& words, std::size_t at) {
  std::size_t i = at + 1;
  for (; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w.size() < 2 || w[0] != '-') break;
    if (w == "--check-hash-based-pycs") ++i;
    if (w.starts_with("--")) continue;
    const auto taking = w.find_first_of("mcWX", 1);
    if (taking == std::string::npos) continue;
    if (w[taking] == 'm' || w[taking] == 'c') break;
    if (taking + 1 == w.size()) ++i;
  }
  return i;
}

std::optional<ServerWords> server_of_entry_point(const std::vector<ShellWord>& words, std::size_t at) {
  return words[at].text == "-m" && at + 1 < words.size() ? of_module(words[at + 1].text, at + 2) : std::nullopt;
}

std::optional<ServerWords> server_at(const std::vector<ShellWord>& words, std::size_t at) {
  const ShellWord& word = words[at];
  const std::string_view name = base_name(word.text);
  if (is_python(word.text) || !word.unknowns.empty()) {
    if (auto server = after_python(words, at)) return server;
  }
  if (runs_modules(name)) {
    if (auto server = behind_module_option(words, at + 1)) return server;
  }
  if ((name == "sglang" || name == "vllm") && at + 1 < words.size() && words[at + 1].text == "serve") {
    return ServerWords{at + 2, name == "sglang", name == "vllm", {}};
  }
  return std::nullopt;
}

bool begins_with_server(const std::vector<ShellWord>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at].text.find('=') != std::string::npos && !words[at].text.starts_with('-')) ++at;
  return at < words.size() && server_at(words, at).has_value();
}

bool runs_its_words(std::string_view program) {
  constexpr std::array<std::string_view, 88> kNames = {"exec",
                                                       "xpu-preflight",
                                                       "nohup",
                                                       "time",
                                                       "nice",
                                                       "ionice",
                                                       "chrt",
                                                       "stdbuf",
                                                       "setsid",
                                                       "timeout",
                                                       "numactl",
                                                       "taskset",
                                                       "prlimit",
                                                       "unshare",
                                                       "nsenter",
                                                       "strace",
                                                       "ltrace",
                                                       "gdb",
                                                       "valgrind",
                                                       "perf",
                                                       "nsys",
                                                       "ncu",
                                                       "vtune",
                                                       "unitrace",
                                                       "onetrace",
                                                       "py-spy",
                                                       "conda",
                                                       "mamba",
                                                       "micromamba",
                                                       "poetry",
                                                       "pipenv",
                                                       "uv",
                                                       "pixi",
                                                       "rye",
                                                       "hatch",
                                                       "systemd-run",
                                                       "kubectl",
                                                       "oc",
                                                       "ray",
                                                       "dotenv",
                                                       "doppler",
                                                       "chamber",
                                                       "infisical",
                                                       "op",
                                                       "flock",
                                                       "bwrap",
                                                       "firejail",
                                                       "gosu",
                                                       "su-exec",
                                                       "setpriv",
                                                       "chroot",
                                                       "cgexec",
                                                       "start-stop-daemon",
                                                       "tini",
                                                       "dumb-init",
                                                       "catatonit",
                                                       "unbuffer",
                                                       "xvfb-run",
                                                       "proxychains4",
                                                       "daemonize",
                                                       "salloc",
                                                       "srun",
                                                       "mpirun",
                                                       "mpiexec",
                                                       "mpiexec.hydra",
                                                       "bsub",
                                                       "lxc",
                                                       "distrobox",
                                                       "toolbox",
                                                       "enroot",
                                                       "ipexrun",
                                                       "torchrun",
                                                       "accelerate",
                                                       "opentelemetry-instrument",
                                                       "ddtrace-run",
                                                       "caffeinate",
                                                       "eatmydata",
                                                       "catchsegv",
                                                       "setarch",
                                                       "sudo",
                                                       "runuser",
                                                       "pdm",
                                                       "uvx",
                                                       "screen",
                                                       "busybox",
                                                       "dbus-run-session",
                                                       "s6-setuidgid",
                                                       "direnv"};
  return has(kNames, base_name(program)) || base_name(program) == "env" || base_name(program) == "doas" ||
         base_name(program) == "xargs";
}

bool only_speaks(std::string_view program) {
  constexpr std::array<std::string_view, 39> kNames = {
      "set",     "echo", "printf", "grep",  "egrep",  "fgrep",   "rg",     "pgrep",    "pkill", "kill",
      "killall", "ps",   "cat",    "which", "type",   "ls",      "pip",    "pip3",     "apt",   "apt-get",
      "git",     "curl", "wget",   "tee",   "sed",    "awk",     "logger", "alias",    "read",  "cd",
      "test",    "[",    "sleep",  "wait",  "export", "declare", "local",  "readonly", "unset"};
  return has(kNames, base_name(program)) || program.starts_with("log");
}

bool only_prints(std::string_view program) {
  constexpr std::array<std::string_view, 13> kNames = {"echo", "printf", "grep", "egrep", "fgrep",  "rg",   "pgrep",
                                                       "cat",  "tee",    "sed",  "awk",   "logger", "pkill"};
  return has(kNames, base_name(program)) || program.starts_with("log");
}

std::optional<std::size_t> program_behind(const std::vector<ShellWord>& words, std::size_t at) {
  // Our own: `exec` starts what stands behind it, `check` and the others look at it.
  if (base_name(words[at].text) == "xpu-preflight" && (at + 1 >= words.size() || words[at + 1].text != "exec")) {
    return std::nullopt;
  }
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const ShellWord& word = words[i];
    if (word.text.starts_with('-')) continue;
    if (server_at(words, i)) return i;
    if (is_shell(word.text) || is_container_tool(word.text) || runs_its_words(word.text)) return i;
    if (text_for_a_shell(words, i)) return i;
  }
  return std::nullopt;
}

namespace {

// Programs whose words in front of the one that they start are options alone, but for a few: what else stands there is
// a program of its own.
struct PlainRunner {
  std::string_view name;
  std::string_view valued;      // letters of options that take the next word
  std::string_view names = {};  // long ones that do
  std::string_view flags = {};  // or, where these are given: all long ones but them
  std::size_t positions = 0;    // words of its own behind the options
  std::string_view verb = {};   // that stands in front of its options
  std::string_view moves = {};  // options with which it runs its words in another folder
  bool runs_files = false;      // a file of Python as it stands
};
constexpr auto kRunners = std::to_array<PlainRunner>({
    {.name = "exec", .valued = "a"},
    {.name = "nohup", .valued = ""},
    {.name = "time", .valued = "fo", .names = "--format --output"},
    {.name = "setsid", .valued = ""},
    {.name = "env", .valued = "uCS", .names = "--unset --chdir --split-string", .moves = "-C --chdir"},
    {.name = "nice", .valued = "n", .names = "--adjustment"},
    {.name = "ionice", .valued = "cnp", .names = "--class --classdata --pid"},
    {.name = "stdbuf", .valued = "ioe", .names = "--input --output --error"},
    {.name = "timeout", .valued = "ks", .names = "--kill-after --signal", .positions = 1},
    {.name = "taskset", .valued = "", .positions = 1},
    {.name = "numactl",
     .valued = "iIpPNCmMlSwWb",
     .names = "--interleave --weighted-interleave --preferred --preferred-many --cpunodebind --physcpubind --membind"},
    {.name = "sudo",
     .valued = "ugCDhprRtTU",
     .names = "--user --group --close-from --chdir --host --prompt --role --chroot --type --command-timeout "
              "--other-user",
     .moves = "-D --chdir -i --login"},
    {.name = "doas", .valued = "uC"},
    {.name = "chroot", .valued = "", .names = "--groups --userspec", .positions = 1, .moves = "*"},
    {.name = "gosu", .valued = "", .positions = 1},
    {.name = "su-exec", .valued = "", .positions = 1},
    {.name = "setpriv",
     .valued = "",
     .names = "--ambient-caps --inh-caps --bounding-set --ruid --euid --rgid --egid --reuid --regid --groups "
              "--securebits --pdeathsig --ptracer --selinux-label --apparmor-profile --landlock-access "
              "--landlock-rule --seccomp-filter"},
    {.name = "tini", .valued = "pe"},
    {.name = "dumb-init", .valued = "r", .names = "--rewrite"},
    {.name = "catatonit", .valued = ""},
    {.name = "unbuffer", .valued = ""},
    {.name = "caffeinate", .valued = "tw"},
    {.name = "eatmydata", .valued = ""},
    {.name = "catchsegv", .valued = ""},
    {.name = "srun",
     .valued = "AbBcCdDeGiJLmMnNopPqrStTwWxE",
     .flags = "--exclusive --overcommit --overlap --label --pty --unbuffered --verbose --quiet --no-kill "
              "--oversubscribe --contiguous --spread-job --use-min-nodes --immediate --kill-on-bad-exit "
              "--preserve-env --test-only --hold --reboot --x11 --propagate --bcast --compress --external "
              "--interactive --disable-status --send-libs",
     .moves = "-D --chdir"},
    {.name = "torchrun",
     .valued = "t",
     .flags = "--standalone --no_python --no-python --run_path --run-path --module -m --use_env --use-env",
     .runs_files = true},
    {.name = "accelerate",
     .valued = "",
     .flags = "--cpu --multi_gpu --multi-gpu --tpu --ipex --use_xpu --use_deepspeed --use_fsdp --use_megatron_lm "
              "--quiet --debug --module --no_python --same_network --use_parallelism_config",
     .verb = "launch",
     .runs_files = true},
    {.name = "uv",
     .valued = "pPnCf",
     .names = "--with --with-editable --with-requirements --extra --no-extra --group --no-group --only-group "
              "--env-file --python --project --directory --package --index --default-index --index-url "
              "--extra-index-url --find-links --cache-dir --config-file --color --refresh-package "
              "--reinstall-package --upgrade-package --no-binary-package --no-build-package --config-setting "
              "--python-platform --resolution --prerelease --link-mode --index-strategy --keyring-provider",
     .verb = "run",
     .moves = "--directory",
     .runs_files = true},
    {.name = "busybox", .valued = ""},
    {.name = "dbus-run-session", .valued = "", .names = "--config-file --dbus-daemon"},
    {.name = "s6-setuidgid", .valued = "", .positions = 1},
    {.name = "direnv", .valued = "", .positions = 1, .verb = "exec", .moves = "*"},
    {.name = "poetry", .valued = "", .verb = "run"},
    {.name = "pipenv", .valued = "", .verb = "run"},
    {.name = "pdm", .valued = "p", .names = "--project --venv", .verb = "run", .moves = "-p --project"},
    {.name = "conda", .valued = "np", .names = "--name --prefix --cwd", .verb = "run", .moves = "--cwd"},
    {.name = "mamba", .valued = "np", .names = "--name --prefix --cwd", .verb = "run", .moves = "--cwd"},
    {.name = "micromamba",
     .valued = "nprae",
     .names = "--name --prefix --cwd --root-prefix",
     .verb = "run",
     .moves = "--cwd"},
});

const PlainRunner* runner_at(const std::vector<ShellWord>& words, std::size_t at) {
  const auto* const runner = std::ranges::find(kRunners, base_name(words[at].text), &PlainRunner::name);
  if (runner == kRunners.end()) return nullptr;
  const bool fits = runner->verb.empty() || (at + 1 < words.size() && words[at + 1].text == runner->verb);
  return fits ? runner : nullptr;
}

// Whether an option of its takes the word behind it.
bool takes_next(const PlainRunner& runner, std::string_view option) {
  if (!option.starts_with("--"))
    return option.size() > 1 && runner.valued.find(option.back()) != std::string_view::npos &&
           !is_among(runner.flags, option);
  if (option.find('=') != std::string_view::npos) return false;
  return runner.flags.empty() ? is_among(runner.names, option) : !is_among(runner.flags, option);
}

std::size_t behind_runner_options(const std::vector<ShellWord>& words, std::size_t at, std::size_t program,
                                  const PlainRunner& runner) {
  std::size_t i = at + (runner.verb.empty() ? 1 : 2);
  for (; i < program && words[i].text.starts_with('-'); ++i) {
    if (words[i].text == "--") return i + 1;
    if (takes_next(runner, words[i].text)) ++i;
  }
  return i;
}

}  // namespace

bool is_plain_runner(const std::vector<ShellWord>& words, std::size_t at) { return runner_at(words, at) != nullptr; }

bool runs_python_files(const std::vector<ShellWord>& words, std::size_t at) {
  const PlainRunner* runner = runner_at(words, at);
  return runner != nullptr && runner->runs_files;
}

std::string moving_option(const std::vector<ShellWord>& words, std::size_t at, std::size_t program) {
  const PlainRunner* runner = runner_at(words, at);
  if (runner != nullptr && runner->moves == "*") return std::string(runner->name);
  for (std::size_t i = at + 1; runner != nullptr && i < program; ++i) {
    const std::string_view w = words[i].text;
    const std::string_view name = w.starts_with("--") ? w.substr(0, w.find('=')) : w.substr(0, 2);
    if (w.size() > 1 && w[0] == '-' && is_among(runner->moves, name))
      return fmt::format("{} {}", base_name(words[at].text), name);
  }
  return {};
}

std::optional<ShellWord> folder_moved_to(const std::vector<ShellWord>& words) {
  constexpr auto kOptions = std::to_array<std::string_view>({"-C", "--chdir", "--directory", "--cwd"});
  std::optional<ShellWord> out;
  for (std::size_t at = 0; at < words.size();) {
    const PlainRunner* runner = runner_at(words, at);
    const auto next = runner == nullptr ? std::nullopt : program_between(words, at, words.size());
    if (!next || *next <= at) return out;
    if (runner->moves == "*") return std::nullopt;
    for (std::size_t i = at + 1; i < *next; ++i) {
      const std::string_view w = words[i].text;
      const std::size_t name =
          w.starts_with("--") ? std::min(w.find('='), w.size()) : std::min<std::size_t>(w.size(), 2);
      if (w.size() < 2 || w[0] != '-' || !is_among(runner->moves, w.substr(0, name))) continue;
      if (out || std::ranges::find(kOptions, w.substr(0, name)) == kOptions.end()) return std::nullopt;
      const bool glued = name < w.size();
      const std::size_t equals = glued && w[name] == '=' ? 1 : 0;
      if (!glued && i + 1 >= *next) return std::nullopt;
      out = glued ? ShellWord{tail(words[i], name + equals), words[i].begin, words[i].end} : words[++i];
    }
    at = *next;
  }
  return out;
}

std::optional<std::size_t> program_between(const std::vector<ShellWord>& words, std::size_t at, std::size_t program) {
  const PlainRunner* runner = runner_at(words, at);
  std::size_t i = program;
  if (runner != nullptr && (at == 0 || runner->name != "exec"))  // not that of `kubectl exec POD`
    i = behind_runner_options(words, at, program, *runner) + runner->positions;
  for (std::size_t k = at + 1; k < program && i >= program; ++k) {
    if (words[k].text == "--") i = k + 1;
  }
  while (i < program && words[i].text.find('=') != std::string::npos && !words[i].text.starts_with('-')) ++i;
  const bool named = i < program && words[i].unknowns.empty() && !words[i].text.empty();
  return named && !words[i].text.starts_with('-') ? std::optional(i) : std::nullopt;
}

namespace {

ShellText glued(const std::vector<ShellWord>& words, std::size_t from, std::size_t to, bool blanks) {
  ShellText out;
  for (std::size_t i = from; i < to && i < words.size(); ++i) {
    if (i > from && blanks) append(out, {" ", {words[i].begin}, {}});
    append(out, words[i]);
  }
  return out;
}

// Index of the first word behind options, of which those with a letter of `valued` take a value.
std::size_t behind_options(const std::vector<ShellWord>& words, std::size_t i, std::string_view valued) {
  for (; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "--") return i + 1;
    if (w.size() < 2 || w[0] != '-') return i;
    if (!w.starts_with("--") && valued.find(w.back()) != std::string_view::npos) ++i;
  }
  return i;
}

// The word behind -c.
std::optional<ShellText> behind_c(const std::vector<ShellWord>& words, std::size_t at) {
  for (std::size_t i = at + 1; i + 1 < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "-c" || w == "--command" || (w.size() > 2 && w[0] == '-' && w[1] != '-' && w.back() == 'c'))
      return words[i + 1];
  }
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (words[i].text.starts_with("--command=")) return tail(words[i], 10);
  }
  return std::nullopt;
}

std::optional<ShellText> of_tmux(const std::vector<ShellWord>& words, std::size_t at) {
  std::size_t i = behind_options(words, at + 1, "SLf");
  if (i >= words.size()) return std::nullopt;
  const std::string& verb = words[i].text;
  for (const std::string_view makes :
       {"new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "respawn-window"}) {
    if (verb != makes) continue;
    i = behind_options(words, i + 1, "snctxyFelp");
    if (i < words.size()) return glued(words, i, words.size(), true);
  }
  return std::nullopt;
}

// flock [OPTIONS] FILE -c TEXT
std::optional<ShellText> of_flock(const std::vector<ShellWord>& words, std::size_t at) {
  std::size_t i = at + 1;
  for (; i < words.size() && words[i].text.starts_with('-'); ++i) {
    const std::string& w = words[i].text;
    if (w == "-w" || w == "-E" || w == "--timeout" || w == "--wait" || w == "--conflict-exit-code") ++i;
  }
  const bool text = i + 2 < words.size() && (words[i + 1].text == "-c" || words[i + 1].text == "--command");
  return text ? std::optional<ShellText>(words[i + 2]) : std::nullopt;
}

// sky exec CLUSTER TEXT, sky launch TEXT: what the words are glued to runs on the cluster. Options that set variables
// are not followed.
std::optional<ShellText> of_sky(const std::vector<ShellWord>& words, std::size_t at) {
  if (at + 1 >= words.size() || (words[at + 1].text != "exec" && words[at + 1].text != "launch")) return std::nullopt;
  constexpr std::string_view kValued =
      "--cluster --name --workdir --gpus --cpus --memory --num-nodes --cloud --region --zone";
  std::size_t i = at + 2;
  bool on = words[at + 1].text == "launch";  // which takes no cluster in front
  for (; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w.starts_with("--env") || w.starts_with("--secret")) return std::nullopt;
    if (w == "--") {
      ++i;
      break;
    }
    if (!w.starts_with('-')) {
      if (std::exchange(on, true)) break;
      continue;
    }
    if (w == "-c") on = true;
    if (w == "-c" || w == "-n" || is_among(kValued, w)) ++i;
  }
  if (i >= words.size() || words[i].text.ends_with(".yaml") || words[i].text.ends_with(".yml")) return std::nullopt;
  return glued(words, i, words.size(), true);
}

}  // namespace

std::optional<ShellText> text_for_a_shell(const std::vector<ShellWord>& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  if (name == "ssh") {
    const std::size_t host = behind_options(words, at + 1, "pilobcDEeFIJLmOQRSWwB");
    if (host + 1 < words.size()) return glued(words, host + 1, words.size(), true);
  } else if (name == "tmux") {
    return of_tmux(words, at);
  } else if (name == "screen") {
    const std::size_t i = behind_options(words, at + 1, "SctTpe");
    if (i < words.size() && !words[i].text.starts_with('-')) {
      if (i + 1 == words.size()) return words[i];
      return std::nullopt;
    }
  } else if (name == "su" || name == "runuser" || name == "script" || name == "sg") {
    return behind_c(words, at);
  } else if (name == "flock") {
    return of_flock(words, at);
  } else if (name == "nix-shell") {
    for (std::size_t i = at + 1; i + 1 < words.size(); ++i) {
      if (words[i].text == "--run" || words[i].text == "--command") return words[i + 1];
    }
  } else if (name == "sky") {
    return of_sky(words, at);
  } else if (name == "watch") {
    const std::size_t i = behind_options(words, at + 1, "n");
    if (i < words.size()) return glued(words, i, words.size(), true);
  } else if (name == "sbatch" || name == "bsub" || name == "qsub") {
    for (std::size_t i = at + 1; i < words.size(); ++i) {
      if (words[i].text.starts_with("--wrap=")) return tail(words[i], 7);
      if (words[i].text == "--wrap" && i + 1 < words.size()) return words[i + 1];
    }
  } else if (name == "env") {
    for (std::size_t i = at + 1; i + 1 < words.size() && words[i].text.starts_with('-'); ++i) {
      if (words[i].text == "-S") return glued(words, i + 1, words.size(), true);
    }
  }
  return std::nullopt;
}

bool leaves_machine(std::string_view program) {
  const std::string_view name = base_name(program);
  return name == "ssh" || name == "kubectl" || name == "oc" || name == "lxc" || name == "machinectl" || name == "sky";
}

bool starts_afresh(const std::vector<ShellWord>& words, std::size_t at) {
  const std::string_view name = base_name(words[at].text);
  if (leaves_machine(name)) return true;
  const auto given = [&](std::initializer_list<std::string_view> options) {
    for (std::size_t i = at + 1; i < words.size() && !server_at(words, i) && !is_shell(words[i].text); ++i) {
      if (std::find(options.begin(), options.end(), words[i].text) != options.end()) return true;
    }
    return false;
  };
  if (name == "systemd-run") return !given({"--scope"});
  if (name == "su" || name == "runuser") return given({"-", "-l", "--login"});
  if (name == "setpriv") return given({"--reset-env"});
  if (name != "srun" && name != "sbatch") return false;
  for (std::size_t i = at + 1; i < words.size() && words[i].text.starts_with('-'); ++i) {
    const std::string& w = words[i].text;
    if (w.starts_with("--export=")) return !w.starts_with("--export=ALL");
  }
  return false;
}

namespace {

// NAME=VALUE, or NAME with the value it has here.
void hand_over(const ShellText& word, const Values& host, Values& added) {
  if (word.text.find('=') != std::string::npos) return assign(word, added);
  if (const auto it = host.find(word.text); it != host.end()) added.insert_or_assign(it->first, it->second);
}

}  // namespace

std::size_t own_variables(const std::vector<ShellWord>& words, std::size_t i, std::size_t tool, std::size_t program,
                          const Values& host, Values& added) {
  const std::string_view name = base_name(words[tool].text);
  const std::string& w = words[i].text;
  constexpr std::string_view kExport = "--export=";
  if (w.starts_with(kExport) && (name == "srun" || name == "sbatch")) {
    for (std::size_t from = kExport.size(); from < w.size();) {
      const std::size_t end = std::min(w.find(',', from), w.size());
      hand_over(slice(words[i], from, end), host, added);
      from = end + 1;
    }
    return 1;
  }
  const bool unit = name == "systemd-run";
  const bool image = name == "enroot" || name == "kubectl" || name == "oc";
  if (!unit && !image) return 0;
  const std::string_view option = unit ? "--setenv" : "--env";
  const std::string_view letter = unit ? "-E" : "-e";
  if ((w == option || (w == letter && name != "kubectl")) && i + 1 < program) {
    hand_over(words[i + 1], host, added);
    return 2;
  }
  if (w.starts_with(option) && w.size() > option.size() && w[option.size()] == '=') {
    hand_over(tail(words[i], option.size() + 1), host, added);
    return 1;
  }
  if (w.starts_with(letter) && w.size() > letter.size() && w.find('=') != std::string::npos) {
    hand_over(tail(words[i], letter.size()), host, added);
    return 1;
  }
  return 0;
}

}  // namespace preflight::sources
