// Stage 4: the plan: which kernels a resolved launch runs at decode time, with which shapes, as kernel cases; and the
// sizes SGLang will compute for them.
//
// The cases are samples of the launch: its heads per attention-TP rank, dims, types, page size and modifiers, with
// ragged sequence lengths chosen around the page edges (the launch's context length would take hours on a CPU).
// The sizes are the real ones. Pure: no device, no files. Tested by tests/plan_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preflight/kernel_case.h"
#include "preflight/launch.h"

namespace preflight {

struct PlanSkip {
  std::string kernel;
  std::string reason;
};

struct PlannedKernel {
  std::string kernel;
  std::string why;  // which resolved fields select it, with their values
  std::vector<KernelCase> cases;
};

// What the launch makes SGLang allocate for decode, per attention-TP rank. Bytes and counts, int64.
struct PlanSizes {
  std::int64_t batch = 1;         // requests that decode at once, 1 when nothing caps them
  std::int64_t attention_tp = 1;  // tp_size / dp ranks that share attention
  std::int64_t num_q_heads = 0;   // per rank
  std::int64_t num_kv_heads = 0;  // per rank, at least 1
  std::int64_t page_size = 0;
  std::int64_t max_seqlen = 0;                  // context length, tokens
  std::int64_t page_table_columns = 0;          // ceil(max_seqlen / page_size)
  std::int64_t padded_columns = 0;              // what flash_mla_decode accepts; equal when no padding is needed
  std::optional<std::int64_t> workspace_bytes;  // MLA on intel_xpu: for `batch` requests of max_seqlen tokens
  std::optional<std::int64_t> kv_splits;        // what that size assumes
  std::int64_t kv_bytes_per_token = 0;          // one layer
};

struct Plan {
  std::string decode_backend;
  std::string prefill_backend;
  std::vector<PlannedKernel> kernels;
  std::vector<PlanSkip> skipped;
  PlanSizes sizes;
  [[nodiscard]] std::vector<KernelCase> all_cases() const;
  // The same as SGLang's server fills them, for its own kernels: a padded request has one token, not none; a side
  // without tokens holds zeros; its Triton backend decodes with one token less than the window (in
  // sglang/srt/layers/attention: get_cuda_graph_seq_len_fill_value, forward_extend, update_sliding_window_buffer). What
  // it never hands over, its kernels need not withstand; ours are judged by it all the same.
  [[nodiscard]] std::vector<KernelCase> served_cases() const;
};

// The launch must have been accepted and its model known; otherwise the plan holds only skips that say so.
Plan derive_plan(const Launch& launch);

}  // namespace preflight
