// What SGLang's backend for transformers' classes finds, or does not find, in those of a model type.
#pragma once

#include <string_view>

namespace preflight::rules {

// Its configuration, or that of a part of it, says how several ranks share its layers.
bool has_tensor_plan(std::string_view model_type);
// Its model looks up no words: its input embeddings are a convolution or a table of several codebooks, or it has none.
bool looks_up_no_words(std::string_view model_type);

}  // namespace preflight::rules
