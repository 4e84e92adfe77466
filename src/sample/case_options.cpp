// The table of case options. Tested by tests/sample_test.cpp.
#include <optional>

#include "src/sample/case_options.h"

#include <algorithm>
#include <array>

namespace preflight {
namespace {

const std::array kOptions{
    CaseOption{"--dtype", &KernelCase::dtype},
    CaseOption{"--kv-dtype", &KernelCase::kv_dtype},
    CaseOption{"--tokens", &KernelCase::tokens},
    CaseOption{"--heads", &KernelCase::num_q_heads},
    CaseOption{"--kv-heads", &KernelCase::num_kv_heads},
    CaseOption{"--v-heads", &KernelCase::num_v_heads},
    CaseOption{"--head-dim", &KernelCase::head_dim},
    CaseOption{"--v-head-dim", &KernelCase::v_head_dim},
    CaseOption{"--latent", &KernelCase::kv_lora_rank},
    CaseOption{"--rope", &KernelCase::qk_rope_head_dim},
    CaseOption{"--rotary", &KernelCase::rotary_dim},
    CaseOption{"--sections", &KernelCase::sections, 0},
    CaseOption{"--interleaved", &KernelCase::interleaved},
    CaseOption{"--adjacent-pairs", &KernelCase::adjacent_pairs},
    CaseOption{"--scale", &KernelCase::softmax_scale},
    CaseOption{"--tp", &KernelCase::tp},
    CaseOption{"--page", &KernelCase::page_size},
    CaseOption{"--kv-splits", &KernelCase::kv_splits, 0},
    CaseOption{"--cache-seqlens", &KernelCase::cache_seqlens, 0},
    CaseOption{"--query-lens", &KernelCase::query_lens, 0},
    CaseOption{"--padded", &KernelCase::padded},
    CaseOption{"--table-columns", &KernelCase::table_columns},
    CaseOption{"--page-order", &KernelCase::page_order},
    CaseOption{"--first-page", &KernelCase::first_page},
    CaseOption{"--window", &KernelCase::window, 0},
    CaseOption{"--softcap", &KernelCase::softcap},
    CaseOption{"--sinks", &KernelCase::sinks},
    CaseOption{"--k-scale", &KernelCase::k_scale},
    CaseOption{"--v-scale", &KernelCase::v_scale},
    CaseOption{"--chunk", &KernelCase::chunk},
    CaseOption{"--table", &KernelCase::table},
    CaseOption{"--shrink-chunk", &KernelCase::shrink_chunk},
    CaseOption{"--max-batch", &KernelCase::max_batch},
    CaseOption{"--context", &KernelCase::context},
    CaseOption{"--sizing", &KernelCase::sizing},
    CaseOption{"--index-block", &KernelCase::index_block},
    CaseOption{"--empty", &KernelCase::empty_percent, 0, 100},
    CaseOption{"--empty-zeros", &KernelCase::empty_zeros},
    CaseOption{"--chunk-size", &KernelCase::delta_chunk},
    CaseOption{"--l2norm", &KernelCase::l2norm},
    CaseOption{"--zero-state", &KernelCase::zero_state},
    CaseOption{"--undecayed", &KernelCase::undecayed},
    CaseOption{"--beta-gain", &KernelCase::beta_gain},
    CaseOption{"--gate-normalizer", &KernelCase::gate_normalizer},
    CaseOption{"--inputs", &KernelCase::inputs},
    CaseOption{"--seed", &KernelCase::seed, 0},
    CaseOption{"--must-fail", &KernelCase::must_fail},
};

struct KernelOptions {
  std::string_view kernel;
  std::string_view options;  // separated by blanks; --seed and --must-fail are everyone's
};

constexpr std::array kKernels{
    KernelOptions{"mla_decode",
                  "--dtype --heads --tp --latent --rope --scale --page --kv-splits --cache-seqlens --table-columns "
                  "--page-order --first-page --inputs"},
    KernelOptions{
        "paged_decode",
        "--dtype --kv-dtype --heads --kv-heads --tp --head-dim --v-head-dim --scale --page --kv-splits "
        "--cache-seqlens --table-columns --page-order --first-page --window --softcap --sinks --k-scale --v-scale "
        "--inputs"},
    KernelOptions{"local_decode",
                  "--dtype --kv-dtype --heads --kv-heads --tp --head-dim --v-head-dim --scale --page --kv-splits "
                  "--cache-seqlens --table-columns --page-order --softcap --sinks --k-scale --v-scale --chunk --table "
                  "--shrink-chunk --inputs"},
    KernelOptions{"merge_state", "--dtype --tokens --heads --head-dim --empty --empty-zeros --inputs"},
    KernelOptions{
        "gated_delta_step",
        "--dtype --heads --v-heads --tp --head-dim --v-head-dim --scale --query-lens --padded --l2norm --zero-state "
        "--beta-gain --gate-normalizer --inputs"},
    KernelOptions{
        "gated_delta_chunk",
        "--dtype --heads --v-heads --tp --head-dim --v-head-dim --scale --query-lens --padded --chunk-size --l2norm "
        "--zero-state --undecayed --beta-gain --gate-normalizer --inputs"},
    KernelOptions{"causal_conv1d",
                  "--dtype --heads --v-heads --head-dim --v-head-dim --query-lens --padded --window --zero-state "
                  "--inputs"},
    KernelOptions{"mrope",
                  "--dtype --tokens --heads --kv-heads --head-dim --rotary --sections --interleaved --adjacent-pairs"},
    KernelOptions{"page_table", "--page --cache-seqlens --table-columns --page-order --first-page --context"},
    KernelOptions{"kv_indices",
                  "--page --cache-seqlens --page-order --first-page --max-batch --context --sizing --index-block"},
};

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

std::span<const CaseOption> case_options() { return kOptions; }

const CaseOption* find_case_option(std::string_view name) {
  const auto* option = std::ranges::find(kOptions, name, &CaseOption::name);
  return option == kOptions.end() ? nullptr : option;
}

bool has_case_options(std::string_view kernel) {
  return std::ranges::find(kKernels, kernel, &KernelOptions::kernel) != kKernels.end();
}

bool takes_option(std::string_view kernel, std::string_view option) {
  const auto* row = std::ranges::find(kKernels, kernel, &KernelOptions::kernel);
  return row != kKernels.end() && (option == "--seed" || option == "--must-fail" || lists(row->options, option));
}

}  // namespace preflight
