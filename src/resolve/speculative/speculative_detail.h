// What the speculative steps share among themselves; nothing outside src/resolve/speculative*.cpp includes this.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/resolve/core/resolution.h"
#include "src/resolve/models/model_queries.h"

namespace preflight::resolve::speculative {

enum class Algorithm { kNone, kEagle, kEagle3, kFrozenKvMtp, kStandalone, kNgram, kDflash, kDspark, kUno };

// SpeculativeAlgorithm.from_string. No plugin can have registered another name: a launch loads none on XPU.
Algorithm algorithm_from(Resolution& r, const Value& name);

// One function per family, as SpeculativeAlgorithm.handle_server_args dispatches.
void handle_eagle_family(Resolution& r);
void handle_frozen_kv_mtp(Resolution& r);
void handle_ngram(Resolution& r);
void handle_dflash(Resolution& r);
void handle_dspark(Resolution& r);
void handle_uno(Resolution& r);

// Adaptive speculation. `disable` turns it off where it cannot work.
void maybe_disable_adaptive(Resolution& r);
void init_adaptive_parameters(Resolution& r);  // since 0.5.19: before the family's step
void validate_adaptive_steps(Resolution& r);   // before 0.5.19: after it
// Union of the step counts in --speculative-adaptive-config (or the built-in table), ascending.
std::vector<Value> adaptive_candidate_steps(Resolution& r);

// Every family but UNO caps concurrency when the user did not.
void cap_running_requests(Resolution& r, std::string_view function);
void disable_mixed_chunk(Resolution& r, std::string_view function);
void disable_overlap_schedule_for_cpu(Resolution& r);
// DFLASH and DSPARK draft a whole block at once: one step, one branch.
void force_one(Resolution& r, Field field, std::string_view function);

// `field > limit` as Python evaluates it: a TypeError when the field is None.
bool greater(Resolution& r, Field field, std::int64_t limit, std::string_view function);
// Likewise for a value that may be None.
bool is_none_or_one(const Value& value);

// IQuest Q1 targets: their draft decides the shape of speculation.
void fit_iquest_q1_draft(Resolution& r, std::string_view architecture);

inline constexpr std::string_view kDraftAttentionBackends[] = {"flashinfer", "fa3",        "fa4",      "triton",
                                                               "ascend",     "trtllm_mha", "intel_xpu"};

// The configuration of the draft model, or what get_config raised (function empty: the caller itself raised).
enum class DraftConfig {
  kPlain,          // the file alone
  kDecrypted,      // read through --decrypted-draft-config-file when given
  kWithOverrides,  // with --json-model-override-args, which target and draft share
};
std::variant<Value, Refusal> load_draft_config(Resolution& r, DraftConfig kind);

// The block that a draft's configuration states. `valid` false: SGLang refuses the configuration.
struct BlockDraft {
  bool valid = false;
  std::optional<std::int64_t> block_size;
};
BlockDraft parse_dflash_draft(const Resolution& r, const Value& config);
BlockDraft parse_dspark_draft(const Resolution& r, const Value& config);

}  // namespace preflight::resolve::speculative
