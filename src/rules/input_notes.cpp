// MD, SH, VL, RS, ND: what is said about the input before any rule of SGLang's applies. src/commands makes these
// findings; their records stand here so that `rules`, `explain` and the page of rules know them.
#include "src/rules/input_notes.h"

namespace preflight::rules {
namespace {

constexpr std::string_view kOwn = "xpu-preflight's own reading of the input";

}  // namespace

std::span<const Rule> input_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "MD001",
       .severity = Severity::kWarning,
       .field = Field::model_path,
       .summary = "nothing is known about the model",
       .why =
           "It is neither a directory with a config.json nor an id this build knows, so everything that depends on the "
           "model (head counts, MLA, memory, backends chosen by architecture) and the kernel are not checked.",
       .fix = "Give --model-config FILE with its config.json, or its facts: --mla or --no-mla, --fact num_q_heads=N, "
              "--fact num_kv_heads=N, --fact head_dim=N.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "MD002",
       .severity = Severity::kWarning,
       .summary = "facts about the model were not given",
       .why = "Rules that depend on them are not decided, and the kernel runs on stand-in shapes where it runs.",
       .fix = "Add --fact NAME=VALUE, or give --model-config FILE.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "MD003",
       .severity = Severity::kInfo,
       .field = Field::trust_remote_code,
       .summary = "the checkpoint's own configuration code was not run",
       .why =
           "With --trust-remote-code transformers asks the Python class that auto_map in config.json names. Here the "
           "values of config.json stand, and the plain values that the arguments of its constructor have; what else "
           "the class adds or derives is not known.",
       .fix = "--resolver python:EXE asks the SGLang installed there, which runs the code.",
       .source = "transformers: AutoConfig.from_pretrained",
       .need = RuleNeed::kNothing},
      {.id = "MD004",
       .severity = Severity::kError,
       .field = Field::model_path,
       .summary = "a weight file is missing or damaged",
       .why = "The loader opens every shard after the workers have started; a shard that is not there, or whose header "
              "does not match what follows it, ends the launch minutes later. Where no index names the shards, the "
              "server starts without the missing one, and those weights hold nothing.",
       .fix = "Download the model again, or the named files alone, and compare their sizes with the hub's.",
       .source = "srt/model_loader/weight_utils.py; the safetensors format",
       .need = RuleNeed::kNothing},
      {.id = "MD005",
       .severity = Severity::kError,
       .field = Field::lora_paths,
       .summary = "an adapter that cannot be served",
       .why =
           "SGLang reads each adapter's adapter_config.json while the workers start and refuses what it has no room or "
           "no code for: modules outside --lora-target-modules, DoRA, added tokens, other kinds of adapters. A rank "
           "above --max-lora-rank passes there and fails when the weights are copied for the first request.",
       .fix = "Leave --max-lora-rank and --lora-target-modules to the adapters, or widen them; leave out the adapter.",
       .source = "srt/lora/lora_manager.py, srt/lora/mem_pool.py",
       .need = RuleNeed::kNothing},
      {.id = "MD006",
       .field = Field::model_path,
       .summary = "the weight files do not hold what the model's class allocates, or what their index names",
       .why = "The class allocates its parameters after config.json and fills them by name. A tensor of another shape "
              "ends loading; a parameter that no file fills keeps what memory held, and the server answers fluent "
              "garbage.",
       .fix = "Take config.json and weights from one checkpoint; leave out what --json-model-override-args changes.",
       .source = "srt/models of the class: load_weights",
       .need = RuleNeed::kNothing},
      {.id = "MD007",
       .severity = Severity::kInfo,
       .field = Field::model_path,
       .summary = "the index of the weight files is here, and none of them",
       .why = "Sizes are estimated then, and a server that is started here from this folder ends with RuntimeError: "
              "Cannot find any model weights. A model that is named by its hub's id is downloaded first.",
       .fix = "Nothing, where the launch is for another machine; else download the files that the index names.",
       .source = "srt/model_loader/loader.py: DefaultModelLoader._prepare_weights",
       .need = RuleNeed::kNothing},
      {.id = "MD008",
       .severity = Severity::kWarning,
       .field = Field::tokenizer_path,
       .summary = "a file or folder that an option names is not here",
       .why =
           "On the machine that starts the server it has to be. An adapter or a tokenizer that is no folder is looked "
           "for on the hub, where a path is no id (HFValidationError); a chat template that is no file is a "
           "RuntimeError.",
       .fix = "The path of a file or folder that is there.",
       .source = "sglang/srt/parser/template_manager.py, sglang/srt/lora/lora_config.py; transformers: from_pretrained",
       .need = RuleNeed::kNothing},
      {.id = "MD009",
       .severity = Severity::kError,
       .field = Field::tokenizer_path,
       .summary = "the tokenizer's files are damaged or absent",
       .why =
           "The server reads them before it answers. One that is no JSON ends it; where none is there, the class's own "
           "tokenizer may be built with next to no vocabulary, and every prompt is noise.",
       .fix =
           "Download the tokenizer's files anew, name their folder with --tokenizer-path, or serve ids of tokens with "
           "--skip-tokenizer-init.",
       .source = "sglang/srt/utils/hf_transformers: get_tokenizer; transformers: AutoTokenizer.from_pretrained",
       .need = RuleNeed::kNothing,
       .doubtful = true},
      {.id = "MD010",
       .severity = Severity::kError,
       .field = Field::load_format,
       .summary = "the load format finds no weights in the model's folder",
       .why = "Each format's loader takes files of its own names alone and ends the workers where it finds none: "
              "RuntimeError, Cannot find any model weights; of sharded_state and gguf a ValueError.",
       .fix = "Drop --load-format, or name the one that the files are for; a GGUF file is named by its own path.",
       .source = "sglang/srt/model_loader/loader.py: _prepare_weights",
       .need = RuleNeed::kNothing},
      {.id = "MD011",
       .severity = Severity::kWarning,
       .field = Field::model_path,
       .summary = "a checkpoint that makes embeddings is served as one that generates text",
       .why = "SGLang goes by the architecture alone, and this one generates text. /v1/embeddings is refused then, and "
              "completions come from weights that were trained for something else.",
       .remedies = {remedy::give("--is-embedding")},
       .source = "sglang/srt/configs/model_config.py: is_generation_model; sentence-transformers: modules.json",
       .need = RuleNeed::kNothing},
      {.id = "SH001",
       .severity = Severity::kWarning,
       .summary = "a backslash that does not continue its line",
       .why = "A shell continues a line only when the backslash is its very last character.",
       .fix = "Remove what stands behind the backslash.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "SH002",
       .severity = Severity::kWarning,
       .summary = "a file of variables is not read",
       .why = "What docker run --env-file or a sourced file sets reaches the launch, and variables that SGLang reads "
              "change what it does.",
       .fix = "Give those variables with --env NAME=VALUE, and with --set NAME=VALUE what the command itself uses.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "SH003",
       .summary = "options of the launch are cut off from it",
       .why = "A comment behind a continued line, a blank behind the backslash or no backslash at all ends the command "
              "there. SGLang starts without the options behind it, and the shell then fails to run them as a command.",
       .fix = "Put the comment above the command, and a backslash at the very end of each line; --fix does both.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "SH004",
       .severity = Severity::kWarning,
       .summary = "a launch is named here that was not looked at",
       .why = "It stands where nothing that is followed runs it: behind the end of the script or a line that the shell "
              "cannot read, in a text for a program that is not known here, or in one that is not known as it stands.",
       .fix =
           "Mend what ends the script in front of it, where the finding names that. Else check that launch by itself: "
           "xpu-preflight check -- followed by its arguments.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "SH005",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .summary = "the launch's container is given no card",
       .why =
           "A container opens no device of its host that its text does not give it: torch.xpu finds none, and SGLang "
           "takes another device or ends. Cards are assumed for the rest of the report.",
       .fix = "docker run --device /dev/dri; in compose `devices: [/dev/dri]`; of a Pod a limit such as "
              "gpu.intel.com/xe: 1.",
       .source = "docker run --device; Compose specification (devices); Intel's device plugin",
       .need = RuleNeed::kNothing,
       .doubtful = true},
      {.id = "SH006",
       .severity = Severity::kWarning,
       .summary = "the launch's image is built for other devices than Intel's",
       .why = "Its torch knows no XPU: SGLang takes another device or ends. The launch is judged as one on Intel GPUs.",
       .fix = "The image of the release for Intel GPUs, whose tag ends in -xpu; or --device of what the image is for.",
       .source = "the image's tag; SGLang's installation page (docker)",
       .need = RuleNeed::kNothing,
       .doubtful = true},
      {.id = "SH007",
       .severity = Severity::kWarning,
       .summary = "a key beside the launch is misspelt or stands twice",
       .why =
           "What reads the file refuses it, or goes on without that key: what it says is no part of the launch that is "
           "judged.",
       .fix = "Write the key as the format has it, once.",
       .source = "Compose specification; Kubernetes API; GitHub's workflow syntax; systemd.exec, podman-systemd.unit; "
                 "Dockerfile reference; Nomad's job specification",
       .need = RuleNeed::kNothing},
      {.id = "SH008",
       .summary = "the release has no such module",
       .why = "python -m ends with ModuleNotFoundError before SGLang reads any option: benchmarks moved into "
              "sglang.benchmark, and their old names are gone since 0.5.21.",
       .fix = "Run the module that the finding names, or the release that has this one. A name that no release has is "
              "misspelt, or of another package.",
       .source = "sglang/bench_*.py and sglang/benchmark/ of the releases",
       .need = RuleNeed::kNothing},
      {.id = "SH009",
       .severity = Severity::kInfo,
       .summary = "something is started here that was not read",
       .why =
           "A script that is not there, a Makefile's recipes, services or units may start servers, too. Those are no "
           "part of what is told of this file.",
       .fix = "Give the file that holds them as well: xpu-preflight check FILE FILE.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "SH010",
       .severity = Severity::kWarning,
       .summary = "a test of the script cannot be read, and fails",
       .why =
           "[ is a command, and ] its last word: written onto the word beside it the shell says so on standard error "
           "and goes on as if the test were false.",
       .fix = "Blanks around [ and ]: [ -z \"$MODEL\" ].",
       .source = "POSIX: test; bash's manual: Bourne Shell Builtins",
       .need = RuleNeed::kNothing},
      {.id = "VL001",
       .severity = Severity::kWarning,
       .summary = "the command starts vLLM, not SGLang",
       .why =
           "Its common options are translated, so that the same launch can be checked in SGLang's terms. Numbers are "
           "carried over as they are; --gpu-memory-utilization counts more than --mem-fraction-static does.",
       .fix = "Read the translation, and launch with it.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "VL002",
       .severity = Severity::kWarning,
       .summary = "an option of vLLM is not translated",
       .why = "What the option asks for is not part of the launch that is checked.",
       .fix = "Look for SGLang's way with `explain`, or leave it out.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "RS001",
       .severity = Severity::kWarning,
       .summary = "the installed SGLang resolves the launch otherwise than this build",
       .why = "With --resolver both, each difference between the two is told.",
       .fix = "Trust the installed SGLang, and report the difference.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "RS002",
       .severity = Severity::kWarning,
       .summary = "the interpreter holds another SGLang release than the one checked",
       .why = "Rules are those of --sglang-version, resolved values those of the installed release.",
       .fix = "Choose the rules with --sglang-version, or install that release.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "RS003",
       .severity = Severity::kInfo,
       .summary = "the installed SGLang resolves the launch as this build does",
       .why = "With --resolver both, nothing differs: outcome, stage, warnings, fields and the chain of changes.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "RQ001",
       .summary = "a gate wants something to be known that is not",
       .why = "--require asks for it: what is assumed, or was not looked at, may not go through.",
       .fix = "Give what the message names, or leave its word out of --require.",
       .source = kOwn,
       .need = RuleNeed::kNothing},
      {.id = "ND001",
       .summary = "the commands of the nodes disagree",
       .why = "Every node resolves its own arguments, and nothing compares them at run time. Ranks then split the "
              "model or plan their steps differently: collectives wait for each other for ever, or parts do not fit.",
       .fix = "Give every node the same value. What only node 0's HTTP server and tokenizer read may differ.",
       .source =
           "sglang/srt/entrypoints/engine.py: each node builds ServerArgs of its own and starts its own schedulers",
       .need = RuleNeed::kNothing},
      {.id = "ND002",
       .field = Field::node_rank,
       .summary = "the node ranks are not complete",
       .why = "The process group forms when all --nnodes nodes have come, each under a rank of its own from 0.",
       .fix = "One command per node, with --node-rank 0 to --nnodes minus 1.",
       .source = "sglang/srt/entrypoints/engine.py: ranks are counted from --node-rank",
       .need = RuleNeed::kNothing},
      {.id = "ND003",
       .field = Field::tp_size,
       .summary = "the ranks do not fit the nodes",
       .why = "Each node starts the same number of ranks, one GPU each: whole pipeline stages when there are as many "
              "stages as nodes or more, else an even part of one stage. What is left over is never started, and the "
              "others wait.",
       .fix = "--pp-size a multiple of --nnodes, or --nnodes a multiple of --pp-size with --tp-size a multiple of the "
              "nodes of one stage; and at most the GPUs of a node on each.",
       .source = "sglang/srt/entrypoints/engine.py: _calculate_rank_ranges",
       .need = RuleNeed::kNothing},
      {.id = "ND004",
       .field = Field::dist_init_addr,
       .summary = "the nodes have no place to meet",
       .why = "The nodes meet at --dist-init-addr HOST:PORT, an address of node 0. Without it, with another port, or "
              "with a name that means each machine itself, every node waits alone.",
       .fix = "--dist-init-addr HOST:PORT of node 0, the same on every node.",
       .source = "sglang/srt/entrypoints/engine.py",
       .need = RuleNeed::kNothing},
      {.id = "ND005",
       .severity = Severity::kWarning,
       .summary = "the nodes plan or compute differently",
       .why =
           "Every rank's scheduler plans each step on its own, within its own limits: under load one rank may run what "
           "another holds back, and collectives then wait for ever. Other kernels on one node start, too, and mix "
           "their rounding.",
       .fix = "Give every node the same value.",
       .source =
           "sglang/srt/managers/scheduler.py; sglang/srt/mem_cache/kv_cache_configurator.py (0.5.23): pool sizes are "
           "levelled over pipeline stages only",
       .need = RuleNeed::kNothing},
      {.id = "ND006",
       .severity = Severity::kWarning,
       .field = Field::dist_init_addr,
       .summary = "the nodes name different meeting hosts",
       .why = "The nodes meet at one address of node 0. A machine may have several names and addresses, so other words "
              "can mean the same place; where they do not, every node waits alone.",
       .fix = "--dist-init-addr HOST:PORT of node 0, the same on every node.",
       .source = "sglang/srt/distributed/bootstrap.py: _resolve_dist_init_method; before 0.5.16, "
                 "sglang/srt/model_executor/model_runner.py",
       .need = RuleNeed::kNothing},
      {.id = "ND007",
       .summary = "a prefill and a decode server cannot hand a cache over",
       .why = "The decode server asks the prefill server for its page size and the dtype of its cache at the first "
              "request, and raises RuntimeError where they are not its own. Two transfer backends do not understand "
              "each other.",
       .fix = "Give both servers the same value.",
       .source = "sglang/srt/disaggregation/common/conn.py",
       .need = RuleNeed::kNothing},
      {.id = "ND008",
       .field = Field::port,
       .summary = "two servers of one machine listen on one port",
       .why =
           "The script, or compose with network_mode: host, starts both at once. The second cannot bind its HTTP port "
           "and ends.",
       .fix = "Give each server a --port of its own.",
       .source = "sglang/srt/entrypoints/http_server.py: uvicorn.run",
       .need = RuleNeed::kNothing},
      {.id = "ND009",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::base_gpu_id,
       .summary = "two servers of one machine run on one card",
       .why =
           "Each takes --mem-fraction-static of what it finds free. Both at once ask for more than the card has; one "
           "after the other, the second finds little left.",
       .fix = "Another ZE_AFFINITY_MASK or --base-gpu-id for one of them, or fractions that fit together.",
       .source = "sglang/srt/model_executor/model_runner.py: profile_max_num_token",
       .need = RuleNeed::kNothing},
      {.id = "HO001",
       .summary = "no Intel GPU that a launch could use",
       .why = "torch finds no XPU, and SGLang then takes another device or ends.",
       .fix = "Load the card's driver (xe or i915); in a container give --device /dev/dri.",
       .source = "Linux drm class; torch.xpu",
       .need = RuleNeed::kNothing,
       .doubtful = true},
      {.id = "HO002",
       .summary = "a render node may not be opened",
       .why = "The compute runtime opens /dev/dri/renderD*; without that right it reports no device.",
       .fix = "Add the user to the group render; in a container --group-add with that group's number.",
       .source = "/dev/dri; Intel compute runtime",
       .need = RuleNeed::kNothing,
       .doubtful = true},
      {.id = "HO003",
       .severity = Severity::kWarning,
       .summary = "/dev/shm is small",
       .why = "Ranks exchange data through shared memory; a container has 64 MiB of it unless told otherwise.",
       .fix = "docker run --shm-size 32g, or --ipc host.",
       .source = "SGLang's installation page (docker)",
       .need = RuleNeed::kNothing},
      {.id = "HO004",
       .severity = Severity::kWarning,
       .summary = "few files may be open",
       .why = "SGLang raises its own limit and goes on with what it gets; connections then fail under load.",
       .fix = "ulimit -Hn 65535, or docker run --ulimit nofile=65535.",
       .source = "sglang/srt/utils/common.py, set_ulimit",
       .need = RuleNeed::kNothing},
      {.id = "HO005",
       .field = Field::port,
       .summary = "the server's port is taken",
       .why = "The server opens its port after the model is loaded, and ends there.",
       .fix = "Another --port, or end what listens there.",
       .source = "sglang/srt/entrypoints/http_server.py",
       .need = RuleNeed::kNothing},
      {.id = "HO006",
       .severity = Severity::kWarning,
       .summary = "the disk is too small for the download",
       .why = "The model is downloaded before it is loaded; a full disk leaves half of it.",
       .fix = "HF_HOME or --download-dir on a larger disk.",
       .source = "huggingface_hub",
       .need = RuleNeed::kNothing},
      {.id = "HO007",
       .severity = Severity::kWarning,
       .summary = "the installed packages do not go together",
       .why = "What is missing or built for another device is imported when the server starts.",
       .fix = "Install SGLang for Intel GPUs anew, with its kernel package and torch for XPU.",
       .source = "SGLang's XPU page",
       .need = RuleNeed::kNothing,
       .doubtful = true},
      {.id = "HO020",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .summary = "a SYCL runtime of another oneAPI release is loaded first",
       .why = "Libraries in LD_LIBRARY_PATH, where setvars.sh puts oneAPI's, are loaded before those that torch came "
              "with; across releases torch then fails to import, for want of a version or a symbol.",
       .fix = "Start from a shell that has not sourced setvars.sh, or take that folder out of LD_LIBRARY_PATH.",
       .source = "pytorch/pytorch#149953, #143713",
       .need = RuleNeed::kNothing},
      {.id = "HO021",
       .severity = Severity::kWarning,
       .field = Field::numa_node,
       .summary = "numactl cannot bind the ranks",
       .why = "SGLang starts each rank through numactl. Up to 0.5.13 a rank that numactl refuses ends before Python "
              "starts; later releases warn and go on unbound.",
       .fix = "Install numactl, and name nodes that numactl --hardware lists.",
       .source = "sglang/srt/utils/numa_utils.py",
       .need = RuleNeed::kNothing},
      {.id = "HO022",
       .severity = Severity::kWarning,
       .field = Field::numa_node,
       .summary = "a rank is bound to another NUMA node than its card's",
       .why =
           "What host and card exchange then crosses the sockets. Where --numa-node is not given, SGLang looks up the "
           "card's own node since 0.5.20 and binds the rank to that.",
       .fix = "--numa-node with each card's own node, as /sys/class/drm/card*/device/numa_node has it.",
       .source = "sglang/srt/utils/numa_utils.py: get_numa_node_if_available",
       .need = RuleNeed::kNothing},
      {.id = "HO023",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .summary = "ranks may not duplicate each other's file descriptors",
       .why =
           "oneCCL passes memory handles by pidfd_getfd, a right to trace. It asks for that right among its own ranks, "
           "which Yama grants up to ptrace_scope 1; at 2 only CAP_SYS_PTRACE helps, at 3 nothing.",
       .fix = "sysctl kernel.yama.ptrace_scope=1, or at 2 the capability CAP_SYS_PTRACE.",
       .source = "oneapi-src/unified-memory-framework#979, vllm-project/vllm#48953, Linux Documentation LSM/Yama",
       .need = RuleNeed::kNothing},
      {.id = "HO024",
       .severity = Severity::kWarning,
       .certainty = Certainty::kLikely,
       .field = Field::disaggregation_transfer_backend,
       .summary = "little memory may be locked for RDMA",
       .why = "UCX, on which NIXL rests, turns RDMA off where less than 512 MiB may be locked, or fails to register "
              "buffers; docker hands 8 MiB down to a container.",
       .fix = "ulimit -l unlimited, docker run --ulimit memlock=-1, or LimitMEMLOCK=infinity of the service.",
       .source = "openucx/ucx#8085, openucx/ucx#8229, mlcommons/mlperf-automations#664",
       .need = RuleNeed::kNothing},
      {.id = "HO025",
       .field = Field::tp_size,
       .summary = "tensor parallelism over cards of unequal memory",
       .why = "Each rank compares its free memory with the least of all, before the weights are loaded, and ends in a "
              "RuntimeError where that is below 0.9 of its own.",
       .fix = "ZE_AFFINITY_MASK, --base-gpu-id or --gpu-id-step that leave cards alike; --pp-size in place of "
              "--tp-size; or SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0, with the smallest card's cache on all.",
       .source =
           "sglang/srt/distributed/bootstrap.py: _check_tp_memory_balance; sglang/srt/model_executor/model_runner.py "
           "before",
       .need = RuleNeed::kNothing},
  });
  return kRules;
}

}  // namespace preflight::rules
