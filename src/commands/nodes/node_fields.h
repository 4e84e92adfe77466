// What the nodes of one launch must agree on. Ranks behind the first node run schedulers and model workers; the HTTP
// server, tokenizer and detokenizer of node 0 alone read the rest, and that may differ.
#pragma once

#include <span>

#include "preflight/fields.h"

namespace preflight::commands {

// Ranks split the model, their collectives, or every scheduling step by these: another value on one node hangs or
// breaks the launch.
std::span<const Field> fields_that_must_agree();
// Each rank's scheduler plans within these limits on its own, or computes with these kernels: another value on one node
// starts, and may part under load.
std::span<const Field> fields_that_better_agree();
// Limits that SGLang brings to their smallest over all ranks when there are pipeline stages.
bool is_levelled_by_pipeline(Field field);

}  // namespace preflight::commands
