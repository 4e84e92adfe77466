// What SGLang reads of a model's folder beside the weights that are counted: the tokenizer's files, and the weight
// files that --load-format looks for.
//
// Sources, alike in 0.5.14 and 0.5.23: srt/model_loader/loader.py (_prepare_weights of each loader),
// srt/utils/hf_transformers (get_tokenizer), and transformers behind it. Tested by folder_files_test.cpp.
#pragma once

#include <optional>

#include "preflight/diagnostic.h"
#include "src/intake/launch_input.h"

namespace preflight::commands {

// MD009. A hub's id is downloaded, so that what its cache lacks is no fault.
std::optional<Diagnostic> unread_tokenizer(const PreparedLaunch& prepared);

// MD010: the folder holds weights, and none of those that the format looks for.
std::optional<Diagnostic> no_files_of_format(const PreparedLaunch& prepared);

// MD011: the checkpoint makes embeddings, as sentence-transformers says in modules.json, and its class generates text
// unless --is-embedding is given.
std::optional<Diagnostic> embeddings_not_asked_for(const PreparedLaunch& prepared);

}  // namespace preflight::commands
