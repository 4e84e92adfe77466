// MD, SH, RS, ND: what is said about the input before any rule of SGLang's applies. src/commands makes these findings;
// their records stand here so that `rules`, `explain` and the page of rules know them.
#include "src/rules/input_notes.h"

namespace preflight::rules {
namespace {

constexpr std::string_view kOwn = "xpu-preflight's own reading of the input";

const Rule kRules[] = {
    {.id = "MD001",
     .severity = Severity::kWarning,
     .field = Field::model_path,
     .summary = "nothing is known about the model",
     .why =
         "It is neither a directory with a config.json nor an id this build knows, so everything that depends on the "
         "model (head counts, MLA, memory, backends chosen by architecture) and the kernel are not checked.",
     .fix =
         "Give --model-config FILE with its config.json, or its facts: --mla or --no-mla, --fact num_q_heads=N, --fact "
         "num_kv_heads=N, --fact head_dim=N.",
     .source = kOwn,
     .need = RuleNeed::kNothing},
    {.id = "MD002",
     .severity = Severity::kWarning,
     .summary = "facts about the model were not given",
     .why = "Rules that depend on them are not decided, and the kernel runs on stand-in shapes where it runs.",
     .fix = "Add --fact NAME=VALUE, or give --model-config FILE.",
     .source = kOwn,
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
     .summary = "a file of environment variables is not read",
     .why = "What docker run --env-file sets reaches the launch, and variables that SGLang reads change what it does.",
     .fix = "Give those variables with --env NAME=VALUE, and with --set NAME=VALUE what the command itself uses.",
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
    {.id = "ND001",
     .summary = "the commands of the nodes disagree",
     .why =
         "Every node resolves its own arguments; what differs is not compared at run time. Collectives then wait for "
         "each other for ever, or ranks hold parts that do not fit.",
     .fix = "Give every node the same options but --node-rank, --host and --port.",
     .source = "sglang/srt/entrypoints/engine.py: each node builds ServerArgs of its own",
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
     .why = "Each node runs the same number of ranks, one GPU each.",
     .fix = "--tp-size times --pp-size a multiple of --nnodes, and at most the GPUs of a node each.",
     .source = "sglang/srt/server_args.py: check_server_args; sglang/srt/entrypoints/engine.py",
     .need = RuleNeed::kNothing},
    {.id = "ND004",
     .field = Field::dist_init_addr,
     .summary = "the nodes have no place to meet",
     .why = "Without --dist-init-addr HOST:PORT every node waits at its own address.",
     .fix = "--dist-init-addr HOST:PORT of node 0, the same on every node.",
     .source = "sglang/srt/entrypoints/engine.py",
     .need = RuleNeed::kNothing},
};

}  // namespace

std::span<const Rule> input_rules() { return kRules; }

}  // namespace preflight::rules
