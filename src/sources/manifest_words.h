// YAML values as words with places.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/sources/shell.h"

namespace YAML {
class Node;
}

namespace preflight::sources {

// `value` as it was read from a scalar that begins at `from` in `text`: every byte is looked up in the text, past
// escapes, folded line ends and indentation. Where that fails, all of it stands at `from`.
ShellWord placed(std::string_view text, std::size_t from, const std::string& value);

// A scalar, or every scalar of a sequence; `base` is where the YAML text begins in `text`.
std::vector<ShellWord> words_of(const YAML::Node& node, std::string_view text, std::size_t base);

}  // namespace preflight::sources
