#include "src/commands/variation.h"

#include <algorithm>

#include "src/args/argument_groups.h"

namespace preflight::commands {

std::vector<std::string> with_options(const LaunchInputs& inputs, const std::vector<Field>& dropped,
                                      const std::vector<std::string>& added) {
  auto groups = fix::group_arguments(inputs.release, inputs.argv, inputs.positions);
  std::erase_if(groups, [&](const fix::Group& g) {
    return g.option != nullptr && g.option->row != nullptr &&
           std::find(dropped.begin(), dropped.end(), g.option->field) != dropped.end();
  });
  std::vector<std::string> words = fix::words_of(groups);
  words.insert(std::ranges::find(words, "--"), added.begin(), added.end());  // behind it nothing is an option
  return words;
}

}  // namespace preflight::commands
