// Files that a pattern names, within bounds: a pattern of folders in folders multiplies what is read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace preflight {

// In glob's own order; `left` entries of folders are read at most, and counted down. What matches is not known where
// none is left.
std::vector<std::string> glob_files(const std::string& pattern, std::size_t& left);

}  // namespace preflight
