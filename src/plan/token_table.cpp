// See token_table.h.
#include "src/plan/token_table.h"

#include <algorithm>
#include <cmath>

#include "src/facts/has_class.h"
#include "src/facts/kinds.h"
#include "src/plan/element_sizes.h"
#include "src/plan/numbers.h"
#include "src/plan/output_head.h"

namespace preflight::plan {
namespace {

// With attention data parallelism, tables are cut by attention's ranks; these models keep them whole instead
// (enable_tp=not is_dp_attention_enabled()).
bool whole_table(const ModelFacts& m) {
  return architecture_starts_with(m, {"Qwen3_5", "Ernie4_5_VL", "ExaoneMoE", "Step3p5", "DeepseekV4", "SarvamMoE"});
}

// Scaled tables that are plain ones of torch, which no parallelism cuts.
bool plain_table(const ModelFacts& m) {
  return architecture_starts_with(m, {"CLIPModel", "Gemma3", "Gemma4", "EmbeddingGemma"});
}

}  // namespace

double rows_of_table(const ModelFacts& m) {
  constexpr std::int64_t kBlock = 64;
  return std::ceil(static_cast<double>(m.vocab_size) / kBlock) * kBlock;
}

double width_of_table(const ModelFacts& m) {
  const std::int64_t own =
      architecture_starts_with(m, {"OPTFor"}) ? first_int(m.hf_text_config, {"word_embed_proj_dim"}) : 0;
  return static_cast<double>(own > 0 ? own : m.hidden_size);
}

bool table_on_every_stage(const ModelFacts& m) { return architecture_starts_with(m, {"MiniMaxM2"}); }

std::int64_t ranks_of_table(const ModelFacts& model, const WeightSplit& split) {
  const bool dp_attention = split.attention_tp < split.tp;
  if (plain_table(model) || (dp_attention && whole_table(model))) return 1;
  // Of those whose attention asks for all ranks, these ask for attention's where the table is concerned; Kimi-Linear
  // the other way round.
  const bool over_all =
      architecture_starts_with(model, {"KimiLinear", "MambaFor", "FalconMamba"}) ||
      (cuts_attention_over_all_ranks(model) &&
       !language_class_starts_with(
           model, {"Qwen2", "Glm4For", "Glm4vFor", "GlmOcr", "GlmImage", "DotsOCR", "LlavaQwen", "LocateAnything",
                   "MiDashengLM", "MiMoFor", "MiMoV2ASR", "MiniCPMO", "NVILA", "Nanbeige", "POINTSV15"}));
  return std::max<std::int64_t>(1, over_all ? split.tp : split.attention_tp);
}

TableBytes table_bytes(const ModelFacts& model, const WeightSplit& split) {
  const double head = architecture_starts_with(model, {"FalconH1", "BailingMoeV2_5"}) ? 2.0 : 1.0;  // in 32 bits
  const double table = rows_of_table(model) * width_of_table(model);
  const ElementSizes sizes = element_sizes(model);
  const auto over = [&](double size, std::int64_t ranks) {
    return table * size / static_cast<double>(std::max<std::int64_t>(1, ranks));
  };
  const double of_head = is_tied(model) ? sizes.plain : sizes.head;
  return {.table = over(sizes.plain, ranks_of_table(model, split)),
          .head = head * over(of_head, ranks_of_head(model, split))};
}

}  // namespace preflight::plan
