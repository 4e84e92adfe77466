// What xargs makes of its words and of what it reads, as GNU's findutils do.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

// The commands that xargs at `at` runs; none where that is not followed. With -I, one command stands for all those of
// an input that is not known: what is put into it is a hole.
std::optional<std::vector<std::vector<ShellWord>>> commands_of_xargs(const std::vector<ShellWord>& words,
                                                                     std::size_t at,
                                                                     const std::vector<ShellText>& input);

// FILE of `xargs -a FILE`, which it reads and not its input; "" where it has none, or where its options are not
// followed.
std::string file_of_xargs(const std::vector<ShellWord>& words);

}  // namespace preflight::sources
