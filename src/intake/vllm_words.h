// A vLLM command in SGLang's words: the options people launch with, translated one by one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "preflight/release.h"

namespace preflight::commands {

struct TranslatedWords {
  std::vector<std::string> argv;
  std::vector<std::size_t> from;      // one per word: which word of the command it came from
  std::vector<std::string> left_out;  // what has no counterpart, one sentence each
};

// `words` stand behind `vllm serve` or vLLM's API server module; not empty words give at least the model.
TranslatedWords translate_vllm(Release release, const std::vector<std::string>& words);

}  // namespace preflight::commands
