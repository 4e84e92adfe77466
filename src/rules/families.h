// The families of the rule table. Ids: two letters per family, numbers in the order rules were added, never reused.
#pragma once

#include <span>

#include "preflight/rule.h"

namespace preflight::rules {

// How a record writes its remedies.
using remedy::both;
using remedy::drop;
using remedy::give;
using remedy::in_release;
using remedy::lower;
using remedy::raise;
using remedy::set;
using remedy::stored_as;
using remedy::unset;
using remedy::words;

std::span<const Rule> placement_rules();       // PL  devices, memory, tensor-parallel divisibility
std::span<const Rule> value_rules();           // VA  values nothing behind the parser can work with
std::span<const Rule> backend_rules();         // BK  attention backends that cannot run on XPU, or not with this model
std::span<const Rule> paging_rules();          // PG  page sizes and page tables
std::span<const Rule> mla_rules();             // ML  MLA on intel_xpu
std::span<const Rule> kernel_limit_rules();    // AT  preconditions of the ordinary attention kernel
std::span<const Rule> uneven_group_rules();    // AT  query heads that key/value heads do not share evenly
std::span<const Rule> local_rules();           // LC  local, sliding-window and chunked attention
std::span<const Rule> speculative_rules();     // SP  speculative decoding
std::span<const Rule> graph_rules();           // GR  graphs and torch.compile
std::span<const Rule> communication_rules();   // DC  decode context parallelism, collectives
std::span<const Rule> quantization_rules();    // QN  quantised checkpoints
std::span<const Rule> moe_rules();             // MO  mixture of experts
std::span<const Rule> model_class_rules();     // MC  the class that serves the model
std::span<const Rule> deepseek_v4_rules();     // MC  DeepSeek-V4's defaults
std::span<const Rule> rotary_rules();          // RO  rotary positions under overrides
std::span<const Rule> hybrid_rules();          // HY  linear attention and its cache
std::span<const Rule> vision_rules();          // VI  vision attention
std::span<const Rule> whole_prompt_rules();    // WP  models whose layers see the whole prompt
std::span<const Rule> serving_rules();         // SA  sampling, LoRA, caches, disaggregation
std::span<const Rule> kernel_pairing_rules();  // KR  sgl-kernel-xpu build against SGLang release
std::span<const Rule> environment_rules();     // EN  environment variables
std::span<const Rule> known_issue_rules();     // KI  reported defects that are not SGLang's own conditions
std::span<const Rule> argument_rules();        // AR  how arguments were written
std::span<const Rule> refusal_rules();         // RF  SGLang refuses; US its parser does
std::span<const Rule> change_rules();          // CH  values SGLang changed; LG its own warnings

}  // namespace preflight::rules
