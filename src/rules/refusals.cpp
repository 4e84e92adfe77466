// RF: SGLang refuses the launch. The exception is reported as it is; where its cause is known, a rule names it.
//
// The step that refuses names the rule (preflight/refusal_rule.h); a refusal of the real resolver finds its rule by
// upstream's words (src/resolve/core/refusal_sites.h). A rule's check is asked for such a refusal alone and says what
// the finding points at; RF001 has the rest.
#include "src/rules/refusals.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <span>
#include <string>

#include <fmt/format.h>

#include "preflight/refusal_rule.h"
#include "src/base/limits.h"
#include "src/facts/hub_name.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"
#include "src/rules/remedy_words.h"

namespace preflight::rules {
namespace {

std::optional<Finding> mla_prefill(const LaunchFacts& f) { return Finding{.field = f.prefill_field()}; }

// A draft of one branch: each step adds a token.
Remedy chain_of(std::int64_t steps) {
  if (steps > limits::kOptionCount) steps = 3;
  return together({to_give("--speculative-num-steps", {std::to_string(steps)}),
                   to_give("--speculative-eagle-topk", {"1"}),
                   to_give("--speculative-num-draft-tokens", {std::to_string(steps + 1)})});
}

// NGRAM's branches are its breadth, 10 where it is not given; no backend of an Intel GPU verifies them over pages.
Finding ngram_tree(const LaunchFacts& f) {
  const Remedy chain = to_give("--speculative-ngram-max-bfs-breadth", {"1"});
  if (f.given(Field::page_size)) {
    return {.field = Field::page_size, .remedies = {to_give("--page-size", {"1"}), chain}};
  }
  return {.field = f.given(Field::speculative_ngram_max_bfs_breadth) ? Field::speculative_ngram_max_bfs_breadth
                                                                     : Field::speculative_algorithm,
          .remedies = {chain, to_give("--attention-backend", {"triton"})}};
}

std::optional<Finding> tree_with_pages(const LaunchFacts& f) {
  if (f.algorithm() == "NGRAM") return ngram_tree(f);
  const std::int64_t given = f.integer(Field::speculative_num_steps, 0);
  const std::int64_t steps = given > 0 ? given : 3;
  return Finding{.field = f.given(Field::speculative_eagle_topk) ? Field::speculative_eagle_topk : Field::page_size,
                 .remedies = {chain_of(steps), to_give("--attention-backend", {"triton"})}};
}

// The three sizes of a draft are given together or not at all.
std::optional<Finding> sizes_in_part(const LaunchFacts& f) {
  Remedy none;
  for (const Field field :
       {Field::speculative_num_steps, Field::speculative_eagle_topk, Field::speculative_num_draft_tokens}) {
    if (const GivenOption* given = f.launch().args.last_given(field)) {
      none = together({none, to_drop(std::string(given->option))});
    }
  }
  const std::int64_t steps = f.integer(Field::speculative_num_steps, 0);
  const std::int64_t tokens = f.integer(Field::speculative_num_draft_tokens, 0);
  Finding finding{.remedies = {chain_of(steps > 0 ? steps : tokens > 1 ? tokens - 1 : 3)}};
  if (!none.steps.empty()) finding.remedies.push_back(std::move(none));
  return finding;
}

std::optional<Finding> algorithm_for_others(const LaunchFacts& f) {
  const std::string a = f.algorithm();
  const Release first = a == "NGRAM" ? v0_5(21) : a == "DSPARK" ? v0_5(23) : v0_5(20);
  if (f.release() >= first) return Finding{};  // refused for another device than XPU
  return Finding{.remedies = {with_release(first.text()), to_drop("--speculative-algorithm")}};
}

// The chunk in whole pages, of each attention replica where these share it: the nearer one first.
std::vector<std::string> whole_pages(const LaunchFacts& f) {
  const std::int64_t page = f.page_size();
  const std::int64_t groups = std::max<std::int64_t>(1, f.attention_dp());
  const std::int64_t chunk = f.integer(Field::chunked_prefill_size, 0);
  std::vector<std::string> list;
  if (page <= 0 || page > limits::kOptionCount || groups > limits::kOptionCount || chunk > limits::kOptionCount)
    return list;
  const std::int64_t unit = page * groups;
  list.push_back(std::to_string((chunk / unit + 1) * unit));
  if (chunk >= unit) list.push_back(std::to_string(chunk / unit * unit));
  if (2 * (chunk % unit) < unit) std::ranges::reverse(list);
  return list;
}

std::optional<Finding> chunk_in_pages(const LaunchFacts& f) {
  std::vector<std::string> sizes = whole_pages(f);
  if (sizes.empty()) return Finding{};
  return Finding{.remedies = {to_give("--chunked-prefill-size", std::move(sizes))}};
}

std::optional<Finding> hybrid_cache(const LaunchFacts& f) {
  Finding finding{.field = f.given(Field::page_size) ? Field::page_size : Field::disable_radix_cache};
  if (f.page_size() > 1 && !f.mamba_strategy().starts_with("extra_buffer")) finding.extra_refs = {"MB-7"};
  return finding;
}

// The method asked for, where one is, else the checkpoint's own: of those that published checkpoints name, MXFP4 is the
// one that came later.
std::optional<Finding> method_missing(const LaunchFacts& f) {
  Finding finding;
  if (const GivenOption* given = f.launch().args.last_given(Field::quantization)) {
    finding.remedies.push_back(to_drop(std::string(given->option)));
    return finding;
  }
  if (f.before(20)) finding.remedies.push_back(with_release("0.5.20"));
  finding.remedies.push_back(Remedy{.stored_as = "unquantized"});
  return finding;
}

// Of the draft when the target's configuration was read.
std::optional<Finding> model_or_draft(const LaunchFacts& f) {
  return Finding{.field = f.launch().refused_by_model ? Field::model_path : Field::speculative_draft_model_path};
}

// An address, or an id that no hub can have.
std::optional<Finding> no_model_by_that_name(const LaunchFacts& f) {
  const Field field = f.launch().refused_by_model ? Field::model_path : Field::speculative_draft_model_path;
  std::string id = facts::directory_within(f.text(field));
  if (id.empty()) id = facts::hub_name_within(f.text(field));
  const std::string_view option = field == Field::model_path ? "--model-path" : "--speculative-draft-model-path";
  if (!id.empty()) return Finding{.field = field, .remedies = {to_give(std::string(option), {std::move(id)})}};
  return Finding{.field = field, .fix = fmt::format("{} with an id OWNER/NAME of the hub, or a directory", option)};
}

// What the caret points at: an option that the message names, where it was given, beats the rule's usual suspect.
// Without either, what the step read last of what was given; not the model, which many steps read only to know its
// kind.
std::optional<Field> field_at_fault(std::optional<Field> usual, const Refusal& refusal, const LaunchFacts& f) {
  constexpr std::size_t kNear = 4;  // what a step read earlier is seldom what it refuses
  const auto is_given = [&](Field field) { return f.given(field); };
  const auto named = std::ranges::find_if(refusal.names, is_given);
  if (named != refusal.names.end()) return *named;
  if (usual) return usual;
  if (!refusal.names.empty()) return refusal.names.front();
  const std::span last = std::span(refusal.read).first(std::min(kNear, refusal.read.size()));
  const auto read =
      std::ranges::find_if(last, [&](Field field) { return field != Field::model_path && is_given(field); });
  return read == last.end() ? std::nullopt : std::optional(*read);
}

// Without a variable that the refusal speaks of, the step goes another way. SGLang's have a _ in their names; NVIDIA or
// DSPARK in a message is none.
std::vector<Remedy> without_variables(const Refusal& refusal, const LaunchFacts& f) {
  std::vector<Remedy> list;
  for (const auto& [name, value] : f.launch().env) {
    if (name.find('_') != std::string::npos && refusal.message.find(name) != std::string::npos)
      list.push_back({.steps = {{.kind = StepKind::kUnset, .name = name}}});
  }
  return list;
}

constexpr std::string_view kArgs = "sglang/srt/server_args.py, since 0.5.19 sglang/srt/arg_groups";

}  // namespace

Diagnostic refusal_diagnostic(const LaunchFacts& f) {
  const Refusal& refusal = *f.launch().refusal;
  const std::span<const Rule> rules = refusal_rules();
  const auto rule = std::ranges::find(rules, refusal.rule.empty() ? id_of(RF::kOther) : refusal.rule, &Rule::id);
  assert(rule != rules.end());
  // Refused before there were fields to look at (a --config file): nothing to point at can be read.
  const Finding finding = rule->check == nullptr || f.launch().resolved.empty() ? Finding{} : *rule->check(f);
  Diagnostic d;
  d.rule = rule->id;
  for (const auto ref : rule->refs) {
    if (!ref.empty()) d.refs.emplace_back(ref);
  }
  for (const auto ref : finding.extra_refs) d.refs.emplace_back(ref);
  d.message = refusal.message.empty() ? std::string(rule->summary) : refusal.message;
  d.why = fmt::format("SGLang {} ends with {} in {}. {}", f.release().text(), refusal.exception, refusal.function,
                      rule->id == "RF001" ? std::string_view() : rule->why);
  while (d.why.ends_with(' ')) d.why.pop_back();
  d.fix = finding.fix.empty() ? std::string(rule->fix) : finding.fix;
  if (!refusal.remedies.empty()) {
    d.remedies = refusal.remedies;
  } else if (finding.fix.empty()) {
    d.remedies = finding.remedies.empty() ? remedies_of(*rule) : finding.remedies;
  }
  if (d.remedies.empty() && d.fix.empty()) d.remedies = without_variables(refusal, f);
  say_remedies(d, f.release());
  if (d.fix.empty() && f.launch().refused_by_model) {
    d.fix = "the model's files as their authors publish them, where they were changed";
  }
  d.source = rule->id == "RF001" ? fmt::format("{}, SGLang {}", refusal.function, f.release().text())
                                 : std::string(rule->source);
  d.concerns = refusal.names;
  std::ranges::copy_if(refusal.read, std::back_inserter(d.concerns),
                       [&](Field field) { return std::ranges::find(refusal.names, field) == refusal.names.end(); });
  d.field = field_at_fault(finding.field ? finding.field : rule->field, refusal, f);
  if (d.field) {
    if (const GivenOption* given = f.launch().args.last_given(*d.field)) d.where = given->where;
  }
  return d;
}

std::span<const Rule> refusal_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "RF002",
       .refs = {"AT-9"},
       .field = Field::attention_backend,
       .summary = "intel_xpu for the prefill of an MLA model before 0.5.20",
       .why = "Resolution allows intel_xpu for MLA decode only.",
       .remedies = {both(drop("--attention-backend"), give("--decode-attention-backend", "intel_xpu")),
                    give("--attention-backend", "triton"), in_release("0.5.20")},
       .source = kArgs,
       .until = v0_5(20),
       .check = mla_prefill,
       .fires_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --attention-backend intel_xpu"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu --decode-attention-backend intel_xpu"}}}},
      {.id = "RF003",
       .refs = {"DET-3", "DET-4"},
       .field = Field::attention_backend,
       .summary = "a backend that is not on the list for deterministic inference",
       .why = "intel_xpu is on the list from 0.5.19, triton always.",
       .remedies = {give("--attention-backend", "triton", "intel_xpu")},
       .source = kArgs,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-deterministic-inference --attention-backend torch_native"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-deterministic-inference --attention-backend triton"}}}},
      {.id = "RF004",
       .refs = {"SP-11"},
       .field = Field::speculative_eagle_topk,
       .summary = "a draft tree with pages above 1 on this backend",
       .why =
           "Only triton (and two backends of other vendors) may verify a tree over pages, and NGRAM's trees not even "
           "triton. On intel_xpu the page size is 64 or 128, so trees are always refused there. LlamaForCausalLM and "
           "NGRAM get a tree by default.",
       .remedies = {words("--speculative-num-steps N --speculative-eagle-topk 1 --speculative-num-draft-tokens N+1"),
                    give("--speculative-ngram-max-bfs-breadth", "1")},
       .source = "sglang/srt/server_args.py, since 0.5.13 sglang/srt/arg_groups/speculative_hook.py",
       .check = tree_with_pages,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --tp-size 2 --attention-backend intel_xpu --speculative-algorithm EAGLE "
                              "--speculative-draft-model-path {models}/llama-3.1-8b-eagle --speculative-num-steps 3 "
                              "--speculative-eagle-topk 4 --speculative-num-draft-tokens 8"},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --attention-backend intel_xpu --speculative-algorithm NGRAM",
                      .since = v0_5(21)}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --tp-size 2 --attention-backend intel_xpu --speculative-algorithm EAGLE "
                              "--speculative-draft-model-path {models}/llama-3.1-8b-eagle --speculative-num-steps 3 "
                              "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4"}}}},
      {.id = "RF005",
       .refs = {"SP-9"},
       .field = Field::speculative_num_steps,
       .summary = "the three sizes of a draft are given in part",
       .why = "SGLang derives all three or none; given in part, Python stumbles over the missing one.",
       .fix =
           "give --speculative-num-steps, --speculative-eagle-topk and --speculative-num-draft-tokens, or none of them",
       .source = "sglang/srt/server_args.py, since 0.5.13 sglang/srt/arg_groups/speculative_hook.py",
       .check = sizes_in_part,
       .fires_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --tp-size 2 --speculative-algorithm EAGLE --speculative-draft-model-path "
                              "{models}/llama-3.1-8b-eagle --speculative-num-draft-tokens 8"}}},
       .quiet_on = {{{.model = "llama-3.1-8b-instruct",
                      .args = "--device xpu --tp-size 2 --speculative-algorithm EAGLE --speculative-draft-model-path "
                              "{models}/llama-3.1-8b-eagle --speculative-num-steps 3 --speculative-eagle-topk 1 "
                              "--speculative-num-draft-tokens 4"}}}},
      {.id = "RF006",
       .refs = {"SP-1", "SP-3", "SP-4"},
       .field = Field::speculative_algorithm,
       .summary = "a speculative algorithm that this release keeps from XPU",
       .why = "DFLASH is open to XPU from 0.5.20, NGRAM from 0.5.21, DSPARK from 0.5.23.",
       .fix = "a later release, or another algorithm",
       .source = "sglang/srt/server_args.py, since 0.5.13 sglang/srt/arg_groups/speculative_hook.py",
       .check = algorithm_for_others,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --speculative-algorithm NGRAM", .until = v0_5(21)},
                     {.model = "qwen3-0.6b",
                      .args = "--device xpu --speculative-algorithm DFLASH",
                      .since = v0_5(16),
                      .until = v0_5(20)}}},
       .quiet_on =
           {{{.model = "qwen3-0.6b", .args = "--device xpu --speculative-algorithm NGRAM", .since = v0_5(21)}}}},
      {.id = "RF007",
       .refs = {"CK-8"},
       .field = Field::chunked_prefill_size,
       .summary = "the prefill chunk is no multiple of the page size",
       .why = "A page belongs to one chunk. Attention data parallelism divides the chunk and can cause it.",
       .fix = "a multiple of the page size",
       .source = kArgs,
       .check = chunk_in_pages,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --page-size 64 --chunked-prefill-size 1000"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --page-size 64 --chunked-prefill-size 1024"}}}},
      {.id = "RF008",
       .refs = {"CK-1"},
       .field = Field::nnodes,
       .summary = "the ranks do not divide over the nodes",
       .why = "Each node runs the same number of ranks.",
       .fix = "--tp-size times --pp-size divisible by --nnodes",
       .source = kArgs,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --nnodes 2 --tp-size 1 --dist-init-addr n0:5000"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --nnodes 2 --tp-size 2 --dist-init-addr n0:5000"}}}},
      {.id = "RF009",
       .refs = {"CK-2"},
       .field = Field::pp_size,
       .summary = "pipeline stages with speculation or the overlap schedule",
       .why = "The combination is refused.",
       .remedies = {both(give("--disable-overlap-schedule"), drop("--speculative-algorithm")),
                    give("--disable-overlap-schedule")},
       .source = kArgs,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --pp-size 2 --speculative-algorithm NGRAM",
                      .since = v0_5(21)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --pp-size 2 --disable-overlap-schedule"}}}},
      {.id = "RF010",
       .refs = {"KV-1", "KV-2"},
       .field = Field::kv_cache_dtype,
       .summary = "a KV cache type for other vendors' GPUs",
       .why = "Four-bit and MXFP8 caches are refused off CUDA.",
       .remedies = {give("--kv-cache-dtype", "auto")},
       .source = kArgs,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --kv-cache-dtype fp4_e2m1", .until = v0_5(14)},
                     {.model = "qwen3-0.6b", .args = "--device xpu --kv-cache-dtype mxfp8", .since = v0_5(20)}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --kv-cache-dtype fp8_e4m3"}}}},
      {.id = "RF011",
       .refs = {"CC-1"},
       .field = Field::disable_radix_cache,
       .summary = "a hierarchical cache without a prefix cache",
       .why = "The host level extends the prefix tree.",
       .remedies = {drop("--disable-radix-cache"), drop("--enable-hierarchical-cache")},
       .source = kArgs,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --enable-hierarchical-cache --disable-radix-cache"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --disable-radix-cache"}}}},
      {.id = "RF012",
       .refs = {"MB-8"},
       .field = Field::disable_radix_cache,
       .summary = "the prefix cache of a hybrid does not fit the launch",
       .why = "Without the extra buffer, which XPU does not have in most releases, the prefix cache of a hybrid wants "
              "page size 1 and no overlap schedule.",
       .remedies = {give("--disable-radix-cache"),
                    both(give("--mamba-radix-cache-strategy", "no_buffer"), give("--disable-overlap-schedule"))},
       .source = "sglang/srt/server_args.py, since 0.5.19 sglang/srt/arg_groups/mamba_hook.py",
       .check = hybrid_cache,
       .fires_on =
           {{{.model = "qwen3.5-9b", .args = "--device xpu --mamba-scheduler-strategy extra_buffer", .until = v0_5(14)},
             {.model = "qwen3.5-9b", .args = "--device xpu --page-size 64", .since = v0_5(20)}}},
       .quiet_on = {{{.model = "qwen3.5-9b", .args = "--device xpu --page-size 64 --disable-radix-cache"}}}},
      {.id = "RF013",
       .refs = {"R-20"},
       .field = Field::dcp_size,
       .summary = "decode context parallelism that resolution refuses",
       .why = "It runs on intel_xpu only, without MLA and without speculation, and with head counts that fit.",
       .remedies = {drop("--dcp-size")},
       .source = kArgs,
       .fires_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --tp-size 2 --dcp-size 2 --attention-backend triton",
                      .since = v0_5(22)}}},
       .quiet_on = {{{.model = "glm-4.1v-9b-thinking",
                      .args = "--device xpu --tp-size 4 --dcp-size 2 --attention-backend intel_xpu",
                      .since = v0_5(22)}}}},
      {.id = "RF014",
       .refs = {"MC-1"},
       .field = Field::context_length,
       .summary = "a context longer than the model's own",
       .why = "Positions beyond the model's range give wrong output; the environment variable "
              "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 allows it.",
       .remedies = {drop("--context-length"), words("rope scaling in --json-model-override-args")},
       .source = "sglang/srt/configs/model_config.py",
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --context-length 1000000"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --context-length 8192"}}}},
      {.id = "RF015",
       .refs = {"MC-2"},
       .field = Field::quantization,
       .summary = "--quantization does not fit the checkpoint",
       .why = "The checkpoint names its own method.",
       .remedies = {drop("--quantization")},
       .source = "sglang/srt/configs/model_config.py",
       .fires_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu --quantization fp8"}}},
       .quiet_on = {{{.model = "qwen3-8b-awq", .args = "--device xpu --quantization awq --dtype float16"}}}},
      {.id = "RF016",
       .field = Field::model_path,
       .summary = "a model that this release does not know",
       .why = "The model type is not among those of the transformers package that the release pins.",
       .fix = "a release that knows the model's type, or the publisher's own code beside config.json and "
              "--trust-remote-code",
       .source = "transformers, as the release pins it",
       .check = model_or_draft,
       .fires_on = {{{.model = "minicpm3-4b", .args = "--device xpu", .until = v0_5(22)}}},
       .quiet_on = {{{.model = "minicpm3-4b", .args = "--device xpu", .since = v0_5(22)}}}},
      {.id = "RF017",
       .field = Field::model_path,
       .summary = "DeepSeek sparse attention in 0.5.11",
       .why = "Resolution asks torch for the capability of a CUDA device, whatever the platform.",
       .remedies = {in_release("0.5.12")},
       .source = "sglang/srt/server_args.py",
       .until = v0_5(12),
       .fires_on = {{{.model = "deepseek-v3.2", .args = "--device xpu --tp-size 8"}}},
       .quiet_on = {{{.model = "deepseek-v2-lite-chat", .args = "--device xpu"}}}},
      {.id = "RF018",
       .field = Field::model_path,
       .summary = "a model or draft by an address, or by an id that no hub can have",
       .why =
           "A model is a directory, or an id OWNER/NAME in letters, digits, '-', '_' and '.'. Addresses of the hub are "
           "no ids, and a revision goes to --revision.",
       .fix = "the id alone, or a directory",
       .source = "sglang/srt/connector/__init__.py, huggingface_hub",
       .need = RuleNeed::kNothing,
       .check = no_model_by_that_name,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --model-path https://huggingface.co/Qwen/Qwen3-8B"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --model-path Qwen/Qwen3-8B@main"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --revision main"}}}},
      {.id = "RF019",
       .field = Field::quantization,
       .summary = "a quantization method that this release does not have on an Intel GPU",
       .why = "The checkpoint's own method, or the one asked for, is not among those that the release runs on XPU.",
       .remedies = {drop("--quantization"), in_release("0.5.20"), stored_as("unquantized")},
       .source = "sglang/srt/configs/model_config.py",
       .check = method_missing,
       .fires_on = {{{.model = "gpt-oss-20b", .args = "--device xpu", .until = v0_5(20)}}},
       .quiet_on = {{{.model = "gpt-oss-20b", .args = "--device xpu", .since = v0_5(20)}}}},
      {.id = "RF001",
       .summary = "SGLang refuses the launch",
       .why = "An exception ends the launch while arguments are resolved.",
       .fix = "",
       .source = kArgs,
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--device xpu --schedule-conservativeness -1 --tp-size 0"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--device xpu"}}}},
      {.id = "US001",
       .summary = "an option that this release does not have",
       .why = "The argument parser ends the launch with status 2.",
       .fix = "the nearest option, or a release that has it",
       .source = "Python's argparse over SGLang's options",
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--max-model-len 4096"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--context-length 4096"}}}},
      {.id = "US002",
       .summary = "an abbreviation that fits several options",
       .why = "The argument parser ends the launch with status 2.",
       .fix = "write the option in full",
       .source = "Python's argparse over SGLang's options",
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--max-prefill 4096 --speculative-num 2"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--max-prefill-tokens 4096"}}}},
      {.id = "US003",
       .summary = "a value that is not among an option's choices",
       .why = "The argument parser ends the launch with status 2.",
       .fix = "one of the choices",
       .source = "Python's argparse over SGLang's options",
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--attention-backend torch_sdpa"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--attention-backend torch_native"}}}},
      {.id = "US004",
       .summary = "the argument parser refuses the launch",
       .why =
           "A value that is missing or that the option does not take, or a required option that is missing, ends the "
           "launch with status 2.",
       .fix = "a value of the kind the message names, or without the option",
       .source = "Python's argparse over SGLang's options",
       .need = RuleNeed::kNothing,
       .fires_on = {{{.model = "qwen3-0.6b", .args = "--page-size large"}}},
       .quiet_on = {{{.model = "qwen3-0.6b", .args = "--page-size 64"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
