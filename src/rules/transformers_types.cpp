// See transformers_types.h. Asked of transformers' own classes, each with its defaults: base_model_tp_plan of a
// configuration and its parts (configs/transformers/tensor_plans.txt), get_input_embeddings of a model (wordless.txt).
// Of the types that two of 5.6.0, 5.8.1, 5.12.1 and 5.19.0 know, both say the same. Tested by
// tests/rules_by_hand_test.cpp.
#include "src/rules/transformers_types.h"

#include <algorithm>
#include <vector>

#include "src/base/embedded.h"

namespace preflight::rules {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    lines.push_back(line);
  }
  return lines;
}

// The files are embedded in the order of their names.
bool is_listed(std::size_t file, std::string_view model_type) {
  static const std::vector<std::string_view> kLists[] = {lines_of(embedded::transformers_types()[0].text),
                                                         lines_of(embedded::transformers_types()[1].text)};
  return std::ranges::binary_search(kLists[file], model_type);
}

}  // namespace

bool has_tensor_plan(std::string_view model_type) { return is_listed(0, model_type); }

bool looks_up_no_words(std::string_view model_type) { return is_listed(1, model_type); }

}  // namespace preflight::rules
