// Speculative decoding: the step itself, and what steps of other families ask it for.
//
// The step (speculative.cpp) normalises the algorithm's name, validates what all algorithms share, and hands over to
// one family: speculative_eagle.cpp, _ngram.cpp, _dflash.cpp, _dspark.cpp, _uno.cpp. Tested by
// tests/resolve_speculative_test.cpp.
#pragma once

#include "src/resolve/core/resolution.h"

namespace preflight::resolve {

void handle_speculative_decoding(Resolution& r);

// The widest draft (tokens per request) that speculation may use; None without a draft width.
Value max_speculative_num_draft_tokens(Resolution& r);

}  // namespace preflight::resolve
