// Commands that start what stands in other files: recipes, services, units, manifests. Which launches those are is not
// known, and whoever reads such a command says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/sources/shell.h"

namespace preflight::sources {

// What words[at…] start so, and that it is not read: "make serve runs recipes, which …"; "" where it is none of them.
std::string starts_from_files(const std::vector<ShellWord>& words, std::size_t at);

}  // namespace preflight::sources
