// What Python's library makes of texts and numbers that are known, where that is exact to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace preflight::sources::program {

// round(number, places), as Python rounds: to the nearest, from the middle to the even one. none: not followed.
std::optional<double> round_to(double number, std::int64_t places);

// int(text, base). none: not followed; `refused` where Python raises ValueError.
std::optional<std::int64_t> whole_in_base(std::string_view text, std::int64_t base, bool& refused);

// re.sub(pattern, by, text) of a pattern that is letters alone, or one set of them: `\.`, `[^a-z0-9]+`, `\s+`. none:
// the pattern is another, or a text is not of ASCII.
std::optional<std::string> substituted(std::string_view pattern, std::string_view by, std::string_view text);

}  // namespace preflight::sources::program
