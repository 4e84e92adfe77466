// What GNU parallel hands to its shell, one text a job.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

// None where words[at] is no GNU parallel, or has options or replacement strings that are not followed.
std::optional<std::vector<ShellText>> texts_of_parallel(const std::vector<ShellWord>& words, std::size_t at,
                                                        const std::vector<ShellText>& input);

}  // namespace preflight::sources
