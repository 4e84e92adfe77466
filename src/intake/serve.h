// What `sglang serve` does with its words before launch_server's parser sees them (sglang/cli/serve.py): it takes
// --model-type away, reads a first word without a dash as the model (not yet in 0.5.13), and wants a model path in
// plain words: neither a shortened --model-pa nor one that stands in a --config file will do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "preflight/server_args.h"

namespace preflight::args {

struct ServeRequest {
  std::vector<std::string> argv;  // for launch_server's parser
  std::vector<std::size_t> from;  // per argument: the index of the word it came from
  std::string backend;            // "auto", "llm" or "diffusion"
};

// Refusals are those of --model-type.
std::variant<ServeRequest, ParseRefusal> read_serve_words(Release release, const std::vector<std::string>& words);

// The model path as sglang/cli/utils.py looks for it; nullopt when it finds none.
std::optional<std::string> serve_model_path(const std::vector<std::string>& argv);

// What happens without one. Nothing when help is asked for.
std::optional<ParseRefusal> missing_serve_model(const std::vector<std::string>& argv);

}  // namespace preflight::args
