// The published checkpoints that this build knows: configs/models, which travels inside the program.
//
// A record is the checkpoint's own config.json and, where its loader reads more (hf_quant_config.json), those files.
// Ids are compared as SGLang does, letter by letter; `nearest_models` is for people. Tested by known_models_test.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/value.h"

namespace preflight::facts {

// {"config": …, "files": {name: …}}; nullptr when the id is not among them.
std::shared_ptr<const Value> known_model(std::string_view id);

std::vector<std::string_view> known_model_ids();

// The known ids that this one may be a slip for, best first: the same id in other letters, the same name of another
// publisher, then those a letter or two away. The numbers are meant as typed: another size is another model.
std::vector<std::string> nearest_models(std::string_view id, std::size_t most = 3);

// The same publisher's models whose names differ in the size alone, the nearest size first.
std::vector<std::string> other_sizes(std::string_view id, std::size_t most = 3);

}  // namespace preflight::facts
