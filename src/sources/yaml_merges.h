// "<<" of a manifest's maps, followed once for all who look keys up.
#pragma once

#include <cstddef>

#include "src/python/yaml_document.h"

namespace preflight::sources {

// Gives every map the pairs that its "<<" brings and that it has not itself: of several, those of the first. `looked`
// counts pairs looked at, in all documents of a file. Throws YamlFault where they are more than limits::kYamlTreePairs,
// or where a map merges itself. `bytes` counts those of the scalars that come so.
void follow_merges(python::YamlDocument& document, std::size_t& looked, std::size_t& bytes);

}  // namespace preflight::sources
