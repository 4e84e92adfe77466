// AT010: query heads that are no multiple of the key/value heads. No class that is served divides the one by the other
// to see what is left, and what attends takes the whole part of the quotient.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/facts/kinds.h"
#include "src/plan/decode_shape.h"
#include "src/rules/families.h"
#include "src/rules/launch_facts.h"

namespace preflight::rules {
namespace {

std::optional<Finding> uneven_groups(const LaunchFacts& f) {
  const ModelFacts& m = f.model();
  const std::int64_t ranks = f.attention_tp();
  const std::int64_t all_kv = total_kv_heads(m);
  if (m.is_mla() || !m.is_generation || all_kv <= 0 || ranks <= 0 || m.num_attention_heads % ranks != 0) {
    return std::nullopt;
  }
  const std::int64_t sharing = std::max<std::int64_t>(1, f.dcp());  // ranks that keep the same key/value heads
  const std::int64_t queries = m.num_attention_heads / ranks * sharing;
  const std::int64_t kv = plan::heads_per_rank(all_kv, std::max<std::int64_t>(1, ranks / sharing));
  if (queries <= 0 || queries % kv == 0) return std::nullopt;
  const std::int64_t group = queries / kv;
  return Finding{.message = group == 0 ? fmt::format("{} query heads are fewer than {} key/value heads", queries, kv)
                                       : fmt::format("{} query heads are no multiple of {} key/value heads: head {} "
                                                     "would take key/value head {} of {}",
                                                     queries, kv, queries - 1, (queries - 1) / group, kv)};
}

}  // namespace

std::span<const Rule> uneven_group_rules() {
  static const auto kRules = std::to_array<Rule>({
      {.id = "AT010",
       .field = Field::model_path,
       .summary = "query heads that are no multiple of the key/value heads",
       .why = "The server starts. The kernels of triton give each key/value head the whole part of the quotient: the "
              "last query heads read past a token's own heads, into the next token's, and answers are silently wrong; "
              "other backends refuse the first request, as triton does where there are fewer query heads.",
       .remedies = {words("a checkpoint whose query heads are a multiple of its key/value heads")},
       .source = "sglang/srt/layers/attention/triton_ops/decode_attention.py and extend_attention.py (later "
                 "sglang/kernels/ops/attention): kv_group_num",
       .device = "xpu",
       .decided_by = {"num_q_heads", "num_kv_heads"},
       .check = uneven_groups,
       .fires_on =
           {{{.model = "qwen3-0.6b", .args = "--device xpu --json-model-override-args {\"num_key_value_heads\":3}"},
             {.model = "qwen3-0.6b", .args = "--device xpu --json-model-override-args {\"num_key_value_heads\":32}"}}},
       .quiet_on = {{{.model = "qwen3-0.6b",
                      .args = "--device xpu --json-model-override-args {\"num_key_value_heads\":4}"},
                     {.model = "qwen3-0.6b", .args = "--device xpu --tp-size 16"}}}},
  });
  return kRules;
}

}  // namespace preflight::rules
