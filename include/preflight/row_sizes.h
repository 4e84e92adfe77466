// Rows that may come out small by cancellation. A reference gives their usual sizes (roots of the sum of squares)
// beside the output, as an Expected of this name: what was added up carries errors of that size, and the judge measures
// them against it. An output without one is measured by its own rows.
#pragma once

#include <string>
#include <string_view>

namespace preflight {

inline std::string row_sizes_of(std::string_view output) { return std::string(output) + " row sizes"; }

}  // namespace preflight
