// NGRAM: drafts from the tokens already seen, without a draft model. Tested by tests/resolve_speculative_test.cpp.
#include <string>

#include <fmt/format.h>

#include "src/resolve/core/queries.h"
#include "src/python/integer.h"
#include "src/resolve/speculative/speculative_detail.h"

namespace preflight::resolve::speculative {
namespace {

constexpr std::string_view kStep = "_handle_ngram";

constexpr ValueErrorOf refuse{kStep};  // NOLINT(readability-identifier-naming): called as a function is

void check_device(Resolution& r) {
  if (r.before(v0_5(16))) {
    if (!r.text(Field::device).starts_with("cuda"))
      refuse(r, RF::kAlgorithmForOthers, "NGRAM speculative decoding needs CUDA");
  } else if (!r.one_of(Field::device, {"cuda", "cpu"}) && !(r.since(v0_5(21)) && r.is(Field::device, "xpu"))) {
    refuse(r, RF::kAlgorithmForOthers,
           fmt::format("NGRAM speculative decoding needs {}", r.since(v0_5(21)) ? "CUDA, CPU or XPU" : "CUDA or CPU"));
  }
}

void default_sizes(Resolution& r) {
  r.change(kStep, Field::speculative_eagle_topk, r[Field::speculative_ngram_max_bfs_breadth]);
  if (r.none(Field::speculative_num_draft_tokens)) {
    r.change(kStep, Field::speculative_num_draft_tokens, 12);
    r.warn(kStep, "NGRAM drafts 12 tokens; --speculative-num-draft-tokens sets another number");
  }
  if (r.before(v0_5(14)) || !r.none(Field::speculative_num_steps)) return;
  const std::int64_t breadth = r.integer(Field::speculative_eagle_topk);
  if (breadth == 0) {
    r.refuse(RF::kOther, "ZeroDivisionError", std::string(kStep), "--speculative-ngram-max-bfs-breadth must not be 0");
  }
  r.declare(kStep,
            {{Field::speculative_num_steps, integer::floor_div(r[Field::speculative_num_draft_tokens], breadth)}});
}

void check_external_corpus(Resolution& r) {
  if (r.none(Field::speculative_ngram_external_corpus_path)) return;
  const std::int64_t budget = r.integer(Field::speculative_ngram_external_sam_budget);
  if (budget <= 0) refuse(r, RF::kOther, "an external corpus needs a positive --speculative-ngram-external-sam-budget");
  if (r.integer(Field::speculative_ngram_external_corpus_max_tokens) <= 0) {
    refuse(r, RF::kOther, "an external corpus needs a positive --speculative-ngram-external-corpus-max-tokens");
  }
  if (budget >= r.integer(Field::speculative_num_draft_tokens)) {
    refuse(r, RF::kOther, "--speculative-ngram-external-sam-budget must be smaller than the number of draft tokens");
  }
}

}  // namespace

void handle_ngram(Resolution& r) {
  check_device(r);
  disable_overlap_schedule_for_cpu(r);
  cap_running_requests(r, kStep);
  if (r.before(v0_5(14))) r.set(kStep, Field::disable_overlap_schedule, true);
  r.change(kStep, Field::enable_mixed_chunk, false);
  default_sizes(r);
  check_external_corpus(r);
  r.warn(kStep, "NGRAM speculative decoding turns mixed chunked prefill off");
  if (greater(r, Field::speculative_eagle_topk, 1, kStep) && greater(r, Field::page_size, 1, kStep) &&
      !r.is(Field::attention_backend, "flashinfer")) {
    refuse(r, RF::kTreeWithPages,
           "NGRAM with more than one branch needs --page-size 1 (or --speculative-ngram-max-bfs-breadth 1)");
  }
  if (attn_dp_enabled(r)) refuse(r, RF::kOther, "NGRAM does not work with data-parallel attention");
}

}  // namespace preflight::resolve::speculative
