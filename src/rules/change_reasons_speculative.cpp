// Reasons of steps that shape speculative decoding. Up to 0.5.12 one handler does it for every algorithm.
#include "src/rules/change_reasons.h"

namespace preflight::rules {
namespace {

bool is_text(const Value& v, std::string_view text) { return v.is_string() && v.as_string() == text; }

bool runs(const FieldChange& c, std::string_view algorithm) { return c.launch.algorithm() == algorithm; }
bool dflash(const FieldChange& c) { return runs(c, "DFLASH"); }
bool ngram(const FieldChange& c) { return runs(c, "NGRAM"); }
bool frozen(const FieldChange& c) { return runs(c, "FROZEN_KV_MTP"); }

const Value& given(const FieldChange& c, Field field) { return c.launch.launch().args[field]; }

// Neither steps nor branches nor tokens were given, so SGLang chose all three.
bool sizes_chosen(const FieldChange& c) {
  return c.before.is_none() && given(c, Field::speculative_num_steps).is_none();
}

// ---- why adaptive speculation is off, in SGLang's order ----

bool not_eagle(const FieldChange& c) { return !runs(c, "EAGLE") && !runs(c, "EAGLE3"); }

// Since 0.5.14 the question comes before the branches are chosen.
bool several_branches(const FieldChange& c) {
  const Value& topk =
      c.launch.since(14) ? given(c, Field::speculative_eagle_topk) : c.launch[Field::speculative_eagle_topk];
  return !topk.is_none() && topk != Value(1);
}

constexpr std::string_view kCommon = "handle_speculative_decoding";
constexpr std::string_view kEagle = "handle_eagle_family";
constexpr std::string_view kDflash = "handle_dflash";
constexpr std::string_view kDspark = "handle_dspark";
constexpr std::string_view kNgram = "handle_ngram";
constexpr std::string_view kUno = "handle_uno";
constexpr std::string_view kFrozen = "handle_frozen_kv_mtp";
constexpr std::string_view kAdaptive = "init_adaptive_speculative_params";
constexpr StepNames kDisableAdaptive = {"maybe_disable_adaptive", "handle_speculative_decoding"};

constexpr std::string_view kCap =
    "Speculative decoding runs at most 48 requests together unless --max-running-requests says another number.";
constexpr std::string_view kSizes =
    "No sizes were given: SGLang drafts 5 steps of 4 branches and verifies 8 tokens for Llama and Grok, else 3 steps "
    "of "
    "1 branch and 4 tokens.";
constexpr std::string_view kOneBlock = "The draft proposes a whole block at once: one step, one branch.";
constexpr std::string_view kOwnDraft = "The checkpoint holds the draft layers, so the model drafts with itself.";
constexpr std::string_view kAdaptiveSizes =
    "Adaptive speculation starts from its own table: one branch, steps + 1 tokens.";
constexpr std::string_view kUnoChain = "UNO drafts one step of one branch unless a tree is asked for.";
constexpr std::string_view kUnoAdapter =
    "UNO drafts with an adapter of its own, which is loaded strictly and not beside the model's work.";
constexpr std::string_view kNoMixedChunk = "This algorithm does not work with mixed chunked prefill.";

constexpr ChangeReason kReasons[] = {
    {{kCommon},
     Field::speculative_algorithm,
     "The draft is a Gemma 4 assistant, for which SGLang has an algorithm of its own.",
     [](const FieldChange& c) { return is_text(c.now, "FROZEN_KV_MTP"); }},
    {{kCommon},
     Field::speculative_algorithm,
     "NEXTN is another name of EAGLE.",
     [](const FieldChange& c) { return is_text(c.now, "EAGLE") && is_text(c.before, "NEXTN"); }},
    {{kCommon}, Field::speculative_algorithm, "Names of algorithms are read in capitals."},
    {{"handle_aux_hidden_state_capture"},
     Field::speculative_algorithm,
     "Beside --enable-return-aux-hidden-states the algorithm only names which hidden states are returned; nothing "
     "drafts."},
    {{"handle_aux_hidden_state_capture"},
     Field::aux_hidden_state_capture,
     "--speculative-algorithm names the layers whose hidden states --enable-return-aux-hidden-states returns."},
    {{kCommon}, Field::speculative_draft_model_revision, "No revision of the draft was given: main."},
    {{kCommon}, Field::speculative_draft_window_size, "A window is a whole number of tokens."},
    {{kCommon},
     Field::speculative_use_rejection_sampling,
     "Block verification checks sampled proposals, which rejection sampling makes."},
    {{"speculative_moe_runner_default", kCommon},
     Field::speculative_moe_runner_backend,
     "The draft's experts run where the target's do, as far as that runner can draft."},

    {{kDflash}, Field::max_running_requests, kCap, dflash},
    {{kDspark}, Field::max_running_requests, kCap},
    {{kNgram}, Field::max_running_requests, kCap, ngram},
    {{kFrozen}, Field::max_running_requests, kCap, frozen},
    {{kEagle}, Field::max_running_requests, kCap},

    {{kDflash}, Field::disable_overlap_schedule, "Up to 0.5.13 DFLASH runs without the overlap schedule.", dflash},
    {{kNgram}, Field::disable_overlap_schedule, "Up to 0.5.13 NGRAM runs without the overlap schedule.", ngram},
    {{kFrozen},
     Field::disable_overlap_schedule,
     "Up to 0.5.13 FROZEN_KV_MTP runs without the overlap schedule.",
     frozen},
    {{kEagle},
     Field::disable_overlap_schedule,
     "A tree of drafts (--speculative-eagle-topk above 1) runs without the overlap schedule up to 0.5.12.",
     [](const FieldChange& c) { return c.launch.before(13) && c.launch.topk() > 1; }},
    {{kEagle},
     Field::disable_overlap_schedule,
     "SGLANG_ENABLE_SPEC_V2 is off, and the first version of speculative decoding has no overlap schedule."},
    {{"disable_overlap_schedule_for_cpu"},
     Field::disable_overlap_schedule,
     "On a CPU speculative decoding runs without the overlap schedule."},

    {{kDflash}, Field::enable_mixed_chunk, "Up to 0.5.18 DFLASH does not work with mixed chunked prefill.", dflash},
    {{kNgram}, Field::enable_mixed_chunk, "NGRAM does not work with mixed chunked prefill.", ngram},
    {{kFrozen}, Field::enable_mixed_chunk, kNoMixedChunk, frozen},
    {{kEagle},
     Field::enable_mixed_chunk,
     "STANDALONE does not work with mixed chunked prefill.",
     [](const FieldChange& c) { return runs(c, "STANDALONE"); }},
    {{kEagle}, Field::enable_mixed_chunk, "Up to 0.5.18 EAGLE does not work with mixed chunked prefill."},
    {{"handle_uno"}, Field::enable_mixed_chunk, kNoMixedChunk},

    {{kDflash}, Field::speculative_num_steps, kOneBlock, dflash},
    {{kDflash}, Field::speculative_eagle_topk, kOneBlock, dflash},
    {{kDspark}, Field::speculative_num_steps, kOneBlock},
    {{kDspark}, Field::speculative_eagle_topk, kOneBlock},
    {{kDflash},
     Field::speculative_num_draft_tokens,
     "DFLASH verifies a block at once: --speculative-dflash-block-size, else the draft's own, else 16 tokens.",
     dflash},
    {{kDspark},
     Field::speculative_num_draft_tokens,
     "DSPARK verifies a block of the draft and one token more: the draft's own size, or 7 where none is known."},
    {{"resolve_dflash_draft_attention_backend"},
     Field::speculative_draft_attention_backend,
     "DFLASH cannot draft on that backend; triton replaces it, flashinfer up to 0.5.19.",
     [](const FieldChange& c) { return !c.before.is_none(); }},
    {{"resolve_dflash_draft_attention_backend"},
     Field::speculative_draft_attention_backend,
     "The draft attends as prefill does where DFLASH can draft on that backend, else on triton (flashinfer up to "
     "0.5.19)."},
    {{kDspark}, Field::speculative_draft_model_path, kOwnDraft},
    {{kDspark}, Field::speculative_draft_model_revision, kOwnDraft},

    {{kUno}, Field::speculative_num_draft_tokens, "UNO verifies as many tokens as it is told."},
    {{kUno}, Field::speculative_num_steps, kUnoChain},
    {{kUno}, Field::speculative_eagle_topk, kUnoChain},
    {{kUno}, Field::enable_lora_overlap_loading, kUnoAdapter},
    {{kUno}, Field::lora_strict_loading, kUnoAdapter},

    {{kNgram},
     Field::speculative_eagle_topk,
     "NGRAM keeps as many branches as --speculative-ngram-max-bfs-breadth says.",
     ngram},
    {{kNgram}, Field::speculative_num_draft_tokens, "NGRAM verifies 12 tokens unless told otherwise.", ngram},
    {{kNgram}, Field::speculative_num_steps, "NGRAM's steps are its tokens divided by its branches.", ngram},

    {{kAdaptive}, Field::speculative_num_draft_tokens, kAdaptiveSizes},
    {{kAdaptive}, Field::speculative_num_steps, kAdaptiveSizes},
    {{kAdaptive}, Field::speculative_eagle_topk, kAdaptiveSizes},
    {kDisableAdaptive, Field::speculative_adaptive, "Adaptive speculation works with EAGLE and EAGLE3 only.",
     not_eagle},
    {kDisableAdaptive, Field::speculative_adaptive, "Adaptive speculation needs --speculative-eagle-topk 1.",
     several_branches},
    {kDisableAdaptive, Field::speculative_adaptive,
     "Adaptive speculation does not work with attention data parallelism.",
     [](const FieldChange& c) { return c.launch.attention_dp() > 1; }},
    {kDisableAdaptive, Field::speculative_adaptive,
     "Up to 0.5.11 adaptive speculation needs --disable-overlap-schedule.",
     [](const FieldChange& c) { return c.launch.before(12) && !given(c, Field::disable_overlap_schedule).truthy(); }},
    {kDisableAdaptive, Field::speculative_adaptive, "Adaptive speculation does not work with multi-layer EAGLE.",
     [](const FieldChange& c) { return c.launch.on(Field::enable_multi_layer_eagle); }},
    {kDisableAdaptive, Field::speculative_adaptive,
     "Adaptive speculation does not work with --enable-two-batch-overlap.",
     [](const FieldChange& c) { return c.launch.on(Field::enable_two_batch_overlap); }},
    {kDisableAdaptive, Field::speculative_adaptive, "Adaptive speculation does not work with --enable-pdmux."},

    {{kEagle}, Field::speculative_num_steps, kSizes, sizes_chosen},
    {{kEagle}, Field::speculative_eagle_topk, kSizes, sizes_chosen},
    {{kEagle}, Field::speculative_num_draft_tokens, kSizes, sizes_chosen},
    {{kEagle},
     Field::speculative_num_draft_tokens,
     "A chain (--speculative-eagle-topk 1) verifies one token more than it has steps."},
    {{kEagle}, Field::speculative_num_steps, "The draft checkpoint's number of slots."},
    {{kEagle}, Field::speculative_eagle_topk, "This model drafts chains only."},
    {{kEagle}, Field::speculative_draft_model_path, kOwnDraft},
    {{kEagle}, Field::speculative_draft_model_revision, kOwnDraft},
};

}  // namespace

std::span<const ChangeReason> speculative_reasons() { return kReasons; }

}  // namespace preflight::rules
